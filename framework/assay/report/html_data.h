// The rows of a gate report's page, and what is behind those that did not pass, as the JSON that
// the page's script reads (report/html_script.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "assay/gate/case_report.h"

namespace assay::report {

// Rows that did not pass and have their explanation in the page, the first ones; `--json` has all.
inline constexpr std::size_t kExplainedRows = 20000;

// Error metrics that are columns of the page, by their names.
inline constexpr std::string_view kMetricColumns[] = {"max_abs_error", "max_ulp", "snr_db"};

// {"several_files", "metrics": [heading of a column, ...], "strings": [...], "rows": [[...], ...],
// "details": [{...}, ...]}. A row is a verdict of an output of a case, the checksums' too: numbers
// of strings, but for the last three (html_data.cc names them). Strings are numbered in natural
// order, so that numbers sort as texts do.
std::string gate_data_json(const GateReport& report);

}  // namespace assay::report
