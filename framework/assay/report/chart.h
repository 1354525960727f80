// Pictures of numbers as SVG: the one way in which charts are drawn, in files and in pages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/study/study.h"

namespace assay::report {

// A picture of 720 x 440: lines with a mark at each point, or groups of bars; axes with ticks at
// round numbers, a legend where there is more than one series. What has no place on a logarithmic
// axis (0, negative) and what is not finite is left out.
std::string chart_svg(const study::StudyChart& chart);

// A bar a row, from the left, with its name beside it where the rows are not too many.
struct RowsChart {
  struct Row {
    std::string label;
    double value;       // NaN has no bar; what the axis cannot show is a mark at its end
    std::string color;  // of CSS: "var(--fail)"
    std::string words;  // the value as its tooltip says it, behind the name
  };
  std::string title;
  bool logarithmic = false;
  std::vector<double> shown = {};     // that the axis shows whatever the rows are
  std::optional<double> marked = {};  // where a line is drawn
  std::vector<Row> rows = {};
};
// As wide as the page, in the colours of its frame (report/page.h); a name's characters are
// escaped, so that nothing of it runs.
std::string rows_svg(const RowsChart& chart);

}  // namespace assay::report
