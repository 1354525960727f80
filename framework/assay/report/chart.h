// Pictures of numbers as SVG: the one way in which charts are drawn, in files and in pages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/study/study.h"

namespace assay::report {

// Returns a picture of 720 x 440: lines with a mark at each point, or groups of bars. Axes have
// ticks at round numbers, and there is a legend if there is more than one series. Values that are
// not finite, and values of 0 and below on a logarithmic axis, are left out.
std::string chart_svg(const study::StudyChart& chart);

// One horizontal bar for each row, from the left. The row's name is beside it unless there are too
// many rows.
struct RowsChart {
  struct Row {
    std::string label;
    double value;       // NaN has no bar, a value beyond the axis is a mark at its end
    std::string color;  // of CSS: "var(--fail)"
    std::string words;  // the value in its tooltip, behind the name
  };
  std::string title;
  bool logarithmic = false;
  std::vector<double> shown = {};     // values that the axis always shows
  std::optional<double> marked = {};  // value at which a line is drawn
  std::vector<Row> rows = {};
};
// As wide as the page, in the colours of its frame (report/page.h). Special characters of names are
// escaped, so that a browser runs nothing in them.
std::string rows_svg(const RowsChart& chart);

}  // namespace assay::report
