// Verdicts and gate reports as text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "assay/gate/case_report.h"

namespace assay::inline v0_2::report {

// Returns the failure text of one verdict: the difference in words, the worst elements with both
// values in decimal and in bits, the special values and the pattern of the mismatches. It ends with
// the tolerance that would pass, and the reproducer line if there is one. The text has several
// lines and no line end at its end.
std::string explain(const Verdict& verdict, const std::string& reproduce = "");
// The parts of the text that explain() returns, for reports with another layout. MismatchWords
// describes an element outside its bound. `bound` and `ulps` are empty if they do not apply.
struct MismatchWords {
  std::string index, actual, expected, error, bound = {}, ulps = {};
};
// Returns the words for one mismatch of the verdict.
MismatchWords mismatch_words(const Verdict& verdict, const Mismatch& mismatch);
// A line after the worst elements, with a label such as "where: " and a text such as "all in row
// 3".
struct ExplanationLine {
  std::string_view label;
  std::string text;
};
std::string why_text(const Verdict& verdict);  // its first line
// Returns the heading of the worst elements: "worst 5", or "which are" if all are listed.
std::string worst_heading(const Verdict& verdict);
// Returns the lines of explain() that follow the worst elements, without the line `reproduce`.
std::vector<ExplanationLine> lines_of(const Verdict& verdict);
// Returns the failure text of a check by checksums: the flagged rows or groups with the difference
// D, the threshold T, D/T and z, the element at which flagged rows and columns cross, and the
// single bit flip that explains it.
std::string explain(const AbftVerdict& verdict, const std::string& reproduce = "");

// Returns the failure text of a case that could not be read.
std::string explain_error(const CaseReport& c);
// Returns the failure text of a case that is in a baseline or a list of known failures: the remark,
// and the failure of its elements if there is one.
std::string explain_remark(const CaseReport& c);

// Returns the text of what decides a case: why it could not be read, its remark, or the failure
// text of the verdict or the checksums.
std::string explain(const CaseReport& c);

// Returns the standard of a bound. If the user chose none, the text also has its origin: "torch",
// "case's own", "accumulation (operator)", "triton_ascend (default)".
std::string standard_text(const Bound& bound);
// Returns the share of the output to which the check is blind, for a cell of a table: "0", "1.6 %",
// or "-" if it is not known.
std::string blind_cell(const Verdict& verdict);

// The escape sequences that colour text in a terminal. The last one ends a colour.
inline constexpr std::string_view kPassColor = "\x1b[32m", kFailColor = "\x1b[31m",
                                  kWarnColor = "\x1b[33m", kNoColor = "\x1b[0m";
inline constexpr std::string_view kColors[] = {kPassColor, kFailColor, kWarnColor, kNoColor};

// Names of the options or parameters with which the caller's users get more than a text shows. A
// text does not mention those that are empty.
struct OptionNames {
  std::string all = {};     // lists every case
  std::string strict = {};  // makes outputs without a golden result not comparable
};

// Returns one row for each case, a line of totals, then the explanation of each case that did not
// pass, failures first (at most `explained`). If there are more than 50 cases, only those that did
// not pass have rows, and a line counts the others. With `all`, every case has a row. `color` adds
// ANSI colours to the outcomes.
std::string gate_table(const GateReport& report, bool color, std::size_t explained = 5,
                       bool all = false, const OptionNames& options = {});
// Returns the line of totals: "300 cases: 292 pass, 7 fail, 1 untrusted".
std::string gate_line(const GateReport& report);

// Returns "2 outputs without a golden result were not judged: a, b". If `strict` names an option,
// "; STRICT makes them not comparable" follows.
std::string without_golden_text(const GateReport& report, const std::string& strict = "");

// Returns the error metrics of two tensors as lines of text.
std::string metrics_text(const Verdict& verdict);

}  // namespace assay::report

namespace assay::inline v0_2 {
using report::explain;
using report::gate_line;
using report::gate_table;
using report::metrics_text;
}  // namespace assay
