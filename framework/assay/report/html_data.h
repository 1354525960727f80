// The rows of a gate report's page, and the details of rows that did not pass, as the JSON that the
// page's script reads (report/html_script.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "assay/gate/case_report.h"

namespace assay::inline v0_2::report {

// The largest number of rows whose explanation is in the page. These are the first rows that did
// not pass. The results of `--json` have all explanations.
inline constexpr std::size_t kExplainedRows = 20000;

// Error metrics that are columns of the page, by their names.
inline constexpr std::string_view kMetricColumns[] = {"max_abs_error", "max_ulp", "snr_db"};

// Returns {"several_files", "metrics": [heading of a column, ...], "strings": [...], "rows":
// [[...], ...], "details": [{...}, ...]}. A row is a verdict of an output of a case, or of its
// checksums. It has the numbers of strings, except for its last three entries, which html_data.cc
// names. Strings are numbered in natural order, so that numbers sort as texts do.
std::string gate_data_json(const GateReport& report);

}  // namespace assay::report
