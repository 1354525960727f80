// Reports of the gate that tests make by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "assay/gate/gate.h"

namespace assay::testing_reports {

// Returns a case that passes with errors of this size, and uses this share of its bound.
inline CaseReport passed(const std::string& name, double errors, double share = 0.5,
                         const std::string& standard = "torch") {
  CaseReport c;
  c.name = name;
  c.producer = "npu";
  Verdict v;
  v.worst_ratio = share;
  v.bound.standard = standard;
  v.metrics.emplace();
  v.metrics->max_abs_error = 4 * errors;
  v.metrics->rmse = errors;
  v.metrics->p99_ulps = 2 * errors;
  c.verdicts.push_back(v);
  return c;
}

inline GateReport report_with(std::vector<CaseReport> cases, const std::string& file = "a.h5") {
  GateReport report;
  report.golden_file = file;
  report.cases = std::move(cases);
  return report;
}

}  // namespace assay::testing_reports
