// assay regate: saved results by another standard.
#include "program.h"

namespace assay {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class Regate : public ProgramTest {};

TEST_F(Regate, ExitCodes) {
  make("g.h5", {product("x", 0.5)});
  EXPECT_THAT(run("assay gate g.h5 --standard triton_ascend --json r.json --histograms --quiet"),
              Exits(1));
  Ran ran = run("assay regate r.json --rtol 0.2 --atol 1e-5");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, StartsWith("x     pass            custom: all elements are within atol"));
  EXPECT_THAT(run("assay regate r.json --standard torch"), Exits(1));
  ran = run("assay regate r.json --rtol 0.04 --atol 0.27");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("cannot tell from the saved metrics: they say what would pass"));
  EXPECT_THAT(run("assay regate r.json --standard torch --json s.json --quiet"), Exits(1));
  EXPECT_EQ(json("s.json")["cases"][0]["outcome"], "fail");
}

// `regate` does not trust what the saved verdict did not trust. It reports what it cannot judge.
TEST_F(Regate, Blindness) {
  const std::vector<double> small = {1, 1e-9, 1e-9, 1e-9};
  make("g.h5", {recorded("x", "float32", {4}, small, small)});
  EXPECT_THAT(run("assay gate g.h5 --recorded p --rtol 1e-3 --atol 1e-6 --json r.json "
                  "--histograms -q"),
              Exits(4));
  Ran ran = run("assay regate r.json --rtol 1e-3 --atol 1e-6");
  EXPECT_THAT(ran, Exits(4));
  EXPECT_THAT(ran.out, HasSubstr("untrusted       custom: the check is blind to "));
  EXPECT_THAT(run("assay regate r.json --rtol 1e-3 --atol 0"), Exits(0));
  ran = run("assay regate r.json --rtol 1e-3 --atol 1e-7");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(
      ran.out,
      EndsWith(
          "note (1 verdict): saved metrics do not tell how many elements this bound is blind to; "
          "judge the tensors again to know\n"));
  ran = run("assay regate r.json --rtol 1e-3 --atol 1e-7 --max-blind 0.01");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("not_comparable  custom: saved metrics do not tell how many"));
}

TEST_F(Regate, TheGoldenResultItself) {
  make("g.h5", {product("x", 0)});
  EXPECT_THAT(run("assay compare g.h5:/cases/x/golden g.h5:/cases/x/golden --standard torch --json "
                  "r.json -q"),
              Exits(4));
  const Ran ran = run("assay regate r.json --standard torch");
  EXPECT_THAT(ran, Exits(4));
  EXPECT_THAT(ran.out, HasSubstr("the output is the golden result itself"));
}

// Distances of 64-bit integers are saved and compared exactly.
TEST_F(Regate, UlpsOf64Bits) {
  python(R"py(
import numpy as np
np.save("e.npy", np.array([2**62, 2**62])); np.save("a.npy", np.array([2**62 + 2**60 + 1, 2**62]))
np.save("low.npy", np.array([-2**63, 5])); np.save("high.npy", np.array([2**63 - 1, 5]))
)py");
  Ran ran = run("assay compare a.npy e.npy --standard 'ulp(3)' --json r.json");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr(", 1 152 921 504 606 846 977 ulp\nwhere: "));
  EXPECT_THAT(ran.out, HasSubstr("\nwould pass with ulp(1152921504606846977)\n"));
  EXPECT_THAT(ran.out, HasSubstr("\n  max ulp             1152921504606846977\n"));
  EXPECT_EQ(json("r.json")["metrics"]["max_ulp"].dump(), "1152921504606846977");
  for (const char* command : {"assay compare a.npy e.npy", "assay regate r.json"}) {
    EXPECT_THAT(run(command + std::string(" --standard 'ulp(1152921504606846976)'")), Exits(1));
    EXPECT_THAT(run(command + std::string(" --standard 'ulp(1152921504606846977)'")), Exits(0));
  }
  ran = run("assay compare low.npy high.npy --standard 'ulp(18446744073709551614)' --json r.json");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr(", 18 446 744 073 709 551 615 ulp\n"));
  EXPECT_EQ(json("r.json")["worst"][0]["ulps"].dump(), "18446744073709551615");
  EXPECT_EQ(json("r.json")["metrics"]["max_ulp"].dump(), "18446744073709551615");
  EXPECT_THAT(run("assay regate r.json --standard 'ulp(18446744073709551614)'"), Exits(1));
}

// If 0 is expected and the output is not 0, the relative error is infinite. This holds in texts, in
// JSON, and in what `regate` reads from the JSON.
TEST_F(Regate, RelativeErrorsWhereZeroIsExpected) {
  python(R"py(
import numpy as np
np.save("e.npy", np.array([0, 1, 0], "f4")); np.save("a.npy", np.array([5, 1, 0], "f4"))
)py");
  const Ran ran = run("assay compare a.npy e.npy --rtol 1e-3 --atol 1e-3 --json r.json");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("\n  max rel error       inf at [0]\n"
                                 "  mean rel error      inf (median 0, p99 inf)\n"));
  EXPECT_EQ(json("r.json")["metrics"]["max_rel_error"], "inf");
  EXPECT_EQ(json("r.json")["metrics"]["max_rel_index"], 0);
  EXPECT_EQ(json("r.json")["metrics"]["mean_rel_error"], "inf");
  EXPECT_EQ(json("r.json")["metrics"]["errors_at_zero"], 1);
  EXPECT_THAT(run("assay regate r.json --rtol 1e-3 --atol 1e-3"), Exits(1));
}

TEST_F(Regate, UsageAndFiles) {
  write("no.json", "{");
  EXPECT_THAT(run("assay regate no.json --standard torch"),
              Exits(2,
                    "error: no.json: is no JSON; `assay gate --histograms --json FILE` writes what "
                    "is judged again"));
  EXPECT_THAT(run("assay regate nope.json --standard torch"),
              Exits(2, "error: nope.json: cannot be read: No such file or directory"));
  EXPECT_THAT(
      run("assay regate no.json"),
      Exits(2, "error: there is no bound to judge by; give --standard, or --rtol and --atol"));
  make("g.h5", {one_of_each()[2]});
  EXPECT_THAT(run("assay gate g.h5 --machine exact --json r.json --quiet"), Code(0));
  EXPECT_THAT(run("assay regate r.json --standard torch --json r.json"),
              Exits(2, "error: r.json is an input; --json would replace it"));
  EXPECT_THAT(
      run("assay regate r.json --standard torch"),
      Exits(2,
            "error: r.json: case missing: has only the main metrics, not their "
            "histograms; `assay gate --histograms --json FILE` writes what is judged again"));
  EXPECT_THAT(
      run("assay gate g.h5 --histograms"),
      testing::AllOf(Code(2), testing::Field(&Ran::err, StartsWith("--histograms requires "))));
  write("old.json", R"({"schema": 1, "cases": []})");
  EXPECT_THAT(run("assay regate old.json --standard torch"),
              Exits(2,
                    "error: old.json: has schema 1: it was written by an older assay; `assay gate "
                    "--histograms --json FILE` writes what is judged again"));
}

// `regate` takes standards as `gate` does: for only one dtype, and from a file.
TEST_F(Regate, StandardsOfADtypeAndOfAFile) {
  make("g.h5", {product("x", 0)});
  ASSERT_EQ(run("assay gate g.h5 --json r.json --histograms -q").code, 0);
  write("own.json", R"({"standards": [{"name": "own", "why": "a test",
                        "dtypes": {"float32": {"rtol": 1e-3, "atol": 1e-3}}}]})");
  Ran ran = run("assay regate r.json --standards own.json --standard own");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("own: "));
  ran = run("assay regate r.json --standard torch --standard float16=atb");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out,
              EndsWith("note: --standard float16=atb was not used: no judged output is float16\n"));
}

}  // namespace
}  // namespace assay
