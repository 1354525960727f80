// Tests residual_compensated. With the residual of the cast of C, a flip of C's lowest bit is
// found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "abft/checked.h"
#include "abft/oracle.h"
#include "abft/products.h"
#include "assay/abft/residual_compensated.h"
#include "assay/base/constants.h"
#include "assay/base/index.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "assay/op/operator.h"

namespace assay::abft {
namespace {

using testing::HasSubstr;
using testing_checks::checked;
using testing_checks::options_of;

constexpr std::int64_t kRows = 16, kColumns = 64, kDepth = 256;

// A product of the emulated 910B, with its accumulator.
struct WithAccumulator {
  Case product;
  Tensor c, before;
  const DotModel* model;

  explicit WithAccumulator(const char* output = "bfloat16", std::uint64_t index = 9) {
    testing_products::Product p = testing_products::make_product(
        testing_products::normal("0", 0, 1), kRows, kColumns, kDepth, index);
    product.name = "x";
    product.op = "matmul";
    product.attributes["output_dtype"] = std::string(output);
    model = &dot_model(machine_named("ascend910b"), p.a.format());
    product.inputs.emplace("a", std::move(p.a));
    product.inputs.emplace("b", std::move(p.b));
    c = emulate(product, machine_named("ascend910b"), 1);
    before = emulate_accumulator(product, machine_named("ascend910b"), 1);
  }
  AbftChecker checker(const std::string& spec = "residual_compensated",
                      double closer_look = AbftOptions().closer_look) const {
    AbftOptions options = options_of(spec);
    options.model = model;
    options.closer_look = closer_look;
    return AbftChecker::of_product(product.input("a"), product.input("b"), options);
  }
  // Returns R of each check as a kernel's epilogue sums it: in float32, from the outputs that it
  // wrote.
  Tensor sums(std::int64_t width) const {
    const std::int64_t groups = (kColumns + width - 1) / width;
    std::vector<double> r(at(kRows * groups));
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t g = 0; g < groups; ++g) {
        float sum = 0;
        for (std::int64_t j = g * width; j < std::min(kColumns, (g + 1) * width); ++j) {
          sum += static_cast<float>(before.view().value_at(i * kColumns + j) -
                                    c.view().value_at(i * kColumns + j));
        }
        r[at(i * groups + g)] = static_cast<double>(sum);
      }
    }
    return Tensor::from_values(format_named("float32"), {kRows, groups}, r);
  }
  Tensor flipped(std::int64_t element, int bit) const {
    Tensor wrong = c;
    wrong.set_bits(element, c.bits_at(element) ^ (std::uint64_t{1} << bit));
    return wrong;
  }
};

// The flip is only in C. R was computed before it, as the sum of the differences between the
// accumulator and the kernel's output. With R, flips are found that the roundings of C would hide.
TEST(Residual, SumsSeeWhatRoundingsHide) {
  const WithAccumulator p;
  for (const std::int64_t width : {16, 64}) {
    const std::string groups = ",groups=" + std::to_string(width);
    const AbftChecker checker = p.checker("residual_compensated" + groups);
    const Tensor r = p.sums(width);
    const AbftVerdict clean = checker.check(p.c, Residual::sums(r));
    EXPECT_EQ(clean.outcome, Outcome::kPass) << clean.because;
    EXPECT_EQ(clean.checks, 2 * kRows * kColumns / width) << "R is checked as well";
    EXPECT_LT(clean.rms_z, 1.2);
    EXPECT_GT(clean.rms_z, 0.6) << "the threshold is no wider than it must be";
    int seen = 0, plain_seen = 0, flips = 0;
    for (std::int64_t e = 3; e < kRows * kColumns; e += 41) {
      for (int bit = 0; bit < 10; ++bit, ++flips) {
        const Tensor c = p.flipped(e, bit);
        seen += checker.check(c, Residual::sums(r)).outcome == Outcome::kFail ? 1 : 0;
        plain_seen += checked(p.product.input("a"), p.product.input("b"), c,
                              "rounding_variance,confirm=0" + groups)
                                  .outcome == Outcome::kFail
                          ? 1
                          : 0;
      }
    }
    EXPECT_GE(seen, flips - 1) << "of " << flips;
    EXPECT_LT(plain_seen, flips * 7 / 10);
  }
}

// With C before its cast, each cast is checked separately. No flip is too small, whatever the other
// elements are.
TEST(Residual, AccumulatorSeesEveryFlip) {
  const WithAccumulator p;
  for (const char* spec : {"residual_compensated", "residual_compensated,groups=0",
                           "residual_compensated,columns=1"}) {
    const AbftChecker checker = p.checker(spec);
    const AbftVerdict clean = checker.check(p.c, Residual::accumulator(p.before));
    EXPECT_EQ(clean.outcome, Outcome::kPass) << clean.because;
    for (std::int64_t e = 0; e < kRows * kColumns; e += 57) {
      for (int bit = 0; bit < 16; ++bit) {
        const AbftVerdict v = checker.check(p.flipped(e, bit), Residual::accumulator(p.before));
        ASSERT_EQ(v.outcome, Outcome::kFail) << spec << " " << e << " " << bit;
        ASSERT_TRUE(v.flags.front().element.has_value());
      }
    }
    // A fault before the cast is in the accumulator and in C, so that every cast is right. The
    // checksums find the fault.
    Tensor before = p.before, c = p.c;
    before.set_bits(100, before.bits_at(100) ^ 0x00400000);
    c.set_bits(100, encode(c.format(), before.view().value_at(100)));
    EXPECT_EQ(checker.check(c, Residual::accumulator(before)).outcome, Outcome::kFail);
  }
}

// If R is computed from the result of a faulty cast, the fault cancels in the sum of C and R. Only
// the size of R shows it.
TEST(Residual, FaultsOfTheCastAreSeenByR) {
  WithAccumulator p;
  p.c.set_bits(100, p.c.bits_at(100) ^ 0x100);
  const AbftVerdict v = p.checker().check(p.c, Residual::sums(p.sums(16)));
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_EQ(v.flagged, 1);
}

// 128 sums are above their threshold. The first 64 of them are confirmed together. The others are
// confirmed only if the work so far does not exceed `closer_look`.
TEST(Residual, AfterSoMuchWorkTheRestIsBelieved) {
  const WithAccumulator p;
  const Tensor r = p.sums(8);
  Tensor c = p.c;
  for (std::int64_t e = 0; e < kRows * kColumns; e += 8) c.set_bits(e, c.bits_at(e) ^ 0x4000);
  for (const bool all : {true, false}) {
    const AbftVerdict v =
        p.checker("residual_compensated,groups=8", all ? 1e12 : 0).check(c, Residual::sums(r));
    EXPECT_EQ(v.outcome, Outcome::kFail);
    EXPECT_GE(v.flagged, kRows * kColumns / 8);
    EXPECT_EQ(v.all_looked_at, all);
  }
}

// Errors of equal products and of equal columns add up, which no variance covers. The confirmation
// allows for them. A fault must then be larger than any sum of errors could be.
TEST(Residual, ErrorsThatAddUpAreClean) {
  const Machine& machine = machine_named("ascend910b");
  const Format& f = format_named("float16");
  std::int64_t dismissed = 0;
  for (const bool equal_products : {true, false}) {
    Case c;
    c.name = "x";
    c.op = "matmul";
    c.attributes["output_dtype"] = std::string("bfloat16");
    Random random(5, equal_products ? 1 : 2);
    std::vector<double> a(at(32 * 4096), 0.7), b(at(4096 * 32), 0.7);
    for (std::size_t k = 0; k < 4096 && !equal_products; ++k) {
      for (std::size_t i = 0; i < 32; ++i) a[i * 4096 + k] = random.normal();
      const double value = random.normal();
      for (std::size_t j = 0; j < 32; ++j) b[k * 32 + j] = value;
    }
    c.inputs.emplace("a", Tensor::from_values(f, {32, 4096}, a));
    c.inputs.emplace("b", Tensor::from_values(f, {4096, 32}, b));
    Tensor output = emulate(c, machine, 1);
    Epilogue epilogue{emulate_accumulator(c, machine, 1), {}};
    const auto verdict = [&](const std::string& more) {
      AbftOptions options = options_of("residual_compensated" + more);
      options.model = &dot_model(machine, f);
      return abft_check(c, output, options, &epilogue);
    };
    const AbftVerdict clean = verdict(",kappa=5");
    EXPECT_EQ(clean.outcome, Outcome::kPass) << clean.because;
    EXPECT_EQ(verdict(",kappa=5,columns=1").outcome, Outcome::kPass);
    EXPECT_GT(clean.confirmed_clean, 0) << equal_products;
    EXPECT_EQ(verdict(",kappa=5,confirm=0").flagged, clean.confirmed_clean);
    dismissed += clean.confirmed_clean;
    // A larger fault in the accumulator is found, although it is in a row whose errors add up.
    Tensor& sums = epilogue.accumulator;
    sums.set_bits(3, sums.bits_at(3) ^ (1u << 20));
    output.set_bits(3, encode(output.format(), sums.view().value_at(3)));
    EXPECT_EQ(verdict(",kappa=5").outcome, Outcome::kFail);
  }
  EXPECT_GT(dismissed, 10);
}

// Errors of one sign may grow with the sizes of the row and of the group's columns. Sums of up to
// 64 ones are exact, so that the whole bias that is expected of a truncating accumulator is an
// error. It is 0.7 u of the partial sums 1 + ... + 64 = 2080 for each column. At worst, a rounding
// takes 2 u of its sum, and the rounding to float32 takes 2 u of the whole.
TEST(Residual, ExplainedErrorsAreThoseOfTheirRowAndGroup) {
  const Format& f = format_named("float32");
  DotModel model = dot_model(machine_named("cpu_fma"), f);
  model.rounding.value = Rounding::kTowardZero;
  const std::int64_t m = 3, n = 32, k = 64;
  std::vector<double> a(at(m * k)), b(at(k * n));
  for (std::size_t e = 0; e < a.size(); ++e) a[e] = std::ldexp(1.0, static_cast<int>(e / at(k)));
  for (std::size_t e = 0; e < b.size(); ++e) b[e] = e % at(n) < 16 ? 1 : 32;
  AbftOptions options = options_of("residual_compensated");
  options.model = &model;
  const std::vector<double> explained =
      AbftChecker::of_product(Tensor::from_values(f, {m, k}, a), Tensor::from_values(f, {k, n}, b),
                              options)
          .explained(format_named("bfloat16"));
  ASSERT_EQ(explained.size(), at(m * 2));
  const double one = 16 * 0x1p-24 * ((0.7 + 2) * 2080 + 2 * 64);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t g = 0; g < 2; ++g) {
      const double wanted = one * std::ldexp(g == 0 ? 1 : 32, static_cast<int>(i));
      EXPECT_NEAR(explained[at(i * 2 + g)], wanted, 1e-12 * wanted) << i << " " << g;
    }
  }
}

// Columns are checked as rows of the transposed product. There the two factors change places, so
// their formats must change places too. If the checker took the small factor (about 2^-40) for
// float16, whose exponents end at -14, the alignment of the model would cut its products off. The
// confirmation would then allow for errors of that size, and a fault could pass for one.
TEST(Residual, ColumnsHaveTheFormatsOfTheirFactors) {
  const Format &half = format_named("float16"), &wide = format_named("bfloat16");
  DotModel model = dot_model(machine_named("hopper"), half);
  model.other_input = wide.name;
  const std::int64_t m = 16, n = 16, k = 64;
  Random random(5, 3);
  std::vector<double> values(at(m * k)), small(at(k * n));
  for (double& v : values) v = random.normal();
  for (double& v : small) v = std::ldexp(random.normal(), -40);
  const Tensor a = Tensor::from_values(half, {m, k}, values),
               b = Tensor::from_values(wide, {k, n}, small);
  values = a.view().values(), small = b.view().values();
  std::vector<float> sums(at(m * n), 0.0f);
  dot_matmul(model, m, n, k, values.data(), small.data(), sums.data(), 1);
  std::vector<double> accumulated(sums.begin(), sums.end());
  AbftOptions options = options_of("residual_compensated,columns=1");
  options.model = &model;
  const AbftChecker checker = AbftChecker::of_product(a, b, options);
  const auto verdict = [&] {
    const Tensor before = Tensor::from_values(format_named("float32"), {m, n}, accumulated);
    const Tensor c = Tensor::from_values(wide, {m, n}, accumulated);
    return checker.check(c, Residual::accumulator(before));
  };
  const AbftVerdict clean = verdict();
  EXPECT_EQ(clean.outcome, Outcome::kPass) << clean.because;
  accumulated[5 * 16 + 9] += 0x1p-52;
  const AbftVerdict v = verdict();
  EXPECT_EQ(v.flagged, 2) << "a row and a column";
  EXPECT_EQ(v.confirmed_clean, 0);
}

TEST(Residual, RepairTakesTheResidual) {
  const WithAccumulator p;
  Tensor c = p.flipped(100, 3);
  const AbftChecker checker = p.checker();
  EXPECT_TRUE(checker.repair(c).empty()) << "without a residual nothing can be checked";
  const std::vector<AbftRepair> repairs = checker.repair(c, Residual::accumulator(p.before));
  ASSERT_EQ(repairs.size(), 1u);
  EXPECT_EQ(c.bits_at(100), p.c.bits_at(100));
}

TEST(Residual, ACastByHand) {
  const Format& f = format_named("float16");
  const auto off = [&](double cast, double before) {
    return cast_reading(f, cast, before).flagged();
  };
  EXPECT_EQ(cast_reading(f, 1, 1 + 0x1p-11).difference, 0x1p-11);
  EXPECT_EQ(cast_reading(f, 1, 1 + 0x1p-11).threshold, 0x1p-11);
  EXPECT_FALSE(off(1, 1 + 0x1p-11)) << "a tie may go either way";
  EXPECT_FALSE(off(1 + 0x1p-10, 1 + 0x1p-11));
  EXPECT_TRUE(off(1, 1 + 0x1.002p-11));
  EXPECT_TRUE(off(1 + 0x1p-10, 1));
  EXPECT_FALSE(off(2, 2 - 0x1p-11)) << "up to the next power of two";
  EXPECT_TRUE(off(2, 2 - 0x1.01p-11)) << "the ulp is that below it";
  EXPECT_FALSE(off(0, 0x1p-25));
  EXPECT_TRUE(off(0, 0x1p-24));
  EXPECT_FALSE(off(65504, 1e6)) << "saturated";
  EXPECT_TRUE(off(65472, 1e6));
  EXPECT_TRUE(cast_reading(f, kInfinity, 1e6).is_special())
      << "which is right is for others to say";
  EXPECT_TRUE(off(1, kNan));
  EXPECT_TRUE(off(kNan, 1));
}

// Casts that overflow as they must are right, and the checks that sum them are not checkable. An
// infinity without a reason is a fault.
TEST(Residual, InfinitiesThatAreRight) {
  Case c;
  c.name = "x";
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string("float16");
  const Format& f = format_named("float16");
  c.inputs.emplace("a", Tensor::from_values(f, {3, 2}, std::vector<double>{300, 1, 1, 2, 3, 4}));
  c.inputs.emplace("b", Tensor::from_values(f, {2, 3}, std::vector<double>{300, 1, 2, 5, 6, 7}));
  Tensor output = emulate(c, machine_named("ascend910b"), 1);
  ASSERT_TRUE(std::isinf(output.view().value_at(0)));
  const Epilogue epilogue{emulate_accumulator(c, machine_named("ascend910b"), 1), {}};
  const AbftOptions options = options_of("residual_compensated");
  const AbftVerdict right = abft_check(c, output, options, &epilogue);
  EXPECT_EQ(right.outcome, Outcome::kPass) << right.because;
  EXPECT_EQ(right.not_checkable, 2);
  EXPECT_EQ(right.right_specials, 1);
  output.set_bits(4, 0x7c00);
  EXPECT_EQ(abft_check(c, output, options, &epilogue).outcome, Outcome::kFail);
}

TEST(Residual, EveryMatrixOfABatchHasItsOwn) {
  Case c;
  c.name = "x";
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string("bfloat16");
  const testing_products::Product p =
      testing_products::make_product(testing_products::normal("0", 0, 1), 3 * 8, 40, 48, 1);
  c.inputs.emplace("a", Tensor::from_values(p.a.format(), {3, 8, 48}, p.a.view().values()));
  c.inputs.emplace("b", p.b);
  const Machine& machine = machine_named("ascend910b");
  const Tensor output = emulate(c, machine, 1);
  const Epilogue whole{emulate_accumulator(c, machine, 1), {}};
  const AbftOptions options = options_of("residual_compensated");
  EXPECT_EQ(abft_check(c, output, options, &whole).outcome, Outcome::kPass);
  std::vector<double> r(at(3 * 8 * 3), 0.0);
  for (std::int64_t e = 0; e < 3 * 8 * 40; ++e) {
    r[at(e / 40 * 3 + e % 40 / 16)] +=
        whole.accumulator.view().value_at(e) - output.view().value_at(e);
  }
  const Epilogue sums{{}, Tensor::from_values(format_named("float64"), {3, 8, 3}, r)};
  EXPECT_EQ(abft_check(c, output, options, &sums).outcome, Outcome::kPass);
  Tensor wrong = output;
  wrong.set_bits(2 * 8 * 40 + 5 * 40 + 17, wrong.bits_at(2 * 8 * 40 + 5 * 40 + 17) ^ 2);
  for (const Epilogue* epilogue : {&whole, &sums}) {
    const AbftVerdict v = abft_check(c, wrong, options, epilogue);
    EXPECT_THAT(v.because, HasSubstr("matrix 2 of the batch"));
    ASSERT_FALSE(v.flags.empty());
    EXPECT_EQ(v.flags[0].index, 5);
    EXPECT_EQ(v.flags[0].first, 16);
  }
  EXPECT_EQ(abft_check(c, output, options_of("rounding_variance"), &sums).outcome, Outcome::kPass)
      << "what lies beside an output is no reason against other thresholds";
}

TEST(Residual, RefusalsSayWhatIsMissing) {
  const WithAccumulator p;
  const AbftChecker checker = p.checker();
  EXPECT_EQ(checker.check(p.c).because,
            "residual_compensated needs what the cast took away: C before its cast, or R of every "
            "check; in a dataset accumulators/PRODUCER or residuals/PRODUCER of the case, in a "
            "matcher .accumulator(c) or .residual(r)");
  EXPECT_EQ(p.checker("rounding_variance").check(p.c, Residual::accumulator(p.before)).because,
            "the threshold rounding_variance does not use residuals; use residual_compensated");
  EXPECT_EQ(
      checker.check(p.c, Residual::sums(p.sums(32))).because,
      "the residuals have the shape [16, 2], but those of checks of 16 columns have [16, 4]; set "
      "groups=N to the width of the checks that the kernel summed, or groups=0 for whole rows");
  EXPECT_EQ(checker.check(p.c, Residual::accumulator(p.product.input("a"))).because,
            "the accumulator has the shape [16, 256], but it must have the shape of the output, "
            "[16, 64]");
  EXPECT_EQ(
      p.checker("residual_compensated,columns=1").check(p.c, Residual::sums(p.sums(16))).because,
      "checks of columns need the accumulator of the output, but only the residual of each row is "
      "given");
  EXPECT_EQ(
      checker.check(p.before, Residual::accumulator(p.before)).because,
      "outputs of float32 are not cast from a wider accumulator, so that they have no residual");
  const auto of_case = [&](const Epilogue& epilogue) {
    return abft_check(p.product, p.c, options_of("residual_compensated"), &epilogue).because;
  };
  EXPECT_EQ(of_case({p.c, {}}),
            "the accumulator is bfloat16 [16, 64], but for an output bfloat16 [16, 64] it must be "
            "float32 or float64 of the same shape");
  EXPECT_EQ(of_case({{}, p.product.input("a")}),
            "the residual is bfloat16 [16, 256], but for an output bfloat16 [16, 64] it must be "
            "float32 or float64 of the shape [..., M, checks in a row]");
  EXPECT_THAT(of_case({}), HasSubstr("needs what the cast took away"));
}

// For every machine, the cast of the emulated accumulator gives the emulated result.
TEST(Residual, EmulatedAccumulatorsCastToTheResult) {
  int machines_seen = 0;
  for (const Machine& machine : machines()) {
    for (const char* dtype : {"bfloat16", "float16", "float8_e4m3fn"}) {
      Case c;
      c.name = "x";
      c.op = "matmul";
      c.attributes["output_dtype"] = std::string("bfloat16");
      const testing_products::Product p =
          testing_products::make_product(testing_products::normal("0", 0, 1), 9, 20, 70, 4);
      const Format& f = format_named(dtype);
      c.inputs.emplace("a", Tensor::from_values(f, {9, 70}, p.a.view().values()));
      c.inputs.emplace("b", Tensor::from_values(f, {70, 20}, p.b.view().values()));
      c.inputs.emplace("bias", Tensor::from_values(format_named("bfloat16"), {20},
                                                   std::vector<double>(20, 1.5)));
      Tensor output;
      try {
        output = emulate(c, machine, 1);
      } catch (const std::invalid_argument&) {
        // The machine has no unit for the dtype.
        continue;
      }
      Tensor before;
      try {
        before = emulate_accumulator(c, machine, 1);
      } catch (const std::invalid_argument& e) {
        EXPECT_THAT(e.what(), HasSubstr("sums exactly")) << machine.name;
        EXPECT_FALSE(machine.has_matrix_unit()) << machine.name;
        continue;
      }
      ++machines_seen;
      EXPECT_EQ(before.format().name, "float32");
      int rounded = 0;
      for (std::int64_t e = 0; e < output.size(); ++e) {
        const double value = before.view().value_at(e);
        ASSERT_EQ(output.bits_at(e), encode(output.format(), value)) << machine.name << " " << e;
        rounded += decode(output.format(), output.bits_at(e)) != value ? 1 : 0;
      }
      EXPECT_GT(rounded, 0) << machine.name;
    }
  }
  EXPECT_GE(machines_seen, 6);
}

TEST(Residual, WhatHasNoAccumulatorSaysWhy) {
  const WithAccumulator p;
  const auto why = [](const Case& c, const char* machine) {
    try {
      (void)emulate_accumulator(c, machine_named(machine), 1);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  Case c = p.product;
  EXPECT_EQ(why(c, "exact"),
            "case x: the machine exact sums exactly, so that there is no accumulator before the "
            "cast; choose another machine");
  c.attributes["output_dtype"] = std::string("float32");
  EXPECT_EQ(why(c, "ascend910b"),
            "case x: outputs of float32 are not cast from a wider accumulator, so that they have "
            "no residual");
  Case other;
  other.name = "y";
  other.op = "exp";
  other.inputs.emplace("x", p.c);
  EXPECT_EQ(why(other, "ascend910b"),
            "case y: the operator exp is not a product, so that it has no accumulator");
}

// The reported cast is the one that is furthest beyond its bound. If several are equally far, it is
// the first.
TEST(Residual, TheCastThatIsFurthestOffSpeaks) {
  const auto speaks = [](std::vector<double> before, const std::vector<double>& ulps_off) {
    std::vector<double> cast;
    const Format& f = format_named("bfloat16");
    for (std::size_t j = 0; j < before.size(); ++j) {
      cast.push_back(before[j] + ulps_off[j] * ulp_of(f, before[j]));
    }
    const Shape row = {1, static_cast<std::int64_t>(before.size())};
    const Tensor a = Tensor::from_values(f, {1, 1}, std::vector<double>{1}),
                 b = Tensor::from_values(f, row, before), c = Tensor::from_values(f, row, cast),
                 sums = Tensor::from_values(format_named("float32"), row, before);
    const AbftVerdict v = AbftChecker::of_product(a, b, options_of("residual_compensated"))
                              .check(c, Residual::accumulator(sums));
    EXPECT_EQ(v.flagged, 1);
    return v.flags.at(0).reading;
  };
  // In bfloat16, half an ulp of a power of two is 2^-8 of it.
  EXPECT_EQ(speaks({1, 2, 4, 8}, {1, 1, 1, 1}).difference, 0x1p-7);
  EXPECT_EQ(speaks({8, 4, 2, 1}, {1, 1, 1, 1}).difference, 0x1p-4);
  EXPECT_EQ(speaks({1, 2, 4, 8}, {0, 1, 1, 0}).threshold, 0x1p-7);
  EXPECT_EQ(speaks({1, 2, 4, 8}, {1, 1, 2, 2}).difference, 0x1p-4);
  EXPECT_EQ(speaks({1, 2, 4, 8}, {1, 3, 2, 2}).difference, 3 * 0x1p-6);
}

// R of a right result is within the errors that the roundings of the outputs explain, before any
// element is confirmed.
TEST(Residual, RightSumsNeedNoConfirmation) {
  const WithAccumulator p;
  for (const std::int64_t width : {16, 64}) {
    const std::string spec = "residual_compensated,groups=" + std::to_string(width);
    const Tensor r = p.sums(width);
    const AbftVerdict v = p.checker(spec + ",confirm=0").check(p.c, Residual::sums(r));
    EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
    EXPECT_EQ(v.flagged, 0);
    EXPECT_EQ(p.checker(spec).check(p.c, Residual::sums(r)).confirmed_clean, 0);
  }
}

// Inputs that a unit takes for 0 change the sums, but not R, which only has the roundings of the
// cast. The threshold of a sum therefore allows for them, and the threshold of R does not.
TEST(Residual, FlushedProductsAreAllowedFor) {
  const Format& f = format_named("float32");
  const Tensor a = Tensor::from_values(f, {1, 3}, std::vector<double>{0x1p-127, 1, -4});
  const Tensor b = Tensor::from_values(f, {3, 2}, std::vector<double>{3, -5, 2, 4, 0x1p-130, 7});
  AbftOptions options = options_of("residual_compensated,groups=0");
  options.model = &dot_model(machine_variant("cpu_fma,flush_inputs=1"), f);
  const AbftChecker checker = AbftChecker::of_product(a, b, options);
  BoundForm form;
  checker.forms(0, format_named("bfloat16"), &form);
  EXPECT_DOUBLE_EQ(form.constant, 0x1p-127 * (3 + 5) + 4 * 0x1p-130);
  checker.residual_forms(0, format_named("bfloat16"), &form);
  EXPECT_EQ(form.constant, 0);
}

// residual_forms() writes one form for each group of a row, and nothing behind them.
TEST(Residual, FormsAreThoseOfTheRowsChecks) {
  const WithAccumulator p;
  const AbftChecker checker = p.checker("residual_compensated,groups=16");
  ASSERT_EQ(checker.groups_per_row(), 4);
  std::vector<BoundForm> forms(5);
  for (BoundForm& form : forms) form.constant = -7;
  checker.residual_forms(3, p.c.format(), forms.data());
  for (std::size_t g = 0; g < 4; ++g) {
    EXPECT_EQ(forms[g].constant, 0) << g;
    EXPECT_DOUBLE_EQ(forms[g].ulp_weight, 1.0 / 12) << g;
  }
  EXPECT_EQ(forms[4].constant, -7);
}

// The variance of a group's R is that of the roundings of the cast: a twelfth of the sum of the
// squared ulps of C in this group.
TEST(Residual, HasTheVarianceOfTheRoundingsOfC) {
  const WithAccumulator p;
  const AbftChecker checker = p.checker("residual_compensated,groups=16");
  const std::int64_t row = 5;
  const double residual[] = {0, 0x1p-20, -100, 0};
  Reading readings[4];
  checker.read_residual(row, p.c.bytes() + row * kColumns * 2, p.c.format(), residual, readings);
  for (std::int64_t g = 0; g < 4; ++g) {
    double squares = 0;
    for (std::int64_t j = 16 * g; j < 16 * (g + 1); ++j) {
      const double ulp = ulp_of(p.c.format(), p.c.view().value_at(row * kColumns + j));
      squares += ulp * ulp;
    }
    const Reading& r = readings[g];
    EXPECT_EQ(r.difference, std::abs(residual[g])) << g;
    EXPECT_NEAR(r.variance / (squares / 12), 1, 1e-4) << g;
    EXPECT_EQ(r.flagged(), g == 2) << g;
  }
}

}  // namespace
}  // namespace assay::abft
