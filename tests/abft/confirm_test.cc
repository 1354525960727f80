// Tests the confirmation of flagged checks: no false alarm is left, no fault above its element's
// bound is lost, and the named repair is right. The last tests take products that are wrong as a
// whole.
#include "assay/abft/confirm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "abft/checked.h"
#include "abft/oracle.h"
#include "abft/products.h"
#include "assay/abft.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/machine/exact_matmul.h"
#include "assay/report.h"

namespace assay::abft {
namespace {

using testing_checks::options_of;
using testing_oracle::Made;
using testing_oracle::Matrix;
using testing_oracle::Problem;
using testing_oracle::random_product;
using testing_oracle::Real;
using testing_products::Distribution;
using testing_products::make_product;
using testing_products::normal;
using testing_products::Product;
using testing_products::uniform;

Distribution identical_columns(const std::string& name, double mean) {
  Distribution d = normal(name, mean, 1);
  d.identical_columns = true;
  return d;
}

TEST(AbftConfirm, IdenticalColumnsAreNoFault) {
  for (const char* dtype : {"bfloat16", "float16"}) {
    const Product p = make_product(identical_columns("identical", 0), 64, 256, 512, 1, dtype);
    const AbftVerdict alarms =
        AbftChecker::of_product(p.a, p.b, options_of("rounding_variance,groups=0,confirm=0"))
            .check(p.c.view());
    EXPECT_EQ(alarms.outcome, Outcome::kFail);
    // The publication reports 76 percent false alarms for K = 1024.
    EXPECT_GT(alarms.flagged, 32);
    EXPECT_EQ(alarms.flags.size(), AbftVerdict::kListed);
    for (const AbftFlag& flag : alarms.flags) EXPECT_FALSE(flag.element);  // nothing is wrong
    for (const char* spec : {"rounding_variance,groups=0", "rounding_variance",
                             "rounding_variance,groups=3,kappa=1"}) {
      for (const int threads : {1, 2}) {
        const AbftVerdict v =
            AbftChecker::of_product(p.a, p.b, options_of(spec, threads)).check(p.c.view());
        EXPECT_EQ(v.outcome, Outcome::kPass);
        EXPECT_EQ(v.flagged, 0);
        EXPECT_TRUE(v.flags.empty());
        if (std::string(spec) != "rounding_variance,groups=0") continue;
        EXPECT_EQ(v.confirmed_clean, alarms.flagged);
        EXPECT_EQ(v.worst_ratio, alarms.worst_ratio);
        EXPECT_THAT(v.notes, testing::ElementsAre(
                                 "the elements of " + assay::counted(alarms.flagged, "check") +
                                     " above the threshold are right",
                                 testing::AllOf(testing::HasSubstr("rms z"),
                                                testing::HasSubstr("correlated"))));
      }
    }
    // A real fault among these false alarms is still found, and only the fault is named.
    Tensor c = p.c;
    c.set_bits(40 * 256 + 77, c.bits_at(40 * 256 + 77) ^ 0x100);
    const AbftVerdict v =
        AbftChecker::of_product(p.a, p.b, options_of("rounding_variance,groups=0")).check(c.view());
    EXPECT_EQ(v.flagged, 1);
    ASSERT_EQ(v.flags.size(), 1u);
    EXPECT_EQ(v.flags[0].index, 40);
    EXPECT_EQ(v.flags[0].element->column, 77);
    EXPECT_EQ(v.flags[0].element->flipped_bit, 8);
  }
}

TEST(AbftConfirm, NoFalseAlarmOnHardData) {
  for (const Distribution& d :
       {normal("around_one", 1, 1), uniform("narrow", 0.9, 1.1), uniform("narrower", 0.999, 1.001),
        identical_columns("identical_one", 1), normal("tiny", 0, 1e-19),
        normal("tinier", 0, 1e-22)}) {  // products below bfloat16's smallest number
    SCOPED_TRACE(d.name);
    for (const char* dtype : {"bfloat16", "float32"}) {
      if (d.name == "tinier" && std::string(dtype) == "float32") continue;  // see AbftEdges
      const Product p = make_product(d, 16, 96, 256, 2, dtype);
      for (const char* spec : {"rounding_variance,kappa=0.01,columns=1",
                               "rounding_variance,groups=0", "v_abft,e_max=1e-9,confirm=1"}) {
        const AbftVerdict v = AbftChecker::of_product(p.a, p.b, options_of(spec)).check(p.c.view());
        EXPECT_EQ(v.outcome, Outcome::kPass) << spec << " " << dtype;
      }
    }
  }
}

// Returns the bound of an element, in long double. It is ulp/2 plus the smaller of two slacks: the
// roundings of all chunks of sum |a b|, and 16 deviations of the roundings of the partial sums.
Real element_bound(const Problem& p, std::int64_t i, std::int64_t j, int chunk, Real* reference) {
  Real sum = p.bias_at(i, j), size = std::abs(sum), squares = sum * sum, partial = 0;
  for (std::int64_t k = 0; k < p.k(); ++k) {
    const Real product = Real(p.a(i, k)) * p.b(k, j);
    sum += product;
    size += std::abs(product);
    squares += product * product;
    if ((k + 1) % chunk == 0 || k + 1 == p.k()) partial += sum * sum;
  }
  *reference = sum;
  const Real roundings = static_cast<Real>((p.k() + chunk - 1) / chunk);
  const Real deviation =
      std::sqrt(std::max(partial, roundings * (sum * sum / 3 + squares / 6)) / 3);
  const Real slack = 0x1p-24L * std::min(roundings * size, 16 * deviation) + roundings * 0x1p-150L;
  return p.grid.ulp(std::abs(sum) + slack) / 2 + slack;
}

// Each element of a product is moved by up to 70 steps of its format. It is flagged exactly if it
// leaves its bound. kappa is so small that every difference is confirmed.
TEST(AbftConfirm, HidesNothingAboveTheBoundOfAnElement) {
  for (const char* dtype : {"bfloat16", "float16", "float32"}) {
    for (const int chunk : {1, 4, 16}) {
      const std::vector<double> bias = {0, 3, -1.5, 100, 0.25};
      const Made made = random_product(3, 5, 48, dtype, dtype, 4, 11, bias);
      const DotModel model{dtype,
                           {chunk, Provenance::kAssumed},
                           {"float32", Provenance::kAssumed},
                           {Rounding::kNearestEven, Provenance::kAssumed}};
      AbftOptions options = options_of("rounding_variance,groups=1,kappa=1e-12");
      options.model = &model;
      const AbftChecker checker = AbftChecker::of_product(made.a, made.b, options, bias);
      int inside = 0, outside = 0;
      for (std::int64_t e = 0; e < 15; ++e) {
        Real reference = 0;
        const Real bound = element_bound(made.problem, e / 5, e % 5, chunk, &reference);
        for (int steps = -70; steps <= 70; ++steps) {
          Tensor c = made.c;
          std::uint64_t bits = c.bits_at(e);
          for (int s = 0; s < std::abs(steps); ++s) {
            bits = steps < 0 ? next_down(c.format(), bits) : next_up(c.format(), bits);
          }
          c.set_bits(e, bits);
          const Real error = std::abs(Real(decode(c.format(), bits)) - reference);
          if (std::abs(error - bound) < bound * 1e-9L) continue;  // on the border
          const ElementBound alone =
              checker.element_bound(e / 5, e % 5, decode(c.format(), bits), c.format());
          ASSERT_EQ(alone.outside, error > bound) << dtype << " element " << e << " " << steps;
          ASSERT_NEAR(alone.bound, static_cast<double>(bound), static_cast<double>(bound) * 1e-9);
          ASSERT_NEAR(alone.reference, static_cast<double>(reference),
                      1e-15 * std::abs(static_cast<double>(reference)));
          const AbftVerdict v = checker.check(c.view());
          ASSERT_EQ(v.outcome, error > bound ? Outcome::kFail : Outcome::kPass)
              << dtype << " chunk " << chunk << " element " << e << " steps " << steps;
          ++(error > bound ? outside : inside);
          if (error > bound) {
            ASSERT_EQ(v.flags.size(), 1u);
            EXPECT_EQ(v.flags[0].element->row, e / 5);
            EXPECT_EQ(v.flags[0].element->column, e % 5);
            EXPECT_NEAR(v.flags[0].element->reference, static_cast<double>(reference),
                        1e-15 * std::abs(static_cast<double>(reference)));
          }
        }
      }
      EXPECT_GT(inside, 10);
      EXPECT_GT(outside, 100);
    }
  }
}

// Every flip that raises a flag is named with its bit. This holds for checks by rows, and for
// checks by rows and columns, which name the element at the crossing of both.
TEST(AbftLocate, EveryFlippedBit) {
  for (const char* dtype : {"bfloat16", "float16"}) {
    const Made made = random_product(20, 37, 64, dtype, dtype, 0, 12);
    for (const char* spec : {"rounding_variance", "rounding_variance,columns=1",
                             "rounding_variance,groups=1,confirm=0", "rounding_variance,groups=0",
                             "v_abft,columns=1", "a_abft,columns=1,confirm=1"}) {
      SCOPED_TRACE(std::string(dtype) + " " + spec);
      const AbftOptions options = options_of(spec);
      const AbftChecker checker = AbftChecker::of_product(made.a, made.b, options);
      int flagged = 0, crossed = 0;
      for (const std::int64_t element : {0, 36, 37 * 7 + 15, 37 * 7 + 16, 37 * 19 + 36}) {
        for (int bit = 0; bit < 16; ++bit) {
          Tensor c = made.c;
          c.set_bits(element, c.bits_at(element) ^ (std::uint64_t{1} << bit));
          const AbftVerdict v = checker.check(c.view());
          if (v.outcome != Outcome::kFail) continue;
          ++flagged;
          ASSERT_LE(v.flags.size(), options.spec.columns ? 2u : 1u);
          crossed += v.flags.size() == 2 ? 1 : 0;
          for (const AbftFlag& flag : v.flags) {
            EXPECT_EQ(flag.index, flag.is_column ? element % 37 : element / 37);
            const std::int64_t along = flag.is_column ? element / 37 : element % 37;
            EXPECT_LE(flag.first, along);
            EXPECT_GE(flag.last, along);
            ASSERT_TRUE(flag.element) << bit;
            EXPECT_EQ(flag.element->row, element / 37) << bit;
            EXPECT_EQ(flag.element->column, element % 37) << bit;
            EXPECT_EQ(flag.element->bits, c.bits_at(element));
            EXPECT_EQ(flag.element->flipped_bit, bit);
            EXPECT_EQ(flag.element->repaired_bits, made.c.bits_at(element)) << bit;
          }
          if (v.flags.size() == 2) {
            EXPECT_NE(v.flags[0].is_column, v.flags[1].is_column);
          }
        }
      }
      // Checks of single elements find every bit. Wider checks find at least 9 of 16 bits by
      // rounding_variance, and 4 by the other thresholds.
      EXPECT_GE(flagged, std::string(spec).find("groups=1,") != std::string::npos ? 5 * 16
                         : spec[0] == 'r'                                         ? 5 * 9
                                                                                  : 5 * 4);
      if (options.spec.columns) {
        EXPECT_GE(crossed, 5 * 3);
      }
    }
  }
}

TEST(AbftLocate, NoSingleFlipIsClaimedWhereNoneExplains) {
  const Made made = random_product(4, 20, 32, "bfloat16", "bfloat16", 0, 13);
  Tensor c = made.c;
  c.set_bits(25, c.bits_at(25) ^ 0x4008);  // two bits
  const AbftVerdict v = AbftChecker::of_product(made.a, made.b, {}).check(c.view());
  ASSERT_EQ(v.flags.size(), 1u);
  ASSERT_TRUE(v.flags[0].element);
  EXPECT_EQ(v.flags[0].element->row, 1);
  EXPECT_EQ(v.flags[0].element->column, 5);
  EXPECT_FALSE(v.flags[0].element->flipped_bit);
}

// 3 is within half an ulp of 4, because numbers below a power of 2 lie twice as densely. But 4 is
// closer.
TEST(AbftLocate, TheClosestOfSeveralFlipsIsNamed) {
  const Format& f = format_named("float4_e2m1fn");
  const auto one = [](const Format& format, double value) {
    return Tensor::from_values(format, {1, 1}, std::vector<double>{value});
  };
  const Tensor a = one(format_named("bfloat16"), 2);
  for (const double sign : {1.0, -1.0}) {
    const AbftVerdict v = AbftChecker::of_product(a, one(format_named("bfloat16"), 2 * sign), {})
                              .check(one(f, 2 * sign));
    EXPECT_EQ(v.outcome, Outcome::kFail) << v.because;
    ASSERT_EQ(v.flags.size(), 1u);
    ASSERT_TRUE(v.flags[0].element);
    EXPECT_EQ(v.flags[0].element->reference, 4 * sign);
    EXPECT_EQ(v.flags[0].element->flipped_bit, 1);
    EXPECT_EQ(decode(f, v.flags[0].element->repaired_bits), 4 * sign);
  }
}

// An element may be half an ulp off, which is 2^-8 at 1. A flip of its exponent is named only if it
// leads within that bound.
TEST(AbftLocate, AFlipIsNamedWhereItLeadsWithinTheBound) {
  const auto one = [](const char* dtype, double value) {
    return Tensor::from_values(format_named(dtype), {1, 1}, std::vector<double>{value});
  };
  for (const double off : {0.125, 0.25, 0.49, 0.51, 0.75, 1.25, 1.49, 1.51, 1.75}) {
    const bool within = off > 0.5 && off < 1.5;
    const Tensor a = one("float32", 1), b = one("float32", 1 + off * 0x1p-7);
    const AbftChecker checker = AbftChecker::of_product(a, b, {});
    EXPECT_EQ(checker.check(one("bfloat16", 1 + 0x1p-7)).flagged, within ? 0 : 1) << off;
    const AbftVerdict v = checker.check(one("bfloat16", 0.5 + 0x1p-8));
    ASSERT_EQ(v.flags.size(), 1u) << off;
    ASSERT_TRUE(v.flags[0].element) << off;
    EXPECT_EQ(v.flags[0].element->flipped_bit.has_value(), within) << off;
    if (within) {
      EXPECT_EQ(v.flags[0].element->flipped_bit, 7) << off;
      EXPECT_EQ(v.flags[0].element->repaired_bits, 0x3f81u) << off;
    }
  }
}

// The element is 2^80 + 3 - 2^80. Plain float64 sums would give 0 instead of 3.
TEST(AbftLocate, TheReferenceIsExactUnderCancellation) {
  const Tensor a =
      Tensor::from_values(format_named("bfloat16"), {1, 3}, std::vector<double>{0x1p40, 3, 0x1p40});
  const Tensor b = Tensor::from_values(format_named("bfloat16"), {3, 2},
                                       std::vector<double>{0x1p40, 1, 1, 1, -0x1p40, 1});
  Tensor c = Tensor::from_values(format_named("bfloat16"), {1, 2}, std::vector<double>{3, 0x1p41});
  EXPECT_EQ(AbftChecker::of_product(a, b, {}).check(c.view()).outcome, Outcome::kPass);
  c.set_bits(0, 0x7fc0);
  const AbftVerdict v = AbftChecker::of_product(a, b, {}).check(c.view());
  ASSERT_EQ(v.flags.size(), 1u);
  ASSERT_TRUE(v.flags[0].element);
  EXPECT_EQ(v.flags[0].element->column, 0);
  EXPECT_EQ(v.flags[0].element->reference, 3);
}

TEST(AbftLocate, GoldenAlone) {
  const Made made = random_product(6, 40, 64, "bfloat16", "bfloat16", 0, 14);
  const AbftChecker checker =
      AbftChecker::of_golden(made.c, options_of("rounding_variance,columns=1"));
  EXPECT_EQ(checker.check(made.c.view()).outcome, Outcome::kPass);
  for (const int bit : {7, 9, 14, 15}) {
    Tensor c = made.c;
    c.set_bits(95, c.bits_at(95) ^ (std::uint64_t{1} << bit));
    const AbftVerdict v = checker.check(c.view());
    EXPECT_EQ(v.outcome, Outcome::kFail);
    ASSERT_EQ(v.flags.size(), 2u);  // one flag for its row and one for its column
    for (const AbftFlag& flag : v.flags) {
      ASSERT_TRUE(flag.element);
      EXPECT_EQ(flag.element->row, 2);
      EXPECT_EQ(flag.element->column, 15);
      EXPECT_EQ(flag.element->reference, decode(made.c.format(), made.c.bits_at(95)));
      EXPECT_EQ(flag.element->flipped_bit, bit);
    }
  }
}

TEST(AbftLocate, ManyFaultsAreCountedAndFiveListed) {
  const Made made = random_product(40, 40, 16, "bfloat16", "bfloat16", 0, 15);
  Tensor c = made.c;
  for (std::int64_t i = 0; i < 40; ++i) c.set_bits(i * 41, c.bits_at(i * 41) ^ 0x4000);
  for (const char* spec : {"rounding_variance", "rounding_variance,confirm=0"}) {
    const AbftVerdict v = AbftChecker::of_product(made.a, made.b, options_of(spec)).check(c.view());
    EXPECT_EQ(v.flagged, 40);
    EXPECT_EQ(v.because, "40 of 120 checks of 16 columns are above rounding_variance");
    ASSERT_EQ(v.flags.size(), AbftVerdict::kListed);
    for (const AbftFlag& flag : v.flags) EXPECT_EQ(flag.element->row, flag.element->column);
    EXPECT_THAT(explain(v), testing::EndsWith("\n  ... and 35 more"));
  }
}

// An element that is not finite does not affect the checks beside its own. Two errors that cancel
// in the sum of another check stay undetected there.
TEST(AbftConfirm, AnInfinityIsOfItsOwnCheckAlone) {
  const Made made = random_product(6, 48, 32, "float32", "float32", 0, 15);
  for (const std::int64_t column : {15, 16, 31, 32}) {
    Tensor c = made.c;
    const auto set = [&](std::int64_t at, double value) {
      c.set_bits(2 * 48 + at, encode(c.format(), value));
    };
    set(column, HUGE_VAL);
    for (const std::int64_t group : {0, 1, 2}) {
      if (group == column / 16) continue;
      const double a = c.view().value_at(2 * 48 + 16 * group + 4),
                   b = c.view().value_at(2 * 48 + 16 * group + 9);
      set(16 * group + 4, a + 0.5);
      set(16 * group + 9, b - 0.5);
    }
    const AbftVerdict v = AbftChecker::of_product(made.a, made.b, {}).check(c);
    ASSERT_EQ(v.flags.size(), 1u) << column;
    EXPECT_EQ(v.flags[0].index, 2);
    EXPECT_EQ(v.flags[0].first, column / 16 * 16);
  }
}

// 64 checks are confirmed together. Each one has 16 columns, which take 16 * 15 multiply-adds. No
// further 64 are confirmed once the work so far exceeds closer_look: the rest counts as faults.
TEST(AbftConfirm, AfterSoMuchWorkTheRestIsBelieved) {
  const Made made = random_product(200, 16, 15, "bfloat16", "bfloat16", 0, 15);
  Tensor c = made.c;
  for (std::int64_t i = 0; i < 200; ++i) c.set_bits(i * 16, c.bits_at(i * 16) ^ 0x4000);
  constexpr double kOfABatch = 64 * 16 * 15;
  for (const double most : {0.0, kOfABatch - 1, 3 * kOfABatch - 1, 3 * kOfABatch, 4e9}) {
    AbftOptions options = options_of("rounding_variance");
    options.closer_look = most;
    const AbftVerdict v = AbftChecker::of_product(made.a, made.b, options).check(c.view());
    EXPECT_EQ(v.flagged, 200) << most;
    EXPECT_EQ(v.all_looked_at, most >= 3 * kOfABatch) << most;
    EXPECT_EQ(v.notes.size(), v.all_looked_at ? 0u : 1u) << most;
  }
}

// --- Products that are wrong as a whole ---------------------------------------------------------

struct WrongProduct : testing::TestWithParam<const char*> {
  static constexpr std::int64_t kM = 48, kN = 64, kK = 256;
  const Product clean = make_product(normal("normal", 0, 1), kM, kN, kK, 3, GetParam());
  const Matrix a = testing_oracle::matrix_of(clean.a), b = testing_oracle::matrix_of(clean.b);
  Matrix c = testing_oracle::matrix_of(clean.c);

  AbftVerdict check(const std::string& spec) const {
    const Tensor wrong = testing_oracle::tensor_of(GetParam(), c);
    return AbftChecker::of_product(clean.a, clean.b, options_of(spec)).check(wrong.view());
  }
  void expect_flagged(const std::string& spec) const {
    const AbftVerdict v = check(spec);
    EXPECT_EQ(v.outcome, Outcome::kFail) << spec;
    EXPECT_FALSE(v.flags.empty());
    for (const AbftFlag& flag : v.flags) EXPECT_TRUE(flag.element);
  }
};

INSTANTIATE_TEST_SUITE_P(Dtype, WrongProduct, testing::Values("bfloat16", "float16", "float32"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(WrongProduct, CleanPasses) {
  for (const char* spec : {"rounding_variance", "rounding_variance,groups=0,columns=1", "v_abft"}) {
    EXPECT_EQ(check(spec).outcome, Outcome::kPass) << spec;
  }
}

TEST_P(WrongProduct, OneRowScaled) {
  for (std::int64_t j = 0; j < kN; ++j) c(20, j) *= 1 + 0x1p-6;
  expect_flagged("rounding_variance");
  expect_flagged("rounding_variance,columns=1");
  EXPECT_EQ(check("rounding_variance").flags.at(0).index, 20);
}

TEST_P(WrongProduct, TileTransposed) {
  const Matrix right = c;
  for (std::int64_t i = 0; i < 16; ++i) {
    for (std::int64_t j = 0; j < 16; ++j) c(16 + i, 32 + j) = right(16 + j, 32 + i);
  }
  for (const char* spec : {"rounding_variance", "rounding_variance,groups=0", "a_abft"}) {
    if (spec[0] == 'a' && std::string(GetParam()) == "bfloat16") continue;  // too loose
    expect_flagged(spec);
  }
}

TEST_P(WrongProduct, LastChunkOfKDropped) {
  Matrix left = a;
  for (std::int64_t i = 0; i < kM; ++i) {
    for (std::int64_t k = kK - 16; k < kK; ++k) left(i, k) = 0;
  }
  c.values.assign(c.values.size(), 0.0);
  exact_matmul(kM, kN, kK, left.values.data(), b.values.data(), c.values.data(), 1);
  for (const char* spec : {"rounding_variance", "rounding_variance,groups=0"}) expect_flagged(spec);
}

TEST_P(WrongProduct, RowsExchanged) {
  std::swap_ranges(c.values.begin(), c.values.begin() + kN, c.values.begin() + 5 * kN);
  expect_flagged("rounding_variance");
  EXPECT_THAT(check("rounding_variance").flags.at(0).index, testing::AnyOf(0, 5));
}

TEST_P(WrongProduct, AllZero) {
  std::fill(c.values.begin(), c.values.end(), 0.0);
  for (const char* spec : {"rounding_variance", "rounding_variance,groups=0"}) expect_flagged(spec);
}

TEST_P(WrongProduct, SignOfOneElement) {
  c(47, 63) = -c(47, 63);
  expect_flagged("rounding_variance");
}

// A sum does not depend on the order of its terms. Checks by rows therefore do not find columns
// that are exchanged inside a check, but checks by columns do.
TEST_P(WrongProduct, ColumnsExchangedInsideAGroup) {
  for (std::int64_t i = 0; i < kM; ++i) std::swap(c(i, 3), c(i, 9));
  EXPECT_EQ(check("rounding_variance").outcome, Outcome::kPass);
  expect_flagged("rounding_variance,columns=1");
  EXPECT_TRUE(check("rounding_variance,columns=1").flags.at(0).is_column);
}

}  // namespace
}  // namespace assay::abft
