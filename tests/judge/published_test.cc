// Tests rules as they were published, which let some outputs pass that the standard of the same
// name does not. Every verdict is compared with the original arithmetic, written out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/base/constants.h"
#include "assay/judge/published_standards.h"
#include "assay/judge/standards.h"
#include "assay/judge/verdict.h"
#include "error_of.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::bound_of;
using oracle::vector_of;

Verdict published_verdict(std::string_view standard, const Tensor& actual, const Tensor& expected,
                          const Tensor* reference_implementation = nullptr) {
  JudgeOptions options;
  if (reference_implementation != nullptr)
    options.reference_implementation = reference_implementation->view();
  return judge(actual, expected,
               bound_of(std::string(standard) + ",as_published", actual.format().name, 1), options);
}

// Returns a tensor of a float8 format with these codes. The rule compares codes.
Tensor of_codes(std::string_view dtype, const std::vector<std::uint8_t>& codes) {
  std::vector<double> values;
  for (const std::uint8_t code : codes) values.push_back(decode(format_named(dtype), code));
  Tensor tensor = vector_of(dtype, values);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    EXPECT_EQ(tensor.bits_at(static_cast<std::int64_t>(i)), codes[i]);
  }
  return tensor;
}

// Returns `size` ones, of which `others` elements have the value `other` instead.
std::vector<double> ones_with(std::size_t size, std::size_t others, double other) {
  std::vector<double> values(size, 1);
  for (std::size_t i = 0; i < others; ++i) values[i * (size / others)] = other;
  return values;
}

TEST(PublishedName, IsWhatStandsBeforeTheWord) {
  EXPECT_EQ(published_name("ttk_close,as_published"), "ttk_close");
  EXPECT_EQ(published_name("atb@2025,as_published"), "atb@2025");
  EXPECT_EQ(published_name(",as_published"), "");
  for (const char* other : {"ttk_close", "as_published", "ttk_close, as_published ",
                            "ttk_closeas_published", "ttk_close,as_publishe", ""}) {
    EXPECT_EQ(published_name(other), std::nullopt) << other;
  }
}

TEST(PublishedHole, IsSaidOfEveryVersionAndName) {
  EXPECT_EQ(hole_of("ttk_close"),
            "a NaN or an infinity on only one side counts as one of the allowed mismatches");
  EXPECT_EQ(hole_of("verify_result"), hole_of("ttk_close"));
  EXPECT_EQ(hole_of("ttk_requant"),
            "codes are subtracted as int8, which wraps, so that distant codes of opposite sign "
            "pass; an element with a NaN on only one side counts as one of the allowed mismatches");
  for (const char* name : {"atb", "atb@2025", "atb@2026-05", "atb_high_precision",
                           "atb_high_precision@2025", "atb_high_precision@2026-05"}) {
    EXPECT_EQ(hole_of(name), "NaN and infinity become 0 on both sides before they are compared")
        << name;
  }
  for (const char* name : {"ttk_cross_check_l0", "ttk_cross_check_l1", "ttk_cross_check_l2"}) {
    EXPECT_EQ(
        hole_of(name),
        "a NaN or an infinity passes where the third party has the same, whatever is expected")
        << name;
  }
  for (const char* name : {"torch", "ttk_mixed", "cann_ecosystem@2025", "nothing", ""}) {
    EXPECT_EQ(hole_of(name), "") << name;
  }
}

TEST(PublishedHole, IsOfSomeDtypes) {
  const auto dtypes_of = [](std::string_view standard) {
    std::string names;
    for (const Format& f : formats()) {
      if (!is_published_for(standard, f)) continue;
      EXPECT_TRUE(standard_bound(standard, f, 1).has_value()) << standard << " " << f.name;
      names += std::string(f.name) + " ";
    }
    return names;
  };
  EXPECT_EQ(dtypes_of("ttk_close"), "float64 float32 float16 bfloat16 ");
  EXPECT_EQ(dtypes_of("verify_result"), dtypes_of("ttk_close"));
  EXPECT_EQ(dtypes_of("ttk_requant"), "float8_e4m3fn float8_e5m2 hifloat8 ");
  EXPECT_EQ(dtypes_of("ttk_cross_check_l1"), "float32 float16 bfloat16 ");
  EXPECT_EQ(dtypes_of("atb@2025"), "float32 float16 bfloat16 ");
  EXPECT_EQ(dtypes_of("torch"), "");
}

TEST(PublishedBound, IsThatOfTheStandardUnderAnotherName) {
  const Bound own = bound_of("ttk_close", "float16"),
              published = bound_of("ttk_close,as_published", "float16");
  EXPECT_EQ(published.standard, "ttk_close,as_published");
  EXPECT_TRUE(published.as_published);
  EXPECT_FALSE(published.is_plain());
  EXPECT_FALSE(own.as_published);
  EXPECT_EQ(published.rtol, own.rtol);
  EXPECT_EQ(published.max_mismatch_fraction, own.max_mismatch_fraction);
  EXPECT_FALSE(standard_bound("ttk_requant,as_published", format_named("float16")));
  EXPECT_FALSE(standard_bound("ttk_close,as_published", format_named("int32")))
      << "the standard has a bound there, its publication none";
  EXPECT_EQ(error_of([] { (void)standard_bound("torch,as_published", format_named("float16")); }),
            "standard 'torch,as_published': assay already judges by torch as it was published, as "
            "far as is known; leave out as_published");
  EXPECT_THAT(
      error_of([] { (void)standard_bound("ttk_clos,as_published", format_named("float16")); }),
      testing::StartsWith("unknown standard 'ttk_clos': did you mean 'ttk_close'?"));
}

// In TTK's published rule, a NaN on only one side counts as one of the allowed mismatches.
TEST(PublishedClose, ANanOfOneSidePassesWithinTheShare) {
  const Tensor expected = vector_of("float16", ones_with(2000, 1, 1)),
               actual = vector_of("float16", ones_with(2000, 1, kNan));
  const Verdict own = judge(actual, expected, bound_of("ttk_close", "float16"));
  EXPECT_EQ(own.outcome, Outcome::kFail);
  const Verdict v = published_verdict("ttk_close", actual, expected);
  EXPECT_EQ(v.outcome, Outcome::kPass);
  EXPECT_EQ(v.because, "1 of 2 000 elements are mismatches, and at most a share of 0.001 may be");
  EXPECT_EQ(v.mismatches, 1);
  EXPECT_EQ(v.forgiven, 1);
  EXPECT_EQ(v.sites, 2000);
  EXPECT_EQ(v.bound.standard, "ttk_close,as_published");
  EXPECT_EQ(v.format, &format_named("float16"));
  EXPECT_EQ(v.shape, (Shape{2000}));
  EXPECT_EQ(v.where, "");
  EXPECT_THAT(v.notes,
              testing::IsSupersetOf(
                  {std::string("judged by ttk_close as it was published: a NaN or an "
                               "infinity on only one side counts as one of the allowed mismatches"),
                   "ttk_close itself says fail: " + own.because}));
}

// TTK computes the share of mismatches as 1 minus the share that agrees. For 1 mismatch in 1000,
// rounding makes this more than the allowed 0.001.
TEST(PublishedClose, TheShareIsWhatIsLeftOfOne) {
  const auto outcome = [](const char* standard, std::size_t size, std::size_t mismatches) {
    const Verdict v =
        published_verdict(standard, vector_of("float16", ones_with(size, mismatches, 2)),
                          vector_of("float16", ones_with(size, 1, 1)));
    EXPECT_EQ(v.mismatches, static_cast<std::int64_t>(mismatches));
    EXPECT_EQ(v.forgiven, v.outcome == Outcome::kPass ? v.mismatches : 0);
    return v.outcome;
  };
  for (const std::size_t size : {1000u, 2000u, 3000u, 4000u, 7000u}) {
    const double left = 1 - static_cast<double>(size - size / 1000) / static_cast<double>(size);
    EXPECT_EQ(outcome("ttk_close", size, size / 1000),
              left <= 1e-3 ? Outcome::kPass : Outcome::kFail)
        << size;
  }
  EXPECT_EQ(outcome("ttk_close", 1000, 1), Outcome::kFail);
  EXPECT_EQ(outcome("ttk_close", 2000, 1), Outcome::kPass);
  EXPECT_EQ(outcome("ttk_close", 2000, 3), Outcome::kFail);
  // The sample projects divide the number of mismatches by the number of elements themselves.
  EXPECT_EQ(outcome("verify_result", 10000, 1), Outcome::kPass);
  EXPECT_EQ(outcome("verify_result", 10000, 2), Outcome::kFail);
  EXPECT_EQ(outcome("verify_result", 9999, 1), Outcome::kFail);
}

// The expected verdicts are those of numpy.isclose() of Debian's numpy 1.24, for float16 against
// float32 values that tfloat32 also holds. The spacing of float16 would be too coarse to show the
// mismatches.
TEST(PublishedClose, ComputesInFloat32BesideAFormatThatNumpyDoesNotHave) {
  const double others[][2] = {{250.125, 249.875}, {1.9541015625, 1.9521484375}, {3994, 3998}};
  for (const auto& [actual, expected] : others) {
    const Tensor a = vector_of("float16", {actual});
    for (const char* dtype : {"tfloat32", "hfloat32", "float32"}) {
      EXPECT_EQ(published_verdict("ttk_close", a, vector_of(dtype, {expected})).outcome,
                Outcome::kFail)
          << dtype << " " << expected;
    }
    EXPECT_EQ(published_verdict("ttk_close", a, vector_of("float16", {expected})).outcome,
              Outcome::kPass)
        << expected;
  }
}

TEST(PublishedClose, SaysWhatMissesOfAFailure) {
  const Verdict v = published_verdict("verify_result", vector_of("float32", {1, 2, 4.5, kInfinity}),
                                      vector_of("float32", {1, 2, 4, 8}));
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_EQ(v.because, "2 of 4 elements are mismatches, and at most a share of 0.0001 may be");
  EXPECT_EQ(v.mismatches, 2);
  EXPECT_EQ(v.forgiven, 0);
  EXPECT_THAT(v.notes, testing::Each(testing::Not(testing::HasSubstr("itself says"))))
      << "where both fail there is nothing to tell";
}

// In float16, the relative part 1e-3 * 1999 of the tolerance is rounded to 2, and the absolute part
// 1e-8 to 0. With a float64 golden result, numpy computes in float64.
TEST(PublishedClose, IsComputedInTheCommonDtype) {
  const auto mismatches = [](const char* dtype, double actual, const char* golden,
                             double expected) {
    return published_verdict("ttk_close", vector_of(dtype, {actual}), vector_of(golden, {expected}))
        .mismatches;
  };
  EXPECT_EQ(mismatches("float16", 2001, "float16", 1999), 0);
  EXPECT_EQ(mismatches("float16", 2001, "float32", 1999), 1);
  EXPECT_EQ(mismatches("float16", 2001, "float64", 1999), 1);
  EXPECT_EQ(mismatches("float16", 0x1p-24, "float16", 0), 1);
  EXPECT_EQ(mismatches("bfloat16", 2000, "bfloat16", 2000), 0);
  // The next bfloat16 after 1 is 2^-7 away. numpy's float32 keeps the tolerance of 0.001.
  EXPECT_EQ(mismatches("bfloat16", 1 + 0x1p-7, "bfloat16", 1), 1);
  EXPECT_EQ(mismatches("float32", 1 + 0x1.ap-14, "float32", 1), 0) << "9.9e-5";
  EXPECT_EQ(mismatches("float32", 1 + 0x1.cp-14, "float32", 1), 1) << "1.07e-4";
  EXPECT_EQ(mismatches("float64", 1 + 1e-4, "float64", 1), 0);
  EXPECT_EQ(mismatches("float64", 1 + 1.0002e-4, "float64", 1), 1);
}

TEST(PublishedClose, SpecialValuesAreEqualOrMiss) {
  const double special[] = {kNan, kInfinity, -kInfinity, 1};
  for (const double a : special) {
    for (const double e : special) {
      const bool equal = a == e || (std::isnan(a) && std::isnan(e));
      const Verdict v =
          published_verdict("ttk_close", vector_of("float32", {a}), vector_of("float32", {e}));
      EXPECT_EQ(v.mismatches, equal ? 0 : 1) << a << " " << e;
      EXPECT_EQ(v.outcome, equal ? Outcome::kPass : Outcome::kFail) << a << " " << e;
    }
  }
}

// Covers every pair of codes that are not NaN. |actual - expected| is computed in int8, in which
// |-128| stays negative and so counts as near.
TEST(PublishedRequant, CodesWrap) {
  const Format& f = format_named("float8_e4m3fn");
  for (int a = 0; a < 256; ++a) {
    if (std::isnan(decode(f, static_cast<std::uint8_t>(a)))) continue;
    std::vector<std::uint8_t> actual, expected;
    std::int64_t far = 0;
    for (int e = 0; e < 256; ++e) {
      if (std::isnan(decode(f, static_cast<std::uint8_t>(e)))) continue;
      actual.push_back(static_cast<std::uint8_t>(a));
      expected.push_back(static_cast<std::uint8_t>(e));
      const int difference = static_cast<std::int8_t>(static_cast<std::uint8_t>(a - e));
      far += difference == -128 || (difference >= -1 && difference <= 1) ? 0 : 1;
    }
    ASSERT_EQ(published_verdict("ttk_requant", of_codes(f.name, actual), of_codes(f.name, expected))
                  .mismatches,
              far)
        << a;
  }
  const auto mismatches = [&](std::uint8_t actual, std::uint8_t expected) {
    return published_verdict("ttk_requant", of_codes(f.name, {actual}),
                             of_codes(f.name, {expected}))
        .mismatches;
  };
  EXPECT_EQ(mismatches(0x38, 0x39), 0) << "1 and 1.125";
  EXPECT_EQ(mismatches(0x38, 0x3a), 1) << "1 and 1.25";
  EXPECT_EQ(mismatches(0x38, 0xb8), 0) << "1 and -1";
  EXPECT_EQ(mismatches(0x38, 0xb9), 1) << "1 and -1.125";
  EXPECT_EQ(mismatches(0x00, 0x81), 1) << "0 and the negative number next to it";
  // 448 and -448 have the codes 0x7e and 0xfe, whose difference of 128 wraps to -128.
  const Verdict far =
      published_verdict("ttk_requant", vector_of(f.name, {448, 1}), vector_of(f.name, {-448, 1}));
  EXPECT_EQ(far.outcome, Outcome::kPass);
  EXPECT_EQ(far.because, "0 of 2 elements are mismatches, and at most a share of 0.001 may be");
  EXPECT_THAT(far.notes, testing::Contains(testing::StartsWith("ttk_requant itself says fail: ")));
}

TEST(PublishedRequant, NanAndGoldenResultsOfAnotherDtype) {
  const char* const dtype = "float8_e5m2";
  const auto mismatches = [&](double actual, const char* golden, double expected) {
    return published_verdict("ttk_requant", vector_of(dtype, {actual}),
                             vector_of(golden, {expected}))
        .mismatches;
  };
  EXPECT_EQ(mismatches(kNan, dtype, kNan), 0);
  EXPECT_EQ(mismatches(kNan, dtype, 1), 1);
  EXPECT_EQ(mismatches(1, dtype, kNan), 1);
  // A float32 golden result is first rounded to a code: 1.1 to 1, and 1.4 to 1.5.
  EXPECT_EQ(mismatches(1.25, "float32", 1.1), 0);
  EXPECT_EQ(mismatches(1, "float32", 1.4), 1);
  EXPECT_EQ(mismatches(1.25, "float32", 1.4), 0);
}

// Elements that are not finite become 0 on both sides.
TEST(PublishedAtb, SpecialValuesBecomeZero) {
  const Tensor actual = vector_of("float16", {kNan, kInfinity, 1}),
               expected = vector_of("float16", {0x1p-9, -kInfinity, 1});
  for (const char* name : {"atb", "atb@2026-05"}) {
    const Verdict v = published_verdict(name, actual, expected);
    EXPECT_EQ(v.outcome, Outcome::kPass);
    EXPECT_EQ(v.mismatches, 0);
    EXPECT_THAT(v.because, testing::StartsWith("with 0 for NaN and infinity: "));
    EXPECT_THAT(v.notes,
                testing::Contains(testing::StartsWith(std::string(name) + " itself says fail: ")));
  }
  const Verdict v = published_verdict("atb", actual, vector_of("float16", {0x1p-7, 3, 1}));
  EXPECT_EQ(v.outcome, Outcome::kFail) << "0 is not within 2^-8 of these";
  EXPECT_EQ(v.mismatches, 2);
  EXPECT_EQ(v.forgiven, 0);
}

// Until 2025, the rule also limited the mean of d / max(1, |e|), to 2^-14 in float32. d is the
// error, and e the expected value.
TEST(PublishedAtb, OldVersionsBalanceErrors) {
  const Tensor expected = vector_of("float32", {1, 1, kNan, 1});
  const auto outcome = [&](const char* name, double error) {
    return published_verdict(name, vector_of("float32", {1 + error, 1, kInfinity, 1}), expected)
        .outcome;
  };
  EXPECT_EQ(outcome("atb@2025", 0x1p-12), Outcome::kPass) << "a mean of 2^-14";
  EXPECT_EQ(outcome("atb@2025", 0x1.8p-12), Outcome::kFail);
  EXPECT_EQ(outcome("atb@2026-05", 0x1.8p-12), Outcome::kPass);
  EXPECT_EQ(outcome("atb@2026-05", 0x1.8p-11), Outcome::kFail) << "more than 2^-11";
  EXPECT_EQ(outcome("atb_high_precision@2026-05", 0x1.8p-12), Outcome::kFail);
}

// If one of the three values is not finite, the output passes if it equals the third party. It also
// passes if it equals a golden value that is not finite.
TEST(PublishedCrossCheck, SpecialValuesAreHeldToTheThirdParty) {
  const double values[] = {1, kNan, kInfinity, -kInfinity};
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  for (const double t : values) {
    for (const double g : values) {
      for (const double b : values) {
        const Tensor third = vector_of("float32", {b, 1});
        const Verdict v = published_verdict("ttk_cross_check_l1", vector_of("float32", {t, 1}),
                                            vector_of("float32", {g, 1}), &third);
        const bool finite = std::isfinite(t) && std::isfinite(g) && std::isfinite(b);
        const bool passes = finite || same(t, b) || (!std::isfinite(g) && same(t, g));
        EXPECT_EQ(v.outcome, passes ? Outcome::kPass : Outcome::kFail) << t << " " << g << " " << b;
        EXPECT_EQ(v.mismatches, passes ? 0 : 1);
        EXPECT_EQ(v.because, passes ? "all ratios to the third party's errors hold"
                                    : "1 of 2 elements differ as NaN and infinity do");
      }
    }
  }
}

// The rule compares the output's errors with those of a third party, as ratios of the largest
// relative error, of the mean relative error and of the root mean square error. It uses elements of
// at least 2^-14, and denominators are no smaller than that. Level L1 allows ratios of 5, 1.5 and
// 1.5.
TEST(PublishedCrossCheck, RatiosOfErrors) {
  const Tensor expected = vector_of("float32", {1, 1, 1, 1});
  const auto judged_by = [&](const std::vector<double>& actual, const std::vector<double>& third) {
    const Tensor reference_implementation = vector_of("float32", third);
    return published_verdict("ttk_cross_check_l1", vector_of("float32", actual), expected,
                             &reference_implementation);
  };
  const double e = 0x1p-6;
  EXPECT_EQ(judged_by({1, 1, 1, 1}, {1, 1, 1, 1}).outcome, Outcome::kPass);
  EXPECT_EQ(judged_by({1 + e, 1, 1, 1}, {1 - e, 1, 1, 1}).outcome, Outcome::kPass);
  // One error is six times as large, and the three others are 0. The ratio of the largest errors
  // is 6, which the text names. The ratio of the mean errors is 1.5, which is allowed.
  const Verdict largest = judged_by({1 + 6 * e, 1, 1, 1}, {1 + e, 1 + e, 1 + e, 1 + e});
  EXPECT_EQ(largest.outcome, Outcome::kFail);
  EXPECT_EQ(largest.mismatches, 0);
  EXPECT_EQ(largest.because,
            "it is 6, and asked is MARE over the reference implementation's where |expected| >= "
            "6.1e-05 <= 5");
  const Verdict mean = judged_by({1 + e, 1 + e, 1 + e, 1 + e}, {1 + e, 1, 1, 1});
  EXPECT_EQ(mean.because,
            "it is 4, and asked is MERE over the reference implementation's where |expected| >= "
            "6.1e-05 <= 1.5");
  // One error of 4 e has the same mean as four errors of e, and twice their root mean square.
  const Verdict root = judged_by({1 + 4 * e, 1, 1, 1}, {1 + e, 1 + e, 1 + e, 1 + e});
  EXPECT_EQ(root.because,
            "it is 2, and asked is RMSE over the reference implementation's where |expected| >= "
            "6.1e-05 <= 1.5");
  // If the third party has no error, the rule divides by 2^-14.
  const Verdict none = judged_by({1 + 0x1p-10, 1, 1, 1}, {1, 1, 1, 1});
  EXPECT_EQ(none.because,
            "it is 16, and asked is MARE over the reference implementation's where |expected| >= "
            "6.1e-05 <= 5");
}

// The rule divides an element's error by |expected| + 1e-7. The 1e-7 matters most for an expected
// value of 2^-14, the smallest that the rule does not count as a small value. The third party has
// no error here, so the rule divides the output's largest relative error by 2^-14. A ratio of 5.004
// is beyond the limit of 5. If the rule added 2e-7 instead of 1e-7, the same error would give 4.996
// and pass.
TEST(PublishedCrossCheck, ErrorsAreRelativeToALittleMoreThanTheExpectedValue) {
  constexpr double kSmallest = 0x1p-14;
  const Tensor expected = vector_of("float32", {kSmallest, 1, 1, 1});
  const auto outcome = [&](double ratio) {
    const double error = ratio * kSmallest * (kSmallest + 1e-7);
    return published_verdict("ttk_cross_check_l1",
                             vector_of("float32", {kSmallest + error, 1, 1, 1}), expected,
                             &expected)
        .outcome;
  };
  EXPECT_EQ(outcome(4.996), Outcome::kPass);
  EXPECT_EQ(outcome(5.004), Outcome::kFail);
}

// Below 2^-14, errors of more than 2^-30 are counted. There may be at most twice as many as the
// third party has.
TEST(PublishedCrossCheck, SmallValuesAreCounted) {
  const Tensor expected = vector_of("float32", std::vector<double>(6, 0x1p-20));
  const auto with_errors = [](std::size_t count, double error) {
    std::vector<double> values(6, 0x1p-20);
    for (std::size_t i = 0; i < count; ++i) values[i] += error;
    return vector_of("float32", values);
  };
  const auto verdict_of = [&](std::size_t own, std::size_t other) {
    const Tensor third = with_errors(other, 0x1p-28);
    return published_verdict("ttk_cross_check_l2", with_errors(own, 0x1p-28), expected, &third);
  };
  EXPECT_EQ(verdict_of(2, 1).outcome, Outcome::kPass);
  EXPECT_EQ(verdict_of(2, 0).outcome, Outcome::kPass) << "none counts as one";
  const Verdict v = verdict_of(6, 2);
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_EQ(v.because,
            "it is 3, and asked is errors at |expected| < 6.1e-05 over the reference "
            "implementation's <= 2");
  const Tensor exact = expected;
  EXPECT_EQ(
      published_verdict("ttk_cross_check_l2", with_errors(6, 0x1p-30), expected, &exact).outcome,
      Outcome::kPass)
      << "an error of 2^-30 does not count";
}

TEST(PublishedVerdict, WhatCannotBeComparedIsSaidByTheStandard) {
  const Tensor two = vector_of("float32", {1, 2});
  const Verdict shapes = published_verdict("ttk_close", two, vector_of("float32", {1}));
  EXPECT_EQ(shapes.outcome, Outcome::kNotComparable);
  EXPECT_EQ(shapes.bound.standard, "ttk_close,as_published");
  EXPECT_TRUE(shapes.notes.empty());
  const Verdict empty =
      published_verdict("atb", vector_of("float32", {}), vector_of("float32", {}));
  EXPECT_EQ(empty.outcome, Outcome::kUntrusted);
  EXPECT_EQ(empty.because, "there are no elements to compare");
  EXPECT_TRUE(empty.notes.empty());
  const Verdict alone = published_verdict("ttk_cross_check_l0", two, vector_of("float32", {1, 2}));
  EXPECT_EQ(alone.outcome, Outcome::kNotComparable);
  EXPECT_TRUE(alone.notes.empty());
  const Tensor one = vector_of("float32", {1});
  EXPECT_EQ(
      published_verdict("ttk_cross_check_l0", two, vector_of("float32", {1, 2}), &one).outcome,
      Outcome::kNotComparable)
      << "a third party of another shape";
}

// Because the golden result is zeros, the standard distrusts a pass. Its publication does not.
TEST(PublishedVerdict, APassThatTheStandardDoesNotTrustIsNoted) {
  const Verdict v = published_verdict("verify_result", vector_of("float32", {0, 0}),
                                      vector_of("float32", {0, 0}));
  EXPECT_EQ(v.outcome, Outcome::kPass);
  EXPECT_THAT(v.notes,
              testing::Contains(testing::StartsWith("verify_result itself says untrusted: ")));
}

// Each standard has a publication, and its rules in words.
TEST(PublishedRules, HaveASourceAndWords) {
  EXPECT_EQ((Publication{.repository = "a/b", .commit = "0f", .path = "c.py", .date = "2026-03-01"}
                 .text()),
            "a/b@0f, c.py, 2026-03-01");
  EXPECT_EQ(
      (Publication{.repository = "a paper", .commit = "", .path = "", .date = "2026-03-01"}.text()),
      "a paper, 2026-03-01");
  for (const Standard& s : standards()) {
    EXPECT_FALSE(s.publication.repository.empty()) << s.name;
    EXPECT_THAT(s.publication.text(), testing::EndsWith(", " + std::string(s.publication.date)));
    std::string before;
    for (const auto& [dtype, rule] : standard_rules(s)) {
      EXPECT_NE(rule, "") << s.name << " " << dtype;
      EXPECT_NE(dtype, before) << s.name;
      before = dtype;
    }
  }
}

TEST(PublishedRules, OfEachDtype) {
  using Rules = std::vector<std::pair<std::string, std::string>>;
  const auto rules = [](std::string_view name) { return standard_rules(*find_standard(name)); };
  EXPECT_EQ(rules("triton_ascend"), (Rules{{"float32", "atol 1e-05 + rtol 1e-05 * |expected|"},
                                           {"float16", "atol 0.001 + rtol 0.001 * |expected|"},
                                           {"bfloat16", "atol 0.005 + rtol 0.005 * |expected|"},
                                           {"integers, bool", "equality"}}));
  EXPECT_EQ(rules("verify_result"),
            (Rules{{"other floats", "atol 1e-09 + rtol 1e-06 * |expected|, of all but 0.0001"},
                   {"integers, bool", "equality"}}));
  EXPECT_EQ(rules("cosine"),
            (Rules{{"every float", "cosine >= 0.99"}, {"integers, bool", "equality"}}));
  EXPECT_EQ(rules("ttk_quant"), (Rules{{"int8", "atol 1 + rtol 0 * |expected|"},
                                       {"int4", "atol 1 + rtol 0 * |expected|"},
                                       {"integers, bool", "equality"}}));
  // onednn and cutlass give their rules in units of each dtype's spacing at 1, eps.
  EXPECT_EQ(rules("onednn"),
            (Rules{{"other floats", "eps * |expected| (atol eps where |expected| < 1e-05)"},
                   {"integers, bool", "equality"}}));
  EXPECT_EQ(rules("cutlass"), (Rules{{"other floats", "eps * max(0.0001, |actual| + |expected|)"},
                                     {"integers, bool", "equality"}}));
  // iree compares the bits of only those floats that have no tolerance.
  EXPECT_EQ(rules("iree@2026-05"), (Rules{{"float64", "atol 0.0001 + rtol 1e-05 * |expected|"},
                                          {"float32", "atol 0.0001 + rtol 1e-05 * |expected|"},
                                          {"float16", "atol 0.001 + rtol 1e-05 * |expected|"},
                                          {"bfloat16", "atol 0.01 + rtol 1e-05 * |expected|"},
                                          {"other floats", "bit equality"},
                                          {"integers, bool", "equality"}}));
  // If a standard has a rule for integers, the integers are listed once, and bool separately.
  bool found = false;
  for (const Standard& s : standards()) {
    const Rules all = standard_rules(s);
    if (all.back().first != "bool") continue;
    found = true;
    EXPECT_EQ(all.back().second, "equality");
    EXPECT_EQ(all[all.size() - 2].first, "integers");
    EXPECT_EQ(all[all.size() - 2].second, standard_bound(s.name, format_named("int64"), 1)->text());
  }
  EXPECT_TRUE(found);
}

TEST(PublishedRules, WordsOfGrowth) {
  for (const Growth growth :
       {Growth::kNone, Growth::kTwiceFrom2048, Growth::kAtb, Growth::kLinear}) {
    EXPECT_EQ(growth_named(growth_word(growth)), growth);
  }
  EXPECT_EQ(growth_word(Growth::kTwiceFrom2048), "twice_from_2048");
  EXPECT_EQ(growth_named("twice"), std::nullopt);
}

// Zeros in place of the small values give errors that are small themselves. But only a quarter of
// the values can be zero before the limit on the mean fails. The text of a pass therefore does not
// call the check blind.
TEST(PublishedAtb, WhatTheBalanceSeesIsNotCalledBlind) {
  const Tensor small = vector_of("float32", std::vector<double>(8, 0x1p-12)), output = small;
  const Verdict v = published_verdict("atb@2025", output, small);
  EXPECT_EQ(v.outcome, Outcome::kPass);
  EXPECT_THAT(v.because,
              testing::StartsWith("with 0 for NaN and infinity: all 8 elements within "));
}

}  // namespace
}  // namespace assay
