// DetectionRateAtLeast, FalseAlarmRateAtMost: rates of a campaign, by what their trials show.
//
//   EXPECT_THAT(result.detected, DetectionRateAtLeast(0.99, 0.95));
//   EXPECT_THAT((Rate{0, 100000}), FalseAlarmRateAtMost(1e-4, 0.95));
//
// The matcher compares the limit with the one-sided bound of Clopper and Pearson, not with the
// rate: 9 of 10 faults detected do not show a rate of 80 %. A rate without trials does not match.
#pragma once

#include <gmock/gmock.h>

#include <ostream>

#include "assay/campaign/rate_statistics.h"

namespace assay::inline v0_2 {

// The matcher that DetectionRateAtLeast() and FalseAlarmRateAtMost() return.
class RateMatcher {
 public:
  using is_gtest_matcher = void;

  // Throws Refusal if `limit` or `confidence` is not above 0 and below 1, because no number of
  // trials shows a rate of exactly 0 or 1.
  RateMatcher(double limit, double confidence, bool at_least);

  // Matches if the trials of `rate` show that it meets the limit. Throws Refusal unless 0 <= events
  // <= trials.
  bool MatchAndExplain(const Rate& rate, testing::MatchResultListener* listener) const;
  void DescribeTo(std::ostream* os) const { describe(os, "has"); }
  void DescribeNegationTo(std::ostream* os) const { describe(os, "does not show"); }

 private:
  void describe(std::ostream* os, const char* verb) const;
  // True if the one-sided bound of the rate meets the limit.
  bool shows(const Rate& rate) const;
  // Returns how many more trials would show that the rate meets the limit, if none of them counts
  // against it. Empty if more than 10^15 are needed.
  std::optional<std::int64_t> needed(const Rate& rate) const;

  double limit_, confidence_;
  bool at_least_;
};

// Matches if at least a share p of injected faults is detected, with this confidence.
inline RateMatcher DetectionRateAtLeast(double p, double confidence) {
  return {p, confidence, true};
}
// Matches if at most a share p of clean checks raises an alarm, with this confidence.
inline RateMatcher FalseAlarmRateAtMost(double p, double confidence) {
  return {p, confidence, false};
}

// In this namespace, because GoogleTest looks for PrintTo() in the namespace of the type.
namespace campaign {
// Writes a rate for a failure text: "9 of 10 trials".
void PrintTo(const Rate& rate, std::ostream* os);
}  // namespace campaign

}  // namespace assay
