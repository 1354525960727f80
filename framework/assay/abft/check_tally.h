// Counts the results of the checks of a matrix and puts the verdict in words.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "assay/abft/abft_verdict.h"
#include "assay/abft/reading.h"
#include "assay/abft/threshold.h"

namespace assay::inline v0_2::abft {

// Counts of the checks of all rows of a product, or of the transposed product.
struct CheckTally : CheckCounts {
  LooseReadings loose;  // the loose ones of the readings that were counted
  ZTally z;

  // Counts one reading. Returns true if the check is flagged.
  bool count(const Reading& r, bool is_float);
  // Raises worst_ratio to the largest ratio of the loose readings, after computing them exactly,
  // and drops them. `closer` returns the exact reading, or one that shows that its D/T is at most
  // `ratio`. If all loose readings are below loose.known, worst_ratio does not change.
  void settle_worst(const std::function<Reading(const LooseReading&, double ratio)>& closer);
  void add(const CheckTally& other);
};

// True if x is listed before y: the flag with the larger ratio comes first.
bool larger(const AbftFlag& x, const AbftFlag& y);

// Copies the tally into a verdict's counts. Moves the flags.
void set_counts(AbftVerdict& v, CheckTally& tally);
// Adds the counts and flags of another matrix of a batch.
void add_counts(AbftVerdict& all, const AbftVerdict& v);

// Returns "row checks", or for example "checks of 16 columns", for rows of `columns` columns. Adds
// "and of columns" if columns are checked too.
std::string checks_text(const ThresholdSpec& spec, std::int64_t columns);

// Sets the outcome and its words from the counts. `what` names the checks, as in "row checks".
void summarize(AbftVerdict& v, const Threshold& threshold, const std::string& what);

// Tests the calibration of z = D / sigma over `measured` clean checks, one-sided. Returns an empty
// text if rms z is at most 1 and mean z is 0, both within chance, or if there are fewer than 30
// checks. If not, returns a description of the deviation. The chance is one in a million (Wilson
// and Hilferty's quantile of chi-square).
std::string calibration_note(std::int64_t measured, double rms_z, double mean_z);

}  // namespace assay::abft
