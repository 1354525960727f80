// The thresholds of a product's checks, row by row. Each is a form, a function of the statistics of
// C.
#pragma once

#include <cstdint>

#include "assay/abft/bound_form.h"
#include "assay/abft/checked_product.h"
#include "assay/machine/unit_bound.h"

namespace assay::inline v0_2::abft {

// Makes the forms of the checks of one product, for outputs of one format. The function of each
// threshold in its table builds them from the members of this class.
class RowForms {
 public:
  RowForms(const CheckedProduct& product, const Format& output, double kappa);

  StatsUsed used() const;  // statistics of C that at least one of the forms reads
  // Writes one form for each group of row i.
  void make(std::int64_t i, BoundForm* to) const;
  // Changes `form` from that of the group before to that of group g. For the first group, `form`
  // may be any form. For integers it stays a default BoundForm, because they are checked exactly.
  void next(std::int64_t i, std::int64_t g, BoundForm& form) const;
  // Returns the form with which |R| is compared, for a threshold that takes residuals.
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
  // True if all groups of a row with equally many columns have the same form. They do if what the
  // operands predict is only known for the whole row.
  bool alike_;
};

// Returns the form of a threshold that does not depend on C. It is the constant that was prepared
// for the check.
BoundForm constant_form(const RowForms& rows, std::int64_t row, std::int64_t group);

}  // namespace assay::abft
