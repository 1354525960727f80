// What reports of audits say, word for word.
#include "assay/report/audit.h"

#include <gmock/gmock.h>

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

// Of two targets: one that lets a NaN through, and one that passes everything.
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
all, ulp: every element so many representable values too large
one, ulp: the largest element alone so many representable values too small
all, roundings: every element off by so many times the output's rounding, 2^-precision of the value

verdicts that depend on the size
target        dtype    corruption  verdicts
check.py <b>  float32  one_nan     caught of 16, passes of 8 192

reproduce the first: assay audit g.h5

1 right output, 1 234 verdicts, in 1.5 s
)");
}

TEST(AuditReport, Json) {
  const auto json = parsed(audit_json(result(), {"g.h5", "assay audit", "1"}));
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

TEST(AuditReport, PageEscapesWhatItIsGiven) {
  const std::string page = audit_html(result(), {"g<i>.h5", "assay audit", "1"});
  EXPECT_THAT(page, HasSubstr("check.py &lt;b&gt;"));
  EXPECT_THAT(page, HasSubstr("g&lt;i&gt;.h5"));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("<td>NaN for the largest element"));
}

}  // namespace
}  // namespace assay::report
