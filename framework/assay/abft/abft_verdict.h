// Results of checks by checksums: flagged checks, their elements, and the verdict over all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/abft/reading.h"
#include "assay/judge/verdict.h"

namespace assay::inline v0_2::abft {

// The bound of one element of C, ulp/2 plus the possible error of its accumulation, and the
// comparison of the element with it.
struct ElementBound {
  double reference = 0, bound = 0;
  double accumulation = 0;  // the part of the bound that covers the accumulation's error
  // The bound if all rounding errors of the accumulation have the same sign. If the value is
  // between the two bounds, AbftChecker::element_bound() computes which of them applies.
  double worst_bound = 0;
  // True if the value is outside of its bound. An infinite or NaN value is inside if the reference
  // rounds to it.
  bool outside = false;
};

// True if an infinite or NaN element is right. It is if its reference, or its reference plus or
// minus `accumulation`, rounds to the same value in the format.
bool special_is_right(const Format& format, double actual, double reference, double accumulation);

// A check whose difference is above its threshold. If confirmation is on, it did not clear the
// check.
struct AbftFlag {
  bool is_column = false;             // false for a row or group check
  std::int64_t batch = 0, index = 0;  // the row, or the column of a column check
  std::int64_t first = 0, last = 0;   // columns (or rows) that the check sums, inclusive
  Reading reading = {};
  // The element that is furthest from its reference. Empty if no such element was found.
  struct Element {
    std::int64_t row, column;
    std::uint64_t bits;
    double actual, reference;
    std::optional<int> flipped_bit = {};  // of the single flip that explains the difference
    std::uint64_t repaired_bits = 0;
  };
  std::optional<Element> element = {};
};

// Counts of checks, over the rows of a product and over the matrices of a batch.
struct CheckCounts {
  std::int64_t checks = 0, flagged = 0, not_checkable = 0;
  // Infinite or NaN elements whose references are infinite or NaN as well, and the number of checks
  // that sum them. Those checks are not checkable.
  std::int64_t right_specials = 0, special_checks = 0;
  // Checks above the threshold in which confirmation found every element inside its bound.
  std::int64_t confirmed_clean = 0;
  std::int64_t uninformative = 0;  // checks whose difference and threshold are both 0
  // Checks that would not detect an output set to 0. Counted only for golden results and attention.
  std::int64_t blind = 0;
  // Checks whose elements span fewer than 3 ulps, if there are no operands from which they could be
  // confirmed.
  std::int64_t narrow = 0;
  bool all_looked_at = true;    // true if confirmation judged every check above its threshold
  double worst_ratio = 0;       // largest difference / threshold of all checks
  std::vector<AbftFlag> flags;  // a verdict keeps at most kListed, the largest ratio first

  void add(const CheckCounts& other);
};

// The verdict on one output by checksums: the outcome, its reason, and the counts of its checks.
struct AbftVerdict : CheckCounts {
  Outcome outcome = Outcome::kPass;
  std::string because;             // the reason for the outcome, in one line
  std::vector<std::string> notes;  // further remarks for the reader
  std::int64_t measured = 0;       // number of checks that have a z
  double rms_z = 0;                // rms of z over all checks, NaN if the threshold has no sigma
  double mean_z = 0;  // mean of z over all checks, where z has the sign of row sum minus checksum
  // True if the columns of C are off by a constant each, as a missing bias would cause.
  bool columns_are_off = false;
  bool from_golden = false;        // C was compared with a golden result and not with operands
  bool calibrated = true;          // if C is right, the mean square of z is at most 1
  std::string spec;                // the threshold with its parameters
  const Format* format = nullptr;  // of the output

  static constexpr std::size_t kListed = 5;
};

// An element that repair() replaced.
struct AbftRepair {
  std::int64_t row, column;
  std::uint64_t before, after;
  // The bit that was flipped back. Empty if the element was recomputed.
  std::optional<int> flipped_bit;
};

}  // namespace assay::abft

namespace assay::inline v0_2 {
using abft::AbftFlag;
using abft::AbftRepair;
using abft::AbftVerdict;
}  // namespace assay
