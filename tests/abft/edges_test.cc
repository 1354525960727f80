// Tests edges at which a careless check would pass results that it has not seen, or raise false
// alarms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abft/checked.h"
#include "abft/oracle.h"
#include "abft/products.h"
#include "assay/abft.h"
#include "assay/abft/checked_product.h"
#include "assay/base/constants.h"
#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "assay/machine/exact_matmul.h"

namespace assay::abft {
namespace {

using testing_checks::checked;
using testing_checks::options_of;
using testing_oracle::Made;
using testing_oracle::Matrix;
using testing_oracle::random_product;
using testing_oracle::tensor_of;

Matrix random_matrix(const char* dtype, std::int64_t rows, std::int64_t columns,
                     std::uint64_t stream) {
  Random random(71, stream);
  Matrix m{rows, columns, std::vector<double>(at(rows * columns))};
  for (double& v : m.values) v = round_to(format_named(dtype), random.normal());
  return m;
}
Matrix exact_product(const Matrix& a, const Matrix& b) {
  Matrix c{a.rows, b.columns, std::vector<double>(at(a.rows * b.columns), 0.0)};
  exact_matmul(a.rows, b.columns, a.columns, a.values.data(), b.values.data(), c.values.data(), 1);
  return c;
}

// Checks of integers are exact if the biases are integers below 2^32.
TEST(AbftEdges, WhichProductsAreOfIntegers) {
  const Format &int8 = format_named("int8"), &int32 = format_named("int32");
  const auto is_of_integers = [&](std::vector<double> bias, std::vector<double> row_bias,
                                  const Format& b, const Format& output) {
    CheckedProduct product;
    product.input_a = &int8;
    product.input_b = &b;
    product.operands.bias = std::move(bias);
    product.operands.row_bias = std::move(row_bias);
    return product.integer_product(output);
  };
  EXPECT_TRUE(is_of_integers({}, {}, int8, int32));
  EXPECT_TRUE(is_of_integers({3, -7, 0}, {2}, int8, int32));
  EXPECT_TRUE(is_of_integers({0x1p32 - 1}, {}, int8, int32));
  EXPECT_FALSE(is_of_integers({0x1p32}, {}, int8, int32));
  EXPECT_FALSE(is_of_integers({3, 0.5}, {}, int8, int32));
  EXPECT_FALSE(is_of_integers({}, {-0.5}, int8, int32));
  EXPECT_FALSE(is_of_integers({}, {}, format_named("float16"), int32));
  EXPECT_FALSE(is_of_integers({}, {}, int8, format_named("float32")));
}

// Columns are checked as the rows of the transposed product, with each factor's format on the
// machine. If the two formats were exchanged, there would be both false alarms and thresholds that
// find nothing.
TEST(AbftEdges, ColumnsOfTwoFormatsAreRowsOfTheTransposedProduct) {
  const std::int64_t m = 6, n = 9, k = 40;
  for (const auto& [first, second] :
       {std::pair("bfloat16", "float16"), std::pair("float16", "bfloat16"),
        std::pair("float8_e4m3fn", "float8_e5m2")}) {
    for (const char* machine : {"hopper", "cpu_fma,flush_inputs=1"}) {
      if (std::string_view(first).starts_with("float8") && machine != std::string_view("hopper")) {
        // cpu_fma has no unit for float8.
        continue;
      }
      DotModel model = dot_model(machine_named(machine), format_named(first)), exchanged = model;
      model.input = exchanged.other_input = first;
      model.other_input = exchanged.input = second;
      Random random(5, 9);
      std::vector<double> va(at(m * k)), vb(at(k * n));
      for (double& v : va) v = random.normal();
      for (double& v : vb) v = std::ldexp(random.normal(), -16);
      const Tensor a = Tensor::from_values(format_named(first), {m, k}, va),
                   b = Tensor::from_values(format_named(second), {k, n}, vb);
      va = a.view().values(), vb = b.view().values();
      std::vector<float> sums(at(m * n), 0.0F);
      dot_matmul(model, m, n, k, va.data(), vb.data(), sums.data(), 1);
      const std::vector<double> clean(sums.begin(), sums.end());
      std::vector<double> far = clean;
      for (double& v : far) v = -v;
      for (const std::string name : {"rounding_variance,kappa=6", "v_abft,e_max=0.001", "a_abft",
                                     "a_abft_original", "sea_abft", "analytic"}) {
        SCOPED_TRACE(formatted("{} x {} on {}: {}", first, second, machine, name));
        AbftOptions columns = options_of(name + ",columns=1"), rows = options_of(name),
                    other = rows;
        for (AbftOptions* o : {&columns, &rows, &other}) o->spec.confirm = false, o->model = &model;
        other.model = &exchanged;
        const AbftChecker all = AbftChecker::of_product(a, b, columns),
                          of_rows = AbftChecker::of_product(a, b, rows),
                          of_columns = AbftChecker::of_product(b.view().transposed(),
                                                               a.view().transposed(), other);
        const Format& output = format_named("float32");
        if (!of_rows.why_not(output, {}).empty()) continue;
        for (const std::vector<double>& values : {clean, far}) {
          const Tensor c = Tensor::from_values(output, {m, n}, values);
          const AbftVerdict v = all.check(c), r = of_rows.check(c),
                            t = of_columns.check(c.view().transposed());
          EXPECT_EQ(v.flagged, r.flagged + t.flagged);
          EXPECT_EQ(v.worst_ratio, std::max(r.worst_ratio, t.worst_ratio));
          if (name.starts_with("rounding_variance")) {
            EXPECT_EQ(v.flagged, values == clean ? 0 : m + n);
          }
        }
      }
    }
  }
}

// Half of the checks cannot be computed. The other half have a threshold of 0 and a difference of
// 0.
TEST(AbftEdges, NotCheckableAndUninformativeTogetherAreUntrusted) {
  const Tensor a = tensor_of("float32", {2, 2, {kNan, 1, 0, 0}});
  const Tensor b = tensor_of("float32", {2, 2, {1, 2, 3, 4}});
  const Tensor c = tensor_of("float32", {2, 2, {kNan, kNan, 0, 0}});
  for (const char* spec : {"rounding_variance", "v_abft", "a_abft"}) {
    EXPECT_EQ(checked(a, b, c, spec).outcome, Outcome::kUntrusted) << spec;
  }
}

Case batch_case(std::int64_t matrices) {
  Case c;
  c.name = "batch";
  c.op = "matmul";
  const Matrix a = random_matrix("float32", matrices * 4, 8, 1);
  c.inputs.emplace("a", Tensor::from_values(format_named("float32"), {matrices, 4, 8}, a.values));
  c.inputs.emplace("b", tensor_of("float32", random_matrix("float32", 8, 16, 2)));
  return c;
}
Tensor computed_batch(const Case& c) {
  const Matrix b = testing_oracle::matrix_of(c.input("b"));
  Matrix a{c.input("a").size() / 8, 8, c.input("a").view().values()};
  return Tensor::from_values(format_named("float32"), {a.rows / 4, 4, 16},
                             exact_product(a, b).values);
}

// A case is untrusted if none of its checks decides anything. One such matrix in its batch is not
// enough.
TEST(AbftEdges, OneSilentMatrixDoesNotSilenceTheBatch) {
  for (const double value : {0.0, kNan}) {
    for (const std::int64_t silent : {0, 1}) {
      Case c = batch_case(3);
      for (std::int64_t i = 0; i < 32; ++i) {
        c.inputs["a"].set_bits(silent * 32 + i, encode(format_named("float32"), value));
      }
      Tensor out = computed_batch(c);
      const AbftVerdict v = abft_check(c, out, options_of("rounding_variance"));
      EXPECT_EQ(v.outcome, Outcome::kPass) << value << " " << v.because;
      EXPECT_EQ(v.checks, 12);
      EXPECT_EQ(v.not_checkable, std::isnan(value) ? 4 : 0);
      EXPECT_TRUE(std::isfinite(v.rms_z)) << value;
      out.set_bits(2 * 64, out.bits_at(2 * 64) ^ 0x80000000u);
      EXPECT_EQ(abft_check(c, out, options_of("rounding_variance")).outcome, Outcome::kFail);
    }
  }
}

TEST(AbftEdges, ABatchSaysWhichThresholdWasAskedFor) {
  const Case c = batch_case(3);
  for (const char* spec : {"rounding_variance", "rounding_variance,delta=1e-06", "v_abft"}) {
    EXPECT_EQ(abft_check(c, computed_batch(c), options_of(spec)).spec, spec);
  }
}

TEST(AbftEdges, TheWordsOfABatchCountAllItsChecks) {
  const Case c = batch_case(3);
  Tensor out = computed_batch(c);
  AbftVerdict v = abft_check(c, out, options_of("rounding_variance"));
  EXPECT_THAT(v.because, testing::HasSubstr("none of 12 "));
  for (const std::int64_t e : {0, 64, 128}) out.set_bits(e, out.bits_at(e) ^ 0x80000000u);
  v = abft_check(c, out, options_of("rounding_variance"));
  EXPECT_EQ(v.flagged, 3);
  EXPECT_THAT(v.because, testing::HasSubstr("3 of 12 "));
}

// The notes of later matrices are also notes of the case.
TEST(AbftEdges, ABatchKeepsTheNotesOfItsMatrices) {
  Case c = batch_case(3);
  Tensor out = computed_batch(c);
  c.inputs["a"].set_bits(2 * 32, encode(format_named("float32"), kNan));
  const AbftVerdict v = abft_check(c, out, options_of("rounding_variance"));
  EXPECT_EQ(v.not_checkable, 1);
  EXPECT_THAT(v.notes, testing::Contains(testing::HasSubstr("1 check could not be made")));
}

// The mean of equal float64 values may be rounded to a neighbour. Their variance is 0, and not
// negative.
TEST(AbftEdges, VAbftOnConstantRows) {
  const Tensor a = tensor_of("float64", {1, 3, {0.1, 0.1, 0.1}});
  const Tensor b = tensor_of("float64", {3, 3, {0.1, 0.2, 0.7, 0.1, 0.2, 0.7, 0.1, 0.2, 0.7}});
  const Tensor c = tensor_of("float32", {1, 3, {0.03, 0.06, 0.21}});
  const AbftVerdict v = checked(a, b, c, "v_abft");
  EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
  EXPECT_TRUE(std::isfinite(v.worst_ratio));
}

// If K is 0, C is zero, and each check is uninformative.
TEST(AbftEdges, NoDepth) {
  const Tensor a(format_named("float32"), {2, 0}), b(format_named("float32"), {0, 3});
  const Tensor c = tensor_of("float32", {2, 3, std::vector<double>(6, 0.0)});
  for (const char* spec : {"rounding_variance", "v_abft", "a_abft"}) {
    EXPECT_EQ(checked(a, b, c, spec).outcome, Outcome::kUntrusted) << spec;
  }
}

// Some columns of B are a million times larger than others. The variance of the errors of a group,
// and with it the threshold, depends only on the columns of that group.
TEST(AbftEdges, ALargeGroupDoesNotLoosenTheOthers) {
  const Matrix a = random_matrix("bfloat16", 4, 4096, 5);
  Matrix b = random_matrix("bfloat16", 4096, 32, 6);
  for (std::int64_t k = 0; k < 4096; ++k) {
    for (std::int64_t j = 16; j < 32; ++j) b(k, j) *= 0x1p20;
  }
  const Tensor ta = tensor_of("bfloat16", a), tb = tensor_of("bfloat16", b);
  Tensor c = tensor_of("bfloat16", exact_product(a, b));
  EXPECT_EQ(checked(ta, tb, c).outcome, Outcome::kPass);
  std::int64_t largest = 0;
  for (std::int64_t j = 1; j < 16; ++j) {
    if (std::abs(c.view().value_at(j)) > std::abs(c.view().value_at(largest))) largest = j;
  }
  c.set_bits(largest, c.bits_at(largest) ^ 0x8000);
  EXPECT_EQ(checked(ta, tb, c).outcome, Outcome::kFail) << c.view().value_at(largest);
}

// Below the normal range, the rounding error of an accumulator is up to half the smallest subnormal
// number, however small the sum is.
TEST(AbftEdges, SubnormalSumsOfFloat32) {
  const Matrix a{2, 16, std::vector<double>(32, 0x1.8p-75)},
      b{16, 3, std::vector<double>(48, 0x1p-75)};
  const DotModel model{"float32",
                       {1, Provenance::kAssumed},
                       {"float32", Provenance::kAssumed},
                       {Rounding::kNearestEven, Provenance::kAssumed}};
  std::vector<float> sums(6);
  dot_matmul(model, 2, 3, 16, a.values.data(), b.values.data(), sums.data(), 1);
  const AbftVerdict v =
      checked(tensor_of("float32", a), tensor_of("float32", b), view(sums, {2, 3}));
  EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
}

// The operands of a float32 product were rounded to fewer bits. The product is wrong by hundreds of
// thresholds, but every element is inside K 2^-24 sum |a b|. The confirmation uses a tighter bound.
TEST(AbftEdges, AProductInLessPrecisionIsNotClean) {
  for (const std::int64_t k : {1024, 4096}) {
    const Matrix a = random_matrix("float32", 8, k, 7), b = random_matrix("float32", k, 32, 8);
    for (const char* dtype : {"tfloat32", "bfloat16"}) {
      Matrix low_a = a, low_b = b;
      for (double& v : low_a.values) v = round_to(format_named(dtype), v);
      for (double& v : low_b.values) v = round_to(format_named(dtype), v);
      const Tensor c = tensor_of("float32", exact_product(low_a, low_b));
      const AbftVerdict v = checked(tensor_of("float32", a), tensor_of("float32", b), c);
      EXPECT_EQ(v.outcome, Outcome::kFail)
          << "computed in " << dtype << ", K " << k << ", largest D/T " << v.worst_ratio;
    }
  }
}

// One element of a deep product changes by a quarter, which is ten thresholds.
TEST(AbftEdges, AFlippedTopMantissaBitOfADeepProduct) {
  const Matrix a = random_matrix("bfloat16", 1, 65536, 9),
               b = random_matrix("bfloat16", 65536, 16, 10);
  const Tensor ta = tensor_of("bfloat16", a), tb = tensor_of("bfloat16", b);
  Tensor c = tensor_of("bfloat16", exact_product(a, b));
  std::int64_t largest = 0;
  for (std::int64_t j = 1; j < 16; ++j) {
    if (std::abs(c.view().value_at(j)) > std::abs(c.view().value_at(largest))) largest = j;
  }
  const double before = c.view().value_at(largest);
  c.set_bits(largest, c.bits_at(largest) ^ 0x40);
  const AbftVerdict v = checked(ta, tb, c);
  EXPECT_EQ(v.outcome, Outcome::kFail)
      << before << " became " << c.view().value_at(largest) << ", D/T " << v.worst_ratio;
}

// Integers beyond 2^53, which float64 does not hold, are either compared exactly or not judged. A
// wrong one never passes.
TEST(AbftEdges, Int64BeyondFloat64) {
  const std::vector<std::int64_t> golden = {(std::int64_t{1} << 53) + 1, 5},
                                  wrong = {std::int64_t{1} << 53, 5};
  EXPECT_NE(AbftChecker::of_golden(view(golden, {1, 2}), {}).check(view(wrong, {1, 2})).outcome,
            Outcome::kPass);
  const std::vector<std::int64_t> x = {(std::int64_t{1} << 31) + 1}, y = {x[0] * x[0] - 1};
  EXPECT_NE(
      AbftChecker::of_product(view(x, {1, 1}), view(x, {1, 1}), {}).check(view(y, {1, 1})).outcome,
      Outcome::kPass);
}

// In 64 bits, the sum of sixteen biases of 2^60 would be 0. They are not summed in 64 bits.
TEST(AbftEdges, BiasesWhoseSumIsZeroIn64Bits) {
  const Tensor a = tensor_of("int8", {1, 2, {3, -5}}),
               b = tensor_of("int8", {2, 16, std::vector<double>(32, 1)}),
               c = tensor_of("int32", {1, 16, std::vector<double>(16, -2)});
  EXPECT_EQ(AbftChecker::of_product(a, b, {}).check(c).outcome, Outcome::kPass);
  for (const double bias : {1.0, 0x1p31, 0x1p59, 0x1p60, 0x1p61, 0x1p62}) {
    const AbftVerdict v = AbftChecker::of_product(a, b, {}, std::vector<double>(16, bias)).check(c);
    EXPECT_EQ(v.outcome, Outcome::kFail) << bias << " " << v.because;
  }
}

// read_row() refuses what check() refuses. It must not read operands or sums that do not exist.
TEST(AbftEdges, ReadRowRefusesWhatCheckRefuses) {
  const auto refuses = [](const char* spec, const Format& format) {
    const Tensor golden = tensor_of("bfloat16", {1, 4, {1, 2, 3, 4}});
    const AbftChecker checker = AbftChecker::of_golden(golden, options_of(spec));
    const double row[4] = {};
    std::vector<Reading> readings(at(checker.groups_per_row()));
    try {
      checker.read_row(0, row, format, readings.data());
    } catch (const std::invalid_argument&) {
      std::exit(0);
    }
    std::exit(1);
  };
  const auto refused = testing::ExitedWithCode(0);
  EXPECT_EXIT(refuses("v_abft", format_named("bfloat16")), refused, "");
  EXPECT_EXIT(refuses("a_abft", format_named("bfloat16")), refused, "");
  EXPECT_EXIT(refuses("rounding_variance", format_named("float64")), refused, "");
}

// A checker's verdict does not depend on the formats that it judged before.
TEST(AbftEdges, AnEarlierFormatLeavesNoTrace) {
  const Matrix a = random_matrix("bfloat16", 2, 64, 11);
  Matrix b = random_matrix("bfloat16", 64, 48, 12);
  for (std::int64_t k = 0; k < 64; ++k) {
    for (std::int64_t j = 16; j < 48; ++j) b(k, j) *= 64;
  }
  const Tensor ta = tensor_of("bfloat16", a), tb = tensor_of("bfloat16", b);
  const Matrix c = exact_product(a, b);
  const Tensor narrow = tensor_of("bfloat16", c), wide = tensor_of("float32", c);
  const AbftChecker fresh = AbftChecker::of_product(ta, tb, {});
  const AbftChecker used = AbftChecker::of_product(ta, tb, {});
  EXPECT_EQ(used.check(narrow).outcome, Outcome::kPass);
  EXPECT_EQ(used.check(wide).worst_ratio, fresh.check(wide).worst_ratio);
  EXPECT_EQ(used.check(wide).rms_z, fresh.check(wide).rms_z);
}

// hifloat8 has fewer mantissa bits away from 1, so that its ulp depends on the value.
TEST(AbftEdges, TaperedOutputs) {
  const Matrix a = random_matrix("bfloat16", 64, 16, 13), b = random_matrix("bfloat16", 16, 64, 14);
  Matrix scaled = a;
  for (double& v : scaled.values) v *= 256;
  const Tensor c = tensor_of("hifloat8", exact_product(scaled, b));
  const AbftVerdict v = checked(tensor_of("bfloat16", scaled), tensor_of("bfloat16", b), c,
                                "rounding_variance,confirm=0");
  // The checker may also refuse products of hifloat8. If it judges them, they must pass.
  if (v.outcome == Outcome::kNotComparable) return;
  EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
  EXPECT_LT(v.rms_z, 1.2);
}

// The accumulator starts at the bias, so that every rounding is of a sum that includes the bias.
TEST(AbftEdges, ALargeBiasOfAFloat32Product) {
  Random random(72, 1);
  std::vector<double> bias(64);
  for (double& v : bias) v = round_to(format_named("float32"), 3000 * random.normal());
  const Matrix a = random_matrix("float32", 256, 64, 15), b = random_matrix("float32", 64, 64, 16);
  const DotModel& model = dot_model(machine_named("ascend910b"), format_named("float32"));
  std::vector<float> sums(256 * 64);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<float>(bias[i % 64]);
  dot_matmul(model, 256, 64, 64, a.values.data(), b.values.data(), sums.data(), 1);
  AbftOptions options;
  options.model = &model;
  const Tensor ta = tensor_of("float32", a), tb = tensor_of("float32", b);
  const AbftVerdict v = AbftChecker::of_product(ta, tb, options, bias).check(view(sums, {256, 64}));
  EXPECT_EQ(v.outcome, Outcome::kPass);
  // With 1024 checks, the standard error of rms z is 0.02.
  EXPECT_LT(v.rms_z, 1.1);
}

}  // namespace
}  // namespace assay::abft
