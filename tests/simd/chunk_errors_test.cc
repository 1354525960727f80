#include "assay/simd/chunk_errors.h"

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

class ChunkErrorsOnTargets : public OnEveryTarget {};

// The factors of products with their lowest and leading bits, found by division.
struct Column {
  std::vector<double> value, lowest_bit, leading_bit;

  void add(double v) {
    value.push_back(v);
    double low = std::ldexp(1.0, v == 0 ? 0 : std::ilogb(v)), high = low;
    if (v == 0) low = kInfinity, high = 0;
    while (v != 0 && std::fmod(v, low) != 0) low /= 2;
    lowest_bit.push_back(low);
    leading_bit.push_back(high);
  }
  ChunkFactors factors() const { return {value.data(), lowest_bit.data(), leading_bit.data()}; }
};

// One product after the other, in eight sums that are joined by halves.
ChunkErrors one_by_one(const Column& a, const Column& b, double unit) {
  double sums[4][8] = {};
  ChunkErrors errors{};
  errors.lowest_bit = kInfinity;
  for (std::size_t i = 0; i < a.value.size(); ++i) {
    const std::size_t lane = i % 8;
    const double v = a.value[i] * b.value[i];
    const double low = v == 0 ? kInfinity : a.lowest_bit[i] * b.lowest_bit[i];
    sums[0][lane] += v;
    sums[1][lane] += std::abs(v);
    errors.lowest_bit = std::min(errors.lowest_bit, std::max(low, unit));
    if (!(low < unit)) continue;
    errors.cuts = true;
    if (std::abs(v) < unit) {
      sums[2][lane] -= v;
    } else {
      sums[2][lane] -= std::copysign(unit / 2, v);
      const double ratio = low / unit;
      sums[3][lane] += unit * unit / 12 * (1 - 4 * (ratio * ratio));
    }
  }
  for (auto& s : sums) {
    for (const std::size_t n : {4U, 2U, 1U}) {
      for (std::size_t i = 0; i < n; ++i) s[i] += s[i + n];
    }
  }
  errors.sum = sums[0][0], errors.size = sums[1][0];
  errors.mean = sums[2][0], errors.variance = sums[3][0];
  return errors;
}

TEST_P(ChunkErrorsOnTargets, AreThoseOfOneProductAfterTheOther) {
  Random random(20261128, 7);
  for (std::size_t n = 0; n < 70; ++n) {
    for (const int spread : {0, 3, 12}) {
      Column a, b;
      double largest = 0;
      for (std::size_t i = 0; i < n; ++i) {
        for (Column* to : {&a, &b}) {
          const auto digits = static_cast<double>(random.below(256)) - 128;
          to->add(random.below(6) == 0
                      ? 0
                      : std::ldexp(digits, static_cast<int>(random.below(
                                               static_cast<std::uint64_t>(2 * spread + 1))) -
                                               spread));
        }
        largest = std::max(largest, a.leading_bit[i] * b.leading_bit[i]);
      }
      const auto count = static_cast<std::int64_t>(n);
      EXPECT_EQ(largest_leading_bit(count, a.factors(), b.factors()), largest);
      for (const double unit : {0.0, 0x1p-30, largest * 0x1p-13, largest * 0x1p-5, largest * 2}) {
        const ChunkErrors got = chunk_errors(count, a.factors(), b.factors(), unit),
                          wanted = one_by_one(a, b, unit);
        SCOPED_TRACE(testing::Message()
                     << n << " products, spread " << spread << ", unit " << unit);
        EXPECT_EQ(got.sum, wanted.sum);
        EXPECT_EQ(got.size, wanted.size);
        EXPECT_EQ(got.mean, wanted.mean);
        EXPECT_EQ(got.variance, wanted.variance);
        EXPECT_EQ(got.lowest_bit, wanted.lowest_bit);
        EXPECT_EQ(got.cuts, wanted.cuts);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OnTarget, ChunkErrorsOnTargets, testing::ValuesIn(available_targets()),
                         target_of);

}  // namespace
}  // namespace assay::simd
