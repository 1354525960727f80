// The kernel in the team's own GoogleTests.
#include "swiglu.h"

#include <assay/matchers.h>
#include <assay/operator.h>
#include <gmock/gmock.h>

#include "swiglu_kernel.h"

namespace {

using assay::Case, assay::CloseTo, assay::Tensor;

// Returns a case of swiglu with its golden result and the tolerance that follows from its data.
Case swiglu_case(const char* distribution) {
  static const bool registered = (team::register_swiglu(), true);
  EXPECT_TRUE(registered);
  assay::Recipe recipe{&assay::format_named("bfloat16"), {64, 256}};
  recipe.distribution = assay::parse_distribution(distribution);
  Case c = assay::generate_case("swiglu", recipe);
  c.output().golden = assay::golden_result(c);
  c.attributes.merge(assay::derived_tolerance(c).attributes());
  return c;
}

TEST(Swiglu, KernelAndEmulationMatchTheGoldenResult) {
  for (const char* distribution :
       {"normal", "normal,deviation=10", "uniform,low=-1e-3,high=1e-3"}) {
    const Case c = swiglu_case(distribution);
    EXPECT_THAT(team::swiglu_kernel(c), CloseTo(c)) << distribution;
    EXPECT_THAT(assay::emulate(c, assay::machine_named("ascend910b")), CloseTo(c)) << distribution;
  }
}

// An error of two representable values must not pass.
TEST(Swiglu, TwoRepresentableValuesOffIsSeen) {
  const Case c = swiglu_case("normal");
  Tensor out = team::swiglu_kernel(c);
  out.set_bits(17, out.bits_at(17) - 2);
  EXPECT_THAT(out, testing::Not(CloseTo(c)));
}

// silu(1) = 1 / (1 + 1 / e) = 0.731058578630..., and silu(-1) = silu(1) - 1 = -0.268941421369...
TEST(Swiglu, GoldenResultsAreTheDefinition) {
  Case c = swiglu_case("normal");
  const assay::Format& bfloat16 = assay::format_named("bfloat16");
  c.inputs["x"] = Tensor::from_values(bfloat16, {3}, std::vector<double>{1, -1, 0});
  c.inputs["gate"] = Tensor::from_values(bfloat16, {3}, std::vector<double>{2, 1, 5});
  EXPECT_THAT(
      assay::golden_result(c),
      CloseTo(std::vector<double>{1.4621171572600098, -0.2689414213699951, 0}).rtol(1e-15).atol(0));
}

}  // namespace
