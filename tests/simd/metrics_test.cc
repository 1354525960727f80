// Compares the metrics of a block with the same formulas, one element at a time. They are equal to
// the last bit on every target.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/int128.h"
#include "assay/base/random.h"
#include "assay/simd/metrics_kernel.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

struct Format {
  // min_exponent is that of the smallest normal value.
  int mantissa_bits, min_exponent;
};
constexpr Format kFloat32 = {23, -126}, kFloat16 = {10, -14}, kFloat64 = {52, -1022};

MetricsSpec spec_of(const Format& f) {
  MetricsSpec spec{};
  spec.min_normal = std::ldexp(1.0, f.min_exponent);
  spec.min_subnormal = std::ldexp(1.0, f.min_exponent - f.mantissa_bits);
  spec.ulp_rule = UlpRule::kOrdinal;
  spec.drop = 52 - f.mantissa_bits;
  spec.rebias = static_cast<std::uint64_t>(f.min_exponent + 1022) << f.mantissa_bits;
  spec.rtol = 1e-3;
  spec.atol = 1e-4;
  spec.judged_rounded = true;
  spec.small_domain = 0x1p-8;
  spec.small_error = 0x1p-16;
  return spec;
}

// Returns the number of steps from zero to x among the format's values, negative if x is.
std::int64_t steps_to(const MetricsSpec& spec, double x) {
  const double size = std::abs(x);
  std::int64_t steps;
  if (size < spec.min_normal) {
    steps = static_cast<std::int64_t>(size / spec.min_subnormal);
  } else {
    const double in_octave = spec.min_normal / spec.min_subnormal;
    const int octave = std::ilogb(size);
    steps = (octave - std::ilogb(spec.min_normal)) * static_cast<std::int64_t>(in_octave) +
            static_cast<std::int64_t>(std::ldexp(size, -octave) * in_octave);
  }
  return x < 0 ? -steps : steps;
}

struct Blocks {
  std::vector<double> actual, expected, rounded;
};

struct Result {
  MetricsBlock block{};
  std::vector<std::int64_t> bins = std::vector<std::int64_t>(kBinsOfAllTables);
};

std::size_t bin_of(double size, int lowest, int bits, std::size_t bins) {
  const double low = std::ldexp(1.0, lowest);
  if (!(size >= low)) return 0;
  const double octave = std::floor(std::log2(size));
  // log2 is rounded, so that comparisons must settle the octave.
  int o = static_cast<int>(std::min(octave, 2000.0));
  while (std::ldexp(1.0, o) > size) --o;
  while (o < 1023 && std::ldexp(1.0, o + 1) <= size) ++o;
  if (std::isinf(size)) return bins - 1;
  const double within = std::floor((size / std::ldexp(1.0, o) - 1) * (1 << bits));
  const auto bin = static_cast<std::size_t>(((o - lowest) << bits) + static_cast<int>(within) + 1);
  return std::min(bin, bins - 1);
}

Result plain(const MetricsSpec& spec, const MetricsRecords& records, const Blocks& b,
             const double* errors, const double* given) {
  Result out;
  const std::size_t n = b.actual.size();
  double lanes[kMetricsSums][kMetricsLanes] = {};
  for (std::size_t i = 0; i < n; ++i) {
    const double a = b.actual[i], e = b.expected[i], r = b.rounded[i];
    const bool finite = std::isfinite(a) && std::isfinite(e);
    const bool comparable = finite && std::isfinite(r);
    MetricsBlock& m = out.block;
    if (!comparable) m.groups[i / kMetricsLanes] |= MetricsBlock::kNotFinite;
    m.not_finite += finite ? 0 : 1;
    m.no_ulps += comparable ? 0 : 1;
    m.no_relative += finite && e != 0 ? 0 : 1;
    m.zero_actual += a == 0 ? 1 : 0;
    m.zero_expected += e == 0 ? 1 : 0;
    m.subnormal_actual += a != 0 && std::abs(a) < spec.min_normal ? 1 : 0;
    m.subnormal_expected += e != 0 && std::abs(e) < spec.min_normal ? 1 : 0;
    m.differs |= comparable && std::bit_cast<std::uint64_t>(a) != std::bit_cast<std::uint64_t>(r);
    m.rounds |=
        std::isfinite(e) && std::bit_cast<std::uint64_t>(e) != std::bit_cast<std::uint64_t>(r);
    const double fa = finite ? a : 0, fe = finite ? e : 0;
    const double error = !finite ? 0 : errors != nullptr ? errors[i] : a - e;
    const double size = std::abs(error), size_e = std::abs(fe);
    const double rel = fe == 0 ? 0 : size / size_e;
    m.errors_at_zero += finite && e == 0 && error != 0 ? 1 : 0;
    const double balance = size_e > 1 ? rel : size;
    double ulps = 0;
    if (comparable) {
      const auto apart = static_cast<Int128>(steps_to(spec, a)) - steps_to(spec, r);
      ulps = spec.ulp_rule == UlpRule::kOrdinal ? static_cast<double>(apart < 0 ? -apart : apart)
             : spec.ulp_rule == UlpRule::kDifference ? std::abs(a - r)
                                                     : given[i];
    }
    const double terms[kMetricsSums] = {size,
                                        error,
                                        rel,
                                        size / (size_e + 1e-7),
                                        std::copysign(balance, error),
                                        error * error,
                                        fe * fe,
                                        fa * fa,
                                        fa * fe,
                                        size_e,
                                        ulps};
    for (std::size_t s = 0; s < kMetricsSums; ++s) lanes[s][i % kMetricsLanes] += terms[s];
    const double sizes[kMetricsMaxima] = {size, rel, size / (size_e + 1e-7), balance, size_e, ulps};
    for (std::size_t s = 0; s < kMetricsMaxima; ++s) m.maxima[s] = std::max(m.maxima[s], sizes[s]);
    m.rel_over_1e3 += rel >= 1e-3 ? 1 : 0;
    m.rel_over_1e4 += rel >= 1e-4 ? 1 : 0;
    m.small += size_e < spec.small_domain ? 1 : 0;
    m.small_over += size_e < spec.small_domain && size > spec.small_error ? 1 : 0;
    ++out.bins[bin_of(size, -kErrorExponent, kErrorBinBits, kErrorBins)];
    ++out.bins[kErrorBins + bin_of(rel, -kErrorExponent, kErrorBinBits, kErrorBins)];
    ++out.bins[2 * kErrorBins + bin_of(ulps, 0, kUlpBinBits, kUlpBins)];
    // Groups with an element that exceeds a record must be marked. Others may be marked, too.
    const double judged = std::abs(finite && comparable ? r : 0);
    const double off = comparable ? std::abs(a - r) : 0;
    if (off > records.ratio * (spec.atol + spec.rtol * judged) ||
        off - spec.rtol * judged > records.atol || off > spec.atol + records.rtol * judged)
      m.groups[i / kMetricsLanes] |= MetricsBlock::kRecord;
  }
  for (std::size_t s = 0; s < kMetricsSums; ++s) {
    const double* v = lanes[s];
    out.block.sums[s] = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
  }
  return out;
}

void expect_equal(const Result& want, const MetricsBlock& got,
                  const std::vector<std::uint16_t>& tables) {
  for (std::size_t s = 0; s < kMetricsSums; ++s) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(got.sums[s] + 0.0),
              std::bit_cast<std::uint64_t>(want.block.sums[s] + 0.0))
        << "sum " << s << ": " << got.sums[s] << " for " << want.block.sums[s];
  }
  for (std::size_t s = 0; s < kMetricsMaxima; ++s)
    EXPECT_EQ(got.maxima[s], want.block.maxima[s]) << "maximum " << s;
  for (const auto count :
       {&MetricsBlock::not_finite, &MetricsBlock::no_ulps, &MetricsBlock::no_relative,
        &MetricsBlock::errors_at_zero, &MetricsBlock::rel_over_1e3, &MetricsBlock::rel_over_1e4,
        &MetricsBlock::small, &MetricsBlock::small_over, &MetricsBlock::zero_actual,
        &MetricsBlock::zero_expected, &MetricsBlock::subnormal_actual,
        &MetricsBlock::subnormal_expected}) {
    EXPECT_EQ(got.*count, want.block.*count);
  }
  EXPECT_EQ(got.differs, want.block.differs);
  EXPECT_EQ(got.rounds, want.block.rounds);
  for (std::size_t g = 0; g < std::size(got.groups); ++g) {
    EXPECT_EQ(got.groups[g] & MetricsBlock::kNotFinite,
              want.block.groups[g] & MetricsBlock::kNotFinite)
        << g;
    if ((want.block.groups[g] & MetricsBlock::kRecord) != 0) {
      EXPECT_NE(got.groups[g] & MetricsBlock::kRecord, 0) << g;
    }
  }
  for (std::size_t bin = 0; bin < kBinsOfAllTables; ++bin) {
    std::int64_t sum = 0;
    for (std::size_t lane = 0; lane < kMetricsLanes; ++lane)
      sum += tables[bin * kMetricsLanes + lane];
    ASSERT_EQ(sum, want.bins[bin]) << "bin " << bin;
  }
}

void compare(const MetricsSpec& spec, const MetricsRecords& records, const Blocks& b,
             const double* errors = nullptr, const double* given = nullptr) {
  const Result want = plain(spec, records, b, errors, given);
  std::vector<std::uint16_t> tables(kTableCounters);
  MetricsBlock got;
  const bool same = b.actual.empty() ||
                    std::memcmp(b.expected.data(), b.rounded.data(), b.actual.size() * 8) == 0;
  metrics_block(spec, records, b.actual.data(), b.expected.data(),
                same ? b.expected.data() : b.rounded.data(), errors, given, b.actual.size(),
                tables.data(), got);
  expect_equal(want, got, tables);
}

class MetricsBlockTest : public OnEveryTarget {};

INSTANTIATE_TEST_SUITE_P(OnTarget, MetricsBlockTest, testing::ValuesIn(available_targets()),
                         target_of);

// Returns a value of the format near x.
double round_to(const MetricsSpec& spec, double x) {
  if (!std::isfinite(x) || spec.drop == 0) return x;
  const double quantum =
      std::abs(x) < spec.min_normal
          ? spec.min_subnormal
          : std::ldexp(spec.min_subnormal / spec.min_normal, std::ilogb(std::abs(x)));
  return std::nearbyint(x / quantum) * quantum;
}

Blocks random_blocks(const MetricsSpec& spec, std::size_t n, std::uint64_t seed, int spread,
                     bool specials, bool rounded_apart) {
  Random random(7, seed);
  Blocks b;
  for (std::size_t i = 0; i < n; ++i) {
    const int exponent = static_cast<int>(random.below(static_cast<unsigned>(2 * spread))) - spread;
    double e = std::ldexp(random.normal(), exponent);
    if (!rounded_apart) e = round_to(spec, e);
    double r = round_to(spec, e), a = r;
    if (random.below(3) != 0)
      a = round_to(spec,
                   r * (1 + std::ldexp(random.normal(), -static_cast<int>(random.below(12)))));
    if (specials) {
      const double odd[] = {0.0,
                            -0.0,
                            kNan,
                            kInfinity,
                            -kInfinity,
                            spec.min_subnormal,
                            spec.min_normal,
                            -spec.min_normal / 2};
      if (random.below(6) == 0) a = odd[random.below(8)];
      if (random.below(6) == 0) e = r = odd[random.below(8)];
      if (random.below(20) == 0 && rounded_apart) r = kInfinity;
    }
    b.actual.push_back(a);
    b.expected.push_back(e);
    b.rounded.push_back(r);
  }
  return b;
}

TEST_P(MetricsBlockTest, EveryFormatAndLength) {
  std::uint64_t seed = 0;
  for (const Format& f : {kFloat32, kFloat16, kFloat64}) {
    const MetricsSpec spec = spec_of(f);
    const int spread = f.mantissa_bits == 10 ? 12 : 40;
    for (const std::size_t n : {std::size_t{0}, std::size_t{8}, std::size_t{16}, std::size_t{40},
                                std::size_t{56}, kMetricsBlock}) {
      for (const bool specials : {false, true}) {
        for (const bool apart : {false, true}) {
          SCOPED_TRACE(testing::Message() << f.mantissa_bits << " bits, n " << n << ", specials "
                                          << specials << ", rounded " << apart);
          compare(spec, {0, 0, 0}, random_blocks(spec, n, ++seed, spread, specials, apart));
          compare(spec, {0.5, 1e-3, 1e-2}, random_blocks(spec, n, ++seed, 2, specials, apart));
        }
      }
    }
  }
}

TEST_P(MetricsBlockTest, Float32StraightFromTheTensors) {
  const MetricsSpec spec = spec_of(kFloat32);
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    const Blocks b = random_blocks(spec, 8 * (1 + seed % 100), seed, seed % 2 == 0 ? 2 : 60,
                                   seed % 3 == 0, false);
    const std::vector<float> a(b.actual.begin(), b.actual.end());
    const std::vector<float> e(b.expected.begin(), b.expected.end());
    std::vector<std::uint16_t> tables(kTableCounters);
    MetricsBlock got;
    metrics_block(spec, {0, 0, 0}, a.data(), e.data(), a.size(), tables.data(), got);
    expect_equal(plain(spec, {0, 0, 0}, b, nullptr, nullptr), got, tables);
  }
}

// Limits need only single parts of the metrics, without the tables. These parts are the same
// numbers to the last bit as in all parts together, for every format that float32 holds.
TEST_P(MetricsBlockTest, PartsAreThoseOfAll) {
  struct Part {
    unsigned part;
    std::vector<MetricsSum> sums;
    std::vector<MetricsMax> maxima;
  };
  const std::vector<Part> kParts = {
      {kPartErrors, {kSumAbs, kSumExpected}, {kMaxAbs, kMaxExpected}},
      {kPartSquares, {kSumNoise, kSumSignal, kSumActual, kSumProduct}, {}},
      {kPartFloored, {kSumFloored}, {kMaxFloored}},
      {kPartRelative, {kSumRel, kSumBalance}, {kMaxRel, kMaxBalance}},
      {kPartUlps, {kSumUlps}, {kMaxUlps}}};
  std::vector<unsigned> asked = {kPartNone, kPartUlps, kPartNone | kPartUlps};
  for (unsigned parts = kPartErrors; parts <= kAllSums; parts += 2) asked.push_back(parts);
  std::uint64_t seed = 300;
  std::int64_t others = 0, counted = 0, at_zero = 0, near = 0;
  for (const Format& f : {kFloat32, kFloat16, Format{7, -126}}) {
    MetricsSpec spec = spec_of(f);
    for (const std::size_t n : {std::size_t{8}, std::size_t{56}, kMetricsBlock}) {
      for (const int spread : {2, 12}) {
        ++seed;
        Blocks b = random_blocks(spec, n, seed, spread, seed % 3 != 0, false);
        // Element 3 has a relative error of exactly 1e-4.
        if (f.mantissa_bits == 23) {
          b.expected[3] = 0x1.01918p+0;
          b.actual[3] = 0x1.019818p+0;
        }
        std::vector<std::uint16_t> tables(kTableCounters);
        MetricsBlock all;
        spec.parts = kAllParts;
        metrics_block(spec, {0, 0, 0}, b.actual.data(), b.expected.data(), b.expected.data(),
                      nullptr, nullptr, n, tables.data(), all);
        // A number of ulps up to 63 has a bin of its own.
        const auto over_ulps = [&](std::size_t most) {
          const std::size_t bin = most == 1 ? 2 : 1 + (5 << kUlpBinBits) + 1;
          return std::accumulate(
              tables.begin() + static_cast<std::ptrdiff_t>((2 * kErrorBins + bin) * kMetricsLanes),
              tables.end(), std::int64_t{0});
        };
        const std::vector<float> a(b.actual.begin(), b.actual.end());
        const std::vector<float> e(b.expected.begin(), b.expected.end());
        for (const unsigned parts : asked) {
          SCOPED_TRACE(testing::Message()
                       << f.mantissa_bits << " bits, n " << n << ", parts " << parts);
          spec.parts = parts;
          MetricsBlock got;
          metrics_block(spec, {0, 0, 0}, a.data(), e.data(), n, nullptr, got);
          for (const Part& part : kParts) {
            if ((parts & part.part) == 0) continue;
            for (const MetricsSum s : part.sums) EXPECT_EQ(got.sums[s], all.sums[s]) << s;
            for (const MetricsMax m : part.maxima) EXPECT_EQ(got.maxima[m], all.maxima[m]) << m;
          }
          EXPECT_EQ(got.not_finite, all.not_finite);
          EXPECT_EQ(got.no_ulps, all.no_ulps);
          EXPECT_EQ(got.no_relative, all.no_relative);
          EXPECT_EQ(got.maxima[kMaxExpected], all.maxima[kMaxExpected]);
          if ((parts & kPartErrors) != 0) {
            EXPECT_EQ(got.errors_at_zero, all.errors_at_zero);
          }
          if ((parts & kPartUlps) != 0) {
            EXPECT_EQ(got.ulps_over_1, over_ulps(1));
            EXPECT_EQ(got.ulps_over_32, over_ulps(32));
            near += got.ulps_over_1 > got.ulps_over_32 ? 1 : 0;
          }
          for (std::size_t g = 0; g < n / kMetricsLanes; ++g) {
            ASSERT_EQ(got.groups[g], all.groups[g] & MetricsBlock::kNotFinite) << g;
          }
          if ((parts & kPartCounts) == 0) continue;
          EXPECT_EQ(got.rel_over_1e3, all.rel_over_1e3);
          EXPECT_EQ(got.rel_over_1e4, all.rel_over_1e4);
          EXPECT_EQ(got.small, all.small);
          EXPECT_EQ(got.small_over, all.small_over);
          counted += got.rel_over_1e4 > got.rel_over_1e3 && got.small > got.small_over ? 1 : 0;
        }
        others += all.not_finite;
        at_zero += all.errors_at_zero;
      }
    }
  }
  EXPECT_GT(others, 100);
  EXPECT_GT(at_zero, 100);
  EXPECT_GT(counted, 10);
  EXPECT_GT(near, 10);
}

TEST_P(MetricsBlockTest, IntegersAndGivenDistances) {
  MetricsSpec spec = spec_of(kFloat32);
  spec.min_normal = spec.min_subnormal = 1;
  Random random(8, 1);
  Blocks b;
  std::vector<double> errors, given;
  for (std::size_t i = 0; i < 64; ++i) {
    b.expected.push_back(static_cast<double>(random.below(200)) - 100);
    b.rounded.push_back(b.expected.back());
    b.actual.push_back(b.expected.back() + static_cast<double>(random.below(3)));
    errors.push_back(static_cast<double>(random.below(100)) - 50);
    given.push_back(std::abs(errors.back()));
  }
  spec.ulp_rule = UlpRule::kDifference;
  compare(spec, {0, 0, 0}, b);
  spec.ulp_rule = UlpRule::kGiven;
  compare(spec, {kInfinity, kInfinity, kInfinity}, b, errors.data(), given.data());
}

// Tests values at the edges of the histograms: at the bins' own limits, and far below and far above
// them.
TEST_P(MetricsBlockTest, EdgesOfTheBins) {
  const MetricsSpec spec = spec_of(kFloat64);
  Blocks b;
  for (int exponent = -200; exponent < 200; ++exponent) {
    for (const double fraction : {1.0, 1.0625, 1.5, 1.9375}) {
      const double edge = std::ldexp(fraction, exponent);
      for (const double size : {std::nextafter(edge, 0.0), edge, std::nextafter(edge, kInfinity)}) {
        b.actual.push_back(size);
        b.expected.push_back(0);
        b.rounded.push_back(0);
        if (b.actual.size() == kMetricsBlock) {
          compare(spec, {kInfinity, kInfinity, kInfinity}, b);
          b = {};
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay::simd
