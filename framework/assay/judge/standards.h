// The table of published standards, one row each. To add a standard is to add a row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/judge/bound.h"

namespace assay {

// Where a rule is published.
struct Publication {
  // "pytorch/pytorch"; of a document that is in no repository its address or its name.
  std::string_view repository;
  std::string_view commit;  // in which the rule was read; empty of a document
  std::string_view path;    // within the repository
  std::string_view date;    // of the commit, or of the reading of a document: "2026-07-15"

  // "pytorch/pytorch@0123456789ab, torch/testing/_comparison.py, 2026-03-01".
  std::string text() const;
};

// One dtype of a standard, by the standard's rule or one of its own; dtype "*" serves every float
// dtype that no row and no limit names.
struct ToleranceRow {
  std::string_view dtype;
  double rtol = 0, atol = 0;
  double floor = 0, small_value = 0, small_atol = 0;
  bool in_epsilon = false;  // all but small_value in units of the dtype's spacing at 1
  double share = 0;         // of the elements may miss
  std::uint64_t ulps = 0;   // of Rule::kUlps
  std::uint64_t or_ulps = 0;
  std::optional<Rule> rule = {};
};
struct LimitRow {
  std::string_view dtype;  // "*": every float dtype that no row and no limit names
  Limit limit;
  bool grows = false;  // with the number of accumulations, as tolerances do
};
// How tolerances grow with the number of accumulations.
enum class Growth : std::uint8_t {
  kNone,
  kTwiceFrom2048,  // twice from 2048
  kAtb,            // the same; float32 twice again from 16384
  kLinear,         // times the number, which then must be known
};
// "none", "twice_from_2048", "atb", "linear".
std::string_view growth_word(Growth growth);
std::optional<Growth> growth_named(std::string_view word);

// A named set of bounds by dtype.
struct Standard {
  std::string_view name;
  std::string_view source;  // whose standard it is, and what it says
  Publication publication = {};
  bool round_expected = false;  // the expected value is first rounded to the output's dtype
  bool nan_equal = false;
  std::span<const ToleranceRow> rows = {};  // integers and bool, where no row names them: exact
  Rule rule = Rule::kTolerance;
  std::span<const LimitRow> limits = {};
  Growth growth = Growth::kNone;
  // What no published standard says, and a user's own may.
  bool nan_accepts = false;
  Infinity infinity = Infinity::kSign;
  std::optional<std::int64_t> max_mismatches = {};
  std::optional<double> max_mismatch_fraction = {};
};

// The published standards, each under its own name: versions as in "cann_ecosystem@2025".
std::span<const Standard> standards();
// The one that a name stands for, or null: its own, that of the newest version without the suffix,
// or the word that the project of the standard uses ("mixed" of TTK).
const Standard* find_standard(std::string_view name);
// The other names of a standard.
std::vector<std::string_view> other_names(const Standard& standard);

// What a standard says of each dtype that it names ("float16", "other floats", "integers, bool"),
// in words.
std::vector<std::pair<std::string, std::string>> standard_rules(const Standard& standard);

// A standard of the user's own, from a file (assay/wire/standards_file.h): the same rows. Dtypes
// are names of the table of formats.
struct CustomStandard {
  std::string name;
  std::vector<ToleranceRow> rows;
  std::vector<LimitRow> limits;
  Standard rest = {};  // all but name, rows and limits

  // As long as this one lives and does not change.
  Standard view() const;
};

// Where small values of a dtype begin (`parameter`), and which errors count there (`second`): the
// limit that cann_small_values sets. Null where it has none.
const Limit* small_value_limit(const Format& output);

}  // namespace assay
