#include "assay/report/campaign_plots.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/report/campaign_report.h"
#include "assay/report/plot.h"

namespace assay::inline v0_2::report {
namespace {

// The histogram has steps of half an octave within the range of the bins, plus one step below the
// range and one above.
constexpr int kStepBins = 1 << (simd::kBinBits - 1);
constexpr int kSteps = (simd::kRatioBins - 2) / kStepBins;

std::vector<PlotTick> percent_ticks() {
  std::vector<PlotTick> ticks;
  for (int p = 0; p <= 100; p += 20) ticks.push_back({double(p), formatted("{}", p)});
  return ticks;
}

double share_of(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

// Returns the horizontal offset of line i of n, so that several lines at one point stand beside
// each other.
double aside(std::size_t i, std::size_t n) {
  if (n < 2) return 0;
  return std::min(0.5, 0.12 * static_cast<double>(n - 1)) *
         (static_cast<double>(i) / static_cast<double>(n - 1) - 0.5);
}

std::string published_words(const campaign::SavedPublished& p) {
  const std::string verdict = !p.remark.empty() ? "held to be a defect of the publication"
                              : !p.agrees       ? "not judged"
                              : *p.agrees       ? "ours agrees"
                                                : "ours differs";
  return formatted("published: {} % of {}; {}", short_number(100 * *p.rate, 6), grouped(p.trials),
                   verdict);
}

std::vector<PlotSeries> bit_series(const std::vector<CampaignLine>& lines,
                                   fault::Direction direction, std::set<int>& bits) {
  std::vector<PlotSeries> all;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const CampaignLine& line = lines[i];
    const campaign::GateResult& gate = line.result();
    PlotSeries series{.color = line.color, .run = line.run, .faint = gate.is_void()};
    const double offset = aside(i, lines.size());
    int last = -1;
    for (const campaign::SeriesResult& s : gate.series) {
      if (s.series.bit < 0 || s.series.direction != direction) continue;
      bits.insert(s.series.bit);
      // A point of NaN breaks the line. It is broken if the bits of another census of the cell
      // begin, or if no element can take the flip.
      if (s.series.bit <= last || s.detected.rate.trials == 0) {
        series.points.push_back({0, NAN, ""});
      }
      last = s.series.bit;
      if (s.detected.rate.trials == 0) continue;
      PlotPoint point{s.series.bit + offset, 100 * campaign::share_of(s.detected.rate),
                      formatted("{}{}, {}: {}", line.name, gate.is_void() ? " (void)" : "",
                                series_name(*line.cell, s.series), rate_words(s.detected))};
      if (s.detected.interval) {
        point.low = 100 * s.detected.interval->low;
        point.high = 100 * s.detected.interval->high;
      }
      series.points.push_back(std::move(point));
    }
    PlotSeries theirs{.color = line.color, .run = line.run, .joined = false};
    for (const campaign::SavedPublished& p : line.cell->published[line.gate]) {
      if (p.bit < 0 || p.direction != direction || !p.rate) continue;
      bits.insert(p.bit);
      theirs.points.push_back({p.bit + offset, 100 * *p.rate,
                               formatted("{}, bit {}: {}", line.name, p.bit, published_words(p))});
    }
    if (!series.points.empty()) all.push_back(std::move(series));
    if (!theirs.points.empty()) all.push_back(std::move(theirs));
  }
  return all;
}

PlotAxis bit_axis(const std::set<int>& bits) {
  PlotAxis axis{.label = "bit of the result, from the lowest",
                .low = *bits.begin() - 0.6,
                .high = *bits.rbegin() + 0.6};
  const int span = *bits.rbegin() - *bits.begin();
  const int step = span < 17 ? 1 : span < 33 ? 2 : 8;
  for (int b = *bits.begin(); b <= *bits.rbegin(); b += step) {
    axis.ticks.push_back({double(b), formatted("{}", b)});
  }
  return axis;
}

// Returns log2 of the upper edge of a step of the histogram.
double upper_edge(int step) { return std::log2(campaign::ratio_edge((step + 1) * kStepBins)); }

std::int64_t in_step(const campaign::RatioCounts& counts, int step) {
  std::int64_t sum = 0;
  for (int b = 1; b <= kStepBins; ++b) sum += counts[at(step * kStepBins + b)];
  return sum;
}

// Returns the rate 10^e as a readable percentage, which is 10^(e + 2).
std::string percent_tick(int e) {
  return e < -6 ? formatted("1e{}", e + 2) : short_number(std::pow(10.0, e + 2), 4);
}

std::string ratio_tick(int exponent) {
  return exponent < 0 ? formatted("1/{}", 1 << -exponent) : formatted("{}", 1 << exponent);
}

}  // namespace

std::string series_name(const campaign::SavedCell& cell, const campaign::Series& series) {
  if (series.bit >= 0) return series.text();
  std::vector<std::string> parts;
  for (const std::string& part : split(cell.faults[series.fault].text, ',')) {
    const bool is_said = part != "seed=0" && part != "count=1" && part != "direction=either";
    if (is_said) parts.push_back(part);
  }
  return joined(parts, ",");
}

std::string rate_words(const campaign::MeasuredRate& r) {
  if (r.rate.trials == 0) return "none could be injected";
  std::string words = formatted("{} % of {} ({})", rate_percent(campaign::share_of(r.rate)),
                                grouped(r.rate.trials), grouped(r.rate.events));
  if (!r.interval) {
    return words + formatted("; no interval, for {} {} do not say how much they differ",
                             grouped(r.clusters), r.clusters == 1 ? "matrix" : "matrices");
  }
  return words + formatted("; 95 % interval {} to {} %, by {} matrices",
                           rate_percent(r.interval->low), rate_percent(r.interval->high),
                           grouped(r.clusters));
}

std::string bits_plots(const std::vector<CampaignLine>& lines) {
  std::string out;
  for (const fault::Direction direction :
       {fault::Direction::kZeroToOne, fault::Direction::kOneToZero}) {
    std::set<int> bits;
    Plot plot{
        .title = formatted("Detected by bit, flips of {}", campaign::direction_text(direction)),
        .x = {},
        .y = {.label = "detected, %", .low = 0, .high = 100, .ticks = percent_ticks()}};
    plot.series = bit_series(lines, direction, bits);
    if (bits.empty()) continue;
    plot.x = bit_axis(bits);
    out += plot_figure(plot);
  }
  return out;
}

std::string roc_plot(const std::vector<CampaignLine>& lines) {
  std::vector<std::vector<campaign::RocPoint>> curves;
  std::int64_t rows = 1;
  bool any = false;
  for (const CampaignLine& line : lines) {
    curves.push_back(campaign::roc(line.result()));
    any = any || !curves.back().empty();
    if (!curves.back().empty()) rows = std::max(rows, line.result().alarms.rate.trials);
  }
  if (!any) return "";
  // The axis goes down to a false alarm in one of all rows. Gates without a false alarm stand to
  // the left of that.
  const double least = std::floor(std::log10(1 / static_cast<double>(rows)));
  const double none = least - 0.6;
  Plot plot{.title = "Detection against false alarms, as the threshold is multiplied (ROC)",
            .x = {.label = "false alarms, % of clean rows (logarithmic, none at the left)",
                  .low = none - 0.2,
                  .high = 0},
            .y = {.label = "detected, %", .low = 0, .high = 100, .ticks = percent_ticks()}};
  plot.x.ticks.push_back({none, "none"});
  const int step = least < -5 ? 2 : 1;
  for (int e = static_cast<int>(least); e <= 0; e += step) {
    plot.x.ticks.push_back({double(e), percent_tick(e)});
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    PlotSeries series{
        .color = lines[i].color, .run = lines[i].run, .faint = lines[i].result().is_void()};
    bool marked = false;
    for (const campaign::RocPoint& p : curves[i]) {
      // If a threshold gives no false alarm, a larger one only detects less, so the curve ends
      // here.
      if (marked && !series.points.empty() && p.false_alarms == 0) break;
      const bool is_threshold = !marked && p.multiple >= 1;
      marked = marked || is_threshold;
      series.points.push_back(
          {p.false_alarms > 0 ? std::log10(p.false_alarms) : none + 0.5 * aside(i, lines.size()),
           100 * p.detections,
           formatted(
               "{}, {}: {} % of clean rows alarm, {} % of faults are detected", lines[i].name,
               is_threshold ? "at its threshold T" : formatted("at {} T", short_number(p.multiple)),
               rate_percent(p.false_alarms), rate_percent(p.detections)),
           NAN, NAN, is_threshold});
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  return plot_figure(plot);
}

std::vector<RatioStep> ratio_steps(const campaign::GateResult& gate) {
  const campaign::RatioCounts& clean = gate.ratios;
  const campaign::RatioCounts faulty = campaign::ratios_of_faults(gate);
  int first = kSteps, last = -1;
  for (int s = 0; s < kSteps; ++s) {
    if (in_step(clean, s) + in_step(faulty, s) == 0) continue;
    first = std::min(first, s);
    last = s;
  }
  std::vector<RatioStep> steps;
  // The histogram always shows the threshold, even if no ratio is near it.
  constexpr int kAtOne = simd::kBinAtOne / kStepBins;
  first = std::min(first, kAtOne - 1);
  last = std::max(last, kAtOne);
  const bool elementwise = campaign::is_elementwise(gate.gate);
  const double left = upper_edge(first - 1);
  steps.push_back({elementwise ? "below, or within the bound" : "below", left - 1.2, left - 0.6,
                   clean[0], faulty[0]});
  for (int s = first; s <= last; ++s) {
    const double from = upper_edge(s - 1);
    steps.push_back({formatted("{} to {}", short_number(std::exp2(from), 4),
                               short_number(std::exp2(upper_edge(s)), 4)),
                     from, upper_edge(s), in_step(clean, s), in_step(faulty, s)});
  }
  RatioStep above{"above, infinite or NaN", upper_edge(last) + 0.6, upper_edge(last) + 1.2};
  for (const std::size_t b :
       {std::size_t{simd::kRatioBins - 1}, std::size_t{simd::kBinNotFinite}}) {
    above.clean += clean[b];
    above.faulty += faulty[b];
  }
  steps.push_back(above);
  return steps;
}

std::string ratio_plots(const std::vector<CampaignLine>& lines) {
  std::string out;
  for (const CampaignLine& line : lines) {
    const std::vector<RatioStep> steps = ratio_steps(line.result());
    std::int64_t clean = 0, faulty = 0;
    for (const RatioStep& s : steps) {
      clean += s.clean;
      faulty += s.faulty;
    }
    if (clean + faulty == 0) continue;
    const double least = std::floor(
        std::log10(0.5 / static_cast<double>(std::max({clean, faulty, std::int64_t{2}}))));
    Plot plot{.title = line.name,
              .x = {.label = "D/T (logarithmic)",
                    .low = steps.front().left - 0.3,
                    .high = steps.back().left + 0.9},
              .y = {.label = "share of checks, % (log)", .low = least, .high = 0}};
    plot.x.ticks.push_back({steps.front().left + 0.3, "less"});
    const double first = steps[1].left, last = steps.back().left - 0.6;
    const int step = last - first > 18 ? 4 : last - first > 8 ? 2 : 1;
    for (int e = -16; e <= 16; e += step) {
      // No tick is near the ends, because the words for the first and last step stand there.
      if (e > first + 0.07 * (last - first) && e < last - 0.07 * (last - first)) {
        plot.x.ticks.push_back({double(e), ratio_tick(e)});
      }
    }
    plot.x.ticks.push_back({steps.back().left + 0.3, "more"});
    for (int e = 0; e >= least; e -= least < -5 ? 2 : 1) {
      plot.y.ticks.push_back({double(e), percent_tick(e)});
    }
    plot.lines.push_back({0, "T"});
    for (const bool is_clean : {true, false}) {
      const std::int64_t all = is_clean ? clean : faulty;
      PlotSeries series{.color = is_clean ? 0u : 1u};
      for (std::size_t s = 0; s < steps.size(); ++s) {
        const std::int64_t n = is_clean ? steps[s].clean : steps[s].faulty;
        if (n == 0) continue;
        series.bars.push_back(
            {steps[s].left, steps[s].right, std::log10(share_of(n, all)),
             formatted("D/T {}: {} of {} {} ({} %)", steps[s].from_to, grouped(n), grouped(all),
                       is_clean ? "clean rows" : "faults", rate_percent(share_of(n, all)))});
      }
      plot.series.push_back(std::move(series));
    }
    out += plot_figure(plot);
  }
  return out;
}

}  // namespace assay::report
