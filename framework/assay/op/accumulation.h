// How far an element may be from its exact value by what a machine's accumulation does to it: the
// element bounds of the standard `accumulation`.
#pragma once

#include <string>
#include <vector>

#include "assay/machine/accumulation.h"
#include "assay/op/operator.h"

namespace assay {

// For each element of the output, float64 and of its shape, a bound on |accumulated - exact|: of
// matmul that of machine/accumulation.h. The bound holds before the result is rounded to the
// output's format. The judge adds that rounding: the unit roundoff times |expected|, and half the
// smallest subnormal. Because the judge takes |expected| and not |accumulated|, the bound here
// already includes what rounding adds to the accumulation error.
//
// reduce_sum, softmax, layernorm, rmsnorm, attention: by the roundings of their steps and their
// order, whatever the machine.
//
// scaled_matmul: of each stretch of K between two scales, times the scales, and what float32 adds
// to it when they are multiplied and summed.
//
// Throws std::invalid_argument for operators without bounds of elements, where the machine has no
// matrix unit and the operator needs one, and where the operands hold NaN or infinity.
Tensor accumulation_bounds(const Case& test_case, const Machine& machine, int threads = 0);

// sum_bounds() of machine/accumulation.h. Throws std::invalid_argument, in words of the case, where
// there are none.
SumBounds sum_bounds(const Case& test_case, const DotModel& model, std::int64_t m, std::int64_t n,
                     std::int64_t k, const std::vector<double>& a, const std::vector<double>& b,
                     const std::vector<double>& start, int threads = 0);

// Throws std::invalid_argument that names the case where the machine has no matrix unit, whose sums
// could be bounded.
void require_matrix_unit(const Case& test_case, const Machine& machine);
// The machine that the case's attribute `machine` names; nullptr where none does, or `exact`.
const Machine* machine_of(const Case& test_case);
// Half an ulp of the output, and the largest of some elements' bounds on that machine.
DerivedTolerance accumulation_tolerance(const Format& output, const Machine& machine,
                                        const std::vector<double>& bounds);

}  // namespace assay
