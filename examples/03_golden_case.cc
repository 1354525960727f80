// A case of a golden file as the reference, with its golden result and the bound that it carries.
#include <assay/datasets.h>
#include <assay/matchers.h>
#include <assay/operator.h>
#include <gtest/gtest.h>

using assay::CloseTo;

TEST(Transformer, EmulatedAscendMatchesGolden) {
  const assay::DatasetFile file(ASSAY_SAMPLES "/transformer_gemms.h5");
  const assay::Case c = file.read("layer0/attn_out.fwd");
  const assay::Tensor out = assay::emulate(c, assay::machine_named("ascend910b"));

  EXPECT_THAT(out, CloseTo(c));                      // by the case's own rtol and atol
  EXPECT_THAT(out, CloseTo(c).standard("ulp(16)"));  // or yours
  EXPECT_THAT(c.output().recorded.at("h200").tensor, CloseTo(c));  // what someone recorded
}
