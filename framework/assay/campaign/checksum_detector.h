// One checksum threshold on one matrix: its clean checks, its result after each flip of a census,
// and its result after any change of elements.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "assay/abft/options.h"
#include "assay/abft/reading.h"
#include "assay/campaign/trial_tally.h"
#include "assay/cases/case.h"
#include "assay/fault/change.h"

namespace assay::inline v0_2::campaign {

// An element of the result whose bits change.
struct ElementChange {
  std::int64_t row, column;
  std::uint64_t bits;
};

// An element of the result whose accumulator (its sum before the cast to the output's format) gets
// another value.
struct AccumulatorChange {
  std::int64_t row, column;
  double value;
};

// The result of a detector for a changed output.
struct Detection {
  // A check exceeds its threshold, and its elements confirm the fault if confirmation is on.
  bool flagged = false;
  // A check exceeds its threshold, but all of its elements are inside their bounds.
  bool dismissed = false;
  // True if none of the checks that cover the changed elements is checkable.
  bool not_checkable = false;
  // The largest difference / threshold of the checks that cover the changed elements.
  double ratio = 0;
  double difference = 0, threshold = 0;  // of the check with the largest ratio
};

class ChecksumDetector {
 public:
  // The case must be a product (is_product() in op/operator.h) of two matrices. `output` is its
  // result C and must outlive this object. A threshold that takes residuals needs the residual R of
  // each check: the sum of the accumulators minus the elements that they are cast to, as the
  // kernel's epilogue computed it before any fault in C. R is computed in float32 from the
  // accumulator of `epilogue`, or taken from its residual if there is no accumulator. Throws
  // Refusal, with the reason, if the threshold cannot judge the result.
  ChecksumDetector(const AbftOptions& options, const Case& test_case, const Tensor& output,
                   const Epilogue& epilogue = {});
  ~ChecksumDetector();
  ChecksumDetector(ChecksumDetector&&) noexcept;

  // Checks the unchanged result row by row, and column by column if the threshold checks columns.
  // Counts the largest difference / threshold of each row and column in `ratios`.
  CleanCounts clean(RatioCounts& ratios) const;

  // Writes to bins[b * M N + i N + j] the bin of the flip of bit bits[b] of element (i, j). Adds
  // kFlipBins if the flip is from 1 to 0. All bins are final: kBinUnsure stands for rows that are
  // not checkable, and kBinDismissed for checks that confirmation dismissed. With `exact`, sums
  // every check again.
  void census(std::span<const int> bits, bool exact, std::uint16_t* bins) const;

  // Checks the result with these changes. For a fault before the cast, `before_cast` holds the
  // accumulators that the fault changed. The residual R is then computed from the changed
  // accumulators and elements.
  Detection detect(std::span<const ElementChange> changes,
                   std::span<const AccumulatorChange> before_cast = {}) const;
  // Injects a fault into the checksum vector B e: changes its element k in one group. Checks the
  // unchanged result with it. `where` is the position of the group among all groups, from 0 to 1. B
  // e is stored as float64, or in the output's format if the arithmetic is kOutput. Returns nothing
  // if the fault cannot be injected.
  struct ChangedChecksum {
    Detection detection;
    std::string what;
  };
  std::optional<ChangedChecksum> detect_checksum(std::int64_t k, double where,
                                                 const fault::Change& change, Random& random) const;
  // Returns the reading of the first check of an unchanged row.
  abft::Reading reading(std::int64_t row) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::campaign
