// Tests AbftClose: its arguments, the faults that it finds, and its messages.
#include <assay/matchers.h>
#include <assay/matchers/eigen.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/abft/threshold.h"
#include "assay/base/random.h"
#include "assay/format/convert.h"
#include "assay/machine/machine.h"
#include "assay/op/operator.h"
#include "error_of.h"
#include "matchers/texts.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

template <typename M>
std::string description_of(const M& matcher, bool negated = false) {
  return testing::DescribeMatcher<const Tensor&>(matcher, negated);
}
std::string reproduce() { return "\nreproduce: " + current_test_command(); }

std::vector<double> normals(std::size_t count, std::uint64_t stream) {
  Random random(81, stream);
  std::vector<double> values(count);
  for (double& v : values) v = random.normal();
  return values;
}

// The product of [1 2]^T and [1 2 4]. Its rows [1 2 4] and [2 4 8] are exact in every format.
struct Small {
  Tensor a, b, c;
  explicit Small(const char* dtype, const char* out = nullptr)
      : a(tensor(dtype, {2, 1}, {1, 2})),
        b(tensor(dtype, {1, 3}, {1, 2, 4})),
        c(tensor(out == nullptr ? dtype : out, {2, 3}, {1, 2, 4, 2, 4, 8})) {}
  Tensor flipped(std::int64_t element, int bit) const {
    Tensor wrong = c;
    wrong.set_bits(element, c.bits_at(element) ^ (std::uint64_t{1} << bit));
    return wrong;
  }
};

using RowMajorMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Bfloat16Matrix = Eigen::Matrix<Eigen::bfloat16, Eigen::Dynamic, Eigen::Dynamic>;
using HalfMatrix = Eigen::Matrix<Eigen::half, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::MatrixXf random_matrix(int rows, int columns, std::uint64_t stream) {
  const auto values = normals(static_cast<std::size_t>(rows * columns), stream);
  Eigen::MatrixXf m(rows, columns);
  for (int i = 0; i < rows * columns; ++i) {
    m.data()[i] = static_cast<float>(values[static_cast<std::size_t>(i)]);
  }
  return m;
}

TEST(AbftClose, TensorsOfEveryFormat) {
  for (const char* dtype : {"bfloat16", "float16", "float32"}) {
    const Small s(dtype);
    EXPECT_THAT(s.c, AbftClose(s.a, s.b));
    EXPECT_THAT(s.c.view(), AbftClose(s.a.view(), s.b.view()));
    EXPECT_THAT(s.flipped(5, 14), Not(AbftClose(s.a, s.b)));
    EXPECT_THAT(s.c, Not(AbftClose(s.b.view().transposed(), s.a.view().transposed())));
  }
  const Small integers("int8", "int32");
  EXPECT_THAT(integers.c, AbftClose(integers.a, integers.b));
  EXPECT_THAT(integers.flipped(0, 0), Not(AbftClose(integers.a, integers.b)));
}

TEST(AbftClose, EigenOfFloatBfloat16AndHalf) {
  const Eigen::MatrixXf a = random_matrix(20, 64, 1), b = random_matrix(64, 40, 2);
  const RowMajorMatrix row_major_b = b;
  Eigen::MatrixXf c = a * b;
  EXPECT_THAT(c, AbftClose(a, b));
  EXPECT_THAT(c, AbftClose(a, row_major_b));
  EXPECT_THAT(RowMajorMatrix(c), AbftClose(a, b).columns());
  EXPECT_THAT(c.block(2, 3, 9, 17), AbftClose(a.block(2, 0, 9, 64), b.block(0, 3, 64, 17)));
  EXPECT_THAT(c.transpose(), AbftClose(b.transpose(), a.transpose()));
  EXPECT_THAT(a * b, AbftClose(a, b));  // an expression, which is evaluated first
  c(7, 21) += 0.5F;
  EXPECT_THAT(c, Not(AbftClose(a, b)));
  EXPECT_THAT(explanation(c, AbftClose(a, b)), HasSubstr("\n    element [7, 21]: actual "));

  const Bfloat16Matrix a16 = a.cast<Eigen::bfloat16>(), b16 = b.cast<Eigen::bfloat16>();
  const Bfloat16Matrix c16 = (a16.cast<float>() * b16.cast<float>()).cast<Eigen::bfloat16>();
  EXPECT_THAT(c16, AbftClose(a16, b16));
  EXPECT_THAT(Bfloat16Matrix(c16 * Eigen::bfloat16(1.25F)), Not(AbftClose(a16, b16)));
  const HalfMatrix ah = a.cast<Eigen::half>(), bh = b.cast<Eigen::half>();
  const HalfMatrix ch = (ah.cast<float>() * bh.cast<float>()).cast<Eigen::half>();
  EXPECT_THAT(ch, AbftClose(ah, bh));
  EXPECT_THAT(ch, Not(AbftClose(a16, b16)));
}

TEST(AbftClose, AGoldenResultAlone) {
  const Eigen::MatrixXf golden = random_matrix(20, 64, 1) * random_matrix(64, 40, 2);
  Bfloat16Matrix out = golden.cast<Eigen::bfloat16>();
  EXPECT_THAT(out, AbftClose(golden));
  EXPECT_THAT(out, AbftClose(golden.cast<double>()));  // a temporary matrix of another type
  EXPECT_THAT(out, AbftClose(golden).whole_rows().columns());
  out(3, 5) = Eigen::bfloat16(-100);
  EXPECT_THAT(out, Not(AbftClose(golden)));
  EXPECT_THAT(out, Not(AbftClose(golden).threshold("v_abft")));
  EXPECT_EQ(explanation(out, AbftClose(golden).threshold("v_abft")),
            "which cannot be compared: the threshold v_abft needs the operands, but only a golden "
            "result is given; give the operands, or choose another threshold" +
                reproduce());
  // float32 results may be as far off as their standard allows.
  EXPECT_THAT(golden, AbftClose(golden));
  Eigen::MatrixXf off = golden;
  off(3, 5) += 0.5F;
  EXPECT_THAT(off, Not(AbftClose(golden)));
  EXPECT_THAT(explanation(off, AbftClose(golden)),
              AllOf(HasSubstr("\n    element [3, 5]: actual "), HasSubstr(", golden says "),
                    Not(HasSubstr("operands"))));
}

// Tests matrices of a batch, one operand without batch dimensions, a bias, and operands that are
// stored transposed, as a case may have them.
TEST(AbftClose, BatchesBiasesAndTransposes) {
  const auto f32 = [](const Shape& shape, std::uint64_t stream) {
    return tensor("float32", shape,
                  normals(static_cast<std::size_t>(element_count(shape)), stream));
  };
  const Tensor a = f32({2, 3, 5, 16}, 21), b = f32({2, 3, 16, 24}, 22), one = f32({16, 24}, 23),
               bias = f32({24}, 24), a_t = f32({16, 5}, 25), b_t = f32({24, 16}, 26);
  const auto product = [](const Tensor& left, const Tensor& right, const Tensor* added,
                          bool transpose_a = false, bool transpose_b = false) {
    Case c;
    c.op = "matmul";
    c.inputs.emplace("a", copy_of(left.view()));
    c.inputs.emplace("b", copy_of(right.view()));
    if (added != nullptr) c.inputs.emplace("bias", copy_of(added->view()));
    c.attributes["transpose_a"] = std::int64_t{transpose_a};
    c.attributes["transpose_b"] = std::int64_t{transpose_b};
    return emulate(c, machine_named("cpu_fma"));
  };
  const auto wrong = [](const Tensor& right) {
    Tensor c = copy_of(right.view());
    c.set_bits(c.size() - 1, c.bits_at(c.size() - 1) ^ (1u << 25));
    return c;
  };
  const auto judge_both = [&](const Tensor& c, const AbftMatcher& matcher) {
    EXPECT_THAT(c, matcher);
    EXPECT_THAT(wrong(c), Not(matcher));
  };
  judge_both(product(a, b, nullptr), AbftClose(a, b));
  judge_both(product(a, one, nullptr), AbftClose(a, one).columns());
  judge_both(product(a, b, &bias), AbftClose(a, b).bias(bias));
  judge_both(product(a_t, one, nullptr, true), AbftClose(a_t, one).transpose_a());
  judge_both(product(a_t, b_t, &bias, true, true),
             AbftClose(a_t, b_t).transpose_a().transpose_b().bias(bias));
  EXPECT_THAT(product(a, b, nullptr), Not(AbftClose(a, b).bias(bias)));
  EXPECT_THAT(
      explanation(wrong(product(a, b, nullptr)), AbftClose(a, b)),
      StartsWith("which fails: matrix 5 of the batch: 1 of 60 checks of 16 columns is above "
                 "rounding_variance\n  matrix 5, row 4, columns 16 to 23: difference "));
  EXPECT_EQ(explanation(product(a, b, nullptr), AbftClose(a, b).bias(b_t)),
            "which cannot be compared: bias [24, 16] must have the shape [24]" + reproduce());
  EXPECT_EQ(error_of([&] { (void)AbftClose(a).bias(bias); }),
            "a bias is only for two operands; use AbftClose(a, b)");
}

// An explanation names constants that were added to the columns, whichever threshold detects them.
TEST(AbftClose, ABiasThatTheOperandsLack) {
  const Eigen::MatrixXf a = random_matrix(64, 32, 11), b = random_matrix(32, 96, 12);
  const Eigen::MatrixXf c = a * b;
  const Eigen::RowVectorXf bias = random_matrix(1, 96, 13).array() + 3;
  for (const char* threshold : {"rounding_variance", "rounding_variance,columns=1", "v_abft"}) {
    EXPECT_THAT(explanation((c.rowwise() + bias).eval(), AbftClose(a, b).threshold(threshold)),
                HasSubstr("; each column differs by a constant; was a bias added or left out?\n"))
        << threshold;
  }
  EXPECT_THAT(explanation((c.rowwise() + bias).eval(), AbftClose(c)),
              HasSubstr("; each column differs by a constant; was a bias added or left out?\n"));
  EXPECT_THAT((c.rowwise() + bias).eval(), AbftClose(a, b).bias(Eigen::VectorXf(bias)));
  // The message calls only a constant in each column a bias, and none of these other faults.
  Eigen::MatrixXf flipped = c;
  flipped(3, 4) += 1;
  for (const Eigen::MatrixXf& wrong :
       {flipped, Eigen::MatrixXf(c * 2), Eigen::MatrixXf(c * 0), Eigen::MatrixXf(c.array() * 1.01F),
        Eigen::MatrixXf(c.colwise() + Eigen::VectorXf(random_matrix(64, 1, 14)))}) {
    EXPECT_THAT(wrong, Not(AbftClose(a, b)));
    EXPECT_THAT(explanation(wrong, AbftClose(a, b)), Not(HasSubstr("a bias?")));
  }
}

// For products of 8-bit floats, the matcher must know the machine that summed them.
TEST(AbftClose, TheMachineOfEightBitFloats) {
  Case c;
  c.name = "fp8";
  c.op = "matmul";
  c.attributes["promotion_interval"] = std::int64_t{128};
  c.inputs.emplace("a", tensor("float8_e4m3fn", {8, 512}, normals(8 * 512, 31)));
  c.inputs.emplace("b", tensor("float8_e4m3fn", {512, 32}, normals(512 * 32, 32)));
  const Tensor output = emulate(c, machine_named("hopper"));
  EXPECT_EQ(explanation(output, AbftClose(c)),
            "which cannot be compared: matrix units sum products of float8_e4m3fn with as few as "
            "14 bits; name the machine that computed them, as in machine=hopper" +
                reproduce());
  EXPECT_THAT(output, AbftClose(c).machine("hopper"));
  EXPECT_THAT(output, AbftClose(c).producer("hopper"));
  c.output().recorded["npu"].machine = "hopper";
  EXPECT_THAT(output, AbftClose(c).producer("npu"));
  EXPECT_THAT(explanation(output, AbftClose(c).producer("other")),
              StartsWith("which cannot be compared: matrix units sum "));
  c.attributes["machine"] = std::string("hopper");
  EXPECT_THAT(output, AbftClose(c));
  EXPECT_THAT(explanation(output, AbftClose(c.inputs.at("a"), c.inputs.at("b"))),
              StartsWith("which cannot be compared: matrix units sum "));
  EXPECT_THAT(explanation(output, AbftClose(c.inputs.at("a"), c.inputs.at("b")).machine("hopper")),
              StartsWith("which cannot be compared: rounding_variance does not hold for an "
                         "accumulator of 13 mantissa bits that is never promoted"));
}

TEST(AbftClose, Cases) {
  Case c;
  c.name = "gemm/tiny";
  c.op = "matmul";
  const Small s("float16");
  c.inputs.emplace("a", s.a);
  c.inputs.emplace("b", tensor("float16", {3, 1}, {1, 2, 4}));
  c.attributes["transpose_b"] = std::int64_t{1};
  EXPECT_THAT(s.c, AbftClose(c));
  EXPECT_THAT(s.flipped(2, 14), Not(AbftClose(c)));
  EXPECT_EQ(description_of(AbftClose(c)),
            "agrees with case gemm/tiny by checksums (threshold rounding_variance)");
  EXPECT_EQ(explanation(tensor("float32", {2, 3}, {1, 2, 4, 2, 4, 8}), AbftClose(c)),
            "which cannot be compared: the output is float32, the case's output dtype is float16, "
            "which is that of its inputs. If float32 is right, give the case the attribute "
            "output_dtype" +
                reproduce());
  Case golden;
  golden.name = "norm/tiny";
  golden.op = "layer_norm";
  golden.attributes["output_dtype"] = std::string("float16");
  golden.output().golden = s.c;
  EXPECT_THAT(s.c, AbftClose(golden));
  EXPECT_THAT(s.flipped(2, 14), Not(AbftClose(golden)));
  golden.output().golden = {};
  EXPECT_EQ(explanation(s.c, AbftClose(golden)),
            "which cannot be compared: checksums need a product's operands a and b, or a golden "
            "result; case norm/tiny has neither" +
                reproduce());
  // An error in the case is reported, and is not a crash.
  golden.attributes["output_dtype"] = std::string("float17");
  EXPECT_THAT(explanation(s.c, AbftClose(golden)), StartsWith("which cannot be compared: "));
}

Tensor temporary_a() { return Small("bfloat16").a; }
Tensor temporary_b() { return Small("bfloat16").b; }

TEST(AbftClose, TemporariesAreKept) {
  const auto operands = AbftClose(temporary_a(), temporary_b());
  const auto golden = AbftClose(Small("bfloat16").c);
  const auto eigen = AbftClose(Eigen::MatrixXf(Eigen::Vector2f(1, 2)),
                               Eigen::MatrixXf(Eigen::RowVector3f(1, 2, 4)));
  Case made;
  made.op = "matmul";
  made.inputs.emplace("a", temporary_a());
  made.inputs.emplace("b", temporary_b());
  const auto of_case = AbftClose(std::move(made));
  // A dangling view would probably read this memory.
  const std::vector<float> churn(1000, 7);
  const Tensor c = Small("bfloat16").c;
  EXPECT_THAT(c, AllOf(operands, golden, eigen, of_case));
  const auto copy = operands.whole_rows();
  EXPECT_THAT(c, copy);
  EXPECT_EQ(churn.size(), 1000u);
}

TEST(AbftClose, Descriptions) {
  const Small s("bfloat16");
  const auto matcher = AbftClose(s.a, s.b);
  EXPECT_EQ(description_of(matcher),
            "agrees with the operands bfloat16 [2, 1] and bfloat16 [1, 3] by checksums (threshold "
            "rounding_variance)");
  EXPECT_EQ(description_of(matcher, true),
            "does not agree with the operands bfloat16 [2, 1] and bfloat16 [1, 3] by checksums "
            "(threshold rounding_variance)");
  EXPECT_EQ(
      description_of(AbftClose(s.c).whole_rows().columns().confirm(false).false_alarm_budget(1e-6)),
      "agrees with the bfloat16 golden result of shape [2, 3] by checksums (threshold "
      "rounding_variance,groups=0,columns=1,confirm=0,delta=1e-06)");
  EXPECT_EQ(description_of(AbftClose(s.c).groups(4).groups(8)),
            "agrees with the bfloat16 golden result of shape [2, 3] by checksums (threshold "
            "rounding_variance,groups=8)");
  EXPECT_EQ(description_of(
                AbftClose(s.c).threshold("rounding_variance,groups=2,columns=1").columns(false)),
            "agrees with the bfloat16 golden result of shape [2, 3] by checksums (threshold "
            "rounding_variance,groups=2)");
  EXPECT_THAT(description_of(matcher.threshold("v_abft,variant=recalibrated").confirm(true)),
              EndsWith("(threshold v_abft,confirm=1,variant=recalibrated)"));
  EXPECT_THAT(description_of(matcher.threshold("a_abft").whole_rows()),
              EndsWith("(threshold a_abft)"));
}

TEST(AbftClose, ExplainsAPass) {
  const Small s("bfloat16");
  EXPECT_EQ(explanation(s.c, AbftClose(s.a, s.b)),
            "which passes: none of 2 row checks above rounding_variance (largest difference / "
            "threshold 0)");
  EXPECT_EQ(explanation(s.c, AbftClose(s.a, s.b).groups(2).columns()),
            "which passes: none of 7 checks of 2 columns and of columns above rounding_variance "
            "(largest difference / threshold 0)");
}

TEST(AbftClose, ExplainsAFault) {
  const Small s("bfloat16");
  const Tensor wrong = s.flipped(5, 14);  // 8 becomes 2^-125
  const std::string row =
      "\n  row 1, columns 0 to 2: difference 8, threshold 0.02344, difference / threshold 341.3, "
      "793.2 standard deviations"
      "\n    element [1, 2]: actual 2.3509887e-38 (0x0100), the operands say 8; a flip of bit 14 "
      "explains it: 8 (0x4100)";
  EXPECT_EQ(explanation(wrong, AbftClose(s.a, s.b)),
            "which fails: 1 of 2 row checks is above rounding_variance" + row + reproduce());
  // The check of the column has fewer elements and a smaller threshold, so that it comes first.
  EXPECT_EQ(
      explanation(wrong, AbftClose(s.a, s.b).columns()),
      "which fails: 2 of 5 row checks and of columns are above rounding_variance"
      "\n  column 2, rows 0 to 1: difference 8, threshold 0.01563, difference / threshold 512, "
      "886.8 standard deviations"
      "\n    element [1, 2]: actual 2.3509887e-38 (0x0100), the operands say 8; a flip of bit "
      "14 explains it: 8 (0x4100)" +
          row + reproduce());
}

TEST(AbftClose, ExplainsSpecials) {
  const Small s("float32");
  Tensor wrong = s.c;
  wrong.set_bits(0, 0x7f800000);
  EXPECT_EQ(explanation(wrong, AbftClose(s.a, s.b)),
            "which fails: 1 of 2 row checks is above rounding_variance"
            "\n  row 0, columns 0 to 2: infinity in the output at [0, 0], the operands say 1; a "
            "flip of bit 30 explains it: 1 (0x3f800000)" +
                reproduce());
  wrong.set_bits(0, 0x7fc00000);
  EXPECT_EQ(explanation(wrong, AbftClose(s.a, s.b)),
            "which fails: 1 of 2 row checks is above rounding_variance"
            "\n  row 0, columns 0 to 2: NaN in the output at [0, 0], the operands say 1" +
                reproduce());
  EXPECT_EQ(explanation(wrong, AbftClose(s.c)),
            "which fails: 1 of 2 row checks is above rounding_variance"
            "\n  row 0, columns 0 to 2: NaN in the output at [0, 0], golden says 1" +
                reproduce());
}

// Overflow is not a fault if the rounded float64 reference overflows, too. Then no check is made.
TEST(AbftClose, ExplainsOverflow) {
  const Tensor a = tensor("float16", {2, 1}, {300, 1}), b = tensor("float16", {1, 2}, {300, 400});
  const Tensor c = tensor("float16", {2, 2}, {90000, 120000, 300, 400});
  const std::string counted =
      "; 2 infinite or NaN elements are right, because the rounded reference is so, too; 1 check "
      "could not be made because of them";
  for (const AbftMatcher& matcher : {AbftClose(a, b), AbftClose(a, b).threshold("v_abft")}) {
    EXPECT_THAT(explanation(c, matcher),
                AllOf(StartsWith("which passes: none of 2 row checks above "), EndsWith(counted)));
  }
  EXPECT_EQ(explanation(c, AbftClose(a, b).columns()),
            "which cannot be trusted: only 1 of 4 row checks and of columns say anything; 2 "
            "infinite or NaN elements are right, because the rounded reference is so, too; 3 "
            "checks could not be made because of them" +
                reproduce());
  const Tensor golden = tensor("float64", {2, 2}, {90000, 120000, 300, 400});
  EXPECT_THAT(explanation(c, AbftClose(golden)), EndsWith(counted));
  // A finite value, or infinity of the other sign, is a fault if the right result overflows.
  for (const double value : {65504.0, -90000.0}) {
    Tensor wrong = copy_of(c.view());
    wrong.set_bits(1, encode(wrong.format(), value));
    EXPECT_THAT(wrong, Not(AbftClose(a, b)));
    EXPECT_THAT(wrong, Not(AbftClose(golden)));
  }
}

TEST(AbftClose, ExplainsIntegers) {
  const Small s("int8", "int32");
  EXPECT_EQ(
      explanation(s.flipped(4, 14), AbftClose(s.a, s.b)),
      "which fails: 1 of 2 row checks is above rounding_variance"
      "\n  row 1, columns 0 to 2: difference 1.638e+04, threshold 0, difference / threshold inf"
      "\n    element [1, 1]: actual 16388, the operands say 4; a flip of bit 14 explains it: "
      "4" +
          reproduce());
}

TEST(AbftClose, ExplainsWhatCannotBeTrustedOrCompared) {
  const Tensor zero = tensor("float32", {2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(explanation(zero, AbftClose(zero, zero)),
            "which cannot be trusted: no check shows anything, because every difference and every "
            "threshold "
            "is 0" +
                reproduce());
  EXPECT_THAT(zero, Not(AbftClose(zero, zero)));
  const Small s("bfloat16");
  EXPECT_EQ(explanation(s.c, AbftClose(s.a, s.a)),
            "which cannot be compared: a [2, 1] and b [2, 1] do not multiply: K is 1 in a and 2 in "
            "b" +
                reproduce());
  EXPECT_EQ(explanation(s.b, AbftClose(s.a, s.b)),
            "which cannot be compared: the output's shape is [1, 3], the product's is [2, 3]" +
                reproduce());
  EXPECT_EQ(explanation(std::vector<float>{1, 2, 3}, AbftClose(s.c)),
            "which cannot be compared: the output's shape is [3], the golden result's is [2, 3]" +
                reproduce());
  EXPECT_EQ(explanation(s.c, AbftClose(std::vector<float>{1, 2, 3})),
            "which cannot be compared: checksums need a matrix; the golden result has shape [3]" +
                reproduce());
  EXPECT_EQ(explanation(tensor("float64", {2, 3}, {1, 2, 4, 2, 4, 8}), AbftClose(s.a, s.b)),
            "which cannot be compared: outputs of float64 cannot be checked, because their "
            "checksums need more precision than float64" +
                reproduce());
}

TEST(AbftClose, ExplainsWhatWasNotCheckableAndWhatWasConfirmed) {
  Small s("bfloat16");
  s.a.set_bits(0, 0x7fc0);
  EXPECT_EQ(explanation(s.c, AbftClose(s.a, s.b)),
            "which passes: none of 2 row checks above rounding_variance (largest difference / "
            "threshold 0); 1 check "
            "could not be made, because operands or checksums hold NaN or infinity");
  // 1 + 2^-9 rounds to 1, four times the same way: one wide check is above a small threshold.
  const Tensor a = tensor("bfloat16", {1, 2}, {1, 1});
  const Tensor b = tensor("bfloat16", {2, 4}, {1, 1, 1, 1, 0x1p-9, 0x1p-9, 0x1p-9, 0x1p-9});
  const Tensor c = tensor("bfloat16", {1, 4}, {1, 1, 1, 1});
  const auto strict = AbftClose(a, b).threshold("rounding_variance,kappa=1");
  EXPECT_THAT(
      explanation(c, strict),
      AllOf(StartsWith("which passes: none of 1 row checks above rounding_variance (largest "
                       "difference / threshold 1.7"),
            EndsWith("); the elements of 1 check above the threshold are right")));
  EXPECT_THAT(c, Not(strict.confirm(false)));
}

TEST(AbftClose, Options) {
  const Eigen::MatrixXf a = random_matrix(12, 32, 3), b = random_matrix(32, 50, 4);
  const Eigen::MatrixXf c = a * b;
  const auto matcher = AbftClose(a, b);
  EXPECT_THAT(explanation(c, matcher), HasSubstr("none of 48 checks of 16 columns above"));
  EXPECT_THAT(explanation(c, matcher.whole_rows()), HasSubstr("none of 12 row checks above"));
  EXPECT_THAT(explanation(c, matcher.groups(5)),
              HasSubstr("none of 120 checks of 5 columns above"));
  EXPECT_THAT(explanation(c, matcher.columns()), HasSubstr("none of 98 "));
  EXPECT_THAT(explanation(c, matcher.columns().columns(false)), HasSubstr("none of 48 "));
  for (const char* spec : {"v_abft", "a_abft", "v_abft,variant=recalibrated"}) {
    EXPECT_THAT(c, matcher.threshold(spec)) << spec;
    EXPECT_THAT(explanation(c, matcher.threshold(spec).whole_rows()),
                HasSubstr("none of 12 row checks above"));
  }
  // A larger budget gives a smaller kappa and so a smaller threshold T. The ratio D/T of the
  // difference to the threshold becomes larger.
  const auto ratio = [&](double budget) {
    const std::string text = explanation(c, matcher.false_alarm_budget(budget));
    return std::stod(text.substr(text.find("threshold ", text.find("largest")) + 10));
  };
  EXPECT_LT(ratio(1e-12), ratio(1e-9));
  EXPECT_LT(ratio(1e-9), ratio(0.5));
}

TEST(AbftClose, TheAccumulatorsModel) {
  const Eigen::MatrixXf a = random_matrix(12, 32, 3), b = random_matrix(32, 50, 4);
  const Eigen::MatrixXf c = a * b;
  const DotModel& model = dot_model(machine_named("ascend910b"), format_named("float32"));
  const auto ratio = [&](const AbftMatcher& matcher) {
    const std::string text = explanation(c, matcher);
    return std::stod(text.substr(text.find("threshold ", text.find("largest")) + 10));
  };
  // If the machine rounds once after four products, the standard deviation of the errors and so the
  // threshold are half as large.
  EXPECT_NEAR(ratio(AbftClose(a, b).accumulated_as(model).confirm(false)),
              2 * ratio(AbftClose(a, b)), 0.02);
  DotModel half = model;
  half.accumulator.value = "float16";
  EXPECT_EQ(explanation(c, AbftClose(a, b).accumulated_as(half)),
            "which cannot be compared: rounding_variance needs a float32 accumulator rounded by "
            "nearest_even or toward_zero, not float16 by nearest_even" +
                reproduce());
}

// The values before the cast (the accumulator), or the sums of what the cast rounded away (the
// residuals), are given to the matcher or with the case.
TEST(AbftClose, ResidualsOfTheCast) {
  Case c;
  c.name = "x";
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string("bfloat16");
  c.inputs.emplace("a", tensor("bfloat16", {8, 64}, normals(8 * 64, 5)));
  c.inputs.emplace("b", tensor("bfloat16", {64, 32}, normals(64 * 32, 6)));
  const Machine& machine = machine_named("ascend910b");
  const Tensor output = emulate(c, machine), before = emulate_accumulator(c, machine);
  Tensor wrong = output;
  wrong.set_bits(70, wrong.bits_at(70) ^ 1);
  std::vector<float> r(8 * 2, 0.0f);  // 16 columns a check
  for (std::int64_t e = 0; e < 8 * 32; ++e) {
    r[static_cast<std::size_t>(e / 16)] +=
        static_cast<float>(before.view().value_at(e) - output.view().value_at(e));
  }
  const auto plain = AbftClose(c.input("a"), c.input("b")).machine("ascend910b");
  EXPECT_THAT(wrong, plain) << "the roundings of the others hide it";
  const auto matcher = plain.threshold("residual_compensated");
  EXPECT_THAT(output, matcher.accumulator(before));
  EXPECT_THAT(wrong, Not(matcher.accumulator(before)));
  EXPECT_THAT(output, matcher.residual(view(r, {8, 2})));
  EXPECT_THAT(wrong, Not(matcher.residual(view(r, {8, 2}))));
  EXPECT_THAT(output, AbftClose(c).threshold("residual_compensated").accumulator(before));
  EXPECT_THAT(explanation(wrong, matcher.accumulator(before)),
              StartsWith("which fails: 1 of 32 checks of 16 columns is above "
                         "residual_compensated"));
  // The case now has the values before the cast beside its output.
  c.output().recorded["npu"].tensor = output;
  c.output().recorded["npu"].machine = "ascend910b";
  c.output().recorded["npu"].epilogue.accumulator = before;
  EXPECT_THAT(wrong, Not(AbftClose(c).producer("npu").threshold("residual_compensated")));
  EXPECT_THAT(c.output().recorded.at("npu").tensor, AbftClose(c).threshold("residual_compensated"))
      << "an output in the case is known by its place";
  EXPECT_THAT(explanation(output, AbftClose(c).producer("gpu").threshold("residual_compensated")),
              StartsWith("which cannot be compared: residual_compensated needs what the cast took "
                         "away: C before its cast, or R of every check; "));
  EXPECT_THAT(explanation(output, plain.accumulator(before)),
              StartsWith("which cannot be compared: the threshold rounding_variance does not use "
                         "an accumulator or a residual; use residual_compensated, as in "
                         ".threshold(\"residual_compensated\")"));
  EXPECT_THAT(
      explanation(output, matcher.accumulator(output)),
      StartsWith("which cannot be compared: the accumulator is bfloat16 [8, 32], but for an output "
                 "bfloat16 [8, 32] it must be float32 or float64 of the same shape"));
}

TEST(AbftClose, UsageErrors) {
  const Small s("bfloat16");
  const auto matcher = AbftClose(s.a, s.b);
  EXPECT_EQ(error_of([&] { (void)matcher.threshold("v_abt"); }),
            "unknown threshold 'v_abt': did you mean 'v_abft'?; known: rounding_variance, "
            "residual_compensated, v_abft, aclnn, a_abft, a_abft_original, sea_abft, analytic, "
            "torch_npu, mindspore");
  EXPECT_THAT(error_of([&] { (void)matcher.threshold("a_abft,groups=4"); }),
              StartsWith("threshold 'a_abft,groups=4': a_abft takes no 'groups'"));
  for (const double budget : {0.0, 1.0, -1e-9, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(error_of([&] { (void)matcher.false_alarm_budget(budget); }),
                StartsWith("a false-alarm budget is a probability between 0 and 1, not "));
  }
  const auto refused = [&](const AbftMatcher& used) {
    return failures_of([&] { EXPECT_THAT(s.c, used); }).back();
  };
  EXPECT_THAT(refused(matcher.groups(-1)),
              HasSubstr("which cannot be judged: the number of columns in a group must be at least "
                        "1, or 0 for whole rows"));
  EXPECT_THAT(
      refused(matcher.threshold("v_abft").groups(16)),
      HasSubstr("which cannot be judged: the threshold v_abft checks only whole rows; leave "
                "groups out, or use rounding_variance"));
}

TEST(AbftClose, FailsATestWithItsWords) {
  static const Small s("bfloat16");
  static const Tensor wrong = s.flipped(5, 14);
  EXPECT_NONFATAL_FAILURE(
      EXPECT_THAT(wrong, AbftClose(s.a, s.b)),
      "Expected: agrees with the operands bfloat16 [2, 1] and bfloat16 [1, 3] by "
      "checksums (threshold rounding_variance)");
  EXPECT_NONFATAL_FAILURE(EXPECT_THAT(wrong, AbftClose(s.a, s.b)),
                          "which fails: 1 of 2 row checks is above rounding_variance");
  EXPECT_NONFATAL_FAILURE(EXPECT_THAT(s.c, Not(AbftClose(s.a, s.b))),
                          "does not agree with the operands bfloat16 [2, 1]");
  EXPECT_THAT(s.c, AllOf(AbftClose(s.a, s.b), AbftClose(s.c), CloseTo(Tensor(s.c))));
}

// The text of a threshold in a description can be parsed again.
TEST(AbftCloseEdges, WhatIsDescribedCanBeRead) {
  const Small s("bfloat16");
  std::string text;
  try {
    text = description_of(AbftClose(s.a, s.b).threshold("v_abft").false_alarm_budget(1e-6));
  } catch (const std::invalid_argument&) {
    // The matcher may refuse the budget, because the threshold v_abft has none.
    return;
  }
  const std::size_t begin = text.find("(threshold ") + 11;
  EXPECT_NO_THROW((void)parse_threshold(text.substr(begin, text.size() - begin - 1)));
}

// A case is not an operand. The matcher refuses it: it neither ignores it nor crashes.
TEST(AbftCloseEdges, ACaseIsNoOperand) {
  const auto refuses = [](bool case_first) {
    const Small s("bfloat16");
    Case c;
    c.name = "operands";
    c.output().golden = s.c;
    bool refused = false;
    try {
      const auto matcher = case_first ? AbftClose(Reference(c), s.b) : AbftClose(s.a, Reference(c));
      refused = !testing::Value(s.c, matcher) && !description_of(matcher).empty();
    } catch (const std::invalid_argument&) {
      refused = true;
    }
    std::exit(refused ? 0 : 1);
  };
  EXPECT_EXIT(refuses(true), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(refuses(false), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace assay
