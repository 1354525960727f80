// One self-contained page: the verdicts as a table, charts of what the errors are like, and the
// explanation of every case that did not pass.
#include <algorithm>
#include <cmath>

#include "assay/base/text.h"
#include "assay/report/escape.h"
#include "assay/report/report.h"

namespace assay {

std::string_view embedded_chart_js();  // Chart.js (MIT), linked in by CMake

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
.charts { display:grid; grid-template-columns:1fr 1fr; gap:1.5rem; } .chart { height:22rem; position:relative; }
@media (max-width:60rem) { .charts { grid-template-columns:1fr; } }
)";

std::string card(const char* kind, std::int64_t count, const char* word) {
  return format("<div class=card><b class={}>{}</b>{}</div>\n", count > 0 ? kind : "soft", count,
                word);
}

// A number for JavaScript: what a logarithmic or finite axis cannot show is null.
std::string js_number(double value) { return std::isfinite(value) ? format("{}", value) : "null"; }

std::string js_strings(const std::vector<std::string>& words) {
  std::vector<std::string> literals;
  for (const std::string& w : words) literals.push_back(js_string(w));
  return "[" + joined(literals, ",") + "]";
}

std::string row(const CaseReport& c, const Verdict& v) {
  const bool judged = v.sites > 0;
  const auto number = [](const std::string& text) { return format("<td class=num>{}</td>", text); };
  return format(
      "<tr><td><code>{}</code></td><td class={}><b>{}</b></td><td>{} {}</td><td>{}</td>{}{}{}{}{}"
      "<td>{}</td></tr>\n",
      xml_escaped(c.name), outcome_word(v.outcome), outcome_word(v.outcome), xml_escaped(c.dtype),
      shape_text(c.shape), xml_escaped(c.producer), number(judged ? grouped(v.misses) : "-"),
      number(judged ? short_number(v.worst_ratio) : "-"),
      number(v.metrics ? short_number(v.metrics->max_abs_error) : "-"),
      number(v.metrics ? format("{}", v.metrics->max_ulps) : "-"),
      number(v.metrics ? short_number(v.metrics->snr_db) : "-"),
      xml_escaped(v.bound.standard.empty() ? "-" : v.bound.text()));
}

}  // namespace

std::string gate_html(const GateReport& report) {
  std::int64_t counts[4] = {}, unreadable = 0;
  std::string rows, explanations;
  std::vector<std::string> names, ratios, snrs, colors;
  for (const CaseReport& c : report.cases) {
    if (!c.error.empty()) {
      ++unreadable;
      explanations +=
          format("<h3><code>{}</code>: <span class=fail>error</span></h3>\n<pre>{}</pre>\n",
                 xml_escaped(c.name), xml_escaped(c.error));
      continue;
    }
    ++counts[static_cast<std::size_t>(c.outcome())];
    for (const Verdict& v : c.verdicts) {
      rows += row(c, v);
      names.push_back(c.name);
      // The charts end where a larger number says nothing more; the table has them all.
      ratios.push_back(js_number(v.worst_ratio > 0 ? std::min(v.worst_ratio, 1e4) : NAN));
      snrs.push_back(js_number(v.metrics ? std::max(v.metrics->snr_db, -20.0) : NAN));
      colors.push_back(v.outcome == Outcome::kPass   ? "#1a7f37"
                       : v.outcome == Outcome::kFail ? "#cf222e"
                                                     : "#9a6700");
      if (v.outcome == Outcome::kPass) continue;
      explanations += format("<h3><code>{}</code>: <span class={}>{}</span></h3>\n<pre>{}</pre>\n",
                             xml_escaped(c.name), outcome_word(v.outcome), outcome_word(v.outcome),
                             xml_escaped(explain(v, c.reproduce)));
    }
    if (!c.abft) continue;
    const AbftVerdict& a = *c.abft;
    rows += format(
        "<tr><td><code>{}</code></td><td class={}><b>{}</b></td><td>{} {}</td><td>{}</td>"
        "<td class=num>{}</td><td class=num>{}</td><td class=num>-</td><td class=num>-</td>"
        "<td class=num>-</td><td>abft {}</td></tr>\n",
        xml_escaped(c.name), outcome_word(a.outcome), outcome_word(a.outcome), xml_escaped(c.dtype),
        shape_text(c.shape), xml_escaped(c.producer), grouped(a.flagged),
        short_number(a.worst_ratio), xml_escaped(a.spec));
    if (a.outcome != Outcome::kPass) {
      explanations += format(
          "<h3><code>{}</code>: checksums: <span class={}>{}</span></h3>\n"
          "<pre>{}</pre>\n",
          xml_escaped(c.name), outcome_word(a.outcome), outcome_word(a.outcome),
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
  page += "<div class=cards>\n" + card("pass", counts[0], "pass") +
          card("fail", counts[1], "fail") + card("untrusted", counts[2], "untrusted") +
          card("not_comparable", counts[3], "not comparable") +
          (unreadable > 0 ? card("fail", unreadable, "unreadable") : "") + "</div>\n";
  page +=
      "<div class=charts><div class=chart><canvas id=ratio></canvas></div>"
      "<div class=chart><canvas id=snr></canvas></div></div>\n";
  if (!explanations.empty()) page += "<h2>What did not pass</h2>\n" + explanations;
  page +=
      "<h2>Cases</h2>\n<table><tr><th>case<th>outcome<th>output<th>of<th class=num>misses"
      "<th class=num>max error / bound<th class=num>max abs error<th class=num>max ulp"
      "<th class=num>SNR dB<th>bound</tr>\n" +
      rows + "</table>\n";
  page += format("<script>{}</script>\n", embedded_chart_js());
  page += format("<script>\nconst names = {}, ratios = [{}], snrs = [{}], colors = {};\n",
                 js_strings(names), joined(ratios, ","), joined(snrs, ","), js_strings(colors));
  page += R"(const chart = (id, title, data, scale) => new Chart(document.getElementById(id), {
  type: 'bar',
  data: { labels: names, datasets: [{ data, backgroundColor: colors }] },
  options: { indexAxis: 'y', animation: false, maintainAspectRatio: false,
    plugins: { legend: { display: false }, title: { display: true, text: title } },
    scales: { x: scale, y: { ticks: { autoSkip: names.length > 40, font: { size: 10 } } } } } });
chart('ratio', 'largest error / bound (above 1: fails; 1e4 and more at the edge)', ratios,
      { type: 'logarithmic', suggestedMin: 0.01, suggestedMax: 1 });
chart('snr', 'signal to noise, dB', snrs, { beginAtZero: true });
</script>
</body></html>
)";
  return page;
}

}  // namespace assay
