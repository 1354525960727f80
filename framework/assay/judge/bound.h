// Bounds and the standards that name them. A bound is fixed before the comparison: an element
// misses where |actual - expected| exceeds it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/format/format.h"

namespace assay {

enum class Rule : std::uint8_t {
  kTolerance,   // |actual - expected| <= atol + rtol |expected|, in float64
  kUlps,        // at most `ulps` representable values of the output's format apart
  kBits,        // the same bit pattern, NaN payloads and the sign of zero included
  kLargest,     // |actual - expected| <= rtol max(floor, |expected|)
  kSymmetric,   // equal, or |actual - expected| < rtol max(floor, |actual| + |expected|)
  kGiven,       // |actual - expected| <= an element's own bound + atol + rtol |expected|
  kStatistics,  // NaN and infinity element by element, all else by `limits` alone
};

// How infinities compare; settled before any arithmetic.
enum class Infinity : std::uint8_t {
  kSign,        // equal only with its sign
  kSaturating,  // the largest finite value counts as infinity of its sign: saturating hardware
  kFewer,       // a finite value is accepted where infinity is expected
};
std::string_view infinity_word(Infinity policy);
// Throws std::invalid_argument that begins with `where`.
Infinity infinity_named(std::string_view word, std::string_view where);

// What is limited over all elements that are finite on both sides; e is the expected value, d =
// actual - e, and a ratio's denominator is the same statistic of a benchmark's output.
enum class Statistic : std::uint8_t {
  kMere,           // mean |d| / (|e| + 1e-7)
  kMare,           // the largest of it
  kErrorBalance,   // |mean d / max(1, |e|)|
  kDiff1,          // sum |d| / sum |e|
  kDiff2,          // sqrt(sum d^2 / sum e^2)
  kCosine,         // at least
  kMaxAbs,         // max |d|
  kShareRelative,  // share of elements with |d| >= parameter |e|, but for those with d = 0
  kShareUlps,      // share of elements more than `parameter` ulp apart
  kMeanUlps,       // mean distance in ulp
  kCalcDiff,       // 1 - 2 sum a e / sum (a^2 + e^2)
  kMareRatio,      // of MARE; denominators are floored (docs/judging.md)
  kMereRatio,      // of MERE
  kRmseRatio,      // of the root of the mean of d^2
  kSmallErrors,    // of the number of elements with |e| < parameter and |d| > second
};

struct Limit {
  Statistic statistic;
  double limit;
  double parameter = 0, second = 0;
  int group = 0;  // of the limits of one group other than 0, one is enough

  std::string text() const;  // "MERE < 0.000977"
  bool met(double value) const;
  bool needs_benchmark() const;
};
// The name of a statistic in files and JSON: "mere"; and back, empty where it is unknown.
std::string_view statistic_name(Statistic statistic);
std::optional<Statistic> find_statistic(std::string_view name);
std::vector<std::string> statistic_names();

struct Bound {
  Rule rule = Rule::kTolerance;
  double rtol = 0, atol = 0;
  std::uint64_t ulps = 0;
  bool nan_equal = false;      // NaN equals NaN; else NaN equals nothing
  bool nan_accepts = false;    // where NaN is expected, anything is accepted
  bool round_expected = true;  // the expected value is first rounded to the output's dtype
  std::string standard;        // the name it goes by: "torch", "ulp(2)", "custom"
  std::string origin;          // what chose it: "command", "case", "default", ...
  Infinity infinity = Infinity::kSign;
  double floor = 0;  // kLargest, kSymmetric
  // Where |expected| < small_value, |actual - expected| <= small_atol is the rule instead.
  double small_value = 0, small_atol = 0;
  // So many misses are forgiven; of both, the smaller. Never those with NaN or infinity.
  std::optional<std::int64_t> max_mismatches = {};
  std::optional<double> max_mismatch_fraction = {};
  std::vector<Limit> limits = {};  // all must hold besides the elements
  std::string machine = {};        // kGiven: whose accumulation; empty: the case's

  // "atol 0.001 + rtol 0.001 * |expected|", "2 ulp", "bit equality".
  std::string text() const;
  // Nothing but atol + rtol |expected|: what the vector kernel and required_rtol speak of.
  bool is_plain() const;
  bool needs_benchmark() const;
  std::int64_t forgiven(std::int64_t elements) const;
};

// The tolerance of a rule with one, in float64, at most the largest finite number: an infinite
// bound never clears anything. Infinity times zero counts as zero. `actual` is read by kSymmetric
// alone; kGiven adds the element's own bound to it.
double tolerance_at(const Bound& bound, double expected, double actual = 0);

// One dtype of a standard; dtype "*" serves every float dtype that has no row of its own.
struct ToleranceRow {
  std::string_view dtype;
  double rtol, atol;
  double floor = 0, small_value = 0, small_atol = 0;
  bool in_epsilon = false;  // all but small_value in units of the dtype's spacing at 1
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
  std::string_view source;  // whose standard, and where it is published
  bool round_expected;
  bool nan_equal;
  std::span<const ToleranceRow> rows;  // integers and bool, where no row names them: exact
  Rule rule = Rule::kTolerance;
  std::span<const LimitRow> limits = {};
  Growth growth = Growth::kNone;
};

std::span<const Standard> standards();
inline constexpr std::string_view kDefaultStandard = "triton_ascend";

// A standard of the user's own, from a file (assay/report/standards_file.h).
struct CustomStandard {
  std::string name;
  std::vector<std::pair<std::string, Bound>> rows;  // by dtype; "*": every other float dtype
};

// A standard's tolerance grows with the number of accumulations, and nothing says how many they
// are.
class AccumulationsUnknown : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// The bound of a standard ("torch", "ulp(4)", "bit_equal", "accumulation(hopper)") for outputs of
// a dtype; empty where the standard has no row for it. `accumulations` is 0 where it is unknown.
// Throws std::invalid_argument on an unknown standard, with the nearest known one, and
// AccumulationsUnknown where the standard needs the number of accumulations.
std::optional<Bound> standard_bound(std::string_view standard, const Format& output,
                                    std::int64_t accumulations = 0,
                                    std::span<const CustomStandard> custom = {});
// Whether the standard's tolerances depend on the operands (accumulations, or their sizes).
bool needs_operands(std::string_view standard);

}  // namespace assay
