#include "assay/report/campaign.h"

#include <algorithm>
#include <cmath>

#include "assay/base/text.h"
#include "assay/report/json_output.h"

namespace assay::report {
namespace {

constexpr std::size_t kGateWidth = 28;

std::string percent(double rate) {
  const double p = 100 * rate;
  return p == 0 ? "0" : p >= 99.995 && p < 100 ? format("{:.4f}", p) : short_number(p, 4);
}

std::string_view direction_text(const campaign::Series& s) {
  if (s.bit < 0) return "";
  return s.direction == fault::Direction::kZeroToOne ? "0 to 1" : "1 to 0";
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() >= width ? text + " " : text + std::string(width - text.size(), ' ');
}

// The gate's name as a column's head: cut where it is long, the full one stands above.
std::string head(const std::string& gate) {
  return gate.size() < kGateWidth ? gate : gate.substr(0, kGateWidth - 3) + "..";
}

bool all_or_nothing(const campaign::CellResult& cell, std::size_t s) {
  return std::all_of(cell.gates.begin(), cell.gates.end(), [&](const campaign::GateResult& g) {
    const Rate& r = g.series[s].detected.rate;
    return r.events == 0 || r.events == r.trials;
  });
}

bool same_outcome(const campaign::CellResult& cell, std::size_t s, std::size_t t) {
  return std::all_of(cell.gates.begin(), cell.gates.end(), [&](const campaign::GateResult& g) {
    const Rate &a = g.series[s].detected.rate, &b = g.series[t].detected.rate;
    return (a.events == 0) == (b.events == 0) && (a.trials == 0) == (b.trials == 0);
  });
}

std::string clean_table(const campaign::CellResult& result) {
  std::string out = "  clean rows\n";
  std::size_t width = 0;
  for (const campaign::GateResult& g : result.gates) width = std::max(width, g.gate.size() + 2);
  for (const campaign::GateResult& g : result.gates) {
    out += format("    {}", padded(g.gate, width));
    if (g.clean.rows == 0) {
      out += "none looked at\n";
      continue;
    }
    out += format("{} of {} rows alarmed, {} %", grouped(g.alarms.rate.events),
                  grouped(g.alarms.rate.trials), rate_text(g.alarms));
    if (g.alarms.rate.events > 0) {
      out += format("; {} of {} matrices", grouped(g.alarmed_matrices), grouped(g.clean_matrices));
    }
    out += format("; largest D/T {}", short_number(g.clean.worst));
    if (std::isfinite(g.rms_z)) out += format(", rms z {}", short_number(g.rms_z));
    if (g.clean.dismissed > 0) {
      out += format("; {} above T, clean element by element", grouped(g.clean.dismissed));
    }
    if (g.clean.not_checkable > 0) {
      out += format("; {} not checkable", grouped(g.clean.not_checkable));
    }
    out += "\n";
  }
  return out;
}

std::string fault_table(const campaign::Cell& cell, const campaign::CellResult& result,
                        bool in_full) {
  const std::vector<campaign::SeriesResult>& first = result.gates.front().series;
  if (first.empty()) return "";
  std::size_t width = 24;
  for (const campaign::FaultPlan& f : cell.faults) {
    if (!f.census) width = std::max(width, f.short_text().size() + 2);
  }
  std::string out = format("  detected, in % of the injected\n    {}{}", padded("fault", width),
                           padded("injected", 16));
  for (const campaign::GateResult& g : result.gates) out += padded(head(g.gate), kGateWidth);
  while (out.back() == ' ') out.pop_back();
  out += "\n";
  std::int64_t masked = 0, not_finite = 0;
  for (std::size_t s = 0; s < first.size(); ++s) {
    const campaign::SeriesResult& r = first[s];
    masked += r.faults.masked;
    not_finite += r.faults.not_finite;
    // A run of bits that all gates always see, or never, is one line.
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
                       : last > s       ? format("bits {} to {}, {}", r.series.bit,
                                                 first[last].series.bit, direction_text(r.series))
                                  : format("bit {}, {}", r.series.bit, direction_text(r.series));
    std::int64_t injected = 0;
    for (std::size_t t = s; t <= last; ++t) injected += first[t].faults.injected;
    std::string line = format("    {}{}", padded(name, width),
                              padded(injected > 0 ? grouped(injected) : "not injectable", 16));
    for (const campaign::GateResult& g : result.gates) {
      campaign::MeasuredRate sum = g.series[s].detected;
      for (std::size_t t = s + 1; t <= last; ++t) {
        sum.rate.events += g.series[t].detected.rate.events;
        sum.rate.trials += g.series[t].detected.rate.trials;
      }
      if (last > s && sum.rate.trials > 0)
        sum.interval = campaign::wilson(sum.rate, campaign::kConfidence);
      line += padded(injected > 0 ? rate_text(sum) : "", kGateWidth);
    }
    while (line.back() == ' ') line.pop_back();
    out += line + "\n";
    s = last;
  }
  std::vector<std::string> notes;
  if (masked > 0) notes.push_back(format("{} changed no value (masked)", grouped(masked)));
  if (not_finite > 0) notes.push_back(format("{} became infinite or NaN", grouped(not_finite)));
  if (!notes.empty()) out += format("    {}\n", joined(notes, "; "));
  return out;
}

// nlohmann-json writes NaN and infinity as null; here they stay what they are.
Json rate_json(const campaign::MeasuredRate& r) {
  Json json = {{"events", r.rate.events}, {"trials", r.rate.trials}};
  if (r.rate.trials == 0) return json;
  json["rate"] = static_cast<double>(r.rate.events) / static_cast<double>(r.rate.trials);
  json["interval"] = {r.interval.low, r.interval.high};
  json["interval_by"] = r.over_matrices ? "bootstrap over matrices" : "wilson";
  return json;
}

// "bin:count bin:count"; bins as docs/campaigns.md says.
std::string ratios_text(const campaign::RatioCounts& counts) {
  std::vector<std::string> bins;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) bins.push_back(format("{}:{}", i, counts[i]));
  }
  return bins.empty() ? "" : joined(bins, " ");
}

Json series_json(const campaign::Cell& cell, const campaign::SeriesResult& s) {
  Json json;
  if (s.series.bit >= 0) {
    json["bit"] = s.series.bit;
    json["direction"] = s.series.direction == fault::Direction::kZeroToOne ? "0to1" : "1to0";
  } else {
    json["fault"] = cell.faults[s.series.fault].fault.text();
  }
  json["injected"] = s.faults.injected;
  json["masked"] = s.faults.masked;
  json["not_injectable"] = s.faults.not_injectable;
  json["not_finite"] = s.faults.not_finite;
  json["not_checkable"] = s.detections.not_checkable;
  json["dismissed"] = s.detections.dismissed;
  json["detected"] = rate_json(s.detected);
  json["ratios"] = ratios_text(s.ratios);
  return json;
}

std::string csv_word(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string rate_text(const campaign::MeasuredRate& r) {
  if (r.rate.trials == 0) return "-";
  const double rate = static_cast<double>(r.rate.events) / static_cast<double>(r.rate.trials);
  if (r.rate.events == 0) {
    return format("< {}",
                  short_number(100 * campaign::upper_bound(r.rate, campaign::kConfidence), 2));
  }
  if (r.rate.events == r.rate.trials) {
    return format("100 (> {})",
                  format("{:.6g}", 100 * campaign::lower_bound(r.rate, campaign::kConfidence)));
  }
  return format("{} [{}, {}]", percent(rate), percent(r.interval.low), percent(r.interval.high));
}

std::string campaign_text(const campaign::Plan& plan,
                          const std::vector<campaign::CellResult>& results, bool bits_in_full) {
  std::string out = format("{}: {} {}, seed {}, plan {}\n", plan.name, plan.cells.size(),
                           plan.cells.size() == 1 ? "cell" : "cells", plan.seed, plan.fingerprint);
  for (const campaign::CellResult& result : results) {
    const campaign::Cell& cell = plan.cells[result.cell];
    out += format("\n{} on {}: {} {}\n", cell.name,
                  cell.recorded.empty() ? std::string(cell.machine->name) : cell.recorded,
                  grouped(result.matrices), result.matrices == 1 ? "matrix" : "matrices");
    if (cell.precision) {
      out += result.precise
                 ? format("  precise to +-{} % after {} of {} matrices\n",
                          short_number(100 * cell.precision->half_width), result.matrices,
                          result.planned)
                 : format("  not yet precise to +-{} % after all {} matrices\n",
                          short_number(100 * cell.precision->half_width), result.planned);
    }
    if (cell.clean_rows > 0) out += clean_table(result);
    out += fault_table(cell, result, bits_in_full);
  }
  return out;
}

std::string campaign_json(const campaign::Plan& plan,
                          const std::vector<campaign::CellResult>& results) {
  Json json = {{"schema", 1},
               {"campaign", plan.name},
               {"about", plan.about},
               {"seed", plan.seed},
               {"fingerprint", plan.fingerprint},
               {"confidence", campaign::kConfidence}};
  json["cells"] = Json::array();
  for (const campaign::CellResult& result : results) {
    const campaign::Cell& cell = plan.cells[result.cell];
    Json c = {{"name", cell.name},
              {"operator", cell.op},
              {"machine", cell.recorded.empty() ? std::string(cell.machine->name) : cell.recorded},
              {"dtype", cell.dtype->name},
              {"output_dtype", cell.output->name},
              {"shape", cell.shape}};
    if (cell.dataset.empty()) {
      c["rows"] = cell.rows_a_matrix();
      if (cell.is_product()) {
        for (const char* input : {"a", "b"}) c[input] = cell.distribution_of(input).text();
        if (cell.distributions.count("bias") != 0) c["bias"] = cell.distribution_of("bias").text();
      } else {
        c["draw"] = cell.distribution.text();
        c["inputs"] = Json::object();
        for (const auto& [input, spec] : cell.distributions) c["inputs"][input] = spec.text();
      }
    } else {
      c["case"] = cell.case_name;
    }
    for (const auto& attribute : cell.attributes) {
      std::visit([&](const auto& value) { c["attributes"][attribute.first] = value; },
                 attribute.second);
    }
    c["matrices"] = result.matrices;
    if (cell.precision) c["precise"] = result.precise;
    c["gates"] = Json::array();
    for (const campaign::GateResult& g : result.gates) {
      Json gate = {{"gate", g.gate}};
      gate["clean"] = {{"rows", g.clean.rows},
                       {"matrices", g.clean_matrices},
                       {"alarmed_matrices", g.alarmed_matrices},
                       {"not_checkable", g.clean.not_checkable},
                       {"dismissed", g.clean.dismissed},
                       {"alarms", rate_json(g.alarms)},
                       {"upper_bound", g.upper_bound},
                       {"largest_ratio", number(g.clean.worst)},
                       {"rms_z", number(g.rms_z)},
                       {"ratios", ratios_text(g.ratios)}};
      gate["faults"] = Json::array();
      for (const campaign::SeriesResult& s : g.series)
        gate["faults"].push_back(series_json(cell, s));
      c["gates"].push_back(gate);
    }
    json["cells"].push_back(c);
  }
  return json.dump(1) + "\n";
}

std::string campaign_csv(const campaign::Plan& plan,
                         const std::vector<campaign::CellResult>& results) {
  std::string out =
      "cell,machine,dtype,M,K,N,gate,fault,bit,direction,injected,detected,rate,low,high,"
      "interval_by,masked,not_injectable,not_finite,not_checkable,dismissed\n";
  for (const campaign::CellResult& result : results) {
    const campaign::Cell& cell = plan.cells[result.cell];
    // Other operators have sizes of their own, which are in the cell's name.
    const bool has_mkn = cell.is_product() && cell.shape.size() == 3;
    for (const campaign::GateResult& g : result.gates) {
      const std::string start =
          format("{},{},{},{},{}", csv_word(cell.name),
                 csv_word(cell.recorded.empty() ? std::string(cell.machine->name) : cell.recorded),
                 cell.dtype->name, has_mkn ? format("{}", fmt::join(cell.shape, ",")) : ",,",
                 csv_word(g.gate));
      const auto rate = [](const campaign::MeasuredRate& r) -> std::string {
        if (r.rate.trials == 0) return ",,,";
        return format("{},{},{},{}",
                      static_cast<double>(r.rate.events) / static_cast<double>(r.rate.trials),
                      r.interval.low, r.interval.high, r.over_matrices ? "bootstrap" : "wilson");
      };
      if (g.clean.rows > 0) {
        out +=
            format("{},none,,,{},{},{},,,,{},{}\n", start, g.alarms.rate.trials,
                   g.alarms.rate.events, rate(g.alarms), g.clean.not_checkable, g.clean.dismissed);
      }
      for (const campaign::SeriesResult& s : g.series) {
        const bool census = s.series.bit >= 0;
        out += format("{},{},{},{},{},{},{},{},{},{},{},{}\n", start,
                      census ? "flip" : csv_word(cell.faults[s.series.fault].fault.text()),
                      census ? std::to_string(s.series.bit) : "",
                      !census                                              ? ""
                      : s.series.direction == fault::Direction::kZeroToOne ? "0to1"
                                                                           : "1to0",
                      s.faults.injected, s.detections.detected, rate(s.detected), s.faults.masked,
                      s.faults.not_injectable, s.faults.not_finite, s.detections.not_checkable,
                      s.detections.dismissed);
      }
    }
  }
  return out;
}

std::string published_text(const std::vector<campaign::Comparison>& comparisons) {
  if (comparisons.empty()) return "";
  std::string out = "\npublished and reproduced, in %\n";
  std::string cell;
  std::int64_t agree = 0, defects = 0, differ = 0;
  for (const campaign::Comparison& c : comparisons) {
    if (c.cell + c.gate != cell) {
      cell = c.cell + c.gate;
      out += format("  {}, {}\n", c.cell, c.gate);
    }
    const campaign::PublishedRate& p = *c.published;
    const std::string what =
        p.bit < 0 ? "runs with an alarm"
                  : format("bit {}, {}", p.bit, p.direction == "0to1" ? "0 to 1" : "1 to 0");
    const std::string theirs = p.rate             ? short_number(100 * *p.rate, 6)
                               : p.word == "void" ? "void"
                                                  : "not injectable";
    const std::string ours = c.ours.rate.trials == 0 ? "not injectable" : rate_text(c.ours);
    std::string verdict = "agrees";
    // A cell that is void says nothing that could be compared.
    if (p.word == "void") {
      verdict = "";
    } else if (!p.remark.empty()) {
      verdict = format("defect: {}", p.remark);
      ++defects;
    } else if (c.agrees) {
      ++agree;
    } else {
      verdict = "differs";
      ++differ;
    }
    out += format("    {:<18} {:>15}   {:<26} {}\n", what, theirs, ours, verdict);
    while (out[out.size() - 2] == ' ') out.erase(out.size() - 2, 1);
  }
  out += format("  {} cells agree, {} differ, {} are held to be defects of the publication\n",
                grouped(agree), grouped(differ), grouped(defects));
  return out;
}

}  // namespace assay::report
