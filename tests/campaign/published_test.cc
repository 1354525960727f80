// Tests which published rates have no counterpart in a plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "assay/campaign/published_campaigns.h"
#include "assay/format/format.h"

namespace assay::campaign {
namespace {

PublishedRate rate_of(const char* algorithm, const char* variant, const char* distribution,
                      const char* dtype = "") {
  PublishedRate p;
  p.algorithm = algorithm;
  p.variant = variant;
  p.distribution = distribution;
  p.dtype = dtype;
  return p;
}

Plan plan_with(const std::vector<std::string>& gates, std::vector<PublishedVariant> variants) {
  Plan plan;
  plan.variants = std::move(variants);
  Cell cell;
  cell.output = &format_named("bfloat16");
  cell.shape = {128, 256, 128};
  cell.published_distributions = {"normal"};
  for (const std::string& text : gates) {
    GateSpec gate;
    gate.text = text;
    cell.gates.push_back(gate);
  }
  plan.cells = {cell};
  return plan;
}

TEST(CampaignPublished, VariantsWithoutAGateAreLeftOut) {
  const std::vector<PublishedRate> published = {
      rate_of("V-ABFT", "fixed", "normal"),          rate_of("V-ABFT", "fixed", "normal", "bf16"),
      rate_of("V-ABFT", "online", "normal", "bf16"), rate_of("A-ABFT", "", "normal"),
      rate_of("A-ABFT", "paper", "normal"),          rate_of("V-ABFT", "other", "uniform"),
      rate_of("V-ABFT", "half", "normal", "fp16"),   rate_of("V-ABFT", "single", "normal", "fp32"),
  };
  // A plan without gates leaves out each variant of the cell's own rates once, in their order.
  // Rates without a variant, of other distributions or of other dtypes are not listed.
  EXPECT_THAT(variants_left_out(plan_with({}, {}), published),
              testing::ElementsAre("V-ABFT fixed", "V-ABFT online", "A-ABFT paper"));
  // A gate stands for the variants that the plan lists for it.
  EXPECT_THAT(variants_left_out(plan_with({"v_abft,arithmetic=output"},
                                          {{"v_abft,arithmetic=output", {"fixed"}}}),
                                published),
              testing::ElementsAre("V-ABFT online", "A-ABFT paper"));
  // A gate without listed variants stands only for rates without a variant. A gate of another
  // algorithm stands for no rate.
  EXPECT_THAT(
      variants_left_out(plan_with({"a_abft", "tolerance"}, {{"v_abft", {"fixed"}}}), published),
      testing::ElementsAre("V-ABFT fixed", "V-ABFT online", "A-ABFT paper"));
  std::vector<PublishedRate> elsewhere = {rate_of("V-ABFT", "fixed", "normal")};
  elsewhere[0].shape = {1, 2, 3};
  EXPECT_THAT(variants_left_out(plan_with({}, {}), elsewhere), testing::IsEmpty());
  elsewhere[0].shape = {128, 256, 128};
  EXPECT_THAT(variants_left_out(plan_with({}, {}), elsewhere),
              testing::ElementsAre("V-ABFT fixed"));
}

}  // namespace
}  // namespace assay::campaign
