#include "assay/report/chart.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "assay/base/text.h"
#include "assay/report/escape.h"

namespace assay::inline v0_2::report {
namespace {

constexpr double kWidth = 720, kHeight = 440;
constexpr double kLeft = 78, kRight = 20, kTop = 44;
// Okabe and Ito's colours, which most readers can tell apart.
constexpr const char* kColors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#e69f00", "#56b4e9", "#000000"};

std::string color_of(std::size_t i) { return kColors[i % std::size(kColors)]; }

// Returns a coordinate as text, rounded to tenths of a pixel.
std::string at(double v) { return formatted("{:.1f}", v); }

// One axis: the range of values that it shows, and their positions.
class Axis {
 public:
  Axis(bool logarithmic, double from, double to) : log_(logarithmic), from_(from), to_(to) {}

  bool shows(double v) const { return std::isfinite(v) && (!log_ || v > 0); }

  void include(double v) {
    if (!shows(v)) return;
    low_ = std::min(low_, v);
    high_ = std::max(high_, v);
  }

  // Computes the ticks, and rounds the ends of the axis outwards to ticks. If `round_ends` is
  // false, as for the x axis of bars, a linear axis keeps its ends.
  void settle(bool round_ends) {
    if (!(low_ <= high_)) low_ = high_ = 1;
    if (log_) {
      const double first = std::floor(std::log10(low_)), last = std::ceil(std::log10(high_));
      low_ = first;
      high_ = std::max(last, first + 1);
      const double step = std::ceil((high_ - low_) / 8);
      const int steps = static_cast<int>((high_ - low_) / step);
      for (int i = 0; i <= steps; ++i) ticks_.push_back(std::pow(10.0, low_ + i * step));
      return;
    }
    if (low_ == high_) high_ = low_ + 1;
    const double rough = (high_ - low_) / 6, power = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double round : {5.0, 2.0, 1.0}) {
      if (round * power >= rough) step = round * power;
    }
    const double first = std::floor(low_ / step + 1e-9), last = std::ceil(high_ / step - 1e-9);
    if (round_ends) {
      low_ = first * step;
      high_ = last * step;
    }
    for (int i = 0; i <= static_cast<int>(last - first); ++i) {
      const double tick = (first + i) * step;
      if (tick >= low_ - 1e-9 * step && tick <= high_ + 1e-9 * step) ticks_.push_back(tick);
    }
  }

  const std::vector<double>& ticks() const { return ticks_; }
  double place(double v) const {
    const double number = log_ ? std::log10(v) : v;
    return from_ + (to_ - from_) * std::clamp((number - low_) / (high_ - low_), 0.0, 1.0);
  }
  double start() const { return from_; }

 private:
  bool log_;
  double from_, to_, low_ = HUGE_VAL, high_ = -HUGE_VAL;
  std::vector<double> ticks_;
};

std::string text(double x, double y, const char* anchor, const std::string& words,
                 const std::string& more = "") {
  return formatted("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", at(x), at(y), anchor,
                   more, xml_escaped(words));
}

std::string line(double x1, double y1, double x2, double y2, const char* color) {
  return formatted("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\"/>\n", at(x1),
                   at(y1), at(x2), at(y2), color);
}

// The positions of the series' names below the chart, with as many names in each row as fit.
struct Legend {
  std::vector<double> x, y;
  double height = 0;

  explicit Legend(const study::StudyChart& chart) {
    if (chart.series.size() < 2) return;
    double across = kLeft;
    height = 20;
    for (const study::StudySeries& s : chart.series) {
      const double wide = 34 + 6.6 * static_cast<double>(s.name.size());
      if (across + wide > kWidth - kRight && across > kLeft) {
        across = kLeft;
        height += 18;
      }
      x.push_back(across);
      y.push_back(height);
      across += wide;
    }
  }
};

std::string bars(const study::StudyChart& chart, const Axis& x, const Axis& y, double slot) {
  std::string out;
  const double wide = 0.8 * slot / static_cast<double>(chart.series.size());
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const study::StudySeries& series = chart.series[s];
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      if (!y.shows(series.y[i]) || series.y[i] == 0) continue;
      const double left = x.place(series.x[i]) - 0.4 * slot + wide * static_cast<double>(s);
      const double top = y.place(series.y[i]);
      out +=
          formatted("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", at(left),
                    at(top), at(wide), at(std::max(y.start() - top, 0.5)), color_of(s));
    }
  }
  return out;
}

std::string lines(const study::StudyChart& chart, const Axis& x, const Axis& y) {
  std::string out;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const study::StudySeries& series = chart.series[s];
    std::string points, marks;
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      if (!x.shows(series.x[i]) || !y.shows(series.y[i])) continue;
      const std::string px = at(x.place(series.x[i])), py = at(y.place(series.y[i]));
      points += formatted("{}{},{}", points.empty() ? "" : " ", px, py);
      marks +=
          formatted("<circle cx=\"{}\" cy=\"{}\" r=\"2.5\" fill=\"{}\"/>\n", px, py, color_of(s));
    }
    out += formatted("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                     points, color_of(s)) +
           marks;
  }
  return out;
}

}  // namespace

std::string chart_svg(const study::StudyChart& chart) {
  const Legend legend(chart);
  const double bottom = kHeight - 56 - legend.height, right = kWidth - kRight;
  const bool is_bars = chart.kind == study::ChartKind::kBars;
  // Bars have half a slot free at each end, so that they do not cross the axis.
  std::size_t slots = 1;
  for (const study::StudySeries& s : chart.series) slots = std::max(slots, s.y.size());
  const double slot = (right - kLeft) / static_cast<double>(slots), margin = is_bars ? slot / 2 : 0;
  Axis x(chart.log_x && !is_bars, kLeft + margin, right - margin), y(chart.log_y, bottom, kTop);
  for (const study::StudySeries& s : chart.series) {
    for (const double v : s.x) x.include(v);
    for (const double v : s.y) y.include(v);
  }
  if (is_bars && !chart.log_y) y.include(0);
  // A logarithmic axis begins below the smallest value, so that its bar is visible.
  if (is_bars && chart.log_y) {
    double least = HUGE_VAL;
    for (const study::StudySeries& s : chart.series) {
      for (const double v : s.y) {
        if (v > 0) least = std::min(least, v);
      }
    }
    if (std::isfinite(least)) y.include(least / 2);
  }
  y.settle(true);
  const bool labelled = !chart.labels.empty();
  x.settle(!is_bars);

  std::string out = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      kWidth, kHeight);
  out += text(kLeft, 24, "start", chart.title, " font-size=\"15\" font-weight=\"bold\"");
  for (const double tick : y.ticks()) {
    out += line(kLeft, y.place(tick), right, y.place(tick), "#ddd");
    out += text(kLeft - 7, y.place(tick) + 4, "end", short_number(tick, 4));
  }
  if (labelled) {
    for (std::size_t i = 0; i < chart.labels.size(); ++i) {
      out += text(x.place(static_cast<double>(i)), bottom + 17, "middle", chart.labels[i]);
    }
  } else {
    for (const double tick : x.ticks()) {
      out += line(x.place(tick), bottom, x.place(tick), bottom + 5, "#222");
      out += text(x.place(tick), bottom + 18, "middle", short_number(tick, 4));
    }
  }
  out += is_bars ? bars(chart, x, y, slot) : lines(chart, x, y);
  out += line(kLeft, bottom, right, bottom, "#222") + line(kLeft, kTop, kLeft, bottom, "#222");
  out += text((kLeft + right) / 2, bottom + 38, "middle", chart.x_label);
  out += text(0, 0, "middle", chart.y_label,
              formatted(" transform=\"translate(18 {}) rotate(-90)\"", at((kTop + bottom) / 2)));
  for (std::size_t i = 0; i < legend.x.size(); ++i) {
    const double top = bottom + 38 + legend.y[i];
    out += formatted("<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"10\" fill=\"{}\"/>\n",
                     at(legend.x[i]), at(top - 9), color_of(i));
    out += text(legend.x[i] + 19, top, "start", chart.series[i].name);
  }
  return out + "</svg>\n";
}

std::string rows_svg(const RowsChart& chart) {
  // All rows together have a fixed height. The names are shown only if the rows are high enough to
  // be readable.
  const double rows = static_cast<double>(std::max<std::size_t>(chart.rows.size(), 1));
  const double row = std::clamp(560 / rows, 1.0, 22.0), bar = std::max(0.75 * row, 0.5);
  const bool named = row >= 11;
  // The width of a character. All are assumed to have this width, because a browser's own is not
  // known here.
  constexpr double kCharacter = 7, kMostLabel = 300;
  const auto wide = [](const std::string& label) {
    return kCharacter * static_cast<double>(label.size());
  };
  double longest = 0;
  for (const RowsChart::Row& r : chart.rows) longest = std::max(longest, wide(r.label));
  // At least 40, because half of a tick's number stands to the left of the axis.
  const double left = named ? std::clamp(longest + 14, 40.0, kMostLabel + 14) : 40;
  const double right = kWidth - 40, bottom = kTop + row * rows;
  Axis x(chart.logarithmic, left, right);
  for (const double v : chart.shown) x.include(v);
  if (!chart.logarithmic) x.include(0);
  for (const RowsChart::Row& r : chart.rows) x.include(r.value);
  x.settle(true);
  const double start = chart.logarithmic ? left : x.place(0);

  std::string out = formatted(
      "<svg class=rows width=\"100%\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" "
      "style=\"font:11.5px ui-monospace,monospace;fill:var(--ink)\">\n",
      kWidth, at(bottom + 26), xml_escaped(chart.title));
  out += text(2, 20, "start", chart.title, " style=\"font:bold 14px system-ui,sans-serif\"");
  for (const double tick : x.ticks()) {
    out += line(x.place(tick), kTop, x.place(tick), bottom, "var(--grid)");
    out += text(x.place(tick), bottom + 17, "middle", short_number(tick, 4));
  }
  for (std::size_t i = 0; i < chart.rows.size(); ++i) {
    const RowsChart::Row& r = chart.rows[i];
    const double top = kTop + row * static_cast<double>(i);
    if (named) {
      const std::string fitted =
          wide(r.label) > kMostLabel
              ? formatted(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", at(kMostLabel))
              : "";
      out += text(left - 6, top + row / 2 + 4, "end", r.label, fitted);
    }
    if (std::isnan(r.value)) continue;
    // If the value is beyond the axis, such as infinity or 0 on a logarithmic axis, a mark stands
    // at the end of the axis instead of a bar.
    const bool beyond = !x.shows(r.value);
    const double end = r.value > 0 || !beyond ? x.place(r.value) : left;
    const double from = beyond ? std::min(end, right - 1) : std::min(start, end);
    const double width = beyond ? 1 : std::max(std::abs(end - start), 1.0);
    out += formatted(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{}: "
        "{}</title></rect>\n",
        at(from), at(top + (row - bar) / 2), at(width), at(bar), r.color, xml_escaped(r.label),
        xml_escaped(r.words));
  }
  out += line(start, kTop, start, bottom, "var(--ink)");
  if (chart.marked) {
    out += line(x.place(*chart.marked), kTop - 4, x.place(*chart.marked), bottom, "var(--ink)");
  }
  return out + "</svg>\n";
}

}  // namespace assay::report
