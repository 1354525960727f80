// Where subcommands read cases from: options that say what open_cases.h cannot tell by itself.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/datasets/layouts/open_cases.h"
#include "assay/gate/case_report.h"
#include "tools.h"

namespace assay::tools {

// --layout, --table, --dtype, --golden-dtype, --shape, --golden-shape, --rows-are-cases, --pairs.
struct SourceOptions {
  std::string layout, table, dtype, golden_dtype, shape, golden_shape;
  bool rows_are_cases = false;
  std::vector<std::string> pairs;  // none, or the patterns of outputs and golden results
  void add(Context& context, CLI::App* command);
  void add_layout(Context& context, CLI::App* command);  // all but --pairs
  // For open_cases(). Throws std::invalid_argument on a shape that is none and an unknown layout.
  OpenOptions request(Side side) const;
  // Throws std::invalid_argument on an option that none of the sources, of these layouts, takes.
  // `reports_table`: the case table is written again, whatever the sources are.
  void check_used(const std::set<std::string>& of_layouts, bool reports_table = false) const;
  void check_used(const std::vector<OpenedCases>& sources,
                  const std::optional<OpenedCases>& outputs) const;
  // The options again, for a reproducer line; begins with a blank where there are any.
  std::string text() const;
};

// What opening said, for standard error: "note: ...", "no golden result: FILE",
// "no output: FILE" and "left out: ...", a line each.
std::string notes_text(const OpenedCases& opened);

// For FileOptions: whether cases that are read from a file, a folder, a glob or a pattern of
// --pairs take something from a file at `target`, now or in a later run: an array, a file beside it
// that says what it holds, a case table, a list of arrays.
bool source_reads(const std::string& source, const std::string& target);

// The verdicts as CSV. With a case table of TTK its rows as they are, with columns behind them:
// assay_outcome, assay_standard, assay_max_abs_error, assay_reason; of several outputs the worst.
// Without one, a row a case, by its name. Throws FileError where the table cannot be read.
std::string verdicts_csv(const GateReport& report, const std::string& table);

// "the first call that differs is ..." of a golden side that is a dump of msprobe; "" of another,
// and where all passed.
std::string first_call_note(const GateReport& report, const std::string& golden);

void add_pack(Context& context);
void add_unpack(Context& context);

std::string layouts_table();
std::string array_formats_table();

}  // namespace assay::tools
