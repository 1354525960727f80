// Tests the JUnit and the page of a trial.
#include "assay/report/trial_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "assay/report/trial_text.h"
#include "assay/trial/case_text.h"

namespace assay::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TrialReport failing() {
  TrialReport r;
  r.op = "softmax";
  r.kernel = "./run <x> {inputs}";
  r.dtypes = {"float32"};
  r.listed = {30, 2, 0, 1};
  r.random = {4, 1, 0, 0};
  r.not_judged = {{"why <b>", 1}};
  r.coverage = {{"sizes", {{"a <prime>", 9}, {"1", 3}}}};
  r.left_out = {"strides & offsets"};
  r.unchecked = {TrialFinding::kStale};
  TrialFailure f;
  f.finding = TrialFinding::kWrongResult;
  f.text = "1 of 2 elements <wrong>";
  f.causes = {"a & b"};
  f.draw = 5;
  f.drawn = "float32 2x3";
  f.reduced = "x=float32[1,2]{0:1.5}";
  f.test_case = trial::parse_case("softmax", f.reduced).test_case;
  f.output = trial::parse_tensor("float32[1,2]{0:0.5,1:0.5}", "output");
  f.tries = 20;
  f.is_minimal = true;
  f.repeat = "assay trial softmax --on 'x=float32[1,2]{0:1.5}' -- ./run '<x>'";
  judge_again(f, {});
  r.failures = {f};
  return r;
}

TEST(TrialJunit, HasACaseForEachPromise) {
  const std::string xml = trial_junit(failing());
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"assay trial softmax\" tests=\"14\" failures=\"1\" "
                             "errors=\"0\" skipped=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<failure type=\"wrong result\" "
                             "message=\"1 of 2 elements &lt;wrong&gt;\">cause: a &amp; b\n"));
  EXPECT_THAT(xml, HasSubstr("reduced input: x=float32[1,2]{0:1.5}"));
  EXPECT_THAT(xml, HasSubstr("name=\"no call crashes\" time=\"0.000\"/>"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"this trial does not check it\"/>"));
  EXPECT_THAT(xml, Not(HasSubstr("<wrong>")));
}

TEST(TrialJunit, NothingJudgedIsAnError) {
  TrialReport r = failing();
  r.failures.clear();
  r.listed = r.random = {0, 0, 5, 0};
  const std::string xml = trial_junit(r);
  EXPECT_THAT(xml, HasSubstr("tests=\"15\" failures=\"0\" errors=\"1\" skipped=\"14\""));
  EXPECT_THAT(xml, HasSubstr("<error type=\"untrusted\" message=\"no output was judged: "));
}

TEST(TrialPage, SaysTheOutcomeFirst) {
  const std::string page = trial_html(failing(), {"assay trial <x>", "0.2"});
  EXPECT_THAT(page, HasSubstr("<h1>Trial of softmax: <span class=fail>fail</span></h1>\n"
                              "<p class=said>3 of 38 inputs failed, in 1 way.</p>"));
  for (const char* text :
       {"1 of 2 elements &lt;wrong&gt;", "a &amp; b", "x=float32[1,2]{0:1.5}",
        "Elements outside their bound, 2 of 2", "a &lt;prime&gt;", "strides &amp; offsets",
        "why &lt;b&gt;", "no single step reduces it further"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  EXPECT_THAT(page, Not(HasSubstr("<wrong>")));
  TrialReport passing = failing();
  passing.failures.clear();
  passing.listed.failed = passing.random.failed = 0;
  EXPECT_THAT(trial_html(passing, {"", ""}), HasSubstr("<span class=pass>pass</span>"));
}

TEST(TrialText, HasTheLineThatRepeats) {
  EXPECT_THAT(trial_text(failing(), TrialDoor::kCommandLine),
              HasSubstr("\n  repeat: assay trial softmax --on 'x=float32[1,2]{0:1.5}' -- ./run "));
}

}  // namespace
}  // namespace assay::report
