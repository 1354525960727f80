#include "assay/matchers/rates.h"

#include "assay/base/float_environment.h"
#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

std::string percent(double rate) { return formatted("{:.6g} %", 100 * rate); }

// Returns the bound as text, with enough digits to differ from the limit. A bound that is rounded
// to the limit would seem to meet it.
std::string bound_text(double bound, double limit) {
  std::string text = percent(bound);
  for (int digits = 7; digits <= 17 && bound != limit && text == percent(limit); ++digits) {
    text = formatted("{:.{}g} %", 100 * bound, digits);
  }
  return text;
}

}  // namespace

RateMatcher::RateMatcher(double limit, double confidence, bool at_least)
    : limit_(limit), confidence_(confidence), at_least_(at_least) {
  const FloatEnvironment environment;
  const auto require = [&](double value, const char* what) {
    if (value > 0 && value < 1) return;
    refuse("{}'s {} must be above 0 and below 1, but it is {}",
           at_least ? "DetectionRateAtLeast" : "FalseAlarmRateAtMost", what, number_text(value));
  };
  require(limit, "rate");
  require(confidence, "confidence");
}

bool RateMatcher::shows(const Rate& rate) const {
  return at_least_ ? campaign::lower_bound(rate, confidence_) >= limit_
                   : campaign::upper_bound(rate, confidence_) <= limit_;
}

std::optional<std::int64_t> RateMatcher::needed(const Rate& rate) const {
  constexpr std::int64_t kMost = 1000000000000000;
  const auto after = [&](std::int64_t more) {
    return Rate{rate.events + (at_least_ ? more : 0), rate.trials + more};
  };
  std::int64_t enough = 1;
  while (enough <= kMost && !shows(after(enough))) enough *= 2;
  if (enough > kMost) return std::nullopt;
  std::int64_t too_few = enough / 2;
  while (enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (shows(after(middle)) ? enough : too_few) = middle;
  }
  return enough;
}

bool RateMatcher::MatchAndExplain(const Rate& rate, testing::MatchResultListener* listener) const {
  const FloatEnvironment environment;
  const char* const bad = at_least_ ? "miss" : "false alarm";
  if (rate.trials == 0 && rate.events == 0) {
    *listener << formatted(
        "which cannot be trusted, because there are no trials; {} trials without a {} would show "
        "it",
        grouped(*needed(rate)), bad);
    return false;
  }
  const bool matches = shows(rate);
  const double bound = at_least_ ? campaign::lower_bound(rate, confidence_)
                                 : campaign::upper_bound(rate, confidence_);
  *listener << formatted(
      "which is {} of {} trials, {}; its {} bound at {} confidence is {}", grouped(rate.events),
      grouped(rate.trials),
      percent(static_cast<double>(rate.events) / static_cast<double>(rate.trials)),
      at_least_ ? "lower" : "upper", percent(confidence_), bound_text(bound, limit_));
  if (matches) return true;
  const std::optional<std::int64_t> more = needed(rate);
  *listener << formatted(", {} {}\n{}", at_least_ ? "below" : "above", percent(limit_),
                         more
                             ? formatted("{} more trial{} with no further {} would show it",
                                         grouped(*more), *more == 1 ? "" : "s", bad)
                             : std::string("no affordable number of further trials would show it"));
  return false;
}

void RateMatcher::describe(std::ostream* os, const char* verb) const {
  *os << formatted("{} a {} of at {} {} with {} confidence", verb,
                   at_least_ ? "detection rate" : "false alarm rate", at_least_ ? "least" : "most",
                   percent(limit_), percent(confidence_));
}

void campaign::PrintTo(const Rate& rate, std::ostream* os) {
  *os << formatted("{} of {} trials", grouped(rate.events), grouped(rate.trials));
}

}  // namespace assay
