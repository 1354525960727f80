// Tests the reports of audits, word for word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "assay/report/audit_report.h"
#include "assay/report/audit_tables.h"
#include "assay/wire/audit_results.h"
#include "document.h"

namespace assay::report {
namespace {

using testing::HasSubstr;
using testing::Not;

const audit::Corruption& row(const std::string& name) {
  for (const audit::Corruption& c : audit::corruptions()) {
    if (c.name == name) return c;
  }
  throw std::invalid_argument(name);
}

// Returns results of two targets: one lets a NaN through, and one passes everything.
audit::AuditResult result() {
  audit::AuditResult r;
  r.corruptions = {&row("all_nan"), &row("one_nan")};
  r.yardstick = "torch";
  r.subjects = 1;
  r.trials = 1234;
  r.seconds = 1.5;
  audit::TargetResult& one = r.targets.emplace_back();
  one.name = "check.py <b>";
  one.audited = 1;
  one.corruptions = {{1, 1, 0}, {1, 0, 1}};
  one.classes.resize(audit::corruption_classes().size());
  one.classes[0] = {2, 1, 1};
  one.score = audit::score_of(one.classes);
  one.sights = {{"all_ulp", "x", "float32", 38, 1000}, {"one_ulp", "x", "float32", {}, 1000}};
  one.blindness = {{"x", "float32", 1500, 2000}};
  one.sizes = {{"one_nan", "x", "float32", {{16, false}, {8192, true}}},
               {"tail", "x", "float32", {{16, false}, {8192, false}}}};
  audit::TargetResult& two = r.targets.emplace_back();
  two.name = "other";
  two.findings = {{audit::Finding::Kind::kPassesWrong, "x", "it passes whatever the output is"}};
  two.corruptions.resize(2);
  two.classes.resize(audit::corruption_classes().size());
  audit::Escape& e = r.escapes.emplace_back();
  e.subject = "x";
  e.corruption = "one_nan";
  e.changed = 1;
  e.size = 2048;
  e.meaning = row("one_nan").meaning;
  e.repeat = "assay audit g.h5";
  return r;
}

TEST(AuditReport, Text) {
  EXPECT_EQ(audit_text(result()),
            R"(caught of what was tried
target        score  95 %            special  value  order  coverage  arithmetic  bits  region  file  let through
check.py <b>  0.500  0.094 to 0.905  1 / 2    -      -      -         -           -     -       -     1
other         -      -               -        -      -      -         -           -     -       -     -
score: the mean over classes of the share caught; let through: passed, and more wrong than torch allows

not audited
target  case  finding
other   x     passes an obviously wrong output: it passes whatever the output is

let through
target        corruption  passed  wrong elements  first case  what it is
check.py <b>  one_nan     1 of 1  1 of 2 048      x           NaN for the largest element

the smallest errors seen
target        dtype    all, ulp  one, ulp  all, roundings  blind           case
check.py <b>  float32  38        > 1 000   -               1 500 of 2 000  x
blind: so many of the smallest elements could be 0 together, and it passes
all, ulp: every element is too large by a number of representable values
one, ulp: only the largest element is too small, by a number of representable values
all, roundings: every element is wrong by a multiple of the output's rounding, 2^-precision of the value

verdicts that depend on the size
target        dtype    corruption  verdicts
check.py <b>  float32  one_nan     caught of 16, passes of 8 192

reproduce the first: assay audit g.h5

1 right output, 1 234 verdicts, in 1.5 s
)");
}

TEST(AuditReport, Json) {
  const auto json = parsed(wire::audit_json(result(), {"g.h5", "assay audit", "1"}));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["corruptions"][1]["class"], "special");
  const auto& one = json["targets"][0];
  EXPECT_EQ(one["score"]["share"], 0.5);
  EXPECT_EQ(one["classes"]["special"], parsed(R"({"tried": 2, "caught": 1, "let_through": 1})"));
  EXPECT_EQ(one["smallest_seen"][0]["least_seen"], 38);
  EXPECT_TRUE(one["smallest_seen"][1]["least_seen"].is_null());
  EXPECT_EQ(one["let_through"][0]["corruption"], "one_nan");
  EXPECT_EQ(one["let_through"][0].count("draw"), 0u);
  EXPECT_EQ(one["sizes"][0]["flips"], true);
  EXPECT_EQ(one["sizes"][1]["flips"], false);
  EXPECT_TRUE(json["targets"][1]["score"].is_null());
  EXPECT_EQ(json["targets"][1]["findings"][0]["finding"], "passes_wrong");
}

const AuditTable& table_of(const std::vector<AuditTable>& tables, const std::string& title) {
  for (const AuditTable& t : tables) {
    if (t.title == title) return t;
  }
  throw std::invalid_argument(title);
}

// A finding that many cases share takes one line. A target has at most four lines, unless all are
// asked for.
TEST(AuditReport, FindingsAreCollected) {
  audit::AuditResult r = result();
  std::vector<audit::Finding>& findings = r.targets[1].findings;
  findings.clear();
  for (const char* subject : {"x", "y", "z"}) {
    findings.push_back({audit::Finding::Kind::kRefusesRight, subject, "exit status 1"});
  }
  findings.push_back({audit::Finding::Kind::kNotComparable, "x", "no such dtype"});
  for (const char* why : {"a", "b", "c", "d"}) {
    findings.push_back({audit::Finding::Kind::kPassesWrong, "y", why});
  }
  const AuditTable few = table_of(audit_tables(r, 1), "not audited");
  using Rows = std::vector<std::vector<std::string>>;
  const Rows first = {{"other", "x and 2 more", "does not pass the right output: exit status 1"},
                      {"other", "x", "not comparable: no such dtype"},
                      {"other", "y", "passes an obviously wrong output: a"},
                      {"other", "y", "passes an obviously wrong output: b"}};
  EXPECT_EQ(few.rows, first);
  EXPECT_EQ(few.note, "2 more are in the JSON and the page");
  const AuditTable all = table_of(audit_tables(r, -1), "not audited");
  EXPECT_EQ(all.rows.size(), 6u);
  EXPECT_EQ(all.note, "");
  const auto json =
      parsed(wire::audit_json(r, {"g.h5", "assay audit", "1"}))["targets"][1]["findings"];
  EXPECT_EQ(json.size(), 8u);
}

// The table lists a limited number of undetected corruptions of each class.
TEST(AuditReport, EscapesOfAClassAreCut) {
  audit::AuditResult r = result();
  audit::Escape other = r.escapes[0];
  other.corruption = "all_nan";
  other.meaning = row("all_nan").meaning;
  other.is_drawn = true;
  other.draw = 7;
  other.saved = "out.npy";
  r.escapes.push_back(other);
  r.targets[0].corruptions = {{1, 0, 1}, {1, 0, 1}};
  const AuditTable one = table_of(audit_tables(r, 1), "let through");
  ASSERT_EQ(one.rows.size(), 1u);
  EXPECT_EQ(one.rows[0][1], "all_nan") << "in the order of corruptions";
  EXPECT_EQ(one.note, "1 more is in the JSON and the page");
  EXPECT_EQ(table_of(audit_tables(r, 2), "let through").rows.size(), 2u);
  EXPECT_EQ(table_of(audit_tables(r, -1), "let through").note, "");
  const auto json = parsed(wire::audit_json(r, {"g.h5", "assay audit", "1"}))["targets"][0];
  EXPECT_EQ(json["let_through"][1]["draw"], 7);
  EXPECT_EQ(json["let_through"][1]["saved"], "out.npy");
}

TEST(AuditReport, PageEscapesWhatItIsGiven) {
  const std::string page = audit_html(result(), {"g<i>.h5", "assay audit", "1"});
  EXPECT_THAT(page, HasSubstr("check.py &lt;b&gt;"));
  EXPECT_THAT(page, HasSubstr("g&lt;i&gt;.h5"));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("<td>NaN for the largest element"));
  EXPECT_THAT(page, HasSubstr("<meta http-equiv=Content-Security-Policy content=\"default-src "
                              "'none'; base-uri 'none'; form-action 'none'; style-src "
                              "'unsafe-inline'; script-src 'none'\">"));
}

}  // namespace
}  // namespace assay::report
