// Renders verdicts as text, JSON, JUnit and HTML. Computes nothing.
#pragma once

#include <string>
#include <vector>

#include "assay/gate/case_report.h"

namespace assay {

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

// How many mutations were applied, and how many of them caught.
struct MutationScore {
  std::int64_t applied = 0, caught = 0;
  double fraction() const;
};
MutationScore mutation_score(const GateReport& report);
// One row a mutation: to how many outputs it was applied, how many of those the elementwise
// standard and the checksums saw, and which cases the gate would have let through.
std::string mutation_table(const GateReport& report);

// The error metrics of two tensors as lines of text.
std::string metrics_text(const Verdict& verdict);

// Schema 1, documented in docs/json.md. NaN and infinity are the strings "nan", "inf", "-inf".
std::string gate_json(const GateReport& report);
std::string verdict_json(const Verdict& verdict);  // of one comparison
std::string gate_junit(const GateReport& report);
// One self-contained page, no network.
std::string gate_html(const GateReport& report);

}  // namespace assay
