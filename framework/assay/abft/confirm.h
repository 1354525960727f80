// Confirms checks above their threshold: compares each element with its reference, which comes from
// the operands or is the golden result.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "assay/abft/abft_verdict.h"
#include "assay/abft/operands.h"
#include "assay/machine/machine.h"

namespace assay::inline v0_2::abft {

// The sources of the elements' references: operands, or a golden result if `operands` is null.
struct Sources {
  const Operands* operands;
  const MatrixRows* golden;
  const DotModel* model;             // null means float32, with one rounding to nearest per product
  const double* b_values = nullptr;  // all of B as float64, or null
  // For a golden result, the largest error of an element with this reference. Null if it is not
  // known.
  const std::function<double(double)>* tolerance = nullptr;
};

// Computes the bound of one element and judges `value`. The element's check sums columns `first` to
// `last` of its row.
ElementBound bound_of_element(const Sources& from, const Format& format, std::int64_t row,
                              std::int64_t first, std::int64_t last, std::int64_t column,
                              double value);

// Computes the bounds of the elements of a row from column `first` to column `last`, which are one
// check or a part of one. Does not set `outside`.
void bounds_of_elements(const Sources& from, const Format& format, std::int64_t row,
                        std::int64_t first, std::int64_t last, ElementBound* to);

// True if a value is outside its element's bound. If the value is between `bound` and
// `worst_bound`, errors_add_up() decides. It returns true if the rounding errors of the element's
// sum add up, so that worst_bound applies.
template <typename ErrorsAddUp>
bool is_outside(const Format& format, const ElementBound& of, double value,
                const ErrorsAddUp& errors_add_up) {
  const double error = std::abs(value - of.reference);
  if (!std::isfinite(error)) {
    return !special_is_right(format, value, of.reference, of.accumulation);
  }
  return !(error <= of.bound) && !(error <= of.worst_bound && errors_add_up());
}

struct Confirmation {
  std::int64_t clean = 0;  // number of flags in which all elements are inside their bounds
  // False if a fault was certain and the budget ended before all flags were checked.
  bool all_looked_at = true;
};

// Judges each element of each flagged check, the largest D/T first. |c - reference| must be at most
// ulp/2 plus the bound of the accumulation. Accumulation in machine/unit_bound.h gives that bound:
// chain_bound() if is_chain(), and element_bound() if not. For a golden result it is the tolerance
// in `from`, or 2^-16 of the root mean square of the check's elements. Integers must be equal.
//
// Removes the flags that are clean. Keeps the first few others, with their elements. Stops after
// `most_work` multiply-adds if a fault has been found, and then takes the remaining flags as
// faults.
Confirmation confirm_flags(const Sources& from, const TensorView& c, std::vector<AbftFlag>& flags,
                           double most_work, int threads);

// The number of right elements among the infinite and NaN ones of columns `first` to `last` of a
// row of C, and a flag that is true if an element is wrong. With `others`, judges the finite
// elements of the check as well, because their sum cannot be judged.
struct Specials {
  std::int64_t right = 0;
  bool wrong = false;
};
Specials specials_of(const Sources& from, const TensorView& c, std::int64_t row, std::int64_t first,
                     std::int64_t last, bool others);

// Judges `count` elements in the same way. The caller tells if element j is infinite or NaN, if its
// reference is finite, and if it is outside its bound.
template <typename IsSpecial, typename HasFiniteReference, typename IsOutside>
Specials specials_among(std::int64_t count, bool others, const IsSpecial& is_special,
                        const HasFiniteReference& has_finite_reference,
                        const IsOutside& is_outside) {
  Specials result;
  for (std::int64_t j = 0; j < count; ++j) {
    const bool special = is_special(j);
    if (!special && !(others && has_finite_reference(j))) continue;
    const bool outside = is_outside(j);
    result.right += special && !outside ? 1 : 0;
    result.wrong = result.wrong || outside;
  }
  return result;
}

// Returns the largest possible error of the accumulated sum of columns first to last of a row, for
// any data, if all errors have the same sign.
double worst_sum_error(const Sources& from, std::int64_t row, std::int64_t first,
                       std::int64_t last);

// True if the elements are off by a constant per column: a bias that the operands or the golden
// result lack. Looks at up to 8 rows. False if C has fewer than 3 rows, if it has no float format,
// or if an element among them is infinite or NaN.
bool columns_are_off(const Sources& from, const TensorView& c);

// Finds the element of a flagged check that is furthest outside its bound, and the flip of one bit
// that explains it.
void locate(const Sources& from, const TensorView& c, AbftFlag& flag);

}  // namespace assay::abft
