// Verdicts and gate reports as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "assay/gate/case_report.h"

namespace assay::report {

// The failure text of one verdict: what differs in words, the worst elements with both values in
// decimal and in bits, the special values, the pattern of the misses, the tolerance that would
// pass, and the reproducer line where there is one. Several lines, no trailing newline.
std::string explain(const Verdict& verdict, const std::string& reproduce = "");
// The same of a check by checksums: the flagged rows or groups with D, T, D/T and z, the element
// where they cross, and the flip of one bit that explains it.
std::string explain(const AbftVerdict& verdict, const std::string& reproduce = "");

// One row a case, a line of totals, then the explanation of each case that did not pass (at most
// `explained`). `color`: ANSI colours for the outcomes.
std::string gate_table(const GateReport& report, bool color, std::size_t explained = 5);

// "2 outputs without a golden case were not judged: a, b; --strict makes them not comparable".
std::string without_golden_text(const GateReport& report);

// The error metrics of two tensors as lines of text.
std::string metrics_text(const Verdict& verdict);

}  // namespace assay::report

namespace assay {
using report::explain;
using report::gate_table;
using report::metrics_text;
}  // namespace assay
