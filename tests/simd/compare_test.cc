#include "assay/simd/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

constexpr double kMax = std::numeric_limits<double>::max();

// Applies the rule as it is written down, one element at a time.
template <typename T>
Comparison plain(const std::vector<T>& actual, const std::vector<T>& expected, double atol,
                 double rtol) {
  Comparison counts;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const auto a = static_cast<double>(actual[i]), e = static_cast<double>(expected[i]);
    // `volatile` makes the compiler round this product. It must not be fused with the addition of
    // atol below.
    volatile double relative = rtol * std::abs(e);
    const bool within = std::isfinite(a) && std::isfinite(e) && std::abs(a - e) <= atol + relative;
    counts.mismatches += within ? 0 : 1;
    counts.zero_within += std::isfinite(e) && std::abs(e) <= atol + relative ? 1 : 0;
    counts.zero += e == 0 ? 1 : 0;
  }
  return counts;
}

template <typename T>
std::int64_t count_mismatches(const T* actual, const T* expected, std::size_t n, double atol,
                              double rtol) {
  return compare(actual, expected, n, atol, rtol).mismatches;
}

template <typename T>
void expect_plain(const std::vector<T>& actual, const std::vector<T>& expected, double atol,
                  double rtol) {
  const Comparison is = compare(actual.data(), expected.data(), actual.size(), atol, rtol);
  const Comparison should = plain(actual, expected, atol, rtol);
  EXPECT_EQ(is.mismatches, should.mismatches) << actual.size() << " " << atol << " " << rtol;
  EXPECT_EQ(is.zero_within, should.zero_within) << actual.size() << " " << atol << " " << rtol;
  EXPECT_EQ(is.zero, should.zero) << actual.size() << " " << atol << " " << rtol;
}

class CompareTest : public OnEveryTarget {};

INSTANTIATE_TEST_SUITE_P(OnTarget, CompareTest, testing::ValuesIn(available_targets()), target_of);

template <typename T>
void compare_random(std::uint64_t stream) {
  Random random(10, stream);
  for (std::size_t n = 0; n <= 150; ++n) {
    std::vector<T> actual(n), expected(n);
    for (std::size_t i = 0; i < n; ++i) {
      expected[i] = static_cast<T>(random.normal());
      actual[i] = static_cast<T>(expected[i] * (1 + 1e-3 * random.normal()));
    }
    for (const double rtol : {0.0, 1e-4, 1e-3, 1e-2}) {
      for (const double atol : {0.0, 1e-4, 1.0}) {
        expect_plain(actual, expected, atol, rtol);
      }
    }
  }
}

TEST_P(CompareTest, Float64OfEveryLength) { compare_random<double>(1); }
TEST_P(CompareTest, Float32OfEveryLength) { compare_random<float>(2); }

// Many copies of one pair, so that whole blocks pass or fail. Errors are near the bound, and values
// are near the one that a zero just meets, by ulps of float64 and of float32, at every size.
TEST_P(CompareTest, Float32AboutTheBoundAtEverySize) {
  Random random(10, 3);
  const double nudges[] = {0, 0x1p-53, 0x1p-30, 0x1p-24, 0x1p-22, 0x1p-20, 0x1p-18, 0x1p-3};
  std::int64_t clear = 0, missed = 0, seen_by_zeros = 0;
  for (const double rtol : {0.0, 0x1p-140, 1e-30, 0x1p-24, 1e-3, 0.3, 0.5, 0.51, 3.0}) {
    for (const double atol :
         {0.0, 0x1p-149, 0x1p-126, 0x1p-101, 0x1p-99, 1e-8, 1.0, 0x1p100, 0x1p101}) {
      for (int exponent = -149; exponent <= 127; exponent += 3) {
        const double e = std::ldexp(1 + random.uniform(), exponent);
        const double bound = atol + rtol * e;
        const double just = rtol < 1 ? atol / (1 - rtol) : atol;
        for (const double nudge : nudges) {
          for (const double sign : {-1.0, 1.0}) {
            const double off = 1 + sign * nudge;
            for (const auto& [a, of] : {std::pair(e + bound * off, e),
                                        {e - bound * off, e},
                                        {just * off, just * off},
                                        {e, -e},
                                        {-e, e * off}}) {
              const std::vector<float> actual(130, static_cast<float>(a)),
                  expected(130, static_cast<float>(of));
              const Comparison is = compare(actual.data(), expected.data(), 130, atol, rtol);
              const Comparison one = plain<float>({actual[0]}, {expected[0]}, atol, rtol);
              ASSERT_EQ(is.mismatches, 130 * one.mismatches)
                  << a << " " << of << " " << atol << " " << rtol;
              ASSERT_EQ(is.zero_within, 130 * one.zero_within)
                  << a << " " << of << " " << atol << " " << rtol;
              ASSERT_EQ(is.zero, 130 * one.zero);
              ++(one.mismatches > 0 ? missed : one.zero_within > 0 ? seen_by_zeros : clear);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(clear, 10000);
  EXPECT_GT(missed, 10000);
  EXPECT_GT(seen_by_zeros, 10000);
}

TEST_P(CompareTest, CountsWhatZerosWouldNotMiss) {
  Random random(10, 4);
  for (const std::size_t n : {3u, 64u, 301u}) {
    std::vector<double> expected(n), zeros(n, 0.0);
    for (double& e : expected) {
      const std::uint64_t kind = random.below(8);
      e = kind == 0   ? 0.0
          : kind == 1 ? -0.0
          : kind == 2 ? 0x1p-1074
          : kind == 3 ? 1e-3
                      : 1e-3 * random.normal();
    }
    std::vector<double> special = expected;
    special[n / 2] = kInfinity;
    special[n / 3] = kNan;
    for (const double atol : {0.0, 1e-3, std::nextafter(1e-3, 0), kInfinity}) {
      for (const double rtol : {0.0, 0.5, 1.0, 2.0}) {
        expect_plain(expected, expected, atol, rtol);
        expect_plain(zeros, expected, atol, rtol);
        expect_plain(special, special, atol, rtol);
      }
    }
  }
}

TEST_P(CompareTest, EachStepIsRounded) {
  // The errors lie within one rounding of their bound, so that a fused multiply-add would judge
  // some of them otherwise.
  Random random(10, 3);
  const std::size_t n = 4003;
  std::vector<double> actual(n), expected(n);
  for (const double rtol : {1e-3, 1.0 / 3, 0x1p-11}) {
    const double atol = 1e-5;
    for (std::size_t i = 0; i < n; ++i) {
      expected[i] = random.normal();
      volatile double relative = rtol * std::abs(expected[i]);
      const double bound = atol + relative;
      actual[i] = expected[i] + bound * (random.below(2) != 0 ? 1 : -1);
      if (random.below(3) == 0) actual[i] = std::nextafter(actual[i], kInfinity);
    }
    expect_plain(actual, expected, atol, rtol);
  }
}

TEST_P(CompareTest, ASpecialAnywhereIsAMiss) {
  for (const std::size_t n : {1u, 5u, 31u, 64u, 77u}) {
    for (std::size_t at = 0; at < n; ++at) {
      for (const double special : {kNan, -kNan, kInfinity, -kInfinity}) {
        for (const double bound : {0.0, 1e300, kMax, kInfinity}) {
          std::vector<double> actual(n, 1.0), expected(n, 1.0);
          actual[at] = special;
          ASSERT_EQ(count_mismatches(actual.data(), expected.data(), n, bound, 0), 1);
          ASSERT_EQ(count_mismatches(expected.data(), actual.data(), n, bound, 0), 1);
          ASSERT_EQ(count_mismatches(actual.data(), actual.data(), n, bound, 0), 1);
          ASSERT_EQ(count_mismatches(actual.data(), expected.data(), n, bound, 0.5), 1);
          ASSERT_EQ(count_mismatches(expected.data(), actual.data(), n, bound, 0.5), 1);
          std::vector<float> a32(actual.begin(), actual.end()), e32(n, 1.0f);
          ASSERT_EQ(count_mismatches(a32.data(), e32.data(), n, bound, 0.5), 1);
          ASSERT_EQ(count_mismatches(e32.data(), a32.data(), n, bound, 0.5), 1);
        }
      }
    }
  }
}

TEST_P(CompareTest, TheBoundItselfIsNoMiss) {
  const std::vector<double> expected(33, 0.0);
  const std::vector<double> at(33, 0.125), over(33, std::nextafter(0.125, 1.0));
  EXPECT_EQ(count_mismatches(at.data(), expected.data(), 33, 0.125, 0), 0);
  EXPECT_EQ(count_mismatches(over.data(), expected.data(), 33, 0.125, 0), 33);
  const std::vector<double> minus_zero(33, -0.0);
  EXPECT_EQ(count_mismatches(minus_zero.data(), expected.data(), 33, 0, 0), 0);
}

TEST_P(CompareTest, ANanBoundClearsNothing) {
  const std::vector<double> ones(70, 1.0), zeros(70, 0.0);
  EXPECT_EQ(count_mismatches(ones.data(), ones.data(), 70, kNan, 0), 70);
  EXPECT_EQ(count_mismatches(ones.data(), ones.data(), 70, 0, kNan), 70);
  // Infinity times zero is NaN, so that the bound is not a number and every element is a mismatch.
  EXPECT_EQ(count_mismatches(ones.data(), zeros.data(), 70, 0, kInfinity), 70);
}

}  // namespace
}  // namespace assay::simd
