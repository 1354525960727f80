// Tests the standard `expected_error` on products that an H200 computed. Its theory, which was not
// fitted to any recording, expects errors of just this size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "assay/base/text.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/gate/gate.h"
#include "assay/op/operator.h"

namespace assay {
namespace {

struct Recording {
  const char* file;
  std::size_t cases;
  // The squared errors, divided by the expected ones, may differ from 1 by this much on average
  // over all cases.
  double within;
};

class RecordedProducts : public testing::TestWithParam<Recording> {};

TEST_P(RecordedProducts, HaveTheExpectedErrors) {
  const DatasetFile file(formatted("{}/datasets/samples/{}.h5", ASSAY_SOURCE_DIR, GetParam().file));
  std::size_t judged = 0;
  double sum = 0;
  for (const std::string& name : file.case_names()) {
    Case c = file.read(name);
    SCOPED_TRACE(name);
    if (!c.output().golden) c.output().golden = golden_result(c);
    const CaseReport report =
        gate_case(c, c.output().recorded.at("h200").tensor,
                  {.bounds = {.standards = {"expected_error(hopper)"}}}, {.producer = "h200"});
    ASSERT_EQ(report.verdicts.size(), 1u);
    const Verdict& v = report.verdicts[0];
    EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
    EXPECT_THAT(v.notes, testing::IsEmpty());
    // For 16-bit outputs, the mean error is judged, too, which is a second reading.
    ASSERT_FALSE(v.readings.empty());
    ASSERT_EQ(v.readings[0].limit.statistic, Statistic::kErrorSquares);
    ++judged;
    sum += v.readings[0].value;
  }
  EXPECT_EQ(judged, GetParam().cases);
  EXPECT_NEAR(sum / static_cast<double>(judged), 1, GetParam().within);
}

INSTANTIATE_TEST_SUITE_P(H200, RecordedProducts,
                         testing::Values(Recording{"hopper_mma", 86, 0.1},
                                         Recording{"hopper_tf32", 14, 0.05},
                                         Recording{"transformer_gemms", 18, 0.001}),
                         [](const auto& test) { return std::string(test.param.file); });

}  // namespace
}  // namespace assay
