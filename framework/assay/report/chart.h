// Pictures of numbers as SVG: the one way in which charts are drawn, in files and in pages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/study/study.h"

namespace assay::inline v0_2::report {

// Returns a picture of 720 x 440: lines with a mark at each point, or groups of bars. Axes have
// ticks at round numbers, and there is a legend if there is more than one series. Values that are
// not finite, and values of 0 and below on a logarithmic axis, are left out.
std::string chart_svg(const study::StudyChart& chart);

// A chart with one horizontal bar for each row, from the left. The row's name is beside its bar
// unless there are too many rows.
struct RowsChart {
  struct Row {
    std::string label;
    // A NaN has no bar. A value beyond the axis has a mark at the end of the axis.
    double value;
    std::string color;  // CSS colour of the bar: "var(--fail)"
    std::string words;  // the text in the bar's tooltip after the name, which gives the value
  };
  std::string title;
  bool logarithmic = false;
  std::vector<double> shown = {};     // values that the axis always shows
  std::optional<double> marked = {};  // a line is drawn across the chart at this value
  std::vector<Row> rows = {};
};
// Returns the chart as SVG. It is as wide as the page, in the colours of the page's frame
// (report/page.h). Special characters of names are escaped, so that a browser runs nothing in them.
std::string rows_svg(const RowsChart& chart);

}  // namespace assay::report
