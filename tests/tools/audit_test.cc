// Tests `assay audit` by running the program.
#include <cmath>

#include "program.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class AuditTest : public ProgramTest {
 protected:
  AuditTest() {
    // The values have both signs and an exact zero. There are elements behind the first 100, and
    // behind the last whole vector of 16.
    const auto values = [](double phase) {
      std::vector<double> all;
      for (int i = 0; i < 12 * 17; ++i) all.push_back(std::sin(phase + i) * (1 + i % 5));
      all[7] = 0;
      return all;
    };
    const std::vector<double> a = values(0.3), b = values(1.7);
    Case first = recorded("first", "float32", {12, 17}, a, a);
    Case second = recorded("second", "float32", {12, 17}, b, b);
    make("g.h5", {first, second});
    make("one.h5", {first});
  }

  // Audits a script of audit_scripts/ with whole corruptions, each drawn once, on the first case.
  nlohmann::json audit(const std::string& script, const std::string& options = "", int code = 0) {
    const Ran ran =
        run("assay audit g.h5 --case first --as bin --golden-as output --draws 1 "
            "--no-searches --json r.json " +
            options + " -- " ASSAY_PYTHON " -S -E " ASSAY_SOURCE_DIR "/tests/tools/audit_scripts/" +
            script + ".py {output} {golden}");
    EXPECT_EQ(ran.code, code) << ran.out << ran.err;
    return json("r.json")["targets"][0];
  }

  // Returns the names of the corruptions that were let through, each once, in the table's order.
  static std::vector<std::string> let_through(const nlohmann::json& target) {
    std::vector<std::string> names;
    for (const auto& one : target["let_through"]) {
      const std::string name = one["corruption"];
      if (names.empty() || names.back() != name) names.push_back(name);
    }
    return names;
  }
  static bool lets_through(const nlohmann::json& target, const std::string& name) {
    const auto names = let_through(target);
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  static bool catches(const nlohmann::json& target, const std::string& name) {
    const auto& row = target["corruptions"][name];
    EXPECT_GT(row["tried"], 0) << name;
    return row["caught"] == row["tried"];
  }
};

TEST_F(AuditTest, RightScriptsLetNothingThrough) {
  for (const char* script : {"right_elementwise", "right_ulp"}) {
    const auto target = audit(script);
    EXPECT_THAT(let_through(target), ElementsAre()) << script;
    EXPECT_EQ(target["findings"].size(), 0u);
    // The share is below 1, because flips of low bits pass. They are within the yardstick, so they
    // are not listed as let through.
    EXPECT_GT(target["score"]["share"], 0.8) << script;
    for (const char* name : {"all_nan", "wrong_negatives", "after_100", "missing_file",
                             "empty_file", "truncated_file", "transposed", "flip,bit=30"}) {
      EXPECT_TRUE(catches(target, name)) << script << " " << name;
    }
  }
}

TEST_F(AuditTest, RightScriptOfNumpyLetsNothingThrough) {
  const Ran ran =
      run("assay audit g.h5 --case first --as bin --golden-as output --draws 1 "
          "--no-searches --json r.json --corruption '*_nan' --corruption '*_file' "
          "--corruption 'wrong_*' --corruption sign -- " ASSAY_PYTHON " " ASSAY_SOURCE_DIR
          "/tests/tools/audit_scripts/right_numpy.py {output} {golden}");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  const auto target = json("r.json")["targets"][0];
  EXPECT_THAT(let_through(target), ElementsAre());
  EXPECT_EQ(target["score"]["share"], 1.0);
}

TEST_F(AuditTest, SeesASignedDenominator) {
  const auto target = audit("signed_denominator");
  EXPECT_TRUE(lets_through(target, "wrong_negatives"));
  EXPECT_TRUE(catches(target, "wrong_positives"));
  EXPECT_TRUE(catches(target, "all_nan"));
}

TEST_F(AuditTest, SeesWhereACheckStops) {
  const auto target = audit("stops_at_100");
  EXPECT_TRUE(lets_through(target, "after_100"));
  EXPECT_TRUE(lets_through(target, "last_element"));
  EXPECT_TRUE(lets_through(target, "tail"));
  EXPECT_TRUE(catches(target, "scaled"));
  EXPECT_TRUE(catches(target, "truncated_file"));
}

TEST_F(AuditTest, SeesThatNanPasses) {
  const auto target = audit("nan_passes");
  // The script passes wrong outputs that are NaN, and detects other wrong values.
  for (const char* name : {"all_nan", "one_nan", "nan_at_smallest"}) {
    EXPECT_TRUE(lets_through(target, name)) << name;
  }
  EXPECT_TRUE(catches(target, "all_infinity"));
  EXPECT_TRUE(catches(target, "wrong_negatives"));
}

TEST_F(AuditTest, SeesThatNanIsZeroedFirst) {
  const auto target = audit("zeroes_nan");
  EXPECT_THAT(let_through(target), ElementsAre("nan_at_smallest"));
  EXPECT_TRUE(catches(target, "all_nan"));
}

TEST_F(AuditTest, SeesThatAMissingFileIsIgnored) {
  EXPECT_THAT(let_through(audit("ignores_missing")), ElementsAre("missing_file"));
}

TEST_F(AuditTest, SeesThatTheRestOfAFileIsIgnored) {
  EXPECT_THAT(let_through(audit("shortest")), ElementsAre("empty_file", "truncated_file"));
}

TEST_F(AuditTest, SeesAVerdictThatIsOnlyPrinted) {
  const auto target = audit("prints_failed", "", 4);
  ASSERT_EQ(target["findings"].size(), 1u);
  EXPECT_EQ(target["findings"][0]["finding"], "passes_wrong");
  EXPECT_EQ(
      target["findings"][0]["because"],
      "it prints that it failed, and ends as if it had passed: mend its exit status, or give a "
      "fail-regex that matches what it prints");
  EXPECT_TRUE(target["score"].is_null());
  EXPECT_THAT(let_through(audit("prints_failed", "--fail-regex '^FAILED'")), ElementsAre());
  EXPECT_THAT(let_through(audit("prints_failed", "--pass-regex '^PASSED$'")), ElementsAre());
}

TEST_F(AuditTest, SeesAComparisonWithItself) {
  const auto target = audit("compares_itself", "", 4);
  ASSERT_EQ(target["findings"].size(), 1u);
  EXPECT_EQ(target["findings"][0]["because"],
            "it passes without the golden file, too: it does not look at it, as where a file is "
            "compared with itself");
}

TEST_F(AuditTest, ACheckThatRefusesTheRightOutputIsTheFinding) {
  const Ran ran = run("assay audit one.h5 -- sh -c 'echo 3 mismatches; exit 1' {output} {golden}");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("does not pass the right output: exit status 1: 3 mismatches"));
}

TEST_F(AuditTest, BatchTargetsAreStartedOnce) {
  const std::string script = ASSAY_SOURCE_DIR "/tests/tools/audit_scripts/batch.py";
  const Ran ran =
      run("assay audit g.h5 --as bin --golden-as output --batch --threads 1 --json "
          "r.json -- sh -c 'echo x >> \"$0\"; exec " ASSAY_PYTHON " -S -E " +
          script + "' " + path("starts"));
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(read("starts"), "x\n");
  const auto result = json("r.json");
  EXPECT_GT(result["verdicts"], 400);
  const auto target = result["targets"][0];
  EXPECT_THAT(let_through(target), ElementsAre());
  // This search makes only the largest element wrong. The element is between 4 and 5, where 1e-5 +
  // 1e-5 |x| is 105 to 126 ulps.
  const auto& sight = target["smallest_seen"][1];
  EXPECT_EQ(sight["error"], "one_ulp");
  EXPECT_GT(sight["least_seen"], 100);
  EXPECT_LT(sight["least_seen"], 150);
}

TEST_F(AuditTest, TellsWhatDependsOnTheSize) {
  const Ran ran =
      run("assay audit one.h5 --as bin --golden-as output --corruption scaled --json "
          "r.json -- " ASSAY_PYTHON " -S -E " ASSAY_SOURCE_DIR
          "/tests/tools/audit_scripts/mean_error.py {output} {golden}");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("verdicts that depend on the size\n"));
  const nlohmann::json report = json("r.json");
  for (const auto& series : report["targets"][0]["sizes"]) {
    // A mean detects a fixed number of wrong elements only in small outputs. So its verdict depends
    // on the size for corruptions of few elements.
    const bool few = series["corruption"] == "last_element" || series["corruption"] == "tail";
    EXPECT_EQ(series["flips"], few) << series;
    EXPECT_EQ(series["verdicts"][0]["passed"], false) << series;
  }
}

TEST_F(AuditTest, StandardsAndAdaptersInOneTable) {
  const Ran ran =
      run("assay audit g.h5 --target torch --target triton_ascend --target bit_equal "
          "--target 'numpy.testing.assert_allclose(rtol=1.3e-6,atol=1e-5)' --python " ASSAY_PYTHON
          " --json r.json");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  const auto targets = json("r.json")["targets"];
  ASSERT_EQ(targets.size(), 4u);
  // Targets 0 and 3 are one rule in two programs, so their results are equal.
  for (const auto& [name, row] : targets[0]["corruptions"].items()) {
    EXPECT_EQ(row, targets[3]["corruptions"][name]) << name;
  }
  EXPECT_EQ(targets[0]["smallest_seen"], targets[3]["smallest_seen"]);
  EXPECT_EQ(targets[1]["let_through"].size(), 0u);
  EXPECT_EQ(targets[2]["score"]["share"], 1.0);
  EXPECT_EQ(targets[2]["smallest_seen"][0]["least_seen"], 1);
}

TEST_F(AuditTest, TorchAgreesWithItsStandard) {
  const Ran has = run(ASSAY_PYTHON " -c 'import torch'");
  if (has.code != 0) GTEST_SKIP() << "there is no PyTorch (Debian: python3-torch)";
  std::vector<Case> cases;
  for (const char* dtype : {"float16", "bfloat16", "float32"}) {
    std::vector<double> values;
    for (int i = 0; i < 64; ++i) values.push_back(std::sin(i) * (1 + i % 3));
    cases.push_back(recorded(dtype, dtype, {8, 8}, values, values));
  }
  make("dtypes.h5", cases);
  const Ran ran =
      run("assay audit dtypes.h5 --draws 2 --target torch --target "
          "torch.testing.assert_close --python " ASSAY_PYTHON " --json r.json");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  const auto targets = json("r.json")["targets"];
  EXPECT_EQ(targets[0]["audited"], 3);
  EXPECT_EQ(targets[0]["smallest_seen"], targets[1]["smallest_seen"]);
  for (const auto& [name, row] : targets[0]["corruptions"].items()) {
    EXPECT_EQ(row, targets[1]["corruptions"][name]) << name;
  }
}

TEST_F(AuditTest, ThreadsChangeNothing) {
  const std::string line = "assay audit g.h5 --target torch --target cann_ecosystem --json ";
  EXPECT_EQ(run(line + "one.json --threads 1").code, run(line + "four.json --threads 4").code);
  auto one = json("one.json"), four = json("four.json");
  for (auto* result : {&one, &four}) {
    result->erase("seconds");
    result->erase("command");
  }
  EXPECT_EQ(one, four);
}

TEST_F(AuditTest, MinimumAndWhatIsSaved) {
  const Ran ran =
      run("assay audit g.h5 --case first --as bin --golden-as output --draws 1 "
          "--no-searches --corruption '*_file' --min 0.9 --save out --json r.json -- " ASSAY_PYTHON
          " -S -E " ASSAY_SOURCE_DIR "/tests/tools/audit_scripts/shortest.py {output} {golden}");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, testing::EndsWith("is 0.3333, but --min asks for 0.9\n"));
  const auto target = json("r.json")["targets"][0];
  ASSERT_EQ(target["let_through"].size(), 2u);
  for (const auto& one : target["let_through"]) {
    EXPECT_THAT(one["saved"].get<std::string>(), StartsWith("out/"));
    EXPECT_EQ(run(one["repeat"].get<std::string>()).code, 0);  // the command repeats the verdict
  }
  EXPECT_EQ(std::filesystem::file_size(path("out/0002/output_float32__shape_12x17.bin")),
            12u * 17 * 2);
  EXPECT_THAT(run("assay audit g.h5 --target torch --save out"),
              Exits(2, "error: out: already exists and is not empty; name a new folder"));
}

TEST_F(AuditTest, RepeatLinesOfStandardsRepeat) {
  const Ran ran = run("assay audit g.h5 --target 'ulp(1000)' --corruption 'flip,*' --json r.json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto escapes = json("r.json")["targets"][0]["let_through"];
  ASSERT_GT(escapes.size(), 0u);
  const std::string line = escapes[0]["repeat"];
  EXPECT_EQ(run(line + " --json again.json").code, 0) << line;
  const auto again = json("again.json")["targets"][0]["let_through"];
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0]["case"], escapes[0]["case"]);
  EXPECT_EQ(again[0]["changed"], escapes[0]["changed"]);
}

TEST_F(AuditTest, WritesAPage) {
  EXPECT_EQ(run("assay audit g.h5 --target torch --html p.html -q").code, 0);
  const std::string page = read("p.html");
  EXPECT_THAT(page, HasSubstr("<h2>caught of what was tried</h2>"));
  EXPECT_THAT(page, testing::Not(HasSubstr("://")));
}

TEST_F(AuditTest, EveryKindOfFile) {
  const char* program =
      "import sys\n"
      "def read(p):\n"
      "    if p.endswith('.h5'):\n"
      "        import h5py\n"
      "        f = h5py.File(p)['cases/audit']\n"
      "        return f['outputs/audit'][()] if 'outputs' in f else f['golden'][()]\n"
      "    import numpy\n"
      "    if p.endswith('.npy'): return numpy.load(p)\n"
      "    if p.endswith('.npz'): return numpy.load(p)['arr_0']\n"
      "    if p.endswith('.bin'): return numpy.fromfile(p, 'float32')\n"
      "    import json, struct\n"
      "    data = open(p, 'rb').read()\n"
      "    n = struct.unpack('<Q', data[:8])[0]\n"
      "    assert json.loads(data[8:8+n])['array']['dtype'] == 'F32'\n"
      "    return numpy.frombuffer(data[8+n:], 'float32')\n"
      "a, e = read(sys.argv[1]), read(sys.argv[2])\n"
      "import numpy\n"
      "sys.exit(0 if a.size and a.shape == e.shape and numpy.array_equal(a, e) else 1)\n";
  write("check.py", program);
  for (const char* kind : {"npy", "npz", "bin", "h5", "safetensors"}) {
    const Ran ran = run(std::string("assay audit one.h5 --golden-as output --no-searches "
                                    "--corruption '*_file' --corruption sign --as ") +
                        kind + " --min 1 -- " ASSAY_PYTHON " check.py {output} {golden}");
    EXPECT_EQ(ran.code, 0) << kind << ran.out << ran.err;
  }
  // Here assay itself reads the .pt files. (A test of the writer reads them with torch.) The score
  // is below 1, because assay cannot tell a copy of a float64 golden file from a float64 output.
  const Ran ran =
      run("assay audit one.h5 --as pt --no-searches --corruption '*_file' --corruption "
          "sign --min 0.8 --memory-limit 1000000000 -- assay compare {output} {golden}");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

TEST_F(AuditTest, SeveralOutputsOfACase) {
  Case c;
  c.name = "two";
  c.op = "external";
  const std::vector<double> values = {1, -2, 3, 4};
  for (const char* name : {"y", "mean"}) {
    CaseOutput& of = c.outputs[name];
    of.attributes["output_dtype"] = std::string("float32");
    of.golden = Tensor::from_values(format_named("float32"), {4}, values);
    of.recorded["p"].tensor = *of.golden;
  }
  make("two.h5", {c});
  const std::string options =
      "assay audit two.h5 --no-searches --draws 1 --json r.json --as bin --corruption sign "
      "--corruption '*_nan' --corruption '*_file' -- ";
  const Ran both = run(options +
                       "sh -c 'cmp $0 $1 && cmp $2 $3' {output:y} {golden:y} {output:mean} "
                       "{golden:mean}");
  EXPECT_EQ(both.code, 0) << both.out << both.err;
  EXPECT_EQ(json("r.json")["targets"][0]["audited"], 2);
  EXPECT_EQ(json("r.json")["targets"][0]["let_through"].size(), 0u);
  // A comparison that reads only y never sees an error in the mean.
  const Ran one = run(options + "sh -c 'cmp $0 $1' {output:y} {golden:y} {output:mean}");
  EXPECT_EQ(one.code, 4) << one.out << one.err;
  EXPECT_THAT(one.out, HasSubstr("two:mean"));
  const Ran none = run(options + "sh -c 'cmp $0 $1' {output:z} {golden:z}");
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.out, HasSubstr("not comparable: the case has no output 'z' to compare"));
}

TEST_F(AuditTest, JunitSaysTheVerdict) {
  write("junit.sh",
        "if cmp -s \"$1\" \"$2\"; then in='<!-- <failure/> -->'; else in='<failure/>'; fi\n"
        "echo \"<testsuite><testcase name='a'>$in</testcase></testsuite>\" > \"$3\"\n");
  const Ran ran =
      run("assay audit one.h5 --as bin --golden-as output --no-searches --corruption "
          "'*_nan' --min 1 -- sh junit.sh {output} {golden} {junit}");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  const Ran none = run("assay audit one.h5 --as bin -- sh -c 'exit 0' {output} {junit}");
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.out, HasSubstr("it wrote no JUnit file; exit status 0"));
}

TEST_F(AuditTest, HostileCommands) {
  const auto finding = [&](const std::string& command, const std::string& options = "") {
    const Ran ran =
        run("assay audit one.h5 --time-limit 1 --output-limit 1 " + options + " -- " + command);
    EXPECT_EQ(ran.code, 1) << command << ran.out << ran.err;
    const std::size_t begin = ran.out.find("does not pass the right output: ");
    return begin == std::string::npos
               ? ran.out
               : ran.out.substr(begin + 32, ran.out.find('\n', begin) - begin - 32);
  };
  EXPECT_EQ(finding("sh -c 'sleep 100' {output}"), "ended after 1 s");
  EXPECT_EQ(finding("sh -c 'trap \"\" TERM; while :; do sleep 1; done' {output}"),
            "ended after 1 s");
  EXPECT_EQ(finding("yes {output}").substr(0, 41), "ended after it had printed 1 048 576 byte");
  EXPECT_EQ(finding("sh -c 'exec cat /dev/zero > f' {output}"),
            "ended by signal 25 (File size limit exceeded)");
  EXPECT_EQ(finding("sleep 100", "--batch"), "no answer; ended after 1 s");
  EXPECT_EQ(finding("sh -c 'read a; echo maybe; cat'", "--batch"),
            "it answered 'maybe', which is neither pass nor fail");
  EXPECT_EQ(leftovers(), std::vector<std::string>());
}

TEST_F(AuditTest, Refusals) {
  const auto refused = [&](const std::string& options, const std::string& words) {
    EXPECT_THAT(run("assay audit " + options), Exits(2, "error: " + words)) << options;
  };
  refused("one.h5", "there is nothing to audit; give a command after --, or --target NAME");
  refused("--target torch", "GOLDEN is required, or --pairs OUTPUTS GOLDEN");
  refused("one.h5 -- true",
          "the command has no place for the output; write {output} in it, or give --batch");
  refused("one.h5 --batch -- true {output}",
          "with --batch the command reads the paths from its standard input; leave out {output}, "
          "{golden}, {input} and {junit}");
  refused("one.h5 --batch --target torch", "--batch needs a command after --");
  refused("one.h5 --target torch --target torch", "--target torch is given twice");
  refused("one.h5 --fail-regex '(' -- true {output}", "--fail-regex '(': Unmatched ( or \\(");
  refused("one.h5 --golden-as float17 -- true {output}",
          "unknown dtype 'float17': did you mean 'float16'?; docs/formats.md lists all");
  refused("one.h5 -- no-such-program {output}",
          "no-such-program: cannot be started: No such file or directory");
  refused(
      "one.h5 --target 'numpy.testing.assert_allclose(rtol)'",
      "--target numpy.testing.assert_allclose(rtol): 'rtol' is not a setting such as rtol=1e-3");
  EXPECT_EQ(run("assay audit one.h5 --target torhc").code, 2);
  EXPECT_EQ(run("assay audit one.h5 --target torch --corruption nonsense").code, 2);
  EXPECT_EQ(run("assay audit one.h5 --target torch --case nonsense").code, 3);
}

}  // namespace
}  // namespace assay
