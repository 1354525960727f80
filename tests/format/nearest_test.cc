#include "assay/format/nearest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/format/table.h"

namespace assay {
namespace {

TEST(NearestRounding, IsTheFormatsOwn) {
  constexpr int kCount = 4000;
  for (const Format& format : formats()) {
    if (format.is_complex()) continue;
    const NearestRounding nearest(format);
    Random random(20261129, static_cast<std::uint64_t>(format.bits));
    const int least = std::ilogb(min_subnormal(format)), most = std::ilogb(max_finite(format));
    for (int i = 0; i < kCount; ++i) {
      const auto range = static_cast<std::uint64_t>(most - least + 4);
      double x =
          std::ldexp(1 + random.uniform(), least - 2 + static_cast<int>(random.below(range)));
      if (random.below(4) == 0 && x <= max_finite(format)) {
        x = round_to(format, x) +
            static_cast<double>(random.below(2)) * ulp_of(format, x) / 2;  // ties, too
      }
      if (random.below(2) == 0) x = -x;
      const double rounded = round_to(format, x);
      // The number is beyond the largest value of a format without infinity.
      if (std::isnan(rounded)) {
        ASSERT_TRUE(std::isnan(nearest.rounded(x))) << format.name << " " << x;
        continue;
      }
      ASSERT_EQ(nearest.rounded(x), rounded) << format.name << " " << x;
      ASSERT_EQ(nearest.ulp(x), ulp_of(format, x)) << format.name << " " << x;
      if (!format.is_float() || !(std::abs(rounded) < max_finite(format))) continue;
      const double next = decode(format, next_up(format, encode(format, rounded)));
      ASSERT_EQ(nearest.next(rounded), next) << format.name << " " << rounded;
    }
  }
}

TEST(NearestRounding, KeepsZerosSignAndPassesSpecialValuesOn) {
  const NearestRounding nearest(format_named("float16"));
  EXPECT_TRUE(std::signbit(nearest.rounded(-0.0)));
  EXPECT_TRUE(std::signbit(nearest.rounded(-1e-30)));
  EXPECT_EQ(nearest.rounded(kInfinity), kInfinity);
  EXPECT_EQ(nearest.rounded(65519), 65504);
  EXPECT_EQ(nearest.rounded(65520), kInfinity);
  EXPECT_TRUE(std::isnan(nearest.rounded(kNan)));
  EXPECT_TRUE(std::isnan(nearest.ulp(kNan)));
}

}  // namespace
}  // namespace assay
