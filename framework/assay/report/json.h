// Verdicts and gate reports as JSON and JUnit.
#pragma once

#include <string>

#include "assay/gate/case_report.h"

namespace assay::report {

// Schema 1, documented in docs/json.md. NaN and infinity are the strings "nan", "inf", "-inf".
std::string gate_json(const GateReport& report);
std::string verdict_json(const Verdict& verdict);  // of one comparison
std::string gate_junit(const GateReport& report);

}  // namespace assay::report

namespace assay {
using report::gate_json;
using report::gate_junit;
using report::verdict_json;
}  // namespace assay
