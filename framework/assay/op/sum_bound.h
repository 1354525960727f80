// How far an element may be from its exact value by what a machine's accumulation does to it: the
// element bounds of the standard `accumulation`.
#pragma once

#include <exception>
#include <span>
#include <string>
#include <vector>

#include "assay/base/error.h"
#include "assay/machine/unit_bound.h"
#include "assay/op/operator.h"

namespace assay {

// For each element of the output, float64 and of its shape, a bound on |accumulated - exact|: of
// matmul that of machine/unit_bound.h. The bound holds before the result is rounded to the
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
// NaN and infinity in an operand, and sums that may overflow, cost only the elements that they
// reach their bound (held_bounds()).
//
// Throws std::invalid_argument for operators without bounds of elements, if the machine has no
// matrix unit and the operator needs one, and if no element at all has a bound.
Tensor accumulation_bounds(const Case& test_case, const Machine& machine, int threads = 0);

// Why some elements have no bound: the reason that was thrown for the first of them.
class Unbounded {
 public:
  // Runs `body`. Returns false, and keeps the reason, if it throws a CaseError.
  template <typename Body>
  bool holds(const Body& body) {
    try {
      body();
      return true;
    } catch (const CaseError&) {
      if (!first_) first_ = std::current_exception();
      return false;
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

// The bound of an element of which nothing is known, because one of its steps may overflow: twice
// the output's largest number. Every number and infinity is within it, so that no right result
// fails. It does not clear a wrong result silently: the judge counts the element as blind, for a
// zero in its place would pass, and a verdict with more than half of such elements is untrusted.
double no_bound(const Format& output);
// The bounds of elements as a tensor of this shape. A bound that is NaN belongs to an element that
// a NaN or infinity of an operand reaches: it becomes 0, for the judge settles NaN and infinity
// before it reads bounds. A bound that is infinite becomes no_bound(). If that is so
// of all that are not NaN, throws what `unbounded` keeps.
Tensor held_bounds(const Format& output, const Shape& shape, std::vector<double> bounds,
                   const Unbounded& unbounded);

// What a product's sums are bounded by where no machine is named: those of float32 in any order (of
// float64 operands float64, of int8 exact), with products that may be rounded by themselves. Those
// of floats of at most 8 bits have a row for each accumulator that is known for them, never
// promoted, and are bounded by the widest. It is no machine that computes.
const Machine& any_machine();
// The same, but with sums of float32 of floats of at most 8 bits, too.
const Machine& any_float32_machine();
// Whether it is one of these two.
bool is_any_machine(const Machine& machine);
// How many bits the sums of a case's products keep by any_machine(), if they are fewer than those
// of float32; else 0.
int shortest_sum_bits(const Case& test_case);
// That a verdict rests on any_machine(), and what would say more; empty where that does not matter.
std::vector<std::string> any_machine_notes(const Case& test_case);

// sum_bounds() of machine/unit_bound.h for a model that comes from a machine's rows; of
// any_machine() the largest of its rows. A sum that a NaN or infinity of an operand reaches has
// NaN for its size and error. A sum that may overflow the accumulator has an infinite error, and
// `unbounded` keeps the reason; but if its terms have one sign it keeps its error, for its result
// is then the largest number or an infinity of that sign, which the judge takes for one. Throws
// std::invalid_argument, in words of the case, if the roundings leave no digit.
SumBounds sum_bounds(const Case& test_case, const Machine& machine, const DotModel& model,
                     std::int64_t m, std::int64_t n, std::int64_t k, std::span<const double> a,
                     std::span<const double> b, const std::vector<double>& start,
                     Unbounded& unbounded, int threads = 0);

// The columns [first, last) of a row-major m x k matrix.
std::vector<double> columns_of(std::span<const double> a, std::int64_t m, std::int64_t k,
                               std::int64_t first, std::int64_t last);

// A size that a derived tolerance takes the largest of: 0 if it is NaN or infinite, for a NaN or
// infinity of an operand then reaches its element, which the judge settles before any arithmetic.
// Throws std::invalid_argument if the operand `name` is float64, whose own sums may overflow.
double reached_size(const Case& test_case, const char* name, double size);

// Throws std::invalid_argument that names the case where the machine has no matrix unit, whose sums
// could be bounded.
void require_matrix_unit(const Case& test_case, const Machine& machine);
// The machine that the case's attribute `machine` names; nullptr where there is none.
const Machine* named_machine(const Case& test_case);
// The same where it has a matrix unit; else nullptr.
const Machine* machine_of(const Case& test_case);
// Half an ulp of the output, and the largest of some elements' bounds on that machine. Throws
// std::invalid_argument if an element has none, because its sum may overflow.
DerivedTolerance accumulation_tolerance(const Case& test_case, const Machine& machine,
                                        const std::vector<double>& bounds);

}  // namespace assay
