// Tests rows that are drawn from products and attention: their golden results are those of the
// whole.
#include "assay/op/row_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/machine/machine.h"
#include "assay/op/operator.h"
#include "error_of.h"
#include "vector_cases.h"

namespace assay {
namespace {

using cases::operation;
using cases::random_tensor;

std::string refusal_of(std::string_view text) {
  return error_of([&] { (void)parse_row_sample(text); });
}

TEST(RowSampleTest, TextsSayRowsAndSeed) {
  EXPECT_EQ(parse_row_sample("rows=7,seed=9").text(), "rows=7,seed=9");
  EXPECT_EQ(parse_row_sample("seed=9").text(), "rows=64,seed=9");
  EXPECT_EQ(parse_row_sample("rows=7").text(), "rows=7,seed=1");
  EXPECT_EQ(refusal_of("rows=0"),
            "sample 'rows=0': rows must be a whole number of at least 1, not '0'");
  EXPECT_EQ(refusal_of("rows"), "sample 'rows': rows must be a whole number of at least 1, not ''");
  EXPECT_EQ(refusal_of("seed=-1"),
            "sample 'seed=-1': seed must be a whole number of at least 0, not '-1'");
  EXPECT_EQ(refusal_of("rows=1,rows=2"), "sample 'rows=1,rows=2': rows is there twice");
  EXPECT_EQ(refusal_of("columns=2"),
            "sample 'columns=2': 'columns' is not known; it is rows=N,seed=N");
  EXPECT_EQ(refusal_of(""), "sample '': '' is not known; it is rows=N,seed=N");
}

using Attributes = std::initializer_list<std::pair<const char*, Attribute>>;

// Returns cases with every layout of the operands that the two operators take.
std::map<std::string, Case> sampled_cases() {
  std::map<std::string, Case> all;
  const auto product = [&](const char* name, const char* dtype, const Shape& a, const Shape& b,
                           const Attributes& attributes = {}) {
    all[name] =
        operation("matmul", {{"a", random_tensor(dtype, a, 1)}, {"b", random_tensor(dtype, b, 2)}},
                  attributes);
  };
  const Attribute yes = std::int64_t{1};
  product("plain", "bfloat16", {30, 17}, {17, 9});
  product("transposed", "float16", {17, 30}, {9, 17}, {{"transpose_a", yes}, {"transpose_b", yes}});
  product("one b for all", "float32", {2, 3, 10, 17}, {17, 9});
  product("one a for all", "bfloat16", {10, 17}, {6, 17, 9});
  product("batch", "bfloat16", {2, 3, 10, 17}, {2, 3, 17, 9});
  product("batch, transposed", "bfloat16", {6, 17, 10}, {6, 9, 17},
          {{"transpose_a", yes}, {"transpose_b", yes}});
  product("integers", "int8", {30, 17}, {17, 9});
  all["with a bias"] = all["batch"];
  all["with a bias"].inputs["bias"] = random_tensor("bfloat16", {9}, 3);
  const auto attention = [&](const char* name, const Shape& q, std::int64_t keys,
                             const Attributes& attributes = {}) {
    Shape k = q;
    k[q.size() - 2] = keys;
    all[name] = operation("attention",
                          {{"q", random_tensor("float16", q, 4)},
                           {"k", random_tensor("float16", k, 5)},
                           {"v", random_tensor("float16", k, 6)}},
                          attributes);
  };
  attention("attention", {24, 8}, 20);
  attention("causal attention", {24, 8}, 20, {{"causal", yes}});
  attention("heads", {2, 3, 12, 8}, 20, {{"scale", 0.25}});
  attention("causal heads in tiles", {2, 3, 12, 8}, 10,
            {{"causal", yes}, {"tile", std::int64_t{4}}});
  all["positions"] = all["causal heads in tiles"];
  std::vector<double> positions;
  for (int i = 0; i < 12; ++i) positions.push_back((i * 7) % 13);
  all["positions"].inputs["positions"] =
      Tensor::from_values(format_named("int32"), {12}, positions);
  for (auto& [name, c] : all) c.name = "case";
  return all;
}

// Expects that the rows equal those of the whole result, bit for bit.
void expect_rows_of(const SampledRows& sampled, const Tensor& rows, const Tensor& whole,
                    const std::string& of) {
  ASSERT_EQ(&rows.format(), &whole.format()) << of;
  ASSERT_EQ(whole.shape(), sampled.output) << of;
  ASSERT_EQ(rows.size(), std::ssize(sampled.rows) * whole.shape().back()) << of;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows.bits_at(i), whole.bits_at(sampled.whole_position(i))) << of << " " << i;
  }
}

TEST(RowSampleTest, ResultsAreTheRowsOfTheWhole) {
  for (const auto& [name, c] : sampled_cases()) {
    const Tensor golden = golden_result(c), emulated = emulate(c, machine_named("ascend910b"));
    for (const std::int64_t rows : {1, 5, 7, 1000}) {
      for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}}) {
        const SampledRows sampled = sample_rows(c, {.rows = rows, .seed = seed});
        const std::string of = formatted("{}, {} rows, seed {}", name, rows, seed);
        EXPECT_GE(std::ssize(sampled.rows), std::min(rows, sampled.of)) << of;
        EXPECT_EQ(std::set<std::int64_t>(sampled.rows.begin(), sampled.rows.end()).size(),
                  sampled.rows.size())
            << of;
        expect_rows_of(sampled, golden_result(sampled.test_case), golden, of);
        expect_rows_of(sampled, emulate(sampled.test_case, machine_named("ascend910b")), emulated,
                       of);
        expect_rows_of(sampled, sampled.of_output(golden), golden, of);
      }
    }
  }
}

// The rows come from as many matrices as possible, and the same number from each.
TEST(RowSampleTest, RowsComeEvenlyFromTheMatrices) {
  const std::map<std::string, Case> all = sampled_cases();
  for (const std::int64_t rows : {4, 6, 9, 12}) {
    std::map<std::int64_t, int> by_matrix;
    for (const std::int64_t row : sample_rows(all.at("batch"), {.rows = rows}).rows) {
      ++by_matrix[row / 10];
    }
    EXPECT_EQ(std::ssize(by_matrix), std::min<std::int64_t>(rows, 6)) << rows;
    for (const auto& [matrix, count] : by_matrix) EXPECT_EQ(count, rows <= 6 ? 1 : 2) << rows;
  }
}

TEST(RowSampleTest, EachRowIsAsLikelyAsAnyOther) {
  Case c = sampled_cases().at("batch");
  std::map<std::int64_t, int> drawn;
  constexpr int kSeeds = 6000;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const std::int64_t row : sample_rows(c, {.rows = 4, .seed = seed}).rows) ++drawn[row];
  }
  // The number of times that a row is drawn is binomial with p = 4 / 60: a mean of 400 and a
  // deviation of 19.3.
  ASSERT_EQ(drawn.size(), 60u);
  for (const auto& [row, count] : drawn) EXPECT_NEAR(count, 400, 5 * 19.3) << row;
  const auto rows = [&] { return sample_rows(c, {.rows = 4, .seed = 3}).rows; };
  const auto before = rows();
  EXPECT_EQ(rows(), before);
  c.name = "another case";
  EXPECT_NE(rows(), before);
}

// The wrong rows fill a few matrices, or are spread over all matrices. If the share of wrong rows
// is seen_share(n), at least 95 percent of the samples of n rows must hold a wrong row.
TEST(RowSampleTest, WhatIsSeenWith95PercentIsSeenThatOften) {
  EXPECT_NEAR(seen_share(64), 0.0457, 5e-5);
  EXPECT_DOUBLE_EQ(seen_share(1), 0.95);
  for (const std::int64_t rows : {1, 3, 64, 100000}) {
    EXPECT_NEAR(std::pow(1 - seen_share(rows), static_cast<double>(rows)), 0.05, 1e-10) << rows;
  }
  const Case c = operation("matmul", {{"a", random_tensor("bfloat16", {20, 10, 2}, 1)},
                                      {"b", random_tensor("bfloat16", {20, 2, 2}, 2)}});
  constexpr int kSeeds = 3000;
  for (const std::int64_t rows : {4, 40}) {
    const auto wrong = static_cast<std::int64_t>(std::ceil(200 * seen_share(rows)));
    int in_few_matrices = 0, spread = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      bool first = false, stepping = false;
      for (const std::int64_t row : sample_rows(c, {.rows = rows, .seed = seed}).rows) {
        first = first || row < wrong;
        stepping = stepping || row * wrong % 200 < wrong;
      }
      in_few_matrices += first ? 1 : 0;
      spread += stepping ? 1 : 0;
    }
    // The limit is four standard deviations of 3000 draws below 95 percent.
    EXPECT_GE(in_few_matrices, 0.934 * kSeeds) << rows;
    EXPECT_GE(spread, 0.934 * kSeeds) << rows;
  }
}

TEST(RowSampleTest, WhatHasNoRowsIsRefused) {
  Case sum = operation(
      "add", {{"a", random_tensor("float32", {4}, 1)}, {"b", random_tensor("float32", {4}, 2)}});
  sum.name = "sum";
  EXPECT_EQ(why_no_rows(sum), "rows can be drawn only for products and attention");
  EXPECT_THROW(sample_rows(sum, {}), std::invalid_argument);
  EXPECT_THROW(sample_rows(sampled_cases().at("plain"), {.rows = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace assay
