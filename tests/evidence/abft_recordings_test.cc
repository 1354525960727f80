// Checks products that were recorded on an H200 by the default threshold, with the machine known.
// There must be no alarm.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "assay/datasets/runner/file_gate.h"
#include "assay/datasets/store/dataset_file.h"

namespace assay {
namespace {

struct Outcomes {
  std::map<Outcome, int> count;
  std::int64_t checks = 0, confirmed_clean = 0;
  std::string first;  // the first output that did not pass
};

// Judges the recorded outputs of the file's products by the gate. The file gives the machine of
// each output.
Outcomes check_all(const std::string& file, const std::string& glob, const std::string& spec) {
  const DatasetFile samples(std::string(ASSAY_SOURCE_DIR "/datasets/samples/") + file + ".h5");
  OutputSource source;
  source.name = "h200";
  source.recorded = &samples;
  GateRequest request;
  request.elements = false;
  request.checksums = parse_threshold(spec);
  Outcomes all;
  for (const std::string& name : samples.case_names(glob)) {
    if (samples.info(name).op != "matmul") continue;
    const AbftVerdict v = *gate_file_case(samples, name, source, request).front().report.abft;
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

// Sums in accumulators of 13 mantissa bits are refused unless they are promoted. With promotion,
// they raise no alarm.
TEST(AbftRecordings, Float8Products) {
  for (const char* glob : {"e4m3/*", "e5m2_e4m3/*"}) {
    Outcomes all = check_all("hopper_mma", glob, "rounding_variance");
    EXPECT_EQ(all.count[Outcome::kFail], 0) << all.first;
    EXPECT_EQ(all.count[Outcome::kPass], 14);
    EXPECT_EQ(all.count[Outcome::kNotComparable], 14);
  }
}

}  // namespace
}  // namespace assay
