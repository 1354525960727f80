// Gate reports as JUnit.
#pragma once

#include <string>

#include "assay/gate/case_report.h"

namespace assay::report {

std::string gate_junit(const GateReport& report);

}  // namespace assay::report

namespace assay {
using report::gate_junit;
}  // namespace assay
