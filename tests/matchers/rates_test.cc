// Tests DetectionRateAtLeast and FalseAlarmRateAtMost: the confidence bound decides, not the rate.
#include "assay/matchers/rates.h"

#include <limits>
#include <string>

#include "error_of.h"
#include "matchers/approved.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string why(const Rate& rate, const RateMatcher& matcher) {
  testing::StringMatchResultListener listener;
  matcher.MatchAndExplain(rate, &listener);
  return listener.str();
}

// 59 of 59 show 95 % with 95 % confidence, 58 of 58 do not (Wilks, 1941).
TEST(Rates, TheBoundDecides) {
  EXPECT_THAT((Rate{59, 59}), DetectionRateAtLeast(0.95, 0.95));
  EXPECT_THAT((Rate{58, 58}), Not(DetectionRateAtLeast(0.95, 0.95)));
  EXPECT_THAT((Rate{0, 59}), FalseAlarmRateAtMost(0.05, 0.95));
  EXPECT_THAT((Rate{0, 58}), Not(FalseAlarmRateAtMost(0.05, 0.95)));
  // 9 of 10 is a rate well above the limit, but of too few trials.
  EXPECT_THAT((Rate{9, 10}), Not(DetectionRateAtLeast(0.8, 0.95)));
  EXPECT_THAT((Rate{900, 1000}), DetectionRateAtLeast(0.8, 0.95));
  EXPECT_THAT((Rate{1, 1000}), FalseAlarmRateAtMost(0.01, 0.95));
  EXPECT_THAT((Rate{10, 1000}), Not(FalseAlarmRateAtMost(0.01, 0.95)));
  EXPECT_THAT((Rate{995, 1000}),
              AllOf(DetectionRateAtLeast(0.9, 0.99), Not(FalseAlarmRateAtMost(0.9, 0.99))));
}

// The number of trials that an explanation asks for is enough, and one trial less is not.
TEST(Rates, WhatIsNeeded) {
  EXPECT_THAT(why({0, 0}, DetectionRateAtLeast(0.95, 0.95)),
              HasSubstr("; 59 trials without a miss"));
  EXPECT_THAT(why({58, 58}, DetectionRateAtLeast(0.95, 0.95)),
              HasSubstr("\n1 more trial with no further miss would show it"));
  for (const std::int64_t missed : {1, 2, 7}) {
    const std::string text = why({100 - missed, 100}, DetectionRateAtLeast(0.99, 0.95));
    const std::string number = text.substr(text.find('\n') + 1);
    std::string digits;
    for (const char c : number.substr(0, number.find(" more"))) {
      if (c != ' ') digits += c;
    }
    const std::int64_t more = std::stoll(digits);
    EXPECT_THAT((Rate{100 - missed + more, 100 + more}), DetectionRateAtLeast(0.99, 0.95));
    EXPECT_THAT((Rate{99 - missed + more, 99 + more}), Not(DetectionRateAtLeast(0.99, 0.95)));
  }
  EXPECT_THAT(why({1, 2}, FalseAlarmRateAtMost(1e-16, 0.95)),
              HasSubstr("no affordable number of further trials"));
}

TEST(Rates, WrongUse) {
  EXPECT_EQ(error_of([] { DetectionRateAtLeast(1, 0.95); }),
            "DetectionRateAtLeast's rate must be above 0 and below 1, but it is 1");
  EXPECT_EQ(error_of([] { FalseAlarmRateAtMost(0, 0.95); }),
            "FalseAlarmRateAtMost's rate must be above 0 and below 1, but it is 0");
  EXPECT_EQ(error_of([] { FalseAlarmRateAtMost(0.01, 95); }),
            "FalseAlarmRateAtMost's confidence must be above 0 and below 1, but it is 95");
  EXPECT_THROW(DetectionRateAtLeast(std::numeric_limits<double>::quiet_NaN(), 0.95),
               std::invalid_argument);
  EXPECT_EQ(error_of([] {
              why({3, 2}, DetectionRateAtLeast(0.5, 0.95));
            }),
            "a rate has 0 to 2 events of 2 trials, not 3");
  EXPECT_THROW(why({1, 0}, DetectionRateAtLeast(0.5, 0.95)), std::invalid_argument);
}

TEST(Approved, Rates) {
  expect_approved("detection_rate_pass",
                  all_texts(Rate{9990, 10000}, DetectionRateAtLeast(0.99, 0.95)));
  expect_approved("detection_rate_fail",
                  all_texts(Rate{98, 100}, DetectionRateAtLeast(0.99, 0.95)));
  expect_approved("false_alarm_rate_pass",
                  all_texts(Rate{0, 100000}, FalseAlarmRateAtMost(1e-4, 0.95)));
  expect_approved("false_alarm_rate_fail",
                  all_texts(Rate{3, 20000}, FalseAlarmRateAtMost(1e-4, 0.99)));
  expect_approved("rate_of_nothing", all_texts(Rate{0, 0}, FalseAlarmRateAtMost(1e-4, 0.95)));
  EXPECT_EQ(testing::PrintToString(Rate{3, 20000}), "3 of 20 000 trials");
}

}  // namespace
}  // namespace assay
