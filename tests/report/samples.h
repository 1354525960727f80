// Sample data for the tests of reports.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "assay/campaign/results.h"
#include "assay/report.h"

namespace assay::testing_samples {

inline Tensor list(const char* dtype, const std::vector<double>& values) {
  return Tensor::from_values(format_named(dtype), {static_cast<std::int64_t>(values.size())},
                             values);
}

inline CaseReport reported(const std::string& name, std::vector<Verdict> verdicts,
                           Shape shape = {2, 2}) {
  CaseReport c;
  c.name = name;
  c.op = "matmul";
  c.dtype = "float32";
  c.producer = "ascend910b";
  c.shape = std::move(shape);
  c.verdicts = std::move(verdicts);
  c.reproduce = "assay gate g.h5 --case " + name;
  return c;
}

// Returns a rate over `matrices` matrices. From four matrices on, it has Wilson's interval, whose
// figures are known.
inline campaign::MeasuredRate rate_of(std::int64_t events, std::int64_t trials,
                                      std::int64_t matrices = 8) {
  campaign::MeasuredRate m;
  m.rate = {events, trials};
  m.clusters = matrices;
  if (trials > 0 && matrices >= campaign::kLeastClusters) {
    m.interval = campaign::wilson(m.rate, campaign::kConfidence);
  }
  return m;
}

}  // namespace assay::testing_samples
