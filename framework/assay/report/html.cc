#include "assay/report/html.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/judge/metric_table.h"
#include "assay/report/chart.h"
#include "assay/report/escape.h"
#include "assay/report/gate_text.h"
#include "assay/report/html_data.h"
#include "assay/report/html_script.h"
#include "assay/report/page.h"

namespace assay::inline v0_2::report {
namespace {

// The largest numbers of rows and explanations that the page shows without its script, and the
// largest lengths of the lists that give an overview.
constexpr std::size_t kPlainRows = 1000, kPlainExplanations = 200;
constexpr std::size_t kListedFiles = 20, kListedOperators = 200, kChartRows = 40;

// The columns of the table of outcomes. `word` is an outcome, `kind` the CSS class of its word, and
// `words` the text on the page if that differs.
struct OutcomeColumn {
  std::string_view word, kind, words = word;
};
constexpr OutcomeColumn kOutcomes[] = {
    {"pass", "pass"},      {"fail", "fail"},
    {"worse", "fail"},     {"disappeared", "fail"},
    {"expired", "fail"},   {"unexpected_pass", "fail", "unexpected pass"},
    {"error", "fail"},     {"not_comparable", "warn", "not comparable"},
    {"untrusted", "warn"}, {"known_failure", "warn", "known failures"}};

std::string_view kind_of(const CaseReport& c, Outcome outcome) {
  const auto* column = find_row(kOutcomes, c.outcome_text(outcome), &OutcomeColumn::word);
  return column != nullptr ? column->kind : "fail";
}

std::string color_of(const CaseReport& c, Outcome outcome) {
  return formatted("var(--{})", kind_of(c, outcome));
}

std::string metric_heads() {
  std::string heads;
  for (const std::string_view name : kMetricColumns) {
    heads += "<th class=num>" + find_metric(name)->heading();
  }
  return heads;
}

// Returns the cells with the name of a case, and in front of it the name of its file if there are
// several files.
std::string name_cells(const CaseReport& c, bool several) {
  return formatted("{}<td><code>{}</code></td>",
                   several ? formatted("<td><code>{}</code></td>", xml_escaped(c.file)) : "",
                   xml_escaped(c.title()));
}

// Returns the cell with the outcome of a case, in the outcome's colour.
std::string outcome_cell(const CaseReport& c, Outcome outcome) {
  return formatted("<td class={}><b>{}</b></td>", kind_of(c, outcome), c.outcome_text(outcome));
}

// Returns the row of a verdict. `numbers` are the cells from the mismatches to the last metric, and
// `bound` is HTML.
std::string plain_row(const CaseReport& c, bool several, Outcome outcome,
                      const std::vector<std::string>& numbers, const std::string& bound) {
  std::string cells;
  for (const std::string& number : numbers) cells += formatted("<td class=num>{}</td>", number);
  return formatted("<tr>{}{}<td>{} {}</td><td>{}</td>{}<td>{}</td></tr>\n", name_cells(c, several),
                   outcome_cell(c, outcome), xml_escaped(c.dtype), shape_text(c.shape),
                   xml_escaped(c.producer), cells, bound);
}

std::string plain_row(const CaseReport& c, const Verdict& v, bool several) {
  const bool judged = v.sites > 0;
  std::vector<std::string> numbers = {judged ? grouped(v.mismatches) : "-",
                                      judged ? short_number(v.worst_ratio) : "-", blind_cell(v)};
  for (const std::string_view name : kMetricColumns) {
    numbers.push_back(v.metrics ? find_metric(name)->cell(*v.metrics) : "-");
  }
  std::string bound = xml_escaped(
      v.bound.standard.empty() ? "-" : formatted("{}: {}", standard_text(v.bound), v.bound.text()));
  for (const std::string& note : notes_of(v)) {
    bound += formatted("<div class=soft>{}</div>", xml_escaped(note));
  }
  return plain_row(c, several, v.outcome, numbers, bound);
}

std::string plain_row(const CaseReport& c, const AbftVerdict& a, bool several) {
  const bool judged = a.checks > 0;
  std::vector<std::string> numbers = {judged ? grouped(a.flagged) : "-",
                                      judged ? short_number(a.worst_ratio) : "-"};
  numbers.resize(3 + std::size(kMetricColumns), "-");
  return plain_row(c, several, a.outcome, numbers, "abft " + xml_escaped(a.spec));
}

// The page as it looks without its script: rows and explanations. If there are more than the page
// can hold, those of failures are kept.
class Plain {
 public:
  explicit Plain(const GateReport& report) : several_(!report.files.empty()) {
    if (report.cases.size() > kPlainRows) {
      for (const CaseReport* c : worst_first(report)) add(*c);
    } else {
      for (const CaseReport& c : report.cases) add(c);
    }
  }

  std::string text() const {
    std::string page;
    if (!explanations_.empty()) page += "<h2>What did not pass</h2>\n" + explanations_;
    page += left_out(explained_, kPlainExplanations, "did not pass");
    page += formatted(
        "<h2>Cases</h2>\n<div class=scroll><table>\n<tr>{}<th>case<th>outcome<th>dtype, "
        "shape<th>producer<th class=num>mismatches<th class=num>max/bound<th "
        "class=num>blind{}<th>bound</tr>\n"
        "{}</table></div>\n",
        several_ ? "<th>file" : "", metric_heads(), rows_);
    return page + left_out(listed_, kPlainRows, listed_ == kPlainRows + 1 ? "row" : "rows");
  }

 private:
  static std::string left_out(std::size_t count, std::size_t most, const char* what) {
    if (count <= most) return "";
    return formatted(
        "<p>... and {} more {}. A browser that runs JavaScript shows them, and the JSON lists all "
        "of "
        "them.</p>\n",
        grouped(static_cast<std::int64_t>(count - most)), what);
  }

  void explain_as(const CaseReport& c, std::string_view kind, std::string_view word,
                  const std::string& text) {
    if (++explained_ > kPlainExplanations) return;
    explanations_ +=
        formatted("<h3><code>{}</code>: <span class={}>{}</span></h3>\n<pre>{}</pre>\n",
                  xml_escaped(c.title()), kind, word, xml_escaped(text));
  }
  // Adds a row, which row() builds, unless the page has enough rows.
  template <typename Row>
  void add_row(const Row& row) {
    if (++listed_ <= kPlainRows) rows_ += row();
  }

  void add(const CaseReport& c) {
    if (!c.error.empty()) {
      explain_as(c, "fail", "error", explain_error(c));
    } else if (c.remark != Remark::kNone) {
      explain_as(c, kind_of(c, c.judged()), c.outcome_text(), explain_remark(c));
    }
    if (!c.error.empty() || (c.verdicts.empty() && !c.abft)) {
      add_row([&] {
        return formatted("<tr>{}<td class=fail><b>{}</b></td></tr>\n", name_cells(c, several_),
                         c.outcome_text());
      });
      return;
    }
    for (const Verdict& v : c.verdicts) {
      add_row([&] { return plain_row(c, v, several_); });
      if (v.outcome == Outcome::kPass || c.remark != Remark::kNone) continue;
      explain_as(c, kind_of(c, v.outcome), outcome_word(v.outcome), explain(v, c.reproduce));
    }
    if (!c.abft) return;
    add_row([&] { return plain_row(c, *c.abft, several_); });
    if (c.abft->outcome == Outcome::kPass || c.remark != Remark::kNone) return;
    explain_as(c, kind_of(c, c.abft->outcome),
               formatted("checksums: {}", outcome_word(c.abft->outcome)),
               explain(*c.abft, c.reproduce));
  }

  bool several_;
  std::string rows_, explanations_;
  std::size_t listed_ = 0, explained_ = 0;
};

// Returns the texts with their counts, the most frequent text first.
std::string counted_text(const std::map<std::string, std::int64_t>& counts) {
  std::vector<std::pair<std::string, std::int64_t>> order(counts.begin(), counts.end());
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr std::size_t kNamed = 12;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(kNamed, order.size()); ++i) {
    parts.push_back(formatted("{} ({})", order[i].first, grouped(order[i].second)));
  }
  if (order.size() > kNamed) parts.push_back(formatted("{} more", order.size() - kNamed));
  return joined(parts);
}

// Returns a list of facts about the run: the producers, the standards and the files.
std::string facts(const GateReport& report) {
  std::map<std::string, std::int64_t> standards, producers;
  for (const CaseReport& c : report.cases) {
    for (const Verdict& v : c.verdicts) {
      if (!v.bound.standard.empty()) ++standards[standard_text(v.bound)];
    }
    if (c.abft) ++standards["abft " + c.abft->spec];
    if (!c.producer.empty()) ++producers[c.producer];
  }
  std::string out = "<dl class=facts>\n";
  const auto fact = [&](const char* name, const std::string& html) {
    if (!html.empty()) out += formatted("<dt>{}</dt><dd>{}</dd>\n", name, html);
  };
  const auto code = [](const std::string& text) {
    return text.empty() ? "" : formatted("<code>{}</code>", xml_escaped(text));
  };
  fact("command", code(report.command));
  fact("golden results", code(report.golden_file));
  std::string files;
  for (std::size_t i = 0; i < std::min(kListedFiles, report.files.size()); ++i) {
    files += formatted("{}{}", i > 0 ? "<br>" : "", code(report.files[i]));
  }
  if (report.files.size() > kListedFiles) {
    files += formatted("<br>and {} more",
                       grouped(static_cast<std::int64_t>(report.files.size() - kListedFiles)));
  }
  fact("files", files);
  if (!standards.empty()) fact("standards", xml_escaped(counted_text(standards)));
  if (!producers.empty()) fact("producers", xml_escaped(counted_text(producers)));
  fact("machine", xml_escaped(report.machine));
  fact("date", xml_escaped(report.date));
  fact("host", code(report.host));
  std::string made = formatted("assay {}", report.version);
  if (!report.commit.empty()) made += formatted(", commit {}", report.commit);
  if (!report.simd_target.empty()) made += formatted(", SIMD target {}", report.simd_target);
  fact("made by", xml_escaped(made));
  return out + "</dl>\n";
}

// Returns a table with the number of cases of each operator that have each outcome.
std::string operators(const GateReport& report) {
  std::map<std::string, std::map<std::string_view, std::int64_t>> counts;
  std::map<std::string_view, std::int64_t> all = outcome_counts(report);
  for (const CaseReport* c : worst_outputs(report)) ++counts[c->op][c->outcome_text()];
  std::vector<std::string> names = keys_of(counts);
  std::ranges::stable_sort(names, natural_less);
  constexpr std::size_t kFew = 8;
  std::string out = formatted(
      "<details{}><summary>{} {}</summary>\n<div class=scroll><table "
      "class=operators><tr><th>operator<th class=num>cases",
      names.size() <= kFew ? " open" : "", names.size(),
      names.size() == 1 ? "operator" : "operators");
  for (const OutcomeColumn& column : kOutcomes) {
    if (all[column.word] > 0) out += formatted("<th class=num>{}", column.words);
  }
  out += "</tr>\n";
  for (std::size_t i = 0; i < std::min(kListedOperators, names.size()); ++i) {
    auto& of_operator = counts[names[i]];
    std::int64_t cases = 0;
    for (const auto& [word, count] : of_operator) cases += count;
    const std::string name = xml_escaped(names[i]);
    out += formatted("<tr><td><a href=\"#cases\" data-operator=\"{}\">{}</a><td class=num>{}", name,
                     names[i].empty() ? "(no operator)" : name, grouped(cases));
    for (const OutcomeColumn& column : kOutcomes) {
      if (all[column.word] == 0) continue;
      const std::int64_t count = of_operator[column.word];
      out +=
          formatted("<td class=\"num {}\">{}", count == 0 ? "soft" : column.kind, grouped(count));
    }
    out += "</tr>\n";
  }
  out += "</table></div>\n";
  if (names.size() > kListedOperators) {
    out += formatted("<p>... and {} more operators, which are in the table of cases.</p>\n",
                     grouped(static_cast<std::int64_t>(names.size() - kListedOperators)));
  }
  return out + "</details>\n";
}

// Limits a ratio to the range of the logarithmic axis. 0 stays 0, which is drawn as a mark at the
// end.
double drawn_ratio(double ratio) { return ratio == 0 ? 0 : std::clamp(ratio, 1e-4, 1e4); }

// Returns charts with a bar for each case, or only for the worst ones if there are many.
std::string charts(const GateReport& report) {
  RowsChart ratios{.title = "largest error / bound (above 1 fails; the axis ends at 1e-4 and 1e4)",
                   .logarithmic = true,
                   .shown = {0.01, 1},
                   .marked = 1};
  RowsChart snrs{.title = "signal to noise, dB"};
  for (const CaseReport& c : report.cases) {
    for (const Verdict& v : c.verdicts) {
      // The charts end at values beyond which a larger number adds no information. The table has
      // all values.
      const double ratio = v.sites > 0 ? drawn_ratio(v.worst_ratio) : NAN;
      const double snr = v.metrics ? std::max(v.metrics->snr_db, -20.0) : NAN;
      const std::string color = color_of(c, v.outcome);
      ratios.rows.push_back({c.title(), ratio, color, short_number(v.worst_ratio)});
      snrs.rows.push_back(
          {c.title(), snr, color, v.metrics ? short_number(v.metrics->snr_db) : ""});
    }
  }
  const auto keep_worst = [](RowsChart& chart, double sign) {
    const std::size_t all = chart.rows.size();
    if (all <= kChartRows) return;
    std::ranges::stable_sort(chart.rows, [&](const auto& a, const auto& b) {
      if (std::isnan(a.value) || std::isnan(b.value))
        return std::isnan(a.value) < std::isnan(b.value);
      return sign * a.value > sign * b.value;
    });
    chart.rows.resize(kChartRows);
    chart.title +=
        formatted(", the worst {} of {}", kChartRows, grouped(static_cast<std::int64_t>(all)));
  };
  keep_worst(ratios, 1);
  keep_worst(snrs, -1);
  if (ratios.rows.empty()) return "";
  return formatted("<div class=charts><div>{}</div><div>{}</div></div>\n", rows_svg(ratios),
                   rows_svg(snrs));
}

}  // namespace

std::string gate_html(const GateReport& report) {
  auto counts = outcome_counts(report);
  const std::string outcome(counts["error"] > 0 ? "error" : outcome_word(report_outcome(report)));
  std::string_view kind = "fail";
  for (const OutcomeColumn& column : kOutcomes) {
    if (column.word == outcome) kind = column.kind;
  }
  std::string body =
      formatted("<h1>Precision gate: <span class={}>{}</span></h1>\n", kind, outcome);
  body += "<div class=cards>\n";
  std::int64_t cases = 0;
  for (const auto& [word, count] : counts) cases += count;
  body += page_card("ink", grouped(cases), cases == 1 ? "case" : "cases");
  for (const OutcomeColumn& column : kOutcomes) {
    const bool always = column.word == "pass" || column.word == "fail";
    if (always || counts[column.word] > 0) {
      body += page_card(column.kind, grouped(counts[column.word]), column.words);
    }
  }
  body += "</div>\n" + facts(report);
  for (const std::string& note :
       {report.note, report.without_golden.empty() ? "" : without_golden_text(report)}) {
    if (!note.empty()) body += formatted("<p>{}</p>\n", xml_escaped(note));
  }
  for (const std::string& note : report.notes) body += formatted("<p>{}</p>\n", xml_escaped(note));
  if (!report.cases.empty()) {
    body += operators(report) + charts(report) + "<div id=cases></div>\n";
    body += formatted("<noscript>{}</noscript>\n", Plain(report).text());
  }
  std::string footer = formatted("assay {}", report.version);
  if (!report.date.empty()) footer += formatted(", {}", report.date);
  return page_html({.title = formatted("assay: {} - {}", outcome, report.golden_file),
                    .style = kGateStyle,
                    .body = body,
                    .data = report.cases.empty() ? "" : gate_data_json(report),
                    .script = report.cases.empty() ? "" : kGateScript,
                    .footer = footer});
}

}  // namespace assay::report
