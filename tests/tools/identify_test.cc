// identify and probes, as a user types them.
#include <map>

#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Identify : public ProgramTest {
 protected:
  static std::string recorded(const std::string& name) {
    return std::string(ASSAY_SOURCE_DIR) + "/datasets/samples/" + name;
  }
};

TEST_F(Identify, RecordingsAreIdentifiedAsTheRows) {
  const std::string file = recorded("hopper_tf32.h5");
  EXPECT_THAT(run("assay identify " + file + " --json i.json"), Exits(0));
  const DatasetFile in(file);
  const nlohmann::json found = json("i.json");
  ASSERT_EQ(found["cases"].size(), 14u);
  for (const nlohmann::json& c : found["cases"]) {
    EXPECT_EQ(c["outcome"], "found") << c;
    EXPECT_EQ(c["model"], "hopper") << c;
    EXPECT_EQ(c["parameters"]["compute_dtype"], "tfloat32") << c;
    // The file says which split explains it.
    const auto attributes = in.attributes_of(c["case"].get<std::string>());
    const auto split = attributes.find("split_k");
    const std::int64_t recorded_split =
        split == attributes.end() ? 0 : std::get<std::int64_t>(split->second);
    const std::int64_t k = in.info(c["case"].get<std::string>()).inputs.at("a").shape[1];
    EXPECT_EQ(c["parameters"].value("split_k", std::int64_t{0}),
              recorded_split >= k ? 0 : recorded_split)
        << c;
  }
}

TEST_F(Identify, SingleInstructionsAreIdentified) {
  const Ran ran = run("assay identify " + recorded("hopper_corners.h5") +
                      " --case 'mma/float16/*' --json i.json");
  EXPECT_THAT(ran.code, testing::AnyOf(0, 4));
  const nlohmann::json written = json("i.json");
  int found = 0;
  for (const nlohmann::json& c : written["cases"]) {
    EXPECT_NE(c["outcome"], "none") << c;
    // Where a start alone is returned, many models fit.
    if (c["outcome"] != "found") continue;
    EXPECT_EQ(c["model"], "hopper") << c;
    ++found;
  }
  EXPECT_GE(found, 5);
}

TEST_F(Identify, KernelsOfLibrariesAreIdentified) {
  // What cuBLAS, Triton and PyTorch computed (docs/evidence/identify.md).
  const std::string file = std::string(ASSAY_SOURCE_DIR) + "/datasets/recordings/hopper_kernels.h5";
  const std::map<std::string, std::string> expected = {
      {"bias/fp32", "cpu_fma,bias_first=0 {}"},
      {"scaled_row/fast", "hopper {}"},
      {"scaled_row/slow", R"(hopper {"promotion_interval":128})"},
      {"triton/e4m3/64x32x128", "hopper {}"},
      {"triton/float32_ieee/16x16x16", "cpu_fma {}"},
      {"triton/float32_tf32/16x16x16",
       R"(hopper {"compute_dtype":"tfloat32","compute_rounding":"toward_zero"})"}};
  EXPECT_THAT(run("assay identify " + file + " --case '[!c]*' --json i.json -q"), Exits(0));
  std::map<std::string, std::string> found;
  const nlohmann::json written = json("i.json");
  for (const nlohmann::json& c : written["cases"]) {
    found[c["case"]] = c["model"].get<std::string>() + " " + c["parameters"].dump();
  }
  EXPECT_EQ(found, expected);
  EXPECT_THAT(run("assay identify " + file + " --case 'cublas/fp32/*' --json i.json -q"), Exits(0));
  const nlohmann::json cases = json("i.json")["cases"];
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0]["parameters"].dump(), R"({"split_k":36})");
  EXPECT_EQ(cases[1]["parameters"].dump(), R"({"split_k":32})");
}

TEST_F(Identify, ProbesMakeAMachineFileThatExplainsThem) {
  EXPECT_THAT(run("assay probes bfloat16 --out p.h5"), Exits(0));
  EXPECT_THAT(run("assay emulate p.h5 --machine hopper,kept_bits=22,chunk=4 --out r.h5 -q"),
              Exits(0));
  const Ran ran =
      run("assay identify r.h5 --case '*/normal*' --name team --device 'a board' --out m.json");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("kept_bits=22"));
  EXPECT_EQ(json("m.json")["device"], "a board");
  EXPECT_EQ(json("m.json")["matrix_unit"][0]["kept_bits"]["value"], 22);
  EXPECT_EQ(json("m.json")["matrix_unit"][0]["kept_bits"]["how"], "measured");
  const Ran again = run("assay emulate r.h5 --machine m.json --verify");
  EXPECT_THAT(again, Exits(0));
  EXPECT_THAT(again.out, HasSubstr("16 of 16 recorded outputs agree bit for bit with team\n"));
  const Ran listed = run("ASSAY_MACHINES=. assay list machines");
  EXPECT_THAT(listed, Exits(0));
  EXPECT_THAT(listed.out, AllOf(HasSubstr("team: a machine of the user's own\n"),
                                HasSubstr("device a board"), HasSubstr("22 bits")));
}

TEST_F(Identify, NothingFitsIsOne) {
  EXPECT_THAT(run("assay probes float16 --out p.h5 -q"), Exits(0));
  EXPECT_THAT(run("assay emulate p.h5 --machine hopper --out r.h5 -q"), Exits(0));
  EXPECT_THAT(run("assay inject r.h5 --fault flip,bit=0 --case '*normal_k128' --out b.h5 -q"),
              Exits(0));
  const Ran ran = run("assay identify b.h5 --case '*normal_k128'");
  EXPECT_THAT(ran, Code(1));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("nothing fits of "), HasSubstr("nearest hopper: 1 023 of "
                                                                      "1 024 elements agree")));
}

TEST_F(Identify, MistakesAreNamed) {
  EXPECT_THAT(run("assay probes float16 --out p.h5 -q"), Exits(0));
  EXPECT_THAT(run("assay identify p.h5"), Exits(3, "error: p.h5: no recorded outputs to identify"));
  EXPECT_THAT(run("assay probes int8 --out q.h5"),
              Exits(2, "error: probes are of floats that float32 holds, not of int8"));
  EXPECT_THAT(run("assay emulate p.h5 --machine nope.json --verify"), Code(2));
}

}  // namespace
}  // namespace assay
