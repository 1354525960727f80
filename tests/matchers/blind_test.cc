// Tests the matchers' explanations of elements that their check cannot see.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "approved.h"
#include "texts.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const std::vector<float> kExpected = {1, 2, 1e-6f, -1e-6f, 2e-6f, 3e-6f, 0};
const std::vector<float> kZeroed = {1, 2, 0, 0, 0, 0, 0};
const std::vector<float> kSame = kExpected;

TEST(BlindMatchTest, ZerosInPlaceOfSmallElementsDoNotPass) {
  EXPECT_THAT(kZeroed, Not(CloseTo(kExpected)));
  EXPECT_THAT(
      explanation(kZeroed, CloseTo(kExpected)),
      testing::StartsWith(
          "which cannot be trusted: the check is blind to 4 of the 6 elements that are not "
          "zero (66.7 %): as zeros they would pass atol 1e-05 + rtol 1e-05 * |expected|; an "
          "absolute tolerance below 3e-06 would see half of what is not zero"));
  EXPECT_THAT(kSame, CloseTo(kExpected).atol(1e-9));
  EXPECT_THAT(kZeroed, CloseTo(kExpected).max_blind(0.7));
  EXPECT_THAT(kZeroed, MeetsStandard("torch", kExpected).max_blind(1));
}

TEST(BlindMatchTest, APassSaysTheShareFromOnePercentOn) {
  const std::vector<float> expected = {1, 2, 3, 1e-6f}, actual = expected;
  EXPECT_THAT(explanation(actual, CloseTo(expected)),
              EndsWith("\nnote: the check is blind to 1 of the 4 elements that are not zero "
                       "(25.0 %): as zeros they would pass atol 1e-05 + rtol 1e-05 * |expected|"));
  const std::vector<float> large = {1, 2, 3, 4}, right = large;
  EXPECT_THAT(explanation(right, CloseTo(large)), Not(HasSubstr("blind")));
}

TEST(BlindMatchTest, OneNumberOverAllElementsIsTried) {
  // If all but the largest elements are 0, there are still 9 dB of signal to noise and a cosine of
  // 0.9.
  EXPECT_THAT(kZeroed, Not(SnrAtLeast(kExpected, 9)));
  EXPECT_THAT(explanation(kZeroed, SnrAtLeast(kExpected, 9)),
              HasSubstr("which cannot be trusted: the check is blind to 4 of the 6 elements that "
                        "are not zero (66.7 %): as zeros they would pass SNR >= 9 dB"));
  EXPECT_THAT(kZeroed, Not(CosineAtLeast(kExpected, 0.9)));
  EXPECT_THAT(kZeroed, Not(RelativeL2AtMost(kExpected, 0.1)));
  EXPECT_THAT(kZeroed, Not(NoWorseThan(kSame, kExpected).floor(0.1)));
  EXPECT_THAT(kZeroed, SnrAtLeast(kExpected, 9).max_blind(0.7));
  // A check must not be blind to 2 of 3 elements. If it is blind to 1 of 3, a note says so.
  const std::vector<float> expected = {3, 4, 0.5f}, actual = expected;
  EXPECT_THAT(explanation(actual, SnrAtLeast(expected, 15)),
              AllOf(HasSubstr("which passes: "),
                    EndsWith("\nnote: the check is blind to 1 of the 3 elements that are not zero "
                             "(33.3 %): as zeros they would pass SNR >= 15 dB")));
}

TEST(BlindMatchTest, AnOutputIsNoReferenceOfItself) {
  EXPECT_THAT(kExpected, Not(CloseTo(kExpected)));
  EXPECT_THAT(explanation(kSame, BitEqual(kSame)),
              HasSubstr("cannot be trusted: the output is the expected result itself, in the same "
                        "memory: the check could not have failed"));
}

}  // namespace
}  // namespace assay
