// Compares every number of Metrics with its definition in judge/metrics.h, one element at a time in
// long double. The data have several parts, sizes whose squares overflow float64, integers that
// float64 does not hold, and formats without ordinals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/int128.h"
#include "assay/base/text.h"
#include "assay/judge/metrics_pass.h"
#include "assay/judge/standards.h"
#include "assay/judge/verdict.h"
#include "drawn_outputs.h"
#include "oracle.h"

namespace assay {
namespace {

using drawn::golden_values;
using drawn::output_values;
using drawn::stored;

double quantile_of(std::vector<double> sizes, double q) {
  std::sort(sizes.begin(), sizes.end());
  const auto rank = std::ceil(q * static_cast<double>(sizes.size()));
  return sizes[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

// A size that is read from a bin is within half a bin of the element's own. Beyond the bins only
// the side is known.
void expect_in_bin(double read, double size, const Histogram& h, const char* name) {
  if (size == 0) {
    EXPECT_EQ(read, 0) << name;
  } else if (size >= 0x1p160) {
    EXPECT_GE(read, size) << name;
  } else {
    EXPECT_NEAR(read, size, size / h.per_octave) << name;
  }
}

void expect_bins(const Histogram& h, const std::vector<double>& sizes, double least,
                 const char* name) {
  SCOPED_TRACE(name);
  EXPECT_EQ(h.total(), std::ssize(sizes));
  const auto count_within = [&](double low, double high) {
    return std::count_if(sizes.begin(), sizes.end(),
                         [&](double size) { return low <= size && size < high; });
  };
  EXPECT_EQ(h.below, count_within(0, least));
  std::int64_t in_bins = 0;
  for (const auto& [bin, count] : h.bins) {
    in_bins += count;
    if (count_within(h.low(bin), h.high(bin)) == count) continue;
    ADD_FAILURE() << "bin " << bin << " from " << h.low(bin) << " to " << h.high(bin);
  }
  EXPECT_EQ(h.above, std::ssize(sizes) - h.below - in_bins);
}

void expect_close(double value, long double wanted, double relative, const char* name) {
  if (!std::isfinite(static_cast<double>(wanted))) {
    EXPECT_EQ(value, static_cast<double>(wanted)) << name;
  } else {
    EXPECT_NEAR(value, static_cast<double>(wanted),
                relative * std::abs(static_cast<double>(wanted)) + 1e-300)
        << name;
  }
}

// `rounded` are the expected values in the output's format.
void expect_definitions(const Metrics& m, const TensorView& actual, const TensorView& expected,
                        const Tensor& rounded) {
  const Format& out = *actual.format;
  const Limit* const small = small_value_limit(out);
  std::int64_t compared = 0, relative = 0, at_zero = 0, over_1e3 = 0, over_1e4 = 0, over_1 = 0,
               over_32 = 0, ulp_compared = 0, both_nan = 0, inf_mismatch = 0, small_values = 0,
               small_errors = 0, abs_index = -1, rel_index = -1;
  double max_rel = 0;
  long double max_abs = 0, sum_abs = 0, sum_rel = 0, mere = 0, mare = 0, bias = 0, balance = 0,
              balanced = 0, noise = 0, signal = 0, square = 0, product = 0, sizes = 0, largest = 0,
              ulps = 0;
  std::uint64_t max_ulps = 0;
  Tally of_actual;
  bool same_bits = true;
  std::vector<double> absolutes, relatives, finite_relatives, distances;
  for (std::int64_t i = 0; i < actual.size(); ++i) {
    const double av = actual.value_at(i), ev = expected.value_at(i),
                 rv = rounded.view().value_at(i);
    same_bits &= actual.bits_at(i) == rounded.bits_at(i);
    of_actual.nan += std::isnan(av) ? 1 : 0;
    of_actual.positive_inf += av == kInfinity ? 1 : 0;
    of_actual.negative_inf += av == -kInfinity ? 1 : 0;
    of_actual.zero += av == 0 ? 1 : 0;
    of_actual.subnormal += out.is_float() && av != 0 && std::abs(av) < min_normal(out) ? 1 : 0;
    both_nan += std::isnan(av) && std::isnan(rv) ? 1 : 0;
    if (!std::isnan(av) && !std::isnan(rv)) {
      inf_mismatch += (std::isinf(av) || std::isinf(rv)) && av != rv ? 1 : 0;
      std::uint64_t apart = 0;
      if (out.is_float()) {
        apart = oracle::steps_apart(out, actual.bits_at(i), rounded.bits_at(i));
      } else {
        const Int128 error = oracle::as_integer(out, actual.bits_at(i)) -
                             oracle::as_integer(out, rounded.bits_at(i));
        apart = static_cast<std::uint64_t>(error < 0 ? -error : error);
      }
      ++ulp_compared;
      ulps += static_cast<long double>(apart);
      max_ulps = std::max(max_ulps, apart);
      over_1 += apart > 1 ? 1 : 0;
      over_32 += apart > 32 ? 1 : 0;
      distances.push_back(static_cast<double>(apart));
    }
    if (!std::isfinite(av) || !std::isfinite(ev)) continue;
    long double a = av, e = ev;
    if (!out.is_float()) {  // 64-bit integers, which float64 does not hold
      a = static_cast<long double>(oracle::as_integer(out, actual.bits_at(i)));
      e = static_cast<long double>(oracle::as_integer(*expected.format, expected.bits_at(i)));
    }
    const long double error = a - e, size = std::abs(error), of = std::abs(e);
    ++compared;
    absolutes.push_back(static_cast<double>(size));
    if (size > max_abs) max_abs = size, abs_index = i;
    sum_abs += size;
    relative += e != 0 ? 1 : 0;
    at_zero += e == 0 && size != 0 ? 1 : 0;
    if (e != 0 || size != 0) {
      const double share = static_cast<double>(size) / static_cast<double>(of);
      relatives.push_back(share);
      if (e != 0) finite_relatives.push_back(share);
      over_1e3 += e != 0 && share >= 1e-3 ? 1 : 0;
      over_1e4 += e != 0 && share >= 1e-4 ? 1 : 0;
      if (share > max_rel) max_rel = share, rel_index = i;
      sum_rel += share;
    }
    mere += size / (of + 1e-7L);
    mare = std::max(mare, size / (of + 1e-7L));
    bias += error;
    balance += error / std::max(of, 1.0L);
    balanced = std::max(balanced, size / std::max(of, 1.0L));
    noise += error * error;
    signal += e * e;
    square += a * a;
    product += a * e;
    sizes += of;
    largest = std::max(largest, of);
    if (small != nullptr && ev == ev && std::abs(ev) < small->parameter) {
      ++small_values;
      small_errors += static_cast<double>(size) > small->second ? 1 : 0;
    }
  }
  const auto n = static_cast<long double>(compared);
  EXPECT_EQ(m.compared, compared);
  EXPECT_EQ(m.relative, relative);
  EXPECT_EQ(m.errors_at_zero, at_zero);
  EXPECT_EQ(m.rel_at_least_1e3, over_1e3);
  EXPECT_EQ(m.rel_at_least_1e4, over_1e4);
  EXPECT_EQ(m.max_abs_index, abs_index);
  EXPECT_EQ(m.max_rel_index, rel_index);
  EXPECT_EQ(m.both_nan, both_nan);
  EXPECT_EQ(m.inf_mismatch, inf_mismatch);
  EXPECT_EQ(m.bit_identical, same_bits);
  EXPECT_EQ(m.actual.nan, of_actual.nan);
  EXPECT_EQ(m.actual.positive_inf, of_actual.positive_inf);
  EXPECT_EQ(m.actual.negative_inf, of_actual.negative_inf);
  EXPECT_EQ(m.actual.zero, of_actual.zero);
  EXPECT_EQ(m.actual.subnormal, of_actual.subnormal);
  EXPECT_EQ(m.small_limit, small != nullptr ? small->parameter : 0);
  EXPECT_EQ(m.small_error, small != nullptr ? small->second : 0);
  EXPECT_EQ(m.small_values, small_values);
  EXPECT_EQ(m.small_value_errors, small_errors);
  expect_close(m.max_abs_error, max_abs, 1e-15, "max_abs_error");
  expect_close(m.mean_abs_error, sum_abs / n, 1e-11, "mean_abs_error");
  expect_close(m.max_rel_error, max_rel, 1e-15, "max_rel_error");
  expect_close(m.mean_rel_error, sum_rel / static_cast<long double>(relatives.size()), 1e-11,
               "mean_rel_error");
  expect_close(m.rmse, std::sqrt(noise / n), 1e-11, "rmse");
  expect_close(m.mere, mere / n, 1e-11, "mere");
  expect_close(m.mare, mare, 1e-14, "mare");
  EXPECT_NEAR(m.bias, static_cast<double>(bias / n), 1e-11 * m.mean_abs_error);
  EXPECT_NEAR(m.error_balance, static_cast<double>(balance / n), 1e-11 * m.max_balanced_error);
  expect_close(m.max_balanced_error, balanced, 1e-14, "max_balanced_error");
  expect_close(m.snr_db, 10 * std::log10(signal / noise), 1e-10, "snr_db");
  expect_close(m.psnr_db, 20 * std::log10(largest / std::sqrt(noise / n)), 1e-10, "psnr_db");
  expect_close(m.cosine, product / (std::sqrt(signal) * std::sqrt(square)), 1e-11, "cosine");
  expect_close(m.relative_l2, std::sqrt(noise / signal), 1e-11, "relative_l2");
  expect_close(m.diff1, sum_abs / sizes, 1e-11, "diff1");
  expect_close(m.diff2, std::sqrt(noise / signal), 1e-11, "diff2");
  expect_close(m.deepgemm_diff, noise / (square + signal), 1e-11, "deepgemm_diff");
  expect_close(m.max_abs_expected, largest, 1e-15, "max_abs_expected");
  expect_in_bin(m.median_abs_error, quantile_of(absolutes, 0.5), m.abs_errors, "median_abs");
  expect_in_bin(m.p99_abs_error, quantile_of(absolutes, 0.99), m.abs_errors, "p99_abs");
  expect_in_bin(m.median_rel_error, quantile_of(relatives, 0.5), m.rel_errors, "median_rel");
  expect_in_bin(m.p99_rel_error, quantile_of(relatives, 0.99), m.rel_errors, "p99_rel");
  expect_bins(m.abs_errors, absolutes, 0x1p-160, "abs_errors");
  expect_bins(m.rel_errors, finite_relatives, 0x1p-160, "rel_errors");
  if (has_ordinals(out) || !out.is_float()) {
    EXPECT_EQ(m.ulp_compared, ulp_compared);
    EXPECT_EQ(m.max_ulps, max_ulps);
    EXPECT_EQ(m.over_1_ulp, over_1);
    EXPECT_EQ(m.over_32_ulps, over_32);
    expect_close(m.mean_ulps, ulps / static_cast<long double>(ulp_compared), 1e-11, "mean_ulps");
    expect_bins(m.ulps, distances, 1, "ulps");
  }
}

TEST(MetricsDefinition, EveryNumber) {
  struct {
    const char* dtype;
    std::int64_t n;
    double times;
    bool specials;
  } const rows[] = {{"float32", 1, 1, false},          {"float32", 5000, 1, true},
                    {"float32", 4096, 1, false},       {"float16", 1025, 1, true},
                    {"bfloat16", 3001, 1, true},       {"float64", 3000, 1, true},
                    {"float64", 3000, 0x1p600, false}, {"float64", 3000, 0x1p-600, false},
                    {"hifloat8", 2049, 1, true},       {"float8_e8m0fnu", 2049, 1, false},
                    {"float8_e4m3fn", 4100, 1, true},  {"float6_e2m3fn", 500, 1, false},
                    {"int8", 3000, 1, false},          {"int64", 3000, 0x1p40, false},
                    {"uint64", 3000, 0x1p43, false},   {"bool", 600, 1, false}};
  for (const auto& row : rows) {
    const Format& f = format_named(row.dtype);
    std::vector<double> golden = golden_values(f, row.n, 31, row.specials);
    for (double& v : golden) v *= row.times;
    const Shape shape = {row.n};
    const Tensor actual = stored(f, shape, output_values(f, golden, 32, row.specials));
    const Tensor in_format = stored(f, shape, golden);
    const bool is_wide = f.is_float() && !f.is_float64();
    const Tensor expected =
        is_wide ? Tensor::from_values(format_named("float64"), shape, golden) : in_format;
    SCOPED_TRACE(formatted("{} {} times {}", row.dtype, row.n, row.times));
    for (const Tensor* const of : {&expected, &in_format}) {
      const Verdict v = judge(actual, *of, oracle::tolerance(1e-5, 1e-4), {.threads = 2});
      expect_definitions(*v.metrics, actual, *of, in_format);
    }
  }
}

}  // namespace
}  // namespace assay
