// A gate report as a page: the verdicts as a table, charts of what the errors are like, and the
// explanation of every case that did not pass.
#pragma once

#include <string>

#include "assay/gate/case_report.h"

namespace assay::report {

// One self-contained page, no network.
std::string gate_html(const GateReport& report);

}  // namespace assay::report

namespace assay {
using report::gate_html;
}  // namespace assay
