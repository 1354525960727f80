// Tests the arithmetics in which checks sum (`arithmetic=`) against plain loops. Also tests checks
// of integers, repair, and the notes on checks that may be wrong or blind.
#include "assay/abft/arithmetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "abft/checked.h"
#include "abft/oracle.h"
#include "abft/products.h"
#include "assay/abft/check_tally.h"
#include "assay/base/index.h"
#include "assay/format/convert.h"
#include "assay/machine/exact_matmul.h"
#include "assay/machine/vector.h"
#include "error_of.h"
#include "sum_oracles.h"

namespace assay::abft {
namespace {

using testing_checks::checked;
using testing_checks::options_of;
using testing_oracle::Made;
using testing_oracle::Problem;
using testing_oracle::random_product;
using testing_oracle::tensor_of;

// Returns the sum of x that the oracle of the vector unit computes by a pairwise tree in float32.
double tree(const std::vector<double>& x) {
  const VectorArithmetic float32{&format_named("float32")};
  return reduce_oracle(float32, ReduceOrder::kPairwise, 1, static_cast<std::int64_t>(x.size()),
                       x.data());
}

TEST(Arithmetic, PairwiseSumIsTheVectorUnitsTree) {
  Random random(5, 5);
  for (const std::size_t n : {0u, 1u, 2u, 3u, 5u, 8u, 31u, 100u, 257u}) {
    std::vector<double> x(n);
    for (double& v : x) v = static_cast<float>(random.normal() * 1e3);
    std::vector<float> y(x.begin(), x.end());
    EXPECT_EQ(static_cast<double>(pairwise_sum(y)), tree(x)) << n;
  }
}

TEST(Arithmetic, ChecksumsAndRowSums) {
  const std::vector<double> bias = {1.5, -2, 0.25, 8, 3, 1, -1, 0.5, 2, 4, -7};
  for (const char* dtype : {"bfloat16", "float32"}) {
    const Made made = random_product(4, 11, 37, dtype, dtype, 6, 31, bias);
    const Problem& p = made.problem;
    const Format& f = made.c.format();
    const Format& bf16 = format_named("bfloat16");
    for (const char* name : {"float32", "hi_lo"}) {
      for (const std::int64_t width : {4, 11}) {
        const AbftChecker checker = AbftChecker::of_product(
            made.a, made.b,
            options_of("v_abft,blocks=" + std::to_string(width) + ",arithmetic=" + name), bias);
        const std::int64_t groups = (11 + width - 1) / width;
        std::vector<Reading> readings(at(groups));
        for (std::int64_t i = 0; i < 4; ++i) {
          checker.read_row(i, made.c.bytes() + i * 11 * f.storage_bytes, f, readings.data());
          for (std::int64_t g = 0; g < groups; ++g) {
            const std::int64_t first = g * width, last = std::min<std::int64_t>(11, first + width);
            std::vector<double> row, biases;
            for (std::int64_t j = first; j < last; ++j) {
              row.push_back(p.c(i, j));
              biases.push_back(bias[at(j)]);
            }
            float high = 0, low = 0;
            for (std::int64_t k = 0; k < 37; ++k) {
              std::vector<double> b;
              for (std::int64_t j = first; j < last; ++j) b.push_back(p.b(k, j));
              const double be = tree(b);
              const bool pair = std::string(name) == "hi_lo";
              const double hi = pair ? round_to(bf16, be) : be;
              const auto a = static_cast<float>(p.a(i, k));
              high = std::fma(a, static_cast<float>(hi), high);
              if (pair) low = std::fma(a, static_cast<float>(round_to(bf16, be - hi)), low);
            }
            const float product = high + low;
            const double expected = static_cast<float>(product + static_cast<float>(tree(biases)));
            EXPECT_EQ(checker.expected(i, g, f), expected) << name << " " << width;
            EXPECT_EQ(readings[at(g)].difference, std::abs(tree(row) - expected));
          }
        }
      }
    }
  }
}

TEST(Arithmetic, OnTheMachine) {
  const testing_products::Product p =
      testing_products::make_product(testing_products::normal("1", 1, 1), 8, 32, 64, 3);
  const Format& f = p.c.format();
  const DotModel& model = dot_model(machine_named("ascend910b"), f);
  AbftOptions options = options_of("v_abft,arithmetic=machine");
  options.model = &model;
  const AbftChecker checker = AbftChecker::of_product(p.a, p.b, options);
  const std::vector<double> a = p.a.view().values(), b = p.b.view().values(),
                            c = p.c.view().values(), ones(32, 1.0);
  std::vector<double> be(64);
  for (std::int64_t k = 0; k < 64; ++k) {
    be[at(k)] = round_to(f, dot_oracle(model, 32, &b[at(k * 32)], 1, ones.data(), 1, 0));
  }
  for (std::int64_t i = 0; i < 8; ++i) {
    const double checksum = round_to(f, dot_oracle(model, 64, &a[at(i * 64)], 1, be.data(), 1, 0));
    const double sum = round_to(f, dot_oracle(model, 32, &c[at(i * 32)], 1, ones.data(), 1, 0));
    Reading r;
    checker.read_row(i, p.c.bytes() + i * 64, f, &r);
    EXPECT_EQ(checker.expected(i, 0, f), checksum);
    EXPECT_EQ(r.difference, std::abs(sum - checksum));
  }
  EXPECT_EQ(checked(p.a, p.b, p.c, "v_abft,arithmetic=machine").because,
            "arithmetic=machine needs to know the machine");
  const AbftVerdict v = AbftChecker::of_product(p.a, p.b, options)
                            .check(Tensor::from_values(format_named("float32"), {8, 32}, c).view());
  EXPECT_EQ(v.because,
            "arithmetic=machine sums by the matrix unit, which reads bfloat16, but the operands "
            "are bfloat16 and bfloat16, and the output is float32");
  // A single operand of another format is refused, and so is an output that the unit does not read.
  const auto refusal = [&](const char* in_a, const char* in_b) {
    const Tensor left = Tensor::from_values(format_named(in_a), {8, 64}, a);
    const Tensor right = Tensor::from_values(format_named(in_b), {64, 32}, b);
    return AbftChecker::of_product(left, right, options).why_not(f, {});
  };
  const std::string reads =
      "arithmetic=machine sums by the matrix unit, which reads bfloat16, but the ";
  EXPECT_EQ(refusal("bfloat16", "bfloat16"), "");
  EXPECT_EQ(refusal("float16", "bfloat16"),
            reads + "operands are float16 and bfloat16, and the output is bfloat16");
  EXPECT_EQ(refusal("bfloat16", "float16"),
            reads + "operands are bfloat16 and float16, and the output is bfloat16");
  AbftOptions ours = options;
  ours.spec = parse_threshold("rounding_variance,arithmetic=machine");
  EXPECT_EQ(AbftChecker::of_product(p.a, p.b, ours).check(p.c.view()).because,
            "rounding_variance does not know the errors of the machine's own sums: use "
            "arithmetic=float64");
}

// rounding_variance allows for the errors of float32 sums, so that clean products raise no alarm.
TEST(Arithmetic, OwnSumsAreAllowedFor) {
  for (const char* dtype : {"bfloat16", "float32"}) {
    for (const double mean : {0.0, 1.0}) {
      const testing_products::Product p = testing_products::make_product(
          testing_products::normal("n", mean, 1), 32, 256, 300, 7, dtype);
      for (const char* arithmetic : {"float32", "hi_lo"}) {
        if (std::string(dtype) == "float32" && std::string(arithmetic) == "hi_lo") continue;
        for (const char* groups : {"16", "0"}) {
          const AbftVerdict v = checked(p.a, p.b, p.c,
                                        std::string("rounding_variance,confirm=0,groups=") +
                                            groups + ",arithmetic=" + arithmetic);
          EXPECT_EQ(v.outcome, Outcome::kPass) << dtype << arithmetic << groups << v.because;
          EXPECT_GT(v.worst_ratio, 0);
        }
      }
    }
  }
}

// Products near 2^62, which float64 does not hold exactly, cancel in each column. The check is
// still exact: a difference of 1 is found.
TEST(Arithmetic, IntegersBeyondFloat64) {
  const std::int64_t big = 2147483647;
  const Tensor a = Tensor::from_values(
      format_named("int32"), {1, 3},
      std::vector<double>{static_cast<double>(big), static_cast<double>(big), 1});
  // In each column, big * big and -big * big cancel. In the checksum over both columns, the sums
  // pass through nearly 2^63.
  const Tensor b = Tensor::from_values(
      format_named("int32"), {3, 2},
      std::vector<double>{static_cast<double>(big), static_cast<double>(big),
                          -static_cast<double>(big), -static_cast<double>(big), 7, 8});
  const auto c = [](double x, double y) {
    return Tensor::from_values(format_named("int32"), {1, 2}, std::vector<double>{x, y});
  };
  const AbftVerdict clean = checked(a, b, c(7, 8), "rounding_variance,groups=0");
  EXPECT_EQ(clean.outcome, Outcome::kPass) << clean.because;
  const AbftVerdict off = checked(a, b, c(7, 9), "rounding_variance,groups=0,confirm=0");
  EXPECT_EQ(off.outcome, Outcome::kFail);
  EXPECT_EQ(off.flags[0].reading.difference, 1);
  const Tensor wide = Tensor::from_values(format_named("int64"), {1, 2}, std::vector<double>{7, 8});
  EXPECT_EQ(checked(a, b, wide).because,
            "products of int32 and int32 into int64 cannot be checked, because integers are "
            "checked only up to 32 bits");
}

TEST(Repair, FlipsAreUndoneAndTheRestIsRecomputed) {
  for (const char* spec : {"rounding_variance", "rounding_variance,columns=1"}) {
    const Made made = random_product(12, 40, 64, "bfloat16", "bfloat16", 0, 33);
    Tensor c = made.c;
    const std::int64_t flipped[] = {3, 45, 100, 101, 222, 333, 479};
    for (const std::int64_t e : flipped) c.set_bits(e, c.bits_at(e) ^ 0x2000);
    // No single flip explains this change.
    c.set_bits(200, c.bits_at(200) ^ 0x7a5a);
    const AbftChecker checker = AbftChecker::of_product(made.a, made.b, options_of(spec));
    const std::vector<AbftRepair> repairs = checker.repair(c);
    EXPECT_EQ(repairs.size(), 8u);
    EXPECT_EQ(checker.check(c.view()).outcome, Outcome::kPass);
    for (const std::int64_t e : flipped) EXPECT_EQ(c.bits_at(e), made.c.bits_at(e));
    for (const AbftRepair& r : repairs) {
      const bool random = r.row * 40 + r.column == 200;
      EXPECT_EQ(r.flipped_bit.has_value(), !random);
      EXPECT_EQ(c.bits_at(r.row * 40 + r.column), r.after);
    }
    // The element was recomputed. It is the reference rounded once, at most an ulp from the
    // machine's result.
    EXPECT_LE(*ulp_distance(c.format(), c.bits_at(200), made.c.bits_at(200)), 1u);
    EXPECT_TRUE(checker.repair(c).empty());
  }
}

// If sums are flagged but each of their elements is right, there is nothing to repair.
TEST(Repair, EndsWhereNoElementIsWrong) {
  const Made made = random_product(4, 40, 64, "bfloat16", "bfloat16", 0, 33);
  const AbftChecker checker = AbftChecker::of_product(
      made.a, made.b, options_of("rounding_variance,kappa=1e-12,confirm=0"));
  Tensor c = made.c;
  EXPECT_EQ(checker.check(c.view()).outcome, Outcome::kFail);
  EXPECT_TRUE(checker.repair(c).empty());
  for (std::int64_t e = 0; e < 4 * 40; ++e) EXPECT_EQ(c.bits_at(e), made.c.bits_at(e));
}

TEST(Calibration, IsOneSided) {
  // 29 checks are too few for a note.
  EXPECT_EQ(calibration_note(29, 5, 5), "");
  EXPECT_EQ(calibration_note(1000, 1.05, 0.1), "");
  EXPECT_EQ(calibration_note(1000000, 0, 0), "");  // exactly representable
  EXPECT_EQ(calibration_note(1000, 1.2, 0),
            "rms z 1.2 over 1 000 checks is above 1.11: the reason may be truncating casts, "
            "accumulators of less precision or correlated errors; check the elements, too, because "
            "these thresholds are too small");
  EXPECT_EQ(calibration_note(10000, 0.9, -0.06),
            "mean z -0.06 over 10 000 checks differs from 0 by more than 0.0475: the reason may be "
            "casts or accumulators that err to one side");
}

// A truncating cast is reported before any threshold is trusted.
TEST(Calibration, TruncatingCast) {
  const testing_products::Product made =
      testing_products::make_product(testing_products::normal("0", 0, 1), 64, 64, 64, 91);
  const std::vector<double> a = made.a.view().values(), b = made.b.view().values();
  std::vector<double> c(64 * 64), exact(c.size());
  exact_matmul(64, 64, 64, a.data(), b.data(), exact.data(), 1);
  const Format& bf16 = format_named("bfloat16");
  for (std::size_t e = 0; e < c.size(); ++e) {
    c[e] = round_to(bf16, exact[e], Rounding::kTowardZero);
  }
  const Tensor cut = Tensor::from_values(bf16, {64, 64}, c);
  const AbftVerdict v =
      checked(made.a, made.b, cut, "rounding_variance,kappa=20,groups=0,confirm=0");
  EXPECT_EQ(v.outcome, Outcome::kPass);
  EXPECT_GT(v.rms_z, 1.5);
  ASSERT_EQ(v.notes.size(), 1u);
  EXPECT_THAT(v.notes[0], testing::StartsWith("rms z "));
  const AbftVerdict clean = checked(made.a, made.b, made.c);
  EXPECT_LT(clean.rms_z, 1.1);
  EXPECT_TRUE(clean.notes.empty());
}

// If the largest element of a group is not larger than the threshold, the check is blind to it.
// Here the element is 1. The threshold is half of its ulp, 2^-8, plus the error that the bound of
// the case allows for each element.
TEST(Calibration, BlindGroupsOfAGoldenResult) {
  const Tensor c = Tensor::from_values(format_named("bfloat16"), {1, 1}, std::vector<double>{1});
  const auto blind = [&](double tolerance) {
    AbftOptions options;
    options.golden_tolerance = [=](double) { return tolerance; };
    return AbftChecker::of_golden(c, options).check(c).blind;
  };
  EXPECT_EQ(blind(1 - 0x1p-8), 1) << "the threshold is 1";
  EXPECT_EQ(blind(1 - 0x1p-8 - 0x1p-40), 0);
  EXPECT_EQ(blind(1), 1);
}

TEST(Calibration, NarrowRowsOfAGoldenResult) {
  std::vector<double> values(32, 1.0);
  for (std::size_t i = 0; i < 16; ++i) values[i] = 1 + static_cast<double>(i % 3) * 0x1p-7;
  for (std::size_t i = 16; i < 32; ++i) values[i] = 1 + static_cast<double>(i);
  const Tensor c = Tensor::from_values(format_named("bfloat16"), {1, 32}, values);
  const AbftVerdict v = AbftChecker::of_golden(c, {}).check(c);
  EXPECT_EQ(v.narrow, 1);
  ASSERT_FALSE(v.notes.empty());
  EXPECT_EQ(v.notes[0],
            "1 check may be wrong, because the elements span fewer than 3 ulps, where rounding "
            "errors are not independent; give the operands, which confirm such checks");
}

// Each group has its own range, wherever it lies in the row.
TEST(Calibration, NarrowGroupsAreThoseOfTheirOwnColumns) {
  std::vector<double> values(64);
  for (std::size_t i = 0; i < 32; ++i) values[i] = 1 + static_cast<double>(i % 16);
  for (std::size_t i = 32; i < 48; ++i) values[i] = 1 + static_cast<double>(i % 2) * 0x1p-7;
  for (std::size_t i = 48; i < 64; ++i) values[i] = 64 + static_cast<double>(i % 3) / 2;
  const Tensor c = Tensor::from_values(format_named("bfloat16"), {1, 64}, values);
  const auto narrow = [&](const char* spec) {
    return AbftChecker::of_golden(c, options_of(spec)).check(c).narrow;
  };
  EXPECT_EQ(narrow("rounding_variance,groups=16"), 2);
  EXPECT_EQ(narrow("rounding_variance,groups=32"), 0);
}

// A single element has no range that could be narrow, and a range of three ulps is not narrow.
TEST(Calibration, SingleElementsAreNotNarrow) {
  const auto narrow = [](const std::vector<double>& values) {
    const auto n = static_cast<std::int64_t>(values.size());
    const Tensor c = Tensor::from_values(format_named("bfloat16"), {1, n}, values);
    return AbftChecker::of_golden(c, {}).check(c).narrow;
  };
  EXPECT_EQ(narrow({1.5}), 0);
  EXPECT_EQ(narrow({1.5, 1.5}), 1);
  EXPECT_EQ(narrow({1.5, 1.5 + 0x1p-6}), 1);
  EXPECT_EQ(narrow({1.5, 1.5 + 3 * 0x1p-7}), 0);
  std::vector<double> values;
  for (int j = 0; j < 17; ++j) values.push_back(1 + j);  // 16 columns and one
  EXPECT_EQ(narrow(values), 0);
}

}  // namespace
}  // namespace assay::abft
