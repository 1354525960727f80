#include "assay/simd/error_bracket.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

class ErrorBrackets : public OnEveryTarget {};

// Adds one element to the bracket, as the kernel does with many.
void add(bool relative, double value, double e, std::vector<double>& between, ErrorBracket& b) {
  if (!std::isfinite(value) || !std::isfinite(e)) return;
  double error = std::abs(value - e);
  if (relative && error != 0) error /= e == 0 ? 0x1p-52 : std::abs(e);
  if (error < b.low) {
    ++b.below;
  } else if (error == b.low) {
    ++b.at_low;
  } else if (error < b.high) {
    ++b.between;
    between.push_back(error);
  } else if (error == b.high) {
    ++b.at_high;
  }
}

TEST_P(ErrorBrackets, AreThoseOfOneElementAfterTheOther) {
  Random random(11, 4);
  const double bounds[][2] = {{-1, kInfinity}, {-1, -0.5}, {0, 0},      {0, 0.25},
                              {0.25, 0.5},     {0.5, 0.5}, {1, 0x1p60}, {kInfinity, kInfinity}};
  const double specials[] = {0.0,      -0.0, kNan, kInfinity, -kInfinity, 0x1.fffffffffffffp1023,
                             0x1p-1074};
  std::int64_t seen = 0;
  for (std::size_t n = 0; n < 70; ++n) {
    for (const auto& [low, high] : bounds) {
      for (const bool relative : {false, true}) {
        std::vector<double> values(n), expected(n), to(n + 1, -7), between;
        for (std::size_t i = 0; i < n; ++i) {
          // The values have only a few sizes, so that some errors equal the bounds.
          expected[i] = static_cast<double>(random.below(9)) / 4 - 1;
          values[i] = expected[i] + static_cast<double>(random.below(7)) / 8;
          if (random.below(5) == 0) values[i] = specials[random.below(7)];
          if (random.below(5) == 0) expected[i] = specials[random.below(7)];
        }
        ErrorBracket wanted{low, high}, got{low, high};
        for (std::size_t i = 0; i < n; ++i) add(relative, values[i], expected[i], between, wanted);
        const std::size_t count =
            bracket_errors(relative, n, values.data(), expected.data(), to.data(), got);
        EXPECT_EQ(std::vector<double>(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(count)),
                  between);
        EXPECT_EQ(to.back(), -7) << "beyond the room that it has";
        EXPECT_EQ(got.below, wanted.below);
        EXPECT_EQ(got.at_low, wanted.at_low);
        EXPECT_EQ(got.between, wanted.between);
        EXPECT_EQ(got.at_high, wanted.at_high);
        // Numbers that float32 holds have the same errors if they are read as float32.
        std::vector<float> floats(values.begin(), values.end()),
            expected_floats(expected.begin(), expected.end());
        ErrorBracket of_floats{low, high}, of_doubles{low, high};
        const std::vector<double> a(floats.begin(), floats.end()),
            b(expected_floats.begin(), expected_floats.end());
        std::vector<double> other(n);
        const std::size_t of_f32 = bracket_errors(relative, n, floats.data(),
                                                  expected_floats.data(), to.data(), of_floats);
        ASSERT_EQ(of_f32,
                  bracket_errors(relative, n, a.data(), b.data(), other.data(), of_doubles));
        EXPECT_TRUE(std::equal(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(of_f32),
                               to.begin()));
        EXPECT_EQ(of_floats.below, of_doubles.below);
        EXPECT_EQ(of_floats.at_low, of_doubles.at_low);
        EXPECT_EQ(of_floats.at_high, of_doubles.at_high);
        seen += wanted.below * wanted.at_low * wanted.between * wanted.at_high;
      }
    }
  }
  EXPECT_GT(seen, 0);
}

// Tests errors that are at the bounds or one last bit off, of all sizes. Also tests zeros, NaN,
// infinities and numbers that float32 does not hold.
TEST_P(ErrorBrackets, AboutTheBoundsAreThoseOfOneElementAfterTheOther) {
  Random random(12, 4);
  const double specials[] = {0.0, -0.0, kNan, kInfinity, -kInfinity, 0x1.fffffep127, 0x1p-149};
  const double bounds[][2] = {{0.25, 0.5},        {0x1p-160, 0x1p-150}, {0x1p-150, 0x1p-140},
                              {1.25, 1.5},        {0x1p100, 0x1p160},   {0x1p-24, 0x1.1p-24},
                              {0x1p130, 0x1p160}, {0, 0x1p-20}};
  std::int64_t seen = 0, equal = 0;
  for (std::size_t n = 0; n < 300; n += n < 70 ? 1 : 23) {
    for (const auto& bound : bounds) {
      const double low = bound[0], high = bound[1];
      for (const bool relative : {false, true}) {
        std::vector<float> values(n), expected(n);
        for (std::size_t i = 0; i < n; ++i) {
          // Values at the bounds, one last bit next to them, and far from them.
          const int exponent = static_cast<int>(random.below(60)) - 30;
          const double e = std::ldexp(1.0 + random.uniform(), relative ? exponent : 0);
          double off = (random.below(2) == 0 ? low : high) * (relative ? e : 1);
          off *= 1 + (static_cast<double>(random.below(5)) - 2) * 0x1p-24;
          if (random.below(3) == 0) off *= std::ldexp(random.uniform(), 2);
          expected[i] = static_cast<float>(random.below(4) == 0 && !relative ? 0 : e);
          values[i] = static_cast<float>(static_cast<double>(expected[i]) + off);
          // Computed in float32, the error is the bound. The exact error is not.
          if (random.below(9) == 0) {
            values[i] = static_cast<float>(random.below(2) == 0 ? low : high);
            expected[i] = random.below(2) == 0 ? -0x1p-40F : 0x1p-40F;
          }
          if (random.below(9) == 0) values[i] = static_cast<float>(specials[random.below(7)]);
          if (random.below(9) == 0) expected[i] = static_cast<float>(specials[random.below(7)]);
        }
        const std::vector<double> a(values.begin(), values.end()),
            e(expected.begin(), expected.end());
        std::vector<double> wanted;
        ErrorBracket bracket{low, high};
        for (std::size_t i = 0; i < n; ++i) add(relative, a[i], e[i], wanted, bracket);
        const auto are_wanted = [&](const auto& of, const auto& from) {
          ErrorBracket found{low, high};
          std::vector<double> to(n + 1, -7);
          const std::size_t count =
              bracket_errors(relative, n, of.data(), from.data(), to.data(), found);
          EXPECT_EQ(to.back(), -7) << "beyond the room that it has";
          to.resize(count);
          EXPECT_EQ(to, wanted);
          EXPECT_EQ(found.below, bracket.below);
          EXPECT_EQ(found.at_low, bracket.at_low);
          EXPECT_EQ(found.between, bracket.between);
          EXPECT_EQ(found.at_high, bracket.at_high);
        };
        are_wanted(a, e);
        are_wanted(values, expected);
        equal += bracket.at_low + bracket.at_high;
        seen += bracket.between;
      }
    }
  }
  EXPECT_GT(seen, 1000);
  EXPECT_GT(equal, 1000);
}

INSTANTIATE_TEST_SUITE_P(OnTarget, ErrorBrackets, testing::ValuesIn(available_targets()),
                         target_of);

}  // namespace
}  // namespace assay::simd
