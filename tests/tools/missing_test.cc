// Tests arrays that only one side has, through the program and in every layout that pairs two
// sides. An output without a golden result is listed. A golden result without an output is not
// comparable.
#include <filesystem>
#include <string>

#include "assay/base/text.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct MissingCase {
  const char* layout;
  const char* tree;     // of datasets/interop
  const char* prepare;  // a shell command that leaves only cases that pass
  const char* gate;
  const char* output;  // an rm or sed command that takes away one side's array
  const char* golden;
  // The case without an output; `because` says why it is not comparable.
  const char* without_output;
  const char* because;
  // The output that is listed because it has no golden result. It is "" if its case is reported as
  // not comparable instead.
  const char* without_golden;
};

const MissingCase kCases[] = {
    {"pairs", "pairs", "rm pairs/gold/add_golden_3.bin",
     "--pairs 'pairs/out/*_output_{i}.bin' 'pairs/gold/*_golden_{i}.bin' --dtype bfloat16 "
     "--golden-dtype float32 --standard torch",
     "rm pairs/out/add_output_1.bin", "rm pairs/gold/add_golden_1.bin", "add_1",
     "there is no recorded output of 'output'", "pairs/out/add_output_1.bin"},
    {"sides", "sides", "rm sides/*/mlp/down_bad.npy", "sides", "rm sides/out/mlp/up.npy",
     "rm sides/gold/mlp/up.npy", "mlp/up", "there is no recorded output of 'out'",
     "sides/out/mlp/up.npy"},
    {"two folders", "sides", "rm sides/*/mlp/down_bad.npy", "sides/gold --outputs sides/out",
     "rm sides/out/mlp/up.npy", "rm sides/gold/mlp/up.npy", "mlp/up", "sides/out has no such case",
     "mlp/up"},
    {"ttk dump", "ttk", "rm ttk/dump/s*", "ttk/dump --table ttk/cases.csv --recorded dyn",
     "rm ttk/dump/mm_01_dyn_output_0.bin", "rm ttk/dump/mm_01_golden_0.bin", "mm_01",
     "there is no recorded output of 'dyn'", ""},
    {"ttk data for replay", "ttk", "rm -r ttk/manual/s* ttk/dump/s*",
     "ttk/manual --outputs ttk/dump --table ttk/cases.csv --recorded dyn", "rm ttk/dump/mm_01_*",
     "rm -r ttk/manual/mm_01", "mm_01", "ttk/dump has no such case", "mm_01"},
    {"msprobe", "msprobe",
     "cp -r msprobe/bench/step0/rank0/dump_tensor_data/* msprobe/npu/step0/rank0/dump_tensor_data/",
     "msprobe/bench --outputs msprobe/npu",
     "sed -i s/Functional.relu.0.forward/Functional.gelu.0.forward/ "
     "msprobe/npu/step0/rank0/dump.json"
     " && cd msprobe/npu/step0/rank0/dump_tensor_data && for f in *relu*; do "
     "cp $f $(echo $f | sed s/relu/gelu/); done",
     "sed -i s/Functional.relu.0.forward/Functional.gelu.0.forward/ "
     "msprobe/bench/step0/rank0/dump.json && cd msprobe/bench/step0/rank0/dump_tensor_data && for "
     "f "
     "in *relu*; do cp $f $(echo $f | sed s/relu/gelu/); done",
     "step0/rank0/Functional.relu.0.forward", "msprobe/npu has no such case",
     "step0/rank0/Functional.relu.0.forward"},
    {"sample", "sample",
     "cp sample/output/golden.bin sample/output/golden_b.bin && cp sample/output/output.bin "
     "sample/output/output_b.bin",
     "sample --dtype float32 --golden-dtype float32", "rm sample/output/output_b.bin",
     "rm sample/output/golden_b.bin", "sample", "there is no recorded output of 'output'",
     "sample/output/output_b.bin"},
};

class Missing : public ProgramTest, public testing::WithParamInterface<MissingCase> {
 protected:
  void SetUp() override {
    std::filesystem::copy(std::string(ASSAY_SOURCE_DIR "/datasets/interop/") + GetParam().tree,
                          path(GetParam().tree), std::filesystem::copy_options::recursive);
    ASSERT_EQ(run(GetParam().prepare).code, 0);
  }
  Ran gate(const std::string& more = "") const {
    return run(std::string("assay gate ") + GetParam().gate +
               " --json r.json --junit r.xml --html r.html" + more);
  }
};

TEST_P(Missing, AGoldenResultWithoutAnOutputIsNotComparable) {
  const MissingCase& c = GetParam();
  ASSERT_EQ(run(c.output).code, 0);
  const Ran ran = gate();
  // An output whose name has changed also has no golden result.
  EXPECT_THAT(ran, Code(3)) << ran.out << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr(c.without_output), HasSubstr(": not_comparable: "),
                             HasSubstr(c.because)));
  bool found = false;
  const nlohmann::json report = json("r.json");
  EXPECT_EQ(report["outcome"], "not_comparable");
  for (const auto& one : report["cases"]) {
    if (one["outcome"] != "not_comparable") continue;
    found = true;
    EXPECT_EQ(one["case"], c.without_output);
    EXPECT_EQ(one["because"], c.because);
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(read("r.xml"), AllOf(HasSubstr("errors=\"1\""), HasSubstr(c.without_output),
                                   HasSubstr("type=\"not_comparable\"")));
  EXPECT_THAT(read("r.html"), AllOf(HasSubstr(c.without_output), HasSubstr("not comparable")));
  if (std::string(c.layout) != "msprobe") {
    EXPECT_THAT(ran.out, Not(HasSubstr("without a golden result")));
    EXPECT_FALSE(report.contains("outputs_without_golden"));
  }
}

TEST_P(Missing, AnOutputWithoutAGoldenResultIsListed) {
  const MissingCase& c = GetParam();
  ASSERT_EQ(run(c.golden).code, 0);
  const Ran ran = gate();
  if (*c.without_golden == '\0') {
    EXPECT_THAT(ran, Code(3));
    EXPECT_THAT(ran.out, HasSubstr(formatted("{}: not_comparable: case {} has no golden result",
                                             c.without_output, c.without_output)));
    return;
  }
  EXPECT_THAT(ran, Code(std::string(c.layout) == "msprobe" ? 3 : 0)) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(formatted("1 output without a golden result was not judged: {}; "
                                           "--strict makes it not comparable\n",
                                           c.without_golden)));
  EXPECT_EQ(json("r.json")["outputs_without_golden"], nlohmann::json({c.without_golden}));
  EXPECT_THAT(read("r.xml"),
              HasSubstr(formatted("name=\"{}\" time=\"0.000\">\n    <skipped message=\"an output "
                                  "without a golden result\"/>",
                                  c.without_golden)));
  EXPECT_THAT(read("r.html"), HasSubstr("1 output without a golden result was not judged"));
  EXPECT_THAT(gate(" --strict"), Code(3));
}

INSTANTIATE_TEST_SUITE_P(Layouts, Missing, testing::ValuesIn(kCases), [](const auto& of) {
  std::string name;
  for (const char c : std::string(of.param.layout)) {
    name += c == ' ' ? '_' : c;
  }
  return name;
});

class Partners : public ProgramTest {};

TEST_F(Partners, GoldenFilesWithoutOutputsAreCounted) {
  std::filesystem::copy(ASSAY_SOURCE_DIR "/datasets/interop/pairs", path("pairs"),
                        std::filesystem::copy_options::recursive);
  const std::string gate =
      "assay gate --pairs 'pairs/out/*_output_{i}.bin' 'pairs/gold/*_golden_{i}.bin' --dtype "
      "bfloat16 --golden-dtype float32 --standard torch --json r.json";
  EXPECT_THAT(run(gate).out,
              HasSubstr("\nnote: 1 golden result has no output, so its case is not comparable: "
                        "pairs/gold/add_golden_3.bin\n"));
  ASSERT_EQ(run("rm pairs/out/add_output_1.bin").code, 0);
  EXPECT_THAT(run(gate), Code(3));
  EXPECT_THAT(json("r.json")["notes"].dump(),
              HasSubstr("2 golden results have no output, so their cases are not comparable: "
                        "pairs/gold/add_golden_1.bin, pairs/gold/add_golden_3.bin"));
  // Arrays of cases that were not chosen are not reported as missing.
  EXPECT_THAT(run(gate + " --case add_0"), Code(0));
  // A golden result without an output is compared with nothing. So nothing needs to say the dtype
  // of its bytes.
  ASSERT_EQ(run("for i in 0 2; do echo '{\"dtype\": \"float32\"}' > "
                "pairs/gold/add_golden_$i.bin.json; done")
                .code,
            0);
  EXPECT_THAT(run("assay gate --pairs 'pairs/out/*_output_{i}.bin' 'pairs/gold/*_golden_{i}.bin' "
                  "--dtype bfloat16 --standard torch"),
              Code(3));
}

TEST_F(Partners, RowsOfATableWithoutDataAreNamed) {
  std::filesystem::copy(ASSAY_SOURCE_DIR "/datasets/interop/ttk", path("ttk"),
                        std::filesystem::copy_options::recursive);
  ASSERT_EQ(run("rm -r ttk/manual/s* ttk/dump/s* && mkdir ttk/manual/more && cp "
                "ttk/manual/add_01/* ttk/manual/more")
                .code,
            0);
  const std::string gate =
      "assay gate ttk/manual --outputs ttk/dump --table ttk/cases.csv --recorded dyn";
  const Ran ran = run(gate);
  EXPECT_THAT(ran, Code(0)) << ran.out << ran.err;
  EXPECT_THAT(
      ran.out,
      AllOf(HasSubstr("\nnote: ttk/manual/more is no case of ttk/cases.csv: left out\n"),
            HasSubstr("\nnote: case scale_bad of ttk/cases.csv (line 5) has no folder: left out\n"),
            Not(HasSubstr("without a golden result"))));
  const Ran strict = run(gate + " --strict");
  EXPECT_THAT(strict, Code(3));
  EXPECT_THAT(strict.out, HasSubstr("(left out): not_comparable: "));
  EXPECT_THAT(run("assay pack ttk/manual --table ttk/cases.csv --out p.h5").err,
              HasSubstr("left out: ttk/manual/more is no case of ttk/cases.csv\n"));
}

}  // namespace
}  // namespace assay
