// Tests reports for machines: JSON and JUnit, read by other parsers (Python).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/report.h"
#include "document.h"
#include "report/samples.h"

namespace assay::report {
namespace {

using testing_samples::list;
using testing_samples::reported;
using Json = nlohmann::ordered_json;

Bound command_tolerance(double atol, double rtol) {
  Bound bound;
  bound.atol = atol;
  bound.rtol = rtol;
  bound.standard = "torch";
  bound.origin = "command";
  return bound;
}

// Returns what a Python program prints. sys.argv[1] is the path of a file that contains `text`.
std::string python(const std::string& program, const std::string& text) {
  char path[] = "/tmp/assay_report_XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return "no temporary file";
  std::FILE* file = fdopen(fd, "w");
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  const std::string command = std::string(ASSAY_PYTHON) + " -c '" + program + "' " + path + " 2>&1";
  std::string out;
  if (std::FILE* pipe = popen(command.c_str(), "r")) {
    char buffer[4096];
    while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
    pclose(pipe);
  }
  std::remove(path);
  return out;
}

// NaN and Infinity are not JSON, although Python reads them.
const char* const kReadJson =
    "import json, sys\n"
    "def refuse(word): raise ValueError(word)\n"
    "json.load(open(sys.argv[1], encoding=\"utf-8\"), parse_constant=refuse)\n"
    "print(\"valid\")\n";

const char* const kReadXml =
    "import sys, xml.etree.ElementTree as E\n"
    "root = E.parse(sys.argv[1]).getroot()\n"
    "print(root.tag, root.attrib[\"name\"], *[root.attrib[k] for k in "
    "(\"tests\", \"failures\", \"errors\", \"time\")])\n"
    "for case in root:\n"
    "  print(case.attrib[\"classname\"], case.attrib[\"name\"], case.attrib[\"time\"])\n"
    "  for e in (e for e in case if e.tag != \"properties\"):\n"
    "    print(\" \", e.tag, e.attrib[\"type\"], e.attrib[\"message\"])\n"
    "    print(e.text)\n";

TEST(VerdictJson, Values) {
  const Verdict v = judge(list("float32", {1, 2, 3, 4.5}), list("float32", {1, 2, 3, 4}),
                          command_tolerance(1e-3, 1e-3));
  const std::string text = verdict_json(v);
  EXPECT_EQ(python(kReadJson, text), "valid\n");
  EXPECT_EQ(text.back(), '\n');
  const Json j = Json::parse(text);
  EXPECT_EQ(j.begin().key(), "schema");
  EXPECT_EQ(j["schema"], 2);
  EXPECT_EQ(j["outcome"], "fail");
  EXPECT_EQ(j["sites"], 4);
  EXPECT_EQ(j["mismatches"], 1);
  EXPECT_DOUBLE_EQ(j["worst_ratio"].get<double>(), 100);
  EXPECT_EQ(j["because"],
            "1 of 4 elements (25.0 %) differs by more than atol 0.001 + rtol 0.001 * |expected|");
  EXPECT_FALSE(j.contains("where"));
  EXPECT_EQ(j["bound"], Json::parse(R"({"standard": "torch", "origin": "command",
      "text": "atol 0.001 + rtol 0.001 * |expected|", "rtol": 0.001, "atol": 0.001,
      "round_expected": true, "equal_nan": false})"));
  ASSERT_EQ(j["worst"].size(), 1u);
  EXPECT_EQ(j["worst"][0], Json::parse(R"({"index": [3], "actual": 4.5,
      "actual_bits": "0x40900000", "expected": 4.0, "expected_bits": "0x40800000", "error": 0.5,
      "bound": 0.005, "ulps": 1048576})"));
  const Json& m = j["metrics"];
  EXPECT_EQ(m["compared"], 4);
  EXPECT_EQ(m["bit_identical"], false);
  EXPECT_EQ(m["max_abs_error"], 0.5);
  EXPECT_EQ(m["max_abs_index"], 3);
  EXPECT_EQ(m["rmse"], 0.25);
  EXPECT_EQ(m["max_ulp"], 1048576);
  EXPECT_EQ(m["required_rtol"], v.metrics->required_rtol) << "all digits";
  EXPECT_EQ(m["actual"]["nan"], 0);
}

TEST(VerdictJson, NanAndInfinityAreStrings) {
  const Verdict v = judge(list("float16", {kNan, kInfinity, -kInfinity, 1}),
                          list("float16", {1, 2, 3, 1}), command_tolerance(1e-3, 1e-3));
  const std::string text = verdict_json(v);
  EXPECT_EQ(python(kReadJson, text), "valid\n");
  EXPECT_EQ(text.find("null"), std::string::npos);
  const Json j = Json::parse(text);
  EXPECT_EQ(j["worst_ratio"], "inf");
  ASSERT_EQ(j["worst"].size(), 3u);
  EXPECT_EQ(j["worst"][0]["actual"], "nan");
  EXPECT_EQ(j["worst"][0]["actual_bits"], "0x7e00");
  EXPECT_EQ(j["worst"][0]["error"], "nan");
  EXPECT_EQ(j["worst"][0]["ulps"], "nan");
  EXPECT_EQ(j["worst"][1]["actual"], "inf");
  EXPECT_EQ(j["worst"][1]["error"], "inf");
  EXPECT_EQ(j["worst"][2]["actual"], "-inf");
  EXPECT_EQ(j["metrics"]["actual"]["positive_inf"], 1);
  EXPECT_EQ(j["metrics"]["actual"]["negative_inf"], 1);
  const Json same = Json::parse(verdict_json(
      judge(list("float16", {1, 2}), list("float16", {1, 2}), command_tolerance(0, kInfinity))));
  EXPECT_EQ(same["metrics"]["snr_db"], "inf");
  EXPECT_EQ(same["bound"]["rtol"], "inf");
}

TEST(VerdictJson, OtherRulesAndOutcomes) {
  Bound ulps, bits;
  ulps.rule = Rule::kUlps;
  ulps.ulps = ~std::uint64_t{0};
  bits.rule = Rule::kBits;
  const Tensor t = list("int64", {1, 2});
  Json j = Json::parse(verdict_json(judge(Tensor(t), t, ulps)));
  EXPECT_EQ(j["bound"]["ulps"], ~std::uint64_t{0});
  EXPECT_FALSE(j["bound"].contains("rtol"));
  j = Json::parse(verdict_json(judge(Tensor(t), t, bits)));
  EXPECT_EQ(j["outcome"], "pass");
  EXPECT_EQ(j["bound"]["text"], "bit equality");
  EXPECT_EQ(j["worst"], Json::array());
  j = Json::parse(verdict_json(not_comparable("nothing there")));
  EXPECT_EQ(j["outcome"], "not_comparable");
  EXPECT_EQ(j["because"], "nothing there");
  EXPECT_EQ(j["metrics"], Json::object());
  EXPECT_EQ(j["sites"], 0);
}

TEST(VerdictJson, LargeIntegersKeepTheirBits) {
  const std::int64_t odd = (std::int64_t{1} << 53) + 1;
  const std::vector<std::int64_t> a = {odd, 2}, e = {odd - 1, 2};
  const Json j = Json::parse(verdict_json(judge(view(a), view(e), command_tolerance(0, 0))));
  ASSERT_EQ(j["mismatches"], 1);
  EXPECT_EQ(j["worst"][0]["actual_bits"], "0x0020000000000001");
  EXPECT_EQ(j["worst"][0]["expected_bits"], "0x0020000000000000");
  EXPECT_NE(j["worst"][0]["actual"], j["worst"][0]["expected"]);
}

CaseReport tagged(const std::string& name, std::vector<Verdict> verdicts) {
  CaseReport c = reported(name, std::move(verdicts), {2});
  c.tags = {"slow", "nightly"};
  c.seconds = 0.25;
  return c;
}

GateReport sample() {
  const Tensor golden = list("float32", {1, 2});
  GateReport report;
  report.golden_file = "g.h5";
  report.command = "assay gate g.h5";
  report.version = "0.1.0";
  report.simd_target = "AVX2";
  report.cases = {
      tagged("a", {judge(Tensor(golden), golden, command_tolerance(1e-3, 1e-3))}),
      tagged("b", {judge(Tensor(golden), golden, command_tolerance(1e-3, 1e-3)),
                   judge(list("float32", {1, 2.5}), golden, command_tolerance(0, 0))}),
      tagged("c", {not_comparable("it has no recorded output of 'ascend910b'")}),
      tagged("d", {judge(list("float32", {0}), list("float32", {0}), command_tolerance(0, 0))})};
  return report;
}

TEST(GateJson, Cases) {
  const std::string text = gate_json(sample());
  EXPECT_EQ(python(kReadJson, text), "valid\n");
  const Json j = Json::parse(text);
  EXPECT_EQ(j["schema"], 2);
  EXPECT_EQ(j["assay"], "0.1.0");
  EXPECT_EQ(j["command"], "assay gate g.h5");
  EXPECT_EQ(j["golden"], "g.h5");
  EXPECT_EQ(j["outcome"], "fail");
  ASSERT_EQ(j["cases"].size(), 4u);
  const Json& a = j["cases"][0];
  EXPECT_EQ(a["case"], "a");
  EXPECT_EQ(a["op"], "matmul");
  EXPECT_EQ(a["dtype"], "float32");
  EXPECT_EQ(a["shape"], Json::parse("[2]"));
  EXPECT_EQ(a["producer"], "ascend910b");
  EXPECT_EQ(a["tags"], Json::parse(R"(["slow", "nightly"])"));
  EXPECT_EQ(a["outcome"], "pass");
  EXPECT_EQ(a["seconds"], 0.25);
  EXPECT_EQ(a["reproduce"], "assay gate g.h5 --case a");
  ASSERT_EQ(a["verdicts"].size(), 1u);
  for (const char* key : {"output", "sites", "mismatches", "worst", "bound", "metrics"}) {
    EXPECT_FALSE(a.contains(key)) << key << " is a verdict's";
  }
  const Json& b = j["cases"][1];
  EXPECT_EQ(b["outcome"], "fail");
  ASSERT_EQ(b["verdicts"].size(), 2u);
  EXPECT_EQ(b["verdicts"][0]["outcome"], "pass");
  EXPECT_EQ(b["verdicts"][1]["outcome"], "fail");
  EXPECT_EQ(b["verdicts"][1]["mismatches"], 1);
  EXPECT_EQ(j["cases"][2]["outcome"], "not_comparable");
  EXPECT_EQ(j["cases"][3]["outcome"], "untrusted");
  EXPECT_EQ(Json::parse(gate_json(GateReport{}))["outcome"], "not_comparable");
  EXPECT_EQ(Json::parse(gate_json(GateReport{}))["cases"], Json::array());
}

// Cases are written in groups of some hundreds, and threads make their texts.
TEST(GateJson, IsTheSameWhateverThreadsWriteIt) {
  GateReport report;
  for (int i = 0; i < 1300; ++i) {
    report.cases.push_back(tagged("case_" + std::to_string(i), sample().cases.front().verdicts));
  }
  const std::string alone = gate_json(report);
  const Json json = Json::parse(alone);
  ASSERT_EQ(json["cases"].size(), report.cases.size());
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    EXPECT_EQ(json["cases"][i]["case"], report.cases[i].name);
  }
  for (const int threads : {0, 2, 7}) {
    std::string text;
    write_gate_json(
        report, [&](std::string_view part) { text += part; }, threads);
    EXPECT_TRUE(text == alone) << threads;
  }
}

TEST(GateJson, ACaseHasOneLineAndItsMainMetrics) {
  const std::string text = gate_json(sample());
  EXPECT_THAT(text, testing::HasSubstr("\n    {\"case\":\"b\",\"op\":\"matmul\","));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("histogram")));
  EXPECT_EQ(Json::parse(text)["cases"][0]["verdicts"][0]["metrics"].size(), 7u);
  const Json all = Json::parse(gate_json(sample(), JsonMetrics::kAll));
  const Json& verdict = all["cases"][0]["verdicts"][0];
  Json alone = Json::parse(verdict_json(sample().cases[0].verdicts[0]));
  EXPECT_EQ(verdict["metrics"], alone["metrics"]);
  EXPECT_TRUE(verdict["metrics"].contains("abs_error_histogram"));
}

TEST(GateJson, AnyBytes) {
  GateReport report = sample();
  report.command = "assay gate 'a\"b\\c'\n\t\x01 \xc3\xa9 \xff";
  report.cases[0].op = "\xff\xfe";
  EXPECT_EQ(python(kReadJson, gate_json(report)), "valid\n");
}

TEST(Junit, Cases) {
  EXPECT_EQ(python(kReadXml, gate_junit(sample())),
            "testsuite g.h5 4 1 2 1.000\n"
            "matmul a 0.250\n"
            "matmul b 0.250\n"
            "  failure fail 1 of 2 elements (50.0 %) differs\n"
            "1 of 2 elements (50.0 %) differs\n"
            "which are:\n"
            "  [1]: actual 2.5 (0x40200000), expected 2 (0x40000000), error 0.5, bound 0, "
            "2 097 152 ulp\n"
            "would pass with rtol 0.25 (at this atol) or atol 0.5 (at this rtol)\n"
            "reproduce: assay gate g.h5 --case b\n"
            "matmul c 0.250\n"
            "  error not_comparable it has no recorded output of 'ascend910b'\n"
            "it has no recorded output of 'ascend910b'\n"
            "reproduce: assay gate g.h5 --case c\n"
            "matmul d 0.250\n"
            "  error untrusted an output of zeros would pass too: the expected result is within "
            "equality everywhere\n"
            "an output of zeros would pass too: the expected result is within equality everywhere\n"
            "reproduce: assay gate g.h5 --case d\n");
  EXPECT_EQ(python(kReadXml, gate_junit(GateReport{})), "testsuite  0 0 0 0.000\n");
}

TEST(Junit, EscapesWhatXmlReserves) {
  GateReport report = sample();
  report.golden_file = "a&b <\"c\"> 'd'.h5";
  report.cases.erase(report.cases.begin() + 1, report.cases.end());
  report.cases[0].op = "x<y";
  report.cases[0].name = "]]>&amp;";
  report.cases[0].verdicts = {not_comparable("1 < 2 && \"3\" > '2' ]]> \x01\x1b[31m \xc3\xa9")};
  report.cases[0].reproduce = "assay gate 'a&b' --case \"c\"";
  EXPECT_EQ(python(kReadXml, gate_junit(report)),
            "testsuite a&b <\"c\"> 'd'.h5 1 0 1 0.250\n"
            "x<y ]]>&amp; 0.250\n"
            "  error not_comparable 1 < 2 && \"3\" > '2' ]]> \\x01\\x1b[31m \xc3\xa9\n"
            "1 < 2 && \"3\" > '2' ]]> \\x01\\x1b[31m \xc3\xa9\n"
            "reproduce: assay gate 'a&b' --case \"c\"\n");
}

// A file's strings may hold any bytes. The report is still well-formed.
TEST(Junit, BytesThatAreNoUtf8) {
  for (const char* bytes : {"\xff\xfe", "caf\xe9", "\xc3", "\xed\xa0\x80", "\xef\xbf\xbf"}) {
    GateReport report = sample();
    report.cases[0].op = bytes;
    EXPECT_THAT(python(kReadXml, gate_junit(report)), testing::StartsWith("testsuite g.h5 4 1 2"));
  }
}

}  // namespace
}  // namespace assay::report
