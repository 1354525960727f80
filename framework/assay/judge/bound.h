// Bounds and the standards that name them. A bound is fixed before the comparison: an element
// misses where |actual - expected| exceeds it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/tensor/case.h"

namespace assay {

enum class Rule : std::uint8_t {
  kTolerance,  // |actual - expected| <= atol + rtol |expected|, in float64
  kUlps,       // at most `ulps` representable values of the output's format apart
  kBits,       // the same bit pattern, NaN payloads and the sign of zero included
};

struct Bound {
  Rule rule = Rule::kTolerance;
  double rtol = 0, atol = 0;
  std::uint64_t ulps = 0;
  bool nan_equal = false;      // NaN equals NaN; else NaN equals nothing
  bool round_expected = true;  // the expected value is first rounded to the output's dtype
  std::string standard;        // the name it goes by: "torch", "ulp(2)", "custom"
  std::string origin;          // what chose it: "command", "case", "default", ...

  // "atol 0.001 + rtol 0.001 * |expected|", "2 ulp", "bit equality".
  std::string text() const;
};

// atol + rtol |expected| in float64, at most the largest finite number: an infinite bound never
// clears anything. Infinity times zero counts as zero.
double tolerance_at(const Bound& bound, double expected);

struct ToleranceRow {
  std::string_view dtype;
  double rtol, atol;
};

struct Standard {
  std::string_view name;
  std::string_view source;  // whose standard, and where it is published
  bool round_expected;
  bool nan_equal;
  std::span<const ToleranceRow> rows;  // integers and bool, where no row names them: exact
};

std::span<const Standard> standards();
inline constexpr std::string_view kDefaultStandard = "triton_ascend";

// The bound of a standard ("torch", "ulp(4)", "bit_equal") for outputs of a dtype; empty where the
// standard has no row for it. Throws std::invalid_argument on an unknown standard, with the
// nearest known one.
std::optional<Bound> standard_bound(std::string_view standard, const Format& output);

// What a command line, an environment or a matcher asks for; it goes over what the case says.
struct BoundRequest {
  std::vector<std::string> standards = {};  // all must pass
  std::optional<double> rtol = {}, atol = {};
  std::optional<bool> equal_nan = {};
  std::string origin = "command";
};

// The bounds that a case is judged by. Precedence: the request, then the case's own rtol and atol,
// then the case's standard, then the default. Each result is a bound, or the reason why there is
// none (the standard has no row for the dtype).
struct ChosenBound {
  std::optional<Bound> bound;
  std::string standard;
  std::string why_not;
};
std::vector<ChosenBound> choose_bounds(const Case& test_case, const Format& output,
                                       const BoundRequest& request);

}  // namespace assay
