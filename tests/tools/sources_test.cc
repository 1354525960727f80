// Tests the file layouts of teams through the program, with the trees of datasets/interop.
#include <filesystem>
#include <map>
#include <string>

#include "assay/base/text.h"
#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/layouts/open_cases.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Sources : public ProgramTest {
 protected:
  Sources() {
    std::filesystem::create_directory_symlink(ASSAY_SOURCE_DIR "/datasets/interop",
                                              path("interop"));
  }
  // Copies a tree of datasets/interop, so that the test may damage it.
  void copy(const std::string& tree) const {
    std::filesystem::copy(ASSAY_SOURCE_DIR "/datasets/interop/" + tree, path(tree),
                          std::filesystem::copy_options::recursive);
  }
  // Returns the outcomes by case, the worst if a case has several outputs: "a=pass b=fail".
  std::string outcomes(const std::string& file) const {
    std::map<std::string, std::string> worst;
    const nlohmann::json report = json(file);
    for (const auto& c : report["cases"]) {
      const std::string name = c.at("case"), outcome = c.at("outcome");
      auto& of = worst[name];
      if (of.empty() || of == "pass") of = outcome;
    }
    std::string text;
    for (const auto& [name, outcome] : worst)
      text += (text.empty() ? "" : " ") + name + "=" + outcome;
    return text;
  }
};

TEST_F(Sources, TheTreesAreWhatTheirScriptWrites) {
  const Ran ran = run(ASSAY_PYTHON
                      " interop/make_samples.py again && diff -r again interop "
                      "--exclude '*.py' --exclude __pycache__ --exclude torch");
  EXPECT_EQ(ran.code, 0) << ran.out;
}

TEST_F(Sources, TheTreeOfPyTorchIsWhatPyTorchWrites) {
  const Ran ran = run(ASSAY_PYTHON " interop/make_torch_samples.py again");
  if (ran.code == 77) GTEST_SKIP() << ran.out;
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(run("diff -r again/torch interop/torch"), Exits(0));
}

// Tests PyTorch's files with nested dicts, a transposed view of a shared storage, bfloat16, and
// views with an offset.
TEST_F(Sources, FilesOfPyTorchAreJudgedArrayByArray) {
  const Ran ran = run("assay gate interop/torch --standard torch --json r.json");
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_EQ(outcomes("r.json"),
            "head_bad/first=pass head_bad/last=fail layers/model/b=pass layers/model/w=pass "
            "layers/model/w_t=pass layers/step=pass");
  EXPECT_THAT(ran.out, HasSubstr("[2, 3]: actual -2.375 (0xc0180000), expected -2.625"));
  EXPECT_THAT(run("assay compare interop/torch/out/layers.pt interop/torch/gold/layers.pt "
                  "--standard bit_equal"),
              Exits(0));
}

// Each layout has an example that is in no other layout, and its command judges cases.
TEST_F(Sources, EveryLayoutHasAnExample) {
  const Ran ran = run("assay list layouts");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(run("mkdir samples r; cp -r interop/ r/; cd r/interop; cp -r " ASSAY_SOURCE_DIR
                  "/datasets/samples .. && assay unpack ../samples/operators.h5 --as npy --out "
                  "unpacked"),
              Code(0));
  for (const Layout& layout : layouts()) {
    EXPECT_THAT(ran.out, HasSubstr(formatted("\n{} ", layout.name)));
    const std::string example(layout.example);
    const std::string tree = path("r/interop/" + example.substr(0, example.find(' ')));
    for (const Layout& other : layouts()) {
      if (!other.detect(tree)) continue;
      EXPECT_EQ(other.name, layout.name);
      break;
    }
    const Ran gate = run("cd r/interop; assay gate " + example + " -q");
    EXPECT_TRUE(gate.code == 0 || gate.code == 1) << layout.name << gate.err;
  }
}

TEST_F(Sources, KindsOfArraysHaveExamples) {
  const Ran ran = run("assay list array_formats");
  for (const ArrayFormat& format : array_formats()) {
    EXPECT_THAT(ran.out, HasSubstr(formatted("\n{} ", format.name)));
    EXPECT_EQ(&array_format_of(array_file(std::string(format.example))), &format);
  }
}

TEST_F(Sources, AFolderOfBothSidesIsJudgedByName) {
  EXPECT_EQ(run("assay gate interop/sides --json r.json -q").code, 1);
  EXPECT_EQ(outcomes("r.json"), "attention/k=pass attention/q=pass mlp/down_bad=fail mlp/up=pass");
}

TEST_F(Sources, TwoFoldersAreTheSameAsOneOfBothSides) {
  EXPECT_EQ(run("assay gate interop/sides/gold --outputs interop/sides/out --json r.json -q").code,
            1);
  EXPECT_EQ(outcomes("r.json"), "attention/k=pass attention/q=pass mlp/down_bad=fail mlp/up=pass");
}

// Folders of each side are settled together: dtypes of golden results that have more precision, and
// the dtype and the shape of raw outputs.
class TwoPlaces : public Sources {
 protected:
  TwoPlaces() {
    python(R"py(
import os, numpy as np
random = np.random.default_rng(1)
for name in ("a", "b/c"):
    golden = random.standard_normal((4, 8))
    def save(folder, array, raw=False):
        file = os.path.join(folder, name + (".bin" if raw else ".npy"))
        os.makedirs(os.path.dirname(file), exist_ok=True)
        array.tofile(file) if raw else np.save(file, array)
    save("gold64", golden)
    save("gold32", golden.astype("f4"))
    save("out32", golden.astype("f4"))
    save("off32", (1.01 * golden).astype("f4"))
    save("out64", golden.astype("f4").astype("f8"))
    save("raw32", golden.astype("f4"), raw=True)
)py");
  }
  // Gates two cases, both of which must pass. Returns the dtype and shape of the second case, the
  // notes on its verdict, and the notes on the run.
  std::string passed(const std::string& line) const {
    const Ran ran = run("assay gate " + line + " --json r.json");
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    const nlohmann::json report = json("r.json");
    const auto& c = report["cases"][1];
    std::string text = formatted("{} {}", c["dtype"].get<std::string>(), c["shape"].dump());
    for (const nlohmann::json* of : {&c["verdicts"][0], &report}) {
      for (const std::string note : of->value("notes", nlohmann::json::array())) {
        text += "; " + note;
      }
    }
    return text;
  }
};

TEST_F(TwoPlaces, TheOutputDtypeIsThatOfOutputsOfLessPrecision) {
  const std::string note =
      "float32 [4,8]; the output dtype is that of the output, because the golden result has more "
      "precision";
  EXPECT_EQ(passed("gold64 --outputs out32"), note);
  EXPECT_EQ(passed("gold64 --outputs out32 --dtype float32"), "float32 [4,8]");
  // If both sides lie in one place, there is one note for all cases.
  python(
      "import os; os.mkdir('both'); os.rename('gold64', 'both/gold'); os.rename('out32', "
      "'both/out')");
  const Ran one = run("assay gate both");
  EXPECT_EQ(one.code, 0) << one.out;
  EXPECT_THAT(one.err + one.out, HasSubstr("the output dtype is that of the outputs"));
}

TEST_F(TwoPlaces, RawOutputsHaveTheDtypeAndShapeOfTheirGoldenResults) {
  const std::string shape =
      "; the shape is that of the other side, because the sizes agree: 2 arrays, the first "
      "raw32/a.bin";
  const std::string both =
      "float32 [4,8]; the dtype is that of the other side: 2 arrays, the first raw32/a.bin" + shape;
  EXPECT_EQ(passed("gold32 --outputs raw32"), both);
  EXPECT_EQ(passed("gold64 --outputs raw32 --dtype float32"), "float32 [4,8]" + shape);
  // The dtype is also taken from golden results in a dataset file.
  ASSERT_EQ(run("assay pack gold32 --out gold.h5").code, 0);
  EXPECT_EQ(passed("gold.h5 --outputs raw32"), both);
}

TEST_F(TwoPlaces, PackSaysWhatTheOperatorReturns) {
  for (const char* outputs : {"out32", "raw32 --dtype float32"}) {
    ASSERT_EQ(run(formatted("assay pack gold64 --outputs {} --out p.h5", outputs)).code, 0);
    EXPECT_EQ(passed("p.h5"), "float32 [4,8]") << outputs;
  }
}

TEST_F(TwoPlaces, SavedFailuresFailAgain) {
  const std::string standard = " --rtol 1e-4 --atol 1e-6";
  ASSERT_EQ(
      run("assay gate gold64 --outputs off32 --json r.json --save-failures f.h5" + standard).code,
      1);
  EXPECT_EQ(outcomes("r.json"), "a=fail b/c=fail");
  EXPECT_EQ(run("assay gate f.h5 --json r.json" + standard).code, 1);
  EXPECT_EQ(outcomes("r.json"), "a=fail b/c=fail");
}

TEST_F(TwoPlaces, AnAuditAndRowsTakeThemTheSameWay) {
  const Ran audited = run("assay audit gold64 --outputs out32 --target torch --json a.json");
  EXPECT_THAT(audited.out + audited.err, Not(HasSubstr("is left out"))) << audited.code;
  for (const char* outputs : {"out32", "raw32 --dtype float32"}) {
    const Ran rows = run(formatted("assay gate gold64 --outputs {} --rows-are-cases", outputs));
    EXPECT_THAT(rows, Exits(0));
    EXPECT_THAT(rows.out, HasSubstr("\nb/c/3  pass     float32  [8] ")) << outputs;
    EXPECT_THAT(rows.out, HasSubstr("\n8 cases: 8 pass\n")) << outputs;
  }
}

TEST_F(TwoPlaces, OutputsOfMorePrecisionAreNotGuessed) {
  const Ran ran = run("assay gate gold32 --outputs out64");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("the output is float64, the case's output dtype is float32, "
                                       "which is that of its golden result. If float64 is right, "
                                       "give the output's dtype\n"),
                             Not(HasSubstr("h5py"))));
  EXPECT_THAT(run("assay gate gold32 --outputs out64 --dtype float64 --standard torch"), Exits(0));
  const Ran said = run("assay gate gold64 --outputs out32 --dtype float16");
  EXPECT_EQ(said.code, 3);
  EXPECT_THAT(said.out, HasSubstr("the output is float32, the case's output dtype is float16\n"));
}

// An option that no source accepts is refused, even for a dataset file.
TEST_F(TwoPlaces, OptionsThatNoSourceTakesAreRefused) {
  ASSERT_EQ(run("assay pack gold32 --outputs out32 --out d.h5").code, 0);
  write("t.csv", "testcase_name\na\n");
  for (const char* command : {"gate d.h5", "pack d.h5 --out e.h5", "inspect d.h5",
                              "unpack d.h5 --as npy --out u", "audit d.h5 --target torch"}) {
    for (const char* option :
         {"--dtype float32", "--golden-dtype float32", "--shape 4,8", "--golden-shape 4,8"}) {
      EXPECT_THAT(run(formatted("assay {} {}", command, option)),
                  Exits(2, formatted("error: {} is not used, because a dataset file gives the "
                                     "dtype and shape of each array; leave it out",
                                     option)))
          << command;
    }
    EXPECT_THAT(run(formatted("assay {} --table t.csv", command)),
                Exits(2,
                      "error: --table t.csv: only layouts of TTK (ttk_manual, ttk_dump) have a "
                      "case table, but the layout is dataset"))
        << command;
  }
  // --dtype is accepted if raw outputs can take it. --table is accepted with --csv, because the CSV
  // repeats the table's rows.
  EXPECT_THAT(run("assay gate d.h5 --outputs raw32 --dtype float32"), Exits(0));
  EXPECT_THAT(run("assay gate d.h5 --table t.csv --csv v.csv"), Exits(0));
}

TEST_F(Sources, RawPairsTakeADtypeForEachSide) {
  const std::string pairs =
      "assay gate --pairs 'interop/pairs/out/*_output_{i}.bin' "
      "'interop/pairs/gold/*_golden_{i}.bin' --dtype bfloat16 --golden-dtype float32 ";
  const Ran ran = run(pairs + "--standard torch --json r.json");
  EXPECT_EQ(ran.code, 3) << ran.out << ran.err;
  EXPECT_EQ(outcomes("r.json"), "add_0=pass add_1=pass add_2=pass add_3=not_comparable");
  const Ran unknown =
      run("assay pack --pairs 'interop/pairs/out/*_output_{i}.bin' "
          "'interop/pairs/gold/*_golden_{i}.bin' --out p.h5");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("holds raw bytes, and nothing says their dtype"));
  const Ran other = run("assay pack --pairs 'a_{i}.bin' 'b_{k}.bin' --out p.h5");
  EXPECT_THAT(other, Exits(2,
                           "error: the patterns 'a_{i}.bin' and 'b_{k}.bin' must have the same "
                           "wildcards, but one has {i}, the other {k}"));
}

TEST_F(Sources, ADumpOfTtkIsJudgedByItsTable) {
  EXPECT_EQ(run("assay gate interop/ttk/dump --table interop/ttk/cases.csv --recorded dyn "
                "--case 'mm*' --case 'add*' --case 'scale*' --json r.json -q")
                .code,
            1);
  EXPECT_EQ(outcomes("r.json"), "add_01=pass mm_01=pass scale_bad=fail");
}

TEST_F(Sources, DataForReplayHaveTheGoldenResultsOfADump) {
  const Ran ran =
      run("assay gate interop/ttk/manual --outputs interop/ttk/dump --table "
          "interop/ttk/cases.csv --recorded const --json r.json --csv back.csv -q");
  EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
  EXPECT_EQ(outcomes("r.json"), "add_01=pass mm_01=pass scale_bad=fail sort__rows=pass");
  // The CSV has the rows of the table, with the verdicts behind them.
  const std::string back = read("back.csv");
  EXPECT_THAT(back, HasSubstr("absolute_precision,assay_outcome,assay_standard,"
                              "assay_max_abs_error,assay_reason\n"));
  EXPECT_THAT(back, HasSubstr("1e-08,pass,custom,"));
  EXPECT_THAT(back, HasSubstr(",,,fail,ttk_mixed@2026-09,0.2124"));
}

// TTK's matmul has a twin among assay's operators, so assay can compute golden results and
// checksums for its cases.
TEST_F(Sources, AMatmulOfTtkIsAMatmul) {
  ASSERT_EQ(run("assay pack interop/ttk/manual --outputs interop/ttk/dump --table "
                "interop/ttk/cases.csv --case mm_01 --out mm.h5")
                .code,
            0);
  EXPECT_THAT(run("assay inspect mm.h5").out,
              AllOf(HasSubstr("mm_01  matmul    a float16 [64, 16], b float16 [64, 24]"),
                    HasSubstr("  transpose_a: 1\n"), HasSubstr("  x_op_name: mat_mul_v3\n")));
  EXPECT_EQ(run("assay golden mm.h5 --out computed.h5 -q").code, 0);
  EXPECT_EQ(run("assay gate mm.h5 --recorded dyn --abft -q").code, 0);
}

TEST_F(Sources, ASampleIsGivenItsDtypes) {
  EXPECT_EQ(run("assay gate interop/sample --dtype float32 --golden-dtype float32 "
                "--golden-shape 16,8 --json r.json -q")
                .code,
            0);
  EXPECT_EQ(outcomes("r.json"), "sample=pass");
}

TEST_F(Sources, TheFirstCallOfADumpOfMsprobeThatDiffersIsNamed) {
  const Ran ran = run("assay gate interop/msprobe/bench --outputs interop/msprobe/npu");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("the first call that differs is "
                                 "step0/rank0/Functional.relu.0.forward, call 2 of 3"));
}

// relu.0 comes before linear.1 in dump.json, and the report keeps that order in every step. The
// steps are in the order of their numbers.
TEST_F(Sources, CallsOfMsprobeAreInTheirOrder) {
  copy("msprobe");
  ASSERT_EQ(run("for side in bench npu; do cp -r msprobe/$side/step0 msprobe/$side/step10; cp -r "
                "msprobe/$side/step0 msprobe/$side/step2; done; cp -r "
                "msprobe/bench/step0/rank0/dump_tensor_data msprobe/npu/step0/rank0/")
                .code,
            0);
  const Ran ran = run("assay gate msprobe/bench --outputs msprobe/npu --json r.json --junit r.xml");
  EXPECT_EQ(ran.code, 1) << ran.err;
  std::vector<std::string> names;
  const nlohmann::json report = json("r.json");
  for (const auto& c : report["cases"]) names.push_back(c["case"]);
  std::vector<std::string> wanted;
  for (const std::string step : {"step0", "step2", "step10"}) {
    for (const std::string call : {"linear.0", "relu.0", "linear.1"}) {
      wanted.push_back(step + "/rank0/Functional." + call + ".forward");
    }
  }
  EXPECT_EQ(names, wanted);
  EXPECT_THAT(report["notes"].dump(),
              HasSubstr("the first call that differs is step2/rank0/Functional.relu.0.forward, "
                        "call 5 of 9"));
  const std::string xml = read("r.xml");
  EXPECT_LT(xml.find(wanted[1]), xml.find(wanted[2]));
}

TEST_F(Sources, ATableNamesFilesOfInputsGoldenResultsAndAThirdParty) {
  std::filesystem::create_directories(path("d/more"));
  python(R"(
import numpy as np
x = np.arange(1, 13, dtype='f4').reshape(3, 4)
np.save('d/a_dyn_output_0.npy', x + x)
x.tofile('d/more/x.bin')
np.save('d/more/y.npy', x)
(x + x).tofile('d/more/gold.bin')
np.save('d/more/xpu.npy', (x + x) * np.float32(1 + 1e-6))
)");
  const auto table = [&](const std::string& golden) {
    write("d/cases.csv",
          "testcase_name,op_name,input_shapes,input_dtypes,output_shapes,output_dtypes,"
          "manual_input_binaries,manual_golden_binaries,manual_xpu_binaries\n"
          "a,add,\"((3, 4), (3, 4))\",\"('float32',)\",\"((3, 4),)\",\"('float32',)\","
          "\"('more/x.bin', 'more/y.npy')\",\"" +
              golden + "\",\"'more/xpu.npy'\"\n");
  };
  table("('more/gold.bin',)");
  const Ran ran = run(
      "assay gate d --recorded dyn --standard ttk_cross_check_l2 --layout ttk_dump --json r.json");
  EXPECT_THAT(ran, Code(0)) << ran.out << ran.err;
  EXPECT_EQ(outcomes("r.json"), "a=pass");
  EXPECT_EQ(json("r.json")["cases"][0]["verdicts"][0]["limits"].size(), 4u);
  EXPECT_THAT(run("assay inspect d --layout ttk_dump").out,
              HasSubstr("a     add       a float32 [3, 4], b float32 [3, 4]"));
  const auto refused = [&] { return run("assay inspect d --layout ttk_dump").err; };
  table("('more/gold.bin', 'more/gold.bin')");
  EXPECT_THAT(refused(),
              HasSubstr("error: d/cases.csv: line 2, manual_golden_binaries: names 2 files, but "
                        "the row has 1 tensor here; name one file for each tensor"));
  table("'more/gold.csv'");
  EXPECT_THAT(refused(), HasSubstr("more/gold.csv is no .bin, .npy or .pt file"));
  table("'more/none.bin'");
  EXPECT_THAT(refused(), HasSubstr("d/cases.csv: line 2: names more/none.bin, which is no file"));
  // A table that assay finds beside the data may not name files outside its folder. Nobody asked
  // for those files.
  write("outside.bin", std::string(48, 'x'));
  table("'../outside.bin'");
  EXPECT_THAT(refused(), HasSubstr("names ../outside.bin, which is not in the table's folder; give "
                                   "the table by --table to have it read"));
  EXPECT_THAT(run("assay inspect d --layout ttk_dump --table d/cases.csv"), Code(0));
}

TEST_F(Sources, PackUndoesUnpack) {
  const std::string samples[] = {ASSAY_SOURCE_DIR "/datasets/samples/operators.h5",
                                 ASSAY_SOURCE_DIR "/datasets/samples/operators_fp8.h5", "ttk.h5"};
  ASSERT_EQ(run("assay pack interop/ttk/manual --outputs interop/ttk/dump --table "
                "interop/ttk/cases.csv --out ttk.h5 -q")
                .code,
            0);
  for (const std::string& sample : samples) {
    for (const ArrayFormat& format : array_formats()) {
      if (format.write == nullptr) continue;
      const std::string kind(format.name);
      const Ran ran = run("rm -rf u p.h5; assay unpack " + sample + " --as " + kind +
                          " --out u -q && assay pack u --out p.h5 -q && h5diff -v " + sample +
                          " p.h5 /cases >diff.txt");
      if (ran.code != 0 &&
          ran.err.find(kind + " files cannot hold the dtype ") != std::string::npos)
        continue;
      EXPECT_EQ(ran.code, 0) << kind << " of " << sample << "\n"
                             << ran.err << read("diff.txt").substr(0, 2000);
    }
  }
}

TEST_F(Sources, TtksLayoutComesBackWithTheSameVerdicts) {
  ASSERT_EQ(run("assay pack interop/ttk/manual --outputs interop/ttk/dump --table "
                "interop/ttk/cases.csv --out ttk.h5 -q && assay unpack ttk.h5 --as ttk --out t -q")
                .code,
            0);
  EXPECT_EQ(
      run("assay gate t/manual --outputs t/dump_dyn --table t/cases.csv --json r.json -q").code, 1);
  EXPECT_EQ(outcomes("r.json"), "add_01=pass mm_01=pass scale_bad=fail sort__rows=pass");
}

TEST_F(Sources, WhatIsWrongIsNamed) {
  EXPECT_THAT(run("assay inspect nowhere"),
              Exits(2, "error: nowhere: cannot be opened: No such file or directory"));
  copy("ttk");
  write("ttk/manual/mm_01/notes.txt", "x");
  EXPECT_THAT(run("assay inspect ttk/manual --table ttk/cases.csv").err,
              HasSubstr("error: ttk/manual/mm_01: notes.txt: nothing but input_, scalar_ and "
                        "golden_INDEX_DTYPE files may lie in a case's folder"));
  std::filesystem::remove(path("ttk/manual/add_01/input_0_float32.bin"));
  EXPECT_THAT(run("assay inspect ttk/manual --table ttk/cases.csv").err,
              HasSubstr("error: ttk/manual/add_01: has input_1 in .bin files, but no input_0"));
  write("bad.csv", "testcase_name,op_name,input_shapes\na,add,\"((1, 2), __import__('os'))\"\n");
  EXPECT_THAT(run("assay inspect ttk/dump --table bad.csv"),
              Exits(2,
                    "error: bad.csv: line 2, input_shapes: '((1, 2), __import__('os'))' is no "
                    "Python literal: at character 10, None, True, False, a number, a string, a "
                    "tuple, a list or a dict is expected"));
  write("book.xlsx", "PK");
  EXPECT_THAT(run("assay inspect ttk/dump --table book.xlsx"),
              Exits(2,
                    "error: book.xlsx: is an Excel workbook, which assay does not read; save its "
                    "sheet as CSV, in UTF-8 with commas (`soffice --headless --convert-to csv "
                    "FILE`)"));
  std::filesystem::create_directories(path("dump"));
  std::filesystem::copy(path("ttk/dump/add_01_golden_0.npy"), path("dump/a_golden_0.npy"));
  std::filesystem::copy(path("ttk/dump/add_01_golden_0.npy"), path("dump/a_output_0.npy"));
  write("dump/cases.xlsx", "PK");
  EXPECT_THAT(run("assay gate dump").out,
              HasSubstr("note: dump/cases.xlsx is an Excel workbook, which assay does not read; "
                        "save its sheet as CSV\n"));
  write("short.csv", "testcase_name,op_name\na\n");
  EXPECT_THAT(run("assay inspect ttk/dump --table short.csv"),
              Exits(2, "error: short.csv: line 2: has 1 cell, and the header 2"));
  // A list of an unpacked folder is refused if it names a file outside the folder, or is damaged.
  std::filesystem::create_directories(path("u"));
  write("u/assay_cases.json",
        R"({"assay_cases": 1, "cases": [{"name": "a", "op": "external", "arrays":
            {"golden": {"file": "../secret.npy", "dtype": "float32", "shape": [1]}}}]})");
  EXPECT_THAT(run("assay pack u --out p.h5").err,
              HasSubstr("error: u/assay_cases.json: case a: golden: the file ../secret.npy is not "
                        "in the folder"));
  write("u/assay_cases.json", "{\"assay_cases\": 2, \"cases\": []}");
  EXPECT_THAT(run("assay pack u --out p.h5"),
              Exits(2, "error: u: assay_cases.json: 'assay_cases' must be 1"));
  copy("msprobe");
  write("msprobe/npu/step0/rank0/dump.json", R"({"data": {"f": {"output": [
            {"data_name": "../../x.npy", "dtype": "torch.float32"}]}}})");
  EXPECT_THAT(run("assay inspect msprobe/npu").err,
              HasSubstr("dump.json: f: output_0: its data_name '../../x.npy' is no file of "
                        "dump_tensor_data"));
}

TEST_F(Sources, NamesThatTheSchemaRefusesAreMadeSafeAndKept) {
  std::filesystem::create_directories(path("gold"));
  ASSERT_EQ(run(ASSAY_PYTHON
                " -c \"import numpy as np\nnp.save('gold/a-b.npy', np.ones(3))\n"
                "np.save('gold/a_b.npy', np.ones(4))\nnp.save('gold/outputs.npy', np.ones(5))\"")
                .code,
            0);
  ASSERT_EQ(run("assay pack gold --out p.h5 -q").code, 0);
  EXPECT_THAT(run("assay inspect p.h5").out,
              AllOf(HasSubstr("a_b           external  -       float64 [4]"),
                    HasSubstr("a_b=04644883  external  -       float64 [3]"),
                    HasSubstr("  a_b=04644883: x_name: a-b\n"),
                    HasSubstr("  outputs_: x_name: outputs\n"), Not(HasSubstr("  a_b: x_name"))));
  ASSERT_EQ(run("mkdir two && cp -r gold two/gold && cp -r gold two/out-npu").code, 0);
  EXPECT_THAT(
      run("assay inspect two").out,
      AllOf(HasSubstr("out_npu float64 [4]"), HasSubstr("  a_b: x_producer_out_npu: out-npu\n")));
}

}  // namespace
}  // namespace assay
