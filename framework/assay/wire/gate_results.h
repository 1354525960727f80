// Results of a gate and of a comparison as JSON: what writes them, and what reads them back.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/gate/case_report.h"

namespace assay {
struct SavedResult;  // assay/judge/regate.h
}

namespace assay::wire {

// Schema 1, documented in docs/json.md. NaN and infinity are the strings "nan", "inf", "-inf".
std::string gate_json(const GateReport& report);
// Writes the same in parts, one after the other, so that the text of many cases is never in memory
// as a whole. `threads` make the text of the cases (0 means default_threads()). Only the caller's
// thread calls `write`.
void write_gate_json(const GateReport& report, const std::function<void(std::string_view)>& write,
                     int threads = 1);
std::string verdict_json(const Verdict& verdict);  // of one comparison

// The comparisons of a result file of schema 1, in its order. Throws std::invalid_argument that
// names the case and what is wrong where the text is no such file.
std::vector<SavedResult> read_results(std::string_view text);

}  // namespace assay::wire

namespace assay {
using wire::gate_json;
using wire::verdict_json;
using wire::write_gate_json;
}  // namespace assay
