// The table of published standards, with one row for each. To add a standard, add a row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/judge/bound.h"

namespace assay::inline v0_2 {

// The place where a rule is published.
struct Publication {
  // "pytorch/pytorch" for a repository, or the address or name of a document that is in no
  // repository.
  std::string_view repository;
  std::string_view commit;  // the commit in which the rule was read, or empty for a document
  std::string_view path;    // within the repository
  // The date of the commit, or the day when a document was read: "2026-07-15".
  std::string_view date;

  // Returns "pytorch/pytorch@0123456789ab, torch/testing/_comparison.py, 2026-03-01".
  std::string text() const;
};

// The tolerances of a standard for one dtype, by the standard's rule or its own. The dtype "*"
// stands for every float dtype that no row and no limit names.
struct ToleranceRow {
  std::string_view dtype;
  double rtol = 0, atol = 0;
  double floor = 0, small_value = 0, small_atol = 0;
  // If true, rtol, atol and small_atol are in units of the dtype's spacing at 1.
  bool in_epsilon = false;
  double share = 0;        // the share of the elements that may be mismatches
  std::uint64_t ulps = 0;  // for Rule::kUlps
  std::uint64_t or_ulps = 0;
  std::optional<Rule> rule = {};
};
// A limit that a standard sets for one dtype.
struct LimitRow {
  std::string_view dtype;  // "*" stands for every float dtype that no row and no limit names
  Limit limit;
  bool grows = false;  // true if the limit grows with the number of accumulations, as tolerances do
};
// The growth of tolerances with the number of accumulations.
enum class Growth : std::uint8_t {
  kNone,
  kTwiceFrom2048,  // tolerances are doubled from 2048 accumulations on
  kAtb,            // like kTwiceFrom2048, and doubled again for float32 from 16384 on
  kLinear,         // tolerances are multiplied by the number of accumulations, which must be known
};
// Converts to and from "none", "twice_from_2048", "atb", "linear". growth_named() returns nothing
// if the word is unknown.
std::string_view growth_word(Growth growth);
std::optional<Growth> growth_named(std::string_view word);

// A named set of bounds by dtype.
struct Standard {
  std::string_view name;
  std::string_view source;  // name of the project whose standard it is, and the rule in words
  Publication publication = {};
  bool round_expected = false;  // true if the expected value is first rounded to the output's dtype
  bool nan_equal = false;
  // Integers and bool must be equal unless a row names them.
  std::span<const ToleranceRow> rows = {};
  Rule rule = Rule::kTolerance;  // the rule of the rows that do not set one of their own
  // A dtype that has only limits is judged by Rule::kStatistics.
  std::span<const LimitRow> limits = {};
  Growth growth = Growth::kNone;
  // No published standard sets the members below. A user's own standard may set them.
  bool nan_accepts = false;
  Infinity infinity = Infinity::kSign;
  std::optional<std::int64_t> max_mismatches = {};
  std::optional<double> max_mismatch_fraction = {};
};

// Returns assay's default and the published standards. Each has its own name, with a version if
// there are several: "cann_ecosystem@2025".
std::span<const Standard> standards();
// Returns the standard of a name, or nullptr. The name may be the standard's own, that of the
// newest completely read version without the suffix, or the word that the standard's project uses
// ("mixed" in TTK).
const Standard* find_standard(std::string_view name);
// The other names of a standard.
std::vector<std::string_view> other_names(const Standard& standard);

// Returns for each dtype that a standard names ("float16", "other floats", "integers, bool") its
// rule in words.
std::vector<std::pair<std::string, std::string>> standard_rules(const Standard& standard);

// A standard of the user's own, from a file (assay/judge/standards_file.h). It has the same rows.
// Dtypes are names from the table of formats.
struct CustomStandard {
  std::string name;
  std::vector<ToleranceRow> rows;
  std::vector<LimitRow> limits;
  Standard rest = {};  // the standard's other members: all except name, rows and limits

  // The view is valid while this object lives and does not change.
  Standard view() const;
};

// Returns the limit that cann_small_values sets for a dtype, or nullptr if it sets none. Values
// below `parameter` are small, and their errors above `second` are counted.
const Limit* small_value_limit(const Format& output);

}  // namespace assay
