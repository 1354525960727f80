// Orders of summation, found from recorded sums: of an H200's Triton and PyTorch, of numpy and
// OpenBLAS, and of random members of the families. What is none of them is not taken for one.
#include <cblas.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/process.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/datasets/store.h"
#include "assay/identify/sum_order_search.h"
#include "assay/op/operator.h"
#include "sanitized.h"

namespace assay::identify {
namespace {

using testing::HasSubstr;

const Format& kFloat32 = format_named("float32");
const Format& kFloat16 = format_named("float16");

DatasetFile triton_sums() {
  return DatasetFile(ASSAY_SOURCE_DIR "/datasets/samples/triton_sums.h5");
}

// Sums by anything else: of normal numbers, `rows` times.
template <typename Sum>
RecordedSums sums_by(const Format& input, const Format& output, std::int64_t n, std::int64_t rows,
                     std::uint64_t stream, const Sum& sum) {
  Random random(60, stream);
  RecordedSums r{&input, &output, n, {}, {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<double> x;
    for (std::int64_t i = 0; i < n; ++i) x.push_back(round_to(input, random.normal()));
    r.sums.push_back(round_to(output, sum(x)));
    r.x.insert(r.x.end(), x.begin(), x.end());
  }
  return r;
}

[[maybe_unused]] double by_model(const SumOrderModel& model, const std::vector<double>& x) {
  return plan_oracle({model.sums}, {model.second}, model.plan, static_cast<std::int64_t>(x.size()),
                     x.data());
}

TEST(SumOrderTest, Explore) {
  const DatasetFile file = triton_sums();
  for (const std::string& name : file.case_names("")) {
    const auto r = recorded_sums(file.read(name), "h200");
    std::cout << clock()/1000 << " " << name << " " << sum_order_report(find_sum_order({r})) << std::endl;
  }
  std::vector<RecordedSums> second;
  for (const std::string& name : file.case_names("second/*")) {
    second.push_back(recorded_sums(file.read(name), "h200"));
  }
  std::cout << sum_order_report(find_sum_order(second)) << std::endl;
}

}  // namespace
}  // namespace assay::identify
