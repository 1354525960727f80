// Tests the scalar dot oracle against MPFR: the exact sum of a chunk is rounded once. Also compares
// the other rules of the model, such as aligned terms and orders, with results by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/machine/dot.h"
#include "inputs.h"
#include "mpfr_sum.h"

namespace assay {
namespace {

constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();

// Computes the sum from the text of the model, with MPFR. The operands are finite. Infinity comes
// only from overflow.
float by_mpfr(int chunk, mpfr_rnd_t mode, std::int64_t n, const double* a, const double* b,
              float c) {
  thread_local oracle::MpfrSum sum(1100);
  for (std::int64_t begin = 0; begin < n && std::isfinite(c); begin += chunk) {
    const std::int64_t end = std::min<std::int64_t>(begin + chunk, n);
    sum.clear();
    sum.add(static_cast<double>(c));
    bool all_minus = std::signbit(c) && c == 0;
    for (std::int64_t k = begin; k < end; ++k) {
      sum.add_product(a[k], b[k]);
      const double product = a[k] * b[k];
      all_minus = all_minus && product == 0 && std::signbit(product);
    }
    c = mpfr_zero_p(sum.get()) ? (all_minus ? -0.0f : 0.0f) : sum.float32(mode);
  }
  return c;
}

class OracleTest : public testing::TestWithParam<std::string> {};

std::vector<std::string> finite_families() {
  std::vector<std::string> names = inputs::families();
  std::erase(names, "specials");
  std::erase(names, "special_c");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Family, OracleTest, testing::ValuesIn(finite_families()),
                         [](const auto& row) { return row.param; });

TEST_P(OracleTest, RoundsTheExactSumOfAChunkOnce) {
  const struct {
    Rounding ours;
    mpfr_rnd_t theirs;
  } modes[] = {{Rounding::kNearestEven, MPFR_RNDN}, {Rounding::kTowardZero, MPFR_RNDZ}};
  for (const char* input : {"float16", "bfloat16", "float32", "float8_e4m3fn", "tfloat32"}) {
    for (const int chunk : {1, 4, 16, 300}) {
      for (const auto& mode : modes) {
        const DotModel model{input,
                             {chunk, Provenance::kAssumed},
                             {"float32", Provenance::kAssumed},
                             {mode.ours, Provenance::kAssumed}};
        for (const std::int64_t k : {1, 2, 16, 67}) {
          const auto p = inputs::make(GetParam(), format_named(input), 6, 1, k,
                                      static_cast<std::uint64_t>(k + chunk));
          for (std::int64_t i = 0; i < 6; ++i) {
            const double* row = p.a.data() + i * k;
            const float c = p.c[static_cast<std::size_t>(i)];
            const float expected = by_mpfr(chunk, mode.theirs, k, row, p.b.data(), c);
            if (!std::isfinite(expected)) continue;  // overflow: below
            const double got = dot_oracle(model, k, row, 1, p.b.data(), 1, static_cast<double>(c));
            ASSERT_EQ(inputs::bits(static_cast<float>(got)), inputs::bits(expected))
                << input << " chunk " << chunk << " K " << k << std::hexfloat << ": " << got
                << " is not " << expected;
            // The result is a value of float32.
            ASSERT_EQ(got, static_cast<double>(static_cast<float>(got)));
          }
        }
      }
    }
  }
}

double sum_of(const std::vector<double>& products, double c, int chunk = 4,
              const char* accumulator = "float32", Rounding rounding = Rounding::kNearestEven) {
  const std::vector<double> ones(products.size(), 1.0);
  const DotModel model{"float32",
                       {chunk, Provenance::kAssumed},
                       {accumulator, Provenance::kAssumed},
                       {rounding, Provenance::kAssumed}};
  return dot_oracle(model, static_cast<std::int64_t>(products.size()), products.data(), 1,
                    ones.data(), 1, c);
}

bool is_negative_zero(double v) { return v == 0 && std::signbit(v); }
bool is_positive_zero(double v) { return v == 0 && !std::signbit(v); }

TEST(OracleRulesTest, AChunkIsRoundedOnce) {
  // 1 + 2^-24 is a tie that is rounded down. 1 + 2 * 2^-24 is not a tie.
  EXPECT_EQ(sum_of({0x1p-24, 0x1p-24}, 1, 4), 0x1.000002p0);
  EXPECT_EQ(sum_of({0x1p-24, 0x1p-24}, 1, 1), 1.0);
  EXPECT_EQ(sum_of({0x1p-24, 0, 0, 0, 0x1p-24}, 1, 4), 1.0);
  EXPECT_EQ(sum_of({0x1p100, 1, -0x1p100}, 0, 4), 1.0);
  EXPECT_EQ(sum_of({0x1p100, 1, -0x1p100}, 0, 2), 0.0);
}

TEST(OracleRulesTest, Accumulators) {
  EXPECT_EQ(sum_of({1, 0x1p-11}, 0, 4, "float16"), 1.0);
  EXPECT_EQ(sum_of({1, 0x1.8p-11}, 0, 4, "float16"), 0x1.004p0);
  EXPECT_EQ(sum_of({1, 0x1.8p-11}, 0, 4, "float16", Rounding::kTowardZero), 1.0);
  EXPECT_EQ(sum_of({1, -0x1p-40}, 0, 4, "float32", Rounding::kTowardZero), 0x1.fffffep-1);
}

TEST(OracleRulesTest, Zeros) {
  EXPECT_TRUE(is_positive_zero(sum_of({}, 0)));
  EXPECT_TRUE(is_negative_zero(sum_of({}, -0.0)));
  EXPECT_TRUE(is_negative_zero(sum_of({-0.0, -0.0}, -0.0)));
  EXPECT_TRUE(is_positive_zero(sum_of({-0.0, -0.0}, 0.0)));
  EXPECT_TRUE(is_positive_zero(sum_of({-0.0, 0.0}, -0.0)));
  EXPECT_TRUE(is_positive_zero(sum_of({1, -1}, -0.0)));
  EXPECT_TRUE(is_positive_zero(sum_of({-1}, 1)));
  EXPECT_TRUE(is_negative_zero(sum_of({-0x1p-149, 0x1p-149}, -0.0, 1)) == false);
}

TEST(OracleRulesTest, UnderflowIsGradual) {
  const std::vector<double> a = {0x1p-100, 0x1p-100}, b = {0x1p-49, 0x1p-50};
  const DotModel& model = dot_model(machine_named("ascend910b"), format_named("float32"));
  EXPECT_EQ(dot_oracle(model, 1, a.data(), 1, b.data(), 1, 0), 0x1p-149);
  // 1.5 times the smallest subnormal is a tie, which is rounded to even.
  EXPECT_EQ(dot_oracle(model, 2, a.data(), 1, b.data(), 1, 0), 0x1p-148);
  const double tiny = 0x1p-100, minus = -0x1p-60;
  EXPECT_TRUE(is_negative_zero(dot_oracle(model, 1, &tiny, 1, &minus, 1, 0)));
}

TEST(OracleRulesTest, Specials) {
  const double inf = static_cast<double>(kFloatInfinity);
  EXPECT_TRUE(std::isnan(sum_of({1, kNan}, 0)));
  EXPECT_TRUE(std::isnan(sum_of({1, 2}, kNan)));
  EXPECT_TRUE(std::isnan(sum_of({inf, 5, -inf}, 0)));
  EXPECT_TRUE(std::isnan(sum_of({inf}, -inf)));
  EXPECT_TRUE(std::isnan(sum_of({inf, 0, 0, 0, 0, -inf}, 0)));  // in different chunks
  EXPECT_EQ(sum_of({inf, 5, -1e30}, 0), inf);
  EXPECT_EQ(sum_of({-inf, 1, 2, 3, 4, 5}, 1), -inf);
  EXPECT_EQ(sum_of({1, 2}, inf), inf);
  const DotModel& model = dot_model(machine_named("ascend910b"), format_named("float16"));
  const double a[] = {inf, 1}, b[] = {0, 1};
  EXPECT_TRUE(std::isnan(dot_oracle(model, 2, a, 1, b, 1, 0)));
  EXPECT_TRUE(std::isnan(dot_oracle(model, 2, b, 1, a, 1, 0)));
}

TEST(OracleRulesTest, Overflow) {
  const double largest = 0x1.fffffep127, inf = static_cast<double>(kFloatInfinity);
  EXPECT_EQ(sum_of({largest}, largest), inf);
  // Inside a chunk, the sum does not overflow on the way.
  EXPECT_EQ(sum_of({largest, -largest}, largest), largest);
  EXPECT_EQ(sum_of({largest, -largest}, largest, 1), inf);  // too late
  EXPECT_TRUE(std::isnan(sum_of({largest, -inf}, largest, 1)));
  EXPECT_EQ(sum_of({0x1p102}, largest), largest);  // a quarter of an ulp of `largest`
  EXPECT_EQ(sum_of({0x1p103}, largest), inf);      // half: to even
  EXPECT_EQ(sum_of({0x1p103, -1}, largest), largest);
  EXPECT_EQ(sum_of({0x1p127}, largest, 4, "float32", Rounding::kTowardZero), largest);
}

// Aligned sums are cut toward zero, but from 2^128 on they are infinite.
TEST(OracleRulesTest, AlignedSumsBeyondFloat32) {
  const DotModel& model = dot_model(machine_named("hopper"), format_named("bfloat16"));
  const auto sum = [&](double sign, double last) {
    const double a[] = {sign * 0x1p63, sign * last}, b[] = {0x1p64, 0x1p64};
    return dot_oracle(model, 2, a, 1, b, 1, 0);
  };
  const double inf = static_cast<double>(kFloatInfinity);
  for (const double sign : {1.0, -1.0}) {
    EXPECT_EQ(sum(sign, 0x1p63), sign * inf);
    EXPECT_EQ(sum(sign, 0x1.8p63), sign * inf);
    EXPECT_EQ(sum(sign, 0x1.fep62), sign * 0x1.ffp127);
  }
}

// A sum in order that overflows float32 inside a chunk stays infinite. Later terms are added and do
// not change its sign.
TEST(OracleRulesTest, OverflowInsideAChunk) {
  DotModel model = dot_model(machine_named("cpu_fma"), format_named("float32"));
  model.chunk.value = 4;
  model.order.value = ChunkOrder::kSequential;
  const double inf = static_cast<double>(kFloatInfinity), huge = 0x1.8p127;
  for (const bool rounded : {false, true}) {
    model.round_products.value = rounded;
    for (const double sign : {1.0, -1.0}) {
      const std::vector<double> factors = {sign * huge, sign * huge, 1}, ones(3, 1.0);
      EXPECT_EQ(dot_oracle(model, 3, factors.data(), 1, ones.data(), 1, 0), sign * inf) << rounded;
      EXPECT_EQ(dot_oracle(model, 3, factors.data(), 1, ones.data(), 1, sign), sign * inf);
      float c = 0;
      dot_matmul(model, 1, 1, 3, factors.data(), ones.data(), &c, 1);
      EXPECT_EQ(static_cast<double>(c), sign * inf);
    }
  }
}

// Compares the orders inside a chunk with results computed by hand, from the model's text.
TEST(OracleRulesTest, OrdersInsideAChunk) {
  DotModel model{"float32",
                 {4, Provenance::kAssumed},
                 {"float32", Provenance::kAssumed},
                 {Rounding::kNearestEven, Provenance::kAssumed}};
  const std::vector<double> ones(5, 1.0);
  const auto sum = [&](ChunkOrder order, const std::vector<double>& products, double c = 0) {
    model.order.value = order;
    return dot_oracle(model, static_cast<std::int64_t>(products.size()), products.data(), 1,
                      ones.data(), 1, c);
  };
  // Half an ulp of 1. Added to 1, it is a tie, which is rounded to even.
  const double half = 0x1p-24;
  EXPECT_EQ(sum(ChunkOrder::kFused, {1, 0, half, half}), 1 + 0x1p-23);
  EXPECT_EQ(sum(ChunkOrder::kSequential, {1, 0, half, half}), 1);
  EXPECT_EQ(sum(ChunkOrder::kPairwise, {1, 0, half, half}), 1 + 0x1p-23);
  EXPECT_EQ(sum(ChunkOrder::kPairwise, {1, half, 0, half}), 1);
  EXPECT_EQ(sum(ChunkOrder::kSequential, {half, half, 1, 0}), 1 + 0x1p-23);
  // The sum of the chunk is added to the accumulator last.
  EXPECT_EQ(sum(ChunkOrder::kSequential, {half, half}, 1), 1 + 0x1p-23);
  EXPECT_EQ(sum(ChunkOrder::kPairwise, {half, half, half, half, half}, 1), 1 + 0x1p-22);
}

TEST(OracleRulesTest, RoundedProducts) {
  DotModel model{"float32",
                 {1, Provenance::kAssumed},
                 {"float32", Provenance::kAssumed},
                 {Rounding::kNearestEven, Provenance::kAssumed}};
  // (1 + 2^-23)^2 = 1 + 2^-22 + 2^-46: the last bit survives only if the product is not rounded
  // before it is added.
  const double a = 1 + 0x1p-23, minus_one = -1;
  const double c = -(1 + 0x1p-22);
  EXPECT_EQ(dot_oracle(model, 1, &a, 1, &a, 1, c), 0x1p-46);
  model.round_products.value = true;
  EXPECT_EQ(dot_oracle(model, 1, &a, 1, &a, 1, c), 0.0);
  EXPECT_EQ(dot_oracle(model, 1, &a, 1, &minus_one, 1, 0), -a);
}

// The products of a tree are always rounded separately, and aligned products never are. The
// parameter round_products changes neither, not even if a product is too large for the accumulator.
TEST(OracleRulesTest, WhereProductsAreRoundedAnyway) {
  DotModel model{"float16",
                 {2, Provenance::kAssumed},
                 {"float16", Provenance::kAssumed},
                 {Rounding::kNearestEven, Provenance::kAssumed}};
  const std::vector<double> a = {1, 300, -300, 300}, b = {1, 300, 300, -300};
  const auto sum = [&](bool round_products) {
    model.round_products.value = round_products;
    return dot_oracle(model, 4, a.data(), 1, b.data(), 1, 0);
  };
  model.order.value = ChunkOrder::kPairwise;
  // The products overflow to infinity and minus infinity, whose sum is NaN.
  EXPECT_TRUE(std::isnan(sum(false)));
  EXPECT_TRUE(std::isnan(sum(true)));
  model.order.value = ChunkOrder::kFused;
  model.kept_bits.value = 24;
  // The accumulator overflows in the first chunk and stays infinite.
  EXPECT_EQ(sum(false), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sum(true), std::numeric_limits<double>::infinity());
}

TEST(OracleRulesTest, AlignedTerms) {
  DotModel model = dot_model(machine_named("hopper"), format_named("float16"));
  const std::vector<double> ones(40, 1.0);
  const auto sum = [&](const std::vector<double>& products, double c = 0) {
    return dot_oracle(model, static_cast<std::int64_t>(products.size()), products.data(), 1,
                      ones.data(), 1, c);
  };
  // 25 fractional bits are kept below the largest term: 2^-25 counts, and less is cut off toward
  // zero.
  EXPECT_EQ(sum({1, -0x1p-24}), 1 - 0x1p-24);
  EXPECT_EQ(sum({-0x1p-24, -0x1p-24}, 1), 1 - 0x1p-23);
  EXPECT_EQ(sum({2, -0x1p-24}), 2 - 0x1p-23);  // 2 - 2^-24, truncated to 24 bits
  EXPECT_EQ(sum({4, -0x1p-24}), 4.0);          // 2^-24 is below 2^(2 - 25)
  EXPECT_EQ(sum({4, -0x1p-23}), 4 - 0x1p-22);
  // A product is not normalised: 1.5 * 1.5 = 2.25 has exponent 0.
  const std::vector<double> a = {1.5, 1.5, 0x1p-24}, b = {1.5, -1.5, 0x1p-1};
  EXPECT_EQ(dot_oracle(model, 3, a.data(), 1, b.data(), 1, 0), 0x1p-25);
  const std::vector<double> normal = {2.25, 2.25, 0x1p-24}, by = {1, -1, 0x1p-1};
  EXPECT_EQ(dot_oracle(model, 3, normal.data(), 1, by.data(), 1, 0), 0.0);
  // The sum is truncated, not rounded. In each chunk of 16, the truncation repeats.
  std::vector<double> many(32, 0.0);
  many[0] = 1;
  many[1] = many[17] = 0x1.8p-24;
  EXPECT_EQ(sum(many), 1.0);
  // The accumulator is aligned to the largest term, like the products.
  EXPECT_EQ(sum({1024}, 0x1p-16), 1024.0);
  // If every term is -0, or if terms cancel, the sum is +0.
  EXPECT_TRUE(is_positive_zero(sum({-0.0, -0.0}, -0.0)));
  EXPECT_TRUE(is_positive_zero(sum({1, -1}, -0.0)));
  model.kept_bits.value = 13;
  model.mantissa_bits.value = 13;
  EXPECT_EQ(sum({1, 0x1p-13}), 1 + 0x1p-13);
  EXPECT_EQ(sum({1, 0x1p-14, 0x1p-14}), 1.0);
  EXPECT_EQ(sum({2, 0x1p-13}), 2.0);
}

TEST(OracleRulesTest, SubnormalFactorsKeepTheSmallestExponent) {
  const DotModel& model = dot_model(machine_named("hopper"), format_named("float16"));
  // The subnormal factor 2^-24 counts with the exponent -14. The largest exponent is therefore -14
  // - 14, and the product 2^-48 is above 2^(-28 - 25), so that it is kept.
  const double tiny = 0x1p-24;
  EXPECT_EQ(dot_oracle(model, 1, &tiny, 1, &tiny, 1, 0), 0x1p-48);
  // An accumulator of 2^-54 is below that, and is lost. With normalised factors, the largest
  // exponent would be -48, and it would be kept.
  EXPECT_EQ(dot_oracle(model, 1, &tiny, 1, &tiny, 1, 0x1p-54), 0x1p-48);
  EXPECT_EQ(dot_oracle(model, 1, &tiny, 1, &tiny, 1, 0x1p-53), 0x1p-48 + 0x1p-53);
}

TEST(OracleRulesTest, Promotion) {
  DotModel model = dot_model(machine_named("hopper"), format_named("float8_e4m3fn"));
  std::vector<double> ones(96, 1.0);
  const auto sum = [&](double c) {
    return dot_oracle(model, 96, ones.data(), 1, ones.data(), 1, c);
  };
  // 14 bits of 2^20 reach down to 2^7. The 32 ones are less, and are lost.
  EXPECT_EQ(sum(0x1p20), 0x1p20);
  model.promotion_interval.value = 64;
  EXPECT_EQ(sum(0x1p20), 0x1p20 + 96);
  EXPECT_EQ(sum(0x1p24), 0x1p24 + 96);
  model.promotion_interval.value = 1;
  EXPECT_EQ(sum(0x1p24), 0x1p24);
}

TEST(OracleRulesTest, Strides) {
  const double a[] = {1, 99, 2, 99, 3, 99}, b[] = {10, 77, 77, 20, 77, 77, 30};
  const DotModel& model = dot_model(machine_named("ascend910b"), format_named("float32"));
  EXPECT_EQ(dot_oracle(model, 3, a, 2, b, 3, 5), 145);
}

// Computes one chunk of a row of the table on c, with the products a_k b_k.
double chunk_on(const char* machine, const char* input, std::vector<double> a,
                std::vector<double> b, double c) {
  return dot_oracle(dot_model(machine_named(machine), format_named(input)),
                    static_cast<std::int64_t>(a.size()), a.data(), 1, b.data(), 1, c);
}

// Compares CDNA3 with results computed by hand, from its description (docs/machines.md). E, the
// largest exponent, is 0 unless a line gives another E.
TEST(JoinedSumTest, Float16ByHand) {
  const auto sum = [](std::vector<double> a, std::vector<double> b, double c) {
    return chunk_on("cdna3", "float16", std::move(a), std::move(b), c);
  };
  // The cut bits of the accumulator are rounded down, not toward zero.
  EXPECT_EQ(sum({1}, {1}, 0x1p-30), 1);
  EXPECT_EQ(sum({1}, {1}, -0x1p-30), 1 - 0x1p-24);
  // Products are cut toward zero, relative only to the largest product and not to the accumulator.
  EXPECT_EQ(sum({1, -0x1p-12}, {1, 0x1p-13}, 0), 1);
  EXPECT_EQ(sum({0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-14}, 1), 1 + 0x1p-23);
  // The sum of the products is cut down to 31 bits below E.
  EXPECT_EQ(sum({0x1p-12, 0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-19, 0x1p-19}, 1), 1 + 0x1p-23);
  // This is a tie, which is rounded to even.
  EXPECT_EQ(sum({0x1p-12, 0x1p-14}, {0x1p-12, 0x1p-14 * 0x1p-4}, 1), 1);
  EXPECT_EQ(sum({0}, {1}, 0), 0);
  EXPECT_FALSE(std::signbit(sum({-0.0}, {1}, -0.0)));
  // A product that is 0 does not contribute to E, however large its other factor is.
  EXPECT_EQ(sum({0, 1 + 0x1p-10}, {0x1p15, 0x1p-14}, 0x1p-40), 0x1p-14 + 0x1p-24);
  EXPECT_EQ(sum({0x1p-14, 0}, {0x1p-12, 0x1p15}, 0), 0x1p-26);
  EXPECT_EQ(sum({0x1p-14, 0x1p15}, {0x1p-12, 0}, 0), 0x1p-26);
}

TEST(JoinedSumTest, BeyondFloat32) {
  const auto sum = [](std::vector<double> a, std::vector<double> b, double c) {
    return chunk_on("cdna3", "bfloat16", std::move(a), std::move(b), c);
  };
  EXPECT_EQ(sum({0x1p64}, {0x1p64}, -0x1p127), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(sum({0x1p64, -0x1p64}, {0x1p64, 0x1p64}, 0)));
  // Products that cancel have nevertheless set E to 127, so that the accumulator is cut.
  EXPECT_EQ(sum({0x1p63, -0x1p63}, {0x1p64, 0x1p64}, 1), 0);
  EXPECT_EQ(sum({0x1p63, -0x1p63}, {0x1p64, 0x1p64}, -1), -0x1p103);
}

// For 8-bit floats, the products of even and of odd k are summed separately. Both sums are cut down
// before they meet.
TEST(JoinedSumTest, Float8ByHand) {
  const auto sum = [](std::vector<double> a, std::vector<double> b, double c) {
    return chunk_on("cdna3", "float8_e4m3fnuz", std::move(a), std::move(b), c);
  };
  EXPECT_EQ(sum({128, -0x1p-10}, {128, 0x1p-10}, 0), 0x1p14 - 0x1p-10);
  EXPECT_EQ(sum({128, 0x1p-10}, {128, 0x1p-10}, 0), 0x1p14);
  EXPECT_EQ(sum({128, 0, -0x1p-10}, {128, 0, 0x1p-10}, 0), 0x1p14);
  // A term more than 25 binary places below E counts as 0. A term 25 places below is cut down.
  EXPECT_EQ(sum({1}, {1}, -0x1p-26), 1);
  EXPECT_EQ(sum({1}, {1}, -0x1p-25), 1 - 0x1p-24);
}

// CDNA1 and CDNA2 sum in pairs. Only CDNA2 flushes subnormals.
TEST(PairsTest, ByHand) {
  for (const char* machine : {"cdna1", "cdna2"}) {
    // The square of `tiny` is half an ulp of 1.
    const double tiny = 0x1p-12;
    EXPECT_EQ(chunk_on(machine, "float16", {1, tiny, tiny, 0}, {1, tiny, tiny, 0}, 0), 1);
    EXPECT_EQ(chunk_on(machine, "float16", {1, 0, tiny, tiny}, {1, 0, tiny, tiny}, 0), 1 + 0x1p-23);
    EXPECT_EQ(chunk_on(machine, "float16", {tiny, tiny, 0, 0}, {tiny, tiny, 0, 0}, 1), 1 + 0x1p-23);
  }
  EXPECT_EQ(chunk_on("cdna1", "float16", {0x1p-20}, {1}, 0), 0x1p-20);
  EXPECT_EQ(chunk_on("cdna2", "float16", {0x1p-20}, {1}, 0), 0);
  EXPECT_EQ(chunk_on("cdna1", "bfloat16", {0x1p-100}, {0x1p-30}, 0), 0x1p-130);
  EXPECT_EQ(chunk_on("cdna2", "bfloat16", {0x1p-100}, {0x1p-30}, 0), 0);
}

}  // namespace
}  // namespace assay
