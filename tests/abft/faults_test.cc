// Tests which results are faults, which checks cannot decide, and which arguments are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "abft/checked.h"
#include "abft/oracle.h"
#include "assay/abft.h"
#include "assay/abft/attention_check.h"
#include "assay/base/constants.h"
#include "assay/format/convert.h"
#include "error_of.h"
#include "simd/target_fixture.h"

namespace assay::abft {
namespace {

using testing_checks::checked;
using testing_checks::options_of;
using testing_oracle::Made;
using testing_oracle::Matrix;
using testing_oracle::random_product;
using testing_oracle::tensor_of;

const std::vector<std::string>& every_threshold() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> specs;
    for (const char* base :
         {"rounding_variance", "rounding_variance,groups=0", "rounding_variance,groups=1",
          "rounding_variance,coarse=1,kappa=1000000", "v_abft", "v_abft,variant=recalibrated",
          "v_abft,e_max=1e30", "a_abft"}) {
      for (const char* confirm : {",confirm=0", ",confirm=1"}) {
        for (const char* more : {"", ",arithmetic=output", ",columns=1"}) {
          specs.push_back(std::string(base) + confirm + more);
        }
      }
    }
    return specs;
  }();
  return all;
}

class AbftFault : public simd::OnEveryTarget {};
class AbftNotCheckable : public simd::OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(OnTarget, AbftFault, testing::ValuesIn(simd::available_targets()),
                         simd::target_of);
INSTANTIATE_TEST_SUITE_P(OnTarget, AbftNotCheckable, testing::ValuesIn(simd::available_targets()),
                         simd::target_of);

TEST(AbftReading, ComparesPositively) {
  const auto flagged = [](double difference, double threshold, bool checkable = true) {
    return Reading{difference, threshold, 0, checkable}.flagged();
  };
  EXPECT_FALSE(flagged(0, 0));
  EXPECT_FALSE(flagged(1, 1));
  EXPECT_TRUE(flagged(std::nextafter(1.0, 2.0), 1));
  for (const double special : {kNan, -kNan, kInfinity}) {
    EXPECT_TRUE(flagged(special, 1));
    EXPECT_TRUE(flagged(1, special));
    EXPECT_TRUE(flagged(special, special));
    EXPECT_FALSE(flagged(special, special, false));
  }
}

// Values from 1 to 2 have all exponent bits set but the topmost. One flip makes them infinity (for
// 1) or NaN.
TEST_P(AbftFault, FlipsToInfinityAndNanAreAlwaysDetected) {
  struct Row {
    const char* dtype;
    int top_bit;
  };
  for (const Row& row : {Row{"bfloat16", 14}, Row{"float16", 14}, Row{"float32", 30}}) {
    // A is all halves, B is all `value`, and K is 2, so that every element of C is exactly `value`.
    for (const double value : {1.0, 1.5, -1.0, -1.25}) {
      const Matrix ones{3, 2, std::vector<double>(6, 0.5)};
      const Matrix values{2, 19, std::vector<double>(38, value)};
      const Tensor a = tensor_of(row.dtype, ones), b = tensor_of(row.dtype, values);
      const Tensor clean = tensor_of(row.dtype, {3, 19, std::vector<double>(57, value)});
      for (const std::int64_t element : {0, 15, 16, 18, 19, 37, 56}) {
        Tensor c = clean;
        c.set_bits(element, c.bits_at(element) ^ (std::uint64_t{1} << row.top_bit));
        ASSERT_EQ(is_inf(c.format(), c.bits_at(element)), std::abs(value) == 1);
        ASSERT_EQ(is_nan(c.format(), c.bits_at(element)), std::abs(value) != 1);
        for (const std::string& spec : every_threshold()) {
          SCOPED_TRACE(spec);
          const AbftVerdict v = checked(a, b, c, spec);
          ASSERT_EQ(v.outcome, Outcome::kFail);
          ASSERT_EQ(v.flagged, static_cast<std::int64_t>(v.flags.size()));
          for (const AbftFlag& flag : v.flags) {
            const std::int64_t i = element / 19, j = element % 19;
            EXPECT_EQ(flag.index, flag.is_column ? j : i);
            ASSERT_TRUE(flag.element);
            EXPECT_EQ(flag.element->row, i);
            EXPECT_EQ(flag.element->column, j);
            EXPECT_EQ(flag.element->bits, c.bits_at(element));
            EXPECT_EQ(flag.element->flipped_bit, row.top_bit);
            EXPECT_EQ(flag.element->repaired_bits, clean.bits_at(element));
          }
          EXPECT_EQ(v.worst_ratio, kInfinity);
          ASSERT_NE(checked(a, b, clean, spec).outcome, Outcome::kFail);
        }
      }
    }
  }
}

// Infinities of both signs give NaN in a sum, and so does a NaN beside them.
TEST_P(AbftFault, SpecialsInOneRowDoNotHideEachOther) {
  const Made made = random_product(4, 20, 8, "bfloat16", "bfloat16", 0, 1);
  for (const auto& [first, second] : std::vector<std::pair<double, double>>{{kInfinity, -kInfinity},
                                                                            {kInfinity, kInfinity},
                                                                            {kNan, kInfinity},
                                                                            {-kNan, kNan},
                                                                            {-kInfinity, 3}}) {
    Tensor c = made.c;
    c.set_bits(2 * 20 + 3, encode(c.format(), first));
    c.set_bits(2 * 20 + 9, encode(c.format(), second));
    for (const std::string& spec : every_threshold()) {
      SCOPED_TRACE(spec);
      EXPECT_EQ(checked(made.a, made.b, c, spec).outcome, Outcome::kFail);
    }
  }
}

TEST_P(AbftFault, GoldenAloneDetectsSpecials) {
  const Made made = random_product(4, 40, 8, "float16", "float16", 0, 2);
  for (const double special : {kInfinity, -kInfinity, kNan}) {
    Tensor c = made.c;
    c.set_bits(45, encode(c.format(), special));
    for (const char* spec :
         {"rounding_variance", "rounding_variance,confirm=0", "rounding_variance,groups=0"}) {
      const AbftVerdict v = AbftChecker::of_golden(made.c, options_of(spec)).check(c);
      EXPECT_EQ(v.outcome, Outcome::kFail);
      ASSERT_EQ(v.flags.size(), 1u);
      EXPECT_EQ(v.flags[0].index, 1);
      EXPECT_EQ(v.flags[0].element->column, 5);
    }
  }
}

TEST_P(AbftNotCheckable, OneBadRowOfA) {
  for (const double special : {kNan, kInfinity, -kInfinity}) {
    for (const char* dtype : {"bfloat16", "float16", "float32"}) {
      Made made = random_product(5, 40, 8, dtype, dtype, 0, 3);
      made.a.set_bits(2 * 8 + 4, encode(made.a.format(), special));
      made.c.set_bits(2 * 40 + 7, encode(made.c.format(), 60000));  // cannot be judged
      const AbftVerdict v = checked(made, "rounding_variance,confirm=0");
      EXPECT_EQ(v.outcome, Outcome::kPass);
      EXPECT_EQ(v.checks, 15);
      EXPECT_EQ(v.not_checkable, 3);
      EXPECT_EQ(v.flagged, 0);
      EXPECT_THAT(
          v.notes,
          testing::ElementsAre(
              "3 checks could not be made, because operands or checksums hold NaN or infinity"));
      EXPECT_TRUE(std::isfinite(v.rms_z));
      EXPECT_TRUE(std::isfinite(v.worst_ratio));
      // A fault in another row is still found.
      made.c.set_bits(3 * 40 + 7, encode(made.c.format(), 60000));
      EXPECT_EQ(checked(made).outcome, Outcome::kFail);
      for (const char* spec : {"v_abft", "a_abft"}) {
        const AbftVerdict w = checked(made, spec);
        EXPECT_EQ(w.not_checkable, 1) << spec;
        EXPECT_EQ(w.flagged, 1) << spec;
        ASSERT_EQ(w.flags.size(), 1u) << spec;
        EXPECT_EQ(w.flags[0].index, 3) << spec;
      }
    }
  }
}

TEST_P(AbftNotCheckable, OneBadElementOfB) {
  for (const double special : {kNan, kInfinity}) {
    Made made = random_product(5, 40, 8, "bfloat16", "bfloat16", 0, 4);
    // The special value is in column 20, which belongs to the second group of 16 columns.
    made.b.set_bits(3 * 40 + 20, encode(made.b.format(), special));
    AbftVerdict v = checked(made);
    EXPECT_EQ(v.outcome, Outcome::kPass);
    EXPECT_EQ(v.not_checkable, 5);
    EXPECT_EQ(v.checks, 15);
    // With checks of columns, only column 20 is lost. Its 5 rows are one group.
    v = checked(made, "rounding_variance,columns=1");
    EXPECT_EQ(v.checks, 15 + 40);
    EXPECT_EQ(v.not_checkable, 5 + 1);
    EXPECT_EQ(v.outcome, Outcome::kPass);
    v = checked(made, "rounding_variance,groups=0");
    EXPECT_EQ(v.outcome, Outcome::kUntrusted);
    EXPECT_EQ(v.not_checkable, 5);
    EXPECT_EQ(
        v.because,
        "no check shows anything, because the operands or their checksums hold NaN or infinity");
  }
}

TEST_P(AbftNotCheckable, AllIsUntrusted) {
  const Made made = random_product(3, 5, 2, "float16", "float16", 0, 5);
  Tensor a = made.a;
  for (const std::int64_t i : {0, 2, 4}) a.set_bits(i, encode(a.format(), kNan));
  for (const std::string& spec : every_threshold()) {
    const AbftVerdict v = checked(a, made.b, made.c, spec);
    EXPECT_EQ(v.outcome, Outcome::kUntrusted) << spec;
    EXPECT_EQ(v.not_checkable, v.checks) << spec;
    EXPECT_TRUE(v.flags.empty()) << spec;
  }
  const Tensor golden = tensor_of("float16", {1, 2, {kInfinity, 1}});
  const AbftVerdict v = AbftChecker::of_golden(golden, {}).check(golden);
  EXPECT_EQ(v.outcome, Outcome::kUntrusted);
}

TEST_P(AbftNotCheckable, ABadBias) {
  const Made made = random_product(3, 40, 2, "bfloat16", "bfloat16", 0, 6);
  std::vector<double> bias(40, 0.0);
  bias[17] = kInfinity;
  const AbftVerdict v = AbftChecker::of_product(made.a, made.b, {}, bias).check(made.c.view());
  EXPECT_EQ(v.not_checkable, 3);
  EXPECT_EQ(v.outcome, Outcome::kPass);
}

// C really overflows, and the operands give the same infinities, so that they are not faults. But a
// sum of infinities cannot be checked.
TEST_P(AbftFault, AnOverflowThatTheOperandsShareIsNoCheck) {
  const Tensor a = tensor_of("float16", {1, 2, {200, 200}});
  const Tensor b = tensor_of("float16", {2, 3, {200, 1, -200, 200, 2, -200}});
  Tensor c = tensor_of("float16", {1, 3, {80000, 600, -80000}});
  ASSERT_TRUE(is_inf(c.format(), c.bits_at(0)));
  AbftVerdict v;
  for (const char* spec : {"rounding_variance", "rounding_variance,confirm=0"}) {
    v = checked(a, b, c, spec);
    EXPECT_EQ(v.outcome, Outcome::kUntrusted);
    EXPECT_EQ(v.because,
              "no check could be made, because each of them sums infinite or NaN elements");
    EXPECT_EQ(v.not_checkable, 1);
    EXPECT_EQ(v.right_specials, 2);
  }
  // An infinity of the wrong sign is a fault.
  c.set_bits(2, encode(c.format(), kInfinity));
  v = checked(a, b, c);
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_EQ(v.flags.at(0).element->column, 2);
}

TEST(AbftUntrusted, NothingDifferentAndNothingAllowed) {
  const Tensor zero = tensor_of("float32", {4, 4, std::vector<double>(16, 0.0)});
  const Tensor one = tensor_of("float32", {4, 4, std::vector<double>(16, 1.0)});
  for (const char* spec : {"rounding_variance", "rounding_variance,columns=1", "v_abft", "a_abft",
                           "v_abft,columns=1,confirm=1", "rounding_variance,groups=1"}) {
    const AbftVerdict v = checked(zero, one, zero, spec);
    EXPECT_EQ(v.outcome, Outcome::kUntrusted) << spec;
    EXPECT_EQ(v.because,
              "no check shows anything, because every difference and every threshold is 0");
    Tensor c = zero;
    c.set_bits(5, 1);  // the smallest subnormal
    EXPECT_EQ(checked(zero, one, c, spec).outcome, Outcome::kFail) << spec;
  }
  // One row that can be judged is enough for a verdict.
  Tensor a = zero, c = zero;
  a.set_bits(3, encode(a.format(), 2));
  for (std::int64_t j = 0; j < 4; ++j) c.set_bits(j, encode(c.format(), 2));
  EXPECT_EQ(checked(a, one, c).outcome, Outcome::kPass);
}

TEST(AbftUntrusted, NoElements) {
  for (const Shape& shape : {Shape{0, 4}, Shape{4, 0}, Shape{0, 0}}) {
    const Tensor a(format_named("bfloat16"), {shape[0], 3}),
        b(format_named("bfloat16"), {3, shape[1]});
    const Tensor c(format_named("bfloat16"), shape);
    for (const char* spec : {"rounding_variance", "v_abft,columns=1", "a_abft"}) {
      const AbftVerdict v = checked(a, b, c, spec);
      EXPECT_EQ(v.outcome, Outcome::kUntrusted);
      EXPECT_EQ(v.because, "there are no elements to check");
    }
    EXPECT_EQ(AbftChecker::of_golden(c, {}).check(c).outcome, Outcome::kUntrusted);
  }
}

TEST(AbftIntegers, AreCheckedExactly) {
  Random random(5, 5);
  Matrix a{9, 300, std::vector<double>(2700)}, b{300, 21, std::vector<double>(6300)};
  for (double& v : a.values) v = static_cast<double>(random.below(256)) - 128;
  for (double& v : b.values) v = static_cast<double>(random.below(256)) - 128;
  Matrix c{9, 21, std::vector<double>(189, 0.0)};
  for (std::int64_t i = 0; i < 9; ++i) {
    for (std::int64_t j = 0; j < 21; ++j) {
      for (std::int64_t k = 0; k < 300; ++k) c(i, j) += a(i, k) * b(k, j);
    }
  }
  const Tensor ta = tensor_of("int8", a), tb = tensor_of("int8", b), clean = tensor_of("int32", c);
  for (const std::string& spec : every_threshold()) {
    SCOPED_TRACE(spec);
    const AbftVerdict v = checked(ta, tb, clean, spec);
    EXPECT_EQ(v.outcome, Outcome::kPass);
    EXPECT_EQ(v.worst_ratio, 0);
    for (int bit = 0; bit < 32; bit += 31) {
      Tensor wrong = clean;
      wrong.set_bits(50, wrong.bits_at(50) ^ (std::uint64_t{1} << bit));
      const AbftVerdict w = checked(ta, tb, wrong, spec);
      ASSERT_EQ(w.outcome, Outcome::kFail) << bit;
      ASSERT_TRUE(w.flags[0].element);
      EXPECT_EQ(w.flags[0].reading.threshold, 0);
      EXPECT_EQ(w.flags[0].element->row, 2);
      EXPECT_EQ(w.flags[0].element->column, 8);
      EXPECT_EQ(w.flags[0].element->flipped_bit, bit);
      EXPECT_EQ(w.flags[0].element->repaired_bits, clean.bits_at(50));
    }
  }
  const Tensor zero = tensor_of("int8", {2, 2, {0, 0, 0, 0}});
  EXPECT_EQ(checked(zero, zero, tensor_of("int32", {2, 2, {0, 0, 0, 0}})).outcome, Outcome::kPass);
}

// C = a b + bias. Each column has its own bias. The checks have several widths, by rows and by
// columns.
TEST(AbftIntegers, HaveTheirBias) {
  const Tensor a = tensor_of("int8", {3, 2, {1, 2, -3, 4, 5, -6}}),
               b = tensor_of("int8", {2, 4, {7, -8, 9, 10, 11, 12, -13, 14}});
  const std::vector<double> bias = {100, -2000, 30000, -70001};
  const std::vector<double> products = {29, 16, -17, 38, 23, 72, -79, 26, -31, -112, 123, -34};
  Matrix c{3, 4, products};
  for (std::size_t e = 0; e < c.values.size(); ++e) c.values[e] += bias[e % 4];
  std::vector<std::string> specs = every_threshold();
  for (const char* more : {"", ",columns=1"}) {
    for (const char* groups : {"2", "3", "4"}) {
      specs.push_back("rounding_variance,groups=" + std::string(groups) + more);
    }
  }
  for (const std::string& spec : specs) {
    SCOPED_TRACE(spec);
    const AbftChecker checker = AbftChecker::of_product(a, b, options_of(spec), bias);
    const AbftVerdict right = checker.check(tensor_of("int32", c));
    EXPECT_EQ(right.outcome, Outcome::kPass) << right.because;
    EXPECT_EQ(right.worst_ratio, 0);
    const AbftVerdict without = checker.check(tensor_of("int32", {3, 4, products}));
    EXPECT_EQ(without.outcome, Outcome::kFail);
    EXPECT_EQ(without.flagged, without.checks);
  }
}

// The check takes floats of one dtype whose products float64 holds.
TEST(AttentionRefusal, DtypesOfOperandsAndOutputs) {
  const auto refusal = [](const std::vector<const Format*>& inputs, const char* output) {
    Case c;
    c.name = "case";
    c.op = "attention";
    const char* names[] = {"q", "k", "v"};
    for (std::size_t i = 0; i < 3; ++i) {
      c.inputs[names[i]] = Tensor::from_values(*inputs[i], {2, 2}, std::vector<double>{1, 0, 1, 1});
    }
    return error_of([&] { AttentionRows(c, format_named(output), {}); });
  };
  const auto of_one = [&](const Format& f, const char* output) {
    return refusal({&f, &f, &f}, output);
  };
  const std::string wants =
      "checksums of attention need q, k and v of one float dtype with at most 24 bits of "
      "significand; they are ";
  const Format &half = format_named("float16"), &bf16 = format_named("bfloat16");
  for (const char* dtype : {"float16", "bfloat16", "tfloat32", "float32"}) {
    EXPECT_EQ(of_one(format_named(dtype), dtype), "no error");
    for (const char* output : {"int8", "int32", "uint8"}) {
      EXPECT_EQ(
          of_one(format_named(dtype), output),
          std::string("the output of attention must have a float dtype, but it is ") + output);
    }
  }
  EXPECT_EQ(of_one(custom_float(8, 23, 127, assay::Specials::kInfNan), "float32"), "no error");
  EXPECT_EQ(of_one(custom_float(4, 4, 7, assay::Specials::kInfNan), "float32"), "no error");
  for (const Format* f : {&format_named("int8"), &format_named("int32"), &format_named("float64"),
                          &custom_float(8, 24, 127, assay::Specials::kInfNan)}) {
    const std::string name(f->name);
    EXPECT_EQ(of_one(*f, "float32"), wants + name + ", " + name + " and " + name);
  }
  EXPECT_EQ(refusal({&half, &bf16, &bf16}, "float32"), wants + "float16, bfloat16 and bfloat16");
  EXPECT_EQ(refusal({&bf16, &half, &bf16}, "float32"), wants + "bfloat16, float16 and bfloat16");
  EXPECT_EQ(refusal({&bf16, &bf16, &half}, "float32"), wants + "bfloat16, bfloat16 and float16");
}

TEST(AttentionRefusal, Accumulators) {
  Case c;
  c.name = "case";
  c.op = "attention";
  const Format& f = format_named("float16");
  for (const char* name : {"q", "k", "v"}) {
    c.inputs[name] = Tensor::from_values(f, {1, 1}, std::vector<double>{1});
  }
  struct Row {
    const char* accumulator;
    int mantissa_bits;
    const char* because;  // the reason for the refusal, or empty if the model is accepted
  };
  for (const Row& row :
       {Row{"float32", 0, ""}, Row{"float32", 23, ""}, Row{"float32", 24, ""},
        Row{"float32", 22, "float32 of 23 bits"}, Row{"float32", 13, "float32 of 14 bits"},
        Row{"float32", 1, "float32 of 2 bits"}, Row{"float16", 0, "float16"},
        Row{"tfloat32", 23, "tfloat32 of 24 bits"}}) {
    DotModel model{"float16",
                   {16, Provenance::kAssumed},
                   {row.accumulator, Provenance::kAssumed},
                   {Rounding::kNearestEven, Provenance::kAssumed}};
    model.mantissa_bits.value = row.mantissa_bits;
    AbftOptions options;
    options.model = &model;
    const std::string because = row.because;
    EXPECT_EQ(
        error_of([&] { AttentionRows(c, f, options); }),
        because.empty()
            ? "no error"
            : "checksums of attention need a machine that sums in float32, not in " + because);
  }
}

TEST(AbftRefusal, Formats) {
  const Made made = random_product(3, 5, 2, "float32", "float32", 0, 7);
  const Tensor wide = tensor_of("float64", made.problem.c);
  for (const char* spec : {"rounding_variance", "v_abft", "a_abft"}) {
    const AbftVerdict v = checked(made.a, made.b, wide, spec);
    EXPECT_EQ(v.outcome, Outcome::kNotComparable);
    EXPECT_EQ(v.because,
              "outputs of float64 cannot be checked, because their checksums need more precision "
              "than float64");
    EXPECT_EQ(v.spec, spec);
    EXPECT_EQ(v.checks, 0);
  }
  const AbftVerdict v = checked(made.a, made.b, tensor_of("float8_e4m3fn", made.problem.c),
                                "v_abft,variant=recalibrated");
  EXPECT_EQ(v.outcome, Outcome::kNotComparable);
  EXPECT_EQ(v.because,
            "the variant recalibrated of v_abft has no e_max for float8_e4m3fn; give e_max, or "
            "choose another variant");
}

TEST(AbftRefusal, Accumulators) {
  const Made made = random_product(3, 5, 2, "float16", "float16", 0, 8);
  struct Row {
    const char* accumulator;
    Rounding rounding;
    int mantissa_bits, promotion_interval;
    const char* because;  // the reason for the refusal, or empty if the model is accepted
  };
  const std::string wants =
      "rounding_variance needs a float32 accumulator rounded by nearest_even or toward_zero, not ";
  const std::string narrow =
      "rounding_variance does not hold for an accumulator of 13 mantissa bits that is never "
      "promoted: its errors reach those of the outputs, with their sign";
  const std::string nearest_away = wants + "float32 by nearest_away",
                    float16 = wants + "float16 by nearest_even",
                    tfloat32 = wants + "tfloat32 by toward_zero";
  for (const Row& row : {Row{"float32", Rounding::kNearestEven, 0, 0, ""},
                         Row{"float32", Rounding::kTowardZero, 0, 0, ""},
                         Row{"float32", Rounding::kNearestAway, 0, 0, nearest_away.c_str()},
                         Row{"float16", Rounding::kNearestEven, 0, 0, float16.c_str()},
                         Row{"tfloat32", Rounding::kTowardZero, 0, 0, tfloat32.c_str()},
                         Row{"float32", Rounding::kTowardZero, 13, 0, narrow.c_str()},
                         Row{"float32", Rounding::kTowardZero, 13, 128, ""}}) {
    DotModel model{"float16",
                   {16, Provenance::kAssumed},
                   {row.accumulator, Provenance::kAssumed},
                   {row.rounding, Provenance::kAssumed}};
    model.mantissa_bits.value = row.mantissa_bits;
    model.promotion_interval.value = row.promotion_interval;
    AbftOptions options;
    options.model = &model;
    const AbftVerdict v = AbftChecker::of_product(made.a, made.b, options).check(made.c.view());
    const std::string because = row.because;
    EXPECT_EQ(v.outcome, because.empty() ? Outcome::kPass : Outcome::kNotComparable);
    if (!because.empty()) {
      EXPECT_EQ(v.because, because);
    }
    options.spec = parse_threshold("v_abft");
    EXPECT_EQ(AbftChecker::of_product(made.a, made.b, options).check(made.c.view()).outcome,
              Outcome::kPass);
  }
}

TEST(AbftRefusal, GoldenAlone) {
  const Made made = random_product(3, 5, 2, "float16", "float16", 0, 9);
  for (const Threshold& t : thresholds()) {
    const std::string name(t.name);
    if (name == "rounding_variance") continue;
    const AbftVerdict v = AbftChecker::of_golden(made.c, options_of(name)).check(made.c);
    EXPECT_EQ(v.outcome, Outcome::kNotComparable);
    EXPECT_EQ(v.because, "the threshold " + name +
                             " needs the operands, but only a golden result is given; give the "
                             "operands, or choose another threshold");
  }
  const Tensor c = tensor_of("float32", made.problem.c);
  const AbftVerdict v = AbftChecker::of_golden(made.c, {}).check(c);
  EXPECT_EQ(v.outcome, Outcome::kNotComparable);
  EXPECT_EQ(v.because,
            "only a golden result is given, which does not bound the accumulation errors of "
            "float32 results; give the operands");
}

TEST(AbftRefusal, Shapes) {
  const Tensor a(format_named("float32"), {3, 2}), b(format_named("float32"), {4, 5}),
      cube(format_named("float32"), {2, 3, 2}), c(format_named("float32"), {4, 2});
  EXPECT_EQ(error_of([&] { (void)AbftChecker::of_product(a, b, {}); }),
            "a [3, 2] and b [4, 5] do not multiply: a matrix product takes [M, K] and [K, N]");
  EXPECT_EQ(error_of([&] { (void)AbftChecker::of_product(cube, b, {}); }),
            "a [2, 3, 2] and b [4, 5] do not multiply: a matrix product takes [M, K] and [K, N]");
  EXPECT_EQ(error_of([&] {
              (void)AbftChecker::of_product(a, c.view().transposed(), {}, {1, 2});
            }),
            "a bias of 2 values does not fit 4 columns");
  EXPECT_EQ(error_of([&] { (void)AbftChecker::of_golden(cube, {}); }),
            "checksums need a matrix; the golden result has shape [2, 3, 2]");
  const AbftVerdict v = AbftChecker::of_product(a, c.view().transposed(), {}).check(a);
  EXPECT_EQ(v.outcome, Outcome::kNotComparable);
  EXPECT_EQ(v.because, "the output's shape is [3, 2], the product's is [3, 4]");
}

// An overflow that the operands explain is not a fault, wherever it lies. Only the check of that
// row and its group of columns is not checkable.
TEST_P(AbftFault, AnOverflowThatTheOperandsShareIsRightInEveryRow) {
  const std::int64_t m = 4, n = 40;
  for (std::int64_t row = 0; row < m; ++row) {
    for (const std::int64_t column : {0, 17, 39}) {
      SCOPED_TRACE(testing::Message() << row << " " << column);
      Matrix left{m, 2, std::vector<double>(8, 1)}, right{2, n, std::vector<double>(80, 1)};
      Matrix product{m, n, std::vector<double>(160, 2)};
      for (std::int64_t k = 0; k < 2; ++k) left(row, k) = right(k, column) = 200;
      for (std::int64_t i = 0; i < m; ++i) product(i, column) = 400;
      for (std::int64_t j = 0; j < n; ++j) product(row, j) = 400;
      product(row, column) = kInfinity;
      const Tensor a = tensor_of("float16", left), b = tensor_of("float16", right);
      Tensor c = tensor_of("float16", product);
      for (const bool columns : {false, true}) {
        for (const char* confirm : {",confirm=0", ",confirm=1"}) {
          const AbftVerdict v = checked(
              a, b, c, std::string("rounding_variance") + confirm + (columns ? ",columns=1" : ""));
          EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
          EXPECT_EQ(v.not_checkable, columns ? 2 : 1);
          EXPECT_EQ(v.special_checks, columns ? 2 : 1);
          EXPECT_EQ(v.right_specials, 1);
          EXPECT_TRUE(v.flags.empty());
        }
      }
      // An infinity of the wrong sign is a fault, and so is a second infinity beside the right one.
      c.set_bits(row * n + column, encode(c.format(), -kInfinity));
      AbftVerdict v = checked(a, b, c);
      EXPECT_EQ(v.flagged, 1);
      ASSERT_EQ(v.flags.size(), 1u);
      EXPECT_EQ(v.flags[0].element->row, row);
      EXPECT_EQ(v.flags[0].element->column, column);
      c = tensor_of("float16", product);
      c.set_bits(row * n + 20, encode(c.format(), kInfinity));
      v = checked(a, b, c);
      EXPECT_EQ(v.flagged, 1);
      ASSERT_EQ(v.flags.size(), 1u);
      EXPECT_EQ(v.flags[0].element->column, 20);
    }
  }
}

}  // namespace
}  // namespace assay::abft
