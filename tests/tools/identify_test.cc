// Tests `assay identify` and `assay probes` as a user types them.
#include <map>

#include "emulated.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Identify : public ProgramTest {
 protected:
  static std::string recorded(const std::string& name) {
    return std::string(ASSAY_SOURCE_DIR "/datasets/samples/") + name;
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
    // The file records the split that explains the output.
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
    // If the output is only the start of the sum, many models fit.
    if (c["outcome"] != "found") continue;
    EXPECT_EQ(c["model"], "hopper") << c;
    ++found;
  }
  EXPECT_GE(found, 5);
}

TEST_F(Identify, KernelsOfLibrariesAreIdentified) {
  // The file has outputs of cuBLAS, Triton and PyTorch (docs/evidence/identify.md). The map has the
  // machine and the parameters that must be found for each.
  const std::string file = std::string(ASSAY_SOURCE_DIR "/datasets/recordings/hopper_kernels.h5");
  std::map<std::string, std::string> expected = {
      {"bias/fp32", "hopper {}"},
      {"scaled_row/fast", "hopper {}"},
      {"scaled_row/slow", R"(hopper {"promotion_interval":128})"},
      {"triton/e4m3/64x32x128", "hopper {}"},
      {"triton/float32_ieee/16x16x16", "hopper {}"},
      {"triton/float32_tf32/16x16x16",
       R"(hopper {"compute_dtype":"tfloat32","compute_rounding":"toward_zero"})"}};
  // Triton's outputs take nine tenths of the time. They are left out if the tests walk only a share
  // of all cases.
  const bool share = walks_a_share();
  if (share) std::erase_if(expected, [](const auto& row) { return row.first.starts_with('t'); });
  const std::string cases = share ? " --case '[!ct]*'" : " --case '[!c]*'";
  // The scales are powers of two, so the order of their multiplications cannot be found, and the
  // exit code is 4.
  EXPECT_THAT(run("assay identify " + file + cases + " --json i.json -q"), Code(4));
  std::map<std::string, std::string> found;
  const nlohmann::json written = json("i.json");
  for (const nlohmann::json& c : written["cases"]) {
    EXPECT_EQ(c["outcome"] == "undecided", c["case"].get<std::string>().starts_with("scaled_row/"));
    found[c["case"]] = c["model"].get<std::string>() + " " + c["parameters"].dump();
  }
  EXPECT_EQ(found, expected);
  EXPECT_THAT(run("assay identify " + file + " --case 'cublas/fp32/*' --json i.json -q"), Exits(0));
  const nlohmann::json divided = json("i.json")["cases"];
  ASSERT_EQ(divided.size(), 2u);
  EXPECT_EQ(divided[0]["parameters"].dump(), R"({"split_k":36})");
  EXPECT_EQ(divided[1]["parameters"].dump(), R"({"split_k":32})");
}

// `identify` does not read these parameters from the case. It finds them from the output.
TEST_F(Identify, HowKIsDividedAndResultsAreRounded) {
  const std::pair<const char*, const char*> asked[] = {
      {"--dtype float16 --output-dtype float32 --parameter split_k=32 "
       "--parameter split_order=pairwise",
       R"({"split_k":32,"split_order":"pairwise"})"},
      {"--dtype float16 --output-dtype float32 --parameter split_k=48 "
       "--parameter split_order=descending",
       R"({"split_k":48,"split_order":"descending"})"},
      {"--dtype bfloat16 --output-dtype float32 --parameter split_k=16 --parameter split_parts=3",
       R"({"split_k":16,"split_parts":3})"},
      {"--dtype bfloat16 --output-dtype float32 --parameter split_k=64 --parameter split_first=24",
       R"({"split_first":24,"split_k":64})"},
      {"--dtype bfloat16 --parameter split_k=64 --parameter split_dtype=bfloat16",
       R"({"split_dtype":"bfloat16","split_k":64})"},
      {"--dtype float16 --parameter split_k=48 --parameter split_sum_dtype=float16",
       R"({"split_k":48,"split_sum_dtype":"float16"})"},
      {"--dtype float16 --parameter output_rounding=toward_zero",
       R"({"output_rounding":"toward_zero"})"},
      {"--dtype bfloat16 --bias normal --parameter round_before_bias=1",
       R"({"round_before_bias":1})"},
      {"--dtype float32 --parameter compute_dtype=bfloat16 --parameter compute_terms=2 "
       "--parameter split_k=64",
       R"({"compute_dtype":"bfloat16","compute_terms":2,"split_k":64})"}};
  for (std::size_t i = 0; i < std::size(asked); i += walks_a_share() ? 4 : 1) {
    const auto& [options, parameters] = asked[i];
    SCOPED_TRACE(options);
    EXPECT_THAT(
        run(std::string("assay generate matmul --shape 48,240,48 ") + options + " --out g.h5 -q"),
        Exits(0));
    EXPECT_THAT(run("assay emulate g.h5 --machine hopper --out r.h5 -q"), Exits(0));
    EXPECT_THAT(run("assay identify r.h5 --json i.json"), testing::_);
    const nlohmann::json written = json("i.json"), &c = written["cases"][0];
    EXPECT_NE(c["outcome"], "none");
    // 16-bit results cannot distinguish the matrix units, so there may be no single model.
    const bool is_found = c["outcome"] == "found";
    EXPECT_EQ(is_found ? c["model"] : "hopper", "hopper") << c;
    EXPECT_EQ(c["parameters"].dump(), parameters) << c;
  }
}

TEST_F(Identify, TreesOfSumsAreFound) {
  // The file has sums that Triton and PyTorch computed on an H200.
  EXPECT_THAT(run("assay identify " + recorded("triton_sums.h5") +
                  " --case '*/float32/1024' --json i.json"),
              Code(4));
  const nlohmann::json written = json("i.json"), &cases = written["cases"];
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0]["outcome"], "found");
  EXPECT_EQ(cases[0]["parameters"].dump(),
            R"({"lanes":128,"order":"lanes","sum_dtype":"float32","vector":4,"warp":32})");
  EXPECT_EQ(cases[0]["evidence"]["sum_dtype"]["other_value"], "float64");
  // A single sum cannot identify a model, even if a model gives it.
  EXPECT_EQ(cases[1]["case"], "second/float32/1024");
  EXPECT_EQ(cases[1]["outcome"], "undecided");
  EXPECT_THAT(
      cases[1]["note"].get<std::string>(),
      AllOf(testing::StartsWith("1 sums are too few to choose from "),
            testing::EndsWith("wrong trees would give the same sums by chance; record more sums")));
}

TEST_F(Identify, FunctionsAreComparedWithTheirFormulasAndBounds) {
  const Ran ran = run("assay identify " + recorded("hopper_functions.h5") +
                      " --case '*float32/exp' --json i.json");
  EXPECT_THAT(ran, Code(4));
  EXPECT_THAT(run("assay identify " + recorded("hopper_functions.h5") + " --case bfloat16/exp").out,
              AllOf(HasSubstr("    found: exact, all 65 282 elements\n"),
                    HasSubstr("  within cuda: expf in float32, 2 ulps (documented)\n"),
                    HasSubstr("  monotonic where the function is\n")));
  const nlohmann::json written = json("i.json");
  for (const nlohmann::json& c : written["cases"]) {
    EXPECT_EQ(c["outcome"], "undecided") << c["case"];
    const bool is_fast = c["case"] == "fast/float32/exp";
    EXPECT_EQ(c["function"]["largest_ulps"].get<double>() > 2, is_fast) << c["case"];
    for (const nlohmann::json& bound : c["function"]["bounds"]) {
      const auto name = bound["name"].get<std::string>();
      if (name.starts_with("cuda: ")) {
        EXPECT_EQ(bound["outside"] > 0, is_fast) << c["case"];
      } else if (name.starts_with("cuda_fast: ")) {
        EXPECT_EQ(bound["outside"], 0) << c["case"];
      }
    }
    EXPECT_EQ(c["function"]["ranges"].size(), 16u);
  }
  // A function with a few wrong results is not within any bound.
  EXPECT_THAT(run("assay inject " + recorded("hopper_functions.h5") +
                  " --case bfloat16/exp --fault flip,bit=14 --out b.h5 -q"),
              Exits(0));
  EXPECT_THAT(run("assay identify b.h5 --case bfloat16/exp").out, HasSubstr("nothing fits of "));
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

TEST_F(Identify, TheFirstLineIsASentence) {
  EXPECT_THAT(run("assay generate matmul --shape 16,4096,8 --dtype float16 --output-dtype float32 "
                  "--parameter split_k=1024 --out g.h5 -q"),
              Exits(0));
  EXPECT_THAT(run("assay emulate g.h5 --machine hopper --out r.h5 -q"), Exits(0));
  const Ran ran = run("assay identify r.h5 --json i.json");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out,
              testing::ContainsRegex("^[^\n]* \\(hopper\\): Hopper's tensor cores[^\n]*, K "
                                     "in 4 parts of 1 024, added in float32\\.\n"));
  EXPECT_THAT(json("i.json")["cases"][0]["sentence"].get<std::string>(),
              testing::StartsWith("Hopper's tensor cores"));
}

// 16-bit results leave many models open. The probes that the text names can be written and
// distinguish more models.
TEST_F(Identify, UndecidedNamesTheProbesThatDecide) {
  EXPECT_THAT(run("assay generate matmul --shape 4,512,8 --dtype bfloat16 --out g.h5 -q"),
              Exits(0));
  EXPECT_THAT(run("assay emulate g.h5 --machine hopper --out r.h5 -q"), Exits(0));
  EXPECT_THAT(run("assay identify r.h5 --json i.json"), Code(4));
  const nlohmann::json before = json("i.json")["cases"][0];
  const auto command = before["decide"]["command"].get<std::string>();
  EXPECT_EQ(command,
            "assay probes bfloat16 --shape 4,512,8 --output-dtype bfloat16 --out probes.h5");
  EXPECT_GT(before["decide"]["told_apart"].get<int>(), 1);
  EXPECT_THAT(run(command + " -q"), Exits(0));
  EXPECT_THAT(run("assay emulate probes.h5 --machine hopper --out p.h5 -q"), Exits(0));
  EXPECT_THAT(run("assay identify p.h5 --json j.json -q"), testing::_);
  const nlohmann::json after = json("j.json");
  for (const nlohmann::json& c : after["cases"]) EXPECT_NE(c["outcome"], "none") << c;
  EXPECT_THAT(run("assay probes float16 --shape 4,0,8 --out q.h5"),
              Exits(2, "error: the sizes M, K and N of probes must be at least 1"));
}

TEST_F(Identify, IntegerProductsAreExplained) {
  const std::string file = std::string(ASSAY_SOURCE_DIR "/datasets/recordings/hopper_units.h5");
  const Ran ran = run("assay identify " + file + " --case '*int8/*' --json i.json");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("Exact int32 sums that wrap around beyond int32: Hopper's tensor "
                                 "cores.\n"));
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
  EXPECT_THAT(run("assay identify p.h5"),
              Exits(3, "error: p.h5: has no recorded outputs to identify"));
  EXPECT_THAT(run("assay probes int8 --out q.h5"),
              Exits(2, "error: probes can be made only of floats that float32 holds, not of int8"));
  EXPECT_THAT(run("assay emulate p.h5 --machine nope.json --verify"), Code(2));
}

}  // namespace
}  // namespace assay
