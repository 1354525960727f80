// The quick sum has the bits of the scalar oracle, or leaves the sum to it.
#include "assay/identify/quick_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "assay/format/rounding.h"
#include "assay/machine/dot_oracle.h"
#include "identify/models.h"

namespace assay::identify {
namespace {

// Returns a value of a format: of any size, zero, subnormal or at either end of the range.
double wild(Random& random, const Format& format) {
  switch (random.below(8)) {
    case 0:
      return random.below(2) == 0 ? 0.0 : -0.0;
    case 1:
      return (random.below(2) == 0 ? 1 : -1) * min_subnormal(format) *
             static_cast<double>(1 + random.below(7));
    case 2:
      return round_to(format, random.normal());
    case 3:
      return max_finite(format) * (random.below(2) == 0 ? 1 : -1);
    default: {
      const double bound = max_finite(format);
      double value;
      do {
        value =
            round_to(format, std::ldexp(random.normal(), static_cast<int>(random.below(60)) - 30));
      } while (!(std::abs(value) <= bound));
      return value;
    }
  }
}

TEST(QuickSum, HasTheBitsOfTheOracle) {
  Random random(1, 0);
  int declined = 0;
  constexpr int kModels = 4000;
  for (int i = 0; i < kModels; ++i) {
    DotModel model = random_model(random, i % 3 == 0);
    if (i % 5 == 0 && model.kept_bits.value > 0) {
      model.sum_bits.value = static_cast<int>(10 + random.below(30));
      model.interleave.value = static_cast<int>(1 + random.below(4));
      model.reach.value = random.below(2) == 0 ? 0 : static_cast<int>(5 + random.below(30));
    }
    const QuickSum quick(model);
    const Format& format = format_named(model.input);
    const auto n = static_cast<std::int64_t>(1 + random.below(70));
    for (int repeat = 0; repeat < 4; ++repeat) {
      std::vector<double> a, b;
      for (std::int64_t k = 0; k < n; ++k) {
        const bool ordinary = repeat < 2;
        a.push_back(ordinary ? round_to(format, random.normal()) : wild(random, format));
        b.push_back(ordinary ? round_to(format, random.normal()) : wild(random, format));
      }
      const double c = repeat == 0 ? 0.0 : round_to(accumulator_format(model), random.normal());
      const double expected = dot_part_oracle(model, n, a.data(), 1, b.data(), 1, c);
      const auto sum = quick.part(n, a.data(), b.data(), c);
      if (!sum) {
        ++declined;
        EXPECT_GE(repeat, 2) << "ordinary sums are not left to the oracle";
        continue;
      }
      ASSERT_EQ(std::bit_cast<std::uint64_t>(*sum), std::bit_cast<std::uint64_t>(expected))
          << *sum << " is not " << expected << ": " << text_of_model(model) << ", " << n
          << " terms";
    }
  }
  EXPECT_LT(declined, 2 * kModels);
}

TEST(QuickSum, RoundsAsTheFormatDoes) {
  Random random(2, 0);
  for (const RoundingRow& row : deterministic_rounding_rows()) {
    for (const char* accumulator : {"float32", "float16", "bfloat16"}) {
      DotModel model = random_model(random, false);
      model.accumulator.value = accumulator;
      model.mantissa_bits.value = 0;
      model.rounding.value = row.rounding;
      model.flush_sums.value = false;
      const Rounder round(model);
      const Format& format = format_named(accumulator);
      for (int i = 0; i < 20000; ++i) {
        double value = std::ldexp(random.normal(), static_cast<int>(random.below(300)) - 150);
        // Half of the values are float32 numbers, or lie next to one.
        if (i % 2 == 0) value = round_to(format_named("float32"), value) * (1 + (i % 4) * 0x1p-52);
        EXPECT_EQ(std::bit_cast<std::uint64_t>(round(value)),
                  std::bit_cast<std::uint64_t>(round_to(format, value, row.rounding)))
            << value << " " << row.name << " " << accumulator;
      }
    }
  }
}

}  // namespace
}  // namespace assay::identify
