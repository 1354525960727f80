// Tests every published standard: its numbers, outputs just inside and just outside of it, and its
// verdicts on zeros and on the negated output.
#include "assay/judge/standards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/gate/gate.h"
#include "assay/judge/statistic_table.h"
#include "assay/judge/verdict.h"
#include "error_of.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::bound_of;
using oracle::vector_of;
using testing::HasSubstr;

Verdict judged(const Tensor& actual, const Tensor& expected, const Bound& bound,
               const Tensor* reference_implementation = nullptr) {
  JudgeOptions options;
  if (reference_implementation != nullptr)
    options.reference_implementation = reference_implementation->view();
  return judge(actual, expected, bound, options);
}

// Judges float64 values as float64 by the bound of another dtype, so that no decimal is rounded.
Outcome of_pair(const Bound& bound, double actual, double expected) {
  return judged(vector_of("float64", {actual}), vector_of("float64", {expected}), bound).outcome;
}

struct Numbers {
  const char *standard, *dtype;
  double rtol, atol;
};
constexpr Numbers kNumbers[] = {
    {"numpy", "float16", 1e-7, 0},
    {"numpy", "float64", 1e-7, 0},
    {"numpy", "complex64", 1e-7, 0},
    {"numpy", "complex128", 1e-7, 0},
    {"numpy_allclose", "complex64", 1e-5, 1e-8},
    {"numpy_allclose", "complex128", 1e-5, 1e-8},
    {"torch", "complex32", 1e-3, 1e-5},
    {"torch", "complex64", 1.3e-6, 1e-5},
    {"torch", "complex128", 1e-7, 1e-7},
    {"numpy_allclose", "float32", 1e-5, 1e-8},
    {"tensorflow", "float16", 1e-3, 1e-3},
    {"tensorflow", "bfloat16", 1e-2, 1e-2},
    {"tensorflow", "float32", 1e-6, 1e-6},
    {"transformer_engine", "float16", 1e-3, 1e-5},
    {"transformer_engine", "bfloat16", 1.6e-2, 1e-5},
    {"transformer_engine", "float32", 1.3e-6, 1e-5},
    {"transformer_engine", "float8_e4m3fn", 0.125, 0.0675},
    {"transformer_engine", "float8_e5m2", 0.25, 0.125},
    {"jax", "float64", 1e-15, 1e-15},
    {"jax", "float32", 1e-6, 1e-6},
    {"jax", "float16", 1e-3, 1e-3},
    {"jax", "bfloat16", 1e-2, 1e-2},
    {"jax", "float8_e4m3fn", 0.1, 0.1},
    {"jax", "float8_e5m2", 0.1, 0.1},
    {"jax", "float8_e4m3fnuz", 0.1, 0.1},
    {"jax", "float8_e5m2fnuz", 0.1, 0.1},
    {"jax", "float8_e8m0fnu", 1, 1},
    {"jax", "float4_e2m1fn", 1, 1},
    {"jax", "complex64", 1e-6, 1e-6},
    {"jax", "complex128", 1e-15, 1e-15},
    // The publication writes the values for float16, bfloat16 and float32 as float32 numbers.
    {"iree@2026-04", "float16", 0, static_cast<double>(1e-3F)},
    {"iree@2026-04", "bfloat16", 0, static_cast<double>(1e-2F)},
    {"iree@2026-04", "float32", 0, static_cast<double>(1e-4F)},
    {"iree@2026-04", "float64", 0, 1e-4},
    {"iree@2026-05", "float16", 1e-5, static_cast<double>(1e-3F)},
    {"iree@2026-05", "bfloat16", 1e-5, static_cast<double>(1e-2F)},
    {"iree@2026-05", "float32", 1e-5, static_cast<double>(1e-4F)},
    {"iree@2026-05", "float64", 1e-5, 1e-4},
};

TEST(StandardTable, Tolerances) {
  for (const Numbers& n : kNumbers) {
    const Bound b = bound_of(n.standard, n.dtype);
    EXPECT_EQ(b.rule, Rule::kTolerance) << n.standard;
    EXPECT_EQ(b.rtol, n.rtol) << n.standard << n.dtype;
    EXPECT_EQ(b.atol, n.atol) << n.standard << n.dtype;
    EXPECT_TRUE(b.round_expected) << n.standard;
    EXPECT_TRUE(b.limits.empty());
  }
}

// The absolute or the relative error must meet the tolerance. Some standards also forgive one ulp.
TEST(StandardTable, EitherTolerance) {
  struct {
    const char *standard, *dtype;
    double rtol, atol;
    std::uint64_t or_ulps;
  } const rows[] = {
      {"xla", "float32", static_cast<double>(1e-3F), static_cast<double>(1e-3F), 0},
      {"xla", "float16", static_cast<double>(1e-3F), static_cast<double>(1e-3F), 0},
      {"transformer_engine_cpp", "float32", 5e-6, 1e-6, 0},
      {"transformer_engine_cpp", "float16", 1e-3, 1e-5, 1},
      {"transformer_engine_cpp", "bfloat16", 1e-2, 1e-5, 1},
  };
  for (const auto& row : rows) {
    const Bound b = bound_of(row.standard, row.dtype);
    EXPECT_EQ(b.rule, Rule::kEither) << row.standard;
    EXPECT_EQ(b.rtol, row.rtol) << row.standard << row.dtype;
    EXPECT_EQ(b.atol, row.atol) << row.standard << row.dtype;
    EXPECT_EQ(b.or_ulps, row.or_ulps) << row.standard << row.dtype;
  }
}

TEST(StandardTable, WhichRoundTheExpectedValue) {
  for (const char* name : {"triton_ascend", "torch", "numpy", "tensorflow", "transformer_engine",
                           "onednn", "onednn_eltwise"}) {
    EXPECT_TRUE(bound_of(name, "float32").round_expected) << name;
  }
  for (const char* name :
       {"cann_ecosystem@2025", "cann_small_values", "cann_l0", "cann_l1", "cann_l2", "atb",
        "catlass", "msprobe", "mlu_ops", "cutlass", "accumulation"}) {
    EXPECT_FALSE(bound_of(name, "float32").round_expected) << name;
  }
}

TEST(StandardTable, WhichTakeNanForNan) {
  const auto takes_nan = [](const char* name) {
    return standard_bound(name, format_named("float32"), 64)->nan_equal;
  };
  for (const char* name :
       {"triton_ascend", "numpy", "tensorflow", "rocblas_sum", "iree@2026-04", "iree@2026-05",
        "onnx", "xla", "jax", "cann_ecosystem@2026-07", "cann_ecosystem@2026-09",
        "ttk_mixed@2026-07", "ttk_mixed@2026-09", "ttk_close", "ttk_cross_check_l0"}) {
    EXPECT_TRUE(takes_nan(name)) << name;
  }
  for (const char* name :
       {"torch", "numpy_allclose", "transformer_engine", "onednn", "cutlass", "deepgemm",
        "flash_attention", "hipblaslt", "ggml_nmse", "tensorrt", "cann_ecosystem@2025", "cann_l0",
        "atb", "catlass", "msprobe", "mlu_ops"}) {
    EXPECT_FALSE(takes_nan(name)) << name;
  }
}

TEST(StandardTable, Limits) {
  const auto limits = [](const char* standard, const char* dtype) {
    std::string text;
    for (const Limit& l : bound_of(standard, dtype).limits) {
      text += (text.empty() ? "" : ", ") + std::string(statistic_name(l.statistic)) + " " +
              std::to_string(l.limit);
    }
    return text;
  };
  const auto mere = [](double t) {
    return "mere " + std::to_string(t) + ", mare " + std::to_string(10 * t);
  };
  EXPECT_EQ(limits("cann_ecosystem@2025", "float16"), mere(0x1p-10));
  EXPECT_EQ(limits("cann_ecosystem@2025", "bfloat16"), mere(0x1p-7));
  EXPECT_EQ(limits("cann_ecosystem@2025", "float32"), mere(0x1p-13));
  EXPECT_EQ(limits("cann_ecosystem@2025", "hfloat32"), mere(0x1p-11));
  EXPECT_EQ(limits("cann_ecosystem_hf32@2025", "float32"), mere(0x1p-11));
  EXPECT_EQ(limits("cann_ecosystem@2025", "float8_e4m3fn"), mere(0.125));
  EXPECT_EQ(limits("cann_ecosystem@2025", "float8_e5m2"), mere(0.25));
  const auto ratios = [](double a, double b) {
    return "mare_ratio " + std::to_string(a) + ", mere_ratio " + std::to_string(b) +
           ", rmse_ratio " + std::to_string(b);
  };
  EXPECT_EQ(limits("cann_l0", "float16"), ratios(10, 2));
  EXPECT_EQ(limits("cann_l1", "bfloat16"), ratios(5, 1.5));
  EXPECT_EQ(limits("cann_l2", "float32"), ratios(2, 1.2));
  EXPECT_EQ(limits("atb@2025", "float32"), "error_balance " + std::to_string(0x1p-14));
  EXPECT_EQ(limits("atb", "float32"), "") << "no longer judged";
  const Limit small = bound_of("cann_small_values", "float32").limits.at(0);
  EXPECT_EQ(small.limit, 2);
  EXPECT_EQ(small.parameter, 0x1p-14);
  EXPECT_EQ(small.second, 0x1p-30);
  EXPECT_FALSE(standard_bound("mlu_ops", format_named("bfloat16")).has_value());
  EXPECT_FALSE(standard_bound("cann_ecosystem@2025", format_named("float64")).has_value());
}

// The limit on small errors is 2^-16, and not 1e-16: errors of 2^-16 do not count, and errors of
// 2^-14 do.
TEST(Peers, DecimalForBinaryExponent) {
  for (const char* dtype : {"float16", "bfloat16"}) {
    const Limit l = bound_of("cann_small_values", dtype).limits.at(0);
    EXPECT_EQ(l.second, std::ldexp(1.0, -16)) << dtype;
  }
  const Bound b = bound_of("cann_small_values", "float16");
  const Tensor golden = vector_of("float64", std::vector<double>(8, 0x1p-12));
  const Tensor at = vector_of("float16", std::vector<double>(8, 0x1p-12 + 0x1p-16));
  const Tensor above = vector_of("float16", std::vector<double>(8, 0x1.2p-12 + 0x1p-15));
  EXPECT_EQ(judged(at, golden, b, &at).readings.at(0).value, 0) << "none counts";
  EXPECT_EQ(judged(above, golden, b, &at).readings.at(0).value, 8);
}

TEST(StandardRule, AtbIsAbsoluteToOneAndRelativeAbove) {
  Bound b = bound_of("atb", "float16");
  b.limits.clear();
  EXPECT_EQ(b.rule, Rule::kLargest);
  for (const double e : {-1000.0, -1.0, 1.0, 2.5, 4096.0, 1e10}) {
    EXPECT_EQ(of_pair(b, e * (1 + 0x1p-8), e), Outcome::kPass) << e;
    EXPECT_EQ(of_pair(b, e * (1 + 0x1.02p-8), e), Outcome::kFail) << e;
  }
  EXPECT_EQ(of_pair(b, 0.25 + 0x1p-8, 0.25), Outcome::kPass) << "absolute";
  EXPECT_EQ(of_pair(b, 0.25 + 0x1.02p-8, 0.25), Outcome::kFail);
}

TEST(StandardRule, TolerancesGrowWithAccumulations) {
  const auto rtol = [](const char* s, const char* dtype, std::int64_t k) {
    return bound_of(s, dtype, k).rtol;
  };
  EXPECT_EQ(rtol("atb", "float16", 0), 0x1p-8);
  EXPECT_EQ(rtol("atb", "float16", 2047), 0x1p-8);
  EXPECT_EQ(rtol("atb", "float16", 2048), 0x1p-7);
  EXPECT_EQ(rtol("atb", "float16", 16384), 0x1p-7);
  EXPECT_EQ(rtol("atb", "float32", 2048), 0x1p-10);
  EXPECT_EQ(rtol("atb", "float32", 16384), 0x1p-9);
  EXPECT_EQ(rtol("atb_high_precision", "bfloat16", 2048), 0x1p-8);
  EXPECT_EQ(rtol("catlass", "float16", 2047), 1.0 / 256);
  EXPECT_EQ(rtol("catlass", "float16", 2048), 1.0 / 128);
  EXPECT_EQ(rtol("catlass", "bfloat16", 2048), 1.0 / 64);
  EXPECT_EQ(bound_of("catlass", "bfloat16").floor, 1.0 / 256);
  EXPECT_DOUBLE_EQ(bound_of("rocblas_sum", "float16", 90).atol, 0.1);
  EXPECT_EQ(bound_of("rocblas_sum", "bfloat16", 7).atol, 7 * 0.01);
  EXPECT_EQ(bound_of("rocblas_sum", "float32", 3).atol, 3 * 0x1p-23);
  EXPECT_THAT(error_of([&] { bound_of("rocblas_sum", "float32"); }), HasSubstr("'accumulations'"));
}

TEST(StandardRule, AccumulationsOfACase) {
  Case c;
  c.name = "m";
  c.op = "matmul";
  EXPECT_EQ(accumulations_of(c), 0);
  c.inputs["a"] = oracle::tensor("float16", {2, 3}, {1, 2, 3, 4, 5, 6});
  c.inputs["b"] = oracle::tensor("float16", {3, 1}, {1, 2, 3});
  EXPECT_EQ(accumulations_of(c), 3);
  c.attributes["accumulations"] = std::int64_t{4096};
  EXPECT_EQ(accumulations_of(c), 4096) << "the attribute goes first";
  BoundRequest request;
  request.standards = {"catlass"};
  EXPECT_EQ(choose_bounds(c, format_named("float16"), request).at(0).bound->rtol, 1.0 / 128);
  c.attributes["accumulations"] = std::int64_t{0};
  EXPECT_THAT(error_of([&] { accumulations_of(c); }), HasSubstr("at least 1"));
  c = Case{};
  request.standards = {"rocblas_sum"};
  const ChosenBound none = choose_bounds(c, format_named("float16"), request).at(0);
  EXPECT_FALSE(none.bound.has_value());
  EXPECT_THAT(none.why_not, HasSubstr("number of accumulations"));
}

TEST(StandardRule, OnednnIsAbsoluteBelowItsLimit) {
  const Bound b = bound_of("onednn_eltwise", "float32");
  EXPECT_EQ(of_pair(b, 1 + 3.9e-6, 1), Outcome::kPass);
  EXPECT_EQ(of_pair(b, 1 + 4.1e-6, 1), Outcome::kFail);
  EXPECT_EQ(of_pair(b, 1e-5 * (1 + 3.9e-6), 1e-5), Outcome::kPass);
  EXPECT_EQ(of_pair(b, 1e-5 * (1 + 4.1e-6), 1e-5), Outcome::kFail);
  EXPECT_EQ(of_pair(b, 9e-6 + 3.9e-6, 9e-6), Outcome::kPass) << "absolute";
  EXPECT_EQ(of_pair(b, 9e-6 + 4.1e-6, 9e-6), Outcome::kFail);
  EXPECT_EQ(bound_of("onednn", "bfloat16").rtol, 0x1p-7);
  EXPECT_EQ(bound_of("onednn", "float16").small_atol, 0x1p-10);
}

TEST(StandardRule, CutlassIsSymmetric) {
  Bound b = bound_of("cutlass", "float16");
  EXPECT_EQ(b.rtol, 0x1p-10);
  for (const auto& [x, y] : {std::pair(1.0, 1.0 + 0x1p-9), std::pair(-3.0, -3.0 - 0x1p-8)}) {
    EXPECT_EQ(of_pair(b, x, y), of_pair(b, y, x));
    EXPECT_EQ(of_pair(b, x, y), Outcome::kPass);
  }
  EXPECT_EQ(of_pair(b, 1, 1 + 0x1.02p-9), Outcome::kFail);
  EXPECT_EQ(of_pair(b, 1e-6, -1e-6), Outcome::kFail) << "the floor is absolute";
  b.rtol = 0.5;
  EXPECT_EQ(of_pair(b, 1, 3), Outcome::kFail) << "strictly below: 2 < 0.5 * 4 does not hold";
}

// Computes the statistics a second time, from their definitions.
TEST(Statistics, AgreeWithTheirDefinitions) {
  oracle::Dice dice(7);
  std::vector<double> a(4099), e(4099);
  for (std::size_t i = 0; i < a.size(); ++i) {
    e[i] = std::ldexp(dice.uniform() - 0.5, static_cast<int>(dice.below(12)) - 6);
    a[i] = e[i] * (1 + 0.01 * (dice.uniform() - 0.4));
  }
  a[5] = e[5];
  std::vector<Limit> limits;
  for (const std::string& name : statistic_names()) limits.push_back({*find_statistic(name), 1});
  for (Limit& l : limits) {
    l.parameter = l.statistic == Statistic::kShareUlps ? 3e13 : 0.004;
    l.second = 1e-6;
  }
  const Tensor ta = vector_of("float64", a), te = vector_of("float64", e);
  std::vector<double> other = e;
  for (double& v : other) v *= 1.001;
  const Tensor tb = vector_of("float64", other);
  const TensorView bench = tb.view();
  const StatisticsResult r = judge_statistics(ta, te, bench, false, limits);
  long double mere = 0, mare = 0, eb = 0, sd = 0, se = 0, qd = 0, qe = 0, qa = 0, ae = 0, most = 0;
  long double ulps = 0, bmere = 0, bmare = 0, bq = 0;
  std::int64_t relative = 0, far = 0, small = 0, bsmall = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const long double x = a[i], y = e[i], d = x - y, z = other[i];
    const long double f = std::abs(d) / (std::abs(y) + 1e-7L);
    mere += f, mare = std::max(mare, f), eb += d / std::max(1.0L, std::abs(y));
    sd += std::abs(d), se += std::abs(y), qd += d * d, qe += y * y, qa += x * x, ae += x * y;
    most = std::max(most, std::abs(d));
    const auto steps = static_cast<long double>(
        oracle::steps_apart(format_named("float64"), ta.bits_at(static_cast<std::int64_t>(i)),
                            te.bits_at(static_cast<std::int64_t>(i))));
    ulps += steps, far += steps > 3e13L ? 1 : 0;
    relative += d != 0 && std::abs(d) >= 0.004L * std::abs(y) ? 1 : 0;
    small += std::abs(y) < 0.004L && std::abs(d) > 1e-6L ? 1 : 0;
    bsmall += std::abs(y) < 0.004L && std::abs(z - y) > 1e-6L ? 1 : 0;
    bmere += std::abs(z - y) / (std::abs(y) + 1e-7L);
    bmare = std::max(bmare, std::abs(z - y) / (std::abs(y) + 1e-7L));
    bq += (z - y) * (z - y);
  }
  const auto n = static_cast<long double>(a.size());
  const auto value = [&](Statistic s) {
    for (const LimitReading& reading : r.readings) {
      if (reading.limit.statistic == s) return reading.value;
    }
    return kNan;
  };
  const auto near = [&](Statistic s, long double wanted) {
    EXPECT_NEAR(value(s), static_cast<double>(wanted), 1e-9 * std::abs(static_cast<double>(wanted)))
        << statistic_name(s);
  };
  near(Statistic::kMere, mere / n);
  near(Statistic::kMare, mare);
  near(Statistic::kErrorBalance, std::abs(eb) / n);
  near(Statistic::kDiff1, sd / se);
  near(Statistic::kDiff2, std::sqrt(qd / qe));
  near(Statistic::kCosine, ae / std::sqrt(qa * qe));
  near(Statistic::kMaxAbs, most);
  near(Statistic::kShareRelative, static_cast<long double>(relative) / n);
  near(Statistic::kShareUlps, static_cast<long double>(far) / n);
  near(Statistic::kMeanUlps, ulps / n);
  EXPECT_NEAR(value(Statistic::kCalcDiff), static_cast<double>(1 - 2 * ae / (qa + qe)), 1e-15);
  near(Statistic::kMareRatio, mare / bmare);
  near(Statistic::kMereRatio, mere / bmere);
  near(Statistic::kRmseRatio, std::sqrt(qd / bq));
  near(Statistic::kSmallErrors, static_cast<long double>(small) / static_cast<long double>(bsmall));
  EXPECT_GT(far, 0);
  EXPECT_LT(far, 4099);
  EXPECT_GT(relative, 0);
  EXPECT_GT(bsmall, 0);
}

TEST(Statistics, OneOfAGroupIsEnough) {
  const Bound b = bound_of("msprobe", "float16");
  // One limit of the group is enough. First, relative errors are 1 %, but no error is above 1e-3.
  // Then one of 1001 errors is above 1e-3, but the share of large relative errors is small.
  EXPECT_EQ(
      judged(vector_of("float16", {0.0505, 0.0303}), vector_of("float64", {0.05, 0.03}), b).outcome,
      Outcome::kPass);
  std::vector<double> golden(1000, 64), output(1000, 64);
  EXPECT_EQ(judged(vector_of("float16", output), vector_of("float64", golden), b).outcome,
            Outcome::kPass);
  golden.resize(1001, 64);
  output.resize(1001, 64);
  output[3] = 65;
  EXPECT_EQ(judged(vector_of("float16", output), vector_of("float64", golden), b).outcome,
            Outcome::kPass)
      << "one of more than a thousand";
  output[4] = 65;
  const Verdict v = judged(vector_of("float16", output), vector_of("float64", golden), b);
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_THAT(v.because, HasSubstr("max abs error < 0.001 is 1, and share with relative"));
}

TEST(Statistics, NanAndInfinityMissWhateverTheLimits) {
  for (const char* name : {"cann_ecosystem@2025", "msprobe", "mlu_ops", "deepgemm"}) {
    const Bound b = bound_of(name, "float32");
    std::vector<double> golden(100000, 2);
    std::vector<double> output = golden;
    EXPECT_EQ(judged(vector_of("float32", output), vector_of("float64", golden), b).outcome,
              Outcome::kPass)
        << name;
    for (const double wrong : {kNan, kInfinity, -kInfinity}) {
      output[77] = wrong;
      const Verdict v = judged(vector_of("float32", output), vector_of("float64", golden), b);
      EXPECT_EQ(v.outcome, Outcome::kFail) << name;
      EXPECT_EQ(v.mismatches, 1);
    }
  }
}

// Every standard that has a row for a dtype fails zeros and the negated output, or says that they
// would pass. A check of large values can be trusted.
TEST(Peers, ZerosAndNegatedOutputsPassNoStandard) {
  std::vector<double> golden(64), negated(64);
  for (std::size_t i = 0; i < 64; ++i) {
    golden[i] = (i % 2 == 0 ? 1 : -1) * (8 + static_cast<double>(i % 8));
    negated[i] = -golden[i];
  }
  int seen = 0;
  for (const Standard& s : standards()) {
    for (const char* dtype : {"float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2"}) {
      const auto bound = standard_bound(s.name, format_named(dtype), 1);
      if (!bound) continue;
      ++seen;
      const Tensor right = vector_of(dtype, golden), reference = vector_of("float64", golden);
      const Tensor zeros = vector_of(dtype, std::vector<double>(64, 0));
      const Tensor wrong = vector_of(dtype, negated);
      const Tensor reference_implementation = vector_of(dtype, golden);
      if (bound->limits.empty() || bound->limits[0].statistic != Statistic::kSmallErrors) {
        const Tensor rounded = vector_of("float64", right.view().values());
        EXPECT_EQ(judged(right, rounded, *bound, &reference_implementation).outcome, Outcome::kPass)
            << s.name << dtype;
      }
      EXPECT_NE(judged(zeros, reference, *bound, &reference_implementation).outcome, Outcome::kPass)
          << s.name << dtype;
      EXPECT_NE(judged(wrong, reference, *bound, &reference_implementation).outcome, Outcome::kPass)
          << s.name << dtype;
    }
  }
  EXPECT_GT(seen, 60);
}

// If the reference implementation has no error, the ratio is not a pass, because the denominator
// has a lower limit.
TEST(Peers, RatioToAPerfectBenchmark) {
  const Bound b = bound_of("cann_l0", "float16");
  const Tensor golden = vector_of("float64", {1, 2, 4, 8});
  const Tensor perfect = vector_of("float16", {1, 2, 4, 8});
  const Tensor off = vector_of("float16", {1.02, 2.04, 4.08, 8.16});
  const Verdict v = judged(off, golden, b, &perfect);
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_GT(v.worst_ratio, 10);
  EXPECT_THAT(v.because, HasSubstr("RMSE over the reference implementation's <= 2 is "));
  // An output that is off by only the format's own rounding is not worse than a perfect reference.
  const Tensor nudged = vector_of("float64", {1 + 0x1p-12, 2, 4, 8});
  EXPECT_EQ(judged(vector_of("float16", {1, 2, 4, 8}), nudged, b, &perfect).outcome,
            Outcome::kPass);
}

TEST(Peers, BenchmarkIsNotTheTargetItself) {
  const Bound b = bound_of("cann_l2", "float16");
  const Tensor golden = vector_of("float64", {1, 2, 4, 8});
  const Tensor off = vector_of("float16", {1.5, 2, 4, 8});
  const Verdict v = judged(off, golden, b, &off);
  EXPECT_EQ(v.outcome, Outcome::kUntrusted);
  EXPECT_THAT(v.because, HasSubstr("the reference implementation is the output itself"));
}

TEST(Peers, BenchmarkOfInfinitiesForgivesNothing) {
  const Bound b = bound_of("cann_l0", "float16");
  const Tensor golden = vector_of("float64", {1, 2, 4});
  const Tensor off = vector_of("float16", {1.5, 2, 4});
  for (const double bad : {kInfinity, kNan}) {
    const Tensor broken = vector_of("float16", {bad, 2, 4});
    EXPECT_EQ(judged(off, golden, b, &broken).outcome, Outcome::kNotComparable);
  }
  EXPECT_EQ(judged(off, golden, b).outcome, Outcome::kNotComparable)
      << "no reference implementation at all";
  const Tensor other = vector_of("float16", {1, 2});
  EXPECT_EQ(judged(off, golden, b, &other).outcome, Outcome::kNotComparable);
}

// One corrupt element does not change any norm. An elementwise standard beside the norm finds it.
TEST(Peers, CorruptElementThatANormHides) {
  std::vector<double> golden(100000, 1), output = golden;
  output[4711] = 2;
  Case c;
  c.name = "m";
  c.attributes["output_dtype"] = std::string("float32");
  c.output().golden = vector_of("float64", golden);
  BoundRequest request;
  request.standards = {"deepgemm", "torch"};
  const auto verdicts = gate_case(c, vector_of("float32", output), {.bounds = request}).verdicts;
  EXPECT_EQ(verdicts.at(0).outcome, Outcome::kPass);
  EXPECT_EQ(verdicts.at(1).mismatches, 1);
  EXPECT_EQ(worst_outcome(verdicts), Outcome::kFail);
}

TEST(Peers, FiniteForAnExpectedInfinity) {
  const Tensor golden = vector_of("float64", {1, 1e6});  // overflows float16
  const Tensor output = vector_of("float16", {1, 65504});
  for (const char* name :
       {"default", "torch", "triton_ascend", "numpy", "onednn", "transformer_engine"}) {
    EXPECT_EQ(judged(output, golden, bound_of(name, "float16")).mismatches, 1) << name;
  }
}

// The table gives bfloat16 a tolerance that bfloat16 cannot meet. The verdict blames the table.
TEST(Peers, TableBelowOneUlp) {
  const Bound b = oracle::tolerance(0, 1e-3, false);
  const Verdict v = judged(vector_of("bfloat16", {1}), vector_of("float64", {1.0038}), b);
  EXPECT_EQ(v.outcome, Outcome::kUntrusted);
  EXPECT_THAT(v.because, HasSubstr("below half a bfloat16 ulp"));
}

TEST(Policies, ExpectedNanAcceptsAnything) {
  Bound b = oracle::tolerance(0, 1e-3);
  b.nan_accepts = true;
  const Tensor golden = vector_of("float32", {kNan, kNan, kNan, 1, 2, 3});
  const Verdict right = judged(vector_of("float32", {kNan, kInfinity, 5, 1, 2, 3}), golden, b);
  EXPECT_EQ(right.outcome, Outcome::kPass) << right.because;
  EXPECT_THAT(right.notes, testing::ElementsAre("1 of 6 elements is NaN where NaN is expected"));
  EXPECT_EQ(judged(vector_of("float32", {1, 1, 1, kNan, 2, 3}), golden, b).mismatches, 1);
  const Tensor nothing = vector_of("float32", {kNan, kNan});
  EXPECT_EQ(judged(nothing, vector_of("float32", {kNan, kNan}), b).outcome, Outcome::kUntrusted)
      << "nothing is left that could fail";
}

TEST(Policies, SaturatingHardware) {
  Bound b = oracle::tolerance(0, 1e-3);
  const Tensor golden = vector_of("float64", {1e6, -1e6, kInfinity, 2});
  const Tensor saturated = vector_of("float16", {65504, -65504, 65504, 2});
  EXPECT_EQ(judged(saturated, golden, b).mismatches, 3);
  b.infinity = Infinity::kSaturating;
  EXPECT_EQ(judged(saturated, golden, b).outcome, Outcome::kPass);
  EXPECT_EQ(judged(vector_of("float16", {kInfinity, -kInfinity, kInfinity, 2}), golden, b).outcome,
            Outcome::kPass);
  EXPECT_EQ(judged(vector_of("float16", {-65504, 65504, 1, 2}), golden, b).mismatches, 3);
  EXPECT_EQ(judged(vector_of("float16", {65472, -65504, 65504, 2}), golden, b).mismatches, 1)
      << "the largest alone counts";
  // A format without infinity overflows to NaN. An output of its largest value therefore comes from
  // saturation, which is right for a golden value beyond the range.
  EXPECT_EQ(
      judged(vector_of("float8_e4m3fn", {448, 2}), vector_of("float64", {1000, 2}), b).outcome,
      Outcome::kPass);
  EXPECT_EQ(
      judged(vector_of("float8_e4m3fn", {-448, 2}), vector_of("float64", {1000, 2}), b).mismatches,
      1);
}

TEST(Policies, FewerInfinities) {
  Bound b = oracle::tolerance(0, 1e-3);
  b.infinity = Infinity::kFewer;
  const Tensor golden = vector_of("float32", {kInfinity, -kInfinity, 2});
  EXPECT_EQ(judged(vector_of("float32", {3e38, -3e38, 2}), golden, b).outcome, Outcome::kPass);
  EXPECT_EQ(judged(vector_of("float32", {kInfinity, -kInfinity, 2}), golden, b).outcome,
            Outcome::kPass);
  EXPECT_EQ(judged(vector_of("float32", {-kInfinity, kNan, 2}), golden, b).mismatches, 2);
  EXPECT_EQ(judged(vector_of("float32", {kInfinity, -kInfinity, kInfinity}), golden, b).mismatches,
            1)
      << "not more";
}

TEST(Budget, CountFractionAndBoth) {
  const auto outcome = [](std::optional<std::int64_t> count, std::optional<double> fraction,
                          int wrong, bool metrics) {
    Bound b = oracle::tolerance(0, 1e-3);
    b.max_mismatches = count;
    b.max_mismatch_fraction = fraction;
    std::vector<double> golden(1000, 3), output(1000, 3);
    for (int i = 0; i < wrong; ++i) output[static_cast<std::size_t>(i) * 7] = 4;
    JudgeOptions options;
    options.metrics = metrics;
    const Verdict v = judge(vector_of("float32", output), vector_of("float32", golden), b, options);
    EXPECT_EQ(v.mismatches, wrong);
    EXPECT_EQ(v.forgiven, v.outcome == Outcome::kPass ? wrong : 0);
    return v.outcome;
  };
  for (const bool metrics : {true, false}) {
    EXPECT_EQ(outcome(2, {}, 2, metrics), Outcome::kPass);
    EXPECT_EQ(outcome(2, {}, 3, metrics), Outcome::kFail);
    EXPECT_EQ(outcome({}, 0.005, 5, metrics), Outcome::kPass);
    EXPECT_EQ(outcome({}, 0.005, 6, metrics), Outcome::kFail);
    EXPECT_EQ(outcome(2, 0.005, 3, metrics), Outcome::kFail) << "the smaller of both";
    EXPECT_EQ(outcome(9, 0.005, 6, metrics), Outcome::kFail);
    EXPECT_EQ(outcome(0, {}, 1, metrics), Outcome::kFail);
  }
}

TEST(Budget, NeverForgivesNanOrInfinity) {
  Bound b = oracle::tolerance(0, 1e-3);
  b.max_mismatches = 10;
  std::vector<double> golden(100, 3), output(100, 3);
  output[5] = kNan;
  EXPECT_EQ(judged(vector_of("float32", output), vector_of("float32", golden), b).outcome,
            Outcome::kFail);
}

TEST(Budget, ThatZerosWouldFitIsUntrusted) {
  Bound b = oracle::tolerance(0, 1e-3);
  b.max_mismatches = 3;
  const Tensor golden = vector_of("float32", {0, 0, 1, 1, 1});
  EXPECT_EQ(judged(vector_of("float32", {0, 0, 1, 1, 1}), golden, b).outcome, Outcome::kUntrusted);
  b.max_mismatches = 2;
  const Verdict most = judged(vector_of("float32", {0, 0, 1, 1, 1}), golden, b);
  EXPECT_EQ(most.outcome, Outcome::kUntrusted);
  EXPECT_EQ(most.blind, 2) << "what the budget forgives may be zero";
  EXPECT_EQ(most.nonzero, 3);
  b.max_mismatches = 1;
  EXPECT_EQ(judged(vector_of("float32", {0, 0, 1, 1, 1}), golden, b).outcome, Outcome::kPass);
}

TEST(Precedence, DtypesAndPoliciesOfTheRequest) {
  Case c;
  c.name = "m";
  c.attributes["standard"] = std::string("torch, ulp(4)");
  c.attributes["max_mismatches"] = std::int64_t{3};
  c.attributes["infinity"] = std::string("saturating");
  auto chosen = choose_bounds(c, format_named("float32"), {});
  ASSERT_EQ(chosen.size(), 2u) << "both of the case's";
  EXPECT_EQ(chosen[1].bound->ulps, 4u);
  EXPECT_EQ(chosen[0].bound->max_mismatches, 3);
  EXPECT_EQ(chosen[0].bound->infinity, Infinity::kSaturating);
  BoundRequest request;
  request.standards = {"bfloat16=atb", "float16=catlass"};
  chosen = choose_bounds(c, format_named("bfloat16"), request);
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen[0].bound->standard, "atb@2026-05") << "the version is said";
  EXPECT_FALSE(chosen[0].bound->max_mismatches) << "an asked standard brings its own policy";
  chosen = choose_bounds(c, format_named("float32"), request);
  ASSERT_EQ(chosen.size(), 2u) << "none is for float32: the case's own";
  request.max_mismatch_fraction = 0.5;
  chosen = choose_bounds(c, format_named("float32"), request);
  EXPECT_FALSE(chosen[0].bound->max_mismatches) << "the request's budget replaces the case's";
  EXPECT_EQ(chosen[0].bound->max_mismatch_fraction, 0.5);
  c.attributes["infinity"] = std::string("saturate");
  EXPECT_EQ(error_of([&] { choose_bounds(c, format_named("float32"), {}); }),
            "case m: infinity is one of sign, saturating, fewer, not 'saturate'");
}

TEST(Precedence, TorchTakesTheLoosestDtype) {
  Case c;
  c.name = "m";
  c.attributes["standard"] = std::string("torch");
  c.output().golden = vector_of("bfloat16", {1});
  EXPECT_EQ(choose_bounds(c, format_named("float32"), {}).at(0).bound->rtol, 1.6e-2);
  c.output().golden = vector_of("float64", {1});
  EXPECT_EQ(choose_bounds(c, format_named("float32"), {}).at(0).bound->rtol, 1.3e-6);
  EXPECT_EQ(choose_bounds(c, format_named("float8_e4m3fn"), {}).at(0).bound->atol, 0);
}

// The mixed tolerances of CANN and of TTK: rtol and atol, which 1 % of the elements may exceed, and
// the largest error. The largest error may be 32 ulp if that is more.
TEST(StandardTable, MixedTolerances) {
  struct Row {
    const char* dtype;
    double rtol, atol, most;
  };
  const std::vector<Row> mixed = {
      {"float16", 0x1p-9, 0x1p-9, 0.1},    {"bfloat16", 0x1p-6, 0x1p-6, 1},
      {"float32", 0x1p-10, 0x1p-16, 0.01}, {"hfloat32", 0x1p-9, 0x1p-10, 0.1},
      {"float8_e4m3fn", 0.25, 0x1p-4, 1},  {"float8_e5m2", 0.5, 0.125, 0.1}};
  const Row of_float64 = {"float64", 0x1p-10, 0x1p-16, 0.01},
            hf32 = {"float32", 0x1p-9, 0x1p-10, 0.1};
  std::vector<Row> ttk = mixed, first = mixed;
  ttk.push_back(of_float64);
  first.push_back(of_float64);
  first[4].most = 4;
  first[5].most = 8;
  const std::vector<Row> tight = {
      {"float16", 0x1p-10, 0x1p-10, 0.1},  {"bfloat16", 0x1p-7, 0x1p-7, 0.1},
      {"float32", 0x1p-13, 0x1p-13, 0.01}, {"hfloat32", 0x1p-10, 0x1p-10, 0.1},
      {"float8_e4m3fn", 0.125, 0.125, 1},  {"float8_e5m2", 0.25, 0.25, 1}};
  struct {
    const char* standard;
    std::vector<Row> rows;
    bool or_ulps;
  } const tables[] = {
      {"cann_ecosystem@2026-07", mixed, true},  {"cann_ecosystem_hf32@2026-07", {hf32}, true},
      {"cann_ecosystem@2026-09", tight, true},  {"ttk_mixed@2026-09", ttk, true},
      {"ttk_mixed_hf32@2026-09", {hf32}, true}, {"ttk_mixed@2026-07", first, false},
      {"ttk_mixed_hf32@2026-07", {hf32}, false}};
  for (const auto& table : tables) {
    for (const Row& row : table.rows) {
      SCOPED_TRACE(std::string(table.standard) + " " + row.dtype);
      const Bound b = bound_of(table.standard, row.dtype);
      EXPECT_EQ(b.rule, Rule::kTolerance);
      EXPECT_EQ(b.rtol, row.rtol);
      EXPECT_EQ(b.atol, row.atol);
      EXPECT_EQ(b.max_mismatch_fraction, 0.01);
      ASSERT_EQ(b.limits.size(), table.or_ulps ? 2u : 1u);
      EXPECT_EQ(b.limits[0].statistic, Statistic::kMaxAbs);
      EXPECT_EQ(b.limits[0].limit, row.most);
      EXPECT_EQ(b.limits[0].sense, LimitSense::kAtMost);
      if (!table.or_ulps) continue;
      EXPECT_EQ(b.limits[1].statistic, Statistic::kMaxAbsUlps);
      EXPECT_EQ(b.limits[1].limit, 32);
      EXPECT_NE(b.limits[1].group, 0);
      EXPECT_EQ(b.limits[1].group, b.limits[0].group) << "one of both is enough";
    }
  }
}

}  // namespace
}  // namespace assay
