// Studies: questions about arithmetic that the emulated operators answer. A study computes; what it
// found is data (tables, charts, findings) that report/study.h renders.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::study {

using StudyCell = std::variant<std::string, double, std::int64_t>;

struct StudyTable {
  std::string name;  // [a-z0-9_]+
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<StudyCell>> rows;  // a cell a column

  // Throws std::logic_error where the cells are not as many as the columns.
  void add(std::vector<StudyCell> row);
};

struct StudySeries {
  std::string name;
  std::vector<double> x, y;
};

enum class ChartKind : std::uint8_t { kLines, kBars };

struct StudyChart {
  std::string name;  // [a-z0-9_]+: of the picture's file
  std::string title, x_label, y_label;
  ChartKind kind = ChartKind::kLines;
  bool log_x = false, log_y = false;  // of positive values; others are left out
  std::vector<StudySeries> series;
  // Bars: what stands below them, in place of x.
  std::vector<std::string> labels = {};
};

// A statement, with the numbers that were seen, and whether they bear it out.
struct StudyFinding {
  bool holds;
  std::string text;
};

struct StudyResult {
  std::string name, question;
  std::vector<StudyTable> tables;
  std::vector<StudyChart> charts;
  std::vector<std::string> drawings;  // text as it is to be printed: summation trees
  std::vector<StudyFinding> findings;

  const StudyTable& table(std::string_view table_name) const;  // throws std::invalid_argument
};

struct StudyOptions {
  std::uint64_t seed = 1;
  std::int64_t repeats = 0;  // of a study's random experiments; 0: the study's own number
  int threads = 0;           // 0: default_threads()
};

struct Study {
  std::string_view name, summary;
  StudyResult (*run)(const StudyOptions&);
};

std::span<const Study> studies();
// Throws std::invalid_argument that names the word and the nearest known one.
const Study& study_named(std::string_view name);

StudyResult study_fma(const StudyOptions& options);
StudyResult study_reduction(const StudyOptions& options);
StudyResult study_fp8(const StudyOptions& options);
StudyResult study_accumulation_order(const StudyOptions& options);

// Equal bins over [low, high]: how many of the values lie in each (values beyond the ends in the
// end bins, NaN in none), as bars at the middles of the bins.
StudySeries histogram(const std::string& name, std::span<const double> values, double low,
                      double high, int bins);

}  // namespace assay::study
