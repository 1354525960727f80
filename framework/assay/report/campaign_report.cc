#include "assay/report/campaign_report.h"

#include <algorithm>
#include <cmath>

#include "assay/base/printable.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::report {
namespace {

constexpr std::size_t kGateWidth = 32;

std::string padded(const std::string& name, std::size_t width) {
  const std::string text = printable_name(name);
  return text.size() >= width ? text + " " : text + std::string(width - text.size(), ' ');
}

// Returns the gate's name for a column head. A long name is cut, and the full name is above the
// table.
std::string head(const std::string& name) {
  const std::string gate = printable_name(name);
  return gate.size() < kGateWidth ? gate : gate.substr(0, kGateWidth - 3) + "..";
}

std::string detected_text(const campaign::MeasuredRate& r, const campaign::GateResult& gate) {
  return rate_text(r) + (gate.is_void() && r.rate.events > 0 ? " void" : "");
}

bool all_or_nothing(const campaign::CellResult& cell, std::size_t s) {
  return std::ranges::all_of(cell.gates, [&](const campaign::GateResult& g) {
    const Rate& r = g.series[s].detected.rate;
    return r.events == 0 || r.events == r.trials;
  });
}

bool same_outcome(const campaign::CellResult& cell, std::size_t s, std::size_t t) {
  return std::ranges::all_of(cell.gates, [&](const campaign::GateResult& g) {
    const Rate &a = g.series[s].detected.rate, &b = g.series[t].detected.rate;
    return (a.events == 0) == (b.events == 0) && (a.trials == 0) == (b.trials == 0);
  });
}

std::string clean_table(const campaign::CellResult& result) {
  std::string out = "  clean rows\n";
  std::size_t width = 0;
  for (const campaign::GateResult& g : result.gates) width = std::max(width, g.gate.size() + 2);
  for (const campaign::GateResult& g : result.gates) {
    out += formatted("    {}", padded(g.gate, width));
    if (g.clean.rows == 0) {
      out += "none were checked\n";
      continue;
    }
    out += formatted("{} of {} rows alarmed, ", grouped(g.alarms.rate.events),
                     grouped(g.alarms.rate.trials));
    if (campaign::nothing_seen(g.alarms)) {
      const campaign::RateBounds bounds = campaign::bounds_of(g.alarms);
      out += formatted("< {} % by rows if they are independent, < {} % by matrices if not",
                       short_number(100 * bounds.by_trials, 2),
                       short_number(100 * bounds.by_matrices, 2));
    } else {
      out += rate_text(g.alarms) + " %";
    }
    if (g.alarms.rate.events > 0) {
      out +=
          formatted("; {} of {} matrices", grouped(g.alarmed_matrices), grouped(g.clean_matrices));
    }
    out += formatted("; largest difference / threshold {}", short_number(g.clean.worst));
    if (g.is_void()) out += ", void";
    if (std::isfinite(g.rms_z)) out += formatted(", rms z {}", short_number(g.rms_z));
    if (g.clean.dismissed > 0) {
      out += formatted("; {} above the threshold T, but with right elements",
                       grouped(g.clean.dismissed));
    }
    if (g.clean.not_checkable > 0) {
      out += formatted("; {} not checkable", grouped(g.clean.not_checkable));
    }
    out += "\n";
  }
  return out;
}

// Returns the notes that explain the short forms of these results.
std::string notes_text(const std::vector<campaign::CellResult>& results) {
  ShortForms used;
  for (const campaign::CellResult& result : results) {
    for (const campaign::GateResult& g : result.gates) used.add(g);
  }
  std::string out;
  for (const auto& [form, meaning] : used.explained()) out += formatted("{}: {}\n", form, meaning);
  return out.empty() ? out : "\n" + out;
}

std::string fault_table(const campaign::Cell& cell, const campaign::CellResult& result,
                        bool in_full) {
  const std::vector<campaign::SeriesResult>& first = result.gates.front().series;
  if (first.empty()) return "";
  std::size_t width = 24;
  for (const campaign::FaultPlan& f : cell.faults) {
    if (!f.census) width = std::max(width, f.short_text().size() + 2);
  }
  std::string out = formatted("  detected, in % of the injected\n    {}{}", padded("fault", width),
                              padded("injected", 16));
  for (const campaign::GateResult& g : result.gates) out += padded(head(g.gate), kGateWidth);
  while (out.back() == ' ') out.pop_back();
  out += "\n";
  std::int64_t masked = 0, not_finite = 0;
  for (std::size_t s = 0; s < first.size(); ++s) {
    const campaign::SeriesResult& r = first[s];
    masked += r.faults.masked;
    not_finite += r.faults.not_finite;
    // Consecutive bits share one line if all gates always detect their flips, or never detect them.
    std::size_t last = s;
    if (!in_full && r.series.bit >= 0 && all_or_nothing(result, s)) {
      while (last + 1 < first.size() && first[last + 1].series.fault == r.series.fault &&
             first[last + 1].series.direction == r.series.direction &&
             all_or_nothing(result, last + 1) && same_outcome(result, s, last + 1)) {
        ++last;
        masked += first[last].faults.masked;
        not_finite += first[last].faults.not_finite;
      }
    }
    std::string name = r.series.bit < 0 ? cell.faults[r.series.fault].short_text()
                       : last > s
                           ? formatted("bits {} to {}, {}", r.series.bit, first[last].series.bit,
                                       campaign::direction_text(r.series.direction))
                           : r.series.text();
    std::int64_t injected = 0;
    for (std::size_t t = s; t <= last; ++t) injected += first[t].faults.injected;
    std::string line = formatted("    {}{}", padded(name, width),
                                 padded(injected > 0 ? grouped(injected) : "not injectable", 16));
    for (const campaign::GateResult& g : result.gates) {
      campaign::MeasuredRate sum = g.series[s].detected;
      for (std::size_t t = s + 1; t <= last; ++t) {
        sum.rate.events += g.series[t].detected.rate.events;
        sum.rate.trials += g.series[t].detected.rate.trials;
        sum.clusters = std::min(sum.clusters, g.series[t].detected.clusters);
      }
      line += padded(injected > 0 ? detected_text(sum, g) : "", kGateWidth);
    }
    while (line.back() == ' ') line.pop_back();
    out += line + "\n";
    s = last;
  }
  const std::vector<campaign::ClassResult>& classes = result.gates.front().classes;
  if (!classes.empty()) out += "    by class\n";
  for (std::size_t c = 0; c < classes.size(); ++c) {
    std::string line = formatted("      {}{}", padded(classes[c].name, width - 2),
                                 padded(grouped(classes[c].faults.injected), 16));
    for (const campaign::GateResult& g : result.gates) {
      line += padded(detected_text(g.classes[c].detected, g), kGateWidth);
    }
    while (line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  std::vector<std::string> notes;
  if (masked > 0) notes.push_back(formatted("{} changed no value (masked)", grouped(masked)));
  if (not_finite > 0) notes.push_back(formatted("{} became infinite or NaN", grouped(not_finite)));
  if (!notes.empty()) out += formatted("    {}\n", joined(notes, "; "));
  return out;
}

// Returns the fields low,high,interval_by,matrices,bound_by_trials,bound_by_matrices.
std::string rate_csv(const campaign::MeasuredRate& r) {
  std::string out = r.interval ? formatted("{},{},matrices", r.interval->low, r.interval->high)
                               : std::string(r.rate.trials > 0 ? "-,-,-" : ",,");
  out += formatted(",{}", r.clusters);
  if (!campaign::is_bounded(r)) return out + ",,";
  const campaign::RateBounds bounds = campaign::bounds_of(r);
  return out + formatted(",{},{}", bounds.by_trials, bounds.by_matrices);
}

std::string csv_word(const std::string& text) { return csv_cell(printable_lines(text)); }

}  // namespace

void ShortForms::add(const campaign::GateResult& gate) {
  is_void = is_void || gate.is_void();
  const auto add_rate = [&](const campaign::MeasuredRate& r) {
    bounds = bounds || campaign::is_bounded(r);
    no_interval = no_interval || (r.rate.trials > 0 && !campaign::is_bounded(r) && !r.interval);
  };
  add_rate(gate.alarms);
  for (const campaign::SeriesResult& s : gate.series) add_rate(s.detected);
}

std::vector<std::pair<std::string, std::string>> ShortForms::explained() const {
  std::vector<std::pair<std::string, std::string>> all;
  if (bounds) {
    all.emplace_back("< a / b, > a / b",
                     "none or all were detected. These are one-sided 95 % bounds: a if the trials "
                     "are independent, b by matrices if those of a matrix are not.");
  }
  if (no_interval) {
    all.emplace_back(
        "[-]",
        formatted("no interval, because fewer than {} matrices do not show how much they differ.",
                  campaign::kLeastClusters));
  }
  if (is_void) {
    all.emplace_back("void",
                     "the detector raises alarms on at least half of the clean matrices, so its "
                     "detections mean nothing.");
  }
  return all;
}

std::string rate_percent(double rate) {
  const double p = 100 * rate;
  return p == 0 ? "0" : p >= 99.995 && p < 100 ? formatted("{:.4f}", p) : short_number(p, 4);
}

std::string rate_text(const campaign::MeasuredRate& r) {
  if (r.rate.trials == 0) return "-";
  const double rate = campaign::share_of(r.rate);
  if (campaign::nothing_seen(r)) {
    const campaign::RateBounds bounds = campaign::bounds_of(r);
    return formatted("< {} / {}", short_number(100 * bounds.by_trials, 2),
                     short_number(100 * bounds.by_matrices, 2));
  }
  if (campaign::all_seen(r)) {
    const campaign::RateBounds bounds = campaign::bounds_of(r);
    return formatted("100 (> {:.6g} / {})", 100 * bounds.by_trials,
                     short_number(100 * bounds.by_matrices, 4));
  }
  if (!r.interval) return rate_percent(rate) + " [-]";
  return formatted("{} [{}, {}]", rate_percent(rate), rate_percent(r.interval->low),
                   rate_percent(r.interval->high));
}

std::string campaign_text(const campaign::Plan& plan,
                          const std::vector<campaign::CellResult>& results, bool bits_in_full) {
  std::string out =
      formatted("{}: {} {}, seed {}, plan {}\n", printable_name(plan.name), plan.cells.size(),
                plan.cells.size() == 1 ? "cell" : "cells", plan.seed, plan.fingerprint);
  for (const campaign::CellResult& result : results) {
    const campaign::Cell& cell = plan.cells[result.cell];
    const std::string on = cell.recorded.empty() ? std::string(cell.machine->name) : cell.recorded;
    out += formatted("\n{} on {}: {} {}\n", printable_name(cell.name), printable_name(on),
                     grouped(result.matrices), result.matrices == 1 ? "matrix" : "matrices");
    if (cell.precision) {
      out += result.precise
                 ? formatted("  precise to +-{} % after {} of {} matrices\n",
                             short_number(100 * cell.precision->half_width), result.matrices,
                             result.planned)
                 : formatted("  not yet precise to +-{} % after all {} matrices\n",
                             short_number(100 * cell.precision->half_width), result.planned);
    }
    if (cell.clean_rows > 0) out += clean_table(result);
    out += fault_table(cell, result, bits_in_full);
  }
  return out + notes_text(results);
}

std::string campaign_csv(const campaign::Plan& plan,
                         const std::vector<campaign::CellResult>& results) {
  std::string out =
      "cell,machine,dtype,M,K,N,gate,fault,bit,direction,injected,detected,rate,low,high,interval_"
      "by,matrices,bound_by_trials,bound_by_matrices,masked,not_injectable,not_finite,not_"
      "checkable,dismissed,void,class\n";
  for (const campaign::CellResult& result : results) {
    const campaign::Cell& cell = plan.cells[result.cell];
    // The columns M, K and N are filled only for products. The sizes of other operators are in the
    // cell's name.
    const bool has_mkn = cell.is_product() && cell.shape.size() == 3;
    for (const campaign::GateResult& g : result.gates) {
      const std::string start = formatted(
          "{},{},{},{},{}", csv_word(cell.name),
          csv_word(cell.recorded.empty() ? std::string(cell.machine->name) : cell.recorded),
          cell.dtype->name, has_mkn ? formatted("{}", fmt::join(cell.shape, ",")) : ",,",
          csv_word(g.gate));
      const auto rate = [](const campaign::MeasuredRate& r) {
        const std::string share =
            r.rate.trials == 0 ? "" : formatted("{}", campaign::share_of(r.rate));
        return formatted("{},{}", share, rate_csv(r));
      };
      const std::string is_void = g.is_void() ? "void" : "";
      if (g.clean.rows > 0) {
        out += formatted("{},none,,,{},{},{},,,,{},{},{},\n", start, g.alarms.rate.trials,
                         g.alarms.rate.events, rate(g.alarms), g.clean.not_checkable,
                         g.clean.dismissed, is_void);
      }
      for (const campaign::SeriesResult& s : g.series) {
        const bool census = s.series.bit >= 0;
        out += formatted("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", start,
                         census ? "flip" : csv_word(cell.faults[s.series.fault].fault.text()),
                         census ? std::to_string(s.series.bit) : "",
                         census ? fault::word_of(s.series.direction) : "", s.faults.injected,
                         s.detections.detected, rate(s.detected), s.faults.masked,
                         s.faults.not_injectable, s.faults.not_finite, s.detections.not_checkable,
                         s.detections.dismissed, is_void,
                         csv_word(cell.faults[s.series.fault].class_name));
      }
    }
  }
  return out;
}

std::string published_text(const std::vector<campaign::Comparison>& comparisons,
                           const std::vector<std::string>& left_out) {
  if (comparisons.empty() && left_out.empty()) return "";
  std::string out = "\npublished and reproduced, in %\n";
  std::string cell;
  std::int64_t agree = 0, defects = 0, differ = 0, explained = 0;
  for (const campaign::Comparison& c : comparisons) {
    if (c.cell + c.gate != cell) {
      cell = c.cell + c.gate;
      out += formatted("  {}, {}\n", printable_name(c.cell), printable_name(c.gate));
    }
    const campaign::PublishedRate& p = *c.published;
    const std::string what =
        p.bit < 0 ? "runs with an alarm"
                  : formatted("bit {}, {}", p.bit, p.direction == "0to1" ? "0 to 1" : "1 to 0");
    const std::string theirs = p.rate             ? short_number(100 * *p.rate, 6)
                               : p.word == "void" ? "void"
                                                  : "not injectable";
    std::string ours = c.ours.rate.trials == 0 ? "not injectable" : rate_text(c.ours);
    if (c.is_void && p.bit >= 0 && c.ours.rate.events > 0) ours += " void";
    std::string verdict = "agrees";
    // A published rate that is "void" cannot agree or differ.
    if (p.word == "void") {
      verdict = "";
    } else if (!p.remark.empty()) {
      verdict = formatted("defect: {}", printable_sentence(p.remark));
      ++defects;
    } else if (!c.judged) {
      verdict = formatted("not judged: fewer than {} matrices", campaign::kLeastClusters);
    } else if (c.agrees) {
      ++agree;
    } else {
      verdict = c.why.empty() ? "differs" : formatted("differs: {}", printable_sentence(c.why));
      ++differ;
      explained += c.why.empty() ? 0 : 1;
    }
    out += formatted("    {:<18} {:>15}   {:<32} {}\n", what, theirs, ours, verdict);
    while (out[out.size() - 2] == ' ') out.erase(out.size() - 2, 1);
  }
  out += formatted(
      "  {} cells agree, {} differ{}, {} held to be defects of the publication\n", grouped(agree),
      grouped(differ),
      explained > 0 ? formatted(" ({} for a reason that is known)", grouped(explained)) : "",
      grouped(defects));
  for (const std::string& variant : left_out) {
    out += formatted(
        "  not compared: {}; no detector of the plan has this threshold (its 'variants')\n",
        printable_name(variant));
  }
  return out;
}

}  // namespace assay::report
