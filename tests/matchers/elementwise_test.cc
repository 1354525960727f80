// Tests CloseTo, WithinUlps and BitEqual: the arguments that they take, and their messages.
#include <assay/case.h>
#include <assay/matchers.h>
#include <assay/matchers/eigen.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "assay/base/file.h"
#include "matchers/texts.h"

namespace assay {
namespace {

using testing::_;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Tensor list(const char* dtype, const std::vector<double>& values) {
  return Tensor::from_values(format_named(dtype), {static_cast<std::int64_t>(values.size())},
                             values);
}

template <typename M>
std::string described(const M& matcher) {
  return testing::DescribeMatcher<const std::vector<float>&>(matcher);
}
template <typename M>
std::string negated(const M& matcher) {
  return testing::DescribeMatcher<const std::vector<float>&>(matcher, true);
}
template <typename T, typename M>
bool matches(const T& actual, const M& matcher) {
  return testing::SafeMatcherCast<const T&>(matcher).Matches(actual);
}

TEST(Elementwise, TensorsAndViews) {
  const Tensor reference = list("bfloat16", {1, 2, 3});
  Tensor out = reference;
  EXPECT_THAT(out, CloseTo(reference));
  EXPECT_THAT(out.view(), CloseTo(reference.view()));
  EXPECT_THAT(out, WithinUlps(reference, 0));
  EXPECT_THAT(out, BitEqual(reference));
  out.set_bits(1, out.bits_at(1) + 1);
  EXPECT_THAT(out, Not(BitEqual(reference)));
  EXPECT_THAT(out, Not(WithinUlps(reference, 0)));
  EXPECT_THAT(out, WithinUlps(reference, 1));
  EXPECT_THAT(out, CloseTo(reference).rtol(0.01));
  EXPECT_THAT(out, CloseTo(list("float64", {1, 2, 3})).rtol(0.01));
}

TEST(Elementwise, ArraysOfCppAreTaken) {
  const float plain[2][2] = {{1, 2}, {3, 4}};
  const std::array<float, 4> array = {1, 2, 3, 4};
  const float same[2][2] = {{1, 2}, {3, 4}};
  EXPECT_THAT(plain, CloseTo(same));
  EXPECT_THAT(array, CloseTo(std::vector<float>{1, 2, 3, 4}));
  EXPECT_THAT(array, Not(CloseTo(plain))) << "the shapes differ";
}

// Bytes may be codes of a float8 format: whoever sees them fail as integers is told.
TEST(Elementwise, BytesMayBeCodes) {
  const std::vector<std::uint8_t> codes = {0x38, 0x40}, others = {0x38, 0x41};
  const char* const hint =
      "\nThe output's bytes were compared as integers. If they are codes of a format, give a view: "
      "view_bits(out, assay::format_named(\"float8_e4m3fn\"), shape).";
  EXPECT_THAT(explanation(codes, CloseTo(others)), HasSubstr(hint));
  EXPECT_THAT(explanation(codes, SnrAtLeast(others, 90)), HasSubstr(hint));
  EXPECT_THAT(explanation(codes, CloseTo(std::vector<std::uint8_t>(codes))), Not(HasSubstr(hint)));
  const Format& e4m3 = format_named("float8_e4m3fn");
  EXPECT_THAT(explanation(view_bits(codes, e4m3), BitEqual(view_bits(others, e4m3))),
              Not(HasSubstr(hint)));
  const std::vector<std::int8_t> integers = {1, 2}, other_integers = {1, 3};
  EXPECT_THAT(explanation(integers, CloseTo(other_integers)), Not(HasSubstr(hint)));
}

// A kernel that returns integers by mistake does not match because the reference rounds to them,
// by any of the matchers.
TEST(Elementwise, IntegersAreNotCloseToFractions) {
  const std::vector<std::int32_t> integers = {0, 3, 1};
  const std::vector<double> fractions = {0.25, 3, 1}, whole = {0, 3, 1};
  const char* const reason =
      "the output is int32, but 1 of 3 expected values (float64) is not a whole number: 0.25 at "
      "[0]; return an output of a float dtype, or round the expected result if "
      "integers are right";
  for (const ElementwiseMatcher& matcher :
       {CloseTo(fractions), CloseTo(fractions).atol(0.5), CloseTo(fractions).standard("torch"),
        WithinUlps(fractions, 1), BitEqual(fractions), MeetsStandard("onnx", fractions)}) {
    EXPECT_THAT(integers, Not(matcher));
    EXPECT_THAT(explanation(integers, matcher), HasSubstr(reason));
  }
  EXPECT_THAT(integers, CloseTo(whole));
  EXPECT_THAT(integers, BitEqual(whole));
  EXPECT_THAT((std::vector<float>{0, 3, 1}), Not(CloseTo(fractions)));
}

// The largest distance of 64-bit integers is printed in full, and a limit of one less rejects it.
TEST(Elementwise, UlpsOf64Bits) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::vector<std::int64_t> low = {std::numeric_limits<std::int64_t>::min(), 7},
                                  high = {std::numeric_limits<std::int64_t>::max(), 7};
  const std::vector<std::uint64_t> zero = {0, 7}, most = {kMost, 7};
  const auto why = [](const auto& actual, const ElementwiseMatcher& matcher) {
    testing::StringMatchResultListener words;
    const auto typed = testing::SafeMatcherCast<decltype(actual)>(matcher);
    EXPECT_FALSE(typed.MatchAndExplain(actual, &words));
    return words.str();
  };
  for (const std::string& text :
       {why(low, WithinUlps(high, kMost - 1)), why(high, WithinUlps(low, kMost - 1)),
        why(zero, WithinUlps(most, kMost - 1)), why(most, WithinUlps(zero, 3))}) {
    EXPECT_THAT(text, AllOf(HasSubstr(", 18 446 744 073 709 551 615 ulp"),
                            HasSubstr("would pass with ulp(18446744073709551615)")));
  }
  // The output is within this limit, so that only one objection is left: zeros would pass as well.
  EXPECT_THAT(why(low, WithinUlps(high, kMost)), HasSubstr("an output of zeros would pass too"));
}

// EXPECT_THAT first matches without an explanation, for which no metrics are computed. The answer
// must be the same as with an explanation.
TEST(Elementwise, AnswersWithoutWordsAreTheSame) {
  const std::vector<float> reference = {1, 2, 3, 1e-9F};
  const auto expect_one_answer = [&](const std::vector<float>& actual,
                                     const ElementwiseMatcher& matcher, bool matches) {
    const auto typed = testing::SafeMatcherCast<const std::vector<float>&>(matcher);
    testing::StringMatchResultListener words;
    EXPECT_EQ(typed.Matches(actual), matches);
    EXPECT_EQ(typed.MatchAndExplain(actual, &words), matches);
    EXPECT_THAT(words.str(), HasSubstr(matches ? "which passes" : "which "));
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> off = {1, 2, 3.1F, 1e-9F}, zeros = {0, 0, 0, 0};
  const std::vector<float> special = {1, nan, 3, 1e-9F};
  for (const char* standard : {"torch", "ulp(4)", "bit_equal", "atb", "msprobe", "cutlass",
                               "cann_ecosystem@2025", "tensorrt_quantile"}) {
    SCOPED_TRACE(standard);
    expect_one_answer(std::vector<float>(reference), CloseTo(reference).standard(standard), true);
    expect_one_answer(off, CloseTo(reference).standard(standard), false);
    expect_one_answer(special, CloseTo(reference).standard(standard), false);
    expect_one_answer(zeros, CloseTo(zeros).standard(standard), false);  // the same memory
    expect_one_answer({1, 2}, CloseTo(reference).standard(standard), false);
    expect_one_answer(off, CloseTo(reference).standard(standard).standard("torch"), false);
  }
}

TEST(Elementwise, VectorsAndSpans) {
  const std::vector<float> reference = {1, 2, 3};
  std::vector<float> out = {1, 2, 3.00001F};
  EXPECT_THAT(out, CloseTo(reference));
  EXPECT_THAT(std::span<const float>(out), CloseTo(std::span<const float>(reference)));
  EXPECT_THAT(view(out, {3, 1}), CloseTo(view(reference, {3, 1})));
  EXPECT_THAT((std::vector<std::int64_t>{1, 2}), BitEqual(std::vector<std::int64_t>{1, 2}));
  EXPECT_THAT((std::vector<double>{1, 2}), CloseTo(std::vector<double>{1, 2}).standard("torch"));
  EXPECT_THAT((std::vector<Eigen::half>{Eigen::half(1.5F)}),
              CloseTo(std::vector<Eigen::half>{Eigen::half(1.5F)}));
}

// The matchers take vectors and spans of numbers. This includes spans that may be written to, and
// spans of a fixed length.
TEST(Elementwise, EverySpanHasAView) {
  EXPECT_TRUE(Viewable<std::span<const float>>);
  EXPECT_TRUE(Viewable<std::span<float>>);
  EXPECT_TRUE((Viewable<std::span<const float, 4>>));
  EXPECT_TRUE((Viewable<std::span<float, 4>>));
}

// std::vector<bool> holds no bools. A concept that accepts it would end in errors deep inside.
TEST(Elementwise, VectorOfBoolHasNoView) { EXPECT_FALSE(Viewable<std::vector<bool>>); }

TEST(Elementwise, Eigen) {
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::MatrixXf reference(3, 5);
  for (int i = 0; i < 15; ++i) reference(i % 3, i / 3) = static_cast<float>(i + 1);
  RowMajor out = reference;
  EXPECT_THAT(out, CloseTo(reference));
  EXPECT_THAT(reference, BitEqual(out));
  EXPECT_THAT(out.block(1, 1, 2, 2), BitEqual(reference.block(1, 1, 2, 2)));
  EXPECT_THAT(Eigen::Map<const Eigen::MatrixXf>(reference.data(), 3, 5), BitEqual(out));
  EXPECT_THAT(reference.transpose(), Not(CloseTo(out)));
  EXPECT_THAT(reference.transpose().transpose(), CloseTo(out));
  EXPECT_THAT(reference.row(1), CloseTo(out.row(1)));
  out(2, 4) = -15;
  EXPECT_THAT(out, Not(CloseTo(reference)));
  EXPECT_THAT(explanation(out, CloseTo(reference)), HasSubstr("[2, 4]: actual -15 (0xc1700000)"));
  const Eigen::VectorXd v = Eigen::VectorXd::LinSpaced(7, 1, 2);
  EXPECT_THAT(v, CloseTo(Eigen::VectorXd(v)).standard("torch"));
  EXPECT_THAT(Eigen::ArrayXXf(reference.array()), BitEqual(reference));
}

TEST(Elementwise, EigenExpressionsAreEvaluated) {
  const Eigen::MatrixXf a = Eigen::MatrixXf::Constant(3, 4, 2), b = Eigen::MatrixXf::Identity(4, 4);
  EXPECT_THAT((a * b).eval(), CloseTo(a * b));
  EXPECT_THAT(a, CloseTo(a * b));
  EXPECT_THAT(a + a, Not(CloseTo(a)));
  EXPECT_THAT(2 * a, CloseTo(a + a));
}

TEST(Elementwise, EigenHalfAndBfloat16) {
  using Half = Eigen::Matrix<Eigen::half, Eigen::Dynamic, Eigen::Dynamic>;
  using Bfloat = Eigen::Matrix<Eigen::bfloat16, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::MatrixXf golden = Eigen::MatrixXf::Constant(4, 3, 1.2345F);
  const Half half = golden.cast<Eigen::half>();
  const Bfloat bfloat = golden.cast<Eigen::bfloat16>();
  EXPECT_THAT(half, CloseTo(golden));
  EXPECT_THAT(bfloat, WithinUlps(golden, 0));
  EXPECT_THAT(bfloat, Not(CloseTo(golden.array() * 1.1F)));
  EXPECT_THAT(explanation(half, CloseTo(Eigen::MatrixXf(golden * 2))),
              HasSubstr("actual 1.234375 (0x3cf0), expected 2.4687"));
}

TEST(Elementwise, Dlpack) {
  std::vector<float> data = {1, 2, 3, 4};
  std::vector<std::int64_t> shape = {2, 2}, strides = {1, 2};
  dlpack::DLManagedTensor out{
      {data.data(), {1, 0}, 2, {dlpack::kFloat, 32, 1}, shape.data(), strides.data(), 0},
      nullptr,
      nullptr};
  const std::vector<float> reference = {1, 3, 2, 4};
  EXPECT_THAT(out, BitEqual(view(reference, {2, 2})));
  EXPECT_THAT(&out, BitEqual(view(reference, {2, 2})));
  EXPECT_THAT(out.dl_tensor, Not(BitEqual(view(data, {2, 2}))));
  EXPECT_THAT(view(reference, {2, 2}), BitEqual(out));
  EXPECT_THAT(view(reference, {2, 2}), BitEqual(&out));
}

Tensor temporary() { return list("float32", {1, 2, 3}); }

TEST(Elementwise, TemporariesAreKept) {
  const auto tensor = CloseTo(temporary());
  const auto vector = BitEqual(std::vector<float>{1, 2, 3});
  const auto eigen = WithinUlps(Eigen::Vector3f(1, 2, 3), 1);
  const auto expression = CloseTo(Eigen::Vector3f(1, 2, 3) * 1.0F);
  Case made;
  made.output().golden = temporary();
  const auto of_case = CloseTo(std::move(made));
  // A dangling view would probably read this memory.
  std::vector<float> churn(1000, 7);
  const std::vector<float> out = {1, 2, 3};
  EXPECT_THAT(out, AllOf(tensor, vector, eigen, expression, of_case));
  const auto copy = tensor.rtol(0.5);
  EXPECT_THAT(out, copy);
  EXPECT_EQ(churn.size(), 1000u);
}

TEST(Elementwise, LvaluesAreOnlyViewed) {
  std::vector<float> reference = {1, 2, 3};
  const auto matcher = BitEqual(reference);
  reference[0] = 9;
  EXPECT_THAT((std::vector<float>{9, 2, 3}), matcher);
}

TEST(Elementwise, Cases) {
  Case c;
  c.name = "matmul/small";
  c.output().golden = list("float64", {1, 2, 4});
  c.attributes["output_dtype"] = std::string("bfloat16");
  EXPECT_THAT(list("bfloat16", {1, 2, 4}), CloseTo(c));
  EXPECT_THAT(list("bfloat16", {1, 2, 4.03125}), CloseTo(c)) << "one ulp";
  EXPECT_THAT(list("bfloat16", {1, 2, 4.0625}), Not(CloseTo(c)));
  c.attributes["rtol"] = 0.01;
  EXPECT_THAT(list("bfloat16", {1, 2, 4.03125}), CloseTo(c));
  EXPECT_THAT(list("bfloat16", {1, 2, 4.03125}), Not(CloseTo(c).standard("triton_ascend")));
  EXPECT_THAT(list("bfloat16", {1, 2, 4.03125}), Not(BitEqual(c)));
  EXPECT_THAT(list("float32", {1, 2, 4}), Not(CloseTo(c)));
  EXPECT_EQ(explanation(list("float32", {1, 2, 4}), CloseTo(c)),
            "which cannot be compared: the output is float32, the case's output dtype is bfloat16\n"
            "reproduce: " +
                current_test_command());
  Case empty;
  empty.name = "e";
  EXPECT_THAT(explanation(list("float32", {1}), CloseTo(empty)),
              testing::StartsWith("which cannot be compared: case e has no golden result; "));
}

TEST(Elementwise, NanAndInfinity) {
  const std::vector<float> reference = {1, kNaN, kInf}, out = reference;
  EXPECT_THAT(out, Not(CloseTo(reference))) << "NaN equals nothing by default";
  EXPECT_THAT(explanation(out, CloseTo(reference)),
              HasSubstr("no tolerance would pass: NaN is where NaN is expected, which equal_nan "
                        "accepts"));
  EXPECT_THAT(out, CloseTo(reference).equal_nan());
  EXPECT_THAT(out, CloseTo(reference).standard("triton_ascend")) << "as published";
  EXPECT_THAT(out, Not(CloseTo(reference).standard("triton_ascend").equal_nan(false)));
  EXPECT_THAT(out, Not(CloseTo(reference).standard("torch")));
  EXPECT_THAT(out, CloseTo(reference).standard("torch").equal_nan());
  EXPECT_THAT(out, Not(WithinUlps(reference, 5)));
  EXPECT_THAT(out, BitEqual(reference));
  EXPECT_THAT((std::vector<float>{1, kNaN, 3e38F}), Not(CloseTo(reference).rtol(kInf)));
  EXPECT_THAT((std::vector<float>{-0.0F, 1}), Not(BitEqual(std::vector<float>{0.0F, 1})));
  EXPECT_THAT((std::vector<float>{-0.0F, 1}), WithinUlps(std::vector<float>{0.0F, 1}, 0));
}

TEST(Elementwise, WhatCannotBeTrustedDoesNotMatch) {
  const std::vector<float> zeros = {0, 0}, ones = {1, 1}, none;
  EXPECT_FALSE(matches(zeros, CloseTo(zeros)));
  EXPECT_FALSE(matches(none, CloseTo(none)));
  EXPECT_FALSE(matches(ones, CloseTo(ones).rtol(1)));
  EXPECT_EQ(explanation(zeros, CloseTo(zeros)),
            "which cannot be trusted: an output of zeros would pass too: the expected result is "
            "within atol 1e-05 + rtol 1e-05 * |expected| everywhere\nreproduce: " +
                current_test_command());
}

// Tests the compiler's 16-bit types, and bit patterns for which it has no type.
TEST(Elementwise, SixteenBits) {
  const std::vector<std::uint16_t> bits = {0x3f80, 0xbfc0, 0x4040}, same = bits;
  const std::vector<double> golden = {1, -1.5, 3};
  EXPECT_THAT(view_bits(bits, format_named("bf16")), CloseTo(golden));
  EXPECT_THAT(view_bits(bits, format_named("bf16"), {3}),
              BitEqual(view_bits(same, format_named("bfloat16"), {3})));
#ifdef ASSAY_HAS_FLOAT16
  std::vector<_Float16> half;
  for (const double v : golden) half.push_back(static_cast<_Float16>(v));
  EXPECT_THAT(half, CloseTo(golden));
  EXPECT_THAT(half, BitEqual(std::vector<_Float16>(half)));
  half[1] = static_cast<_Float16>(2);
  EXPECT_THAT(explanation(half, CloseTo(golden)),
              HasSubstr("[1]: actual 2 (0x4000), expected -1.5 (0xbe00)"));
#endif
}

// If the wrong values form a pattern, the explanation names it.
TEST(Elementwise, PatternOfAFailure) {
  Eigen::MatrixXf golden(6, 6);
  for (int i = 0; i < 36; ++i) golden(i % 6, i / 6) = std::sin(static_cast<float>(i + 1));
  const std::string where = "\nwhere: ";
  EXPECT_THAT(
      explanation(Eigen::MatrixXf(golden.transpose()), CloseTo(golden)),
      HasSubstr(where + "the transpose of the output would pass (explains 30 of 30 mismatches)\n"));
  EXPECT_THAT(explanation(Eigen::MatrixXf(3 * golden), MeetsStandard("mlu_ops", golden)),
              HasSubstr(where + "the output times 0.333333 would pass\n"));
  EXPECT_THAT(explanation(Eigen::MatrixXf(0 * golden), WithinUlps(golden, 3)),
              HasSubstr(where + "every element of the output is 0: was it ever written?\n"));
}

TEST(Elementwise, Compositions) {
  const std::vector<float> out = {1, 2}, near = {1, 2.00001F}, far = {1, 3};
  EXPECT_THAT(out, AllOf(CloseTo(near), Not(BitEqual(near)), WithinUlps(near, 100)));
  EXPECT_THAT(out, AnyOf(BitEqual(far), CloseTo(near)));
  EXPECT_THAT((std::vector<std::vector<float>>{out, near}),
              testing::Each(AllOf(CloseTo(out), Not(CloseTo(far)))));
  EXPECT_THAT(&out, testing::Pointee(CloseTo(near)));
}

TEST(Elementwise, SeveralStandardsMustAllHold) {
  const std::vector<float> reference = {1, 2}, near = {1, 2.00001F};
  EXPECT_THAT(near, CloseTo(reference).standard("triton_ascend").standard("torch"));
  EXPECT_THAT(near, Not(CloseTo(reference).standard("torch").standard("bit_equal")));
  EXPECT_THAT(explanation(near, CloseTo(reference).standard("torch").standard("bit_equal")),
              HasSubstr("which fails: 1 of 2 elements (50.0 %) differs in its bits"));
  EXPECT_THAT(near, Not(WithinUlps(reference, 1).standard("torch")));
}

// A tolerance next to several standards does not disable one of them.
TEST(Elementwise, ToleranceDoesNotSilenceAStandard) {
  const std::vector<float> reference = {1, 2}, near = {1, 2.01F};
  EXPECT_THAT(near, Not(CloseTo(reference).standard("torch").standard("ulp(1)").rtol(0.1)));
}

TEST(Elementwise, Descriptions) {
  const std::vector<float> reference = {1, 2, 3};
  const std::string what = "is close to the float32 reference of shape [3] ";
  EXPECT_EQ(described(CloseTo(reference)), what + "(standard default)");
  EXPECT_EQ(described(CloseTo(reference).standard("torch")), what + "(standard torch)");
  EXPECT_EQ(described(CloseTo(reference).rtol(1e-2).atol(0)), what + "(rtol 0.01, atol 0)");
  EXPECT_EQ(described(CloseTo(reference).equal_nan(false)), what + "(NaN unequal to NaN)");
  EXPECT_EQ(described(CloseTo(reference).standard("torch").standard("ulp(1)").equal_nan()),
            what + "(standard torch and standard ulp(1), NaN equal to NaN)");
  EXPECT_EQ(described(WithinUlps(reference, 2)), what + "(standard ulp(2))");
  EXPECT_EQ(described(BitEqual(reference)), what + "(bit equality)");
  EXPECT_EQ(negated(BitEqual(reference)),
            "is not close to the float32 reference of shape [3] (bit equality)");
  Case c;
  c.name = "matmul/small";
  EXPECT_EQ(described(CloseTo(c)),
            "is close to the golden result of case matmul/small (the case's bound)");
  EXPECT_EQ(described(Not(CloseTo(c).atol(1))),
            "is not close to the golden result of case matmul/small (rtol 0, atol 1)");
}

TEST(Elementwise, Explanations) {
  const std::vector<float> reference = {1, 2, 4}, out = reference;
  EXPECT_EQ(explanation(out, CloseTo(reference)),
            "which passes: all 3 elements within atol 1e-05 + rtol 1e-05 * |expected|");
  EXPECT_EQ(explanation(std::vector<float>{1, 2, 5}, CloseTo(reference)),
            "which fails: 1 of 3 elements (33.3 %) differs by more than atol 1e-05 + rtol 1e-05 * "
            "|expected|\n"
            "which are:\n"
            "  [2]: actual 5 (0x40a00000), expected 4 (0x40800000), error 1, bound 5e-05, "
            "2 097 152 ulp\n"
            "would pass with rtol 0.25 (at this atol) or atol 1 (at this rtol)\n"
            "reproduce: " +
                current_test_command());
  EXPECT_EQ(explanation(std::vector<float>{1, 2}, CloseTo(reference)),
            "which cannot be compared: the output's shape is [2], the expected one is [3]; nothing "
            "is broadcast\nreproduce: " +
                current_test_command());
  EXPECT_THAT(
      explanation(std::vector<double>{1, 2, 3}, CloseTo(reference).standard("triton_ascend")),
      AllOf(testing::StartsWith("which cannot be compared: standard triton_ascend has no "
                                "tolerance for float64; default, torch, "),
            testing::EndsWith(" have one; give .rtol() and .atol(), or another .standard()\n"
                              "reproduce: " +
                              current_test_command())));
}

// Compares the whole text that GoogleTest prints.
TEST(Elementwise, FailureText) {
  const Eigen::MatrixXf reference = Eigen::MatrixXf::Constant(2, 2, 4);
  Eigen::MatrixXf out = reference;
  out(1, 0) = 6;
  testing::TestPartResultArray failures;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
    EXPECT_THAT(out, CloseTo(reference).rtol(0.25).atol(0));
  }
  ASSERT_EQ(failures.size(), 1);
  EXPECT_STREQ(failures.GetTestPartResult(0).message(),
               ("Value of: out\n"
                "Expected: is close to the float32 reference of shape [2, 2] (rtol 0.25, atol 0)\n"
                "  Actual: float32 [2, 2] {4, 4, 6, 4}, which fails: 1 of 4 elements (25.0 %) "
                "differs by more than atol 0 + rtol 0.25 * |expected|\n"
                "which are:\n"
                "  [1, 0]: actual 6 (0x40c00000), expected 4 (0x40800000), error 2, bound 1, "
                "4 194 304 ulp\n"
                "would pass with rtol 0.5 (at this atol) or atol 1 (at this rtol)\n"
                "reproduce: " +
                current_test_command())
                   .c_str());
}

TEST(Elementwise, NegationsFailWithTheReason) {
  const std::vector<float> out = {1, 2};
  EXPECT_NONFATAL_FAILURE(EXPECT_THAT(out, Not(CloseTo(std::vector<float>{1, 2}))),
                          "Expected: is not close to the float32 reference of shape [2] (standard "
                          "default)\n  Actual: { 1, 2 }, which passes: all 2 elements");
  EXPECT_NONFATAL_FAILURE(EXPECT_THAT(out, BitEqual(std::vector<float>{1, -2})),
                          "which fails: 1 of 2 elements (50.0 %) differs in its bits");
}

TEST(Elementwise, WrongUse) {
  const std::vector<float> out = {1, 2};
  const auto refused = [&](const auto& matcher) {
    return failures_of([&] { EXPECT_THAT(out, matcher); });
  };
  // The assertion fails and names the reason. The failure before it is for assertions with Not(),
  // which would pass.
  EXPECT_THAT(
      refused(CloseTo(out).standard("toch")),
      ElementsAre(HasSubstr("a matcher cannot judge: unknown standard 'toch': did you mean "
                            "'torch'?"),
                  HasSubstr("{ 1, 2 }, which cannot be judged: unknown standard 'toch': did ")));
  EXPECT_THAT(refused(Not(CloseTo(out).standard("toch"))),
              ElementsAre(HasSubstr("a matcher cannot judge: unknown standard 'toch'")));
  EXPECT_THAT(refused(CloseTo(out).rtol(-1)),
              ElementsAre(_, HasSubstr("which cannot be judged: the request: rtol must be a number "
                                       "of at least 0, but it is -1")));
  EXPECT_THAT(refused(AbftClose(out).machine("hoper")),
              ElementsAre(_, HasSubstr("cannot be judged: unknown machine 'hoper': did you mean "
                                       "'hopper'?")));
  EXPECT_THAT(
      refused(DrawnFrom("unform")),
      ElementsAre(_, HasSubstr("cannot be judged: distribution 'unform': unknown law 'unform'")));
}

TEST(Elementwise, OutputsWithoutElements) {
  const Tensor empty = tensor("float32", {0, 4}, {}),
               operand =
                   tensor("float16", {4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  EXPECT_THAT(empty, Not(CloseTo(empty)));
  EXPECT_THAT(empty, CloseTo(empty).allow_empty());
  EXPECT_THAT(empty, WithinUlps(empty, 0).allow_empty());
  EXPECT_THAT(empty, Not(CloseTo(tensor("float32", {4, 0}, {})).allow_empty()));
  const Tensor no_rows = tensor("float16", {0, 4}, {});
  EXPECT_THAT(empty, Not(AbftClose(no_rows, operand)));
  EXPECT_THAT(empty, AbftClose(no_rows, operand).allow_empty());
}

// Standards and machines of the user's own files work by the file's path.
TEST(Elementwise, FilesOfStandardsAndMachines) {
  const std::string standards = testing::TempDir() + "/matcher_standards.json";
  write_file(standards, R"({"standards": [{"name": "loose", "why": "a test",
                         "dtypes": {"float32": {"rtol": 0.5}}}]})");
  const std::vector<float> out = {1, 2}, near = {1.25, 2};
  EXPECT_THAT(near, CloseTo(out).standard(standards + ":loose"));
  EXPECT_THAT(near, MeetsStandard(standards + ":loose", out));
  EXPECT_THAT(near, Not(CloseTo(out)));
  const std::string machine = testing::TempDir() + "/matcher_machine.json";
  write_file(machine, R"({"schema": 1, "name": "team_unit",
                       "matrix_unit": [{"input": "float32", "chunk": 4}]})");
  const std::vector<float> a = {1, 2, 3, 4}, c = {7, 10, 15, 22};
  EXPECT_THAT(view(c, {2, 2}), AbftClose(view(a, {2, 2}), view(a, {2, 2})).machine(machine));
}

TEST(CurrentTest, Command) {
  EXPECT_THAT(current_test_command(),
              testing::EndsWith("matchers_test --gtest_filter=CurrentTest.Command"));
}

}  // namespace
}  // namespace assay
