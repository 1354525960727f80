// Tests products whose operands lie anywhere in memory: their verdict is that of a case with copies
// of the operands.
#include "assay/abft/product_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "assay/base/random.h"
#include "assay/gate/gate.h"
#include "assay/gate/product_gate.h"
#include "assay/op/operator.h"
#include "assay/report.h"
#include "error_of.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Tensor drawn(const Shape& shape, std::uint64_t seed, const char* dtype = "float16") {
  Random random(seed, 0);
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& v : values) v = random.normal();
  return Tensor::from_values(format_named(dtype), shape, values);
}

// Holds the elements of a tensor in memory with the dimensions in reverse order, and with other
// elements between them.
struct Scattered {
  explicit Scattered(const Tensor& t) {
    const std::int64_t rank = static_cast<std::int64_t>(t.shape().size());
    Shape wide(t.shape().rbegin(), t.shape().rend());
    for (std::int64_t& extent : wide) extent *= 2;
    memory = Tensor(t.format(), wide);
    view = memory.view();
    view.shape = t.shape();
    std::reverse(view.strides.begin(), view.strides.end());
    for (std::int64_t& stride : view.strides) stride *= 2;
    const std::int64_t width = t.format().storage_bytes;
    for (std::int64_t i = 0; i < t.size(); ++i) {
      const auto index = t.view().multi_index(i);
      std::int64_t offset = 0;
      for (std::int64_t d = 0; d < rank; ++d) {
        offset += index[static_cast<std::size_t>(d)] * view.strides[static_cast<std::size_t>(d)];
      }
      std::copy_n(t.bytes() + i * width, width, memory.bytes() + offset * width);
    }
  }
  Tensor memory;
  TensorView view;
};

struct Batched {
  Batched() {
    c.name = "p";
    c.op = "matmul";
    c.inputs["a"] = drawn({2, 3, 20, 12}, 1);  // a is stored transposed, so that K is 20
    c.inputs["b"] = drawn({20, 33}, 2);
    c.inputs["bias"] = drawn({33}, 3);
    c.attributes = {{"transpose_a", std::int64_t{1}}, {"output_dtype", "float16"}};
    output = emulate(c, machine_named("ascend910b"));
  }
  ProductOperands operands() const { return product_operands(c); }
  Case c;
  Tensor output;
};

TEST(ProductGateTest, SaysOfScatteredOperandsWhatItSaysOfTheirCase) {
  Batched p;
  const Scattered a(p.c.inputs.at("a")), b(p.c.inputs.at("b")), bias(p.c.inputs.at("bias"));
  for (const bool is_wrong : {false, true}) {
    if (is_wrong) p.output.set_bits(700, p.output.bits_at(700) ^ 0x4000);
    const Scattered output(p.output);
    for (const char* threshold : {"rounding_variance", "v_abft", "rounding_variance,columns=1"}) {
      for (const Machine* machine : {static_cast<const Machine*>(nullptr),
                                     &machine_named("ascend910b"), &machine_named("hopper")}) {
        const GateRequest request{
            .elements = false, .checksums = parse_threshold(threshold), .machine = machine};
        const std::string said = explain(*gate_case(p.c, p.output, request).abft);
        EXPECT_EQ(explain(gate_product(p.operands(), p.output, request)), said);
        const ProductOperands scattered{
            .a = a.view, .b = b.view, .transpose_a = true, .bias = bias.view};
        const AbftVerdict verdict = gate_product(scattered, output.view, request);
        EXPECT_EQ(explain(verdict), said);
        EXPECT_EQ(verdict.outcome, is_wrong ? Outcome::kFail : Outcome::kPass) << said;
      }
    }
  }
}

TEST(ProductGateTest, TakesWhatTheKernelGaveBesideItsOutput) {
  Batched p;
  p.c.attributes["output_dtype"] = "float32";
  const Tensor before = emulate(p.c, machine_named("ascend910b"));
  const GateRequest request{.elements = false,
                            .checksums = parse_threshold("residual_compensated")};
  const auto beside = Residual::accumulator(before);
  EXPECT_EQ(gate_product(p.operands(), p.output, request, beside).outcome, Outcome::kPass);
  p.output.set_bits(700, p.output.bits_at(700) ^ 1);
  EXPECT_EQ(gate_product(p.operands(), p.output, request, beside).outcome, Outcome::kFail);
  EXPECT_THAT(gate_product(p.operands(), p.output, request).because,
              StartsWith("residual_compensated needs what the cast took away"));
  EXPECT_THAT(
      gate_product(p.operands(), p.output, request, Residual::accumulator(p.output)).because,
      HasSubstr("it must be float32"));
  EXPECT_EQ(
      error_of([&] { (void)gate_product(p.operands(), p.output, {.elements = false}, beside); }),
      "the threshold rounding_variance does not use an accumulator or a residual; use "
      "residual_compensated");
}

TEST(ProductGateTest, SaysWhyAProductIsNotChecked) {
  const Batched p;
  const auto why = [&](ProductOperands operands, const TensorView& output) {
    const AbftVerdict v = gate_product(operands, output, {.elements = false});
    EXPECT_EQ(v.outcome, Outcome::kNotComparable);
    return v.because;
  };
  ProductOperands wrong = p.operands();
  wrong.transpose_a = false;
  EXPECT_EQ(why(wrong, p.output),
            "a [2, 3, 20, 12] and b [20, 33] do not multiply: K is 12 in a and 20 in b");
  EXPECT_EQ(why(p.operands(), p.output.view().at(0)),
            "the output's shape is [3, 12, 33], the product's is [2, 3, 12, 33]");
  wrong = p.operands();
  wrong.bias = wrong.b;
  EXPECT_EQ(why(wrong, p.output), "bias [20, 33] must have the shape [33]");
  const Tensor eight = drawn({4, 4}, 5, "float8_e4m3fn");
  EXPECT_THAT(why({.a = eight, .b = eight}, drawn({4, 4}, 6, "float32")),
              StartsWith("matrix units sum products of float8_e4m3fn"));
  EXPECT_EQ(why(p.operands(), Tensor(format_named("complex64"), {2, 3, 12, 33})),
            "the output is complex64, but checksums can be computed only for real numbers");
}

}  // namespace
}  // namespace assay
