// assay gate over many files and cases: which cases are judged, how they are paired, and what is
// shown.
#include <algorithm>

#include "assay/base/text.h"
#include "emulated.h"
#include "program.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class GateMany : public ProgramTest {
 protected:
  static std::vector<std::string> names_in(const nlohmann::json& report) {
    std::vector<std::string> names;
    for (const auto& c : report["cases"]) {
      names.push_back((c.contains("file") ? c["file"].get<std::string>() + ":" : "") +
                      c["case"].get<std::string>());
    }
    return names;
  }
  std::vector<std::string> judged(const std::string& line) const {
    const Ran ran = run("assay gate " + line + " --json -");
    EXPECT_THAT(ran.err, IsEmpty()) << line;
    return ran.out.empty() ? std::vector<std::string>() : names_in(parsed(ran.out));
  }
  void folder(const std::string& name) const {
    std::filesystem::create_directories(directory_ / name);
  }
  static std::string without_seconds(std::string text) {
    for (const char* key : {"\"seconds\": ", "\"seconds\":", "time=\""}) {
      for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos;) {
        at += std::string(key).size();
        std::size_t end = at;
        while (end < text.size() && (std::isalnum(text[end]) != 0 || text[end] == '.' ||
                                     text[end] == '-' || text[end] == '+')) {
          ++end;
        }
        text.erase(at, end - at);
      }
    }
    return text;
  }
};

TEST_F(GateMany, FilesAndFoldersAreOneTable) {
  folder("dir/deep");
  make("a.h5", {product("x"), product("layer107"), product("layer7")});
  make("dir/b.h5", {product("x", 0.5)});
  make("dir/deep/c.h5", {product("z")});
  write("dir/notes.txt", "no dataset");
  const Ran ran = run("assay gate a.h5 dir --junit r.xml --html r.html --json r.json");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, StartsWith("file           case      outcome  dtype"));
  EXPECT_THAT(ran.out, HasSubstr("\na.h5           layer7    pass"));
  EXPECT_THAT(ran.out, HasSubstr("\ndir/b.h5       x         fail"));
  EXPECT_THAT(ran.out, HasSubstr("\n5 cases: 4 pass, 1 fail\n"));
  EXPECT_THAT(ran.out, HasSubstr("\ndir/b.h5: x: fail: "));
  EXPECT_THAT(ran.out, HasSubstr("\nreproduce: assay gate dir/b.h5 --case x --recorded p\n"));
  const auto report = json("r.json");
  EXPECT_THAT(names_in(report), ElementsAre("a.h5:layer7", "a.h5:layer107", "a.h5:x", "dir/b.h5:x",
                                            "dir/deep/c.h5:z"));
  EXPECT_EQ(report["golden"], nlohmann::json({"a.h5", "dir/b.h5", "dir/deep/c.h5"}));
  EXPECT_THAT(read("r.html"), HasSubstr("<td><code>dir/b.h5</code></td><td><code>x</code></td>"));
  python(R"py(
import xml.etree.ElementTree as tree
root = tree.parse("r.xml").getroot()
assert root.tag == "testsuites", root.tag
assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("5", "1", "0"), root.attrib
suites = {s.get("name"): s for s in root}
assert list(suites) == ["a.h5", "dir/b.h5", "dir/deep/c.h5"], suites
assert [c.get("name") for c in suites["a.h5"]] == ["layer7", "layer107", "x"]
assert suites["dir/b.h5"].get("failures") == "1" and suites["a.h5"].get("failures") == "0"
)py");
}

TEST_F(GateMany, GlobsOfFilesAndFilesTwice) {
  make("a1.h5", {product("x")});
  make("a2.h5", {product("x")});
  make("b.h5", {product("x")});
  EXPECT_THAT(judged("'a*.h5'"), ElementsAre("a1.h5:x", "a2.h5:x"));
  EXPECT_THAT(run("assay gate 'c*.h5'"), Exits(2, "error: c*.h5: matches no file and no folder"));
  EXPECT_THAT(run("assay gate b.h5 ./b.h5"), Exits(2, "error: ./b.h5 is given twice"));
}

TEST_F(GateMany, CasesAreChosenAndLeftOut) {
  make("a.h5", {product("l1/add"), product("l2/add"), product("l2/mul"), product("l3/mul")});
  make("b.h5", {product("l2/add")});
  EXPECT_THAT(judged("a.h5 --case 'l[12]/*'"), ElementsAre("l1/add", "l2/add", "l2/mul"));
  EXPECT_THAT(judged("a.h5 --case 'l[!12]/*' --case l1/add"), ElementsAre("l1/add", "l3/mul"));
  EXPECT_THAT(judged("a.h5 --exclude '*/mul' --exclude l1/add"), ElementsAre("l2/add"));
  EXPECT_THAT(judged("a.h5 b.h5 --case '*/add' --exclude 'l1*'"),
              ElementsAre("a.h5:l2/add", "b.h5:l2/add"));
  EXPECT_THAT(run("assay gate a.h5 --case l1/add --case nothing"),
              Exits(3,
                    "error: a.h5: no case matches 'nothing'; it has 4 cases, the first is "
                    "'l1/add'"));
  EXPECT_THAT(run("assay gate a.h5 b.h5 --case nothing"),
              Exits(3, "error: a.h5, b.h5: no case matches 'nothing'; the 2 files have 5 cases"));
  EXPECT_THAT(run("assay gate a.h5 --exclude '*'"),
              Exits(3, "error: a.h5: --exclude leaves out all of its 4 cases"));
  EXPECT_THAT(run("assay gate a.h5 --exclude nothing").out,
              HasSubstr("\nnote: --exclude nothing: no case matches it\n"));
}

TEST_F(GateMany, AFileThatCannotBeReadLeavesTheOthers) {
  make("a.h5", {product("x")});
  write("b.h5", "no dataset");
  make("c.h5", {product("y", 0.5)});
  const Ran ran = run("assay gate a.h5 b.h5 c.h5 --json r.json");
  EXPECT_THAT(ran, Exits(2, "error: b.h5: is not an HDF5 file"));
  EXPECT_THAT(ran.out, HasSubstr("3 cases: 1 pass, 1 fail, 1 error\n"));
  const auto report = json("r.json");
  EXPECT_EQ(report["outcome"], "error");
  EXPECT_THAT(names_in(report), ElementsAre("a.h5:x", "b.h5:(file)", "c.h5:y"));
}

TEST_F(GateMany, OutputsBelongTogetherInOrderOrByName) {
  make("a.h5", {product("x"), product("y")});
  make("b.h5", {product("x"), product("z")});
  make("ao.h5", {product("x", 0.5, "npu"), product("y", 0, "npu")});
  make("bo.h5", {product("x", 0, "npu"), product("z", 0, "npu")});
  // In order.
  Ran ran = run("assay gate a.h5 b.h5 --outputs ao.h5 --outputs bo.h5 --json r.json");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("\n4 cases: 3 pass, 1 fail\n"));
  EXPECT_THAT(ran.out,
              HasSubstr("reproduce: assay gate a.h5 --case x --outputs ao.h5 --recorded npu\n"));
  // One file of outputs for all golden files is paired by the names of cases. 'x' could belong to
  // both golden files.
  EXPECT_THAT(run("assay gate a.h5 b.h5 --outputs ao.h5"),
              Exits(2,
                    "error: case 'x' is in a.h5 and in b.h5, but both share one --outputs; give "
                    "one --outputs for each GOLDEN, in the same order"));
  make("all.h5", {product("y", 0, "npu"), product("z", 0.5, "npu")});
  ran = run("assay gate a.h5 b.h5 --outputs all.h5 --exclude x");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("\n2 cases: 1 pass, 1 fail\n"));
  // Another number.
  EXPECT_THAT(
      run("assay gate a.h5 b.h5 a.h5 --outputs ao.h5 --outputs bo.h5"),
      Exits(2,
            "error: there are 3 GOLDEN and 2 --outputs; give one --outputs for each GOLDEN, in the "
            "same order, or one for all"));
}

TEST_F(GateMany, OutputsInFoldersOfTheSameFiles) {
  for (const char* name : {"gold/deep", "out/deep"}) folder(name);
  make("gold/a.h5", {product("x")});
  make("gold/deep/b.h5", {product("x")});
  make("gold/only.h5", {product("x")});
  make("out/a.h5", {product("x", 0, "npu")});
  make("out/deep/b.h5", {product("x", 0.5, "npu")});
  make("out/more.h5", {product("x", 0, "npu")});
  const Ran ran = run("assay gate gold --outputs out --json r.json");
  EXPECT_THAT(ran, Exits(1));
  const auto report = json("r.json");
  EXPECT_THAT(names_in(report), ElementsAre("gold/a.h5:x", "gold/deep/b.h5:x", "gold/only.h5:x"));
  EXPECT_EQ(report["cases"][0]["outcome"], "pass");
  EXPECT_EQ(report["cases"][1]["outcome"], "fail");
  EXPECT_EQ(report["cases"][2]["outcome"], "not_comparable");
  EXPECT_EQ(report["cases"][2]["because"], "out has no only.h5");
  EXPECT_THAT(ran.out, HasSubstr("\nnote: out/more.h5 was not judged: gold has no more.h5\n"));
  // Several files of outputs for one golden file are paired by the names of cases.
  make("g.h5", {product("x"), product("y")});
  folder("parts");
  make("parts/1.h5", {product("x", 0, "npu")});
  make("parts/2.h5", {product("y", 0, "npu")});
  EXPECT_THAT(run("assay gate g.h5 --outputs parts"), Exits(0));
  make("parts/3.h5", {product("y", 0, "npu")});
  EXPECT_THAT(run("assay gate g.h5 --outputs parts"),
              Exits(2,
                    "error: case 'y' has outputs in parts/2.h5 and in parts/3.h5; give only one of "
                    "the files"));
}

TEST_F(GateMany, ProducersOfSeveralFiles) {
  make("a.h5", {product("x", 0, "npu")});
  make("b.h5", {product("x", 0, "gpu")});
  EXPECT_THAT(run("assay gate a.h5 b.h5"), Exits(0));  // each has one
  const Ran ran = run("assay gate a.h5 b.h5 --recorded npu");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("there is no recorded output of 'npu'"));
  EXPECT_THAT(run("assay gate a.h5 b.h5 --recorded npx"),
              Exits(2,
                    "error: none of the 2 files has outputs of 'npx' (did you mean 'npu'?); they "
                    "have gpu, npu"));
}

// If the producer is known without reading the damaged case, the error concerns only that case.
// This holds for any number of threads.
TEST_F(GateMany, ADamagedCaseAmongManyLeavesTheOthers) {
  ASSERT_EQ(
      run("assay generate add --dtype float32 --shape 3 --count 600 --golden --out g.h5").code, 0);
  ASSERT_EQ(run("assay emulate g.h5 --machine ascend910b --out o.h5").code, 0);
  python(R"py(
import h5py
with h5py.File("o.h5", "r+") as f:
    case = f["cases/add/float32/3/normal/seed256"]
    del case["outputs"]
    case["outputs"] = [1.0]
)py");
  for (const char* threads : {"1", "2", "8"}) {
    for (int round = 0; round < (walks_a_share() ? 1 : 4); ++round) {
      const Ran ran = run(formatted("assay gate o.h5 --recorded ascend910b --threads {}", threads));
      EXPECT_EQ(ran.code, 2);
      EXPECT_THAT(ran.err, HasSubstr("seed256/outputs: must be a group of datasets"));
      EXPECT_THAT(ran.out, HasSubstr("599 pass")) << threads;
    }
    // If every producer must be known, all cases are read and the file is refused.
    const Ran all = run(formatted("assay gate o.h5 --threads {}", threads));
    EXPECT_EQ(all.code, 2);
    EXPECT_THAT(all.err, HasSubstr("seed256/outputs: must be a group of datasets"));
    EXPECT_THAT(all.out, Not(HasSubstr("pass"))) << threads;
  }
}

TEST_F(GateMany, ThreadsChangeNothing) {
  std::vector<Case> cases;
  for (int i = 0; i < 200; ++i)
    cases.push_back(product(formatted("c{}", i), i % 17 == 3 ? 0.5 : 0));
  cases[40].output().golden = {};
  make("a.h5", cases);
  make("b.h5", {product("x", 0.5), product("y")});
  std::string first[3];
  for (const char* threads : {"1", "2", "7"}) {
    const Ran ran =
        run(formatted("assay gate a.h5 b.h5 --threads {} --json r.json --junit r.xml", threads));
    EXPECT_THAT(ran, Exits(1));
    std::string json = without_seconds(read("r.json"));
    json.erase(json.find("\"command\""), json.find("\"golden\"") - json.find("\"command\""));
    const std::string texts[3] = {ran.out, json, without_seconds(read("r.xml"))};
    for (int i = 0; i < 3; ++i) {
      if (std::string(threads) == "1") first[i] = texts[i];
      EXPECT_TRUE(texts[i] == first[i]) << threads << " threads, text " << i;
    }
  }
  EXPECT_THAT(first[0], HasSubstr("\n202 cases: 188 pass, 13 fail, 1 not_comparable\n"));
  EXPECT_LT(first[0].find("\na.h5  c3 "), first[0].find("\na.h5  c20 "));
  EXPECT_LT(first[0].find("\na.h5  c20 "), first[0].find("\na.h5  c105 "));
}

TEST_F(GateMany, RowsOfMoreThanFiftyCases) {
  std::vector<Case> cases;
  for (int i = 0; i < 51; ++i) cases.push_back(product(formatted("c{}", i)));
  make("g.h5", cases);
  Ran ran = run("assay gate g.h5");
  EXPECT_THAT(ran.out, StartsWith("51 that pass, not shown; --all lists every case\n\n"
                                  "51 cases: 51 pass\nnote (51 times): "));
  EXPECT_THAT(ran, Exits(0));
  ran = run("assay gate g.h5 --all");
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 55);
  EXPECT_LT(ran.out.find("\nc2 "), ran.out.find("\nc10 "));
  ran = run("assay gate g.h5 --exclude c50");
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 54) << "50 cases have rows";
  ran = run("assay gate g.h5 -q");
  EXPECT_EQ(ran.out, "51 cases: 51 pass\n");
  EXPECT_THAT(run("assay gate g.h5 -qq").out, IsEmpty());
  cases[9] = product("c9", 0.5);
  make("g.h5", cases);
  ran = run("assay gate g.h5");
  EXPECT_THAT(ran.out, StartsWith("case  outcome"));
  EXPECT_THAT(ran.out, HasSubstr("\nc9    fail"));
  EXPECT_THAT(ran.out, HasSubstr("\n... and 50 that pass, not shown; --all lists every case\n\n"
                                 "51 cases: 50 pass, 1 fail\n"));
  EXPECT_EQ(run("assay gate g.h5 -q").out, "51 cases: 50 pass, 1 fail\n");
}

// On a terminal the progress line is written over. A log does not get one. The first line is shown
// after 0.2 s, so a fast machine needs more cases.
TEST_F(GateMany, ProgressOnTerminalsAlone) {
  const std::string terminal = "TERM=xterm script -qec 'assay gate g.h5 --threads 1' /dev/null";
  std::vector<Case> cases;
  std::string shown;
  const std::size_t most = 48000;
  for (std::size_t count = walks_a_share() ? 1000 : 3000; count <= most; count *= 4) {
    while (cases.size() < count) cases.push_back(product(formatted("c{}", cases.size())));
    make("g.h5", cases);
    shown = run("env -u CI " + terminal).out;
    if (shown.find("did not pass") != std::string::npos) break;
  }
  const std::string thousands = formatted("{} 000", cases.size() / 1000);
  EXPECT_THAT(shown, HasSubstr(formatted(" of {} cases, 0 did not pass, ", thousands)));
  EXPECT_THAT(shown, HasSubstr(" s left\x1b[K"));
  EXPECT_THAT(shown, HasSubstr(formatted("\r\x1b[K{} that pass", thousands)));
  EXPECT_THAT(run("CI=true " + terminal).out, Not(HasSubstr("did not pass")));
  EXPECT_THAT(run("assay gate g.h5").err, IsEmpty());
}

TEST_F(GateMany, SavedFailuresOfSeveralFiles) {
  make("a.h5", {product("x", 0.5), product("y")});
  make("b.h5", {product("z", 0.5)});
  EXPECT_THAT(run("assay gate a.h5 b.h5 --save-failures f.h5"), Exits(1));
  EXPECT_THAT(DatasetFile(path("f.h5")).case_names(), ElementsAre("x", "z"));
  make("b.h5", {product("x", 0.5)});
  EXPECT_THAT(run("assay gate a.h5 b.h5 --save-failures f.h5"),
              Exits(2,
                    "error: --save-failures f.h5: case 'x' is in a.h5 and in b.h5, but a file has "
                    "only one case of each name; judge the files one at a time"));
}

TEST_F(GateMany, OutputsWithoutAGoldenCaseOfSeveralFiles) {
  make("a.h5", {product("x")});
  make("b.h5", {product("y")});
  make("o.h5", {product("x", 0, "npu"), product("y", 0, "npu"), product("z", 0, "npu")});
  const Ran ran = run("assay gate a.h5 b.h5 --outputs o.h5");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out,
              HasSubstr("1 output without a golden result was not judged: z; --strict makes "
                        "it not comparable\n"));
  EXPECT_THAT(run("assay gate a.h5 b.h5 --outputs o.h5 --strict"), Exits(3));
}

TEST_F(GateMany, NoReportReplacesAFileOfAFolder) {
  folder("dir");
  make("dir/a.h5", {product("x")});
  const std::string before = read("dir/a.h5");
  EXPECT_THAT(
      run("assay gate dir --json dir/a.h5"),
      Exits(2, "error: dir/a.h5 lies in dir, which is an input; --json must lie elsewhere"));
  // A later run would read this file, so it is refused as an output.
  EXPECT_THAT(run("assay gate dir --save-failures dir/new.h5"),
              Exits(2,
                    "error: dir/new.h5 lies in dir, which is an input; --save-failures must lie "
                    "elsewhere"));
  EXPECT_TRUE(read("dir/a.h5") == before);
  EXPECT_THAT(run("assay gate dir --json dir/r.json"), Exits(0));
}

class Repro : public ProgramTest {};

TEST_F(Repro, RunsTheLineOfAReport) {
  make("it's g.h5", {product("x", 0.5), product("y")});
  const Ran first = run("assay gate \"it's g.h5\" --json r.json");
  EXPECT_THAT(first, Exits(1));
  const std::string line = json("r.json")["cases"][0]["reproduce"];
  EXPECT_EQ(line, "assay gate 'it'\\''s g.h5' --case x --recorded p");
  write("line.txt", line);
  const Ran again = run("assay repro \"$(cat line.txt)\"");
  EXPECT_THAT(again, Exits(1));
  EXPECT_EQ(again.out, run(line).out);
  EXPECT_THAT(again.out, HasSubstr("\n1 case: 1 fail\n"));
  EXPECT_THAT(run("assay repro 'assay gate \"it'\\''s g.h5\" --case y'"), Exits(0));
}

TEST_F(Repro, RefusesWhatIsNoLineOfAssay) {
  make("g.h5", {product("x")});
  write("ran.sh", "touch ran");
  EXPECT_THAT(run("assay repro 'sh ran.sh'"),
              Exits(2,
                    "error: 'sh ran.sh' is not a reproducer line of assay; it must begin with "
                    "'assay SUBCOMMAND'"));
  EXPECT_THAT(run("assay repro ''"), Code(2));
  EXPECT_THAT(run("assay repro assay"),
              Exits(2, "error: 'assay' has no subcommand; give the whole line of the report"));
  EXPECT_THAT(
      run("assay repro 'assay --version'"),
      Exits(2, "error: 'assay --version' has no subcommand; give the whole line of the report"));
  EXPECT_THAT(run("assay repro 'assay repro x'"),
              Exits(2, "error: the line must not be a `repro` line"));
  EXPECT_THAT(run("assay repro \"assay gate 'g.h5\""), Exits(2, "error: a quote ' is not closed"));
  EXPECT_THAT(run("assay repro 'assay frob g.h5'"), Code(2));
  // `repro` does not pass the line to a shell, so that it runs no other command.
  EXPECT_THAT(run("assay repro 'assay gate g.h5; touch ran'"), Code(2));
  EXPECT_THAT(run("assay repro 'assay gate $(touch ran)'"), Code(2));
  EXPECT_FALSE(exists("ran"));
}

}  // namespace
}  // namespace assay
