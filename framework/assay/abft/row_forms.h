// The thresholds of a product's checks, row by row, as functions (forms) of the statistics of C.
#pragma once

#include <cstdint>

#include "assay/abft/bound_form.h"
#include "assay/abft/checked_product.h"
#include "assay/machine/unit_bound.h"

namespace assay::abft {

// The forms of the checks of one product, for outputs of one format. The table's row of each
// threshold builds them from the members of this class.
class RowForms {
 public:
  RowForms(const CheckedProduct& product, const Format& output, double kappa);

  StatsUsed used() const;  // the statistics that any of the forms reads
  // Writes one form for each group of row i.
  void make(std::int64_t i, BoundForm* to) const;
  // Turns the form of the group before into that of this group. The first group takes any form. For
  // integers it stays a default BoundForm, because they are checked exactly.
  void next(std::int64_t i, std::int64_t g, BoundForm& form) const;
  // For a threshold that takes residuals, returns the form of |R|.
  BoundForm rounding(std::int64_t i, std::int64_t g) const;

  const CheckedProduct& product() const { return product_; }
  const Prepared& prepared() const { return prepared_; }
  const Format& output() const { return output_; }
  double kappa() const { return kappa_; }
  const Accumulation& accumulation() const { return accumulation_; }

  // Returns what the operands predict for the products of one check.
  ProductStats product_stats(std::int64_t i, std::int64_t g) const;
  // Returns the systematic error that the accumulator gives to the sum of a check.
  double bias_of(std::int64_t i, std::int64_t g) const;

 private:
  const CheckedProduct& product_;
  const Prepared& prepared_;
  const Format& output_;
  double kappa_;
  Accumulation accumulation_;
  std::int64_t groups_;  // groups per row
  // True if all groups of a row with equally many columns have the same form. This is so if the
  // operands' side is only known for the whole row.
  bool alike_;
};

// Returns the form of thresholds that do not depend on C: the prepared constant of the check.
BoundForm constant_form(const RowForms& rows, std::int64_t row, std::int64_t group);

}  // namespace assay::abft
