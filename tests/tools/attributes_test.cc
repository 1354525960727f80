// Tests attributes of cases: mistakes are refused, notes are kept, rtol without atol and atol
// without rtol are accepted, and an output that is the golden result itself is untrusted.
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Attributes : public ProgramTest {
 protected:
  static Case with(const std::string& name, const std::string& attribute, const Attribute& value,
                   const std::string& op = "matmul") {
    Case c = product(name);
    c.op = op;
    c.attributes[attribute] = value;
    return c;
  }
};

// A case with a mistake is refused, the others are judged, and the exit code is 2.
TEST_F(Attributes, ASlipIsRefused) {
  const std::tuple<const char*, const char*, const char*> slips[] = {
      {"rtoll", "external", ": did you mean 'rtol'?"},
      {"standrad", "external", ": did you mean 'standard'?"},
      {"RTOL", "external", ": did you mean 'rtol'?"},
      {"output-dtype", "external", ": did you mean 'output_dtype'?"},
      {"max_mismatch", "team_op", ": did you mean 'max_mismatches'?"},
      {"standrad", "matmul",
       ": did you mean 'standard'?; matmul takes transpose_a, transpose_b, output_dtype, "
       "compute_dtype, compute_rounding, promotion_interval, split_k, split_first, split_parts, "
       "split_order, split_dtype, split_sum_dtype, compute_terms, round_before_bias, "
       "output_rounding"},
      {"transposea", "matmul",
       ": did you mean 'transpose_a'?; matmul takes transpose_a, transpose_b, output_dtype, "
       "compute_dtype, compute_rounding, promotion_interval, split_k, split_first, split_parts, "
       "split_order, split_dtype, split_sum_dtype, compute_terms, round_before_bias, "
       "output_rounding"},
      {"author", "matmul",
       "; matmul takes transpose_a, transpose_b, output_dtype, compute_dtype, compute_rounding, "
       "promotion_interval, split_k, split_first, split_parts, split_order, split_dtype, "
       "split_sum_dtype, compute_terms, round_before_bias, output_rounding"},
  };
  for (const auto& [attribute, op, rest] : slips) {
    make("g.h5", {with("bad", attribute, 0.5, op), product("good")});
    const std::string refusal = std::string("error: g.h5: /cases/bad: its attribute '") +
                                attribute + "' is unknown" + rest +
                                "; to keep it as a note of your own, name it x_" + attribute;
    for (const char* from : {"", " --recorded p", " --machine exact"}) {
      const Ran ran = run(std::string("assay gate g.h5 --json r.json") + from);
      EXPECT_THAT(ran, Exits(2, refusal)) << attribute << from;
      EXPECT_THAT(ran.out, HasSubstr("\n2 cases: 1 pass, 1 error\n")) << attribute << from;
      EXPECT_EQ(json("r.json")["cases"][0]["outcome"], "error");
      EXPECT_EQ(json("r.json")["cases"][1]["outcome"], "pass");
    }
    for (const char* line : {"golden g.h5", "emulate g.h5 --machine exact",
                             "inject g.h5 --fault flip,bit=30 --recorded p"}) {
      const Ran ran = run(std::string("assay ") + line + " --out o.h5");
      EXPECT_THAT(ran, Exits(2, refusal)) << line;
      EXPECT_THAT(DatasetFile(path("o.h5")).case_names(), testing::ElementsAre("good")) << line;
    }
    // If the output would replace the input, nothing is written, so that no case is lost.
    const Ran in_place = run("assay golden g.h5 --out g.h5");
    EXPECT_THAT(in_place, Code(2));
    EXPECT_THAT(in_place.err, HasSubstr("\nerror: --out g.h5 is the input, and its refused cases "
                                        "would be lost; write another file\n"));
    EXPECT_EQ(DatasetFile(path("g.h5")).case_names().size(), 2u);
  }
}

TEST_F(Attributes, OtherNamesOfUnknownOperatorsAreTheirs) {
  Case c = product("x");
  c.op = "team_conv";
  for (const char* name : {"k", "n", "eps", "axis", "stride", "scale", "groups", "step", "mode"}) {
    c.attributes[name] = std::int64_t{3};
  }
  make("g.h5", {c});
  EXPECT_THAT(run("assay gate g.h5"), Exits(0));
}

TEST_F(Attributes, ASlipOfAnyKindIsRefused) {
  python(R"py(
import h5py, numpy as np
with h5py.File("g.h5", "w") as f:
    f.attrs["assay_schema"] = 1
    for name, value in (("list", [1e-3, 2.0]), ("flag", True), ("text", "torch")):
        c = f.create_group("cases/" + name)
        c.attrs["op"], c.attrs["output_dtype"] = "external", "float32"
        c.attrs["rtoll"], c.attrs["x_list"] = value, [1, 2]
        for path, dtype in (("golden", "f8"), ("outputs/p", "f4")):
            c[path] = np.arange(3, dtype=dtype)
            c[path].attrs["dtype"] = str(c[path].dtype)
)py");
  const Ran ran = run("assay gate g.h5");
  EXPECT_THAT(ran, Code(2));
  EXPECT_THAT(ran.out, HasSubstr("\n3 cases: 3 error\n"));
}

TEST_F(Attributes, NotesAreKeptByEveryToolAndShown) {
  const std::string note = "  x_author: a team\n";
  Case c = with("x", "x_author", std::string("a team"));
  c.output().recorded["p"].tensor = c.output().recorded.at("p").tensor;
  make("g.h5", {c});
  EXPECT_THAT(run("assay gate g.h5"), Exits(0));
  EXPECT_THAT(run("assay gate g.h5 --machine exact"), Exits(0));
  EXPECT_THAT(run("assay golden g.h5 --tolerance --out golden.h5"), Exits(0));
  EXPECT_THAT(run("assay emulate golden.h5 --machine exact --out emulated.h5"), Exits(0));
  EXPECT_THAT(run("assay inject emulated.h5 --recorded p --fault flip,bit=30 --out broken.h5"),
              Exits(0));
  EXPECT_THAT(run("assay gate broken.h5 --recorded p --save-failures f.h5"), Exits(1));
  write("b.txt", "add --dtype float32 --shape 3 --parameter 'x_author=a team'\n");
  EXPECT_THAT(run("assay generate --from b.txt --out made.h5"), Exits(0));
  for (const char* file : {"g.h5", "golden.h5", "emulated.h5", "broken.h5", "f.h5", "made.h5"}) {
    EXPECT_THAT(run(std::string("assay inspect ") + file).out, HasSubstr(note)) << file;
  }
  // For several cases, `inspect` shows only the notes (x_...) and no other attributes.
  make("two.h5", {c, product("y")});
  EXPECT_THAT(run("assay inspect two.h5").out,
              AllOf(HasSubstr("\n  x: x_author: a team\n"), Not(HasSubstr("output_dtype"))));
}

TEST_F(Attributes, HalfATolerance) {
  make("g.h5", {with("r", "rtol", 0.5), with("a", "atol", 0.5)});
  EXPECT_THAT(run("assay gate g.h5 --json r.json --quiet"), Exits(0));
  const auto cases = json("r.json")["cases"];
  EXPECT_EQ(cases[0]["verdicts"][0]["bound"]["atol"], 0.5);
  EXPECT_EQ(cases[0]["verdicts"][0]["bound"]["rtol"], 0);
  EXPECT_EQ(cases[1]["verdicts"][0]["bound"]["atol"], 0);
  EXPECT_EQ(cases[1]["verdicts"][0]["bound"]["rtol"], 0.5);
}

// An output that is its own golden result would pass whatever it is, so the verdict is untrusted.
TEST_F(Attributes, TheSameBytesAreUntrusted) {
  const std::string reason =
      "the output is the golden result itself, because both are the same bytes of ";
  python(R"py(
import h5py, numpy as np, os
def case(f, name, chunks=None):
    c = f.create_group("cases/" + name)
    c.attrs["op"], c.attrs["output_dtype"] = "external", "float32"
    c.create_dataset("golden", data=np.arange(1, 7, dtype="f4").reshape(2, 3), chunks=chunks)
    c["golden"].attrs["dtype"] = "float32"
    return c
with h5py.File("g.h5", "w") as f:
    f.attrs["assay_schema"] = 1
    for name, chunks in (("hard", None), ("chunked", (1, 3))):
        c = case(f, name, chunks); c["outputs/p"] = c["golden"]
    c = case(f, "soft"); c["outputs/p"] = h5py.SoftLink("/cases/soft/golden")
    c = case(f, "copy"); c["outputs/p"] = c["golden"][:]; c["outputs/p"].attrs["dtype"] = "float32"
os.link("g.h5", "h.h5")
os.symlink("g.h5", "s.h5")
a = np.arange(6, dtype="f4")
np.save("a.npy", a); np.save("copy.npy", a)
os.link("a.npy", "hard.npy"); os.symlink("a.npy", "soft.npy")
np.savez("z.npz", a=a, b=a)
a.tofile("a.raw"); os.link("a.raw", "b.raw")
)py");
  for (const char* outputs : {"", " --outputs g.h5", " --outputs h.h5", " --outputs s.h5"}) {
    const Ran ran = run(std::string("assay gate g.h5 --json r.json") + outputs);
    EXPECT_THAT(ran, Exits(4)) << outputs;
    EXPECT_THAT(ran.out, HasSubstr("\n4 cases: 1 pass, 3 untrusted\n")) << outputs;
    const nlohmann::json report = json("r.json");
    for (const auto& c : report["cases"]) {
      if (c["case"] == "copy") continue;
      EXPECT_EQ(c["because"], reason + "g.h5; give another file for one of them") << c["case"];
    }
  }
  const std::string a = "g.h5:/cases/hard/golden";
  const std::pair<std::string, std::string> same[] = {
      {"a.npy", "a.npy"},
      {"a.npy", "./a.npy"},
      {"hard.npy", "a.npy"},
      {"a.npy", "soft.npy"},
      {"z.npz:a", "z.npz:/a"},
      {a, a},
      {"g.h5:/cases/hard/outputs/p", a},
      {"h.h5:/cases/hard/outputs/p", a},
      {"g.h5:/cases/soft/outputs/p", "g.h5:/cases/soft/golden"},
      {"g.h5:/cases/chunked/outputs/p", "s.h5:/cases/chunked/golden"}};
  for (const auto& [actual, expected] : same) {
    const Ran ran = run("assay compare " + actual + " " + expected);
    EXPECT_THAT(ran, Exits(4)) << actual << " " << expected;
    const std::string file = expected.substr(0, expected.rfind(":/"));
    EXPECT_THAT(ran.out, StartsWith("untrusted: " + reason + expected)) << file;
  }
  EXPECT_THAT(run("assay compare a.raw b.raw --dtype float32 --shape 6"), Exits(4));
  EXPECT_THAT(run("assay compare a.npy copy.npy"), Exits(0));
  EXPECT_THAT(run("assay compare z.npz:a z.npz:b"), Exits(0));
  EXPECT_THAT(run("assay compare g.h5:/cases/copy/outputs/p g.h5:/cases/copy/golden"), Exits(0));
}

TEST_F(Attributes, OutputsWithoutAGoldenCaseAreListed) {
  make("g.h5", {product("a"), product("b")});
  make("o.h5", {product("a"), product("b"), product("c"), product("d")});
  const Ran ran = run("assay gate g.h5 --outputs o.h5 --json r.json --junit r.xml --html r.html");
  EXPECT_THAT(ran, Exits(0));
  const std::string note = "2 outputs without a golden result were not judged: c, d";
  EXPECT_THAT(ran.out,
              HasSubstr("\n2 cases: 2 pass\n" + note + "; --strict makes them not comparable\n"));
  EXPECT_EQ(json("r.json")["outputs_without_golden"], nlohmann::json({"c", "d"}));
  EXPECT_THAT(read("r.html"), HasSubstr("<p>" + note + "</p>"));
  python(R"py(
import xml.etree.ElementTree as tree
suite = tree.parse("r.xml").getroot()
assert (suite.get("tests"), suite.get("skipped")) == ("4", "2"), suite.attrib
skipped = [c.get("name") for c in suite if len(c) and c[0].tag == "skipped"]
assert skipped == ["c", "d"], skipped
)py");
  EXPECT_THAT(run("assay gate g.h5 --outputs o.h5 --case a").out, Not(HasSubstr("without")));
  EXPECT_THAT(run("assay gate g.h5 --outputs o.h5 --case '[ad]'").out,
              HasSubstr("\n1 output without a golden result was not judged: d; "));
  const Ran strict = run("assay gate g.h5 --outputs o.h5 --strict --json r.json");
  EXPECT_THAT(strict, Exits(3));
  EXPECT_THAT(strict.out, AllOf(HasSubstr("\n4 cases: 2 pass, 2 not_comparable\n"),
                                HasSubstr("\nc: not_comparable: g.h5 has no such case")));
  EXPECT_EQ(json("r.json")["outcome"], "not_comparable");
  EXPECT_THAT(run("assay gate g.h5 --strict"), Exits(0));
}

}  // namespace
}  // namespace assay
