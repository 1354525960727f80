// Bounds and the standards that name them. A bound is fixed before the comparison: an element is a
// mismatch if |actual - expected| exceeds it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/error.h"
#include "assay/format/format.h"
#include "assay/judge/limit.h"

namespace assay::inline v0_2 {

// The rules by which an output is compared with its expected values.
enum class Rule : std::uint8_t {
  kTolerance,      // |actual - expected| <= atol + rtol |expected|, in float64
  kUlps,           // at most `ulps` representable values of the output's format apart
  kBits,           // the same bit pattern, NaN payloads and the sign of zero included
  kLargest,        // |actual - expected| <= rtol max(floor, |expected|)
  kSymmetric,      // equal, or |actual - expected| < rtol max(floor, |actual| + |expected|)
  kEither,         // |actual - expected| <= max(atol, rtol |expected|): absolute or relative
  kAccumulation,   // |actual - expected| <= an element's own bound + atol + rtol |expected|
  kExpectedError,  // the same, with bounds that follow from the expected errors
  kStatistics,     // NaN and infinity by element, all other values only by `limits`
  kDistribution,   // draws, tested against the law `distribution` (judge/draw_distribution.h)
  kIndices,        // values at indices, by rtol and atol or a standard (judge/indices.h)
};

// The policies for comparing infinities. They apply before any arithmetic.
enum class Infinity : std::uint8_t {
  kSign,        // an infinity equals only infinity of the same sign
  kSaturating,  // the largest finite value counts as infinity of its sign: saturating hardware
  kFewer,       // a finite value is accepted where infinity is expected
};
// Returns "sign", "saturating" or "fewer".
std::string_view infinity_word(Infinity policy);
// Throws Refusal, whose message begins with `where`, if the word is unknown.
Infinity infinity_named(std::string_view word, std::string_view where);

// The largest share of blind elements with which a pass is trusted, if neither the case nor the
// request sets another one.
inline constexpr double kMaxBlind = 0.5;

// The policies that a case or a request sets in addition to the rule.
struct BoundPolicies {
  bool nan_equal = false;    // NaN equals NaN. If false, NaN equals nothing
  bool nan_accepts = false;  // any value is accepted if NaN is expected
  Infinity infinity = Infinity::kSign;
  bool allow_empty = false;  // an output without elements passes. If false, it is not trusted
  // At most this number, and at most this fraction, of mismatches is forgiven. If both are set, the
  // smaller one holds. Mismatches with NaN or infinity are never forgiven.
  std::optional<std::int64_t> max_mismatches = {};
  std::optional<double> max_mismatch_fraction = {};
  // A pass is trusted only if the share of blind elements (Verdict::blind) is at most max_blind.
  // max_blind_why is the reason that the case gives for a value of its own.
  double max_blind = kMaxBlind;
  std::string max_blind_why = {};
};

// The bound by which an output is judged: a rule with its tolerances, limits and policies.
struct Bound : BoundPolicies {
  Rule rule = Rule::kTolerance;
  double rtol = 0, atol = 0;
  std::uint64_t ulps = 0;
  // An element outside its tolerance is still accepted if it is at most this many representable
  // values of the output's format away from the expected value, rounded to that format.
  std::uint64_t or_ulps = 0;
  bool round_expected = true;  // the expected value is first rounded to the output's dtype
  std::string standard;        // its name: "torch", "ulp(2)", "custom"
  std::string origin;          // what chose it: "command", "case", "default", ...
  double floor = 0;            // kLargest, kSymmetric
  // If |expected| < small_value, the rule is |actual - expected| <= small_atol instead.
  double small_value = 0, small_atol = 0;
  std::vector<Limit> limits = {};  // all must hold, in addition to the elements
  // kAccumulation, kExpectedError: the machine whose accumulation is bounded. Empty for the case's
  // machine
  std::string machine = {};
  std::string distribution = {};  // kDistribution: the law with its parameters
  bool as_published = false;      // judged by the original's own rule (judge/published_standards.h)
  // An output of integers or bools is not comparable if a float expected value would have to be
  // rounded to a whole number. tensor_checks() sets it, because two tensors without a case do not
  // say that the output is meant to hold integers.
  bool whole_numbers = false;

  // "atol 0.001 + rtol 0.001 * |expected|", "2 ulp", "bit equality".
  std::string text() const;
  // True if the bound is only atol + rtol |expected|, which the vector kernel and required_rtol
  // require.
  bool is_plain() const;
  bool needs_reference() const;
  std::int64_t forgiven(std::int64_t elements) const;
};

// The name of the standard that judges an output if nothing else gives a bound.
inline constexpr std::string_view kDefaultStandard = "default";

struct CustomStandard;  // a standard of the user's own (judge/standards.h)

// Thrown if a standard's tolerance grows with the number of accumulations and that number is
// unknown.
class AccumulationsUnknown : public Refusal {
 public:
  using Refusal::Refusal;
};

// Returns the bound that a standard ("torch", "ulp(4)", "bit_equal", "accumulation(hopper)",
// "expected_error", "ttk_close,as_published", "own.json:strict") sets for outputs of a dtype.
// Returns nothing if the standard has no row for the dtype. `accumulations` is 0 if the number is
// unknown. Throws Refusal, which names the nearest known standard, if the standard is unknown.
// Throws AccumulationsUnknown if the standard needs the number of accumulations and it is 0.
std::optional<Bound> standard_bound(std::string_view standard, const Format& output,
                                    std::int64_t accumulations = 0,
                                    std::span<const CustomStandard> custom = {});
// Returns a text such as "torch, numpy and atb have one". It lists the standards, including the
// user's own, that have a bound for outputs of this dtype. Standards that treat every dtype alike
// are not listed.
std::string standards_with(const Format& output, std::span<const CustomStandard> custom = {});
// A standard, and the dtype that a user limits it to.
struct StandardWord {
  std::string_view dtype;  // empty if the standard applies to every dtype
  std::string_view standard;
};
// Splits "bfloat16=atb" into bfloat16 and atb. "distribution(normal,mean=1)" has no dtype.
StandardWord standard_word(std::string_view word);
// Splits "torch, distribution(uniform,low=0)" into standards. A comma within brackets does not
// split, nor does the comma before the word as_published.
std::vector<std::string> standard_words(std::string_view text);
// True if the standard needs the operands. Its tolerances may depend on their sizes, or on the
// number of accumulations. Or it may read an operand: the input of
// dropout, the probabilities of draws, or the tensor that indices point into.
bool needs_operands(std::string_view standard, std::span<const CustomStandard> custom = {});

}  // namespace assay
