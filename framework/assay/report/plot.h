// Charts of pages. They use the page's own colour variables (report/page.h), for light and dark,
// and show the numbers in titles under the pointer. chart.h draws charts for separate files too.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace assay::report {

// The caller chooses the coordinates. For a logarithmic axis it passes logarithms, and ticks with
// the original values.
struct PlotTick {
  double at;
  std::string label;
};
struct PlotAxis {
  std::string label;
  double low = 0, high = 1;  // low < high
  std::vector<PlotTick> ticks = {};
};

struct PlotPoint {
  double x, y;  // no point if y is NaN, and the line is broken
  std::string title;
  double low = NAN, high = NAN;  // ends of the interval, NaN without one
  bool large = false;            // stands out from the others
};
struct PlotBar {
  double from, to, y;  // up to y from the axis
  std::string title;
};
struct PlotSeries {
  std::size_t color = 0;  // the page's series, from 0
  std::size_t run = 0;    // 0 is solid with filled marks, others are dashed with open marks
  bool faint = false;
  bool joined = true;  // lines join the points if true, open diamonds without lines if false
  std::vector<PlotPoint> points = {};
  std::vector<PlotBar> bars = {};
};

struct Plot {
  std::string title;  // shown above, and read to users who do not see the picture
  PlotAxis x, y;
  std::vector<PlotSeries> series = {};
  std::vector<PlotTick> lines = {};  // vertical lines at x, with a word at the top
};

// Returns a <figure>, as wide as its container. Points beyond an axis are drawn at its end. Every
// label has the space that it needs.
std::string plot_figure(const Plot& plot);
// Returns a sample of a series' line and mark, for a legend.
std::string plot_key(std::size_t color, std::size_t run, bool faint);
// Returns a bar for a rate from 0 to 1 in a table's cell, with its interval. NaN has no bar.
std::string rate_bar(double rate, double low, double high, std::size_t color, bool faint);

// CSS of all of these, for Page::style.
extern const char* const kPlotStyle;

}  // namespace assay::report
