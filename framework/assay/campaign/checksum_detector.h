// One checksum threshold on one matrix: its clean checks, what it says after each flip of a census,
// and after any change of elements.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/abft/options.h"
#include "assay/abft/reading.h"
#include "assay/campaign/trial_tally.h"
#include "assay/cases/case.h"
#include "assay/fault/change.h"

namespace assay::campaign {

// An element of the result with other bits.
struct ElementChange {
  std::int64_t row, column;
  std::uint64_t bits;
};

// An element whose accumulator holds another value before its cast.
struct AccumulatorChange {
  std::int64_t row, column;
  double value;
};

// What a gate says of a changed result.
struct Detection {
  bool flagged = false;        // seen: above the threshold, and confirmed where that is asked
  bool dismissed = false;      // above it, and clean element by element
  bool not_checkable = false;  // every check that the change concerns
  double ratio = 0;            // the largest D/T of these checks
  double difference = 0, threshold = 0;  // of that check
};

class ChecksumGate {
 public:
  // The case is a product (Case::is_product()) of two matrices; `output` is its result and outlives
  // this. A threshold that takes residuals has R of each check, as the kernel's epilogue summed it
  // before any fault in C: summed in float32 from the accumulator of `epilogue`, else its residual.
  // Throws std::invalid_argument where the threshold cannot judge it,
  // with the reason.
  ChecksumGate(const AbftOptions& options, const Case& test_case, const Tensor& output,
               const Epilogue& epilogue = {});
  ~ChecksumGate();
  ChecksumGate(ChecksumGate&&) noexcept;

  // The result as it is, row by row; adds to `ratios`.
  CleanCounts clean(RatioCounts& ratios) const;

  // bins[b * M N + i N + j] of the flip of bit bits[b] of element (i, j), plus kFlipBins where it
  // goes from 1 to 0; what had to be looked at closely is settled: kBinUnsure stands for rows that
  // are not checkable, kBinDismissed for what confirmation dismissed. `exact`: every check is
  // summed again.
  void census(std::span<const int> bits, bool exact, std::uint16_t* bins) const;

  // The result with these changes. `before_cast`: of a fault before the cast, the accumulators that
  // it changed, whose new R is that of the changed result.
  Detection detect(std::span<const ElementChange> changes,
                   std::span<const AccumulatorChange> before_cast = {}) const;
  // The result as it is, checked with another element k of one group of the checksum vector B e
  // (`where`: its place among the groups, from 0 to 1), which is kept as float64, or in the
  // output's format where the check's arithmetic is that. Empty where it is not injectable.
  struct ChangedChecksum {
    Detection detection;
    std::string what;
  };
  std::optional<ChangedChecksum> detect_checksum(std::int64_t k, double where,
                                                 const fault::Change& change, Random& random) const;
  // The first check of a row as it is.
  abft::Reading reading(std::int64_t row) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::campaign
