// The reading of one check: D = |row sum - checksum|, its threshold T, and z = D / sigma.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "assay/abft/bound_form.h"
#include "assay/abft/threshold.h"
#include "assay/format/format.h"

namespace assay::abft {

// D, T, and the variance of D. Only rounding_variance and residual_compensated know the variance.
struct Reading {
  double difference = 0, threshold = 0;
  // of the difference, NaN if not known
  double variance = std::numeric_limits<double>::quiet_NaN();
  bool checkable = true;  // operands and checksum are finite
  bool below = false;     // the row sum is the smaller one

  // Difference over its standard deviation, and the square of that. NaN if the deviation is not
  // known.
  double z() const;
  double z_square() const;

  // True if an operand, an element or a sum is infinite or NaN.
  bool is_special() const;
  // Applies what the infinite and NaN elements showed: how many of them are right, and if some
  // element is wrong.
  void settle(std::int64_t right, bool wrong);

  // True if the check finds a fault. Infinity or NaN on either side never compares as clean.
  bool flagged() const;
};

// Returns difference over threshold. It is infinite if one of them is not finite.
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
  double most = 0;  // D/T is at most this
  BoundForm form;
  OutputStats stats;
  double expected = 0;
  Arithmetic arithmetic = Arithmetic::kFloat64;
};

// Loose readings that may have the largest D/T. Another reading reached `known`. Loose readings
// whose `most` is not above it are not kept.
struct LooseReadings {
  std::vector<LooseReading> kept = {};
  double known = 0;
};

// Statistics of z over many checks.
struct ZTally {
  std::int64_t measured = 0;   // checks with a z
  double square = 0, sum = 0;  // of z, negative if the row sum is the smaller one

  // Returns the sums that `measured` checks with these means have.
  static ZTally of_means(std::int64_t measured, double rms, double mean);
  void add(const Reading& r);
  void add(const ZTally& other);
  // Over all checks. NaN without checks.
  double rms() const;
  double mean() const;
};

}  // namespace assay::abft
