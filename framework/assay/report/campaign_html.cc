#include "assay/report/campaign_html.h"

#include <algorithm>
#include <cmath>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/report/campaign_plots.h"
#include "assay/report/campaign_report.h"
#include "assay/report/escape.h"
#include "assay/report/page.h"
#include "assay/report/plot.h"

namespace assay::inline v0_2::report {
namespace {

constexpr const char* kCampaignStyle = R"(
th.num { white-space:normal; } td.name,th.name { min-width:10rem; max-width:24rem; }
td.name { overflow-wrap:break-word; } tr > td[rowspan] { font-weight:600; }
h4 { margin:.8rem 0 .2rem; font-size:.95rem; overflow-wrap:anywhere; }
.charts { grid-template-columns:repeat(auto-fill,minmax(min(26rem,100%),1fr)); }
.swatch { display:inline-block; width:1.4em; height:.8em; background:var(--c); opacity:.6; }
details { margin:.6rem 0; } summary { cursor:pointer; padding:.15rem 0; }
details.cell { border-top:2px solid var(--line); margin:1.4rem 0; padding-top:.6rem; }
details.cell > summary { font-size:1.15rem; font-weight:600; overflow-wrap:anywhere; }
.legend { display:flex; flex-wrap:wrap; gap:.2rem 1.4rem; margin:.6rem 0; }
.legend span { overflow-wrap:anywhere; }
.void { color:var(--warn); font-weight:600; }
td.bar { min-width:9rem; white-space:nowrap; }
.facts { margin:.4rem 0; overflow-wrap:anywhere; }
)";

// The cells with the same name, from all results that have such a cell.
struct Group {
  std::string name;
  std::vector<std::size_t> runs;  // of each cell
  std::vector<const campaign::SavedCell*> cells;
  std::vector<CampaignLine> lines;
};

std::string letter(std::size_t run) {
  return run < 26 ? std::string(1, static_cast<char>('A' + run)) : formatted("R{}", run + 1);
}

std::vector<Group> groups_of(const std::vector<campaign::SavedCampaign>& results) {
  std::vector<Group> groups;
  for (std::size_t run = 0; run < results.size(); ++run) {
    for (const campaign::SavedCell& cell : results[run].cells) {
      auto found = std::ranges::find(groups, cell.name, &Group::name);
      if (found == groups.end()) found = groups.insert(found, Group{cell.name, {}, {}, {}});
      found->runs.push_back(run);
      found->cells.push_back(&cell);
    }
  }
  for (Group& group : groups) {
    std::vector<std::string> gates;
    for (const campaign::SavedCell* cell : group.cells) {
      for (const campaign::GateResult& gate : cell->result.gates) {
        if (!contains(gates, gate.gate)) {
          gates.push_back(gate.gate);
        }
      }
    }
    // Adds the lines of one gate from all results, then those of the next gate.
    for (std::size_t color = 0; color < gates.size(); ++color) {
      for (std::size_t i = 0; i < group.cells.size(); ++i) {
        const std::vector<campaign::GateResult>& of = group.cells[i]->result.gates;
        for (std::size_t g = 0; g < of.size(); ++g) {
          if (of[g].gate != gates[color]) continue;
          group.lines.push_back(
              {results.size() > 1 ? formatted("{} \u00b7 {}", gates[color], letter(group.runs[i]))
                                  : gates[color],
               color, group.runs[i], group.cells[i], g});
        }
      }
    }
  }
  return groups;
}

std::string cell_html(const std::string& text) {
  return formatted("<td>{}</td>", xml_escaped(text));
}
// Inserts a place for a line break behind each comma of a name.
std::string breakable(const std::string& name) {
  std::string out;
  for (const char c : xml_escaped(name)) {
    out += c;
    if (c == ',') out += "<wbr>";
  }
  return out;
}
std::string name_cell(const std::string& text) {
  return formatted("<td class=name>{}</td>", breakable(text));
}
std::string number_cell(const std::string& text) {
  return formatted("<td class=num>{}</td>", xml_escaped(text));
}

std::string table(const std::string& heads, const std::string& rows) {
  return formatted(
      "<div class=scroll><table><thead><tr>{}</tr></thead>\n<tbody>{}</tbody></table></div>\n",
      heads, rows);
}

std::string folded(const std::string& summary, const std::string& body) {
  return body.empty() ? ""
                      : formatted("<details><summary>{}</summary>\n{}</details>\n",
                                  xml_escaped(summary), body);
}

std::string void_mark(const campaign::GateResult& gate) {
  return gate.is_void() ? " <span class=void>void</span>" : "";
}

std::string legend(const std::vector<CampaignLine>& lines) {
  std::string out = "<div class=legend>";
  for (const CampaignLine& line : lines) {
    out +=
        formatted("<span>{} {}{}</span>\n", plot_key(line.color, line.run, line.result().is_void()),
                  xml_escaped(line.name), void_mark(line.result()));
  }
  bool published = false;
  for (const CampaignLine& line : lines) {
    published = published || !line.cell->published[line.gate].empty();
  }
  if (published) out += "<span>\u25c7 published</span>";
  return out + "</div>\n";
}

// -- Clean rows

std::string alarm_table(const std::vector<Group>& groups, std::size_t runs) {
  std::string rows;
  for (const Group& group : groups) {
    for (const CampaignLine& line : group.lines) {
      const campaign::GateResult& g = line.result();
      const campaign::MeasuredRate& a = g.alarms;
      rows += "<tr>";
      if (&line == &group.lines.front()) {
        rows += formatted("<td class=name rowspan={}>{}</td>", group.lines.size(),
                          breakable(group.name));
      }
      rows += formatted("<td class=name>{}{}</td>", breakable(g.gate), void_mark(g));
      if (runs > 1) rows += cell_html(letter(line.run));
      if (a.rate.trials == 0) {
        rows += formatted("<td colspan=6 class=soft>{}</td>",
                          g.clean.rows == 0 ? "no clean rows were checked"
                                            : formatted("none of {} rows could be checked",
                                                        grouped(g.clean.rows)));
      } else {
        const bool none = a.rate.events == 0;
        const campaign::RateBounds bounds =
            none ? campaign::upper_bounds(a) : campaign::RateBounds{};
        rows += number_cell(formatted("{} of {}", grouped(a.rate.events), grouped(a.rate.trials)));
        rows += number_cell(none ? "0" : rate_text(a));
        for (const double bound : {bounds.by_trials, bounds.by_matrices}) {
          rows += number_cell(none ? short_number(100 * bound, 2) : "");
        }
        rows += number_cell(
            formatted("{} of {}", grouped(g.alarmed_matrices), grouped(g.clean_matrices)));
        rows += number_cell(short_number(g.clean.worst));
      }
      rows += number_cell(std::isnan(g.rms_z) ? "-" : short_number(g.rms_z));
      rows += number_cell(grouped(g.clean.not_checkable));
      rows += number_cell(grouped(g.clean.dismissed));
      campaign::Rate all;
      for (const campaign::SeriesResult& s : g.series) {
        all.events += s.detected.rate.events;
        all.trials += s.detected.rate.trials;
      }
      rows +=
          number_cell(all.trials == 0 ? "-" : rate_percent(campaign::share_of(all))) + "</tr>\n";
    }
  }
  return table(
      formatted(
          "<th>cell<th>detector{}<th class=num>rows with a false alarm<th class=num>%, interval<th "
          "class=num>&lt; %, by rows<th class=num>&lt; %, by matrices<th class=num>matrices with "
          "an alarm<th class=num>largest D/T<th class=num>rms z<th class=num>not checkable<th "
          "class=num>dismissed<th class=num>all faults detected, %",
          runs > 1 ? "<th>result" : ""),
      rows);
}

// -- Faults

std::string rate_cell(const campaign::MeasuredRate& r, const CampaignLine& line) {
  if (r.rate.trials == 0) return "<td class=\"num bar\">-</td>";
  const bool interval = r.interval.has_value();
  return formatted(
      "<td class=\"num bar\" title=\"{}\">{}{}{}</td>", xml_escaped(rate_words(r)),
      xml_escaped(rate_text(r)), void_mark(line.result()),
      rate_bar(campaign::share_of(r.rate), interval ? r.interval->low : NAN,
               interval ? r.interval->high : NAN, line.color, line.result().is_void()));
}

std::string line_heads(const std::vector<CampaignLine>& lines) {
  std::string heads;
  for (const CampaignLine& line : lines) {
    heads += formatted("<th class=num>{}", breakable(line.name));
  }
  return heads;
}

// Identifies a series across results: by its bit and direction, or by its fault and class.
struct SeriesKey {
  int bit;
  fault::Direction direction;
  std::string fault, class_name;
  bool operator==(const SeriesKey&) const = default;
};
SeriesKey key_of(const campaign::SavedCell& cell, const campaign::Series& s) {
  return {s.bit, s.direction, cell.faults[s.fault].text, cell.faults[s.fault].class_name};
}

const campaign::SeriesResult* series_of(const CampaignLine& line, const SeriesKey& key) {
  for (const campaign::SeriesResult& s : line.result().series) {
    if (key_of(*line.cell, s.series) == key) return &s;
  }
  return nullptr;
}

// Returns a table with one row for each series of any result: the number of faults of each outcome,
// and the detections of each gate.
std::string series_table(const Group& group, bool census) {
  std::vector<SeriesKey> keys;
  std::string rows;
  bool classes = false;
  for (const campaign::SavedCell* cell : group.cells) {
    for (const campaign::SavedFault& f : cell->faults) classes = classes || !f.class_name.empty();
  }
  for (const campaign::SavedCell* cell : group.cells) {
    for (const campaign::SeriesResult& s : cell->result.gates.front().series) {
      const SeriesKey key = key_of(*cell, s.series);
      if ((s.series.bit >= 0) != census || contains(keys, key)) {
        continue;
      }
      keys.push_back(key);
      rows += "<tr>" + name_cell(series_name(*cell, s.series)) +
              (classes ? name_cell(key.class_name) : "");
      for (const std::int64_t n :
           {s.faults.injected, s.faults.masked, s.faults.not_injectable, s.faults.not_finite}) {
        rows += number_cell(grouped(n));
      }
      for (const CampaignLine& line : group.lines) {
        const campaign::SeriesResult* of = series_of(line, key);
        rows += of == nullptr ? "<td class=\"num bar\">-</td>" : rate_cell(of->detected, line);
      }
      rows += "</tr>\n";
    }
  }
  if (rows.empty()) return "";
  return table(formatted("<th>fault{}<th class=num>injected<th class=num>masked<th class=num>not "
                         "injectable<th class=num>not finite",
                         classes ? "<th>class" : "") +
                   line_heads(group.lines),
               rows);
}

std::string class_table(const Group& group) {
  std::vector<std::string> names;
  std::string rows;
  for (const campaign::SavedCell* cell : group.cells) {
    for (const campaign::ClassResult& of : cell->result.gates.front().classes) {
      if (contains(names, of.name)) continue;
      names.push_back(of.name);
      rows += "<tr>" + name_cell(of.name) + number_cell(grouped(of.faults.injected));
      for (const CampaignLine& line : group.lines) {
        const std::vector<campaign::ClassResult>& classes = line.result().classes;
        const auto found = std::ranges::find(classes, of.name, &campaign::ClassResult::name);
        rows += found == classes.end() ? "<td class=\"num bar\">-</td>"
                                       : rate_cell(found->detected, line);
      }
      rows += "</tr>\n";
    }
  }
  if (rows.empty()) return "";
  return "<h3>Detected by class of fault, %</h3>\n" +
         table("<th>class<th class=num>injected" + line_heads(group.lines), rows);
}

// -- The ROC curve, and the histograms of D/T (difference over threshold)

const campaign::RocPoint* first_point(const std::vector<campaign::RocPoint>& points,
                                      const auto& holds) {
  const auto found = std::ranges::find_if(points, holds);
  return found == points.end() ? nullptr : &*found;
}

// Returns the table of possible thresholds for each gate: the threshold itself, one without a false
// alarm on these rows, and ones with few false alarms.
std::string operating_points(const std::vector<CampaignLine>& lines) {
  std::string rows;
  for (const CampaignLine& line : lines) {
    const std::vector<campaign::RocPoint> points = campaign::roc(line.result());
    if (points.empty()) continue;
    rows +=
        formatted("<tr><td class=name>{}{}</td>", breakable(line.name), void_mark(line.result()));
    const campaign::RocPoint* at_one =
        first_point(points, [](const campaign::RocPoint& p) { return p.multiple >= 1; });
    const auto cells = [&](const campaign::RocPoint* p, bool multiple, bool alarms) {
      if (multiple) {
        rows += number_cell(p == nullptr ? "-" : formatted("{} T", short_number(p->multiple)));
      }
      if (alarms) rows += number_cell(p == nullptr ? "-" : rate_percent(p->false_alarms));
      rows += number_cell(p == nullptr ? "-" : rate_percent(p->detections));
    };
    cells(at_one, false, true);
    for (const double most : {0.0, 0.001, 0.01}) {
      cells(
          first_point(points, [&](const campaign::RocPoint& p) { return p.false_alarms <= most; }),
          true, false);
    }
    rows += "</tr>\n";
  }
  if (rows.empty()) return "";
  return table(
      "<th>detector<th class=num>false alarms at T, %<th class=num>detected at T, %<th "
      "class=num>no false alarm on these rows at<th class=num>detected there, %<th class=num>at "
      "most 0.1 % false alarms at<th class=num>detected there, %<th class=num>at most 1 % false "
      "alarms at<th class=num>detected there, %",
      rows);
}

std::string roc_tables(const std::vector<CampaignLine>& lines) {
  std::string out;
  for (const CampaignLine& line : lines) {
    std::string rows;
    for (const campaign::RocPoint& p : campaign::roc(line.result())) {
      rows += "<tr>" + number_cell(short_number(p.multiple, 5)) +
              number_cell(short_number(100 * p.false_alarms, 6)) +
              number_cell(short_number(100 * p.detections, 6)) + "</tr>\n";
    }
    if (rows.empty()) continue;
    out += formatted("<h4>{}</h4>\n", xml_escaped(line.name)) +
           table(
               "<th class=num>threshold, T<th class=num>false alarms, % of clean rows<th "
               "class=num>detected, %",
               rows);
  }
  return out;
}

std::string ratio_tables(const std::vector<CampaignLine>& lines) {
  std::string out;
  for (const CampaignLine& line : lines) {
    std::string rows;
    for (const RatioStep& s : ratio_steps(line.result())) {
      if (s.clean + s.faulty == 0) continue;
      rows += "<tr>" + cell_html(s.from_to) + number_cell(grouped(s.clean)) +
              number_cell(grouped(s.faulty)) + "</tr>\n";
    }
    if (rows.empty()) continue;
    out += formatted("<h4>{}</h4>\n", xml_escaped(line.name)) +
           table("<th>D/T, above and up to<th class=num>clean rows<th class=num>faults", rows);
  }
  return out;
}

// -- Published rates

std::string published_table(const Group& group) {
  std::string rows;
  std::int64_t agree = 0, differ = 0, defects = 0;
  for (const CampaignLine& line : group.lines) {
    const campaign::GateResult& gate = line.result();
    for (const campaign::SavedPublished& p : line.cell->published[line.gate]) {
      campaign::MeasuredRate ours;
      if (p.bit < 0) {
        ours.rate = {gate.alarmed_matrices, gate.clean_matrices};
        ours.clusters = gate.clean_matrices;
        if (ours.clusters >= campaign::kLeastClusters) {
          ours.interval = campaign::wilson(ours.rate, campaign::kConfidence);
        }
      } else {
        const auto found = std::ranges::find_if(gate.series, [&](const auto& s) {
          return s.series.bit == p.bit && s.series.direction == p.direction;
        });
        if (found != gate.series.end()) ours = found->detected;
      }
      std::string verdict = "agrees", kind = "pass";
      if (p.word == "void") {
        verdict = kind = "";
      } else if (!p.remark.empty()) {
        verdict = "held to be a defect of the publication: " + p.remark;
        kind = "soft";
        ++defects;
      } else if (!p.agrees) {
        verdict = formatted("not judged: fewer than {} matrices", campaign::kLeastClusters);
        kind = "soft";
      } else if (*p.agrees) {
        ++agree;
      } else {
        verdict = p.why.empty() ? "differs" : "differs: " + p.why;
        kind = "warn";
        ++differ;
      }
      const std::string what =
          p.bit < 0 ? "runs with an alarm" : campaign::Series{0, p.bit, p.direction}.text();
      rows += "<tr>" + name_cell(line.name) +
              cell_html(what + (p.variant.empty() ? "" : ", " + p.variant)) +
              number_cell(p.rate             ? short_number(100 * *p.rate, 6)
                          : p.word == "void" ? "void"
                                             : "not injectable") +
              number_cell(grouped(p.trials)) +
              formatted("<td class=num>{}{}</td>",
                        ours.rate.trials == 0 ? "not injectable" : xml_escaped(rate_text(ours)),
                        p.bit >= 0 && ours.rate.events > 0 ? void_mark(gate) : "") +
              formatted("<td class=\"{}\">{}</td></tr>\n", kind, xml_escaped(verdict));
    }
  }
  if (rows.empty()) return "";
  return folded(formatted("Published and measured rates: {} agree, {} differ, {} held to be "
                          "defects of the publication",
                          grouped(agree), grouped(differ), grouped(defects)),
                table("<th>detector<th>rate<th class=num>published, %<th class=num>trials<th "
                      "class=num>measured, %<th>verdict",
                      rows));
}

// -- Several results

struct Pair {
  std::string cell, gate, what;
  std::size_t run;  // number of the result that is compared with the first one
  campaign::MeasuredRate first, other;
};

// Returns all rates that both the first result and another one have.
std::vector<Pair> pairs_of(const std::vector<Group>& groups) {
  std::vector<Pair> pairs;
  for (const Group& group : groups) {
    for (const CampaignLine& a : group.lines) {
      if (a.run != 0) continue;
      for (const CampaignLine& b : group.lines) {
        if (b.run == 0 || b.color != a.color) continue;
        const std::string& gate = a.result().gate;
        pairs.push_back(
            {group.name, gate, "false alarms", b.run, a.result().alarms, b.result().alarms});
        for (const campaign::SeriesResult& s : a.result().series) {
          const SeriesKey key = key_of(*a.cell, s.series);
          const campaign::SeriesResult* other = series_of(b, key);
          if (other == nullptr) continue;
          pairs.push_back({group.name, gate, series_name(*a.cell, s.series), b.run, s.detected,
                           other->detected});
        }
      }
    }
  }
  return pairs;
}

std::string comparison(const std::vector<Group>& groups,
                       const std::vector<campaign::SavedCampaign>& results) {
  std::string out = "<h2>Side by side</h2>\n", rows, alone;
  std::int64_t compared = 0, apart = 0, without = 0;
  for (const Pair& p : pairs_of(groups)) {
    if (p.first.rate.trials == 0 || p.other.rate.trials == 0) continue;
    if (!p.first.interval || !p.other.interval) {
      ++without;
      continue;
    }
    ++compared;
    if (p.first.interval->high >= p.other.interval->low &&
        p.other.interval->high >= p.first.interval->low) {
      continue;
    }
    ++apart;
    rows += "<tr>" + name_cell(p.cell) + name_cell(p.gate) + cell_html(p.what) +
            number_cell(rate_text(p.first)) + (results.size() > 2 ? cell_html(letter(p.run)) : "") +
            number_cell(rate_text(p.other)) +
            number_cell(formatted("{:+.2f}", 100 * campaign::share_of(p.other.rate) -
                                                 100 * campaign::share_of(p.first.rate))) +
            "</tr>\n";
  }
  for (const Group& group : groups) {
    std::vector<std::string> missing;
    for (std::size_t run = 0; run < results.size(); ++run) {
      if (!contains(group.runs, run)) {
        missing.push_back(letter(run));
      }
    }
    if (!missing.empty()) {
      alone += formatted("<li>{}: not in {}", xml_escaped(group.name), joined(missing));
    }
  }
  out += formatted(
      "<p>A and another result have {} rate{} in common. The 95 % intervals of {} do not overlap. "
      "A few of many do not overlap by chance, and rates whose intervals overlap may "
      "differ.{}</p>\n",
      grouped(compared), compared == 1 ? "" : "s", grouped(apart),
      without > 0
          ? formatted(" {} more have no interval, because they have fewer than {} matrices.",
                      grouped(without), campaign::kLeastClusters)
          : "");
  if (!rows.empty()) {
    out += table(
        formatted("<th>cell<th>detector<th>rate<th class=num>A, %{}<th class=num>{}, %<th "
                  "class=num>difference",
                  results.size() > 2 ? "<th>result" : "", results.size() > 2 ? "its rate" : "B"),
        rows);
  }
  if (!alone.empty())
    out += formatted("<p>Cells that not all results have:</p><ul>{}</ul>\n", alone);
  return out;
}

// -- The page

std::string facts(const campaign::SavedCell& cell) {
  std::vector<std::string> inputs;
  for (const auto& [name, draw] : cell.inputs) inputs.push_back(formatted("{}: {}", name, draw));
  return formatted("{} on {}, {}{}, shape {}{}; {} {}", cell.op, cell.machine, cell.dtype,
                   cell.output_dtype == cell.dtype ? "" : " to " + cell.output_dtype,
                   shape_text(cell.shape), inputs.empty() ? "" : "; " + joined(inputs, "; "),
                   grouped(cell.result.matrices),
                   cell.result.matrices == 1 ? "matrix" : "matrices");
}

std::string group_html(const Group& group, std::size_t number, std::size_t runs, bool open) {
  std::string out = formatted("<details class=cell id=cell{}{}><summary>{}</summary>\n", number,
                              open ? " open" : "", xml_escaped(group.name));
  for (std::size_t i = 0; i < group.cells.size(); ++i) {
    out += formatted("<p class=\"facts soft\">{}{}</p>\n",
                     runs > 1 ? letter(group.runs[i]) + ": " : "",
                     xml_escaped(facts(*group.cells[i])));
  }
  out += legend(group.lines);
  const std::string pictures = bits_plots(group.lines) + roc_plot(group.lines);
  if (!pictures.empty()) out += formatted("<div class=charts>{}</div>\n", pictures);
  out += operating_points(group.lines);
  out += class_table(group);
  const std::string drawn = series_table(group, false);
  if (!drawn.empty()) out += "<h3>Detected by fault, %</h3>\n" + drawn;
  out += folded("Every bit as a table", series_table(group, true));
  out += published_table(group);
  const std::string ratios = ratio_plots(group.lines);
  if (!ratios.empty()) {
    out += formatted(
        "<h3>D/T of clean rows and of faults</h3>\n<div class=legend><span><span class=\"swatch "
        "c1\"></span> clean rows</span><span><span class=\"swatch c2\"></span> "
        "faults</span></div>\n<div class=charts>{}</div>\n",
        ratios);
    out += folded("Histograms as tables", ratio_tables(group.lines));
  }
  out += folded("ROC as tables", roc_tables(group.lines));
  return out + "</details>\n";
}

std::string source_table(const std::vector<campaign::SavedCampaign>& results) {
  std::string rows;
  for (std::size_t run = 0; run < results.size(); ++run) {
    const campaign::SavedCampaign& r = results[run];
    rows += "<tr>" + (results.size() > 1 ? cell_html(letter(run)) : "") + name_cell(r.name) +
            formatted("<td class=name><code>{}</code></td>", xml_escaped(r.source)) +
            number_cell(r.seed) +
            formatted("<td class=name><code>{}</code></td>", xml_escaped(r.fingerprint)) +
            number_cell(grouped(static_cast<std::int64_t>(r.cells.size()))) + "</tr>\n";
  }
  return table(
      formatted(
          "{}<th>campaign<th>file<th class=num>seed<th>fingerprint of the plan<th class=num>cells",
          results.size() > 1 ? "<th>result" : ""),
      rows);
}

// Explains the short forms that occur on the page.
std::string notes(const std::vector<Group>& groups) {
  ShortForms used;
  bool elementwise = false, let_through = false;
  for (const Group& group : groups) {
    for (const CampaignLine& line : group.lines) {
      const campaign::GateResult& g = line.result();
      used.add(g);
      elementwise = elementwise || campaign::is_elementwise(g.gate);
      let_through = let_through || g.clean.dismissed > 0;
    }
  }
  std::string out =
      "<h2>How to read this</h2>\n<ul>\n<li>Rates are in percent of the faults that could be "
      "injected and checked, or of the clean rows. The numbers in brackets and the whiskers are 95 "
      "% intervals by whole matrices, because the faults of one matrix are not independent.\n"
      "<li>D is the difference that a check found, and T is its threshold. D/T above 1 is an "
      "alarm. D/T is counted in bins of an eighth of an octave, and the points of a curve lie at "
      "their edges, so that they are exact. The largest D/T of a row counts.\n"
      "<li>A ROC curve has all faults of its cell, each as often as in the plan. Its rates have no "
      "intervals. The point with a ring is the threshold itself. If several multiples have the "
      "same rates, the largest is shown.\n";
  for (const auto& [form, meaning] : used.explained()) {
    out += formatted("<li>{}: {}\n",
                     form == "void" ? "<span class=void>void</span>" : xml_escaped(form), meaning);
  }
  if (elementwise) {
    out +=
        "<li>For a tolerance or a standard, T is the bound of an element. D/T of elements within "
        "their bounds is not kept, so the curve begins at T.\n";
  }
  if (let_through) {
    out +=
        "<li>Dismissed: above the threshold, but found clean element by element. A ROC curve "
        "counts such rows as alarms, and such faults as not detected.\n";
  }
  return out + "</ul>\n";
}

}  // namespace

std::string campaign_html(const std::vector<campaign::SavedCampaign>& results,
                          const std::string& command, const std::string& version) {
  if (results.empty()) refuse("a page needs at least one result");
  const std::vector<Group> groups = groups_of(results);
  std::int64_t matrices = 0, rates = 0, voids = 0;
  for (const Group& group : groups) {
    for (const campaign::SavedCell* cell : group.cells) matrices += cell->result.matrices;
    for (const CampaignLine& line : group.lines) {
      ++rates;
      voids += line.result().is_void() ? 1 : 0;
    }
  }
  std::vector<std::string> names;
  for (const campaign::SavedCampaign& r : results) {
    if (!contains(names, r.name)) names.push_back(r.name);
  }
  const std::string title =
      formatted("Fault campaign{}: {}", names.size() > 1 ? "s" : "", joined(names));
  const auto number = [](std::size_t n) { return grouped(static_cast<std::int64_t>(n)); };
  std::string body = formatted("<h1>{}</h1>\n", xml_escaped(title));
  for (const campaign::SavedCampaign& r : results) {
    if (&r == &results.front() || r.about != results.front().about) {
      body += formatted("<p class=soft>{}</p>\n", xml_escaped(r.about));
    }
  }
  body += "<div class=cards>\n";
  if (results.size() > 1) body += page_card("", number(results.size()), "results");
  body += page_card("", number(groups.size()), groups.size() == 1 ? "cell" : "cells") +
          page_card("", grouped(matrices), matrices == 1 ? "matrix" : "matrices") +
          page_card("", grouped(rates), "gates in cells") +
          page_card("warn", grouped(voids), "of these void") + "</div>\n";
  body += source_table(results);
  if (results.size() > 1) body += comparison(groups, results);
  body += "<h2>False alarms on clean rows</h2>\n" + alarm_table(groups, results.size());
  body += "<h2>Faults</h2>\n";
  // Up to this number of cells, the page shows all of them unfolded. With more cells it opens
  // quickly, because the reader unfolds them one by one.
  constexpr std::size_t kOpen = 8;
  if (groups.size() > 1 && groups.size() <= kOpen) {
    body += "<ul>\n";
    for (std::size_t i = 0; i < groups.size(); ++i) {
      body += formatted("<li><a href=\"#cell{}\">{}</a>\n", i + 1, xml_escaped(groups[i].name));
    }
    body += "</ul>\n";
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    body += group_html(groups[i], i + 1, results.size(), groups.size() <= kOpen);
  }
  body += notes(groups);
  return page_html({.title = "assay: " + title,
                    .style = std::string(kPlotStyle) + kCampaignStyle,
                    .body = body,
                    .footer = formatted("assay {}; made by: {}", version, command)});
}

}  // namespace assay::report
