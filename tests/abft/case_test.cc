// Tests checksums of cases: operands with transposes, batches and bias, or the golden result if the
// operands do not help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "abft/checked.h"
#include "abft/oracle.h"
#include "assay/abft.h"
#include "assay/base/index.h"
#include "assay/format/convert.h"
#include "assay/machine/machine.h"
#include "assay/op/operator.h"
#include "assay/report.h"

namespace assay::abft {
namespace {

using testing_checks::options_of;

Tensor random_tensor(const char* dtype, const Shape& shape, std::uint64_t stream) {
  Random random(31, stream);
  std::vector<double> values(at(element_count(shape)));
  for (double& v : values) v = random.normal();
  if (std::string(dtype) == "int8") {
    for (double& v : values) v = std::round(v * 40);
  }
  return Tensor::from_values(format_named(dtype), shape, values);
}

Case matmul_case(const char* dtype, const Shape& a, const Shape& b) {
  Case c;
  c.name = "product";
  c.op = "matmul";
  c.inputs.emplace("a", random_tensor(dtype, a, 1));
  c.inputs.emplace("b", random_tensor(dtype, b, 2));
  return c;
}

// Returns the product as the emulated machine computes it.
Tensor computed(const Case& c) {
  const Format& in = c.input("a").format();
  return emulate(c, machine_named(in.is_float() && in.bits > 8 ? "ascend910b" : "exact"), 1);
}

TEST(AbftCase, TransposesBatchesAndBias) {
  struct Row {
    Shape a, b;
    bool transpose_a, transpose_b;
    std::int64_t n;
  };
  for (const char* dtype : {"bfloat16", "float16", "float32", "int8", "float8_e4m3fn"}) {
    for (const Row& row :
         {Row{{5, 33}, {33, 20}, false, false, 20}, Row{{33, 5}, {33, 20}, true, false, 20},
          Row{{5, 33}, {20, 33}, false, true, 20}, Row{{33, 5}, {20, 33}, true, true, 20},
          Row{{3, 5, 33}, {3, 33, 20}, false, false, 20},
          Row{{2, 3, 33, 5}, {2, 3, 20, 33}, true, true, 20},
          Row{{3, 5, 33}, {33, 20}, false, false, 20}, Row{{5, 33}, {3, 20, 33}, false, true, 20},
          Row{{1, 1, 1}, {1, 1}, false, false, 1}}) {
      for (const bool bias : {false, true}) {
        Case c = matmul_case(dtype, row.a, row.b);
        c.attributes["transpose_a"] = std::int64_t{row.transpose_a};
        c.attributes["transpose_b"] = std::int64_t{row.transpose_b};
        if (bias) c.inputs.emplace("bias", random_tensor(dtype, {row.n}, 3));
        const Tensor clean = computed(c);
        SCOPED_TRACE(std::string(dtype) + " a " + std::to_string(row.a.size()) +
                     (bias ? " bias" : ""));
        for (const char* spec : {"rounding_variance", "rounding_variance,groups=0,columns=1",
                                 "v_abft,columns=1,confirm=1", "a_abft,confirm=1"}) {
          EXPECT_EQ(abft_check(c, clean, options_of(spec)).outcome, Outcome::kPass) << spec;
        }
        // A fault in the last element must be found and located in the last matrix.
        Tensor wrong = clean;
        const std::int64_t last = clean.size() - 1;
        wrong.set_bits(last, wrong.bits_at(last) ^ (std::uint64_t{1} << (clean.format().bits - 2)));
        const AbftVerdict v = abft_check(c, wrong, options_of("rounding_variance"));
        EXPECT_EQ(v.outcome, Outcome::kFail);
        ASSERT_EQ(v.flags.size(), 1u);
        const std::int64_t matrices =
            clean.size() / (clean.shape().back() * clean.shape()[clean.shape().size() - 2]);
        EXPECT_EQ(v.flags[0].batch, matrices - 1);
        ASSERT_TRUE(v.flags[0].element);
        EXPECT_EQ(v.flags[0].element->row, clean.shape()[clean.shape().size() - 2] - 1);
        EXPECT_EQ(v.flags[0].element->column, row.n - 1);
        EXPECT_EQ(v.flags[0].element->flipped_bit, clean.format().bits - 2);
      }
    }
  }
}

TEST(AbftCase, AFaultInTheSecondMatrixIsNamed) {
  const Case c = matmul_case("bfloat16", {4, 3, 33}, {4, 33, 20});
  Tensor out = computed(c);
  const AbftVerdict clean = abft_check(c, out, options_of("rounding_variance"));
  EXPECT_EQ(clean.checks, 4 * 3 * 2);
  out.set_bits(2 * 60 + 25, out.bits_at(2 * 60 + 25) ^ 0x4000);
  const AbftVerdict v = abft_check(c, out, options_of("rounding_variance"));
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_EQ(v.checks, 4 * 3 * 2);
  EXPECT_EQ(v.flagged, 1);
  EXPECT_THAT(v.because, testing::StartsWith("matrix 2 of the batch: 1 of "));
  ASSERT_EQ(v.flags.size(), 1u);
  EXPECT_EQ(v.flags[0].batch, 2);
  EXPECT_EQ(v.flags[0].index, 1);
  EXPECT_EQ(v.flags[0].element->column, 5);
  EXPECT_THAT(explain(v), testing::HasSubstr("\n  matrix 2, row 1, columns 0 to 15: difference "));
}

// The report must not lose faults of one matrix among those of another.
TEST(AbftCase, FaultsInSeveralMatrices) {
  const Case c = matmul_case("float16", {3, 4, 16}, {16, 16});
  Tensor out = computed(c);
  for (const std::int64_t e : {0, 5 * 16, 11 * 16 + 3}) out.set_bits(e, out.bits_at(e) ^ 0x8000);
  const AbftVerdict v = abft_check(c, out, options_of("rounding_variance"));
  EXPECT_EQ(v.flagged, 3);
  ASSERT_EQ(v.flags.size(), 3u);
  std::vector<std::int64_t> matrices;
  for (const AbftFlag& flag : v.flags) matrices.push_back(flag.batch);
  EXPECT_THAT(matrices, testing::UnorderedElementsAre(0, 1, 2));
  EXPECT_GE(v.worst_ratio, v.flags[0].reading.difference / v.flags[0].reading.threshold);
}

// The false-alarm budget belongs to the case, and each matrix of a batch has its share.
TEST(AbftCase, TheBudgetIsSharedByTheBatch) {
  Case batch = matmul_case("bfloat16", {4, 3, 33}, {33, 20});
  Case alone = batch;
  alone.inputs["a"] = copy_of(batch.inputs["a"].view().at(0));
  Tensor out = computed(batch);
  out.set_bits(7, out.bits_at(7) ^ 0x4000);
  const AbftVerdict shared = abft_check(batch, out, options_of("rounding_variance,delta=1e-6"));
  const AbftVerdict one =
      abft_check(alone, out.view().at(0), options_of("rounding_variance,delta=2.5e-7"));
  ASSERT_FALSE(shared.flags.empty());
  ASSERT_FALSE(one.flags.empty());
  EXPECT_DOUBLE_EQ(shared.flags[0].reading.threshold, one.flags[0].reading.threshold);
}

TEST(AbftCase, OutputsOfAnyLayout) {
  const Case c = matmul_case("float32", {2, 6, 9}, {9, 18});
  const Tensor out = computed(c);
  const Tensor turned = [&] {  // [2, 18, 6] stored, seen as [2, 6, 18]
    return copy_of(out.view().transposed());
  }();
  EXPECT_EQ(abft_check(c, turned.view().transposed(), options_of("rounding_variance")).outcome,
            Outcome::kPass);
  EXPECT_EQ(abft_check(c, turned, options_of("rounding_variance")).because,
            "the output's shape is [2, 18, 6], the product's is [2, 6, 18]");
}

TEST(AbftCase, OtherOperatorsByTheirGoldenResult) {
  Case c;
  c.name = "attention/one";
  c.op = "attention";
  c.attributes["output_dtype"] = std::string("bfloat16");
  // Attention is not the product of these inputs.
  c.inputs.emplace("a", random_tensor("bfloat16", {2, 5, 7}, 4));
  c.inputs.emplace("b", random_tensor("bfloat16", {2, 7, 40}, 5));
  c.output().golden = random_tensor("float32", {2, 5, 40}, 6);
  Tensor out =
      Tensor::from_values(format_named("bfloat16"), {2, 5, 40}, c.output().golden->view().values());
  const AbftVerdict v = abft_check(c, out, options_of("rounding_variance"));
  EXPECT_EQ(v.outcome, Outcome::kPass);
  EXPECT_EQ(v.checks, 2 * 5 * 3);
  EXPECT_GT(v.rms_z, 0.7);
  EXPECT_LT(v.rms_z, 1.3);
  for (const char* name : {"v_abft", "a_abft"}) {
    const AbftVerdict w = abft_check(c, out, options_of(name));
    EXPECT_EQ(w.outcome, Outcome::kNotComparable);
    EXPECT_EQ(w.because, "the threshold " + std::string(name) +
                             " needs the operands, but only a golden result is given; give the "
                             "operands, or choose another threshold");
  }
  out.set_bits(200 + 45, out.bits_at(200 + 45) ^ 0x4000);
  const AbftVerdict w = abft_check(c, out, options_of("rounding_variance"));
  EXPECT_EQ(w.outcome, Outcome::kFail);
  ASSERT_EQ(w.flags.size(), 1u);
  EXPECT_EQ(w.flags[0].batch, 1);
  EXPECT_EQ(w.flags[0].element->row, 1);
  EXPECT_EQ(w.flags[0].element->column, 5);
  EXPECT_EQ(w.flags[0].element->flipped_bit, 14);
}

TEST(AbftCase, AMatmulWithoutOperandsUsesItsGoldenResult) {
  Case c = matmul_case("float16", {4, 9}, {9, 40});
  const Tensor out = computed(c);
  c.output().golden = out;
  c.attributes["output_dtype"] = std::string("float16");
  c.inputs.erase("b");
  EXPECT_EQ(abft_check(c, out, options_of("rounding_variance")).outcome, Outcome::kPass);
  EXPECT_EQ(abft_check(c, out, options_of("v_abft")).outcome, Outcome::kNotComparable);
  c.attributes["output_dtype"] = std::string("float32");
  const Tensor wide = Tensor::from_values(format_named("float32"), {4, 40}, out.view().values());
  EXPECT_EQ(abft_check(c, wide, options_of("rounding_variance")).because,
            "only a golden result is given, which does not bound the accumulation errors of "
            "float32 results; give the operands");
}

TEST(AbftCase, NotComparable) {
  const auto because = [](const Case& c, const Tensor& out) {
    const AbftVerdict v = abft_check(c, out, options_of("rounding_variance,groups=4"));
    EXPECT_EQ(v.outcome, Outcome::kNotComparable);
    EXPECT_EQ(v.spec, "rounding_variance,groups=4");
    EXPECT_EQ(v.format, &out.format());
    EXPECT_TRUE(v.flags.empty());
    return v.because;
  };
  Case c = matmul_case("float16", {4, 9}, {9, 8});
  const Tensor out = computed(c);
  EXPECT_EQ(
      because(c, random_tensor("bfloat16", {4, 8}, 7)),
      "the output is bfloat16, the case's output dtype is float16, which is that of its inputs. "
      "If bfloat16 is right, give the case the attribute output_dtype");
  EXPECT_EQ(because(c, random_tensor("float16", {8, 4}, 7)),
            "the output's shape is [8, 4], the product's is [4, 8]");
  EXPECT_EQ(because(c, random_tensor("float16", {1, 4, 8}, 7)),
            "the output's shape is [1, 4, 8], the product's is [4, 8]");
  Case neither = c;
  neither.inputs.erase("a");
  EXPECT_EQ(
      because(neither, out),
      "checksums need a product's operands a and b, or a golden result; case product has neither");
  neither.op = "softmax";
  EXPECT_EQ(
      because(neither, out),
      "checksums need a product's operands a and b, or a golden result; case product has neither");
  Case vector;
  vector.name = "vector";
  vector.op = "softmax";
  vector.output().golden = random_tensor("float16", {8}, 8);
  EXPECT_EQ(because(vector, *vector.output().golden),
            "checksums need a matrix; the golden result has shape [8]");
  Case crooked = matmul_case("float16", {4, 9}, {8, 9});
  EXPECT_EQ(because(crooked, out), "a [4, 9] and b [8, 9] do not multiply: K is 9 in a and 8 in b");
  Case batches = matmul_case("float16", {2, 4, 9}, {3, 9, 8});
  EXPECT_THAT(because(batches, out), testing::HasSubstr("the batch dimensions of a [2, 4, 9]"));
  Case biased = c;
  biased.inputs.emplace("bias", random_tensor("float16", {4}, 9));
  EXPECT_EQ(because(biased, out), "bias [4] must have the shape [8]");
  Case wide = c;
  wide.attributes["output_dtype"] = std::string("float64");
  EXPECT_EQ(because(wide, random_tensor("float64", {4, 8}, 7)),
            "outputs of float64 cannot be checked, because their checksums need more precision "
            "than float64");
}

TEST(AbftCase, EmptyBatchesAreUntrusted) {
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{
           {{0, 4, 9}, {9, 8}}, {{0, 9}, {9, 8}}, {{2, 4, 9}, {9, 0}}}) {
    const Case c = matmul_case("float16", a, b);
    const Tensor out = computed(c);
    const AbftVerdict v = abft_check(c, out, options_of("rounding_variance"));
    EXPECT_EQ(v.outcome, Outcome::kUntrusted);
    EXPECT_EQ(v.because, "there are no elements to check");
  }
}

// The sums use the operands as the unit reads them. The bits that compute_dtype drops are not an
// error of the product.
TEST(AbftCase, OperandsAreReadAsTheUnitReadThem) {
  for (const char* rounding : {"nearest_even", "toward_zero"}) {
    Case c = matmul_case("float32", {6, 64}, {64, 16});
    c.attributes["compute_dtype"] = std::string("tfloat32");
    c.attributes["compute_rounding"] = std::string(rounding);
    const Tensor out = emulate(c, machine_named("hopper"), 1);
    AbftOptions options = options_of("rounding_variance");
    options.model = &dot_model(machine_named("hopper"), format_named("tfloat32"));
    EXPECT_EQ(abft_check(c, out, options).outcome, Outcome::kPass) << rounding;
    c.attributes.erase("compute_dtype");
    c.attributes.erase("compute_rounding");
    EXPECT_EQ(abft_check(c, out, options).outcome, Outcome::kFail) << rounding;
    // If the operands were rounded to tfloat32 beforehand, the product passes without the
    // attributes.
    for (const char* name : {"a", "b"}) {
      std::vector<double> values = c.inputs.at(name).view().values();
      for (double& v : values) {
        v = round_to(format_named("tfloat32"), v,
                     std::string(rounding) == "toward_zero" ? Rounding::kTowardZero
                                                            : Rounding::kNearestEven);
      }
      c.inputs.at(name) =
          Tensor::from_values(format_named("float32"), c.inputs.at(name).shape(), values);
    }
    EXPECT_EQ(abft_check(c, out, options).outcome, Outcome::kPass) << rounding;
  }
}

TEST(AbftCase, ComplexProductsHaveNoChecksums) {
  Case c;
  c.name = "complex";
  c.op = "external";
  const Tensor out(format_named("complex64"), {2, 2});
  EXPECT_EQ(abft_check(c, out, options_of("rounding_variance")).because,
            "the output is complex64, but checksums can be computed only for real numbers");
}

}  // namespace
}  // namespace assay::abft
