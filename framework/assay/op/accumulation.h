// How far an element may be from its exact value by what a machine's accumulation does to it: the
// element bounds of the standard `accumulation`.
#pragma once

#include <span>
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

// What a product's sums are bounded by where no machine is named: those of float32 in any order (of
// float64 operands float64, of int8 exact), with products that may be rounded by themselves. Those
// of floats of at most 8 bits have a row for each accumulator that is known for them, never
// promoted, and are bounded by the widest. It is no machine that computes.
const Machine& any_machine();
// That a verdict rests on any_machine(), and what would say more; empty where that does not matter.
std::vector<std::string> any_machine_notes(const Case& test_case);

// sum_bounds() of machine/accumulation.h for a model that comes from a machine's rows; of
// any_machine() the largest of its rows. Throws std::invalid_argument, in words of the case, where
// there are none, and where float32 might overflow.
SumBounds sum_bounds(const Case& test_case, const Machine& machine, const DotModel& model,
                     std::int64_t m, std::int64_t n, std::int64_t k, std::span<const double> a,
                     std::span<const double> b, const std::vector<double>& start, int threads = 0);

// The columns [first, last) of a row-major m x k matrix.
std::vector<double> columns_of(std::span<const double> a, std::int64_t m, std::int64_t k,
                               std::int64_t first, std::int64_t last);
// The values of an operand. Throws std::invalid_argument where one is NaN or infinite.
std::vector<double> finite_values(const Case& test_case, const char* name, const TensorView& view);

// Throws std::invalid_argument that names the case where the machine has no matrix unit, whose sums
// could be bounded.
void require_matrix_unit(const Case& test_case, const Machine& machine);
// The machine that the case's attribute `machine` names; nullptr where there is none.
const Machine* named_machine(const Case& test_case);
// The same where it has a matrix unit; else nullptr.
const Machine* machine_of(const Case& test_case);
// Half an ulp of the output, and the largest of some elements' bounds on that machine.
DerivedTolerance accumulation_tolerance(const Format& output, const Machine& machine,
                                        const std::vector<double>& bounds);

}  // namespace assay
