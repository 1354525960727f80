#include "assay/report/junit.h"

#include <map>

#include "assay/base/text.h"
#include "assay/report/escape.h"
#include "assay/report/gate_text.h"

namespace assay::inline v0_2::report {
namespace {

// The attributes with counts of a JUnit suite.
struct SuiteCounts {
  std::int64_t tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;

  void add(const SuiteCounts& other) {
    tests += other.tests;
    failures += other.failures;
    errors += other.errors;
    skipped += other.skipped;
    seconds += other.seconds;
  }
  std::string attributes(std::string_view name) const {
    return formatted("name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\"{} time=\"{:.3f}\"",
                     xml_escaped(name), tests, failures, errors,
                     skipped > 0 ? formatted(" skipped=\"{}\"", skipped) : "", seconds);
  }
};

// Explains what decided the outcome: the remark, the elementwise verdict, or the checksums.
std::string explained(const CaseReport& c) {
  if (c.remark != Remark::kNone) return explain_remark(c);
  if (const Verdict* deciding = c.deciding_verdict()) return explain(*deciding, c.reproduce);
  if (c.abft) return explain(*c.abft, c.reproduce);
  return explain(not_comparable("nothing was judged"), c.reproduce);
}

// Lists the standard of each verdict.
std::string properties(const CaseReport& c) {
  std::string list;
  for (const Verdict& v : c.verdicts) {
    if (v.bound.standard.empty()) continue;
    list += formatted("      <property name=\"standard\" value=\"{}\"/>\n",
                      xml_escaped(standard_text(v.bound)));
  }
  return list.empty() ? "" : formatted("    <properties>\n{}    </properties>\n", list);
}

std::string testcase(const CaseReport& c, SuiteCounts& counts) {
  ++counts.tests;
  counts.seconds += c.seconds;
  const auto element = [&](const std::string& content) {
    const std::string all = properties(c) + content;
    return formatted("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"{}",
                     xml_escaped(c.op), xml_escaped(c.title()), c.seconds,
                     all.empty() ? "/>\n" : formatted(">\n{}  </testcase>\n", all));
  };
  if (!c.error.empty()) {
    ++counts.errors;
    return element(formatted("    <error type=\"error\" message=\"{}\">{}</error>\n",
                             xml_escaped(c.error), xml_escaped(explain_error(c))));
  }
  if (c.remark == Remark::kKnownFailure) {
    ++counts.skipped;
    return element(formatted("    <skipped message=\"{}\">{}</skipped>\n",
                             xml_escaped("known failure: " + c.remark_text),
                             c.reproduce.empty() ? "" : xml_escaped("reproduce: " + c.reproduce)));
  }
  const Outcome outcome = c.outcome();
  if (outcome == Outcome::kPass) {
    std::string notes;
    for (const Verdict& v : c.verdicts) {
      for (const std::string& note : notes_of(v)) notes += xml_escaped(note) + "\n";
    }
    return element(notes.empty() ? "" : formatted("    <system-out>{}</system-out>\n", notes));
  }
  // For a case that did not pass, JUnit has only failure and error. All outcomes but a failure
  // ("untrusted", "not comparable") are errors.
  const char* kind = outcome == Outcome::kFail ? "failure" : "error";
  ++(outcome == Outcome::kFail ? counts.failures : counts.errors);
  return element(formatted("    <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", kind,
                           c.outcome_text(), xml_escaped(c.because()), xml_escaped(explained(c))));
}

}  // namespace

std::string gate_junit(const GateReport& report) {
  // Each file is a suite, in the order of the files. If there is only one file, its suite holds all
  // cases.
  std::vector<std::string> files = report.files;
  if (files.empty()) files.emplace_back();
  std::vector<SuiteCounts> counts(files.size());
  std::vector<std::string> bodies(files.size());
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < files.size(); ++i) places.emplace(files[i], i);
  for (const CaseReport& c : report.cases) {
    const auto place = places.find(c.file);
    const std::size_t i = place == places.end() ? 0 : place->second;
    bodies[i] += testcase(c, counts[i]);
  }
  for (const std::string& name : report.without_golden) {
    bodies[0] += formatted(
        "  <testcase classname=\"\" name=\"{}\" time=\"0.000\">\n"
        "    <skipped message=\"an output without a golden result\"/>\n  </testcase>\n",
        xml_escaped(name));
    ++counts[0].tests;
    ++counts[0].skipped;
  }
  const std::string head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  if (report.files.empty()) {
    return head + formatted("<testsuite {}>\n{}</testsuite>\n",
                            counts[0].attributes(report.golden_file), bodies[0]);
  }
  SuiteCounts all;
  std::string suites;
  for (std::size_t i = 0; i < files.size(); ++i) {
    all.add(counts[i]);
    suites +=
        formatted("<testsuite {}>\n{}</testsuite>\n", counts[i].attributes(files[i]), bodies[i]);
  }
  return head + formatted("<testsuites {}>\n{}</testsuites>\n", all.attributes(report.golden_file),
                          suites);
}

}  // namespace assay::report
