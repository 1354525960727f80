// Tests the messages of the program to its users. They show the pattern of a failure, other names
// of dtypes, the standards for a dtype, which option to set, and a few failures among many cases.
#include <cmath>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Messages : public ProgramTest {
 protected:
  // waves() returns sin(1), sin(2), ..., sin(256). waves_as() returns a case with these values as
  // its golden result of shape [16, 16], and with an output.
  static std::vector<double> waves() {
    std::vector<double> values(256);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::sin(static_cast<double>(i + 1));
    return values;
  }
  static Case waves_as(const std::string& name, std::vector<double> output) {
    return recorded(name, "float32", {16, 16}, waves(), output);
  }
};

TEST_F(Messages, PatternOfAFailureThroughEveryDoor) {
  std::vector<double> turned(256), halved = waves();
  for (std::size_t i = 0; i < 256; ++i) turned[i] = waves()[i % 16 * 16 + i / 16];
  for (double& v : halved) v /= 2;
  make("g.h5", {waves_as("halved", halved), waves_as("turned", turned),
                waves_as("zero", std::vector<double>(256, 0.0))});
  const Ran ran = run("assay gate g.h5 --json r.json --junit r.xml --html r.html");
  EXPECT_THAT(ran, Exits(1));
  const std::string turn =
                        "the transpose of the output would pass (explains 240 of 240 mismatches)",
                    twice = "the output times 2 would pass (explains 256 of 256 mismatches)",
                    zero = "every element of the output is 0: was it ever written?";
  for (const std::string& text : {turn, twice, zero}) {
    EXPECT_THAT(ran.out, HasSubstr(text + "\n"));
    EXPECT_THAT(read("r.xml"), HasSubstr(text));
    EXPECT_THAT(read("r.html"), HasSubstr(text));
  }
  EXPECT_EQ(json("r.json")["cases"][1]["verdicts"][0]["where"], turn);
  EXPECT_EQ(json("r.json")["cases"][2]["verdicts"][0]["where"], zero);
  // The pattern of a failure is also found for other standards than tolerances, and for two arrays
  // without a case.
  for (const char* standard : {"cann_ecosystem", "msprobe", "mlu_ops", "cutlass", "ulp(2)"}) {
    EXPECT_THAT(run(formatted("assay gate g.h5 --case turned --standard '{}'", standard)).out,
                HasSubstr("where: the transpose of the output would pass"))
        << standard;
  }
  const Ran compared =
      run("assay compare g.h5:/cases/turned/outputs/p g.h5:/cases/turned/golden --json c.json");
  EXPECT_THAT(compared, Exits(1));
  EXPECT_THAT(compared.out, HasSubstr("\nwhere: " + turn + "\n"));
  EXPECT_EQ(json("c.json")["where"], turn);
}

TEST_F(Messages, DtypesByTheNamesThatOthersHave) {
  const auto names = {"bfloat16", "bf16", "torch.bfloat16"};
  for (const char* name : names) {
    EXPECT_THAT(run(formatted("assay generate matmul --dtype {} --shape 4,8,4 --output-dtype fp32 "
                              "--seed 1 --out g.h5",
                              name)),
                Exits(0));
    // The written file has the dtype's standard name, whichever of its names the user gave.
    EXPECT_THAT(run("assay inspect g.h5").out,
                AllOf(HasSubstr("bfloat16"), Not(HasSubstr("bf16")), Not(HasSubstr("fp32"))))
        << name;
    const Ran ran = run(formatted(
        "assay gate g.h5 --machine hopper --standard {}=atb --standard float=torch", name));
    EXPECT_THAT(ran, Exits(0)) << name;
    EXPECT_THAT(ran.out, AllOf(HasSubstr("  torch\n"), Not(HasSubstr("  atb")),
                               HasSubstr("=atb was not used: no judged output is ")))
        << name;
  }
  write("raw", std::string("\x80\x3f\x00\x40", 4));
  write("same", read("raw"));
  for (const char* name : names) {
    EXPECT_THAT(run(formatted("assay compare raw same --dtype {} --shape 2", name)), Exits(0));
  }
  write("s.json", R"({"standards": [{"name": "own", "why": "a test",
    "dtypes": {"bf16": {"ulp": 1}, "fp32": {"rtol": 1e-3, "atol": 1e-3}}}]})");
  EXPECT_THAT(run("assay gate g.h5 --machine hopper --standards s.json --standard own"), Exits(0));
  write("twice.json", R"({"standards": [{"name": "own", "why": "a test",
    "dtypes": {"bf16": {"ulp": 1}, "bfloat16": {"ulp": 2}}}]})");
  EXPECT_THAT(run("assay gate g.h5 --machine hopper --standards twice.json --standard own").err,
              HasSubstr("'bfloat16' is there twice"));
  write("p.json", R"({"schema": 1, "name": "p", "cells": [{"machine": "ascend910b", "dtype": "bf16",
    "output_dtype": "fp32", "shape": [8, 16, 8], "distribution": "normal",
    "gates": ["rounding_variance"], "clean_rows": 64}]})");
  const Ran campaign = run("assay campaign p.json");
  EXPECT_THAT(campaign, Code(0));
  EXPECT_THAT(campaign.out, AllOf(HasSubstr("bfloat16 "), Not(HasSubstr("bf16"))));
}

TEST_F(Messages, DtypesOfCasesAndDatasets) {
  make("g.h5", {waves_as("x", waves())});
  python(R"(import h5py
with h5py.File("g.h5", "r+") as f:
    f["cases/x"].attrs["output_dtype"] = "fp32"
    f["cases/x/golden"].attrs["dtype"] = "double"
)");
  const Ran ran = run("assay gate g.h5 --trust");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("float32"));
  python(R"(import h5py
with h5py.File("g.h5", "r+") as f:
    f["cases/x"].attrs["output_dtype"] = "fp8"
)");
  EXPECT_THAT(
      run("assay gate g.h5 --trust").err,
      HasSubstr("its output_dtype 'fp8' may be float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, "
                "float8_e5m2fnuz, float8_e8m0fnu: which one?"));
}

TEST_F(Messages, OfFp8WhichOne) {
  for (const char* line : {"generate matmul --dtype fp8 --shape 4,8,4 --out g.h5",
                           "gate g.h5 --recorded p --standard fp8=atb"}) {
    make("g.h5", {product("x")});
    EXPECT_THAT(run(std::string("assay ") + line).err,
                HasSubstr("'fp8' may be float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, "
                          "float8_e5m2fnuz, float8_e8m0fnu: which one?"))
        << line;
  }
  EXPECT_THAT(run("assay generate matmul --dtype bf17 --shape 4,8,4 --out g.h5").err,
              HasSubstr("unknown dtype 'bf17'"));
}

TEST_F(Messages, WhichStandardsHaveATolerance) {
  make("g.h5", {recorded("x", "hifloat8", {3}, {1, 2, 4}, {1, 2, 4})});
  const Ran ran = run("assay gate g.h5 --standard atb");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("x: not_comparable: standard atb has no tolerance for hifloat8; "
                                 "default, numpy, numpy_allclose, "));
  write("s.json", R"({"standards": [{"name": "ours", "why": "a test",
    "dtypes": {"hifloat8": {"ulp": 1}}}]})");
  EXPECT_THAT(run("assay gate g.h5 --standards s.json --standard atb").out,
              HasSubstr("has no tolerance for hifloat8; ours, default, numpy"));
}

TEST_F(Messages, OutputDtypeThatTheCaseDoesNotSay) {
  Case c = waves_as("layer/x", waves());
  c.attributes.erase("output_dtype");
  make("it's.h5", {c});
  Ran ran = run("assay gate \"it's.h5\"");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out,
              HasSubstr("layer/x: not_comparable: the output is float32, the case's output "
                        "dtype is float64, which is that of its golden result. If float32 "
                        "is right, give the case the attribute output_dtype\n"));
  const std::string says = "\nnote: 1 case (layer/x) does not state its output dtype: python3 -c ";
  const std::size_t at = ran.out.find(says);
  ASSERT_NE(at, std::string::npos) << ran.out;
  const std::size_t begin = at + says.size();
  // The command in the note sets the output dtype.
  EXPECT_THAT(run(std::string(ASSAY_PYTHON) + " -c " +
                  ran.out.substr(begin, ran.out.find('\n', begin) - begin)),
              Exits(0));
  EXPECT_THAT(run("assay gate \"it's.h5\""), Exits(0));
  // If the case gives the output dtype, the message says that the output is wrong.
  c.attributes["output_dtype"] = std::string("bfloat16");
  make("g.h5", {c});
  EXPECT_THAT(run("assay gate g.h5").out,
              HasSubstr("the output is float32, the case's output dtype is bfloat16\n"));
  // A gate that judges only by checksums reports a wrong output dtype in the same words.
  Case gemm = product("gemm");
  gemm.attributes["output_dtype"] = std::string("float16");
  make("g.h5", {gemm});
  EXPECT_THAT(run("assay gate g.h5 --abft").out,
              HasSubstr("the output is float32, the case's output dtype is float16"));
}

// If a few of many cases fail, the summary lists them first.
TEST_F(Messages, FewFailuresOfManyCases) {
  std::vector<Case> cases;
  for (int i = 0; i < 300; ++i) {
    std::vector<double> output = waves();
    if (i % 50 == 7) output[35] += 1;
    if (i == 2) output.assign(256, 0);
    cases.push_back(waves_as(formatted("case{:03}", i), output));
    if (i == 1)
      cases.back().output().golden =
          Tensor::from_values(format_named("float64"), {16, 16}, std::vector<double>(256, 0.0));
    if (i == 1)
      cases.back().output().recorded["p"].tensor =
          Tensor::from_values(format_named("float32"), {16, 16}, std::vector<double>(256, 0.0));
  }
  make("g.h5", cases);
  const Ran ran = run("assay gate g.h5");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_LT(ran.out.size(), 5000u);
  EXPECT_THAT(ran.out, StartsWith("case     outcome"));
  // The table has the failures first, then the untrusted cases, and then the number of the other
  // cases.
  const std::string table = ran.out.substr(0, ran.out.find("\n\n"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 9);
  EXPECT_THAT(table, HasSubstr("\ncase002  fail"));
  EXPECT_THAT(table,
              testing::EndsWith("\n... and 292 that pass, not shown; --all lists every case"));
  EXPECT_LT(table.find("case257  fail"), table.find("case001  untrusted"));
  EXPECT_THAT(ran.out, HasSubstr("\n300 cases: 292 pass, 7 fail, 1 untrusted\n\ncase002: fail: "));
  EXPECT_THAT(
      ran.out,
      HasSubstr("\n... and 3 more that did not pass; the JSON and the page list them all\n"));
}

}  // namespace
}  // namespace assay
