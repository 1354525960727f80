// The thresholds of a product's checks as forms of what C contributes to them, row by row.
#pragma once

#include <cstdint>

#include "assay/abft/bound_form.h"
#include "assay/abft/checked_product.h"
#include "assay/machine/unit_bound.h"

namespace assay::abft {

// The forms of the checks of one product, for outputs of a format. A threshold's row of the table
// makes them from what stands here.
class RowForms {
 public:
  RowForms(const CheckedProduct& product, const Format& output, double kappa);

  StatsUsed used() const;  // by any of the forms
  // One form a group of row i.
  void make(std::int64_t i, BoundForm* to) const;
  // The form of a group from that of the group before it, or of the first from any form. (Of
  // integers it is BoundForm's own: they are checked exactly.)
  void next(std::int64_t i, std::int64_t g, BoundForm& form) const;
  // Of a threshold that takes residuals: the form of |R|.
  BoundForm rounding(std::int64_t i, std::int64_t g) const;

  const CheckedProduct& product() const { return product_; }
  const Prepared& prepared() const { return prepared_; }
  const Format& output() const { return output_; }
  double kappa() const { return kappa_; }
  const Accumulation& accumulation() const { return accumulation_; }

  // What the operands say of the products of one check.
  ProductStats product_stats(std::int64_t i, std::int64_t g) const;
  // How far the accumulator moves the sum of a check to one side.
  double bias_of(std::int64_t i, std::int64_t g) const;

 private:
  const CheckedProduct& product_;
  const Prepared& prepared_;
  const Format& output_;
  double kappa_;
  Accumulation accumulation_;
  std::int64_t groups_;  // in a row
  // The forms of a row are the same in all groups of as many columns: what they take of the
  // operands' side is known for the whole row alone.
  bool alike_;
};

// The form of thresholds that C has no part in: what was prepared for the check.
BoundForm constant_form(const RowForms& rows, std::int64_t row, std::int64_t group);

}  // namespace assay::abft
