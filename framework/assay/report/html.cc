#include "assay/report/html.h"

#include <algorithm>
#include <cmath>

#include "assay/base/text.h"
#include "assay/judge/metric_table.h"
#include "assay/report/chart.h"
#include "assay/report/escape.h"
#include "assay/report/text.h"

namespace assay::report {
namespace {

constexpr const char* kStyle = R"(
:root { --pass:#1a7f37; --fail:#cf222e; --warn:#9a6700; --line:#d0d7de; --soft:#57606a; }
body { font:15px/1.5 system-ui,sans-serif; color:#1f2328; margin:2rem auto; max-width:74rem; padding:0 1rem; }
h1 { font-size:1.5rem; margin:0; } h2 { font-size:1.1rem; margin:2rem 0 .5rem; }
.soft { color:var(--soft); } code,pre { font:13px/1.45 ui-monospace,monospace; }
.cards { display:flex; gap:1rem; flex-wrap:wrap; margin:1.2rem 0; }
.card { border:1px solid var(--line); border-radius:8px; padding:.6rem 1.2rem; min-width:7rem; }
.card b { display:block; font-size:1.7rem; line-height:1.2; }
.pass { color:var(--pass); } .fail,.error { color:var(--fail); } .untrusted,.not_comparable { color:var(--warn); }
table { border-collapse:collapse; width:100%; } th { text-align:left; border-bottom:2px solid var(--line); }
td,th { padding:.3rem .7rem .3rem 0; vertical-align:top; } td { border-bottom:1px solid var(--line); }
.num { text-align:right; font-variant-numeric:tabular-nums; }
pre { background:#f6f8fa; border-radius:6px; padding:.8rem; overflow-x:auto; white-space:pre-wrap; }
.charts { display:grid; grid-template-columns:1fr 1fr; gap:1.5rem; }
@media (max-width:60rem) { .charts { grid-template-columns:1fr; } }
)";

std::string card(const char* kind, std::int64_t count, const char* word) {
  return format("<div class=card><b class={}>{}</b>{}</div>\n", count > 0 ? kind : "soft", count,
                word);
}

const char* color_of(Outcome outcome) {
  return outcome == Outcome::kPass ? "#1a7f37" : outcome == Outcome::kFail ? "#cf222e" : "#9a6700";
}

// Metrics that stand in the table, by their names.
constexpr std::string_view kColumns[] = {"max_abs_error", "max_ulp", "snr_db"};

std::string metric_heads() {
  std::string heads;
  for (const std::string_view name : kColumns) {
    heads += "<th class=num>" + find_metric(name)->heading();
  }
  return heads;
}

std::string metric_cells(const Verdict& v) {
  std::string cells;
  for (const std::string_view name : kColumns) {
    cells += format("<td class=num>{}</td>", v.metrics ? find_metric(name)->cell(*v.metrics) : "-");
  }
  return cells;
}

// The name of a case, after its file where there are several.
std::string name_cells(const CaseReport& c, bool several) {
  return format("{}<td><code>{}</code></td>",
                several ? format("<td><code>{}</code></td>", xml_escaped(c.file)) : "",
                xml_escaped(c.title()));
}

// Its outcome, coloured.
std::string outcome_cell(const CaseReport& c, Outcome outcome) {
  const bool excused = c.remark == Remark::kKnownFailure;
  const bool remarked = c.remark != Remark::kNone && outcome == c.judged();
  return format("<td class={}><b>{}</b></td>",
                remarked ? excused ? "untrusted" : "fail" : outcome_word(outcome),
                c.outcome_text(outcome));
}

std::string row(const CaseReport& c, const Verdict& v, bool several) {
  const bool judged = v.sites > 0;
  std::string notes;
  for (const std::string& note : notes_of(v)) {
    notes += format("<div class=soft>{}</div>", xml_escaped(note));
  }
  const auto number = [](const std::string& text) { return format("<td class=num>{}</td>", text); };
  return format(
      "<tr>{}{}<td>{} {}</td><td>{}</td>{}{}{}{}<td>{}</td></tr>\n",
      name_cells(c, several), outcome_cell(c, v.outcome), xml_escaped(c.dtype),
      shape_text(c.shape), xml_escaped(c.producer), number(judged ? grouped(v.misses) : "-"),
      number(judged ? short_number(v.worst_ratio) : "-"), number(blind_cell(v)), metric_cells(v),
      xml_escaped(v.bound.standard.empty()
                      ? "-"
                      : format("{}: {}", standard_text(v.bound), v.bound.text())) +
          notes);
}

}  // namespace

std::string gate_html(const GateReport& report) {
  std::int64_t counts[4] = {}, unreadable = 0, known = 0;
  const bool several = !report.files.empty();
  std::string rows, explanations;
  RowsChart ratios{.title = "largest error / bound (above 1: fails; 1e4 and more at the edge)",
                   .logarithmic = true,
                   .shown = {0.01, 1}};
  RowsChart snrs{.title = "signal to noise, dB"};
  for (const CaseReport& c : report.cases) {
    if (!c.error.empty()) {
      ++unreadable;
      explanations +=
          format("<h3><code>{}</code>: <span class=fail>error</span></h3>\n<pre>{}</pre>\n",
                 xml_escaped(c.title()),
                 xml_escaped(c.error +
                             (c.reproduce.empty() ? "" : "\nreproduce: " + c.reproduce)));
      continue;
    }
    if (c.remark == Remark::kKnownFailure) {
      ++known;
    } else {
      ++counts[static_cast<std::size_t>(c.outcome())];
    }
    if (c.remark != Remark::kNone) {
      const bool excused = c.remark == Remark::kKnownFailure;
      explanations += format("<h3><code>{}</code>: <span class={}>{}</span></h3>\n<pre>{}</pre>\n",
                             xml_escaped(c.title()), excused ? "untrusted" : "fail", c.outcome_text(),
                             xml_escaped(explain_remark(c)));
    }
    if (c.verdicts.empty() && !c.abft) {
      rows += format("<tr>{}<td class=fail><b>{}</b></td></tr>\n", name_cells(c, several),
                     c.outcome_text());
    }
    for (const Verdict& v : c.verdicts) {
      rows += row(c, v, several);
      // The charts end where a larger number says nothing more; the table has them all.
      const double ratio = v.sites > 0 ? std::min(v.worst_ratio, 1e4) : NAN;
      const double snr = v.metrics ? std::max(v.metrics->snr_db, -20.0) : NAN;
      ratios.rows.push_back({c.title(), ratio, color_of(v.outcome), short_number(v.worst_ratio)});
      snrs.rows.push_back(
          {c.title(), snr, color_of(v.outcome), v.metrics ? short_number(v.metrics->snr_db) : ""});
      if (v.outcome == Outcome::kPass || c.remark != Remark::kNone) continue;
      explanations += format("<h3><code>{}</code>: <span class={}>{}</span></h3>\n<pre>{}</pre>\n",
                             xml_escaped(c.title()), outcome_word(v.outcome), outcome_word(v.outcome),
                             xml_escaped(explain(v, c.reproduce)));
    }
    if (!c.abft) continue;
    const AbftVerdict& a = *c.abft;
    rows += format(
        "<tr>{}{}<td>{} {}</td><td>{}</td>"
        "<td class=num>{}</td><td class=num>{}</td><td class=num>-</td><td class=num>-</td>"
        "<td class=num>-</td><td class=num>-</td><td>abft {}</td></tr>\n",
        name_cells(c, several), outcome_cell(c, a.outcome), xml_escaped(c.dtype),
        shape_text(c.shape), xml_escaped(c.producer), grouped(a.flagged),
        short_number(a.worst_ratio), xml_escaped(a.spec));
    if (a.outcome != Outcome::kPass && c.remark == Remark::kNone) {
      explanations += format(
          "<h3><code>{}</code>: checksums: <span class={}>{}</span></h3>\n"
          "<pre>{}</pre>\n",
          xml_escaped(c.title()), outcome_word(a.outcome), outcome_word(a.outcome),
          xml_escaped(explain(a, c.reproduce)));
    }
  }
  const std::string outcome(unreadable > 0 ? "error" : outcome_word(report_outcome(report)));
  std::string page = "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n";
  page += format("<title>assay: {} - {}</title>\n<style>{}</style></head><body>\n", outcome,
                 xml_escaped(report.golden_file), kStyle);
  page += format("<h1>Precision gate: <span class={}>{}</span></h1>\n", outcome, outcome);
  page += format(
      "<div class=soft><code>{}</code><br>golden results: <code>{}</code>; assay {}, SIMD "
      "target {}</div>\n",
      xml_escaped(report.command), xml_escaped(report.golden_file), xml_escaped(report.version),
      xml_escaped(report.simd_target));
  for (const std::string& note :
       {report.note, report.without_golden.empty() ? "" : without_golden_text(report)}) {
    if (!note.empty()) page += format("<p>{}</p>\n", xml_escaped(note));
  }
  for (const std::string& note : report.notes) {
    page += format("<p>{}</p>\n", xml_escaped(note));
  }
  page += "<div class=cards>\n" + card("pass", counts[0], "pass") +
          card("fail", counts[1], "fail") + card("untrusted", counts[2], "untrusted") +
          card("not_comparable", counts[3], "not comparable") +
          (known > 0 ? card("untrusted", known, "known failures") : "") +
          (unreadable > 0 ? card("fail", unreadable, "unreadable") : "") + "</div>\n";
  page += format("<div class=charts><div>{}</div><div>{}</div></div>\n", rows_svg(ratios),
                 rows_svg(snrs));
  if (!explanations.empty()) page += "<h2>What did not pass</h2>\n" + explanations;
  page +=
      format("<h2>Cases</h2>\n<table><tr>{}<th>case<th>outcome<th>output<th>of", several ? "<th>file" : "") +
      "<th class=num>misses<th class=num>max error / bound<th class=num>blind" +
      metric_heads() + "<th>bound</tr>\n" + rows + "</table>\n";
  page += "</body></html>\n";
  return page;
}

}  // namespace assay::report
