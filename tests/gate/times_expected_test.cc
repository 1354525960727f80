// Tests by how many times a bound exceeds the error of right results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/gate/bound_width.h"
#include "assay/op/generate.h"
#include "assay/op/sum_bound.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::Gt;
using testing::Lt;

double root_mean_square(const std::vector<double>& values) {
  double squares = 0;
  for (const double v : values) squares += v * v;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// A bound of 1 must be as many times the expected error as it is times the errors of a right
// result.
void expect_times_of_right_results(const Case& c, const Machine& machine) {
  const auto times = times_expected(c, machine, [](std::int64_t, double) { return 1.0; });
  ASSERT_TRUE(times);
  const std::vector<double> exact = golden_result(c).view().values(),
                            right = emulate(c, machine).view().values();
  std::vector<double> errors;
  for (std::size_t i = 0; i < exact.size(); ++i) errors.push_back(right[i] - exact[i]);
  EXPECT_THAT(*times * root_mean_square(errors), AllOf(Gt(0.7), Lt(1.5)));
}

TEST(TimesExpected, IsThatOfRightResults) {
  const Machine& machine = machine_named("ascend910b");
  const std::map<std::string, std::vector<std::int64_t>> shapes = {{"matmul", {64, 512, 48}},
                                                                   {"reduce_sum", {300, 512}},
                                                                   {"softmax", {300, 256}},
                                                                   {"layernorm", {300, 256}},
                                                                   {"div", {200, 200}}};
  for (const auto& [op, shape] : shapes) {
    SCOPED_TRACE(op);
    Recipe recipe{&format_named("float32"), shape};
    if (op == "reduce_sum") recipe.attributes["axis"] = std::int64_t{1};
    const Case c = generate_case(op, recipe);
    expect_times_of_right_results(c, machine);
  }
}

// The expected errors of a plan follow its tree and its formats: fewer bits with the same tree give
// larger errors.
TEST(TimesExpected, IsThatOfRightResultsOfAPlan) {
  for (const char* sums : {"float16", "float32"}) {
    SCOPED_TRACE(sums);
    Recipe recipe{&format_named("float16"), {250, 1024}};
    recipe.attributes = {{"axis", std::int64_t{1}},
                         {"order", std::string("lanes")},
                         {"lanes", std::int64_t{128}},
                         {"warp", std::int64_t{32}},
                         {"block_size", std::int64_t{256}},
                         {"sum_dtype", std::string(sums)},
                         {"second_order", std::string("lanes")},
                         {"second_lanes", std::int64_t{4}},
                         {"output_dtype", std::string("float32")}};
    const Case c = generate_case("reduce_sum", recipe);
    const Machine& machine = machine_named("hopper");
    expect_times_of_right_results(c, machine);
  }
}

// For a product, the bound is read at the elements of the sample, whatever operand is transposed.
TEST(TimesExpected, AsksWhereTheSampleLies) {
  Case c = generate_case("matmul", {&format_named("float32"), {40, 64, 24}});
  const std::vector<double> exact = golden_result(c).view().values();
  std::set<std::int64_t> asked;
  (void)times_expected(c, machine_named("cpu_fma"), [&](std::int64_t i, double value) {
    EXPECT_EQ(value, exact[static_cast<std::size_t>(i)]);
    asked.insert(i);
    return 1.0;
  });
  EXPECT_EQ(asked.size(), 256u);
  EXPECT_TRUE(asked.count(0));
  EXPECT_GT(*asked.rbegin(), 37 * 24);
}

TEST(TimesExpected, SaysNothingWhereTheoryDoesNot) {
  const auto one = [](std::int64_t, double) { return 1.0; };
  const auto times = [&](const std::string& op, const char* dtype,
                         std::vector<std::int64_t> shape) {
    return times_expected(generate_case(op, {&format_named(dtype), shape}), any_machine(), one);
  };
  EXPECT_FALSE(times("matmul", "bfloat16", {8, 8, 8}));
  EXPECT_FALSE(times("exp", "float32", {64}));
  EXPECT_TRUE(times("matmul", "float32", {8, 8, 8}));
  EXPECT_FALSE(times("add", "float32", {1 << 18}));
  EXPECT_TRUE(times("add", "float32", {1 << 16}));
}

TEST(TimesExpected, StandsInTheWordsOfDerivedTolerances) {
  const Case c = generate_case("matmul", {&format_named("float32"), {64, 4096, 64}});
  EXPECT_THAT(derived_tolerance(c).why, EndsWith("sum at most 2793)"));
  EXPECT_THAT(explained_tolerance(c).why,
              EndsWith("sum at most 2793); 2 900 times the expected error"));
  // A relative tolerance counts with the size of each element.
  const Case quotients = generate_case("div", {&format_named("float32"), {20, 20}});
  const DerivedTolerance of_div = derived_tolerance(quotients);
  ASSERT_GT(of_div.rtol, 0);
  const auto times = times_expected(quotients, any_machine(), [&](std::int64_t, double exact) {
    return of_div.atol + of_div.rtol * std::abs(exact);
  });
  ASSERT_TRUE(times);
  EXPECT_THAT(*times, AllOf(Gt(1), Lt(10)));
  EXPECT_THAT(explained_tolerance(quotients).why,
              EndsWith(formatted("; {} times the expected error", times_text(*times))));
  EXPECT_EQ(times_text(0.123), "0.12");
  EXPECT_EQ(times_text(9.5), "9.5");
  EXPECT_EQ(times_text(10.5), "11");
  EXPECT_EQ(times_text(99.4), "99");
  EXPECT_EQ(times_text(20344.0), "20 000");
  EXPECT_EQ(times_text(9.5e14), "950 000 000 000 000");
  EXPECT_EQ(times_text(1.5e15), "1.5e+15");
  EXPECT_EQ(times_text(3.2e30), "3.2e+30");
}

}  // namespace
}  // namespace assay
