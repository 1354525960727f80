// How far an element may be from its exact value by what a machine's accumulation does to it: the
// element bounds of the standard `accumulation`.
#pragma once

#include <string>
#include <vector>

#include "assay/op/operator.h"

namespace assay {

// For each element of the output, float64 and of its shape, a bound on |accumulated - exact|: with
// S = |bias| + sum_k |a_k b_k|, to first order
//
//   n u S        n roundings of the accumulator: ceil(K / chunk) of fused chunks, one more for each
//                sum inside a chunk that is added one by one or by a tree; u is its unit roundoff,
//                doubled where it truncates (Higham, Accuracy and Stability of Numerical
//                Algorithms, 2nd ed., equation 3.5)
//   + (L + 1) 2^-F t   a chunk where L aligned terms and the accumulator keep F bits below the
//                largest of them; t is the largest |a_k b_k| of the chunk, or the accumulator where
//                that is larger, a subnormal factor counting as the smallest normal
//
// and the higher orders of the first, n u / (1 - n u). Rounding to the output's format is the
// judge's part: unit roundoff of |expected|, or half the smallest subnormal; what it adds to this
// bound is in it. reduce_sum, softmax, layernorm, rmsnorm, attention: by the roundings of their
// steps and their order, whatever the machine.
//
// scaled_matmul: of each stretch of K between two scales, times the scales, and what float32 adds
// to it when they are multiplied and summed.
//
// Throws std::invalid_argument for operators other than these, where the machine is
// `exact` or flushes subnormals, and where the operands hold NaN or infinity.
Tensor accumulation_bounds(const Case& test_case, const Machine& machine, int threads = 0);

// The same for m x n sums of k products, row-major a (m x k) and b (k x n) of finite values that
// the model takes, each from |start| of its column (empty: from 0).
struct SumBounds {
  std::vector<double> size;   // |start| + sum_k |a_k b_k|
  std::vector<double> error;  // |accumulated - exact| is at most this
};
SumBounds sum_bounds(const Case& test_case, const Machine& machine, const DotModel& model,
                     std::int64_t m, std::int64_t n, std::int64_t k, const std::vector<double>& a,
                     const std::vector<double>& b, const std::vector<double>& start,
                     int threads = 0);

// Throws std::invalid_argument that names the case where the machine has no matrix unit, whose sums
// could be bounded.
void require_matrix_unit(const Case& test_case, const Machine& machine);
// The machine that the case's attribute `machine` names; nullptr where none does, or `exact`.
const Machine* machine_of(const Case& test_case);
// Half an ulp of the output, and the largest of some elements' bounds on that machine.
DerivedTolerance accumulation_tolerance(const Format& output, const Machine& machine,
                                        const std::vector<double>& bounds);

}  // namespace assay
