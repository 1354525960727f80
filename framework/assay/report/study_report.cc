#include "assay/report/study_report.h"

#include <cmath>

#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/report/json_output.h"

namespace assay::report {
namespace {

// Five digits; a study gives what needs more as text.
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

Json cell_json(const study::StudyCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return *count;
  return number(std::get<double>(cell));
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double v : values) list.push_back(number(v));
  return list;
}

}  // namespace

std::string study_text(const study::StudyResult& result) {
  std::string out = result.question + "\n";
  for (const study::StudyTable& table : result.tables) {
    std::vector<std::vector<std::string>> lines = {table.columns};
    for (const auto& row : table.rows) {
      std::vector<std::string> cells;
      for (const study::StudyCell& cell : row) cells.push_back(cell_text(cell));
      lines.push_back(std::move(cells));
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

std::string study_json(const study::StudyResult& result) {
  Json tables = Json::array(), charts = Json::array(), findings = Json::array();
  for (const study::StudyTable& table : result.tables) {
    Json rows = Json::array();
    for (const auto& row : table.rows) {
      Json cells = Json::array();
      for (const study::StudyCell& cell : row) cells.push_back(cell_json(cell));
      rows.push_back(std::move(cells));
    }
    tables.push_back({{"table", table.name},
                      {"title", table.title},
                      {"columns", table.columns},
                      {"rows", std::move(rows)}});
  }
  for (const study::StudyChart& chart : result.charts) {
    Json series = Json::array();
    for (const study::StudySeries& s : chart.series) {
      series.push_back({{"name", s.name}, {"x", numbers(s.x)}, {"y", numbers(s.y)}});
    }
    charts.push_back({{"chart", chart.name},
                      {"title", chart.title},
                      {"x", chart.x_label},
                      {"y", chart.y_label},
                      {"labels", chart.labels},
                      {"series", std::move(series)}});
  }
  for (const study::StudyFinding& f : result.findings) {
    findings.push_back({{"holds", f.holds}, {"finding", f.text}});
  }
  const Json all = {{"schema", 1},
                    {"study", result.name},
                    {"question", result.question},
                    {"findings", std::move(findings)},
                    {"tables", std::move(tables)},
                    {"charts", std::move(charts)},
                    {"drawings", result.drawings}};
  return dumped(all, 1);
}

}  // namespace assay::report
