// One direction of a product's checks, its rows or, transposed, its columns: all that is known
// before C, and the thresholds that follow from it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "assay/abft/abft.h"
#include "assay/abft/bound_form.h"
#include "assay/abft/operands.h"

namespace assay {

// What checking at some width needs of the operands' side.
struct Prepared {
  double roundings = 0;  // of the accumulator, an element
  Checksums checksums;
  std::vector<VAbftTerms> v_abft;
  AAbftTerms a_abft;
};

struct Direction {
  AbftOptions options;
  bool from_golden = false;
  Operands operands;
  MatrixRows golden;
  std::int64_t m = 0, n = 0, k = 0;

  std::int64_t width() const;
  std::int64_t groups() const;

  // Computed once, and once more with exact squares.
  const Prepared& prepare(bool exact_squares) const;
  const Prepared& prepare(const Format& output) const;

  // All of B as float64, row-major; kept from the first call on.
  const double* b_values() const;

  // Why the threshold cannot judge outputs of this format; empty where it can.
  std::string why_not(const Format& output) const;

 private:
  mutable std::mutex mutex_;
  mutable std::vector<double> b_values_;
  mutable std::optional<Prepared> prepared_[2];  // without and with exact squares
};

// The forms of one direction's checks for outputs of a format.
class RowForms {
 public:
  RowForms(const Direction& direction, const Format& output, double kappa);

  StatsUsed used() const;  // by any of the forms
  // One form a group of row i.
  void make(std::int64_t i, BoundForm* to) const;

 private:
  BoundForm rounding_variance(std::int64_t i, std::int64_t g) const;
  BoundForm a_abft(std::int64_t i) const;

  const Direction& d_;
  const Prepared& p_;
  const Format& output_;
  double kappa_;
  VAbftConstants v_abft_{0, 0};
};

}  // namespace assay
