#include "assay/report/plot.h"

#include <algorithm>

#include "assay/base/text.h"
#include "assay/report/escape.h"

namespace assay::inline v0_2::report {
namespace {

constexpr double kWidth = 460, kHeight = 300, kTop = 20, kBottom = 46;
constexpr double kLetter = 6.6;  // a little more than the width of a digit in the chart's font
constexpr std::size_t kColors = 7, kRuns = 4;

std::string at(double v) { return formatted("{:.1f}", v); }

double drawn_width(const std::string& text) { return kLetter * static_cast<double>(text.size()); }

// Returns the CSS classes of a series, such as "c1 r0". After the last colour, the first is used
// again.
std::string classes(std::size_t color, std::size_t run, bool faint) {
  return formatted("c{} r{}{}", color % kColors + 1, run % kRuns, faint ? " faint" : "");
}

std::string title(const std::string& words) {
  return words.empty() ? "" : formatted("<title>{}</title>", xml_escaped(words));
}

class Frame {
 public:
  explicit Frame(const Plot& plot) : x_(plot.x), y_(plot.y) {
    double wide = 0;
    for (const PlotTick& t : y_.ticks) wide = std::max(wide, drawn_width(t.label));
    left_ = 26 + wide;
    right_ = kWidth - 10;
    if (!x_.ticks.empty()) right_ -= drawn_width(x_.ticks.back().label) / 2;
  }

  double x(double v) const { return place(x_, v, left_, right_); }
  double y(double v) const { return place(y_, v, kHeight - kBottom, kTop); }

  std::string axes(const Plot& plot) const {
    const double bottom = kHeight - kBottom;
    std::string out;
    for (const PlotTick& t : y_.ticks) {
      out += formatted("<path class=grid d=\"M{} {}H{}\"/><text x={} y={} class=e>{}</text>\n",
                       at(left_), at(y(t.at)), at(right_), at(left_ - 6), at(y(t.at) + 4),
                       xml_escaped(t.label));
    }
    for (const PlotTick& t : x_.ticks) {
      out += formatted("<path class=axis d=\"M{} {}v5\"/><text x={} y={} class=m>{}</text>\n",
                       at(x(t.at)), at(bottom), at(x(t.at)), at(bottom + 18), xml_escaped(t.label));
    }
    for (const PlotTick& l : plot.lines) {
      out += formatted("<path class=ref d=\"M{} {}V{}\"/><text x={} y={} class=m>{}</text>\n",
                       at(x(l.at)), at(kTop), at(bottom), at(x(l.at)), at(kTop - 6),
                       xml_escaped(l.label));
    }
    out += formatted("<path class=axis d=\"M{} {}V{}H{}\"/>\n", at(left_), at(kTop), at(bottom),
                     at(right_));
    out += formatted("<text x={} y={} class=m>{}</text>\n", at((left_ + right_) / 2),
                     at(kHeight - 8), xml_escaped(x_.label));
    out += formatted("<text transform=\"translate(13 {}) rotate(-90)\" class=m>{}</text>\n",
                     at((kTop + bottom) / 2), xml_escaped(y_.label));
    return out;
  }

 private:
  static double place(const PlotAxis& axis, double v, double from, double to) {
    return from + (to - from) * std::clamp((v - axis.low) / (axis.high - axis.low), 0.0, 1.0);
  }
  const PlotAxis &x_, &y_;
  double left_ = 0, right_ = 0;
};

std::string bars(const Frame& frame, const PlotSeries& series, double bottom) {
  std::string out;
  for (const PlotBar& b : series.bars) {
    const double left = frame.x(b.from), top = frame.y(b.y);
    out += formatted("<rect class=bar x={} y={} width={} height={}>{}</rect>\n", at(left), at(top),
                     at(frame.x(b.to) - left), at(std::max(bottom - top, 0.5)), title(b.title));
  }
  return out;
}

std::string points(const Frame& frame, const PlotSeries& series) {
  std::string lines, whiskers, marks, run;
  const auto end_line = [&] {
    if (!run.empty()) lines += formatted("<polyline points=\"{}\"/>\n", run);
    run.clear();
  };
  for (const PlotPoint& p : series.points) {
    if (std::isnan(p.y)) {
      end_line();
      continue;
    }
    const std::string px = at(frame.x(p.x)), py = at(frame.y(p.y));
    run += formatted("{}{},{}", run.empty() ? "" : " ", px, py);
    if (!std::isnan(p.low) && !std::isnan(p.high)) {
      whiskers += formatted("M{} {}V{}", px, at(frame.y(p.low)), at(frame.y(p.high)));
    }
    marks += series.joined
                 ? formatted("<circle class={} cx={} cy={} r={}>{}</circle>\n",
                             p.large ? "big" : "p", px, py, p.large ? 5 : 2.8, title(p.title))
                 : formatted("<path class=o d=\"M{} {}l4.5 4.5l-4.5 4.5l-4.5 -4.5z\">{}</path>\n",
                             px, at(frame.y(p.y) - 4.5), title(p.title));
  }
  end_line();
  if (!series.joined) lines.clear();
  if (!whiskers.empty()) lines += formatted("<path class=w d=\"{}\"/>\n", whiskers);
  return lines + marks;
}

}  // namespace

const char* const kPlotStyle = R"(
figure { margin:0; } figcaption { font-weight:600; margin:0 0 .3rem; overflow-wrap:anywhere; }
.plot { width:100%; max-width:46rem; height:auto; display:block; }
.plot text { fill:var(--ink); font:12px system-ui,sans-serif; }
.plot .m { text-anchor:middle; } .plot .e { text-anchor:end; }
.plot .grid { stroke:var(--grid); } .plot .axis { stroke:var(--ink); fill:none; }
.plot .ref { stroke:var(--soft); stroke-dasharray:3 3; }
.c1 { --c:var(--series-1); } .c2 { --c:var(--series-2); } .c3 { --c:var(--series-3); }
.c4 { --c:var(--series-4); } .c5 { --c:var(--series-5); } .c6 { --c:var(--series-6); }
.c7 { --c:var(--series-7); }
.plot polyline,.key polyline { fill:none; stroke:var(--c); stroke-width:1.6; }
.r1 polyline { stroke-dasharray:6 3; } .r2 polyline { stroke-dasharray:2 3; }
.r3 polyline { stroke-dasharray:8 3 2 3; }
.p,.big { fill:var(--c); stroke:transparent; stroke-width:9; pointer-events:all; }
.big { stroke:var(--ink); stroke-width:1.2; }
.r1 .p,.r2 .p,.r3 .p,.r1 .big,.r2 .big,.r3 .big {
  fill:var(--paper); stroke:var(--c); stroke-width:1.5; }
.o { fill:var(--paper); stroke:var(--c); stroke-width:1.4; }
.w { fill:none; stroke:var(--c); stroke-width:1.3; }
.bar { fill:var(--c); fill-opacity:.5; } .bar:hover { fill-opacity:.9; }
.faint { opacity:.45; }
.key { width:34px; height:12px; vertical-align:middle; }
.rate { display:block; width:100%; min-width:7rem; height:8px; margin-top:2px; }
.rate .room { fill:var(--grid); } .rate .w { vector-effect:non-scaling-stroke; stroke:var(--ink); }
)";

std::string plot_figure(const Plot& plot) {
  const Frame frame(plot);
  const std::string name = xml_escaped(plot.title);
  std::string out = formatted(
      "<figure><figcaption>{}</figcaption>\n<svg class=plot viewBox=\"0 0 {} {}\" role=img "
      "aria-label=\"{}\">\n",
      name, kWidth, kHeight, name);
  out += frame.axes(plot);
  for (const PlotSeries& s : plot.series) {
    out += formatted("<g class=\"{}\">\n", classes(s.color, s.run, s.faint));
    out += bars(frame, s, kHeight - kBottom);
    out += points(frame, s);
    out += "</g>\n";
  }
  return out + "</svg></figure>\n";
}

std::string plot_key(std::size_t color, std::size_t run, bool faint) {
  return formatted(
      "<svg class=\"key {}\" viewBox=\"0 0 34 12\" aria-hidden=true><polyline points=\"0,6 "
      "34,6\"/><circle class=p cx=17 cy=6 r=2.8></circle></svg>",
      classes(color, run, faint));
}

std::string rate_bar(double rate, double low, double high, std::size_t color, bool faint) {
  if (std::isnan(rate)) return "";
  std::string out = formatted(
      "<svg class=\"rate {}\" viewBox=\"0 0 100 8\" preserveAspectRatio=none "
      "aria-hidden=true><rect class=room width=100 height=8></rect><rect class=bar width={} "
      "height=8></rect>",
      classes(color, 0, faint), at(100 * rate));
  if (!std::isnan(low) && !std::isnan(high)) {
    out += formatted("<path class=w d=\"M{} 4H{}\"></path>", at(100 * low), at(100 * high));
  }
  return out + "</svg>";
}

}  // namespace assay::report
