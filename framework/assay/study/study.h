// Studies: questions about arithmetic that are answered by running the emulated operators. A study
// only computes. Its result is data: tables, charts, drawings and findings. report/study_report.h
// writes them as text, CSV, JSON and pictures.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "assay/base/text.h"

namespace assay::inline v0_2::study {

using StudyCell = std::variant<std::string, double, std::int64_t>;

struct StudyTable {
  // The name of the table's file if it is written to one. It has only the characters [a-z0-9_].
  std::string name;
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<StudyCell>> rows = {};  // each row has one cell for each column

  // Throws std::logic_error if the number of cells in the row is not the number of columns.
  void add(std::vector<StudyCell> row);
};

// One line of a chart, or one set of its bars: y[i] is drawn at x[i].
struct StudySeries {
  std::string name;
  std::vector<double> x = {}, y = {};

  void add(double at, double value) {
    x.push_back(at);
    y.push_back(value);
  }
};

enum class ChartKind : std::uint8_t { kLines, kBars };

struct StudyChart {
  std::string name;  // the name of the picture's file, which has only the characters [a-z0-9_]
  std::string title, x_label, y_label;
  ChartKind kind = ChartKind::kLines;
  // True for a logarithmic axis. It leaves out values that are not positive.
  bool log_x = false, log_y = false;
  std::vector<StudySeries> series = {};
  std::vector<std::string> labels = {};  // the text below each bar, instead of x
};

// A statement with the numbers that were seen. `holds` is true if these numbers support it.
struct StudyFinding {
  bool holds;
  std::string text;
};

// Returns a value in the form in which findings show it: a double as a short_number(), and others
// unchanged.
template <typename T>
auto shown(const T& value) {
  if constexpr (std::is_same_v<T, double>) {
    return short_number(value);
  } else {
    return value;
  }
}

struct StudyResult {
  std::string name, question;
  std::vector<StudyTable> tables = {};
  std::vector<StudyChart> charts = {};
  std::vector<std::string> drawings = {};  // summation trees, as text that is ready to be printed
  std::vector<StudyFinding> findings = {};

  // Adds a finding with formatted text.
  template <typename... T>
  void found(bool holds, fmt::format_string<decltype(shown(std::declval<const T&>()))...> text,
             const T&... values) {
    findings.push_back({holds, fmt::format(text, shown(values)...)});
  }
  // Throws Refusal if the study has no table of this name.
  const StudyTable& table(std::string_view table_name) const;
};

struct StudyOptions {
  std::uint64_t seed = 1;  // seed of the random numbers, which determines the result
  // Number of repeats of each random experiment. 0 means the study's default.
  std::int64_t repeats = 0;
  // Number of threads. 0 means default_threads(). The result does not depend on it.
  int threads = 0;
};

// One row of the table of studies.
struct Study {
  std::string_view name, summary;
  StudyResult (*run)(const StudyOptions&);
};

std::span<const Study> studies();
// Returns the study with this name. Throws Refusal, which names the word and the nearest known
// name, if no study has it.
const Study& study_named(std::string_view name);

// Counts the values in `bins` equal bins over [low, high], as bars at the middles of the bins.
// Values beyond an end are counted in the bin at that end. NaN is not counted.
StudySeries histogram(const std::string& name, std::span<const double> values, double low,
                      double high, int bins);

}  // namespace assay::study
