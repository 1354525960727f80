// A gate report as a page: what ran, how many cases have which outcome, a table of all verdicts by
// operator that sorts and filters, and behind what did not pass its explanation with pictures of
// the errors. Without JavaScript it is a plain page. docs/gate.md has what is in it.
#pragma once

#include <string>

#include "assay/gate/case_report.h"

namespace assay::report {

// One self-contained page, no network (report/page.h).
std::string gate_html(const GateReport& report);

}  // namespace assay::report

namespace assay {
using report::gate_html;
}  // namespace assay
