#include "sources.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/arrays/folder.h"
#include "assay/datasets/arrays/raw_file.h"
#include "assay/datasets/layouts/array_cases.h"
#include "assay/datasets/layouts/csv.h"
#include "assay/datasets/layouts/msprobe_folder.h"
#include "assay/datasets/layouts/pairs.h"
#include "assay/datasets/layouts/ttk_table.h"
#include "assay/datasets/layouts/unpacked_folder.h"
#include "assay/tensor/read_shape.h"

namespace assay::inline v0_2::tools {
namespace {

namespace fs = std::filesystem;

std::optional<Shape> shape_of(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  Shape shape = parse_shape(option, text);
  (void)element_count(shape);
  return shape;
}

// Returns a case table and the files that its rows name.
std::vector<std::string> files_of_table(const std::string& path) {
  std::vector<std::string> files = {path};
  try {
    const fs::path folder = fs::path(path).parent_path();
    for (const TtkCase& row : read_ttk_table(path).cases) {
      for (const auto* named : {&row.input_files, &row.golden_files, &row.xpu_files}) {
        for (const std::string& file : *named) {
          if (file.empty()) continue;
          files.push_back((folder / file).string());
          files.push_back(file);
        }
      }
    }
  } catch (const std::exception&) {
    // Errors in a table are reported later, when it is really used.
  }
  return files;
}

}  // namespace

Shape parse_shape(const std::string& option, const std::string& text) {
  std::optional<Shape> shape = read_shape(text, ',');
  if (!shape) {
    refuse("{} '{}': sizes joined by commas are needed, such as 64,512, or scalar", option, text);
  }
  return std::move(*shape);
}

void SourceOptions::add_layout(Context& context, CLI::App* command) {
  context.add_option(command, "--layout", layout,
                     "Layout of the folder or file (see `assay list layouts`). By default it is "
                     "found from the content.");
  context.files
      .input(context.add_option(command, "--table", table, "Case table of TTK (CSV)."),
             files_of_table)
      ->type_name("FILE");
  context.add_option(command, "--dtype", dtype, "Dtype of outputs whose file does not give it.");
  context.add_option(command, "--golden-dtype", golden_dtype,
                     "Dtype of golden results and inputs whose file does not give it.");
  context.add_option(command, "--shape", shape,
                     "Shape of outputs whose file does not give it, such as 64,512.");
  context.add_option(command, "--golden-shape", golden_shape,
                     "Shape of golden results whose file does not give it.");
  context.add_flag(command, "--rows-are-cases", rows_are_cases,
                   "Treat every row of the arrays as a case: NAME/0, NAME/1 and so on.");
}

void SourceOptions::add(Context& context, CLI::App* command) {
  add_layout(context, command);
  context
      .add_option(
          command, "--pairs", pairs,
          "Patterns of the outputs and of the golden results, such as 'out/*_output_{i}.bin' "
          "'gold/*_golden_{i}.bin'. '*' and {i} stand for the same text on both sides.")
      ->expected(2);
}

OpenOptions SourceOptions::request(Side side) const {
  OpenOptions request;
  if (!layout.empty()) (void)row_named("layout", layouts(), layout);
  request.layout = layout;
  request.side = side;
  request.dtype = dtype;
  request.golden_dtype = golden_dtype;
  for (const std::string& named : {dtype, golden_dtype}) {
    if (!named.empty()) (void)format_named(named);
  }
  request.shape = shape_of(shape, "--shape");
  request.golden_shape = shape_of(golden_shape, "--golden-shape");
  request.table = table;
  if (rows_are_cases) request.rows_are_cases = true;
  return request;
}

void SourceOptions::check_used(const std::set<std::string>& of_layouts, bool reports_table) const {
  if (of_layouts.empty()) return;
  // `of_layouts` may contain "pairs" (open_pairs), which is not in the table of layouts.
  const auto is_given = [&](const Layout& row) {
    return of_layouts.count(std::string(row.name)) > 0;
  };
  std::vector<std::string> with_table;
  bool takes_table = reports_table;
  std::size_t saying = 0;
  for (const Layout& row : layouts()) {
    if (row.has_table) with_table.emplace_back(row.name);
    takes_table = takes_table || (row.has_table && is_given(row));
    if (row.has_dtypes && is_given(row)) ++saying;
  }
  if (!table.empty() && !takes_table) {
    refuse("--table {}: only layouts of TTK ({}) have a case table, but the layout is {}", table,
           joined(with_table),
           joined(std::vector<std::string>(of_layouts.begin(), of_layouts.end())));
  }
  const bool all_say = saying == of_layouts.size();
  for (const auto& [option, value] : {std::pair("--dtype", &dtype),
                                      {"--golden-dtype", &golden_dtype},
                                      {"--shape", &shape},
                                      {"--golden-shape", &golden_shape}}) {
    if (value->empty() || !all_say) continue;
    refuse(
        "{} {} is not used, because a dataset file gives the dtype and shape of each array; leave "
        "it out",
        option, *value);
  }
}

void SourceOptions::check_used(const std::vector<OpenedCases>& sources,
                               const std::optional<OpenedCases>& outputs) const {
  std::set<std::string> of_layouts;
  for (const OpenedCases& source : sources) of_layouts.insert(source.layout);
  if (outputs) of_layouts.insert(outputs->layout);
  check_used(of_layouts);
}

std::string SourceOptions::text() const {
  std::string out;
  for (const auto& [option, value] :
       {std::pair("--layout", &layout), std::pair("--table", &table), std::pair("--dtype", &dtype),
        std::pair("--golden-dtype", &golden_dtype), std::pair("--shape", &shape),
        std::pair("--golden-shape", &golden_shape)}) {
    out += option_text(option, *value);
  }
  if (rows_are_cases) out += " --rows-are-cases";
  if (pairs.size() == 2) {
    out += formatted(" --pairs {} {}", shell_word(pairs[0]), shell_word(pairs[1]));
  }
  return out;
}

std::string notes_text(const OpenedCases& opened) {
  std::string out;
  const auto add = [&](std::string_view label, const std::string& text) {
    out += formatted("{}: {}\n", label, printable_sentence(text));
  };
  const std::string& path = opened.cases->path();
  for (const std::string& note : opened.notes) add("note", formatted("{}: {}", path, note));
  const auto add_all = [&](std::string_view label, const std::vector<std::string>& texts) {
    constexpr std::size_t kMost = 5;
    const std::size_t shown = texts.size() <= kMost ? texts.size() : 1;
    for (std::size_t i = 0; i < shown; ++i) {
      const std::size_t more = texts.size() - shown;
      add(label, more == 0 ? texts[i] : formatted("{} (and {} more)", texts[i], more));
    }
  };
  add_all("no golden result", opened.without_golden);
  add_all("no output", opened.without_output);
  add_all("left out", opened.left_out);
  return out;
}

namespace {

// Returns true if a folder of arrays, of any layout, would read a file of this name.
bool folder_reads(const std::string& folder, const std::string& target) {
  const std::string name = last_name(target);
  if (is_array_file(name) || name == "dump.json" || name == "assay_cases.json") return true;
  // The list in an unpacked folder may name any files.
  if (is_unpacked(folder) && is_file(target)) return true;
  for (const char* ending : {".h5", ".hdf5", ".csv"}) {
    if (name.ends_with(ending)) return true;
  }
  // A folder also reads "x.bin.json", because it describes x.bin.
  const std::string of = name.substr(0, name.rfind(".json"));
  return is_array_file(of) && file_beside(of) == name;
}

bool pattern_matches(const std::string& pattern, const std::string& target) {
  try {
    const auto absolute = [](const std::string& path) {
      return fs::absolute(path).lexically_normal().generic_string();
    };
    return NamePattern(absolute(pattern)).match(absolute(target)).has_value();
  } catch (const std::exception&) {
    return false;  // the error in the pattern is reported when the command uses it
  }
}

}  // namespace

bool source_reads(const std::string& source, const std::string& target) {
  if (is_folder(source)) return lies_in(source, target) && folder_reads(source, target);
  if (is_file(source) || source.find_first_of("*?{") == std::string::npos) {
    const std::string file = array_file(source);
    return same_place(file, target) || same_place(file_beside(file), target);
  }
  if (pattern_matches(source, target)) return true;
  try {
    const std::vector<std::string> found = files_matching(source);
    return std::ranges::any_of(
        found, [&](const std::string& match) { return source_reads(match, target); });
  } catch (const std::exception&) {
    return false;
  }
}

namespace {

// Returns the worst verdict of the outputs of a case, as cells. They are empty if there is no
// verdict.
std::vector<std::string> verdict_cells(const std::vector<const CaseReport*>& outputs) {
  const CaseReport* worst = nullptr;
  const auto badness = [](const CaseReport& c) {
    return c.error.empty() ? c.outcome() == Outcome::kPass ? 0 : 1 : 2;
  };
  for (const CaseReport* c : outputs) {
    if (worst == nullptr || badness(*c) > badness(*worst)) worst = c;
  }
  if (worst == nullptr) return {"", "", "", ""};
  if (!worst->error.empty()) return {"error", "", "", worst->error};
  const Verdict* verdict = nullptr;
  for (const Verdict& v : worst->verdicts) {
    if (verdict == nullptr || verdict->outcome == Outcome::kPass) verdict = &v;
  }
  std::vector<std::string> cells = {std::string(outcome_word(worst->outcome())), "", "", ""};
  if (verdict == nullptr) return cells;
  cells[1] = verdict->bound.standard;
  if (verdict->metrics) cells[2] = number_text(verdict->metrics->max_abs_error);
  if (verdict->outcome != Outcome::kPass) cells[3] = verdict->because;
  return cells;
}

}  // namespace

std::string verdicts_csv(const GateReport& report, const std::string& table) {
  // The rows of a case table have the names that the user gave the cases. So with a table, cases
  // are looked up by CaseReport::given_name().
  std::map<std::string, std::vector<const CaseReport*>> by_name;
  for (const CaseReport& c : report.cases) {
    by_name[table.empty() ? c.name : c.given_name()].push_back(&c);
  }
  CsvTable rows;
  if (table.empty()) {
    rows.header = {"testcase_name"};
    for (const auto& [name, outputs] : by_name) rows.rows.push_back({0, {name}});
  } else {
    rows = read_csv(table);
  }
  const int column = rows.column("testcase_name");
  if (column < 0) throw FileError(table, "line 1", "has no column testcase_name");
  std::vector<std::string> header = rows.header;
  header.insert(header.end(),
                {"assay_outcome", "assay_standard", "assay_max_abs_error", "assay_reason"});
  const auto line = [](std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = printable_lines(cell);
    return csv_line(cells);
  };
  std::string out = line(header);
  for (const CsvRow& row : rows.rows) {
    const std::string& name = row.cells[static_cast<std::size_t>(column)];
    const auto found = by_name.find(name);
    std::vector<std::string> cells = row.cells;
    for (std::string& cell :
         verdict_cells(found == by_name.end() ? std::vector<const CaseReport*>{} : found->second)) {
      cells.push_back(std::move(cell));
    }
    out += line(cells);
  }
  return out;
}

std::string first_call_note(const GateReport& report, const std::string& golden) {
  if (!is_msprobe(golden)) return "";
  std::vector<std::string> not_passed;
  for (const CaseReport& c : report.cases) {
    if (c.outcome() != Outcome::kPass || !c.error.empty()) not_passed.push_back(c.name);
  }
  if (not_passed.empty()) return "";
  return first_call_text(open_cases(golden, {.layout = "msprobe"}).order, not_passed);
}

std::string layouts_table() {
  std::vector<std::vector<std::string>> rows = {
      {"layout", "content", "example: assay gate, in datasets/interop"}};
  for (const Layout& layout : layouts()) {
    rows.push_back(
        {std::string(layout.name), std::string(layout.what), std::string(layout.example)});
  }
  return columns_text(rows) +
         "\nThe layout is found from the content in this order, or given by --layout. --pairs "
         "pairs other names.\n";
}

std::string array_formats_table() {
  std::vector<std::vector<std::string>> rows = {
      {"format", "endings", "example", "content", "dtypes that can be written"}};
  for (const ArrayFormat& f : array_formats()) {
    const std::string written = f.write == nullptr ? "none"
                                : f.dtypes.empty() ? std::string(f.written)
                                                   : dtypes_of(f.dtypes);
    rows.push_back({std::string(f.name),
                    joined(std::vector<std::string>(f.endings.begin(), f.endings.end())),
                    std::string(f.example), std::string(f.reads), written});
  }
  return columns_text(rows);
}

}  // namespace assay::tools
