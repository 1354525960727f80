// assay gate --baseline and --known-failures.
#include "assay/base/text.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Makes outputs that pass with room to spare, so that they can become worse and still pass.
class Baselines : public ProgramTest {
 protected:
  static Case spread(const std::string& name, double off, const std::string& producer = "p") {
    std::vector<double> golden, output;
    for (int i = 0; i < 64; ++i) {
      golden.push_back(1 + i / 64.0);
      output.push_back(golden.back() + (i == 5 ? off : off / 4));
    }
    Case c = recorded(name, "float32", {8, 8}, golden, output);
    if (producer != "p") c.output().recorded = {{producer, c.output().recorded.at("p")}};
    return c;
  }
  static constexpr const char* kGate = "assay gate g.h5 --rtol 0 --atol 0.01 --baseline b.json";
  static std::string gate(const std::string& more = "") { return kGate + more; }
};

TEST_F(Baselines, WorseByMoreThanItsNoiseFails) {
  make("g.h5", {spread("x", 0.001), spread("y", 0.001)});
  EXPECT_THAT(run(gate()), Exits(2, "error: b.json: cannot be read: No such file or directory"));
  Ran ran = run(gate(" --update-baseline"));
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("\nnote: the baseline b.json now has 2 cases\n"));
  EXPECT_THAT(leftovers(), IsEmpty());
  const auto baseline = json("b.json");
  EXPECT_EQ(baseline["schema"], 2);
  ASSERT_EQ(baseline["baseline"].size(), 2u);
  EXPECT_EQ(baseline["baseline"][0]["case"], "x");
  EXPECT_EQ(baseline["baseline"][0]["producer"], "p");
  EXPECT_NEAR(baseline["baseline"][0]["metrics"]["max_abs_error"].get<double>(), 0.001, 1e-6);
  EXPECT_NEAR(baseline["baseline"][0]["metrics"]["worst_ratio"].get<double>(), 0.1, 1e-4);
  EXPECT_THAT(run(gate()), Exits(0));
  // 5 % is within 10 %.
  make("g.h5", {spread("x", 0.00105), spread("y", 0.001)});
  EXPECT_THAT(run(gate()), Exits(0));
  make("g.h5", {spread("x", 0.002), spread("y", 0.0005)});
  ran = run(gate(" --json r.json --junit r.xml --html r.html"));
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("\nx     worse    float32  [8, 8]"));
  EXPECT_THAT(ran.out, HasSubstr("\n2 cases: 1 pass, 1 worse\n"));
  EXPECT_THAT(
      ran.out,
      HasSubstr("\nx: worse: worse than the baseline: max abs error is 0.002 and was 0.001, "
                "more than its noise (10 %, because it is not known); "));
  EXPECT_THAT(ran.out,
              HasSubstr("; largest error / bound is 0.2 and was 0.1, more than its noise (10 %"));
  EXPECT_THAT(ran.out,
              HasSubstr("\nreproduce: assay gate g.h5 --case x --recorded p --rtol 0 --atol 0.01 "
                        "--baseline b.json\n"));
  const auto report = json("r.json");
  EXPECT_EQ(report["outcome"], "fail");
  EXPECT_EQ(report["cases"][0]["outcome"], "worse");
  EXPECT_EQ(report["cases"][0]["judged"], "pass");
  EXPECT_EQ(report["cases"][1]["outcome"], "pass");
  EXPECT_THAT(report["cases"][0]["because"].get<std::string>(),
              testing::StartsWith("worse than the baseline: "));
  EXPECT_THAT(read("r.xml"),
              HasSubstr("<failure type=\"worse\" message=\"worse than the baseline"));
  EXPECT_THAT(read("r.html"), HasSubstr("<td class=fail><b>worse</b></td>"));
  // The reproducer line repeats the failure.
  EXPECT_THAT(run("assay repro '" + report["cases"][0]["reproduce"].get<std::string>() + "'"),
              Code(1));
}

TEST_F(Baselines, WhatRepeatsDifferByIsNoise) {
  make("g.h5", {spread("x", 0.001)});
  EXPECT_THAT(run(gate(" --update-baseline")), Exits(0));
  make("g.h5", {spread("x", 0.0015)});
  EXPECT_THAT(run(gate()), Exits(1));
  EXPECT_THAT(run(gate(" --update-baseline --baseline-repeat")), Exits(0));
  const auto entry = json("b.json")["baseline"][0];
  EXPECT_EQ(entry["repeats"], 2);
  EXPECT_EQ(entry["metrics"]["max_abs_error"].size(), 2u);
  make("g.h5", {spread("x", 0.0019)});
  EXPECT_THAT(run(gate()), Exits(0));
  make("g.h5", {spread("x", 0.0021)});
  const Ran ran = run(gate());
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("max abs error is 0.0021 and was 0.0015, more than its noise "
                                 "(what its 2 repeats differ by)"));
  EXPECT_THAT(run("assay gate g.h5 --baseline b.json --baseline-repeat"),
              Exits(2,
                    "error: --baseline-repeat is only for --update-baseline; add that option, or "
                    "leave --baseline-repeat out"));
}

// The errors of right results are random. The theory of their squares gives the noise of the RMSE,
// so that an increase by chance does not count as worse.
TEST_F(Baselines, TheExpectedErrorGivesTheNoiseOfTheRmse) {
  EXPECT_THAT(run("assay generate matmul --dtype float32 --shape 32,64,32 --out i.h5 && "
                  "assay emulate i.h5 --machine ascend910b --out g.h5 --quiet"),
              Code(0));
  const std::string line =
      "assay gate g.h5 --recorded ascend910b --standard expected_error --baseline b.json";
  EXPECT_THAT(run(line + " --update-baseline"), Exits(0));
  nlohmann::json baseline = json("b.json");
  auto& metrics = baseline["baseline"][0]["metrics"];
  const double rmse = metrics["rmse"];
  // This baseline is more than 10 % better than the output, but it may be so by chance.
  metrics = {{"rmse", rmse / 1.12}};
  write("b.json", baseline.dump());
  EXPECT_THAT(run(line), Exits(0));
  metrics = {{"rmse", rmse / 100}};
  write("b.json", baseline.dump());
  const Ran ran = run(line);
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr(", more than its noise (what its expected error allows)"));
}

TEST_F(Baselines, CasesThatDisappearAndThatAreNew) {
  make("g.h5", {spread("x", 0.001), spread("y", 0.001)});
  EXPECT_THAT(run(gate(" --update-baseline")), Exits(0));
  make("g.h5", {spread("x", 0.001), spread("new", 0.001)});
  const Ran ran = run(gate(" --json r.json --junit r.xml"));
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("\ny     disappeared"));
  EXPECT_THAT(ran.out, HasSubstr("\n3 cases: 2 pass, 1 disappeared\n"));
  EXPECT_THAT(ran.out, HasSubstr("\nnote: 1 case is not in the baseline; update the baseline to "
                                 "add it\n"));
  EXPECT_THAT(ran.out, HasSubstr("\ny: disappeared: the baseline has this case, but it is no "
                                 "longer there\nreproduce: assay gate g.h5 --case y --recorded p "
                                 "--baseline b.json\n"));
  EXPECT_THAT(run("assay gate g.h5 --case y --recorded p --baseline b.json"), Code(1));
  EXPECT_EQ(json("r.json")["cases"][2]["outcome"], "disappeared");
  EXPECT_THAT(read("r.xml"), HasSubstr("<failure type=\"disappeared\""));
  // Only the chosen cases are compared with the baseline.
  EXPECT_THAT(run(gate(" --case x")), Exits(0));
  EXPECT_THAT(run(gate(" --exclude y")), Exits(0));
  // An update of the baseline also changes only the chosen cases.
  EXPECT_THAT(run(gate(" --case x --update-baseline")), Exits(0));
  EXPECT_EQ(json("b.json")["baseline"].size(), 2u);
  EXPECT_THAT(run(gate(" --update-baseline")), Exits(0));
  EXPECT_EQ(json("b.json")["baseline"][0]["case"], "new");
  EXPECT_EQ(json("b.json")["baseline"][1]["case"], "x");
}

TEST_F(Baselines, AreNotWrittenOfFailures) {
  make("g.h5", {spread("x", 0.001)});
  EXPECT_THAT(run(gate(" --update-baseline")), Exits(0));
  const std::string before = read("b.json");
  make("g.h5", {spread("x", 0.1)});
  EXPECT_THAT(run(gate(" --update-baseline")),
              Exits(1, "error: the baseline b.json was not written, because not all cases pass"));
  EXPECT_EQ(read("b.json"), before);
  // A case that fails its bound is not also reported as worse.
  EXPECT_THAT(run(gate()).out, AllOf(HasSubstr("\nx     fail "), Not(HasSubstr("worse"))));
}

TEST_F(Baselines, OfAnotherProducerOrStandardAreSaid) {
  make("g.h5", {spread("x", 0.001)});
  EXPECT_THAT(run(gate(" --update-baseline")), Exits(0));
  const Ran ran = run("assay gate g.h5 --standard 'ulp(100000)' --baseline b.json");
  EXPECT_THAT(ran.out, HasSubstr("\nnote: the baseline judged 1 case by another standard, so that "
                                 "the used share of the bound was not compared\n"));
  make("g.h5", {spread("x", 0.001, "q")});
  EXPECT_THAT(run(gate()), Exits(3,
                                 "error: the baseline b.json has no case that was judged; check "
                                 "that the names and the producer (q) are the same"));
}

TEST_F(Baselines, OfSeveralFiles) {
  make("a.h5", {spread("x", 0.001)});
  make("c.h5", {spread("x", 0.002)});
  const std::string line = "assay gate a.h5 c.h5 --rtol 0 --atol 0.01 --baseline b.json";
  EXPECT_THAT(run(line + " --update-baseline"), Exits(0));
  EXPECT_THAT(run(line), Exits(0));
  make("a.h5", {spread("x", 0.002)});
  const Ran ran = run(line);
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("\na.h5: x: worse: "));
  EXPECT_THAT(ran.out, Not(HasSubstr("\nc.h5: x: ")));
}

TEST_F(Baselines, FilesThatAreWrong) {
  make("g.h5", {spread("x", 0.001)});
  const std::pair<const char*, const char*> wrong[] = {
      {"[]", "b.json: an object {...} is expected"},
      {"{}", "b.json: is no baseline"},
      {R"({"schema": 1, "baseline": []})",
       "b.json: has schema 1: it was written by an older assay"},
      {R"({"schema": 2})", "b.json: 'baseline' must be a list of cases"},
      {R"({"schema": 2, "baseline": [{"metrics": {}}]})", "b.json: entry 1: 'case' is missing"},
      {R"({"schema": 2, "baseline": [{"case": "x"}]})", "b.json: entry 1: 'metrics' is missing"},
      {R"({"schema": 2, "baseline": [{"case": "x", "metrics": {"rmse": -1}}]})",
       "b.json: entry 1: rmse: a number of at least 0 is expected, not -1"},
      {R"({"schema": 2, "baseline": [{"case": "x", "metrics": {"rms": 1}}]})",
       "b.json: entry 1: metrics: unknown key 'rms': did you mean 'rmse'?; known: max_abs_error, "
       "rmse, p99_ulp, worst_ratio"},
      {R"({"schema": 2, "baseline": [{"case": "x", "metrics": {"rmse": [2, 1]}}]})",
       "b.json: entry 1: rmse: the least comes before the most"},
  };
  for (const auto& [text, message] : wrong) {
    write("b.json", text);
    EXPECT_THAT(
        run(gate()),
        Exits(2, formatted("error: {}; mend it, or delete it and run `assay gate --baseline "
                           "FILE --update-baseline`",
                           message)))
        << text;
  }
}

class KnownFailures : public ProgramTest {
 protected:
  void list(const std::string& entries) const {
    write("known.json", "{\"schema\": 1, \"known_failures\": [" + entries + "]}");
  }
  // The days on which the gate runs, in seconds since 1970: 1 March and 1 April 2026.
  static constexpr const char* kMarch = "SOURCE_DATE_EPOCH=1772323200 ";
  static constexpr const char* kApril = "SOURCE_DATE_EPOCH=1775001600 ";
  static std::string gate(const std::string& more = "") {
    return "assay gate g.h5 --known-failures known.json" + more;
  }
};

TEST_F(KnownFailures, AreExcusedUntilTheirDay) {
  make("g.h5", {product("soft/a", 0.5), product("soft/b", 0.5), product("y")});
  list(R"({"cases": "soft/*", "reason": "tiling, #12", "expires": "2026-03-31"})");
  Ran ran = run(kMarch + gate(" --json r.json --junit r.xml --html r.html"));
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("\nsoft/a  known_failure  float32"));
  EXPECT_THAT(ran.out, HasSubstr("\n3 cases: 1 pass, 2 known_failure\n"));
  EXPECT_THAT(ran.out, Not(HasSubstr("reproduce:")));
  const auto report = json("r.json");
  EXPECT_EQ(report["outcome"], "pass");
  EXPECT_EQ(report["cases"][0]["outcome"], "known_failure");
  EXPECT_EQ(report["cases"][0]["judged"], "fail");
  EXPECT_THAT(report["cases"][0]["because"].get<std::string>(),
              testing::StartsWith("known until 2026-03-31 (tiling, #12): 1 of 6 elements"));
  python(R"py(
import xml.etree.ElementTree as tree
suite = tree.parse("r.xml").getroot()
assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "0", "2"), suite.attrib
skipped = [c for c in suite if c.get("name") == "soft/a"][0].find("skipped")
assert skipped.get("message").startswith("known failure: known until 2026-03-31 (tiling, #12): "), skipped.attrib
)py");
  EXPECT_THAT(read("r.html"), HasSubstr("<b>known_failure</b>"));
  // The day after.
  ran = run(kApril + gate(" --junit r.xml"));
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("\nsoft/a  expired"));
  EXPECT_THAT(ran.out, HasSubstr("\n3 cases: 1 pass, 2 expired\n"));
  EXPECT_THAT(ran.out, HasSubstr("\nsoft/a: expired: a known failure that was accepted until "
                                 "2026-03-31 (tiling, #12): 1 of 6 elements"));
  EXPECT_THAT(ran.out, HasSubstr("\nreproduce: assay gate g.h5 --case soft/a --recorded p "
                                 "--known-failures known.json\n"));
  EXPECT_THAT(read("r.xml"), HasSubstr("<failure type=\"expired\""));
}

TEST_F(KnownFailures, OneThatPassesFails) {
  make("g.h5", {product("x"), product("y")});
  list(R"({"cases": "x", "reason": "tiling", "expires": "2026-03-31"})");
  for (const char* day : {kMarch, kApril}) {
    const Ran ran = run(day + gate());
    EXPECT_THAT(ran, Exits(1));
    EXPECT_THAT(ran.out, HasSubstr("\nx     unexpected_pass  float32"));
    EXPECT_THAT(ran.out,
                HasSubstr("\nx: unexpected_pass: listed as a known failure (tiling), and it "
                          "passes: remove 'x' from the list\n"));
  }
}

TEST_F(KnownFailures, ExcuseFailuresAlone) {
  make("g.h5", one_of_each());
  list(R"({"cases": "*", "reason": "all", "expires": "2026-03-31"})");
  const Ran ran = run(kMarch + gate(" --recorded p --exclude pass"));
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("\n3 cases: 1 known_failure, 1 untrusted, 1 not_comparable\n"));
}

TEST_F(KnownFailures, OfOneStandardExcuseNoOther) {
  make("g.h5", {product("x", 1e-4)});
  list(R"({"cases": "x", "standard": "torch", "reason": "tiling", "expires": "2026-03-31"})");
  EXPECT_THAT(run(kMarch + gate(" --standard torch --standard 'ulp(1000)'")), Exits(0));
  EXPECT_THAT(run(kMarch + gate(" --standard torch --standard 'ulp(1)'")), Exits(1));
  // The case passes the standard that it is listed for, and fails another one. The failure decides.
  list(R"x({"cases": "x", "standard": "ulp(1000)", "reason": "t", "expires": "2026-03-31"})x");
  EXPECT_THAT(run(kMarch + gate(" --standard torch --standard 'ulp(1000)'")).out,
              HasSubstr("1 case: 1 fail"));
  EXPECT_THAT(run(kMarch + gate(" --standard 'ulp(1000)'")).out,
              HasSubstr("1 case: 1 unexpected_pass"));
}

TEST_F(KnownFailures, EntriesThatMatchNothing) {
  make("g.h5", {product("x")});
  list(R"({"cases": "gone", "reason": "tiling", "expires": "2026-03-31"})");
  Ran ran = run(kMarch + gate());
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("\nnote: known.json: no judged case matches 'gone'; "
                                 "--strict makes it a failure\n"));
  ran = run(kMarch + gate(" --strict"));
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("\nnote: known.json: no judged case matches 'gone'\n"));
}

TEST_F(KnownFailures, AreLeftOutOfABaseline) {
  make("g.h5", {product("x", 0.5), product("y", 1e-7)});
  list(R"({"cases": "x", "reason": "tiling", "expires": "2026-03-31"})");
  EXPECT_THAT(run(kMarch + gate(" --baseline b.json --update-baseline")), Exits(0));
  ASSERT_EQ(json("b.json")["baseline"].size(), 1u);
  EXPECT_EQ(json("b.json")["baseline"][0]["case"], "y");
  EXPECT_THAT(run(kMarch + gate(" --baseline b.json")), Exits(0));
}

TEST_F(KnownFailures, ListsThatAreWrong) {
  make("g.h5", {product("x", 0.5)});
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"cases": "x", "expires": "2026-03-31"})",
       "entry 1: 'reason' is missing; why is the failure accepted?"},
      {R"({"cases": "x", "reason": "r"})",
       "entry 1: 'expires' must be a day as in \"2027-01-31\", not missing"},
      {R"({"cases": "x", "reason": "r", "expires": "2026-02-30"})",
       "entry 1: 'expires' must be a day as in \"2027-01-31\", not \"2026-02-30\""},
      {R"({"reason": "r", "expires": "2026-03-31"})",
       "entry 1: 'cases' is missing, a glob of case names"},
      {R"({"case": "x", "reason": "r", "expires": "2026-03-31"})",
       "entry 1: unknown key 'case': did you mean 'cases'?; known: cases, reason, expires, output, "
       "standard"},
  };
  for (const auto& [entry, message] : wrong) {
    list(entry);
    EXPECT_THAT(run(gate()), Exits(2, std::string("error: known.json: ") + message)) << entry;
  }
  write("known.json", "# x");
  EXPECT_THAT(run(gate()).err, HasSubstr("error: known.json: is no JSON: "));
  list(R"({"cases": "x", "reason": "r", "expires": "2026-03-31"})");
  EXPECT_THAT(run("SOURCE_DATE_EPOCH=today " + gate()),
              Exits(2, "error: SOURCE_DATE_EPOCH is 'today', not a number of seconds"));
}

}  // namespace
}  // namespace assay
