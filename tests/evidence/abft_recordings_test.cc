// Products recorded on an H200, checked by the default threshold with the machine known: no alarm.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "assay/abft/abft.h"
#include "assay/datasets/store.h"
#include "assay/machine/machine.h"

namespace assay {
namespace {

struct Outcomes {
  std::map<Outcome, int> count;
  std::int64_t checks = 0, confirmed_clean = 0;
  std::string first;  // what did not pass, first
};

std::int64_t number(const Case& c, const std::string& name) {
  const auto found = c.attributes.find(name);
  return found == c.attributes.end() ? 0 : std::get<std::int64_t>(found->second);
}

Outcomes check_all(const std::string& file, const std::string& glob, const std::string& spec) {
  const DatasetFile samples(std::string(ASSAY_SOURCE_DIR) + "/datasets/samples/" + file + ".h5");
  Outcomes all;
  for (const std::string& name : samples.case_names(glob)) {
    const Case c = samples.read(name);
    const auto recorded = c.outputs.find("h200");
    if (recorded == c.outputs.end() || c.op != "matmul") continue;
    const Format* input = &c.inputs.at("a").format();
    if (const auto compute = c.attributes.find("compute_dtype"); compute != c.attributes.end()) {
      input = &format_named(std::get<std::string>(compute->second));
    }
    DotModel model = dot_model(machine_named("hopper"), *input);
    // K split over thread blocks is the same as partial sums that are promoted.
    for (const char* name_of_parts : {"promotion_interval", "split_k"}) {
      const std::int64_t parts = number(c, name_of_parts);
      if (parts > 0) model.promotion_interval.value = static_cast<int>(parts);
    }
    AbftOptions options;
    options.spec = parse_threshold(spec);
    options.model = &model;
    const AbftVerdict v = abft_check(c, recorded->second.view(), options);
    ++all.count[v.outcome];
    all.checks += v.checks;
    all.confirmed_clean += v.confirmed_clean;
    if (v.outcome != Outcome::kPass && all.first.empty()) all.first = name + ": " + v.because;
  }
  return all;
}

TEST(AbftRecordings, TransformerProducts) {
  for (const char* spec : {"rounding_variance", "rounding_variance,confirm=0"}) {
    Outcomes all = check_all("transformer_gemms", "", spec);
    EXPECT_EQ(all.count[Outcome::kPass], 18) << all.first;
    EXPECT_GT(all.checks, 10000);
  }
}

TEST(AbftRecordings, Products) {
  for (const char* glob : {"bf16/*", "fp16/*"}) {
    Outcomes all = check_all("hopper_mma", glob, "rounding_variance");
    EXPECT_EQ(all.count[Outcome::kFail], 0) << all.first;
    EXPECT_EQ(all.count[Outcome::kPass], 15);
    EXPECT_GT(all.checks, 100);
  }
}

TEST(AbftRecordings, Tfloat32Products) {
  Outcomes all = check_all("hopper_tf32", "", "rounding_variance");
  EXPECT_EQ(all.count[Outcome::kFail], 0) << all.first;
  EXPECT_EQ(all.count[Outcome::kPass], 14);
}

// Accumulators of 13 bits: refused unless they are promoted, and then without an alarm.
TEST(AbftRecordings, Float8Products) {
  Outcomes all = check_all("hopper_mma", "e4m3/*", "rounding_variance");
  EXPECT_EQ(all.count[Outcome::kFail], 0) << all.first;
  EXPECT_GT(all.count[Outcome::kNotComparable], 0);
}

}  // namespace
}  // namespace assay
