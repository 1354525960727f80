// Tests checks that must fail, and for the stated reason. Also tests defects that were found in
// other tools.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/judge/verdict.h"
#include "assay/report.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::tensor;
using oracle::tolerance;
using oracle::vector_of;
using testing::HasSubstr;

constexpr const char* kBrokenDtypes[] = {"float64",       "float32",     "float16",  "bfloat16",
                                         "float8_e4m3fn", "float8_e5m2", "hifloat8", "int8",
                                         "int32",         "int64"};

// Returns a 5 by 5 matrix of {2, 3, ... 26} with signs. No two values of a row or column are alike,
// and none of them is 0.
std::vector<double> matrix() {
  std::vector<double> values(25);
  for (std::size_t i = 0; i < 25; ++i) {
    values[i] = static_cast<double>(i + 2) * (i % 3 == 0 ? -1 : 1);
  }
  return values;
}

std::vector<Bound> bounds() {
  return {tolerance(1e-3, 1e-3), tolerance(0.0675, 0.125), tolerance(0, 0), oracle::within_ulps(1),
          oracle::same_bits()};
}

// Compares the golden matrix with one that was broken on purpose. Every bound must find it.
void expect_fails(const char* dtype, const std::vector<double>& broken, std::int64_t mismatches,
                  const std::string& where) {
  const Tensor golden = tensor(dtype, {5, 5}, matrix()), output = tensor(dtype, {5, 5}, broken);
  for (const Bound& bound : bounds()) {
    SCOPED_TRACE(std::string(dtype) + ", " + bound.text());
    ASSERT_EQ(judge(Tensor(golden), golden, bound).outcome, Outcome::kPass);
    const Verdict v = judge(output, golden, bound);
    EXPECT_EQ(v.outcome, Outcome::kFail);
    if (mismatches >= 0) {
      EXPECT_EQ(v.mismatches, mismatches);
    }
    EXPECT_THAT(v.because, HasSubstr(std::to_string(v.mismatches) + " of 25 elements"));
    EXPECT_THAT(v.because, HasSubstr("differ"));
    EXPECT_EQ(v.where.substr(0, where.size()), where);
    EXPECT_EQ(v.where.empty(), where.empty());
    EXPECT_EQ(exit_code(v.outcome), 1);
  }
}

TEST(Selftest, WrongSign) {
  std::vector<double> broken = matrix();
  for (double& x : broken) x = -x;
  for (const char* dtype : kBrokenDtypes) {
    expect_fails(dtype, broken, 25,
                 "every element; the output times -1 would pass (explains 25 of 25 mismatches)");
  }
}

TEST(Selftest, Zeros) {
  for (const char* dtype : kBrokenDtypes) {
    expect_fails(dtype, std::vector<double>(25, 0.0), 25,
                 "every element of the output is 0: was it ever written?");
  }
}

TEST(Selftest, Transposed) {
  const std::vector<double> m = matrix();
  std::vector<double> broken(25);
  for (std::size_t r = 0; r < 5; ++r) {
    for (std::size_t c = 0; c < 5; ++c) broken[r * 5 + c] = m[c * 5 + r];
  }
  for (const char* dtype : {"float64", "float32", "float16", "int32"}) {
    expect_fails(dtype, broken, 20,
                 "the transpose of the output would pass (explains 20 of 20 mismatches)");
  }
}

TEST(Selftest, NanOutput) {
  const std::vector<double> broken(25, kNan);
  for (const char* dtype : {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn"}) {
    expect_fails(dtype, broken, 25, "every element of the output is NaN, ");
    Bound lenient = tolerance(1e9, 1e9, true, true);
    const Verdict v =
        judge(tensor(dtype, {5, 5}, broken), tensor(dtype, {5, 5}, matrix()), lenient);
    EXPECT_EQ(v.outcome, Outcome::kFail) << "NaN equals NaN, but not a number";
    EXPECT_THAT(explain(v), HasSubstr("special values: actual 25 NaN; expected none"));
    EXPECT_THAT(explain(v), HasSubstr("no tolerance would pass: NaN or infinity differ"));
  }
}

TEST(Selftest, OneRowStale) {
  std::vector<double> broken = matrix();
  for (std::size_t c = 0; c < 5; ++c) broken[15 + c] = broken[10 + c];
  for (const char* dtype : {"float32", "bfloat16", "int8"}) {
    expect_fails(dtype, broken, 5, "row 3 repeats");
  }
}

// `fabs(t - r) > tolerance && ...` lets NaN pass, because every comparison with NaN is false.
TEST(Peers, NanNeverPassesByAccident) {
  for (const std::size_t n : {1u, 4u, 7u, 64u, 2049u}) {
    for (std::size_t at = 0; at < n; at += 1 + n / 3) {
      std::vector<double> e(n, 1), a(n, 1);
      a[at] = kNan;
      for (const char* dtype : {"float64", "float32", "float16", "bfloat16", "float8_e5m2"}) {
        for (const Bound& bound : {tolerance(0, 0), tolerance(0.5, 0.25), tolerance(kInfinity, 0),
                                   tolerance(1e300, 1e300), tolerance(kInfinity, kInfinity),
                                   oracle::within_ulps(~std::uint64_t{0})}) {
          for (const bool metrics : {true, false}) {
            JudgeOptions options;
            options.metrics = metrics;
            EXPECT_EQ(judge(vector_of(dtype, a), vector_of(dtype, e), bound, options).outcome,
                      Outcome::kFail);
            EXPECT_EQ(judge(vector_of(dtype, e), vector_of(dtype, a), bound, options).outcome,
                      Outcome::kFail);
          }
        }
      }
    }
  }
}

// Under this tolerance for fp8, an output of zeros or the negated output would pass, so that a pass
// is not trusted.
TEST(Peers, EightBitToleranceThatZerosPass) {
  const Bound wide = tolerance(0.0675, 0.125);
  const Tensor small = vector_of("float8_e4m3fn", {0.0625, -0.0703125, 0.03125});
  const Tensor negated = vector_of("float8_e4m3fn", {-0.0625, 0.0703125, -0.03125});
  const Tensor zeros = vector_of("float8_e4m3fn", {0, 0, 0});
  EXPECT_EQ(judge(Tensor(small), small, wide).outcome, Outcome::kUntrusted);
  EXPECT_EQ(judge(zeros, small, wide).outcome, Outcome::kUntrusted);
  EXPECT_NE(judge(negated, small, wide).outcome, Outcome::kPass);
  const Tensor large = vector_of("float8_e4m3fn", {1, -2, 0.5});
  EXPECT_EQ(judge(Tensor(large), large, wide).outcome, Outcome::kPass);
  EXPECT_EQ(judge(vector_of("float8_e4m3fn", {-1, 2, -0.5}), large, wide).mismatches, 3);
  EXPECT_EQ(judge(zeros, large, wide).mismatches, 3);
}

// The tolerance is relative to |expected|: a negative expected value is judged like its positive
// counterpart.
TEST(Peers, NegativeExpectedValues) {
  for (const double e : {-1.0, -1000.0, -1e-3}) {
    for (const double factor : {1.5, 0.5, -1.0, 100.0}) {
      EXPECT_EQ(
          judge(vector_of("float32", {e * factor}), vector_of("float32", {e}), tolerance(0, 1e-3))
              .mismatches,
          1);
      EXPECT_EQ(
          judge(vector_of("float32", {-e * factor}), vector_of("float32", {-e}), tolerance(0, 1e-3))
              .mismatches,
          1);
    }
    const Verdict v =
        judge(vector_of("float64", {e * 2}), vector_of("float64", {e}), tolerance(0, 1e-3));
    EXPECT_DOUBLE_EQ(v.metrics->max_rel_error, 1);
    EXPECT_GT(v.metrics->mare, 0.9);
    EXPECT_GT(v.metrics->required_rtol, 0.999);
  }
}

TEST(Peers, NotComparableIsNoSuccess) {
  EXPECT_EQ(exit_code(Outcome::kPass), 0);
  EXPECT_EQ(exit_code(Outcome::kFail), 1);
  EXPECT_EQ(exit_code(Outcome::kNotComparable), 3);
  EXPECT_EQ(exit_code(Outcome::kUntrusted), 4);
  EXPECT_EQ(exit_code(report_outcome(GateReport{})), 3) << "no case at all";
}

// One corrupt element among a quarter of a million does not change any norm, but it is found.
TEST(Peers, OneCorruptElementDoesNotHide) {
  const std::int64_t n = 262147;
  Tensor expected(format_named("float32"), {n});
  for (std::int64_t i = 0; i < n; ++i) {
    expected.set_bits(i, encode(expected.format(), 1000.0 + static_cast<double>(i % 97)));
  }
  for (const std::int64_t at :
       {std::int64_t{0}, std::int64_t{262143}, std::int64_t{262144}, n - 1}) {
    Tensor actual = expected;
    actual.set_bits(at, encode(actual.format(), 1004.0 + static_cast<double>(at % 97)));
    const Verdict v = judge(actual, expected, tolerance(0, 1e-3));
    EXPECT_LT(v.metrics->relative_l2, 1e-4);
    EXPECT_EQ(v.outcome, Outcome::kFail);
    EXPECT_EQ(v.mismatches, 1);
    EXPECT_EQ(v.worst.at(0).linear, at);
    EXPECT_THAT(v.because, HasSubstr("1 of 262 147 elements (0.00038 %) differs"));
  }
}

// A largest relative error of NaN would be useless. 0 against 0 has no relative error, and 1
// against 0 has an infinite one.
TEST(Peers, NoNanAmongTheRelativeErrors) {
  const Verdict v = judge(vector_of("float32", {0, 2, 0, 1}), vector_of("float32", {0, 2.5, 0, 0}),
                          tolerance(1e-3, 1e-3));
  EXPECT_EQ(v.metrics->max_rel_error, kInfinity);
  EXPECT_EQ(v.metrics->max_rel_index, 3);
  EXPECT_EQ(v.metrics->mean_rel_error, kInfinity);
  EXPECT_EQ(metrics_text(v).find("nan"), std::string::npos) << metrics_text(v);
  EXPECT_THAT(metrics_text(v), HasSubstr("  max rel error       inf at [3]\n"));
  const Verdict zeros =
      judge(vector_of("float32", {0, 2}), vector_of("float32", {0, 2.5}), tolerance(1e-3, 1e-3));
  EXPECT_DOUBLE_EQ(zeros.metrics->max_rel_error, 0.2);
  EXPECT_DOUBLE_EQ(zeros.metrics->mean_rel_error, 0.2);
}

// If the bound is tighter than the output's dtype can meet, the verdict blames the bound and not
// the operator.
TEST(Peers, ToleranceBelowOneUlpOfBfloat16) {
  std::vector<double> golden(100);
  for (std::size_t i = 0; i < 100; ++i) golden[i] = 1 + static_cast<double>(i) / 99.7;
  const Verdict v =
      judge(vector_of("bfloat16", golden), vector_of("float64", golden), tolerance(0, 1e-4, false));
  EXPECT_EQ(v.outcome, Outcome::kUntrusted);
  EXPECT_THAT(v.because, HasSubstr("below half a bfloat16 ulp"));
}

// Neither side is broadcast, whatever numpy would do.
TEST(Peers, NothingIsBroadcast) {
  EXPECT_EQ(judge(tensor("float32", {1, 3}, {1, 2, 3}), tensor("float32", {3}, {1, 2, 3}),
                  tolerance(0, 0))
                .outcome,
            Outcome::kNotComparable);
  EXPECT_EQ(
      judge(tensor("float32", {2, 2}, {1, 1, 1, 1}), tensor("float32", {}, {1}), tolerance(0, 0))
          .outcome,
      Outcome::kNotComparable);
}

}  // namespace
}  // namespace assay
