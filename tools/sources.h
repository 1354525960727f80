// The options of subcommands that read cases. They say what open_cases.h cannot find out.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/datasets/layouts/open_cases.h"
#include "assay/gate/case_report.h"
#include "tools.h"

namespace assay::inline v0_2::tools {

// The values of --layout, --table, --dtype, --golden-dtype, --shape, --golden-shape,
// --rows-are-cases and --pairs.
struct SourceOptions {
  std::string layout, table, dtype, golden_dtype, shape, golden_shape;
  bool rows_are_cases = false;
  std::vector<std::string> pairs;  // the patterns of outputs and of golden results, or empty
  void add(Context& context, CLI::App* command);
  void add_layout(Context& context, CLI::App* command);  // all but --pairs
  // Returns the options for open_cases(). Throws Refusal if a shape is not valid or the layout is
  // unknown.
  OpenOptions request(Side side) const;
  // Throws Refusal if an option is given that none of the sources, with these
  // layouts, uses. `reports_table` is true if the case table is written again, whatever the sources
  // are.
  void check_used(const std::set<std::string>& of_layouts, bool reports_table = false) const;
  void check_used(const std::vector<OpenedCases>& sources,
                  const std::optional<OpenedCases>& outputs) const;
  // Returns the options for a reproducer line, with a blank in front unless the text is empty.
  std::string text() const;
};

// Returns the shape that the value of an option says. Throws Refusal, which names the option, if
// the value is no shape.
Shape parse_shape(const std::string& option, const std::string& text);

// Returns the messages from opening, for standard error: "note: ...", "no golden result: FILE", "no
// output: FILE" and "left out: ...", one on each line.
std::string notes_text(const OpenedCases& opened);

// For FileOptions. `source` is a file, a folder, a glob or a pattern of --pairs. Returns true if
// its cases need a file at `target`, now or in a later run. That file may be an array, a file
// beside an array that describes it, a case table, or a list of arrays.
bool source_reads(const std::string& source, const std::string& target);

// Returns the verdicts as CSV. With a case table of TTK these are its rows unchanged, followed by
// the columns assay_outcome, assay_standard, assay_max_abs_error and assay_reason. For several
// outputs the worst one is shown. Without a table there is one row for each case, by its name.
// Throws FileError if the table cannot be read.
std::string verdicts_csv(const GateReport& report, const std::string& table);

// Returns "the first call that differs is ..." if the golden side is a dump of msprobe. Returns an
// empty string for other layouts, and if all cases passed.
std::string first_call_note(const GateReport& report, const std::string& golden);

void add_pack(Context& context);
void add_unpack(Context& context);

std::string layouts_table();
std::string array_formats_table();

}  // namespace assay::tools
