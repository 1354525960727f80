// What checks by checksums found: flagged checks, their elements, and the verdict over all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/abft/reading.h"
#include "assay/judge/verdict.h"

namespace assay::abft {

// One element of C against its own bound, ulp/2 plus what its accumulation may add.
struct ElementBound {
  double reference = 0, bound = 0;
  double accumulation = 0;  // the part of it that its accumulation may add
  // The bound where its rounding errors all have one sign, which AbftChecker::element_bound() finds
  // out of a value between the two.
  double worst_bound = 0;
  bool outside = false;  // a value that is not finite is inside where the reference rounds to it
};

// Whether an infinite or NaN element is right: its reference, with what accumulation may add, is
// infinite or NaN as well where it is rounded to the format.
bool special_is_right(const Format& format, double actual, double reference, double accumulation);

// A check above its threshold, after confirmation where that is asked for.
struct AbftFlag {
  bool is_column = false;             // a column check; else a row or group check
  std::int64_t batch = 0, index = 0;  // the row (of a column check: the column)
  std::int64_t first = 0, last = 0;   // columns (rows) that the check sums, inclusive
  Reading reading;
  // The element that is furthest from what the operands say, where that could be found.
  struct Element {
    std::int64_t row, column;
    std::uint64_t bits;
    double actual, reference;
    std::optional<int> flipped_bit;  // of the one flip that explains the difference
    std::uint64_t repaired_bits = 0;
  };
  std::optional<Element> element;
};

// Counts of checks: over the rows of a product, and over the matrices of a batch.
struct CheckCounts {
  std::int64_t checks = 0, flagged = 0, not_checkable = 0;
  // Infinite or NaN elements whose references are so too, and the checks that sum them, which are
  // not checkable.
  std::int64_t right_specials = 0, special_checks = 0;
  std::int64_t confirmed_clean = 0;  // above the threshold, but clean at a closer look
  std::int64_t uninformative = 0;    // difference and threshold are both 0
  std::int64_t blind = 0;            // of a golden result only, or attention: zeros are not seen
  std::int64_t narrow = 0;           // span fewer than 3 ulps, with no operands to confirm from
  bool all_looked_at = true;         // every check above the threshold was confirmed
  double worst_ratio = 0;            // largest D/T of all checks
  std::vector<AbftFlag> flags;       // of a verdict the largest D/T first, at most kListed

  void add(const CheckCounts& other);
};

struct AbftVerdict : CheckCounts {
  Outcome outcome = Outcome::kPass;
  std::string because;             // in words, one line
  std::vector<std::string> notes;  // what else a reader should know
  std::int64_t measured = 0;       // checks with a z
  double rms_z = 0;                // over all checks; NaN where the threshold has no sigma
  double mean_z = 0;               // the same, signed: row sum less checksum
  bool columns_are_off = false;    // each by a constant of its own, as a bias is
  bool from_golden = false;        // held against a golden result, not operands
  bool calibrated = true;          // z should be at most 1 in the mean square
  std::string spec;                // the threshold with its parameters
  const Format* format = nullptr;  // of the output

  static constexpr std::size_t kListed = 5;
};

// What was put in the place of an element.
struct AbftRepair {
  std::int64_t row, column;
  std::uint64_t before, after;
  std::optional<int> flipped_bit;  // of the one flip that was undone; else recomputed
};

}  // namespace assay::abft

namespace assay {
using abft::AbftFlag;
using abft::AbftRepair;
using abft::AbftVerdict;
}  // namespace assay
