// assay gate: the files that it writes (JSON, JUnit, HTML, failing cases) and its reproducer lines.
#include "assay/base/text.h"
#include "program.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class GateReports : public ProgramTest {
 protected:
  // Returns the reproducer lines in a program's output.
  static std::vector<std::string> reproducers(const std::string& out) {
    std::vector<std::string> lines;
    const std::string mark = "\nreproduce: ";
    for (std::size_t at = 0; (at = out.find(mark, at)) != std::string::npos;) {
      at += mark.size();
      lines.push_back(out.substr(at, out.find('\n', at) - at));
    }
    return lines;
  }

  // Returns a report's text about the case, from the case's name to the reproducer line.
  static std::string verdict_text(const std::string& out, const std::string& name) {
    const std::size_t begin = out.find("\n" + name + ": ");
    return out.substr(begin, out.find("\nreproduce:", begin) - begin);
  }
};

TEST_F(GateReports, JsonHasEveryKeyOfEveryCase) {
  make("g.h5", one_of_each());
  EXPECT_THAT(run("assay gate g.h5 --recorded p --json r.json"), Exits(1));
  const nlohmann::json report = json("r.json");
  EXPECT_EQ(report["schema"], 2);
  EXPECT_EQ(report["outcome"], "fail");
  EXPECT_EQ(report["golden"], "g.h5");
  EXPECT_EQ(report["command"], "assay gate g.h5 --recorded p --json r.json");
  ASSERT_EQ(report["cases"].size(), 4u);
  for (const auto& c : report["cases"]) {
    for (const char* key : {"case", "op", "dtype", "shape", "producer", "outcome", "because",
                            "verdicts", "reproduce"}) {
      EXPECT_TRUE(c.contains(key)) << key << " in " << c["case"];
    }
    for (const char* key : {"outcome", "sites", "mismatches", "special_mismatches", "worst_ratio",
                            "because", "bound", "worst", "metrics"}) {
      EXPECT_TRUE(c["verdicts"][0].contains(key)) << key << " in " << c["case"];
    }
  }
  const auto& failed = report["cases"][0];
  EXPECT_EQ(failed["case"], "fail");
  EXPECT_EQ(failed["outcome"], "fail");
  const auto& verdict = failed["verdicts"][0];
  EXPECT_EQ(verdict["sites"], 6);
  EXPECT_EQ(verdict["mismatches"], 1);
  EXPECT_EQ(verdict["metrics"]["max_abs_error"], 0.5);
  EXPECT_EQ(verdict["worst"][0]["index"], nlohmann::json({1, 2}));
  EXPECT_EQ(verdict["worst"][0]["actual_bits"], "0x40b00000");
  EXPECT_EQ(report["cases"][1]["outcome"], "not_comparable");
  EXPECT_EQ(report["cases"][2]["outcome"], "pass");
  EXPECT_EQ(report["cases"][2]["verdicts"][0]["metrics"]["snr_db"], "inf")
      << "infinity is a string";
  EXPECT_EQ(report["cases"][3]["outcome"], "untrusted");
}

TEST_F(GateReports, JsonOf500CasesTakesHalfAMegabyteAtMost) {
  std::vector<Case> cases;
  for (int i = 0; i < 500; ++i) {
    cases.push_back(product(formatted("layer{}/mlp/gate_proj", i), i % 10 == 0 ? 0.5 : 1e-7));
  }
  make("g.h5", cases);
  EXPECT_THAT(run("assay gate g.h5 --recorded p --json r.json -q"), Exits(1));
  EXPECT_LE(read("r.json").size(), 500'000u);
  EXPECT_EQ(json("r.json")["cases"].size(), 500u);
  EXPECT_THAT(run("assay gate g.h5 --recorded p --json all.json --histograms -q"), Exits(1));
  EXPECT_GT(read("all.json").size(), 2 * read("r.json").size());
  EXPECT_TRUE(json("all.json")["cases"][0]["verdicts"][0]["metrics"].contains("ulp_histogram"));
}

TEST_F(GateReports, JsonOnStandardOutputIsAllThereIs) {
  make("g.h5", one_of_each());
  for (const char* more : {"", " --quiet", " --junit r.xml --html r.html --save-failures f.h5"}) {
    const Ran ran = run(std::string("assay gate g.h5 --recorded p --json -") + more);
    EXPECT_THAT(ran, Exits(1));
    EXPECT_EQ(parsed(ran.out)["cases"].size(), 4u) << more;
  }
}

TEST_F(GateReports, JsonKeepsSeveralStandardsApart) {
  make("g.h5", {product("x", 1e-4)});
  EXPECT_THAT(run("assay gate g.h5 --standard 'ulp(1000)' --standard torch --json r.json"),
              Exits(1));
  const auto report = json("r.json");
  const auto& c = report["cases"][0];
  ASSERT_EQ(c["verdicts"].size(), 2u);
  EXPECT_EQ(c["verdicts"][0]["outcome"], "pass");
  EXPECT_EQ(c["verdicts"][1]["outcome"], "fail");
  EXPECT_EQ(c["outcome"], "fail");
  EXPECT_EQ(c["because"], c["verdicts"][1]["because"]) << "the one that decides";
}

TEST_F(GateReports, JunitParsesAndCounts) {
  std::vector<Case> cases = one_of_each();
  cases[1].op = "a<b>&\"c\"";
  make("g.h5", cases);
  EXPECT_THAT(run("assay gate g.h5 --recorded p --junit r.xml --quiet"), Exits(1));
  python(R"py(
import xml.etree.ElementTree as tree
suite = tree.parse("r.xml").getroot()
assert suite.tag == "testsuite", suite.tag
assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "2"), suite.attrib
cases = {c.get("name"): c for c in suite}
assert sorted(cases) == ["fail", "missing", "pass", "untrusted"], cases
assert cases["fail"].get("classname") == 'a<b>&"c"'
assert cases["pass"].find("failure") is None and cases["pass"].find("error") is None
assert "differs by more than" in cases["fail"].find("failure").get("message")
assert "reproduce: assay gate g.h5 --case fail" in cases["fail"].find("failure").text
assert cases["untrusted"].find("error") is not None and cases["missing"].find("error") is not None
)py");
}

TEST_F(GateReports, HtmlIsOneSelfContainedPage) {
  std::vector<Case> cases = one_of_each();
  cases[1].attributes["output_dtype"] = std::string("float32");
  cases[1].output().recorded.clear();
  cases[1].output().recorded["x=1"].tensor =
      Tensor::from_values(format_named("float32"), {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
  make("<script>alert(1)<.h5", cases);
  EXPECT_THAT(run("assay gate '<script>alert(1)<.h5' --recorded p --html r.html --quiet"),
              Exits(3));
  python(R"py(
from html.parser import HTMLParser
import re
page = open("r.html", encoding="utf-8").read()
scripts, styles, inside = [], [], []
class Check(HTMLParser):
    def handle_starttag(self, tag, attributes):
        assert tag not in ("link", "iframe", "object", "embed", "img", "base"), tag
        for name, value in attributes:
            assert name not in ("src", "srcset", "data") and not name.startswith("on"), (tag, name)
            assert name != "href" or value.startswith("#"), value
        inside.append("data" if ("type", "application/json") in attributes else tag)
    def handle_data(self, data):
        if inside[-1:] == ["script"]: scripts.append(data)
        if inside[-1:] == ["style"]: styles.append(data)
    def handle_endtag(self, tag):
        inside.append("/" + tag)
Check().feed(page)
assert "alert(1)<" in page or "alert(1)&lt;" in page
assert not any("alert(1)" in s for s in scripts), "a file's name became a script"
for s in styles: assert "@import" not in s and "url(" not in s
for s in scripts: assert not re.search(r"\bfetch\(|XMLHttpRequest|importScripts|\bimport\(", s)
for name in ("pass", "missing", "untrusted"): assert name in page
)py");
}

TEST_F(GateReports, SavedFailuresGateTheSameWay) {
  std::vector<Case> cases = one_of_each();
  cases[0].attributes["why"] = std::string("kept");
  cases[1].attributes["why"] = std::string("kept");
  make("g.h5", cases);
  const Ran first = run("assay gate g.h5 --recorded p --save-failures f.h5");
  EXPECT_THAT(first, Exits(1));
  EXPECT_THAT(first.out, HasSubstr("\nthe cases that did not pass are saved in f.h5\n"));
  const Ran again = run("assay gate f.h5 --recorded p");
  EXPECT_THAT(again, Exits(1));
  for (const char* name : {"fail", "untrusted", "missing"}) {
    EXPECT_EQ(verdict_text(again.out, name), verdict_text(first.out, name)) << name;
  }
  EXPECT_THAT(run("assay gate f.h5 --recorded p --case pass"), Not(Exits(0)));
  EXPECT_THAT(run("assay inspect f.h5 --case fail").out, HasSubstr("why: kept"));
}

TEST_F(GateReports, SavedFailuresHoldOutputsOfElsewhere) {
  make("g.h5", {product("x"), product("y")});
  make("o.h5", {product("x", 0.5, "npu"), product("y", 0, "npu")});
  EXPECT_THAT(run("assay gate g.h5 --outputs o.h5 --save-failures f.h5"), Exits(1));
  const Ran again = run("assay gate f.h5 --recorded npu");
  EXPECT_THAT(again, Exits(1));
  EXPECT_THAT(again.out, HasSubstr("\n1 case: 1 fail\n"));
}

TEST_F(GateReports, NoFailuresLeaveNoFileOfFailures) {
  make("g.h5", {product("x")});
  EXPECT_THAT(run("assay gate g.h5 --save-failures f.h5"), Exits(0));
  EXPECT_FALSE(exists("f.h5"));
}

// The gate reports a file that cannot be written before it judges anything. An hour's work must not
// be lost to it.
TEST_F(GateReports, WhatCannotBeWrittenIsRefusedBeforeTheWork) {
  make("g.h5", {product("x", 0.5), product("y")});
  for (const char* option : {"--json", "--junit", "--html", "--save-failures"}) {
    for (const auto& [where, why] :
         {std::pair("none/f", "No such file or directory"), std::pair("bin", "Is a directory"),
          std::pair("g.h5/f", "Not a directory")}) {
      const Ran ran = run(std::string("assay gate g.h5 ") + option + " " + where);
      EXPECT_THAT(ran, Exits(2, std::string("error: ") + where + ": cannot be written: " + why));
      EXPECT_THAT(ran.out, IsEmpty()) << option << " " << where;
    }
  }
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(GateReports, InputIsNotOverwrittenByAReport) {
  make("g.h5", {product("x", 0.5), product("y")});
  make("o.h5", {product("x", 0.5), product("y")});
  const std::string golden = read("g.h5"), outputs = read("o.h5");
  for (const char* option : {"--save-failures", "--json", "--junit", "--html"}) {
    EXPECT_THAT(run(std::string("assay gate g.h5 --outputs o.h5 ") + option + " g.h5"), Code(2))
        << option;
    EXPECT_TRUE(read("g.h5") == golden) << option << " replaced the golden file";
    make("g.h5", {product("x", 0.5), product("y")});
  }
  EXPECT_THAT(run("assay gate g.h5 --outputs o.h5 --save-failures ./o.h5"), Code(2));
  EXPECT_TRUE(read("o.h5") == outputs);
}

TEST_F(GateReports, ReportsThatCannotBeWrittenExitWithTwo) {
  make("g.h5", {product("x")});
  for (const char* option : {"--json", "--junit", "--html"}) {
    const std::string gate = std::string("assay gate g.h5 --quiet ") + option + " ";
    EXPECT_THAT(run(gate + "none/r"),
                Exits(2, "error: none/r: cannot be written: No such file or directory"));
    EXPECT_THAT(run(gate + "bin"), Exits(2, "error: bin: cannot be written: Is a directory"));
    EXPECT_THAT(run(gate + "/dev/full"),
                Exits(2, "error: /dev/full: cannot be written: No space left on device"));
  }
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(GateReports, ReportOnAFullDiskLeavesNoOlderOne) {
  make("g.h5", {product("x")});
  write("r.html", "old");
  // A limit on the size of a file stands for a full disk.
  const Ran ran = run("trap '' XFSZ; ulimit -f 1; assay gate g.h5 --quiet --html r.html");
  EXPECT_THAT(ran, Code(2));
  EXPECT_THAT(ran.err, HasSubstr("error: r.html: cannot be written: "));
  EXPECT_FALSE(exists("r.html"));
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(GateReports, ReproducerLinesGiveTheSameVerdict) {
  make("it's g.h5", {product("x", 0.01), product("deep/er", 0.5)});
  make("o.h5", {product("x", 0.02, "npu"), product("deep/er", 0.5, "npu")});
  for (const char* options :
       {"", " --recorded p", " --outputs o.h5", " --standard 'ulp(2)' --standard torch",
        " --rtol 1e-9 --atol 0.001", " --equal-nan --standard torch",
        " --machine exact --standard bit_equal --rtol 0 --atol 1e-300"}) {
    const Ran first = run(std::string("assay gate \"it's g.h5\"") + options);
    for (const std::string& line : reproducers(first.out)) {
      const Ran again = run(line);
      EXPECT_EQ(again.code, first.code) << line;
      const std::string name = line.find("deep/er") != std::string::npos ? "deep/er" : "x";
      EXPECT_EQ(verdict_text(again.out, name), verdict_text(first.out, name)) << line;
      EXPECT_FALSE(verdict_text(again.out, name).empty());
    }
    if (std::string(options).find("machine") == std::string::npos) {
      EXPECT_THAT(reproducers(first.out), Not(IsEmpty())) << options;
    }
  }
}

TEST_F(GateReports, AtMostFiveAreExplainedAndTheRestCounted) {
  std::vector<Case> cases;
  for (int i = 0; i < 8; ++i) cases.push_back(product("case" + std::to_string(i), 0.5));
  make("g.h5", cases);
  const Ran ran = run("assay gate g.h5");
  EXPECT_EQ(reproducers(ran.out).size(), 5u);
  EXPECT_THAT(ran.out,
              HasSubstr("\n... and 3 more that did not pass; the JSON and the page list them "
                        "all\n"));
}

TEST_F(GateReports, WorksFromAnyDirectoryWithoutWritingThere) {
  make("g.h5", {product("x", 0.5)});
  std::filesystem::create_directory(directory_ / "empty");
  EXPECT_THAT(run("cd empty && assay gate ../g.h5"), Exits(1));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "empty"));
}

}  // namespace
}  // namespace assay
