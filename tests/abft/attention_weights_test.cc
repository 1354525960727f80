// Tests by hand how the checks of attention treat the weights. Each key counts, and the errors of
// scores and of small weights have their full size.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "assay/abft.h"
#include "assay/abft/attention_check.h"
#include "assay/gate/gate.h"

namespace assay {
namespace {

constexpr double kUnit = 0x1p-24;  // of float32

// Returns a case with one query of depth 1 and scale 1, whose scores are q times the keys.
Case one_query(const char* dtype, const char* output, double q, const std::vector<double>& keys,
               std::int64_t width, const std::vector<double>& values) {
  const Format& f = format_named(dtype);
  const auto count = static_cast<std::int64_t>(keys.size());
  Case c;
  c.name = "case";
  c.op = "attention";
  c.attributes["output_dtype"] = std::string(output);
  c.attributes["scale"] = 1.0;
  c.inputs["q"] = Tensor::from_values(f, {1, 1}, std::vector<double>{q});
  c.inputs["k"] = Tensor::from_values(f, {count, 1}, keys);
  c.inputs["v"] = Tensor::from_values(f, {count, width}, values);
  return c;
}

AbftVerdict checked(const Case& c, const std::vector<double>& output) {
  GateRequest request;
  request.elements = false;
  request.checksums = parse_threshold("rounding_variance");
  const Format& f = format_named(*c.text("output_dtype"));
  return *gate_case(c, Tensor::from_values(f, {1, std::ssize(output)}, output).view(), request)
              .abft;
}

double variance_of_zero(const Case& c) {
  const double zero = 0;
  return abft::AttentionRows(c, format_named(*c.text("output_dtype")), {})
      .row(0)
      .read(0, &zero)
      .variance;
}

// If one score is 120 above all others, the output is the value of that key, whichever key it is.
TEST(AttentionWeights, TheLargestScoreMayBeThatOfAnyKey) {
  for (std::size_t largest = 0; largest < 19; ++largest) {
    std::vector<double> keys(19, 0.0), values(19, 1.0);
    keys[largest] = 120;
    values[largest] = 3;
    const Case c = one_query("float32", "float32", 1, keys, 1, values);
    const AbftVerdict right = checked(c, {3});
    EXPECT_EQ(right.outcome, Outcome::kPass) << largest << " " << right.because;
    EXPECT_EQ(right.not_checkable, 0) << largest;
    EXPECT_LT(right.worst_ratio, 1) << largest;
    EXPECT_EQ(checked(c, {1}).outcome, Outcome::kFail) << largest;
  }
}

// If a score is infinite, the check is not checkable, whichever key the score belongs to.
TEST(AttentionWeights, AnInfiniteScoreOfAnyKeyIsNotCheckable) {
  for (std::size_t infinite = 0; infinite < 19; ++infinite) {
    std::vector<double> keys(19, 0.0);
    keys[infinite] = -HUGE_VAL;
    const Case c = one_query("float32", "float32", 1, keys, 1, std::vector<double>(19, 1.0));
    EXPECT_EQ(checked(c, {1}).not_checkable, 1) << infinite;
  }
}

// The values of many keys cancel. The bound of an element then follows from the squares of the
// products, so that an output of 1 in place of 0 is far outside.
TEST(AttentionWeights, AnElementIsFoundWhereManyValuesCancel) {
  constexpr int kKeys = 2048;
  std::vector<double> values;
  for (int j = 0; j < kKeys; ++j) values.insert(values.end(), 4, j % 2 == 0 ? 1 : -1);
  const Case c = one_query("float32", "float32", 1, std::vector<double>(kKeys, 0.0), 4, values);
  EXPECT_EQ(checked(c, {0, 0, 0, 0}).flagged, 0);
  const AbftVerdict v = checked(c, {0, 0, 1, 0});
  EXPECT_EQ(v.outcome, Outcome::kFail) << v.because;
  ASSERT_EQ(v.flags.size(), 1u);
  ASSERT_TRUE(v.flags[0].element);
  EXPECT_EQ(v.flags[0].element->column, 2);
}

// With one key, the output is the value, to some 1e-5 of an ulp of bfloat16. An output is right if
// it is at most half an ulp off, which is 2^-8 at 1.
TEST(AttentionWeights, AnOutputMoreThanHalfAnUlpOffIsAFault) {
  for (const double off : {0.125, 0.375, 0.49, 0.51, 0.625, 0.75, 0.875}) {
    const Case c = one_query("float32", "bfloat16", 1, {0}, 1, {1 + off * 0x1p-7});
    const AbftVerdict below = checked(c, {1}), above = checked(c, {1 + 0x1p-7});
    EXPECT_EQ(below.outcome, off > 0.5 ? Outcome::kFail : Outcome::kPass) << off;
    EXPECT_EQ(below.flagged, off > 0.5 ? 1 : 0) << off;
    EXPECT_EQ(above.outcome, off < 0.5 ? Outcome::kFail : Outcome::kPass) << off;
    EXPECT_EQ(above.flagged, off < 0.5 ? 1 : 0) << off;
  }
}

// The output became half of 1 + 2^-7. That one flip is named only if it leads back within the
// bound, which is half an ulp.
TEST(AttentionWeights, AFlipIsNamedWhereItLeadsWithinTheBound) {
  for (const double off : {0.125, 0.25, 0.49, 0.51, 0.75, 1.25, 1.49, 1.51, 1.75}) {
    const Case c = one_query("float32", "bfloat16", 1, {0}, 1, {1 + off * 0x1p-7});
    const AbftVerdict v = checked(c, {0.5 + 0x1p-8});
    ASSERT_EQ(v.flags.size(), 1u) << off;
    ASSERT_TRUE(v.flags[0].element) << off;
    EXPECT_EQ(v.flags[0].element->bits, 0x3f01u);
    const bool within = off > 0.5 && off < 1.5;
    EXPECT_EQ(v.flags[0].element->flipped_bit.has_value(), within) << off;
    if (within) {
      EXPECT_EQ(v.flags[0].element->flipped_bit, 7) << off;
      EXPECT_EQ(v.flags[0].element->repaired_bits, 0x3f81u) << off;
    }
  }
}

// With one key, the weight is 1. The square of its relative error is that of exp(s), u^2 (s^2 / 3 +
// |q|^2 |k|^2 / 6 + 8 s^2 + 64). It counts once for the weight, with its rounding, and once for the
// sum. The single product adds nine more roundings.
TEST(AttentionWeights, ErrorsGrowWithTheScores) {
  for (const double score : {0.0, 3.0, 1000.0}) {
    const Case c = one_query("float32", "float32", score, {1}, 1, {1});
    const double error = score * score * (1.0 / 3 + 1.0 / 6 + 8) + 64;
    const double wanted = kUnit * kUnit * (2 * error + 1.0 / 3 + 9.0 / 6);
    EXPECT_NEAR(variance_of_zero(c) / wanted, 1, 1e-6) << score;
  }
}

// Weights of 1 / n below 2^-14 are multiples of 2^-24 in float16, whatever their size. Each is off
// by a twelfth of the square of that spacing. If they are not divided by their sum first, they are
// 1, and their rounding is relative to their size.
TEST(AttentionWeights, SubnormalWeightsHaveOneSpacing) {
  for (const std::size_t n : {17000U, 20000U, 24000U}) {
    const Case c = one_query("float16", "float16", 0, std::vector<double>(n, 1.0), 1,
                             std::vector<double>(n, 1.0));
    const double keys = static_cast<double>(n), error = 64 * kUnit * kUnit;
    const double of_output = 0x1p-48 / 12, of_sums = kUnit * kUnit * (keys + 8) / keys / 6;
    const double subnormal = error / keys + keys * 0x1p-48 / 12;
    EXPECT_NEAR(variance_of_zero(c) / (subnormal + error + of_sums + of_output), 1, 1e-5) << n;
    Case undivided = c;
    undivided.attributes["tile"] = std::int64_t{64};
    const double normal = (error + 0x1p-22 / 3) / keys;
    EXPECT_NEAR(variance_of_zero(undivided) / (normal + error + of_sums + of_output), 1, 1e-5) << n;
  }
}

}  // namespace
}  // namespace assay
