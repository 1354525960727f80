// A closer look at checks above their threshold: element by element against the operands.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "assay/abft/abft_verdict.h"
#include "assay/abft/operands.h"
#include "assay/machine/machine.h"

namespace assay::abft {

// Where references of elements come from: operands, else a golden result.
struct Sources {
  const Operands* operands;
  const MatrixRows* golden;
  const DotModel* model;             // null: float32, one rounding to nearest a product
  const double* b_values = nullptr;  // all of B as float64, where that is there
  // Of a golden result: how far an element of this reference may be off; null: not known.
  const std::function<double(double)>* tolerance = nullptr;
};

// The bound of one element, which belongs to the check of columns first to last of its row.
ElementBound bound_of_element(const Sources& from, const Format& format, std::int64_t row,
                              std::int64_t first, std::int64_t last, std::int64_t column,
                              double value);

// The bounds of columns first to last of a row, a check or part of one; `outside` is not set.
void bounds_of_elements(const Sources& from, const Format& format, std::int64_t row,
                        std::int64_t first, std::int64_t last, ElementBound* to);

// Whether a value is outside the bound of its element. `errors_add_up`: whether the rounding errors
// of the element's sum do, which decides between the two bounds.
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
  std::int64_t clean = 0;     // flags without an element outside its bound
  bool all_looked_at = true;  // false where a fault was certain and too many flags were left
};

// Looks at each element of each flagged check, the largest D/T first: |c - reference| must be at
// most ulp/2 plus the bound of the accumulation, element_bound() or, where
// is_chain(), chain_bound() of Accumulation in machine/unit_bound.h (golden result alone: 2^-16
// of the root mean square of what the check sums; integers must be equal). Removes the flags that
// are clean; of the others keeps the first few, with their element. `most_work`: multiply-adds
// after which, with a fault found, the rest is believed.
Confirmation confirm_flags(const Sources& from, const TensorView& c, std::vector<AbftFlag>& flags,
                           double most_work, int threads);

// Infinite and NaN elements of columns first to last of a row of C: how many are right, and whether
// an element is wrong. `others`: looks at the finite elements beside right ones as well, for their
// sum cannot be.
struct Specials {
  std::int64_t right = 0;
  bool wrong = false;
};
Specials specials_of(const Sources& from, const TensorView& c, std::int64_t row, std::int64_t first,
                     std::int64_t last, bool others);

// The same of `count` elements of which the caller knows whether element j is infinite or NaN,
// whether its reference is finite, and whether it is outside its bound.
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

// How far any data may take the accumulation of the elements of columns first to last of a row from
// the sum of their references, all errors of one sign.
double worst_sum_error(const Sources& from, std::int64_t row, std::int64_t first,
                       std::int64_t last);

// Whether the elements of flagged checks are off by a constant that their columns share: a bias
// that the operands, or the golden result, lack. False where C has a few rows only.
bool columns_are_off(const Sources& from, const TensorView& c);

// Finds the element of a flagged check that is furthest from its reference, and the flip of one bit
// that explains it.
void locate(const Sources& from, const TensorView& c, AbftFlag& flag);

}  // namespace assay::abft
