// One check's reading: D = |row sum - checksum|, its threshold T, and z = D / sigma.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "assay/abft/bound_form.h"
#include "assay/abft/threshold.h"
#include "assay/format/format.h"

namespace assay::abft {

// D, T, and the variance of D where the threshold knows one (rounding_variance; else NaN).
struct Reading {
  double difference = 0, threshold = 0;
  double variance = std::numeric_limits<double>::quiet_NaN();  // of the difference, where known
  bool checkable = true;                                       // operands and checksum are finite
  bool below = false;                                          // the row sum is the smaller one

  // Difference over its deviation, and its square; NaN where that is not known.
  double z() const;
  double z_square() const;

  // Whether something in it is infinite or NaN: of the operands, the elements or their sums.
  bool is_special() const;
  // What looking at its infinite and NaN elements said: so many are right, or some element is
  // wrong.
  void settle(std::int64_t right, bool wrong);

  // The test for a fault: infinity or NaN on either side must not compare as clean.
  bool flagged() const;
};

// Difference over threshold; infinite where either is not finite.
double ratio_of(const Reading& r);

// The reading of one check: `expected` is what its row sum is expected to be, before the last
// rounding of the arithmetic.
Reading reading_of(const BoundForm& form, const OutputStats& stats, double expected,
                   Arithmetic arithmetic, const Format& output);

// A check that is not flagged whatever the tail of its rounding errors is, so that its reading has
// a bound of T: what the exact one takes (RowReader::closer()).
struct LooseReading {
  std::int64_t row = 0, group = 0;
  double difference = 0;
  double most = 0;  // D/T is at most this
  BoundForm form;
  OutputStats stats;
  double expected = 0;
  Arithmetic arithmetic = Arithmetic::kFloat64;
};

// Loose readings that may show the largest D/T: of those whose `most` is no larger than `known`,
// which another reading reached, none is kept.
struct LooseReadings {
  std::vector<LooseReading> kept = {};
  double known = 0;
};

// z of many checks together.
struct ZTally {
  std::int64_t measured = 0;   // checks with a z
  double square = 0, sum = 0;  // of z; it counts as negative where the row sum is the smaller one

  // The sums that so many checks with these means had.
  static ZTally of_means(std::int64_t measured, double rms, double mean);
  void add(const Reading& r);
  void add(const ZTally& other);
  // Over all of them; NaN where there are none.
  double rms() const;
  double mean() const;
};

}  // namespace assay::abft
