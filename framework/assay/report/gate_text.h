// Verdicts and gate reports as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/gate/case_report.h"

namespace assay::report {

// The failure text of one verdict: what differs in words, the worst elements with both values in
// decimal and in bits, the special values, the pattern of the misses, the tolerance that would
// pass, and the reproducer line where there is one. Several lines, no trailing newline.
std::string explain(const Verdict& verdict, const std::string& reproduce = "");
// What it is made of, for reports that lay it out themselves. An element outside its bound, in
// words; `bound` and `ulps` are empty where there is nothing to say.
struct MissWords {
  std::string index, actual, expected, error, bound = {}, ulps = {};
};
MissWords miss_words(const Verdict& verdict, const Miss& miss);
// A line behind the worst elements: "where: ", "all in row 3".
struct ExplanationLine {
  std::string_view label;
  std::string text;
};
std::string why_text(const Verdict& verdict);       // its first line
std::string worst_heading(const Verdict& verdict);  // "worst 5", or "which are" of all
std::vector<ExplanationLine> lines_of(
    const Verdict& verdict);  // all lines but these and `reproduce`
// The same of a check by checksums: the flagged rows or groups with D, T, D/T and z, the element
// where they cross, and the flip of one bit that explains it.
std::string explain(const AbftVerdict& verdict, const std::string& reproduce = "");

// The same of a case that could not be read.
std::string explain_error(const CaseReport& c);
// The same of a case that a baseline or a list of known failures speaks of: the remark, and the
// failure of its elements where there is one.
std::string explain_remark(const CaseReport& c);

// The standard of a bound, and where nothing was asked what chose it: "torch", "case's own",
// "accumulation (operator)", "triton_ascend (default)".
std::string standard_text(const Bound& bound);
// How much of the output the check is blind to, as a cell of a table: "0", "1.6 %"; "-" where that
// is not known.
std::string blind_cell(const Verdict& verdict);

// The sequences that colour text of a terminal here; the last one ends a colour.
inline constexpr std::string_view kPassColor = "\x1b[32m", kFailColor = "\x1b[31m",
                                  kWarnColor = "\x1b[33m", kNoColor = "\x1b[0m";
inline constexpr std::string_view kColors[] = {kPassColor, kFailColor, kWarnColor, kNoColor};

// One row a case, a line of totals, then the explanation of each case that did not pass, failures
// first (at most `explained`). Of more than 50 cases only those that did not pass have rows, and a
// line counts the others; `all`: every case has one. `color`: ANSI colours for the outcomes.
std::string gate_table(const GateReport& report, bool color, std::size_t explained = 5,
                       bool all = false);
// The line of totals: "300 cases: 292 pass, 7 fail, 1 untrusted".
std::string gate_line(const GateReport& report);

// "2 outputs without a golden case were not judged: a, b; --strict makes them not comparable".
std::string without_golden_text(const GateReport& report);

// The error metrics of two tensors as lines of text.
std::string metrics_text(const Verdict& verdict);

}  // namespace assay::report

namespace assay {
using report::explain;
using report::gate_line;
using report::gate_table;
using report::metrics_text;
}  // namespace assay
