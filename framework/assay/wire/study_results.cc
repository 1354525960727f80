#include "assay/wire/study_results.h"

#include "assay/wire/json.h"

namespace assay::inline v0_2::wire {
namespace {

Json cell_json(const study::StudyCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return *count;
  return number(std::get<double>(cell));
}

Json table_json(const study::StudyTable& table) {
  const auto cells_of = [](const auto& row) { return list_json(row, cell_json); };
  return {{"table", table.name},
          {"title", table.title},
          {"columns", table.columns},
          {"rows", list_json(table.rows, cells_of)}};
}

Json chart_json(const study::StudyChart& chart) {
  const auto points_of = [](const study::StudySeries& s) -> Json {
    return {{"name", s.name}, {"x", list_json(s.x, number)}, {"y", list_json(s.y, number)}};
  };
  return {{"chart", chart.name},    {"title", chart.title},
          {"x", chart.x_label},     {"y", chart.y_label},
          {"labels", chart.labels}, {"series", list_json(chart.series, points_of)}};
}

Json study_finding_json(const study::StudyFinding& f) {
  return {{"holds", f.holds}, {"finding", f.text}};
}

}  // namespace

std::string study_json(const study::StudyResult& result) {
  const Json all = {{"schema", 1},
                    {"study", result.name},
                    {"question", result.question},
                    {"findings", list_json(result.findings, study_finding_json)},
                    {"tables", list_json(result.tables, table_json)},
                    {"charts", list_json(result.charts, chart_json)},
                    {"drawings", result.drawings}};
  return dumped(all, 1);
}

}  // namespace assay::wire
