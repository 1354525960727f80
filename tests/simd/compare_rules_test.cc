// Compares tolerances with floors, bounds of each element and ulps, over whole arrays, with the
// rules as they are written down.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/simd/compare.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

constexpr double kLargestFloat64 = std::numeric_limits<double>::max();

struct RulePairs {
  std::vector<double> actual, expected, own;
};

double tolerance_of(const Tolerance& t, double e, double by, double own) {
  const double size = std::abs(e);
  double of = 0;
  switch (t.form) {
    case ToleranceForm::kSum: {
      volatile double relative = t.rtol * size;  // rounded separately, never fused
      of = t.atol + relative;
      break;
    }
    case ToleranceForm::kEither:
      of = std::max(t.atol, t.rtol * size);
      break;
    case ToleranceForm::kLargest:
      of = t.rtol * std::max(t.floor, size);
      break;
    case ToleranceForm::kSymmetric:
      of = t.rtol * std::max(t.floor, by);
      break;
  }
  of = size < t.small_value ? t.small_atol : std::min(of, kLargestFloat64);
  return std::isnan(own) ? own : std::min(of + own, kLargestFloat64);
}

ToleranceComparison by_tolerance(const RulePairs& p, bool given, const Tolerance& t) {
  ToleranceComparison c;
  const bool symmetric = t.form == ToleranceForm::kSymmetric;
  const auto within = [&](double error, double limit) {
    if (!std::isfinite(error)) return false;
    return symmetric ? error < limit || error == 0 : error <= limit;
  };
  for (std::size_t i = 0; i < p.actual.size(); ++i) {
    const double a = p.actual[i], e = p.expected[i], size = std::abs(e), error = std::abs(a - e);
    const double own = given ? p.own[i] : 0;
    const double of_zero = tolerance_of(t, e, size, own);
    const double limit = symmetric ? tolerance_of(t, e, size + std::abs(a), own) : of_zero;
    c.mismatches += within(error, limit) ? 0 : 1;
    c.zero_within += within(size, of_zero) ? 1 : 0;
    c.zero += e == 0 ? 1 : 0;
    if (error > 0 && limit > 0) c.worst_ratio = std::max(c.worst_ratio, error / limit);
  }
  return c;
}

void expect_counts(const Comparison& is, const Comparison& should, const std::string& of) {
  EXPECT_EQ(is.mismatches, should.mismatches) << of;
  EXPECT_EQ(is.zero_within, should.zero_within) << of;
  EXPECT_EQ(is.zero, should.zero) << of;
}

class CompareRulesTest : public OnEveryTarget {};

INSTANTIATE_TEST_SUITE_P(OnTarget, CompareRulesTest, testing::ValuesIn(available_targets()),
                         target_of);

// Returns pairs, most of them within the tolerance t, with zeros, small values and ties among them.
RulePairs pairs_near(const Tolerance& t, std::size_t n, std::uint64_t stream) {
  Random random(12, stream);
  RulePairs p{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    double& e = p.expected[i];
    e = std::ldexp(random.normal(), static_cast<int>(random.below(12)) - 8);
    if (random.below(8) == 0) e = random.below(2) == 0 ? 0.0 : -0.0;
    p.own[i] = random.below(3) == 0 ? 1e-3 * random.uniform() : 0;
    const double limit = tolerance_of(t, e, 2 * std::abs(e), 0);
    const double part = random.below(40) == 0 ? 1.5 : random.below(3) == 0 ? 1 : random.uniform();
    p.actual[i] = e + (random.below(2) == 0 ? part : -part) * limit;
    if (random.below(4) == 0) p.actual[i] = e;
  }
  return p;
}

constexpr ToleranceForm kForms[] = {ToleranceForm::kSum, ToleranceForm::kEither,
                                    ToleranceForm::kLargest, ToleranceForm::kSymmetric};

TEST_P(CompareRulesTest, TolerancesOfEveryFormAndLength) {
  std::uint64_t stream = 0;
  for (const ToleranceForm form : kForms) {
    for (const double small : {0.0, 0.25}) {
      const Tolerance t{.form = form,
                        .rtol = 0x1p-7,
                        .atol = form == ToleranceForm::kSymmetric ? 0 : 3e-3,
                        .floor = 0.5,
                        .small_value = small,
                        .small_atol = 1e-3};
      for (const std::size_t n : {0u, 1u, 2u, 3u, 7u, 8u, 9u, 15u, 16u, 17u, 100u, 1024u}) {
        const RulePairs p = pairs_near(t, n, ++stream);
        for (const bool given : {false, true}) {
          const ToleranceComparison is =
              compare(p.actual.data(), p.expected.data(), given ? p.own.data() : nullptr, n, t);
          const ToleranceComparison should = by_tolerance(p, given, t);
          const std::string of = "form " + std::to_string(static_cast<int>(form)) + ", n " +
                                 std::to_string(n) + (given ? ", given" : "");
          expect_counts(is, should, of);
          EXPECT_EQ(is.worst_ratio, should.worst_ratio) << of;
        }
      }
    }
  }
}

// NaN and infinity are never within a bound, and nothing is within a bound of NaN. An infinite
// bound counts as the largest number.
TEST_P(CompareRulesTest, SpecialsAreMisses) {
  constexpr std::size_t kCount = 21;
  for (const ToleranceForm form : kForms) {
    for (std::size_t at = 0; at < kCount; ++at) {
      for (const double special : {kNan, kInfinity, -kInfinity}) {
        const Tolerance t{.form = form, .rtol = 1, .atol = 1, .floor = 1};
        RulePairs p{std::vector<double>(kCount, 1.0), std::vector<double>(kCount, 1.0),
                    std::vector<double>(kCount, 0.0)};
        p.actual[at] = special;
        const auto mismatches = [&](const double* own) {
          return compare(p.actual.data(), p.expected.data(), own, kCount, t).mismatches;
        };
        ASSERT_EQ(mismatches(nullptr), 1);
        p.expected[at] = special;
        ASSERT_EQ(mismatches(nullptr), 1);
        p.actual[at] = 1;
        ASSERT_EQ(mismatches(nullptr), 1);
        p.expected[at] = 1;
        p.own[at] = special;
        ASSERT_EQ(mismatches(p.own.data()),
                  special == kInfinity || form == ToleranceForm::kSymmetric ? 0 : 1)
            << special;
      }
    }
  }
}

// A binary float format, described by the widths of its exponent and mantissa.
struct BinaryFormat {
  int exponent_bits, mantissa_bits;

  int min_exponent() const { return 2 - (1 << (exponent_bits - 1)); }
  Ordinals ordinals() const {
    return {.min_normal = std::ldexp(1.0, min_exponent()),
            .min_subnormal = std::ldexp(1.0, min_exponent() - mantissa_bits),
            .drop = 52 - mantissa_bits,
            .rebias = static_cast<std::uint64_t>(min_exponent() + 1022) << mantissa_bits};
  }
  // Returns the value of an ordinal.
  double value(std::int64_t ordinal) const {
    const auto size = static_cast<std::uint64_t>(std::abs(ordinal));
    const auto field = static_cast<int>(size >> mantissa_bits);
    const auto mantissa = static_cast<double>(size & ((std::uint64_t{1} << mantissa_bits) - 1));
    const double x = field == 0 ? std::ldexp(mantissa, min_exponent() - mantissa_bits)
                                : std::ldexp(1 + std::ldexp(mantissa, -mantissa_bits),
                                             field - 1 + min_exponent());
    return ordinal < 0 ? -x : x;
  }
  std::int64_t largest() const {
    return ((std::int64_t{1} << exponent_bits) - 1) * (std::int64_t{1} << mantissa_bits) - 1;
  }
  double spacing(double x) const {
    const double octave = std::max(std::abs(x), std::ldexp(1.0, min_exponent()));
    return std::ldexp(1.0, std::ilogb(octave) - mantissa_bits);
  }
};

TEST_P(CompareRulesTest, UlpsAreSteps) {
  Random random(12, 99);
  for (const BinaryFormat f : {BinaryFormat{8, 7}, BinaryFormat{5, 10}, BinaryFormat{8, 23},
                               BinaryFormat{4, 3}, BinaryFormat{11, 52}}) {
    for (const std::size_t n : {1u, 5u, 8u, 31u, 400u}) {
      for (const std::uint64_t most : {0u, 1u, 4u, 1000u}) {
        std::vector<double> actual(n), expected(n);
        UlpComparison should;
        for (std::size_t i = 0; i < n; ++i) {
          const auto any =
              static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(f.largest()) + 1));
          // A third of the values lie around zero, where numbers are subnormal. Both signs occur.
          const std::int64_t e =
              (random.below(3) == 0 ? any % 9 : any) * (random.below(2) == 0 ? 1 : -1);
          const auto step = static_cast<std::int64_t>(random.below(2 * most + 2));
          const std::int64_t a =
              std::clamp(e + (random.below(2) == 0 ? step : -step) / 2, -f.largest(), f.largest());
          actual[i] = f.value(a);
          expected[i] = f.value(e);
          const auto apart = static_cast<std::uint64_t>(std::abs(a - e));
          should.mismatches += apart > most ? 1 : 0;
          should.zero_within += static_cast<std::uint64_t>(std::abs(e)) <= most ? 1 : 0;
          should.zero += e == 0 ? 1 : 0;
          const double error = std::abs(actual[i] - expected[i]) / f.spacing(expected[i]);
          should.worst_error = std::max(should.worst_error, error);
        }
        const UlpComparison is = compare(actual.data(), expected.data(), n, f.ordinals(), most);
        expect_counts(is, should, std::to_string(f.mantissa_bits) + " bits");
        EXPECT_EQ(is.worst_error, should.worst_error) << f.mantissa_bits;
      }
    }
  }
}

TEST_P(CompareRulesTest, UlpsOfSpecialsAreMisses) {
  const Ordinals bfloat16 = BinaryFormat{8, 7}.ordinals();
  for (std::size_t at = 0; at < 11; ++at) {
    for (const double special : {kNan, kInfinity, -kInfinity}) {
      std::vector<double> actual(11, 1.0), expected(11, 1.0);
      const auto mismatches = [&] {
        return compare(actual.data(), expected.data(), 11, bfloat16, std::uint64_t{1} << 40)
            .mismatches;
      };
      actual[at] = special;
      ASSERT_EQ(mismatches(), 1);
      expected[at] = special;
      ASSERT_EQ(mismatches(), 1);
      actual[at] = 1;
      ASSERT_EQ(mismatches(), 1);
    }
  }
}

// Expects the counts and ratios of float32 arrays to be those of the same values in float64,
// whichever ratio was the largest before. float64 decides only if float32 proves nothing.
void expect_as_float64(const std::vector<double>& actual, const std::vector<double>& expected,
                       const Tolerance& t, const std::string& of) {
  const std::vector<float> a(actual.begin(), actual.end()), e(expected.begin(), expected.end());
  const std::vector<double> a64(a.begin(), a.end()), e64(e.begin(), e.end());
  const ToleranceComparison should = compare(a64.data(), e64.data(), nullptr, a.size(), t);
  for (const double before : {0.0, should.worst_ratio, 0.75 * should.worst_ratio, 1.0, 2.0}) {
    const ToleranceComparison is = compare(a.data(), e.data(), a.size(), t, before);
    expect_counts(is, should, of);
    EXPECT_EQ(is.worst_ratio, std::max(before, should.worst_ratio)) << of << ", " << before;
  }
}

constexpr double kNudges[] = {0, 0x1p-53, 0x1p-30, 0x1p-24, 0x1p-22, 0x1p-20, 0x1p-18, 0x1p-3};

TEST_P(CompareRulesTest, Float32AsFloat64) {
  std::uint64_t stream = 500;
  for (const ToleranceForm form : kForms) {
    for (const double rtol : {0.0, 0x1p-7, 1e-3, 0.5, 2.0}) {
      for (const double atol : {0.0, 3e-3, 0x1p101}) {
        for (const double small : {0.0, 0.25}) {
          const Tolerance t{.form = form,
                            .rtol = rtol,
                            .atol = atol,
                            .floor = atol > 1 ? 0 : 0.5,
                            .small_value = small,
                            .small_atol = 1e-3};
          const std::string of = "form " + std::to_string(static_cast<int>(form)) + ", " +
                                 std::to_string(rtol) + ", " + std::to_string(atol) + ", " +
                                 std::to_string(small);
          for (const std::size_t n : {1u, 17u, 64u, 2000u}) {
            RulePairs p = pairs_near(t, n, ++stream);
            expect_as_float64(p.actual, p.expected, t, of);
            // Many errors have the same size here, and float32 proves nearly all of them.
            for (std::size_t i = 0; i < n; ++i) {
              double& e = p.expected[i];
              e = std::copysign(0.5 + std::fmod(std::abs(e), 0.5), e);
              if (i % 700 == 699) e = 0;
              const auto steps = static_cast<double>(i % 7) - 3;
              p.actual[i] = static_cast<double>(static_cast<float>(e)) + steps * 0x1p-24;
            }
            expect_as_float64(p.actual, p.expected, t, of + ", steps");
          }
        }
      }
    }
  }
}

// Many copies of one pair, at every size. The error is near the tolerance, or near the part of it
// that was the largest before. Or the tolerance is near the expected value, so that a zero just
// passes or just does not.
TEST_P(CompareRulesTest, Float32AboutTheToleranceAtEverySize) {
  Random random(12, 700);
  constexpr std::size_t kCount = 130;
  std::int64_t clear = 0, missed = 0, within = 0;
  for (const ToleranceForm form : kForms) {
    for (const double rtol : {0.0, 0x1p-140, 1e-30, 0x1p-24, 1e-3, 0.3, 0.5, 0.51}) {
      for (const double atol : {0.0, 0x1p-149, 0x1p-126, 0x1p-101, 0x1p-99, 1e-8, 1.0, 0x1p101}) {
        const Tolerance t{
            .form = form, .rtol = rtol, .atol = atol, .floor = rtol > 0 ? atol / rtol : 0};
        for (int exponent = -149; exponent <= 127; exponent += 6) {
          const double e = std::ldexp(1 + random.uniform(), exponent);
          const double limit = tolerance_of(t, e, 2 * e, 0);
          const double nudge = kNudges[random.below(8)] * (random.below(2) == 0 ? 1 : -1);
          for (const double part : {1.0, 0.5, 0.0}) {
            const double off = part * (1 + nudge);
            const auto a = static_cast<float>(part == 0 ? e * (1 + nudge) : e + limit * off);
            const auto of = static_cast<float>(part == 0 ? limit * (1 + nudge) : e);
            const std::vector<float> actual(kCount, a), expected(kCount, of);
            const std::vector<double> a64(kCount, static_cast<double>(a)),
                e64(kCount, static_cast<double>(of));
            const ToleranceComparison should = compare(a64.data(), e64.data(), nullptr, kCount, t);
            const double before = part == 1 ? 1 : 0.5;
            const ToleranceComparison is =
                compare(actual.data(), expected.data(), kCount, t, before);
            ASSERT_EQ(is.mismatches, should.mismatches)
                << a << " " << of << " " << atol << " " << rtol;
            ASSERT_EQ(is.zero_within, should.zero_within) << a << " " << of;
            ASSERT_EQ(is.zero, should.zero);
            ASSERT_EQ(is.worst_ratio, std::max(before, should.worst_ratio))
                << a << " " << of << " " << atol << " " << rtol << " " << static_cast<int>(form);
            ++(is.mismatches > 0 ? missed : is.zero_within > 0 ? within : clear);
          }
        }
      }
    }
  }
  EXPECT_GT(clear, 3000);
  EXPECT_GT(missed, 3000);
  EXPECT_GT(within, 3000);
}

TEST_P(CompareRulesTest, Float32UlpsAsFloat64) {
  Random random(12, 800);
  std::int64_t met = 0, missed = 0, small = 0;
  for (const BinaryFormat f : {BinaryFormat{8, 7}, BinaryFormat{5, 10}, BinaryFormat{8, 23},
                               BinaryFormat{4, 3}, BinaryFormat{11, 52}}) {
    for (const std::uint64_t most : {0u, 1u, 4u, 1000u, 1u << 30}) {
      for (const std::size_t n : {3u, 64u, 1500u}) {
        for (const bool special : {false, true}) {
          std::vector<float> a(n), e(n);
          const std::int64_t largest = std::min<std::int64_t>(f.largest(), (255 << 23) - 1);
          const bool is_double = f.mantissa_bits == 52;
          for (std::size_t i = 0; i < n; ++i) {
            // Mostly values from the middle of the range, which are not subnormal. For float64,
            // these are float32 values.
            std::int64_t at =
                largest / 4 +
                static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(largest / 2)));
            if (random.below(n > 100 ? 500 : 9) == 0)
              at = static_cast<std::int64_t>(random.below(9));
            const auto reach = std::min<std::uint64_t>(most, 5) + (random.below(300) == 0 ? 1 : 0);
            const std::int64_t to =
                std::min(largest, at + static_cast<std::int64_t>(random.below(reach + 1)) -
                                      (random.below(2) == 0 ? 1 : 0));
            const BinaryFormat& of = is_double ? BinaryFormat{8, 23} : f;
            const double sign = random.below(2) == 0 ? 1 : -1;
            e[i] = static_cast<float>(sign * of.value(at));
            a[i] =
                static_cast<float>(sign * of.value(most == 0 && random.below(200) != 0 ? at : to));
            if (special && random.below(400) == 0)
              (i % 2 == 0 ? a : e)[i] = static_cast<float>(i % 3 == 0 ? kNan : kInfinity);
          }
          const std::vector<double> a64(a.begin(), a.end()), e64(e.begin(), e.end());
          const UlpComparison should = compare(a64.data(), e64.data(), n, f.ordinals(), most);
          const std::string of = std::to_string(f.mantissa_bits) + " bits, most " +
                                 std::to_string(most) + ", n " + std::to_string(n);
          for (const double before : {0.0, 2.0, should.worst_error, kInfinity}) {
            const UlpComparison is = compare(a.data(), e.data(), n, f.ordinals(), most, before);
            expect_counts(is, should, of);
            EXPECT_EQ(is.worst_error, std::max(before, should.worst_error)) << of << " " << before;
          }
          met += static_cast<std::int64_t>(n) - should.mismatches;
          missed += should.mismatches;
          small += should.zero_within;
        }
      }
    }
  }
  EXPECT_GT(met, 50000);
  EXPECT_GT(missed, 500);
  EXPECT_GT(small, 500);
}

}  // namespace
}  // namespace assay::simd
