// A matrix product judged by its checksums, from its operands or from a golden result.
#include <assay/matchers.h>
#include <assay/operator.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using assay::AbftClose;

namespace {

assay::Case small_product() {
  assay::Case c;
  c.name = "product";
  c.op = "matmul";
  const assay::Format& bf16 = assay::format_named("bfloat16");
  std::vector<double> values(64 * 64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
  c.inputs.emplace("a", assay::Tensor::from_values(bf16, {64, 64}, values));
  for (double& v : values) v = std::cos(17 * v);
  c.inputs.emplace("b", assay::Tensor::from_values(bf16, {64, 64}, values));
  return c;
}

TEST(Abft, SeesOneFlippedBit) {
  const assay::Case c = small_product();
  assay::Tensor out = assay::emulate(c, assay::machine_named("ascend910b"));

  EXPECT_THAT(out, AbftClose(c));                           // a dataset case
  EXPECT_THAT(out, AbftClose(c.input("a"), c.input("b")));  // two operands
  EXPECT_THAT(out, AbftClose(c).threshold("v_abft"));       // another theory
  EXPECT_THAT(out, AbftClose(assay::golden_result(c)));     // by a golden result, without operands

  out.set_bits(100, out.bits_at(100) ^ 0x4000);  // flips the highest exponent bit of one element
  EXPECT_THAT(out, testing::Not(AbftClose(c)));
}

}  // namespace
