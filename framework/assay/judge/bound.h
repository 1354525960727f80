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
#include "assay/judge/limit.h"

namespace assay {

enum class Rule : std::uint8_t {
  kTolerance,     // |actual - expected| <= atol + rtol |expected|, in float64
  kUlps,          // at most `ulps` representable values of the output's format apart
  kBits,          // the same bit pattern, NaN payloads and the sign of zero included
  kLargest,       // |actual - expected| <= rtol max(floor, |expected|)
  kSymmetric,     // equal, or |actual - expected| < rtol max(floor, |actual| + |expected|)
  kEither,        // |actual - expected| <= max(atol, rtol |expected|): absolute or relative
  kGiven,         // |actual - expected| <= an element's own bound + atol + rtol |expected|
  kStatistics,    // NaN and infinity element by element, all else by `limits` alone
  kDistribution,  // draws, tested against the law `distribution` (judge/draw_distribution.h)
  kIndices,       // the values at them, by rtol and atol or another standard (judge/indices.h)
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

inline constexpr double kMaxBlind = 0.5;

struct Bound {
  Rule rule = Rule::kTolerance;
  double rtol = 0, atol = 0;
  std::uint64_t ulps = 0;
  // Where a tolerance is missed, an element this near still does not miss: so many representable
  // values of the output's format from the expected one, rounded to it.
  std::uint64_t or_ulps = 0;
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
  // The largest share of blind elements (Verdict::blind) with which a pass is trusted, and the
  // reason that the case gives for its own.
  double max_blind = kMaxBlind;
  std::string max_blind_why = {};
  std::string machine = {};       // kGiven: whose accumulation; empty: the case's
  bool by_chance = false;         // kGiven: of the expected error
  std::string distribution = {};  // kDistribution: the law with its parameters
  bool as_published = false;      // by the original's own rule (judge/published_standards.h)

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

inline constexpr std::string_view kDefaultStandard = "default";

struct CustomStandard;  // of the user's own (judge/standards.h)

// A standard's tolerance grows with the number of accumulations, and nothing says how many they
// are.
class AccumulationsUnknown : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// The bound of a standard ("torch", "ulp(4)", "bit_equal", "accumulation(hopper)",
// "expected_error", "ttk_close,as_published") for outputs of a dtype; empty where the standard has
// no row for it. `accumulations` is 0 where it is unknown. Throws std::invalid_argument on an
// unknown standard, with the nearest known one, and AccumulationsUnknown where the standard needs
// the number of accumulations.
std::optional<Bound> standard_bound(std::string_view standard, const Format& output,
                                    std::int64_t accumulations = 0,
                                    std::span<const CustomStandard> custom = {});
// "torch, numpy and atb have one" of the standards, the user's own among them, that say something
// of outputs of this dtype; those that say the same of every dtype are not named.
std::string standards_with(const Format& output, std::span<const CustomStandard> custom = {});
// "bfloat16=atb" -> bfloat16 and atb; "distribution(normal,mean=1)" speaks of every dtype.
struct StandardWord {
  std::string_view dtype;  // empty: every one
  std::string_view standard;
};
StandardWord standard_word(std::string_view word);
// The standards of "torch, distribution(uniform,low=0)": commas within brackets part nothing, nor
// does the one before the word as_published.
std::vector<std::string> standard_words(std::string_view text);
// Whether the standard's tolerances depend on the operands (accumulations, or their sizes), or what
// it judges by may be one of them (what dropout drops from).
bool needs_operands(std::string_view standard, std::span<const CustomStandard> custom = {});

}  // namespace assay
