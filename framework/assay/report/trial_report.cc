#include "assay/report/trial_report.h"

#include <algorithm>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/report/escape.h"
#include "assay/report/gate_text.h"
#include "assay/report/page.h"

namespace assay::inline v0_2::report {
namespace {

const TrialFailure* failure_with(const TrialReport& report, TrialFinding finding) {
  return find_row(report.failures, finding, &TrialFailure::finding);
}

// Returns the explanation of a failure's verdict, or an empty string.
std::string verdict_text(const TrialFailure& failure) {
  const Verdict* verdict = failure.report ? failure.report->deciding_verdict() : nullptr;
  return verdict == nullptr || verdict->outcome == Outcome::kPass ? "" : explain(*verdict);
}

// Returns a text that is cut if it is very long.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 20000;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

std::string failure_text(const TrialFailure& f) {
  std::string text;
  for (const std::string& cause : f.causes) text += formatted("cause: {}\n", cause);
  text += formatted("reduced input: {}\n", shortened(f.reduced));
  if (f.draw >= 0) text += formatted("drawn input: number {}: {}\n", f.draw, f.drawn);
  if (!f.repeat.empty()) text += formatted("repeat: {}\n", shortened(f.repeat));
  return text + verdict_text(f);
}

// -- The page

constexpr const char* kTrialStyle = R"(
.facts { display:grid; grid-template-columns:max-content 1fr; gap:.15rem 1.2rem; margin:1rem 0; }
.facts dt { color:var(--soft); } .facts dd { margin:0; overflow-wrap:anywhere; }
.finding { border:1px solid var(--line); border-left:4px solid var(--fail); border-radius:8px;
  padding:.2rem 1.1rem .9rem; margin:1.1rem 0; }
.finding h3 { margin:.7rem 0 .2rem; font-size:1.1rem; } .finding h4 { margin:.9rem 0 .2rem;
  font-size:.9rem; color:var(--soft); font-weight:600; }
.finding table { width:auto; } .finding ul { margin:.2rem 0; padding-left:1.2rem; }
.said { font-size:1.05rem; }
.kinds { display:grid; gap:0 2.5rem; align-items:start;
  grid-template-columns:repeat(auto-fill,minmax(min(24rem,100%),1fr)); }
.kinds h3 { margin-top:1rem; text-transform:capitalize; } .bar { width:35%; min-width:6rem; }
.bar i { display:block; height:.65rem; margin-top:.45rem; border-radius:2px;
  background:var(--series-1); min-width:1px; }
)";

std::string_view kind_of_outcome(Outcome outcome) {
  return outcome == Outcome::kPass ? "pass" : outcome == Outcome::kFail ? "fail" : "warn";
}

std::string code_html(const std::string& text) {
  return text.empty() ? "" : formatted("<code>{}</code>", xml_escaped(text));
}

std::string worst_table(const Verdict& verdict) {
  if (verdict.worst.empty() || verdict.format == nullptr) return "";
  std::string table = formatted(
      "<h4>Elements outside their bound, {} of {}</h4>\n<div class=scroll><table>\n"
      "<tr><th>index<th class=num>actual<th class=num>expected<th class=num>error<th class=num>"
      "bound<th class=num>ulps</tr>\n",
      verdict.worst.size(), grouped(verdict.mismatches));
  for (const Mismatch& mismatch : verdict.worst) {
    const MismatchWords words = mismatch_words(verdict, mismatch);
    table += formatted("<tr><td><code>{}</code>", xml_escaped(words.index));
    for (const std::string& cell :
         {words.actual, words.expected, words.error, words.bound, words.ulps}) {
      table += formatted("<td class=num>{}", cell.empty() ? "-" : xml_escaped(cell));
    }
    table += "</tr>\n";
  }
  return table + "</table></div>\n";
}

std::string failure_html(const TrialReport& report, const TrialFailure& f) {
  std::string out =
      formatted("<section class=finding>\n<h3 class=fail>{}</h3>\n<p class=said>{}</p>\n",
                xml_escaped(finding_word(f.finding)), xml_escaped(f.text));
  if (!f.causes.empty()) {
    out += formatted("<h4>{}</h4>\n<ul>\n", f.causes.size() == 1 ? "Cause" : "Causes");
    for (const std::string& cause : f.causes) out += formatted("<li>{}</li>\n", xml_escaped(cause));
    out += "</ul>\n";
  }
  out += formatted("<h4>Reduced input</h4>\n<pre>{}</pre>\n", xml_escaped(shortened(f.reduced)));
  out += formatted("<p class=soft>{} not 0; {}.</p>\n", counted(f.nonzero, "input element"),
                   f.tries == 0   ? std::string("the input is not reduced")
                   : f.is_minimal ? formatted("reduced by trying {}, and no single step reduces it "
                                              "further",
                                              counted(f.tries, "input"))
                                  : formatted("reduced by trying {}, until the limit was reached",
                                              counted(f.tries, "input")));
  const Verdict* verdict = f.report ? f.report->deciding_verdict() : nullptr;
  if (verdict != nullptr && verdict->outcome != Outcome::kPass) {
    out += worst_table(*verdict);
    const std::vector<ExplanationLine> lines = lines_of(*verdict);
    std::string items;
    for (const ExplanationLine& line : lines) {
      items += formatted("<li>{}{}</li>\n", xml_escaped(line.label), xml_escaped(line.text));
    }
    if (!items.empty()) out += formatted("<ul class=soft>\n{}</ul>\n", items);
  }
  if (!f.repeat.empty()) {
    out += formatted("<h4>Repeat it</h4>\n<pre>{}</pre>\n", xml_escaped(shortened(f.repeat)));
  }
  if (f.draw >= 0) {
    out += formatted("<p class=soft>Found by draw {} of seed {}: {}</p>\n", f.draw, report.seed,
                     code_html(f.drawn));
  }
  return out + "</section>\n";
}

std::string facts_html(const TrialReport& r, const wire::TrialHead& head) {
  std::string out = "<dl class=facts>\n";
  const auto fact = [&](const char* name, const std::string& html) {
    if (!html.empty()) out += formatted("<dt>{}</dt><dd>{}</dd>\n", name, html);
  };
  fact("operator", code_html(r.op));
  fact("kernel", code_html(r.kernel));
  fact("command", code_html(shortened(head.command)));
  fact("dtypes", xml_escaped(joined(r.dtypes)));
  if (!r.output_dtype.empty()) fact("output dtype", xml_escaped(r.output_dtype));
  std::vector<std::string> parameters;
  for (const auto& [name, value] : r.parameters) {
    parameters.push_back(formatted("{}={}", name, value));
  }
  if (!parameters.empty()) fact("parameters", xml_escaped(joined(parameters)));
  std::vector<std::string> bounds = r.standards;
  if (r.rtol) bounds.push_back(formatted("rtol {}", *r.rtol));
  if (r.atol) bounds.push_back(formatted("atol {}", *r.atol));
  fact("judged by", bounds.empty() ? "the operator's own bound" : xml_escaped(joined(bounds)));
  fact("machine", xml_escaped(r.machine));
  fact("seed", formatted("{}", r.seed));
  if (r.shards > 1) fact("shard", formatted("{} of {}", r.shard + 1, r.shards));
  fact("time", formatted("{} s", short_number(r.seconds)));
  return out + "</dl>\n";
}

std::string promises_html(const TrialReport& report) {
  std::string rows;
  for (std::size_t i = 0; i < kTrialFindings; ++i) {
    const auto finding = static_cast<TrialFinding>(i);
    const bool failed = failure_with(report, finding) != nullptr;
    const bool unchecked = contains(report.unchecked, finding);
    const bool nothing = report.outcome() == Outcome::kUntrusted;
    const std::string_view word = failed ? "broken" : unchecked || nothing ? "not checked" : "kept";
    const std::string_view kind = failed ? "fail" : unchecked || nothing ? "soft" : "pass";
    rows += formatted("<tr><td>{}<td class={}><b>{}</b></tr>\n", xml_escaped(kept_promise(finding)),
                      kind, word);
  }
  return formatted(
      "<h2>The contract</h2>\n<div class=scroll><table>\n<tr><th>promise<th>outcome</tr>\n{}"
      "</table></div>\n",
      rows);
}

std::string reasons_html(const char* title, const std::map<std::string, std::int64_t>& reasons) {
  if (reasons.empty()) return "";
  std::string rows;
  for (const auto& [reason, count] : reasons) {
    rows += formatted("<tr><td>{}<td class=num>{}</tr>\n", xml_escaped(reason), grouped(count));
  }
  return formatted(
      "<h2>{}</h2>\n<div class=scroll><table>\n<tr><th>reason<th class=num>inputs</tr>\n{}"
      "</table></div>\n",
      title, rows);
}

std::string coverage_html(const TrialReport& report) {
  std::string out;
  for (const auto& [kind, classes] : report.coverage) {
    std::vector<std::pair<std::string, std::int64_t>> order(classes.begin(), classes.end());
    std::ranges::stable_sort(order, std::greater<>(),
                             &std::pair<std::string, std::int64_t>::second);
    const std::int64_t most = order.empty() ? 1 : std::max<std::int64_t>(order.front().second, 1);
    out += formatted("<div><h3>{}</h3>\n<table>\n", xml_escaped(kind));
    for (const auto& [name, count] : order) {
      const double share = 100 * static_cast<double>(count) / static_cast<double>(most);
      out += formatted("<tr><td>{}<td class=num>{}<td class=bar><i style=\"width:{}%\"></i></tr>\n",
                       xml_escaped(name), grouped(count), short_number(share));
    }
    out += "</table></div>\n";
  }
  if (out.empty()) return "";
  return formatted("<h2>What was tried</h2>\n<div class=kinds>\n{}</div>\n", out);
}

}  // namespace

std::string trial_junit(const TrialReport& report) {
  const std::string suite = xml_escaped("assay trial " + report.op);
  std::string cases;
  std::int64_t tests = 0, failures = 0, errors = 0, skipped = 0;
  const auto add = [&](std::string_view name, const std::string& content) {
    ++tests;
    cases += formatted("  <testcase classname=\"{}\" name=\"{}\" time=\"0.000\"{}",
                       xml_escaped(report.op), xml_escaped(name),
                       content.empty() ? "/>\n" : formatted(">\n{}  </testcase>\n", content));
  };
  const bool nothing = report.outcome() == Outcome::kUntrusted;
  for (std::size_t i = 0; i < kTrialFindings; ++i) {
    const auto finding = static_cast<TrialFinding>(i);
    std::string content;
    if (const TrialFailure* failure = failure_with(report, finding)) {
      ++failures;
      content = formatted("    <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                          xml_escaped(finding_word(finding)), xml_escaped(failure->text),
                          xml_escaped(failure_text(*failure)));
    } else if (nothing || contains(report.unchecked, finding)) {
      ++skipped;
      content = formatted("    <skipped message=\"{}\"/>\n",
                          nothing ? "no output was judged" : "this trial does not check it");
    }
    add(kept_promise(finding), content);
  }
  if (nothing) {
    ++errors;
    add("at least one output is judged",
        formatted("    <error type=\"untrusted\" message=\"{}\"/>\n",
                  xml_escaped(report.because())));
  }
  return formatted(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n{}  <system-out>{}"
      "</system-out>\n</testsuite>\n",
      suite, tests, failures, errors, skipped, report.seconds, cases,
      xml_escaped(report.because()));
}

std::string trial_html(const TrialReport& report, const wire::TrialHead& head) {
  const Outcome outcome = report.outcome();
  TrialReport::Counts all = report.listed;
  all += report.random;
  std::string body =
      formatted("<h1>Trial of {}: <span class={}>{}</span></h1>\n", xml_escaped(report.op),
                kind_of_outcome(outcome), outcome_word(outcome));
  // The findings below say what failed.
  body += formatted(
      "<p class=said>{}{}</p>\n",
      outcome == Outcome::kFail
          ? formatted("{} of {} failed, in {}.", grouped(all.failed), counted(all.all(), "input"),
                      counted(std::ssize(report.failures), "way"))
          : xml_escaped(report.because()) + ".",
      report.was_interrupted ? " The trial was interrupted." : "");
  body += "<div class=cards>\n" + page_card("ink", grouped(all.all()), "inputs tried") +
          page_card("pass", grouped(all.passed), "passed") +
          page_card("fail", grouped(all.failed), "failed");
  if (all.not_supported > 0) {
    body += page_card("warn", grouped(all.not_supported), "not supported");
  }
  if (all.not_judged > 0) body += page_card("warn", grouped(all.not_judged), "without a verdict");
  body += page_card("ink", grouped(report.listed.all()), "of the fixed list") +
          page_card("ink", grouped(report.random.all()), "random draws") + "</div>\n";
  if (!report.failures.empty()) {
    body += formatted("<h2>{}</h2>\n",
                      report.failures.size() == 1 ? "What fails" : "What fails, each way once");
  }
  for (const TrialFailure& failure : report.failures) body += failure_html(report, failure);
  body += "<h2>The run</h2>\n" + facts_html(report, head) + promises_html(report);
  body += coverage_html(report);
  if (!report.left_out.empty()) {
    body += "<h2>What was not tried</h2>\n<ul>\n";
    for (const std::string& left : report.left_out) {
      body += formatted("<li>{}</li>\n", xml_escaped(left));
    }
    body += "</ul>\n";
  }
  body += reasons_html("Inputs that the kernel does not support", report.not_supported);
  body += reasons_html("Inputs without a verdict", report.not_judged);
  return page_html({.title = formatted("assay trial: {} - {}", outcome_word(outcome), report.op),
                    .style = kTrialStyle,
                    .body = body,
                    .footer = formatted("assay {}", head.version)});
}

}  // namespace assay::report
