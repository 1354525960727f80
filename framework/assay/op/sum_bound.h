// Element bounds of the standard `accumulation`: the largest error that a machine's accumulation
// can cause in an element.
#pragma once

#include <exception>
#include <span>
#include <string>
#include <vector>

#include "assay/base/error.h"
#include "assay/machine/unit_bound.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// Returns a bound on |accumulated - exact| for each element of the output, float64 and of the
// output's shape. The bound holds before the result is rounded to the output's format. The judge
// adds that rounding: the unit roundoff times |expected|, and half the smallest subnormal. Because
// the judge uses |expected| and not |accumulated|, the bound here already includes what rounding
// adds to the accumulation error.
//
// The bound depends on the operator:
// - matmul, dot: the bound of machine/unit_bound.h.
// - reduce_sum, reduce_mean, softmax, layernorm, rmsnorm, attention: from the roundings of their
//   steps and their order, for every machine.
// - scaled_matmul: the bound of each stretch of K between two scales, times the scales, plus the
//   float32 roundings when stretches are multiplied and summed.
// - quantize: the largest distance of a correct code from the golden result.
//
// NaN and infinity in an operand, and sums that may overflow, remove the bound only of the elements
// that they reach (held_bounds()).
//
// Throws Refusal for operators without bounds of elements, if the machine has no
// matrix unit and the operator needs one, and if no element at all has a bound.
Tensor accumulation_bounds(const Case& test_case, const Machine& machine, int threads = 0);

// Keeps the reason why some elements have no bound: the error that was thrown for the first of
// them.
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

// Returns the bound of an element of which nothing is known, because one of its steps may overflow:
// twice the output's largest number, or a quarter of it for float64, where twice would overflow.
// Every number and infinity is within it, so no correct result fails. It does not accept a wrong
// result silently: the judge counts the element as blind, because a zero in its place would pass. A
// verdict with more than half of such elements is untrusted.
double no_bound(const Format& output);
// Returns the bounds of elements as a tensor of this shape. A bound that is NaN belongs to an
// element that a NaN or infinity of an operand reaches. It becomes 0, because the judge settles NaN
// and infinity before it reads bounds. A bound that is infinite becomes no_bound(). If all bounds
// that are not NaN are infinite, throws the reason that `unbounded` keeps.
Tensor held_bounds(const Format& output, const Shape& shape, std::vector<double> bounds,
                   const Unbounded& unbounded);

// Returns the model of sums in any order: it adds float32 products (float64 for float64 operands)
// one by one, and rounds each product separately. A product then goes through as many roundings as
// in the worst order.
DotModel in_any_order(const Format& input);
// The machine that bounds a product's sums if no machine is named. It sums in float32 in any order
// (float64 for float64 operands, exactly for int8), with products that may be rounded separately.
// Floats of at most 8 bits have a row for each accumulator that is known for them, without
// promotion, and the widest bound counts. It is not a machine that computes.
const Machine& any_machine();
// Like any_machine(), but assumes float32 sums for floats of at most 8 bits, too.
const Machine& any_float32_machine();
// True if the machine is any_machine() or any_float32_machine().
bool is_any_machine(const Machine& machine);
// Returns the number of bits that the sums of a case's products keep by any_machine(), if it is
// less than that of float32, and 0 otherwise.
int shortest_sum_bits(const Case& test_case);
// Returns notes that a verdict rests on any_machine(), with advice how to get a tighter bound.
// Empty if that makes no difference.
std::vector<std::string> any_machine_notes(const Case& test_case);

// Returns sum_bounds() of machine/unit_bound.h for a model that comes from a machine's rows. For
// any_machine() the largest of its rows counts. A sum that a NaN or infinity of an operand reaches
// has NaN for its size and error.
//
// A sum that may overflow the accumulator has an infinite error, and `unbounded` keeps the reason.
// If the terms of such a sum have one sign, it keeps its error: its result is then the largest
// number or an infinity of that sign, which the judge treats as equal. Throws
// Refusal, in terms of the case, if the roundings leave no digit.
SumBounds sum_bounds(const Case& test_case, const Machine& machine, const DotModel& model,
                     std::int64_t m, std::int64_t n, std::int64_t k, std::span<const double> a,
                     std::span<const double> b, const std::vector<double>& start,
                     Unbounded& unbounded, int threads = 0);

// Returns the columns [first, last) of a row-major m x k matrix.
std::vector<double> columns_of(std::span<const double> a, std::int64_t m, std::int64_t k,
                               std::int64_t first, std::int64_t last);

// Returns `size`, or 0 if it is NaN or infinite. A derived tolerance takes the largest of these
// sizes. If a size is not finite, a NaN or infinity of an operand reaches the element, and the
// judge settles that before any arithmetic. Throws Refusal for such a size if the operand `name` is
// float64, whose own sums may overflow.
double reached_size(const Case& test_case, const char* name, double size);

// Throws Refusal, which names the case, if the machine has no matrix unit whose sums
// could be bounded.
void require_matrix_unit(const Case& test_case, const Machine& machine);
// Returns the machine that the case's attribute `machine` names, or nullptr if the case does not
// name one.
const Machine* named_machine(const Case& test_case);
// Returns the machine that the case's attribute `machine` names if it has a matrix unit, and
// nullptr otherwise.
const Machine* machine_of(const Case& test_case);
// Returns a tolerance: rtol is half an ulp of the output, and atol is the largest of these bounds
// of elements on that machine. Throws Refusal if an element has no bound because its sum may
// overflow.
DerivedTolerance accumulation_tolerance(const Case& test_case, const Machine& machine,
                                        const std::vector<double>& bounds);

}  // namespace assay
