// Writes results of a gate and of a comparison as JSON. wire/saved_results.h reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "assay/gate/case_report.h"

namespace assay::inline v0_2::wire {

// The metrics that a result file has for each verdict: only the main ones, or all with their
// histograms.
enum class JsonMetrics : std::uint8_t { kMain, kAll };

// Returns JSON of schema 2, documented in docs/json.md. NaN and infinity are the strings "nan",
// "inf" and "-inf".
std::string gate_json(const GateReport& report, JsonMetrics metrics = JsonMetrics::kMain);
// Writes the text of gate_json() in parts, so that the text of many cases is never in memory as a
// whole. `threads` threads build the text of the cases (0 means default_threads()). Only the
// caller's thread calls `write`.
void write_gate_json(const GateReport& report, const std::function<void(std::string_view)>& write,
                     int threads = 1, JsonMetrics metrics = JsonMetrics::kMain);
// Returns JSON of one comparison, with all of its metrics.
std::string verdict_json(const Verdict& verdict);

}  // namespace assay::wire

namespace assay::inline v0_2 {
using wire::gate_json;
using wire::JsonMetrics;
using wire::verdict_json;
using wire::write_gate_json;
}  // namespace assay
