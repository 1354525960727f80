// Verdicts and gate reports as JSON and JUnit.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "assay/gate/case_report.h"

namespace assay::report {

// Schema 1, documented in docs/json.md. NaN and infinity are the strings "nan", "inf", "-inf".
std::string gate_json(const GateReport& report);
// The same in parts, one after the other: the text of many cases is never in memory as a whole.
// `threads` make the text of the cases (0: default_threads()); the caller's alone calls `write`.
void write_gate_json(const GateReport& report, const std::function<void(std::string_view)>& write,
                     int threads = 1);
std::string verdict_json(const Verdict& verdict);  // of one comparison
std::string gate_junit(const GateReport& report);

}  // namespace assay::report

namespace assay {
using report::gate_json;
using report::gate_junit;
using report::verdict_json;
using report::write_gate_json;
}  // namespace assay
