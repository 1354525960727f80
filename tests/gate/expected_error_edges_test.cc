// Tests the edges of the standard `expected_error`: the policies that stay if the operator's own
// bound replaces it, results of another dtype, and errors exactly at a limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/gate/bound_width.h"
#include "assay/gate/gate.h"
#include "assay/gate/likely_arithmetic.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Case with_golden(Case c) {
  c.output().golden = golden_result(c);
  return c;
}

// Returns a product of equal factors. The errors of its sums have one sign, which is not chance.
Case equal_products() {
  Case c = generate_case("matmul", {&format_named("float32"), {4, 3000, 4}});
  for (auto& [name, input] : c.inputs) {
    const std::vector<double> values(static_cast<std::size_t>(input.size()),
                                     round_to(input.format(), 0.1));
    input = Tensor::from_values(input.format(), input.shape(), values);
  }
  return with_golden(c);
}

ElementCheck check_of(const Case& c, const Format& output, const BoundRequest& request) {
  return element_checks(c, output, {.bounds = request}).at(0);
}

// Expects that the bound that replaces the standard has the operator's rule, and that all its
// policies come from the request.
void expect_policies(const Case& c, const BoundRequest& request) {
  const Format& f = format_named("float32");
  const Bound asked = *choose_bounds(c, f, request).at(0).bound;
  const ElementCheck check = check_of(c, f, request);
  ASSERT_TRUE(check.bound);
  EXPECT_THAT(check.notes,
              testing::Contains(testing::StartsWith("judged by the operator's own bound")));
  const Bound& own = *check.bound;
  EXPECT_NE(own.rule, Rule::kExpectedError);
  EXPECT_EQ(own.standard, asked.standard);
  EXPECT_EQ(own.origin, asked.origin);
  EXPECT_EQ(own.machine, asked.machine);
  EXPECT_EQ(own.nan_equal, asked.nan_equal);
  EXPECT_EQ(own.nan_accepts, asked.nan_accepts);
  EXPECT_EQ(own.infinity, asked.infinity);
  EXPECT_EQ(own.max_mismatches, asked.max_mismatches);
  EXPECT_EQ(own.max_mismatch_fraction, asked.max_mismatch_fraction);
  EXPECT_EQ(own.max_blind, asked.max_blind);
  EXPECT_EQ(own.max_blind_why, asked.max_blind_why);
}

TEST(ExpectedErrorInstead, KeepsWhatWasAskedFor) {
  Case rounded = with_golden(generate_case("matmul", {&format_named("float32"), {4, 8, 4}}));
  rounded.output().golden =
      Tensor::from_values(format_named("float32"), rounded.output().golden->shape(),
                          rounded.output().golden->view().values());
  for (Case c : {with_golden(generate_case("gelu", {&format_named("float32"), {50}})), rounded}) {
    SCOPED_TRACE(c.name);
    for (const char* standard : {"expected_error", "expected_error(hopper)"}) {
      for (const bool nan : {false, true}) {
        for (const Infinity infinity : {Infinity::kSign, Infinity::kSaturating, Infinity::kFewer}) {
          expect_policies(c, {.standards = {standard},
                              .equal_nan = nan,
                              .infinity = infinity,
                              .nan_accepts = !nan,
                              .origin = "here"});
        }
      }
      expect_policies(c, {.standards = {standard}, .max_mismatches = 3, .max_blind = 0.75});
      expect_policies(c, {.standards = {standard}, .max_mismatch_fraction = 0.25});
    }
    c.attributes["standard"] = std::string("expected_error");
    c.attributes["max_blind"] = 0.875;
    c.attributes["why"] = std::string("most of it is padding");
    expect_policies(c, {});
  }
}

// A right result of another dtype than the judged output shows nothing about the output's errors.
TEST(ExpectedErrorOfAMachine, IsAskedOfTheSameDtypeAlone) {
  const Case c = equal_products();
  const BoundRequest request{.standards = {"expected_error(cpu_fma)"}};
  const ElementCheck same = check_of(c, format_named("float32"), request),
                     other = check_of(c, format_named("bfloat16"), request);
  EXPECT_NE(same.bound->rule, Rule::kExpectedError);
  EXPECT_THAT(same.notes,
              ElementsAre(HasSubstr("right results of these operands, computed by cpu_fma")));
  EXPECT_EQ(other.bound->rule, Rule::kExpectedError);
  EXPECT_THAT(other.notes, IsEmpty());
}

// A result that is rounded only once has the smallest expected error. Right results have exactly
// that error, and no result can have less.
TEST(ExpectedErrorOfAMachine, AResultWithTheLeastErrorIsNotMorePreciseThanThat) {
  Case c;
  c.name = "m";
  c.op = "mul";
  const auto one = [](double value) {
    return Tensor::from_values(format_named("bfloat16"), {1}, std::vector<double>{value});
  };
  c.inputs["a"] = one(1 + 0x1p-4);
  // The product is 1 + 2^-4 + 2^-5 + 2^-9. Rounding to bfloat16 cuts off a quarter of an ulp.
  c.inputs["b"] = one(1 + 0x1p-5);
  const ElementCheck check = check_of(with_golden(c), format_named("bfloat16"),
                                      {.standards = {"expected_error(ascend910b)"}});
  ASSERT_FALSE(check.bound->limits.empty());
  EXPECT_EQ(check.bound->limits[0].statistic, Statistic::kErrorSquares);
  EXPECT_EQ(check.bound->limits[0].parameter, 1);
}

// bfloat16 inputs have no more bits than float16, but a larger range. A conversion to float16 is
// therefore never their cause.
TEST(LikelyArithmetic, IsNoConversionToAsManyBits) {
  Case c;
  c.name = "x";
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string("float32");
  const Format& f = format_named("bfloat16");
  c.inputs["a"] = Tensor::from_values(f, {1, 1}, std::vector<double>{1});
  c.inputs["b"] = Tensor::from_values(f, {1, 2}, std::vector<double>{1 + 0x1p-7, 0x1p-26});
  const Tensor golden = golden_result(c);
  ErrorTest test;
  test.weights = std::make_shared<const Tensor>(
      Tensor::from_values(format_named("float64"), {1, 2}, std::vector<double>{1, 1}));
  const Tensor output =
      Tensor::from_values(format_named("float32"), {1, 2}, std::vector<double>{1 + 0x1p-7, 0});
  EXPECT_EQ(likely_arithmetic(c, machine_named("ascend910b"), output, golden, test, 1), "");
}

// Elements without a weight do not count: a right infinity does not hide a cause.
TEST(LikelyArithmetic, IsSoughtOfElementsWithAWeightAlone) {
  constexpr std::size_t kMany = 64;
  const Format& f = format_named("float32");
  std::vector<std::string> likely;
  for (const double last : {0.0, kInfinity}) {
    Case c;
    c.name = "x";
    c.op = "matmul";
    std::vector<double> factors(kMany, 1 + 0x1p-13), weights(kMany, 1), values(kMany, 1);
    factors.back() = values.back() = last;
    weights.back() = 0;
    const Shape shape = {1, static_cast<std::int64_t>(kMany)};
    c.inputs["a"] = Tensor::from_values(f, {1, 1}, std::vector<double>{1});
    c.inputs["b"] = Tensor::from_values(f, shape, factors);
    const Tensor golden = golden_result(c);
    ASSERT_EQ(golden.view().value_at(static_cast<std::int64_t>(kMany) - 1), last);
    ErrorTest test;
    test.weights = std::make_shared<const Tensor>(
        Tensor::from_values(format_named("float64"), shape, weights));
    likely.push_back(likely_arithmetic(c, machine_named("ascend910b"),
                                       Tensor::from_values(f, shape, values), golden, test, 1));
  }
  EXPECT_THAT(likely[0], testing::StartsWith("errors like those of tfloat32 or "));
  EXPECT_EQ(likely[1], likely[0]);
}

}  // namespace
}  // namespace assay
