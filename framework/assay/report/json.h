// Verdicts and gate reports as JSON and JUnit.
#pragma once

#include <string>

#include "assay/gate/case_report.h"

namespace assay {

// Schema 1, documented in docs/json.md. NaN and infinity are the strings "nan", "inf", "-inf".
std::string gate_json(const GateReport& report);
std::string verdict_json(const Verdict& verdict);  // of one comparison
std::string gate_junit(const GateReport& report);

}  // namespace assay
