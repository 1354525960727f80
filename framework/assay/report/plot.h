// Charts of pages: coloured by the page's own variables (report/page.h), for light and dark, with
// titles that say the numbers where the pointer rests. chart.h draws what also stands alone.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace assay::report {

// Coordinates are the caller's: a logarithmic axis gives logarithms, and ticks that say so.
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
  double x, y;  // y NaN: none there, and the line is broken
  std::string title;
  double low = NAN, high = NAN;  // of its interval; NaN: none
  bool large = false;            // stands out from the others
};
struct PlotBar {
  double from, to, y;  // up to y from the axis
  std::string title;
};
struct PlotSeries {
  std::size_t color = 0;  // the page's series, from 0
  std::size_t run = 0;    // 0: solid, filled marks; others are dashed, their marks open
  bool faint = false;
  bool joined = true;  // points by lines; else open diamonds that stand alone
  std::vector<PlotPoint> points = {};
  std::vector<PlotBar> bars = {};
};

struct Plot {
  std::string title;  // said above, and to readers that do not see the picture
  PlotAxis x, y;
  std::vector<PlotSeries> series = {};
  std::vector<PlotTick> lines = {};  // across the picture at x, with a word at the top
};

// <figure>, as wide as its place. What lies outside of an axis is drawn at its end; every label has
// the room that it needs.
std::string plot_figure(const Plot& plot);
// A sample of a series' line and mark, for a legend.
std::string plot_key(std::size_t color, std::size_t run, bool faint);
// A rate from 0 to 1 as a bar in a table's cell, with its interval; NaN: none.
std::string rate_bar(double rate, double low, double high, std::size_t color, bool faint);

// CSS of all of these, for Page::style.
extern const char* const kPlotStyle;

}  // namespace assay::report
