// Compares the digits of panels with those of a plain reading of each element, on every SIMD
// target.
#include "assay/simd/digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "assay/base/random.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

class DigitsTest : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(OnTarget, DigitsTest, testing::ValuesIn(available_targets()), target_of);

struct Panel {
  std::int64_t depth, lanes;
  std::vector<double> values;
};

// Adds the digits of an element, which is multiplied by powers of 2 until it is an odd integer.
void add_digits(double x, Digits& digits) {
  int exponent = 0;
  double significand = std::frexp(std::abs(x), &exponent);
  int bits = 0;
  for (; significand != std::floor(significand); significand *= 2) ++bits;
  digits.lowest = std::min(digits.lowest, exponent - bits);
  digits.bits = std::max(digits.bits, bits);
}

void expect_digits(Panel p, const std::string& what) {
  Digits wanted;
  std::vector<double> kept = p.values, squares(static_cast<std::size_t>(p.lanes));
  std::vector<std::uint8_t> wanted_bad(squares.size()), bad(squares.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::size_t lane = i % squares.size();
    if (!std::isfinite(kept[i])) kept[i] = 0, wanted_bad[lane] = 1;
    if (kept[i] == 0) continue;
    add_digits(kept[i], wanted);
    squares[lane] += kept[i] * kept[i];
  }
  wanted.norm = std::sqrt(*std::max_element(squares.begin(), squares.end()));
  const Digits got = take_digits(p.values.data(), p.depth, p.lanes, bad.data());
  SCOPED_TRACE(what + ", " + std::to_string(p.depth) + " x " + std::to_string(p.lanes));
  EXPECT_EQ(got.lowest, wanted.lowest);
  EXPECT_EQ(got.bits, wanted.bits);
  EXPECT_EQ(bad, wanted_bad);
  EXPECT_EQ(p.values, kept);
  EXPECT_GE(got.norm, wanted.norm);
  // Rows that do not fill a vector are read separately, and their largest sum is added. So the norm
  // may be larger than the right one.
  EXPECT_LE(got.norm, wanted.norm * 1.5);
}

constexpr std::int64_t kLanes[] = {2, 4, 6, 8, 12, 16, 24, 32};

TEST_P(DigitsTest, AreThoseOfEachElement) {
  Random random(9, 1);
  for (const std::int64_t lanes : kLanes) {
    for (const std::int64_t depth : {1, 2, 3, 4, 5, 7, 8, 12, 127, 128}) {
      for (const int bits : {1, 8, 24, 53}) {
        Panel p = {depth, lanes, {}};
        for (std::int64_t i = 0; i < p.depth * p.lanes; ++i) {
          const double whole = std::floor(std::ldexp(random.uniform(), bits));
          const int exponent = static_cast<int>(random.below(40)) - 20 - bits;
          p.values.push_back(std::ldexp(random.below(2) != 0 ? whole : -whole, exponent));
        }
        expect_digits(p, std::to_string(bits) + " bits");
      }
    }
  }
}

// Puts one special element at every place among others: elements that vectors do not read, and
// elements that they must read right.
TEST_P(DigitsTest, OneOfAKind) {
  using Limits = std::numeric_limits<double>;
  for (const double one :
       {0.0, -0.0, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
        Limits::denorm_min(), -Limits::denorm_min(), Limits::min(), Limits::min() / 2,
        Limits::min() * (1 + Limits::epsilon()), 0x1p-1000, 0x1.8p-1021, 0x1p500, Limits::max(),
        0x1p511, 1 + Limits::epsilon(), -3.0}) {
    for (const double other : {0.0, 1.0, 0x1.8p-30}) {
      for (const std::int64_t depth : {5, 8}) {
        for (const std::int64_t lanes : {4, 6, 8}) {
          for (std::size_t place = 0; place < static_cast<std::size_t>(depth * lanes); ++place) {
            Panel p = {depth, lanes,
                       std::vector<double>(static_cast<std::size_t>(depth * lanes), other)};
            p.values[place] = one;
            expect_digits(p, std::to_string(one) + " among " + std::to_string(other));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay::simd
