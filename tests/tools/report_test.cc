// assay report: the page of a campaign. It is checked against its results, against numpy, and
// against campaigns with other thresholds. Also tests several results, and files that are refused.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Python code that reads a page as a browser would: its tables by their headings, and its pictures.
const char* const kReadPage = R"PY(
import html.parser, json

class Page(html.parser.HTMLParser):
    VOID = {"meta", "link", "br", "wbr", "input", "hr", "img"}
    CLOSES = {"li": {"li"}, "th": {"th", "td"}, "td": {"th", "td"}}
    ENDS = {"tr": {"th", "td"}, "ul": {"li"}}  # tags that HTML lets go unclosed
    def __init__(self, text):
        super().__init__()
        self.tables, self.titles, self.figures, self.open, self.cell = [], [], [], [], None
        self.tags, self.words = set(), ""
        self.feed(text)
        self.close()
        assert not self.open, self.open
    def handle_startendtag(self, tag, attributes):
        self.tags.add(tag)
    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag in self.VOID:
            return
        if self.open and self.open[-1] in self.CLOSES.get(tag, ()):
            self.open.pop()
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "title":
            self.titles.append("")
        elif tag == "figcaption":
            self.figures.append("")
    def handle_endtag(self, tag):
        if tag in self.VOID:
            return
        while self.open[-1] in self.ENDS.get(tag, ()):
            self.open.pop()
        assert self.open[-1] == tag, (tag, self.open)
        self.open.pop()
    def handle_data(self, data):
        self.words += data
        if "title" in self.open:
            self.titles[-1] += data
        elif "figcaption" in self.open:
            self.figures[-1] += data
        elif self.open and self.open[-1] in ("td", "th", "span", "code"):
            if "table" in self.open:
                self.tables[-1][-1][-1] += data
    def table(self, *heads):
        # Those whose head begins like this.
        return [t for t in self.tables if t[0][:len(heads)] == list(heads)]

page = Page(open("page.html", encoding="utf-8").read())
assert not page.tags & {"script", "link", "img", "iframe", "object"}, page.tags
text = open("page.html", encoding="utf-8").read()
assert "http://" not in text and "https://" not in text and "url(" not in text
def counts(text):
    return {int(b): int(n) for b, n in (p.split(":") for p in text.split())}
)PY";

class ReportTool : public ProgramTest {
 protected:
  // Writes a plan of 12 matrices and three gates. Two gates are thresholds, one of which is twice
  // the other, and the third gate is an elementwise bound.
  ReportTool() {
    write("plan.json", plan("report", 1));
    write("rates.csv",
          "algorithm,dtype,distribution,direction,bit,rate_percent,trials,remark\n"
          "V-ABFT,bf16,n,0to1,14,100,1000,\n"
          "V-ABFT,bf16,n,0to1,3,50,1000,\n"
          "V-ABFT,bf16,n,1to0,14,not_injectable,1000,cannot be\n"
          "V-ABFT,bf16,n,none,,0,1000,\n");
  }
  static std::string plan(const std::string& name, int seed) {
    return R"({"schema": 1, "name": ")" + name + R"(", "seed": )" + std::to_string(seed) +
           R"(, "about": "Two thresholds & one <bound>.", "published": "rates.csv", "cells": [
      {"dtype": "bfloat16", "shape": [32, 64, 48], "clean_rows": 384,
       "distribution": {"draw": "normal", "name": "normal", "published": "n"},
       "gates": ["v_abft,e_max=0.004", "v_abft,e_max=0.008", "tolerance"],
       "faults": [{"census": 12, "bits": [3, 6, 8, 14]},
                  {"class": "rows", "fault": "zero,site=row", "trials": 24, "per_matrix": 2}]}]})";
  }
  // Runs a command without the environment variables that make a campaign a shard. They are set if
  // the tests themselves run as shards.
  Ran alone(const std::string& line) const {
    return run(
        "unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX SLURM_ARRAY_TASK_COUNT SLURM_ARRAY_TASK_ID "
        "SLURM_ARRAY_TASK_MIN\n" +
        line);
  }
  // Runs a Python program that can read the page by the code of kReadPage.
  void page_holds(const std::string& program) const {
    std::string all = kReadPage;
    all += program;
    python(all);
  }
  void campaign() const {
    ASSERT_THAT(alone("assay campaign plan.json --out results --quiet"), Exits(0));
    ASSERT_THAT(run("assay report results --html page.html"), Exits(0));
  }
};

TEST_F(ReportTool, SaysWhatTheResultsHold) {
  campaign();
  page_holds(R"PY(
results = json.load(open("results/results.json"))
cell, = results["cells"]
gates = [g["gate"] for g in cell["gates"]]
assert page.titles[0] == "assay: Fault campaign: report", page.titles[0]
assert "Two thresholds & one <bound>." in page.words

def spaced(n):
    return f"{n:,}".replace(",", " ")
alarms, = page.table("cell", "detector")
for g, row in zip(cell["gates"], alarms[1:], strict=True):
    if row[0] == cell["name"]:
        row = row[1:]
    clean = g["clean"]
    a = clean["alarms"]
    assert row[0] == g["gate"] and row[1] == f"{a['events']} of {spaced(a['trials'])}", row
    if a["events"] == 0:
        assert row[2] == "0"
        by_rows, by_matrices = (100 * a["bound"][k] for k in ("by_trials", "by_matrices"))
        assert float(row[3]) == float(f"{by_rows:.2g}"), (row, by_rows)
        assert float(row[4]) == float(f"{by_matrices:.2g}"), (row, by_matrices)
    assert row[5] == f"{clean['alarmed_matrices']} of {clean['matrices']}", row
    assert abs(float(row[6]) - clean["largest_ratio"]) <= 0.005 * clean["largest_ratio"], row
    seen, tried = (sum(f["detected"][k] for f in g["faults"]) for k in ("events", "trials"))
    assert abs(float(row[10]) - 100 * seen / tried) < 0.01, row
assert any(g["clean"]["alarms"]["events"] == 0 for g in cell["gates"])

# Bits and drawn faults: counts, the rate, and its interval or bounds.
rows = {r[0]: r for t in page.table("fault") for r in t[1:]}
assert len(rows) == 9, list(rows)
for i, fault in enumerate(cell["gates"][0]["faults"]):
    if "bit" in fault:
        name = f"bit {fault['bit']}, {fault['direction'][0]} to {fault['direction'][-1]}"
    else:
        name = "zero,site=row"
    row = rows[name]
    assert row[1] == fault.get("class", "")
    for n, key in enumerate(("injected", "masked", "not_injectable", "not_finite")):
        assert row[2 + n] == spaced(fault[key]), (row, key)
    for g, said in zip(cell["gates"], row[6:], strict=True):
        d = g["faults"][i]["detected"]
        if d["trials"] == 0:
            assert said == "-"
        elif 0 < d["events"] < d["trials"]:
            rate, low, high = (float(x.strip("[],")) for x in said.split())
            assert abs(rate - 100 * d["rate"]) <= 1e-3 * rate, (said, d)
            assert abs(low - 100 * d["interval"][0]) <= 1e-3 * low, (said, d)
            assert abs(high - 100 * d["interval"][1]) <= 1e-3 * high, (said, d)
        else:
            assert said.startswith("<" if d["events"] == 0 else "100 (>"), said
by_class, = page.table("class")
assert by_class[1][:2] == ["rows", "24"]

# Every point of the pictures says its number.
for fault in cell["gates"][0]["faults"]:
    if "bit" in fault and fault["injected"]:
        d = fault["detected"]
        begin = f"{gates[0]}, bit {fault['bit']}, {fault['direction'][0]} to"
        counted = f"of {spaced(d['trials'])} ({spaced(d['events'])}); 95 % interval"
        assert any(t.startswith(begin) and counted in t for t in page.titles), begin
assert page.figures[:3] == [
    "Detected by bit, flips of 0 to 1", "Detected by bit, flips of 1 to 0",
    "Detection against false alarms, as the threshold is multiplied (ROC)"], page.figures
assert page.figures[3:] == gates
)PY");
}

// The curve is computed by numpy from the stored results, and by campaigns with other thresholds.
// At twice T, the first gate detects the same as the second gate at T, because the second one's T
// is twice as large.
TEST_F(ReportTool, Roc) {
  campaign();
  page_holds(R"PY(
import numpy as np
cell, = json.load(open("results/results.json"))["cells"]
edges = np.concatenate([[0, 2.0**-16], np.concatenate(
    [2.0**o * (1 + np.arange(1, 9) / 8) for o in range(-16, 16)])])
curves = page.table("threshold, T")
assert len(curves) == 3
at = []
for gate, curve in zip(cell["gates"], curves):
    clean, faults = np.zeros(259), np.zeros(259)
    for b, n in counts(gate["clean"]["ratios"]).items():
        clean[b] += n
    trials = 0
    for f in gate["faults"]:
        trials += f["injected"] - f["not_checkable"]
        for b, n in counts(f["ratios"]).items():
            faults[b] += n
    points = np.array([[float(x) for x in r] for r in curve[1:]])
    assert len(points) > 1, curve
    if gate["gate"] == "tolerance":
        assert points[0, 0] >= 1
    for multiple, alarm, seen in points:
        bin = int(np.argmin(np.abs(edges - multiple)))
        assert abs(edges[bin] / multiple - 1) < 1e-4, multiple
        assert abs(100 * clean[bin:].sum() / clean.sum() - alarm) < 1e-3 * max(alarm, 1e-3)
        assert abs(100 * faults[bin:].sum() / trials - seen) < 1e-3 * max(seen, 1e-3)
    def answer(multiple):
        return next(tuple(p[1:]) for p in points if p[0] >= multiple)
    at.append((answer(1), answer(2)))
    detected = sum(f["detected"]["events"] for f in gate["faults"])
    assert abs(at[-1][0][1] - 100 * detected / trials) < 1e-3
    assert abs(at[-1][0][0] - 100 * gate["clean"]["alarms"]["rate"]) < 1e-3
assert at[0][1] == at[1][0], at
assert at[0][0] != at[0][1], "the two thresholds differ in what they see"

# Histograms hold every clean row and every fault that could be checked.
for gate, table in zip(cell["gates"], page.table("D/T, above and up to"), strict=True):
    totals = [sum(int(r[c].replace(" ", "")) for r in table[1:]) for c in (1, 2)]
    assert totals[0] == gate["clean"]["rows"], totals
    assert totals[1] == sum(f["injected"] - f["not_checkable"] for f in gate["faults"]), totals
)PY");
}

TEST_F(ReportTool, PublishedFiguresBesideOurs) {
  campaign();
  page_holds(R"PY(
cell, = json.load(open("results/results.json"))["cells"]
assert [len(g.get("published", [])) for g in cell["gates"]] == [4, 4, 0]
first = cell["gates"][0]["published"]
assert first[0] == {"bit": 14, "direction": "0to1", "rate": 1.0, "trials": 1000, "agrees": True}
assert first[1]["agrees"] is False
assert first[2]["word"] == "not_injectable" and first[2]["remark"] == "cannot be"
assert "bit" not in first[3] and first[3]["rate"] == 0
table, = page.table("detector", "rate")
rows = [r for r in table[1:] if r[0] == "v_abft,e_max=0.004"]
assert [r[1] for r in rows] == ["bit 14, 0 to 1", "bit 3, 0 to 1", "bit 14, 1 to 0",
                                "runs with an alarm"], rows
assert [r[2] for r in rows] == ["100", "50", "not injectable", "0"], rows
assert rows[0][5] == "agrees" and rows[1][5] == "differs", rows
assert rows[2][5] == "held to be a defect of the publication: cannot be", rows
assert any("published: 50 % of 1 000; ours differs" in t for t in page.titles)
)PY");
  // Shards that are merged give a page of the same bytes, including the published rates.
  for (const char* shard : {"1", "2"}) {
    const std::string n = shard;
    ASSERT_THAT(alone("assay campaign plan.json --out s" + n + " --shard " + n + "/2 --quiet"),
                Exits(0));
  }
  ASSERT_THAT(run("assay merge s1 s2 --out merged --quiet"), Exits(0));
  EXPECT_EQ(read("merged/results.json"), read("results/results.json"));
  // Results without published rates, such as older ones, also have a page.
  const std::string text = read("plan.json");
  std::string without = text;
  without.erase(without.find(R"("published": "rates.csv", )"), 26);
  write("plain.json", without);
  ASSERT_THAT(alone("assay campaign plain.json --json plain_results.json --quiet"), Exits(0));
  EXPECT_THAT(read("plain_results.json"), Not(HasSubstr("published")));
  EXPECT_THAT(run("assay report plain_results.json --html p.html"), Exits(0));
  EXPECT_THAT(read("p.html"), Not(HasSubstr("Published figures")));
}

TEST_F(ReportTool, SeveralSideBySide) {
  campaign();
  write("other.json", plan("other", 2));
  ASSERT_THAT(alone("assay campaign other.json --json other_results.json --quiet"), Exits(0));
  // Changes one of the results: it gets a cell that the other one lacks, and a rate that differs.
  auto changed = json("other_results.json");
  auto extra = changed["cells"][0];
  extra["name"] = "only here";
  changed["cells"].push_back(extra);
  auto& detected = changed["cells"][0]["gates"][0]["faults"][0]["detected"];
  ASSERT_EQ(detected["events"], 0);
  const std::int64_t trials = detected["trials"];
  detected["events"] = trials / 2;
  detected["interval"] = {0.49, 0.51};
  changed["cells"][0]["gates"][0]["faults"][0]["ratios"] =
      "0:" + std::to_string(trials - trials / 2) + " 130:" + std::to_string(trials / 2);
  write("other_results.json", changed.dump());
  ASSERT_THAT(run("assay report results other_results.json --html page.html"), Exits(0));
  page_holds(R"PY(
sources, = page.table("result", "campaign")
assert [r[:3] for r in sources[1:]] == [["A", "report", "results/results.json"],
                                        ["B", "other", "other_results.json"]], sources
apart, = page.table("cell", "detector", "rate")
assert [r[1:3] for r in apart[1:]] == [["v_abft,e_max=0.004", "bit 3, 0 to 1"]], apart
assert apart[1][4].endswith("[49, 51]") and apart[1][5] == "+49.99", apart
assert "only here: not in A" in page.words
assert "The 95 % intervals of 1 do not overlap" in page.words
bits = next(t for t in page.table("fault") if t[1][0].startswith("bit"))
assert bits[0][6:] == [f"{g} \u00b7 {r}" for g in ("v_abft,e_max=0.004", "v_abft,e_max=0.008",
                                                  "tolerance") for r in "AB"], bits[0]
)PY");
}

TEST_F(ReportTool, WhatIsNoResult) {
  make("g.h5", {product("x", 0.5)});
  run("assay gate g.h5 --json gate.json --quiet");
  const auto refused = [&](const std::string& result) {
    return run("assay report " + result + " --html page.html");
  };
  const std::string advice =
      "; `assay campaign PLAN --out FOLDER` writes results, with --resume the rest of them; `assay "
      "merge` joins shards";
  EXPECT_THAT(refused("gate.json"),
              Exits(2,
                    "error: gate.json: it is a result of a gate or of a comparison; a gate writes "
                    "its page itself" +
                        advice));
  EXPECT_THAT(refused("plan.json"),
              Exits(2, "error: plan.json: it is the plan of a campaign, not its results" + advice));
  EXPECT_THAT(refused("none.json"),
              Exits(2, "error: none.json: cannot be read: No such file or directory"));
  write("list.json", "[]");
  EXPECT_THAT(
      refused("list.json"),
      Exits(2, "error: list.json: it is no result of a campaign: it must be an object {...}" +
                   advice));
  write("empty.json", "{}");
  EXPECT_THAT(
      refused("empty.json"),
      Exits(2, "error: empty.json: it is no result of a campaign: 'campaign' is missing" + advice));
  std::filesystem::create_directories(path("folder/blocks"));
  EXPECT_THAT(refused("folder"),
              Exits(2, "error: folder: its campaign is not finished, or it is one shard" + advice));
  EXPECT_THAT(refused("bin"),
              Exits(2, "error: bin: is no folder of a campaign: it has no results.json" + advice));
  run("truncate -s 65M large.json");
  EXPECT_THAT(refused("large.json"),
              Exits(2,
                    "error: large.json: has 68 157 440 bytes; a campaign's results "
                    "of more than 64 MiB are not read" +
                        advice));
  write("deep.json", std::string(100000, '['));
  EXPECT_THAT(refused("deep.json"),
              Exits(2, "error: deep.json: holds values within values more than 256 deep" + advice));
  EXPECT_FALSE(exists("page.html"));
  EXPECT_THAT(run("assay report gate.json"), Code(2));
}

TEST_F(ReportTool, CutOffAndHostile) {
  write("tiny.json", R"({"schema": 1, "name": "<script>alert(1)</script>", "cells": [
      {"name": "</title>&\"'", "dtype": "bfloat16", "shape": [4, 8, 4], "distribution": "normal",
       "gates": ["a_abft"], "clean_rows": 8, "faults": [{"census": 1, "bits": [9]}]}]})");
  ASSERT_THAT(alone("assay campaign tiny.json --json r.json --quiet"), Exits(0));
  ASSERT_THAT(run("assay report r.json --html page.html"), Exits(0));
  EXPECT_THAT(read("page.html"), AllOf(HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"),
                                       HasSubstr("&lt;/title&gt;&amp;&quot;&#39;")));
  page_holds("");
  // The page on standard output is the same, except for the command line that made it.
  const Ran out = run("assay report r.json --html -");
  EXPECT_EQ(out.code, 0);
  EXPECT_EQ(out.out.substr(0, out.out.find("<footer>")),
            read("page.html").substr(0, read("page.html").find("<footer>")));
  const std::string text = read("r.json");
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, text.size() / 2, text.size() - 3}) {
    write("cut.json", text.substr(0, n));
    const Ran ran = run("assay report cut.json --html cut.html");
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, testing::StartsWith("error: cut.json: is no JSON: "));
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_FALSE(exists("cut.html"));
  }
}

// In a browser, wide and narrow: every word of a picture lies within it, and nothing but tables is
// wider than the page.
TEST_F(ReportTool, NothingIsClipped) {
  if (std::system("command -v chromium >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "there is no chromium";
  }
  campaign();
  python(R"PY(
import os, re, subprocess
text = open("page.html", encoding="utf-8").read()
text, gone = re.subn(r"<meta http-equiv=Content-Security-Policy[^>]*>", "", text)
assert gone == 1
text = text.replace("</body>", """<script>
const out = [];
let words = 0;
for (const d of document.querySelectorAll("details")) d.open = true;
for (const svg of document.querySelectorAll("svg.plot")) {
  const room = svg.getBoundingClientRect();
  const boxes = [];
  for (const t of svg.querySelectorAll("text")) {
    const b = t.getBoundingClientRect();
    ++words;
    if (b.left < room.left - .5 || b.right > room.right + .5 || b.top < room.top - .5 ||
        b.bottom > room.bottom + .5) out.push("outside: " + t.textContent);
    for (const [other, o] of boxes)
      if (b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom)
        out.push("over each other: " + other + ", " + t.textContent);
    boxes.push([t.textContent, b]);
  }
}
if (document.documentElement.scrollWidth > innerWidth) out.push("wider than the window");
document.body.innerHTML = "<p id=said>" + words + ";" + out.join(";") + "</p>";
</script></body>""")
open("measured.html", "w", encoding="utf-8").write(text)
for width in (1400, 500):
    said = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
         "--user-data-dir=" + os.path.abspath("browser"), f"--window-size={width},900",
         "file://" + os.path.abspath("measured.html")],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=50).stdout
    found = re.search(r'<p id="said">(\d+);(.*?)</p>', said, re.S)
    assert found and int(found[1]) > 60, said[-300:]
    assert found[2] == "", (width, found[2])
)PY");
}

}  // namespace
}  // namespace assay
