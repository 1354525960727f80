// A gate report as a page. It has the facts of the run, the number of cases with each outcome, and
// a table of all verdicts by operator that sorts and filters. Each row that did not pass opens its
// explanation, with pictures of the errors. Without JavaScript it is a plain page. docs/gate.md
// describes its parts.
#pragma once

#include <string>

#include "assay/gate/case_report.h"

namespace assay::inline v0_2::report {

// Returns the report as one self-contained page, which needs no network (report/page.h).
std::string gate_html(const GateReport& report);

}  // namespace assay::report

namespace assay::inline v0_2 {
using report::gate_html;
}  // namespace assay
