// Tests the four outcomes and their texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/gate/gate.h"
#include "assay/judge/verdict.h"
#include "error_of.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::kMax;
using oracle::same_bits;
using oracle::tensor;
using oracle::tolerance;
using oracle::vector_of;
using oracle::within_ulps;
using testing::HasSubstr;

TEST(Outcome, Words) {
  EXPECT_EQ(outcome_word(Outcome::kPass), "pass");
  EXPECT_EQ(outcome_word(Outcome::kFail), "fail");
  EXPECT_EQ(outcome_word(Outcome::kUntrusted), "untrusted");
  EXPECT_EQ(outcome_word(Outcome::kNotComparable), "not_comparable");
}

TEST(Outcome, AToleranceIsANumberOfAtLeastZero) {
  const Tensor ones = vector_of("float32", {1, 1});
  const auto refusal = [&](double atol, double rtol) {
    return error_of([&] { (void)judge(ones, ones, tolerance(atol, rtol)); });
  };
  EXPECT_EQ(refusal(-1e-3, 1), "judge: a tolerance is a number of at least 0, not -0.001");
  EXPECT_EQ(refusal(1, -2), "judge: a tolerance is a number of at least 0, not -2");
  EXPECT_EQ(refusal(kNan, 0), "judge: a tolerance is a number of at least 0, not nan");
  EXPECT_EQ(refusal(0, kNan), "judge: a tolerance is a number of at least 0, not nan");
  EXPECT_EQ(refusal(0, 0), "no error");
}

TEST(Outcome, Pass) {
  const Verdict v = judge(vector_of("float32", {1, 2, 3}), vector_of("float32", {1, 2, 3}),
                          tolerance(1e-3, 1e-3));
  EXPECT_EQ(v.outcome, Outcome::kPass);
  EXPECT_EQ(v.because, "all 3 elements within atol 0.001 + rtol 0.001 * |expected|");
  EXPECT_EQ(v.sites, 3);
  EXPECT_EQ(v.mismatches, 0);
  EXPECT_TRUE(v.worst.empty());
  EXPECT_EQ(v.where, "");
  EXPECT_EQ(v.format->name, "float32");
  EXPECT_EQ(v.shape, Shape{3});
}

TEST(Outcome, Fail) {
  std::vector<double> a(65536, 1), e(65536, 1);
  for (std::size_t i = 0; i < 1032; ++i) a[i * 63] = 2;
  const Verdict v = judge(tensor("bfloat16", {64, 1024}, a), tensor("bfloat16", {64, 1024}, e),
                          tolerance(1e-3, 1e-3));
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_EQ(v.because,
            "1 032 of 65 536 elements (1.6 %) differ by more than atol 0.001 + rtol 0.001 * "
            "|expected|");
  EXPECT_EQ(
      judge(vector_of("float32", {1, 2}), vector_of("float32", {1, 4}), tolerance(0, 0)).because,
      "1 of 2 elements (50.0 %) differs");
  EXPECT_EQ(
      judge(vector_of("float32", {1, 2}), vector_of("float32", {1, 4}), within_ulps(2)).because,
      "1 of 2 elements (50.0 %) differs by more than 2 ulp");
  EXPECT_EQ(judge(vector_of("float32", {1, 2}), vector_of("float32", {1, 4}), same_bits()).because,
            "1 of 2 elements (50.0 %) differs in its bits");
}

TEST(Outcome, PercentagesDoNotClaimMoreThanThereIs) {
  std::vector<double> a(100000, 1), e(100000, 1);
  a[7] = 2;
  EXPECT_THAT(judge(vector_of("float32", a), vector_of("float32", e), tolerance(0, 0)).because,
              HasSubstr("1 of 100 000 elements (0.001 %)"));
  std::vector<double> most(100000, 2);
  most[7] = 1;
  EXPECT_THAT(judge(vector_of("float32", most), vector_of("float32", e), tolerance(0, 0)).because,
              testing::Not(HasSubstr("(100.0 %)")));
}

TEST(Outcome, UntrustedWithoutElements) {
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3, 4}}) {
    const Verdict v =
        judge(tensor("float32", shape, {}), tensor("float32", shape, {}), tolerance(1, 1));
    EXPECT_EQ(v.outcome, Outcome::kUntrusted);
    EXPECT_EQ(v.because, "there are no elements to compare");
    EXPECT_EQ(v.sites, 0);
  }
}

// With allow_empty an output without elements passes every rule, but only in the right shape.
TEST(Outcome, WithoutElementsIfAllowed) {
  Bound bounds[] = {tolerance(1, 1), within_ulps(1), same_bits(),
                    *standard_bound("torch", format_named("float32")),
                    *standard_bound("distribution(uniform)", format_named("float32"))};
  const Tensor empty = tensor("float32", {0, 3}, {});
  for (Bound& bound : bounds) {
    EXPECT_EQ(judge(empty, empty, bound).outcome, Outcome::kUntrusted) << bound.standard;
    bound.allow_empty = true;
    const Verdict v = judge(empty, empty, bound);
    EXPECT_EQ(v.outcome, Outcome::kPass) << bound.standard;
    EXPECT_EQ(v.because, "there are no elements, which is allowed");
  }
  EXPECT_EQ(judge(empty, tensor("float32", {0, 4}, {}), bounds[0]).outcome,
            Outcome::kNotComparable);
  EXPECT_EQ(
      judge(tensor("float32", {1, 3}, {0, 0, 0}), tensor("float32", {1, 3}, {0, 0, 0}), bounds[0])
          .outcome,
      Outcome::kUntrusted)
      << "only an output without elements is allowed, not zeros";
}

TEST(Outcome, UntrustedWhereEverythingExpectedIsZero) {
  for (const char* dtype : {"float64", "float32", "bfloat16", "float8_e4m3fn", "int32", "bool"}) {
    const Tensor zeros = vector_of(dtype, std::vector<double>(5000, 0.0));
    for (const Bound& bound :
         {tolerance(0, 0), tolerance(1e-3, 1e-3), within_ulps(1), same_bits()}) {
      EXPECT_EQ(judge(Tensor(zeros), zeros, bound).outcome, Outcome::kUntrusted)
          << dtype << bound.text();
    }
    std::vector<double> one(5000, 0.0);
    one[4321] = 1;
    EXPECT_EQ(judge(vector_of(dtype, one), zeros, tolerance(0, 0)).outcome, Outcome::kFail);
    EXPECT_EQ(judge(vector_of(dtype, one), vector_of(dtype, one), tolerance(0, 0)).outcome,
              Outcome::kPass);
  }
  const Tensor zeros = vector_of("float32", {0, 0});
  EXPECT_EQ(judge(Tensor(zeros), zeros, tolerance(1e-3, 0)).because,
            "an output of zeros would pass too: the expected result is within atol 0.001 + rtol 0 "
            "* |expected| everywhere");
}

TEST(Outcome, UntrustedWhereZerosWouldPass) {
  const Tensor golden = vector_of("float16", {0.01, -0.02, 0.03});
  for (const Bound& bound : {tolerance(0.1, 0), tolerance(0, 1), tolerance(kInfinity, 0),
                             tolerance(kMax, kMax), tolerance(0.02, 0.5), within_ulps(40000)}) {
    for (const bool metrics : {true, false}) {
      JudgeOptions options;
      options.metrics = metrics;
      const Verdict v = judge(Tensor(golden), golden, bound, options);
      EXPECT_EQ(v.outcome, Outcome::kUntrusted) << bound.text();
      EXPECT_THAT(v.because, HasSubstr("an output of zeros would pass too"));
      EXPECT_EQ(judge(vector_of("float16", {-0.01, 0.02, -0.03}), golden, bound, options).outcome ==
                    Outcome::kPass,
                false);
    }
  }
  const Verdict most = judge(Tensor(golden), golden, tolerance(0.0299, 0));
  EXPECT_EQ(most.outcome, Outcome::kUntrusted);
  EXPECT_THAT(most.because, HasSubstr("the check is blind to 2 of the 3 elements"));
  EXPECT_EQ(judge(Tensor(golden), golden, tolerance(0.0199, 0)).outcome, Outcome::kPass);
}

// A bound with an infinite relative tolerance never gives a pass, whatever the tensors hold.
TEST(Outcome, InfiniteRelativeToleranceNeverPasses) {
  for (const std::size_t n : {1u, 2u, 15u, 16u, 17u, 64u, 5000u}) {
    for (const double at_zero : {0.0, 1.0}) {
      std::vector<double> e(n, 0.0), a(n, at_zero);
      for (std::size_t i = 0; i < n; i += 2) {
        e[i] = 3;
        a[i] = -1e30;
      }
      for (const char* dtype : {"float32", "float64", "bfloat16"}) {
        for (const bool metrics : {true, false}) {
          JudgeOptions options;
          options.metrics = metrics;
          EXPECT_NE(
              judge(vector_of(dtype, a), vector_of(dtype, e), tolerance(0, kInfinity), options)
                  .outcome,
              Outcome::kPass)
              << dtype << " " << n << " " << at_zero;
        }
      }
    }
  }
}

// The verdict on an element does not depend on the number of elements beside it.
TEST(Outcome, InfiniteRelativeToleranceIsTheSameInVectorAndTail) {
  for (const double a : {0.0, 1.0}) {
    const Verdict one =
        judge(vector_of("float32", {a}), vector_of("float32", {0}), tolerance(0, kInfinity));
    const Verdict many =
        judge(vector_of("float32", std::vector<double>(64, a)),
              vector_of("float32", std::vector<double>(64, 0)), tolerance(0, kInfinity));
    EXPECT_EQ(many.mismatches, 64 * one.mismatches) << a;
    EXPECT_EQ(many.outcome, one.outcome) << a;
  }
}

// Under an infinite tolerance, zeros in place of any elements would pass, so that all of them are
// blind.
TEST(Outcome, UnderAnInfiniteToleranceAllIsBlind) {
  std::vector<double> values(64, 0.0);
  for (std::size_t i = 0; i < values.size(); i += 2) values[i] = 3;
  for (const char* dtype : {"float32", "float64"}) {
    for (const bool metrics : {true, false}) {
      JudgeOptions options;
      options.metrics = metrics;
      for (const Bound& bound : {tolerance(0, kInfinity), tolerance(kInfinity, 0)}) {
        const Verdict v = judge(vector_of(dtype, values), vector_of(dtype, values), bound, options);
        EXPECT_EQ(v.mismatches, 0) << dtype << " " << bound.text();
        EXPECT_EQ(v.nonzero, 32) << dtype << " " << bound.text();
        EXPECT_EQ(v.blind, 32) << dtype << " " << bound.text();
      }
    }
  }
}

TEST(Outcome, InfiniteAbsoluteToleranceNeverPasses) {
  EXPECT_NE(judge(vector_of("float32", {kInfinity, 1e30, -5}),
                  vector_of("float32", {kInfinity, 1, 2}), tolerance(kInfinity, 0))
                .outcome,
            Outcome::kPass);
  EXPECT_NE(judge(vector_of("float32", {kNan, 1e30, -5}), vector_of("float32", {kNan, 1, 2}),
                  tolerance(kInfinity, 0, true, true))
                .outcome,
            Outcome::kPass);
}

// The golden result is not rounded, and the bound is below half an ulp. Even the correctly rounded
// result is a mismatch, so that the verdict is "untrusted" and not a failure.
TEST(Outcome, UntrustedWhereTheCorrectlyRoundedResultMisses) {
  const Tensor golden = vector_of("float64", {1 + 0x1p-12, 1, 3 - 0x1p-11, 2});
  const Tensor right = vector_of("float16", {1, 1, 3, 2});
  const Verdict v = judge(right, golden, tolerance(0, 1e-6, false));
  EXPECT_EQ(v.outcome, Outcome::kUntrusted);
  EXPECT_EQ(v.mismatches, 2);
  EXPECT_EQ(v.because,
            "2 of 4 elements (50.0 %) miss atol 0 + rtol 1e-06 * |expected|, which is below half a "
            "float16 ulp there: the correctly rounded result misses it too");
  EXPECT_EQ(judge(right, golden, tolerance(0, 1e-6)).outcome, Outcome::kPass) << "rounded";
  EXPECT_EQ(judge(right, golden, tolerance(0, 1e-3, false)).outcome, Outcome::kPass);
  EXPECT_EQ(
      judge(vector_of("float32", {0.1}), vector_of("float64", {0.1}), tolerance(1e-16, 0, false))
          .outcome,
      Outcome::kUntrusted)
      << "1e-16 where 2^-16 was meant";
}

TEST(Outcome, GarbageUnderABoundThatNothingMeetsFails) {
  const Tensor golden = vector_of("float64", {1 + 0x1p-12, 1, 3 - 0x1p-11, 2});
  const Bound bound = tolerance(0, 1e-6, false);
  for (const double garbage : {0.0, -1.0, 1.001, 0.999, 65504.0, kInfinity, kNan}) {
    for (std::size_t at = 0; at < 4; ++at) {
      std::vector<double> a = {1, 1, 3, 2};
      a[at] = garbage;
      EXPECT_EQ(judge(vector_of("float16", a), golden, bound).outcome, Outcome::kFail)
          << garbage << " at " << at;
    }
  }
  EXPECT_EQ(judge(vector_of("float16", {-1, -1, -3, -2}), golden, bound).outcome, Outcome::kFail);
}

// The golden result 1e6 has no float16 near it, but that does not make 3 acceptable.
TEST(Outcome, GarbageAgainstAGoldenThatOverflowsFails) {
  const Tensor golden = vector_of("float64", {1e6, 2});
  const Bound bound = tolerance(1e-3, 1e-3, false);
  for (const double garbage : {3.0, -65504.0, 0.0, -kInfinity, kNan}) {
    EXPECT_EQ(judge(vector_of("float16", {garbage, 2}), golden, bound).outcome, Outcome::kFail)
        << garbage;
  }
}

TEST(Outcome, NotComparableShapes) {
  const std::vector<double> six(6, 1);
  const auto reason = [&](const Shape& actual, const Shape& expected) {
    const Verdict v =
        judge(tensor("float32", actual,
                     std::vector<double>(static_cast<std::size_t>(element_count(actual)), 1)),
              tensor("float32", expected,
                     std::vector<double>(static_cast<std::size_t>(element_count(expected)), 1)),
              tolerance(1, 1));
    EXPECT_EQ(v.outcome, Outcome::kNotComparable);
    EXPECT_EQ(v.sites, 0);
    EXPECT_FALSE(v.metrics.has_value());
    return v.because;
  };
  EXPECT_EQ(reason({2, 3}, {3, 2}),
            "the output's shape is [2, 3], the expected one is [3, 2]; nothing is broadcast");
  EXPECT_EQ(reason({6}, {6, 1}),
            "the output's shape is [6], the expected one is [6, 1]; nothing is broadcast");
  EXPECT_EQ(reason({}, {1}),
            "the output's shape is [], the expected one is [1]; nothing is broadcast");
  EXPECT_EQ(reason({2, 0}, {2}),
            "the output's shape is [2, 0], the expected one is [2]; nothing is broadcast");
}

TEST(Outcome, NotComparableIntegerGoldenOfAFloatOutput) {
  const Verdict v = judge(vector_of("float32", {1}), vector_of("int32", {1}), tolerance(0, 0));
  EXPECT_EQ(v.outcome, Outcome::kNotComparable);
  EXPECT_EQ(v.because,
            "the output is float32, the expected result int32: integers cannot be the golden "
            "result of a float output");
}

TEST(Outcome, CaseWithoutGolden) {
  Case c;
  c.name = "matmul/small";
  const std::vector<Verdict> v = gate_case(c, vector_of("float32", {1})).verdicts;
  ASSERT_EQ(v.size(), 1u);
  EXPECT_EQ(v[0].outcome, Outcome::kNotComparable);
  EXPECT_EQ(v[0].because, "case matmul/small has no golden result; compute one from its inputs");
}

TEST(Outcome, CaseOfAnotherDtype) {
  Case c;
  c.name = "m";
  c.output().golden = vector_of("float64", {1, 2});
  c.attributes["output_dtype"] = std::string("bfloat16");
  std::vector<Verdict> v = gate_case(c, vector_of("float32", {1, 2})).verdicts;
  ASSERT_EQ(v.size(), 1u);
  EXPECT_EQ(v[0].outcome, Outcome::kNotComparable);
  EXPECT_EQ(v[0].because, "the output is float32, the case's output dtype is bfloat16");
  v = gate_case(c, vector_of("bfloat16", {1, 2})).verdicts;
  ASSERT_EQ(v.size(), 1u);
  EXPECT_EQ(v[0].outcome, Outcome::kPass) << v[0].because;
  EXPECT_EQ(v[0].bound.standard, "default");
  EXPECT_EQ(v[0].bound.origin, "default");
}

TEST(Outcome, CaseOfADtypeThatAssayDoesNotKnow) {
  Case c;
  c.name = "m";
  c.output().golden = vector_of("float64", {1});
  c.attributes["output_dtype"] = std::string("float17");
  EXPECT_THROW(gate_case(c, vector_of("float32", {1})), std::invalid_argument);
}

TEST(Outcome, StandardWithoutARowForTheDtype) {
  Case c;
  c.name = "m";
  c.output().golden = vector_of("float64", {1, 2});
  c.attributes["standard"] = std::string("triton_ascend");
  const std::vector<Verdict> v = gate_case(c, vector_of("float64", {1, 2})).verdicts;
  ASSERT_EQ(v.size(), 1u);
  EXPECT_EQ(v[0].outcome, Outcome::kNotComparable);
  EXPECT_THAT(v[0].because,
              testing::StartsWith(
                  "standard triton_ascend has no tolerance for float64; default, torch, numpy"));
  EXPECT_EQ(v[0].bound.standard, "triton_ascend");
}

TEST(Outcome, SeveralStandardsGiveAVerdictEach) {
  Case c;
  c.name = "m";
  c.output().golden = vector_of("float32", {1, 2});
  BoundRequest request;
  request.standards = {"torch", "bit_equal", "ulp(1)"};
  const std::vector<Verdict> v =
      gate_case(c, vector_of("float32", {1 + 0x1p-23, 2}), {.bounds = request}).verdicts;
  ASSERT_EQ(v.size(), 3u);
  EXPECT_EQ(v[0].outcome, Outcome::kPass);
  EXPECT_EQ(v[1].outcome, Outcome::kFail);
  EXPECT_EQ(v[2].outcome, Outcome::kPass);
  EXPECT_EQ(worst_outcome(v), Outcome::kFail);
}

TEST(Outcome, WorstOfSeveral) {
  const auto worst = [](const std::vector<Outcome>& outcomes) {
    std::vector<Verdict> verdicts(outcomes.size());
    for (std::size_t i = 0; i < outcomes.size(); ++i) verdicts[i].outcome = outcomes[i];
    return worst_outcome(verdicts);
  };
  using enum Outcome;
  EXPECT_EQ(worst({}), kNotComparable);
  EXPECT_EQ(worst({kPass, kPass}), kPass);
  EXPECT_EQ(worst({kPass, kUntrusted}), kUntrusted);
  EXPECT_EQ(worst({kUntrusted, kNotComparable, kPass}), kNotComparable);
  EXPECT_EQ(worst({kUntrusted, kFail, kNotComparable}), kFail);
}

}  // namespace
}  // namespace assay
