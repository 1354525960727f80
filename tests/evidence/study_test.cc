// Findings of the studies, for several seeds. The numbers of samples are so large that no finding
// is luck.
#include "assay/study/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <variant>

#include "assay/machine/machine.h"
#include "assay/study/accumulation_order.h"
#include "assay/study/fma.h"
#include "assay/study/fp8.h"
#include "assay/study/reduction.h"

namespace assay {
namespace {

double number_at(const study::StudyTable& t, std::size_t row, std::size_t column) {
  const study::StudyCell& cell = t.rows.at(row).at(column);
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*count);
  return std::get<double>(cell);
}

std::string text_at(const study::StudyTable& t, std::size_t row, std::size_t column) {
  return std::get<std::string>(t.rows.at(row).at(column));
}

// Expects `count` findings that all hold. Each test then checks their numbers.
void expect_all_hold(const study::StudyResult& result, std::size_t count) {
  EXPECT_EQ(result.findings.size(), count);
  for (const study::StudyFinding& f : result.findings) EXPECT_TRUE(f.holds) << f.text;
}

// Returns for how many of the study's inputs the integer part of a x + b changes if the product is
// rounded first. The arithmetic is exact, because 64-bit mantissas hold a x and the sum.
std::int64_t flips_of_indices() {
  std::int64_t flips = 0;
  for (int a = 1; a <= 64; ++a) {
    for (int tenth = 1; tenth <= 1000; ++tenth) {
      const float x = static_cast<float>(tenth) * 0.1f;
      const auto product = static_cast<long double>(x) * a;
      const long double b = 1 - std::round(static_cast<long double>(static_cast<float>(product)));
      const auto one = static_cast<float>(product + b);
      const auto two = static_cast<float>(static_cast<float>(product) + b);
      flips += static_cast<int>(one) != static_cast<int>(two) ? 1 : 0;
    }
  }
  return flips;
}

TEST(StudyEvidence, Fma) {
  const std::string flips = std::to_string(flips_of_indices()) + " of 64000 inputs";
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    const study::StudyResult result = study::study_fma({.seed = seed});
    expect_all_hold(result, 8);
    // Errors in ulps of a x + b. The error of one rounding is uniform up to 1/2, so its mean is 1/4
    // if nothing cancels. If b is -a x, rounded, only the rest of the product is left. One rounding
    // gives this rest exactly, and two roundings lose all of it.
    const study::StudyTable& errors = result.table("errors");
    for (std::size_t row = 0; row < 3; ++row) EXPECT_LE(number_at(errors, row, 4), 0.5 + 1e-6);
    EXPECT_NEAR(number_at(errors, 0, 3), 0.25, 0.01);
    EXPECT_GT(number_at(errors, 0, 5), 0.25);
    EXPECT_EQ(number_at(errors, 2, 4), 0);
    EXPECT_GT(number_at(errors, 2, 6), 1e4);
    EXPECT_GT(number_at(errors, 2, 2), 0.99) << "few products are exact";
    EXPECT_THAT(result.findings.at(3).text, testing::HasSubstr(flips));
    const study::StudyTable& indices = result.table("indices");
    for (std::size_t row = 0; row < indices.rows.size(); ++row) {
      EXPECT_NE(number_at(indices, row, 5), number_at(indices, row, 6));
      EXPECT_EQ(number_at(indices, row, 7), 2000);
    }
    const study::StudyTable& pool = result.table("deform_roi_pool");
    ASSERT_EQ(pool.rows.size(), 4u);
    for (std::size_t row = 0; row < 4; ++row) {
      EXPECT_GT(number_at(pool, row, 2), 0.02);
      EXPECT_LT(number_at(pool, row, 2), 0.12);
    }
    for (const std::size_t random_rois : {std::size_t{0}, std::size_t{1}})
      EXPECT_LT(number_at(pool, random_rois, 3), 5);
    EXPECT_GT(number_at(pool, 2, 3), 50);
    EXPECT_LT(number_at(pool, 2, 3), 250);
  }
}

TEST(StudyEvidence, Reduction) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    const study::StudyResult result = study::study_reduction({.seed = seed});
    expect_all_hold(result, 6);
    // Roundings of float16 are 2^13 times those of float32. Sums by blocks hide some of that.
    const study::StudyTable& spread = result.table("spread");
    const double f16 = number_at(spread, 0, 1), f32 = number_at(spread, 0, 2);
    EXPECT_GT(f32, 0);
    EXPECT_LT(f32, 0.5);
    EXPECT_GT(f16, 100 * f32);
    EXPECT_LT(f16, 0x1p13 * 32 * f32);
    EXPECT_DOUBLE_EQ(number_at(spread, 0, 3), f16 / f32);
    EXPECT_LT(number_at(spread, 1, 2), 0.02);
    EXPECT_GT(number_at(spread, 1, 1), 0.05);
    EXPECT_GT(number_at(spread, 1, 1), 20 * number_at(spread, 1, 2));
    for (const std::size_t column : {std::size_t{1}, std::size_t{2}}) {
      EXPECT_LE(number_at(spread, 1, column), number_at(spread, 0, column)) << "some of all orders";
    }
    const study::StudyTable& tiles = result.table("tiles");
    int of_k = 0;
    for (std::size_t row = 0; row < tiles.rows.size(); ++row) {
      const bool k = text_at(tiles, row, 2).front() == 'K';
      EXPECT_EQ(number_at(tiles, row, 3), 65536);
      EXPECT_EQ(number_at(tiles, row, 4) > 0, k) << text_at(tiles, row, 2);
      EXPECT_EQ(number_at(tiles, row, 5) > 0, k);
      of_k += k ? 1 : 0;
    }
    EXPECT_EQ(of_k, 3);
    EXPECT_EQ(tiles.rows.size(), 3u * 4);
    const study::StudyTable& examples = result.table("examples");
    EXPECT_EQ(number_at(examples, 0, 1), 0) << "2^24 + 1 is no float32";
    EXPECT_EQ(number_at(examples, 1, 1), 1);
  }
}

// Results of an H200 (PyTorch 2.11, Triton 3.6, num_warps 4) for the draws of seed 1, with blocks
// of 64 to 1024: float16, then float32.
constexpr double kRecorded[5][2][5] = {
    {{723.181640625, 723.13525390625, 722.7861328125, 722.072265625, 722.666015625},
     {722.8001098632812, 722.800048828125, 722.800048828125, 722.8001708984375, 722.8001708984375}},
    {{-2264.325439453125, -2264.3642578125, -2262.9296875, -2263.9765625, -2264.75},
     {-2264.0966796875, -2264.0966796875, -2264.0966796875, -2264.096435546875, -2264.0966796875}},
    {{260.771240234375, 260.6328125, 259.3671875, 258.9765625, 259.291015625},
     {259.4937744140625, 259.49383544921875, 259.4937744140625, 259.4940185546875, 259.494140625}},
    {{-380.08544921875, -379.7001953125, -382.0185546875, -380.8349609375, -380.806640625},
     {-381.2320861816406, -381.2320861816406, -381.2318420410156, -381.2319030761719,
      -381.2320556640625}},
    {{-891.90234375, -891.86669921875, -891.6328125, -891.0185546875, -891.59375},
     {-892.1292724609375, -892.1292724609375, -892.1292724609375, -892.1292724609375,
      -892.1290283203125}},
};

// The published experiment in two stages gives the bits of an H200.
TEST(StudyEvidence, TheExperimentIsThatOfAnH200) {
  const study::StudyResult result = study::study_reduction({.seed = 1});
  const study::StudyTable& t = result.table("published");
  ASSERT_EQ(t.rows.size(), 10u);
  for (std::size_t row = 0; row < 10; ++row) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (std::size_t i = 0; i < 5; ++i) {
      const double sum = number_at(t, row, 2) + number_at(t, row, 3 + i);
      const double recorded = kRecorded[row / 2][row % 2][i];
      EXPECT_EQ(static_cast<float>(sum), static_cast<float>(recorded)) << row << " " << i;
      low = std::min(low, recorded);
      high = std::max(high, recorded);
    }
    EXPECT_NEAR(number_at(t, row, 8), high - low, 1e-7);
  }
}

TEST(StudyEvidence, Fp8) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    const study::StudyResult result = study::study_fp8({.seed = seed});
    expect_all_hold(result, 10);
    // The rows of this table are the scales from 1 to 64 by doubling, then chunks of 512 and 128,
    // then block scales of 512 and 128. Column 2 has the SNR.
    const study::StudyTable& steps = result.table("rounded_products");
    ASSERT_EQ(steps.rows.size(), 11u);
    const auto snr = [&](std::size_t row) { return number_at(steps, row, 2); };
    EXPECT_NEAR(snr(0), 0, 1) << "products of 0.01 and 0.01 are below the smallest e4m3";
    EXPECT_GT(snr(6), 1);
    EXPECT_LT(snr(6), 10);
    for (std::size_t row = 7; row < 11; ++row) EXPECT_GT(snr(row), snr(row - 1)) << row;
    // This table has a row for each method, for a sum of 512 and a longer one, and for six values
    // of rho from 0 to 0.99.
    const study::StudyTable& correlated = result.table("correlated");
    ASSERT_EQ(correlated.rows.size(), 3u * 2 * 6);
    const auto at = [&](std::size_t method, std::size_t length, std::size_t rho,
                        std::size_t column) {
      return number_at(correlated, method * 12 + length * 6 + rho, column);
    };
    const auto growth = [&](std::size_t length) {
      return at(0, length, 5, 4) / at(0, length, 0, 4);
    };
    EXPECT_EQ(at(0, 0, 5, 2), 0.99);
    EXPECT_GT(growth(0), 1);
    EXPECT_GT(growth(1), growth(0));
    for (std::size_t m = 0; m < 3; ++m) {
      const auto width = [&](std::size_t rho) { return at(m, 1, rho, 9) - at(m, 1, rho, 7); };
      EXPECT_LT(width(5), width(0)) << "between the tenths, method " << m;
      EXPECT_GT(at(m, 1, 5, 6), at(m, 1, 0, 6)) << "the worst case, method " << m;
    }
    for (std::size_t m = 0; m < 2; ++m) EXPECT_LT(at(m, 1, 5, 10), at(m, 1, 0, 10)) << m;
    const auto gain = [&](std::size_t m) { return at(m, 1, 5, 5) - at(0, 1, 5, 5); };
    EXPECT_GT(gain(1), 5);
    EXPECT_GT(gain(2), gain(1) + 10);
    const study::StudyTable& core = result.table("tensor_core");
    EXPECT_GT(number_at(core, 0, 2), 20);
    EXPECT_LT(number_at(core, 0, 2), 25);
    const study::StudyTable& promotion = result.table("promotion");
    for (std::size_t row = 0; row < promotion.rows.size(); ++row) {
      // With T chunks, each chunk cuts 32 products and the sum, each by less than 2^-13 of the sum
      // so far, which grows evenly. Then the sum is cut once more.
      const double chunks = number_at(promotion, row, 0) / 32;
      EXPECT_LT(number_at(promotion, row, 2), 34 * 0x1p-13 * (chunks + 1) / 2 * 1.1);
      EXPECT_LE(number_at(promotion, row, 3), number_at(promotion, row, 2));
    }
    EXPECT_GT(number_at(promotion, 5, 2), 0.05);
    EXPECT_LT(number_at(promotion, 5, 2), 0.085);
    EXPECT_GT(number_at(promotion, 5, 3), 0.0002);
    EXPECT_LT(number_at(promotion, 5, 3), 0.001);
  }
}

// Every model of every machine is probed, also fp8 with promotion, except for models whose sums are
// exact.
TEST(StudyEvidence, AccumulationOrder) {
  const study::StudyResult result = study::study_accumulation_order({});
  expect_all_hold(result, 1);
  std::int64_t products = 0;
  const study::StudyTable& t = result.tables.at(0);
  for (std::size_t row = 0; row < t.rows.size(); ++row) {
    EXPECT_EQ(text_at(t, row, 6), "yes") << text_at(t, row, 1) << " " << text_at(t, row, 2);
    products += text_at(t, row, 0) != "reduce_sum" ? 1 : 0;
  }
  std::int64_t models = 0;
  for (const Machine& m : machines()) {
    for (const DotModel& d : m.dots) {
      if (d.input != "int8") models += d.input.substr(0, 6) == "float8" ? 2 : 1;
    }
  }
  EXPECT_EQ(products, models);
  EXPECT_GT(static_cast<std::int64_t>(t.rows.size()), products);
}

// With fused multiply-adds, some 3 to 8 percent of deform_roi_pool's coordinates differ (published:
// 5 percent). For rois at whole numbers, some 100 in a million have another integer part
// (published: 115).
TEST(StudyEvidence, DeformRoiPoolCoordinates) {
  const study::StudyResult result = study::study_fma({});
  const study::StudyTable& t = result.table("deform_roi_pool");
  EXPECT_GT(number_at(t, 0, 1), 3e6);
  EXPECT_NEAR(number_at(t, 0, 2), 0.075, 0.01);
  EXPECT_NEAR(number_at(t, 2, 2), 0.031, 0.005);
  EXPECT_LT(number_at(t, 0, 3), 3);
  EXPECT_NEAR(number_at(t, 2, 3), 100, 45);
  EXPECT_LT(number_at(t, 2, 5), 1e-2) << "bilinear samples are continuous";
  // This finding does not depend on draws, because it covers all rois of whole numbers: 94 of
  // 774144 coordinates.
  for (const study::StudyFinding& f : result.findings) {
    if (f.text.find("of all rois") == 0) {
      EXPECT_EQ(f.text, "of all rois of whole numbers 121 in a million coordinates flip");
    }
  }
}

// The published mean relative error of a 14-bit accumulator, uniform(0, 1), K = 4096: 6.6 percent,
// and 0.05 percent with promotion. Over 200 draws these figures move by less than a hundredth.
TEST(StudyEvidence, PromotionOfBiasedSums) {
  const study::StudyResult result = study::study_fp8({});
  const study::StudyTable& t = result.table("promotion");
  EXPECT_EQ(number_at(t, 5, 0), 4096);
  EXPECT_NEAR(number_at(t, 5, 2), 0.066, 0.001);
  EXPECT_NEAR(number_at(t, 5, 3), 0.0005, 0.00002);
  const study::StudyTable& core = result.table("tensor_core");
  EXPECT_NEAR(number_at(core, 0, 2), 22, 1.5);
}

}  // namespace
}  // namespace assay
