// Gate reports as JUnit.
#pragma once

#include <string>

#include "assay/gate/case_report.h"

namespace assay::inline v0_2::report {

// Returns a report as JUnit's XML: a test suite for each golden file, and a test case for each
// output. Outputs without a golden result are skipped test cases.
std::string gate_junit(const GateReport& report);

}  // namespace assay::report

namespace assay::inline v0_2 {
using report::gate_junit;
}  // namespace assay
