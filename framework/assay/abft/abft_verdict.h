// Results of checks by checksums: flagged checks, their elements, and the verdict over all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/abft/reading.h"
#include "assay/judge/verdict.h"

namespace assay::abft {

// Compares one element of C with its own bound: ulp/2 plus the possible error of its accumulation.
struct ElementBound {
  double reference = 0, bound = 0;
  double accumulation = 0;  // the part of the bound that covers the accumulation's error
  // The bound if all rounding errors of the accumulation have the same sign. If the value is
  // between the two bounds, AbftChecker::element_bound() computes which of them applies.
  double worst_bound = 0;
  bool outside = false;  // an infinite or NaN value is inside if the reference rounds to it
};

// True if an infinite or NaN element is right. It is if its reference, or its reference plus or
// minus `accumulation`, rounds to the same value in the format.
bool special_is_right(const Format& format, double actual, double reference, double accumulation);

// A check above its threshold. If confirmation is on, the check is still flagged after it.
struct AbftFlag {
  bool is_column = false;             // false for a row or group check
  std::int64_t batch = 0, index = 0;  // the row, or the column of a column check
  std::int64_t first = 0, last = 0;   // columns (or rows) that the check sums, inclusive
  Reading reading;
  // The element that is furthest from its reference. Empty if no such element was found.
  struct Element {
    std::int64_t row, column;
    std::uint64_t bits;
    double actual, reference;
    std::optional<int> flipped_bit;  // of the single flip that explains the difference
    std::uint64_t repaired_bits = 0;
  };
  std::optional<Element> element;
};

// Counts of checks, over the rows of a product and over the matrices of a batch.
struct CheckCounts {
  std::int64_t checks = 0, flagged = 0, not_checkable = 0;
  // Infinite or NaN elements whose references are infinite or NaN as well, and the number of checks
  // that sum them. Those checks are not checkable.
  std::int64_t right_specials = 0, special_checks = 0;
  // Checks above the threshold in which confirmation found every element inside its bound.
  std::int64_t confirmed_clean = 0;
  std::int64_t uninformative = 0;  // difference and threshold are both 0
  // Checks that would not detect an output set to 0. Counted only for golden results and attention.
  std::int64_t blind = 0;
  // Checks whose elements span fewer than 3 ulps, without operands to confirm from.
  std::int64_t narrow = 0;
  bool all_looked_at = true;    // every check above the threshold was confirmed
  double worst_ratio = 0;       // largest D/T of all checks
  std::vector<AbftFlag> flags;  // a verdict keeps at most kListed, the largest D/T first

  void add(const CheckCounts& other);
};

struct AbftVerdict : CheckCounts {
  Outcome outcome = Outcome::kPass;
  std::string because;             // the reason for the outcome, in one line
  std::vector<std::string> notes;  // further remarks for the reader
  std::int64_t measured = 0;       // checks with a z
  double rms_z = 0;                // over all checks, NaN if the threshold has no sigma
  double mean_z = 0;               // over all checks, signed: row sum minus checksum
  bool columns_are_off = false;    // by a constant per column, as a missing bias would cause
  bool from_golden = false;        // compared with a golden result instead of operands
  bool calibrated = true;          // the mean square of z should be at most 1
  std::string spec;                // the threshold with its parameters
  const Format* format = nullptr;  // of the output

  static constexpr std::size_t kListed = 5;
};

// An element that repair() replaced.
struct AbftRepair {
  std::int64_t row, column;
  std::uint64_t before, after;
  std::optional<int> flipped_bit;  // the flip that was undone, empty if the element was recomputed
};

}  // namespace assay::abft

namespace assay {
using abft::AbftFlag;
using abft::AbftRepair;
using abft::AbftVerdict;
}  // namespace assay
