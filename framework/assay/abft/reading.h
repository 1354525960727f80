// The reading of one check: D = |row sum - checksum|, its threshold T, and z = D / sigma.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "assay/abft/bound_form.h"
#include "assay/abft/threshold.h"
#include "assay/format/format.h"

namespace assay::inline v0_2::abft {

// D, T, and the variance of D. Only rounding_variance and residual_compensated know the variance.
struct Reading {
  double difference = 0, threshold = 0;
  // Variance of `difference`. NaN if it is not known.
  double variance = std::numeric_limits<double>::quiet_NaN();
  // False if an operand or the checksum is not finite, or if the check sums infinite or NaN
  // elements that are right.
  bool checkable = true;
  bool below = false;  // true if the row sum is smaller than the checksum

  // z() is the difference over its standard deviation, and z_square() is its square. Both are NaN
  // if the deviation is not known.
  double z() const;
  double z_square() const;

  // True if an operand, an element or a sum is infinite or NaN.
  bool is_special() const;
  // Updates the reading of a check with infinite or NaN elements: `right` of them are right, and
  // `wrong` is true if some element is wrong.
  void settle(std::int64_t right, bool wrong);

  // True if the check finds a fault: it is checkable, and D is above T, or D or T is infinite or
  // NaN.
  bool flagged() const;
};

// Returns D/T, the difference over the threshold. It is infinite if one of them is not finite.
double ratio_of(const Reading& r);

// Returns the reading of one check. `expected` is the expected row sum, before the last rounding of
// the arithmetic.
Reading reading_of(const BoundForm& form, const OutputStats& stats, double expected,
                   Arithmetic arithmetic, const Format& output);

// A check that is certainly not flagged, even without the exact tail of its rounding errors. Its
// reading has only a bound of T. RowReader::closer() computes the exact T from these members.
struct LooseReading {
  std::int64_t row = 0, group = 0;
  double difference = 0;
  double most = 0;  // upper bound of difference / threshold
  BoundForm form;
  OutputStats stats;
  double expected = 0;
  Arithmetic arithmetic = Arithmetic::kFloat64;
};

// Loose readings that may have the largest D/T of all checks. `known` is the D/T of another
// reading. Loose readings whose `most` is not above `known` are not kept.
struct LooseReadings {
  std::vector<LooseReading> kept = {};
  double known = 0;
};

// Statistics of z over many checks.
struct ZTally {
  std::int64_t measured = 0;  // number of checks that have a z
  // The sums of z^2 and of z. z is negative if the row sum is smaller than the checksum.
  double square = 0, sum = 0;

  // Returns the tally of `measured` checks whose z has this rms and mean.
  static ZTally of_means(std::int64_t measured, double rms, double mean);
  void add(const Reading& r);
  void add(const ZTally& other);
  // The rms and the mean of z over all checks. NaN without checks.
  double rms() const;
  double mean() const;
};

}  // namespace assay::abft
