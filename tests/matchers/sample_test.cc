// Tests CloseTo(case).sample_rows(n) on products without a golden result.
#include <assay/matchers.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "assay/base/random.h"
#include "assay/machine/machine.h"
#include "assay/op/operator.h"
#include "matchers/texts.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

Case large_product() {
  Case c;
  c.name = "large", c.op = "matmul";
  Random random(1, 0);
  for (const auto& [name, shape] : {std::pair("a", Shape{50, 40}), {"b", Shape{40, 30}}}) {
    std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
    for (double& v : values) v = random.normal();
    c.inputs[name] = Tensor::from_values(format_named("bfloat16"), shape, values);
  }
  return c;
}

TEST(SampleRows, JudgesDrawnRowsAndChecksAll) {
  const Case c = large_product();
  const Tensor right = emulate(c, machine_named("ascend910b"));
  EXPECT_THAT(right, Not(CloseTo(c)));
  EXPECT_THAT(right, CloseTo(c).sample_rows(8));
  EXPECT_THAT(right, CloseTo(c).sample_rows(1000, 3));
  // A single wrong element is found, in a row that is drawn or in a row that only the checksums
  // see.
  for (const std::int64_t element : {0, 700, 1499}) {
    Tensor wrong = copy_of(right);
    wrong.set_bits(element, wrong.bits_at(element) ^ 0x4000);
    for (const std::int64_t rows : {8, 50}) {
      EXPECT_THAT(wrong, Not(CloseTo(c).sample_rows(rows))) << element << " " << rows;
    }
    testing::StringMatchResultListener listener;
    EXPECT_FALSE(testing::ExplainMatchResult(CloseTo(c).sample_rows(50), wrong, &listener));
    EXPECT_THAT(listener.str(), HasSubstr("of 50 of 50 rows: 1 of 1 500 elements"));
  }
}

}  // namespace
}  // namespace assay
