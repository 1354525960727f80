#include "assay/wire/study_results.h"

#include "assay/wire/json.h"

namespace assay::wire {
namespace {

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

}  // namespace assay::wire
