#include "assay/simd/factors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

class FactorsOnTargets : public OnEveryTarget {};

// The oracle finds powers of two by division. A row is filled up with its last value.
TEST_P(FactorsOnTargets, HaveTheirLowestAndLeadingBits) {
  Random random(20261129, 8);
  for (const std::int64_t count : {1, 3, 8, 21}) {
    const std::int64_t rows = 4, stride = count + 2, width = (count + 7) / 8 * 8;
    std::vector<double> from(static_cast<std::size_t>(rows * stride));
    for (double& v : from) {
      const auto digits = static_cast<double>(random.below(1024)) - 512;
      v = random.below(5) == 0 ? 0 : std::ldexp(digits, static_cast<int>(random.below(80)) - 60);
    }
    for (const double flush : {0.0, 0x1p-20}) {
      const FactorsRead read = {.from = from.data(),
                                .rows = rows,
                                .count = count,
                                .stride = stride,
                                .width = width,
                                .least_exponent = 0x1p-40,
                                .flush_below = flush};
      std::vector<double> value(static_cast<std::size_t>(rows * width)), low = value, high = value;
      const bool flushed = read_factors(read, value.data(), low.data(), high.data());
      bool any = false;
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t i = 0; i < width; ++i) {
          double v = from[static_cast<std::size_t>(row * stride + std::min(i, count - 1))];
          any = any || (v != 0 && std::abs(v) < flush);
          if (std::abs(v) < flush) v = 0;
          const auto at = static_cast<std::size_t>(row * width + i);
          double bit = v == 0 ? kInfinity : std::ldexp(1.0, std::ilogb(v));
          const double leading = v == 0 ? 0 : std::max(bit, 0x1p-40);
          while (v != 0 && std::fmod(v, bit) != 0) bit /= 2;
          EXPECT_EQ(value[at], v);
          EXPECT_EQ(low[at], bit) << v;
          EXPECT_EQ(high[at], leading) << v;
        }
      }
      EXPECT_EQ(flushed, any);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OnTarget, FactorsOnTargets, testing::ValuesIn(available_targets()),
                         target_of);

}  // namespace
}  // namespace assay::simd
