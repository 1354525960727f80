// Compares golden means with the means of fractions, which golden_means.py wrote to the table.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "vector_cases.h"

namespace assay {
namespace {

using cases::operation;
using cases::values;

TEST(GoldenMeans, AreTheExactSumOverNRoundedOnce) {
  std::ifstream file(ASSAY_SOURCE_DIR "/tests/op/golden_means.txt");
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string dtype, word;
    words >> dtype >> word;
    const double mean = std::strtod(word.c_str(), nullptr);
    std::vector<double> x;
    while (words >> word) x.push_back(std::strtod(word.c_str(), nullptr));
    const auto n = static_cast<std::int64_t>(x.size());
    // The values are a row, or a column beside another column.
    const Case row = operation("reduce_mean", {{"x", values(dtype.c_str(), {1, n}, x)}},
                               {{"axis", std::int64_t{1}}});
    std::vector<double> twice;
    for (const double v : x) twice.insert(twice.end(), {v, -v});
    const Case columns = operation("reduce_mean", {{"x", values(dtype.c_str(), {n, 2}, twice)}},
                                   {{"axis", std::int64_t{0}}});
    for (const Case& c : {row, columns}) {
      const Tensor y = dtype == "float64" ? golden_result(c) : emulate(c, machine_named("exact"));
      EXPECT_EQ(y.view().value_at(0), mean) << line;
      if (y.size() == 2) {
        EXPECT_EQ(y.view().value_at(1), -mean) << line;
      }
    }
    ++rows;
  }
  EXPECT_EQ(rows, 98);
}

TEST(GoldenMeans, OfNaNAndInfinity) {
  const double inf = HUGE_VAL;
  const auto mean = [](const std::vector<double>& x) {
    return golden_result(operation("reduce_mean", {{"x", values("float64", x)}}))
        .view()
        .value_at(0);
  };
  EXPECT_EQ(mean({1, inf, 1e308}), inf);
  EXPECT_EQ(mean({-inf, 2}), -inf);
  EXPECT_TRUE(std::isnan(mean({-inf, inf})));
  EXPECT_TRUE(std::isnan(mean({1, std::nan("")})));
}

}  // namespace
}  // namespace assay
