// What the checks of a matrix gave, counted, and the verdict in words.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "assay/abft/abft_verdict.h"
#include "assay/abft/reading.h"
#include "assay/abft/threshold.h"

namespace assay::abft {

// What all rows of a product (or of the transposed one) gave.
struct CheckTally : CheckCounts {
  LooseReadings loose;  // of the readings that were counted
  ZTally z;

  // Counts one reading; true where it is flagged.
  bool count(const Reading& r, bool is_float);
  // Makes worst_ratio that of exact readings, and drops the loose ones. `closer`: an exact reading,
  // or one that shows that its D/T is no larger than `ratio`. Where all are below loose.known,
  // worst_ratio stays.
  void settle_worst(const std::function<Reading(const LooseReading&, double ratio)>& closer);
  void add(const CheckTally& other);
};

// The order in which flags are listed: the largest ratio first.
bool larger(const AbftFlag& x, const AbftFlag& y);

// The tally into a verdict's counts.
void set_counts(AbftVerdict& v, CheckTally& tally);
// The counts and flags of another matrix of a batch, added.
void add_counts(AbftVerdict& all, const AbftVerdict& v);

// "row checks", "checks of 16 columns", of rows of so many columns, with "and of columns" where
// they are checked too.
std::string checks_text(const ThresholdSpec& spec, std::int64_t columns);

// Outcome and words from the counts. `what`: "row checks".
void summarize(AbftVerdict& v, const Threshold& threshold, const std::string& what);

// One-sided calibration of z = D / sigma over so many clean checks: empty where rms z is at most 1
// and mean z is 0 within chance (one in a million; Wilson and Hilferty's quantile of chi-square),
// else what they say.
std::string calibration_note(std::int64_t measured, double rms_z, double mean_z);

}  // namespace assay::abft
