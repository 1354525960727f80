// The table of published standards, one row each. To add a standard is to add a row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "assay/judge/bound.h"

namespace assay {

// One dtype of a standard, by the standard's rule or one of its own; dtype "*" serves every float
// dtype that has no row of its own.
struct ToleranceRow {
  std::string_view dtype;
  double rtol = 0, atol = 0;
  double floor = 0, small_value = 0, small_atol = 0;
  bool in_epsilon = false;  // all but small_value in units of the dtype's spacing at 1
  double share = 0;         // of the elements may miss
  std::uint64_t ulps = 0;   // of Rule::kUlps
  std::optional<Rule> rule = {};
};
struct LimitRow {
  std::string_view dtype;  // "*": every float dtype
  Limit limit;
};
// How tolerances grow with the number of accumulations.
enum class Growth : std::uint8_t {
  kNone,
  kTwiceFrom2048,  // twice from 2048
  kAtb,            // the same; float32 twice again from 16384
  kLinear,         // times the number, which then must be known
};

struct Standard {
  std::string_view name;
  std::string_view source;      // whose standard, and where it is published
  bool round_expected = false;  // the expected value is first rounded to the output's dtype
  bool nan_equal = false;
  std::span<const ToleranceRow> rows = {};  // integers and bool, where no row names them: exact
  Rule rule = Rule::kTolerance;
  std::span<const LimitRow> limits = {};
  Growth growth = Growth::kNone;
};

std::span<const Standard> standards();

// Where small values of a dtype begin (`parameter`), and which errors count there (`second`): the
// limit that cann_small_values sets. Null where it has none.
const Limit* small_value_limit(const Format& output);

}  // namespace assay
