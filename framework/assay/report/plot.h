// Charts of pages. They use the page's own colour variables (report/page.h), for light and dark,
// and show the numbers in titles under the pointer. chart.h draws charts for separate files too.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace assay::inline v0_2::report {

// A tick of an axis. The caller chooses the coordinates. For a logarithmic axis it passes the
// logarithm of a value as `at`, and the value itself as `label`.
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
  double x, y;  // if y is NaN, no point is drawn and the line is broken
  std::string title;
  double low = NAN, high = NAN;  // ends of the point's interval, or NaN if it has none
  bool large = false;            // true if the point stands out from the others
};
struct PlotBar {
  double from, to, y;  // the bar reaches from the axis to y
  std::string title;
};
struct PlotSeries {
  std::size_t color = 0;  // number of the series' colour, from 0
  // 0 draws a solid line with filled marks, other numbers a dashed line with open marks.
  std::size_t run = 0;
  bool faint = false;
  // True if lines join the points. If false, the points are open diamonds without lines.
  bool joined = true;
  std::vector<PlotPoint> points = {};
  std::vector<PlotBar> bars = {};
};

struct Plot {
  // The text above the picture, which is also read to users who do not see the picture.
  std::string title;
  PlotAxis x, y;
  std::vector<PlotSeries> series = {};
  std::vector<PlotTick> lines = {};  // vertical lines at `at`, with `label` at the top
};

// Returns a <figure>, as wide as its container. Points beyond an axis are drawn at its end. Every
// label has the space that it needs.
std::string plot_figure(const Plot& plot);
// Returns a sample of a series' line and mark, for a legend.
std::string plot_key(std::size_t color, std::size_t run, bool faint);
// Returns a bar for a rate from 0 to 1 in a table's cell, with its interval. NaN has no bar.
std::string rate_bar(double rate, double low, double high, std::size_t color, bool faint);

// CSS of the pictures and bars of this file, to be added to Page::style.
extern const char* const kPlotStyle;

}  // namespace assay::report
