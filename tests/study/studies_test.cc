// Tests the results of each study with few repeats: numbers that do not depend on luck, and numbers
// that can also be computed in another way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/format/rounding.h"
#include "assay/machine/machine.h"
#include "assay/study/accumulation_order.h"
#include "assay/study/fma.h"
#include "assay/study/fp8.h"
#include "assay/study/reduction.h"

namespace assay::study {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

double number_at(const StudyTable& t, std::size_t row, std::size_t column) {
  const StudyCell& cell = t.rows.at(row).at(column);
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*count);
  return std::get<double>(cell);
}

std::string text_at(const StudyTable& t, std::size_t row, std::size_t column) {
  return std::get<std::string>(t.rows.at(row).at(column));
}

// -- fma --

// Extended precision rounds neither the product nor the sum, because both have few bits.
float one_rounding(float a, float x, float b) {
  return static_cast<float>(static_cast<long double>(a) * x + b);
}
float two_roundings(float a, float x, float b) {
  return static_cast<float>(
      static_cast<long double>(static_cast<float>(static_cast<long double>(a) * x)) + b);
}

TEST(StudyFma, SumsThatCancelLoseAllDigitsByASecondRounding) {
  const StudyResult result = study_fma({.seed = 4, .repeats = 500});
  const StudyTable& errors = result.table("errors");
  ASSERT_EQ(errors.rows.size(), 3u);
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(number_at(errors, row, 1), 500);
    EXPECT_LE(number_at(errors, row, 3), number_at(errors, row, 4)) << "a mean and the largest";
    EXPECT_LE(number_at(errors, row, 4), 0.5 + 1e-6) << "one rounding";
    EXPECT_LE(number_at(errors, row, 5), number_at(errors, row, 6));
  }
  // A product minus its own rounded value has few bits. One rounding gives it exactly. Two
  // roundings leave nothing, which is off by about 2^23 ulps, the size of the result.
  EXPECT_EQ(number_at(errors, 2, 4), 0);
  EXPECT_GT(number_at(errors, 2, 5), 0x1p22);
  EXPECT_LE(number_at(errors, 2, 6), 0x1p24);
  // Counts the results that differ, with the same draws and by another arithmetic.
  Random random(4, 100);
  int differ = 0;
  for (int i = 0; i < 500; ++i) {
    const auto a = static_cast<float>(random.normal()), x = static_cast<float>(random.normal()),
               b = static_cast<float>(random.normal());
    differ += one_rounding(a, x, b) != two_roundings(a, x, b) ? 1 : 0;
  }
  EXPECT_EQ(number_at(errors, 0, 2), differ / 500.0);
  const StudyChart& chart = result.charts.at(0);
  ASSERT_EQ(chart.series.size(), 2u);
  for (const StudySeries& s : chart.series) {
    double all = 0;
    for (const double count : s.y) all += count;
    EXPECT_EQ(all, 500) << s.name << ": no result is left out";
  }
}

TEST(StudyFma, IndicesFlipWhereASecondRoundingDoesIt) {
  const StudyResult result = study_fma({.repeats = 1});
  const StudyTable& t = result.table("indices");
  // The rows are the published example, and then the first ten indices that change.
  ASSERT_EQ(t.rows.size(), 11u);
  std::size_t flips = 0;
  for (int a = 1; a <= 64; ++a) {
    for (int tenth = 1; tenth <= 1000; ++tenth) {
      const float whole = static_cast<float>(a), x = static_cast<float>(tenth) * 0.1f;
      const float b = 1 - std::round(whole * x);
      const float one = one_rounding(whole, x, b), two = two_roundings(whole, x, b);
      if (static_cast<int>(one) == static_cast<int>(two)) continue;
      ++flips;
      if (flips > 10) continue;
      EXPECT_EQ(number_at(t, flips, 0), a);
      EXPECT_EQ(std::stof(text_at(t, flips, 1)), x);
      EXPECT_EQ(std::stof(text_at(t, flips, 2)), b);
      EXPECT_EQ(std::stof(text_at(t, flips, 3)), one);
      EXPECT_EQ(std::stof(text_at(t, flips, 4)), two);
      EXPECT_EQ(number_at(t, flips, 5), static_cast<int>(one));
      EXPECT_EQ(number_at(t, flips, 6), static_cast<int>(two));
    }
  }
  for (std::size_t row = 0; row < 11; ++row) {
    EXPECT_EQ(number_at(t, row, 7), 2000) << "table[0] and table[1]";
  }
  ASSERT_EQ(result.findings.size(), 8u);
  EXPECT_EQ(result.findings[3].text,
            formatted("{} of 64000 inputs a x + b flip int(y) by their second rounding, 2000 off "
                      "behind the index",
                      flips));
  EXPECT_TRUE(result.findings[3].holds);
}

// Boxes from y1 to y1 + size have 7 bins each, at a scale of 1/16. A bin begins at y1 / 16 - 1/2
// plus a multiple of the height of a bin, which is rounded to float32.
TEST(StudyFma, CoordinatesOfRegionsFlipAsTheirSumsDo) {
  const StudyResult result = study_fma({.repeats = 1});
  std::int64_t flips = 0, all = 0;
  // The image is 12 pixels high.
  std::set<std::pair<int, int>> over_the_end;
  std::vector<std::vector<std::string>> first;
  for (int size = 1; size <= 256; ++size) {
    const float bin = static_cast<float>(size) / 16 / 7;
    const int samples = (size + 111) / 112;
    for (int y1 = 0; y1 < 256; ++y1) {
      const float start = static_cast<float>(y1) / 16 - 0.5f;
      for (int at = 0; at < 7; ++at) {
        for (int i = 0; i < samples; ++i) {
          ++all;
          const float within = (static_cast<float>(i) + 0.5f) * bin / static_cast<float>(samples);
          const float one = one_rounding(static_cast<float>(at), bin, start) + within,
                      two = two_roundings(static_cast<float>(at), bin, start) + within;
          if ((one > 12) != (two > 12)) over_the_end.emplace(y1, size);
          if (static_cast<int>(one) == static_cast<int>(two)) continue;
          ++flips;
          if (flips <= 10) {
            first.push_back({formatted("{}", y1), formatted("{}", y1 + size), formatted("{}", at),
                             formatted("{}", i)});
          }
        }
      }
    }
  }
  const StudyTable& t = result.table("edges");
  EXPECT_THAT(t.title,
              StartsWith(formatted("deform_roi_pool: {} of all {} coordinates y of rois of "
                                   "whole numbers",
                                   flips, all)));
  ASSERT_EQ(t.rows.size(), 10u);
  for (std::size_t row = 0; row < 10; ++row) {
    for (std::size_t column = 0; column < 4; ++column) {
      EXPECT_EQ(formatted("{}", number_at(t, row, column)), first[row][column]) << row;
    }
    EXPECT_NE(std::stof(text_at(t, row, 4)), std::stof(text_at(t, row, 5)));
  }
  EXPECT_THAT(result.findings.at(7).text,
              HasSubstr(formatted("of an image of 1000s {} rois then differ by up to ",
                                  over_the_end.size())));
  // Four kinds of random regions. A few in a hundred of their coordinates differ.
  const StudyTable& pool = result.table("deform_roi_pool");
  ASSERT_EQ(pool.rows.size(), 4u);
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_GT(number_at(pool, row, 2), 0.02);
    EXPECT_LT(number_at(pool, row, 2), 0.12);
    EXPECT_EQ(number_at(pool, row, 4), 20000 * 49);
    EXPECT_LT(number_at(pool, row, 5), 0.01) << "bilinear samples hide a flip";
  }
  EXPECT_LT(number_at(pool, 0, 3), 5) << "of random regions";
  EXPECT_GT(number_at(pool, 2, 3), 50) << "of whole numbers";
}

// -- reduction --

std::vector<double> drawn(const char* dtype) {
  Random random(1, 300);
  std::vector<double> values(1 << 20);
  for (double& v : values) v = round_to(format_named(dtype), random.normal());
  return values;
}

float pairs(const double* x, std::size_t n) {
  if (n == 1) return static_cast<float>(x[0]);
  return pairs(x, n / 2) + pairs(x + n / 2, n / 2);
}

// Results of an H200 (PyTorch 2.11, Triton 3.6, num_warps 4) for the first draw of seed 1, with
// blocks of 64 to 1024.
constexpr double kRecorded[2][5] = {
    {723.181640625, 723.13525390625, 722.7861328125, 722.072265625, 722.666015625},
    {722.8001098632812, 722.800048828125, 722.800048828125, 722.8001708984375, 722.8001708984375}};

TEST(StudyReduction, OneDrawIsSummedAsByHandAndAsOnAnH200) {
  const StudyResult result = study_reduction({.seed = 1, .repeats = 1});
  // Plain loops compute the float32 sums in every order.
  const std::vector<double> x = drawn("float32");
  long double exact = 0;
  float sequential = 0;
  for (const double v : x) {
    exact += v;
    sequential += static_cast<float>(v);
  }
  const StudyTable& orders = result.table("orders");
  ASSERT_EQ(orders.rows.size(), 14u);
  std::vector<float> sums;
  for (std::size_t row = 7; row < 14; ++row) {
    EXPECT_EQ(text_at(orders, row, 0), "float32");
    const std::string order = text_at(orders, row, 1);
    float sum = sequential;
    if (order == "pairwise") {
      sum = pairs(x.data(), x.size());
    } else if (order.starts_with("block ")) {
      const std::size_t block = std::stoul(order.substr(6));
      sum = 0;
      for (std::size_t at = 0; at < x.size(); at += block) sum += pairs(x.data() + at, block);
    } else {
      EXPECT_EQ(order, "sequential");
    }
    sums.push_back(sum);
    const auto off = static_cast<double>(std::abs(static_cast<long double>(sum) - exact));
    EXPECT_NEAR(number_at(orders, row, 3), off, 1e-9) << order;
    EXPECT_EQ(number_at(orders, row, 3), number_at(orders, row, 4)) << "of one draw";
  }
  const auto [low, high] = std::minmax_element(sums.begin(), sums.end());
  const StudyTable& spread = result.table("spread");
  EXPECT_EQ(number_at(spread, 0, 2), static_cast<double>(*high) - static_cast<double>(*low));
  EXPECT_GT(number_at(spread, 0, 1), 100 * number_at(spread, 0, 2));
  const StudyTable& published = result.table("published");
  ASSERT_EQ(published.rows.size(), 2u);
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(static_cast<float>(number_at(published, row, 2) + number_at(published, row, 3 + i)),
                static_cast<float>(kRecorded[row][i]))
          << row << " " << i;
    }
  }
  EXPECT_NEAR(number_at(published, 1, 2), static_cast<double>(exact), 1e-9);
  // Parts of K change bits of the result. Tiles of M and N do not.
  const StudyTable& tiles = result.table("tiles");
  ASSERT_EQ(tiles.rows.size(), 12u);
  for (std::size_t row = 0; row < 12; ++row) {
    const bool of_k = text_at(tiles, row, 2) == "K 32";
    EXPECT_EQ(of_k, row % 4 == 3);
    EXPECT_EQ(number_at(tiles, row, 4) > 30000, of_k) << row;
    EXPECT_EQ(number_at(tiles, row, 5) > 0, of_k) << row;
  }
  const StudyTable& examples = result.table("examples");
  EXPECT_EQ(number_at(examples, 0, 1), 0) << "2^24 + 1 is no float32";
  EXPECT_EQ(number_at(examples, 1, 1), 1);
  ASSERT_EQ(result.findings.size(), 6u);
  for (const StudyFinding& f : result.findings) EXPECT_TRUE(f.holds) << f.text;
  EXPECT_EQ(result.findings[5].text, "(2^24 + 1) - 2^24 is 0 or 1, by the order");
}

// -- fp8 --

TEST(StudyFp8, RoundedProductsByAnotherArithmetic) {
  const StudyResult result = study_fp8({.seed = 9, .repeats = 3});
  const StudyTable& t = result.table("rounded_products");
  ASSERT_EQ(t.rows.size(), 11u);
  // Products of 0.01 and 0.01 are below half of the smallest e4m3: all is noise.
  for (std::size_t column = 2; column < 8; ++column) EXPECT_EQ(number_at(t, 0, column), 0);
  // The values are scaled by 64, and rounded to the format with ties away from 0.
  const Format& e4m3 = format_named("float8_e4m3fn");
  const auto rounded = [&](double v) {
    return std::clamp(round_to(e4m3, v, Rounding::kNearestAway), -448.0, 448.0);
  };
  double signal = 0, noise = 0;
  for (std::uint64_t i = 0; i < 3; ++i) {
    Random random(9, 1000 + i);
    double sum = 0;
    long double exact = 0;
    for (int k = 0; k < 1024; ++k) {
      const double x = 0.01 * random.normal(), y = 0.01 * random.normal();
      exact += static_cast<long double>(x) * y;
      sum = rounded(sum + rounded(rounded(64 * x) * rounded(64 * y)));
    }
    const auto truth = static_cast<double>(exact);
    signal += truth * truth;
    noise += std::pow(static_cast<double>(static_cast<float>(sum / 4096)) - truth, 2);
  }
  EXPECT_NEAR(number_at(t, 6, 2), 10 * std::log10(signal / noise), 1e-6);
  // Up to K = 128 nothing is promoted. Beyond that, promoted sums are nearer.
  const StudyTable& promotion = result.table("promotion");
  ASSERT_EQ(promotion.rows.size(), 6u);
  EXPECT_EQ(number_at(promotion, 0, 2), number_at(promotion, 0, 3));
  for (std::size_t row = 1; row < 6; ++row) {
    EXPECT_GT(number_at(promotion, row, 2), 2 * number_at(promotion, row, 3)) << row;
  }
  EXPECT_EQ(result.table("correlated").rows.size(), 3u * 2 * 6);
  EXPECT_EQ(result.table("tensor_core").rows.size(), 4u);
  EXPECT_EQ(result.findings.size(), 10u);
}

// -- accumulation_order --

TEST(StudyAccumulationOrder, EveryTreeIsThatOfItsRow) {
  const StudyResult result = study_accumulation_order({.threads = 2});
  const StudyTable& t = result.table("trees");
  std::int64_t products = 0;
  bool saw_sequential = false, saw_hopper = false;
  for (std::size_t row = 0; row < t.rows.size(); ++row) {
    const std::string op = text_at(t, row, 0), machine = text_at(t, row, 1),
                      dtype = text_at(t, row, 2), order = text_at(t, row, 3),
                      tree = text_at(t, row, 5);
    EXPECT_EQ(text_at(t, row, 6), "yes") << op << " " << machine << " " << dtype << " " << order;
    products += op != "reduce_sum" ? 1 : 0;
    if (machine == "cpu_fma" && dtype == "float32" && order == "sequential") {
      saw_sequential = true;
      EXPECT_EQ(tree, "chain of 63, each the add of what came before and 1 more: terms 0 to 63");
    }
    if (machine == "hopper" && dtype == "float16" && op == "matmul") {
      saw_hopper = true;
      EXPECT_EQ(tree, "aligned sum of 9: terms 0 to 71");
    }
  }
  EXPECT_TRUE(saw_sequential && saw_hopper);
  std::int64_t models = 0;
  for (const Machine& m : machines()) {
    for (const DotModel& d : m.dots) {
      if (d.input != "int8") models += format_named(d.input).bits == 8 ? 2 : 1;
    }
  }
  EXPECT_EQ(products, models);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_TRUE(result.findings[0].holds);
  EXPECT_EQ(result.findings[0].text,
            formatted("{0} of {0} trees are those of the rows of the tables", t.rows.size()));
  EXPECT_THAT(result.drawings,
              testing::Contains(StartsWith("matmul of float16 on hopper, as it is:\n"
                                           "aligned sum of 9: terms 0 to 71\n"
                                           "  chain of 3, each the aligned sum of what came "
                                           "before and 16 more: terms 0 to 63\n")));
}

}  // namespace
}  // namespace assay::study
