#include "assay/report/study_report.h"

#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2::report {
namespace {

// Numbers have five digits. A study passes a value that needs more digits as text.
std::string cell_text(const study::StudyCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return grouped(*count);
  return short_number(std::get<double>(cell), 5);
}

std::string exact_text(const study::StudyCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return formatted("{}", *count);
  return number_text(std::get<double>(cell));
}

}  // namespace

std::string study_text(const study::StudyResult& result) {
  std::string out = result.question + "\n";
  for (const study::StudyTable& table : result.tables) {
    std::vector<std::vector<std::string>> lines = {table.columns};
    for (const auto& row : table.rows) {
      lines.push_back(names_of(row, cell_text));
    }
    out += "\n" + table.title + "\n" + columns_text(lines);
  }
  for (const std::string& drawing : result.drawings) out += "\n" + drawing;
  out += "\nFindings:\n";
  for (const study::StudyFinding& finding : result.findings) {
    out += formatted("  {}  {}\n", finding.holds ? "yes" : "NO ", finding.text);
  }
  return out;
}

std::string study_csv(const study::StudyTable& table) {
  std::string out;
  const auto line = [&](const auto& cells, const auto& text) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += ',';
      out += csv_cell(printable_lines(text(cells[i])));
    }
    out += "\n";
  };
  line(table.columns, [](const std::string& name) { return name; });
  for (const auto& row : table.rows) line(row, exact_text);
  return out;
}

}  // namespace assay::report
