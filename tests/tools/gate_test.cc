// assay gate: outcomes, exit codes, and where outputs and bounds come from.
#include <cmath>

#include "assay/base/constants.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Gate : public ProgramTest {};

TEST_F(Gate, PassPrintsOneRowACaseAndTheTotal) {
  make("g.h5", {product("layer0/x"), product("y")});
  const Ran ran = run("assay gate g.h5");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_EQ(
      ran.out,
      "case      outcome  dtype    shape   producer  mismatches  max/bound  blind  max ulp  SNR "
      "dB  standard\n"
      "layer0/x  pass     float32  [2, 3]  p                  0          0      0        0     "
      "inf  accumulation (operator)\n"
      "y         pass     float32  [2, 3]  p                  0          0      0        0     "
      "inf  accumulation (operator)\n"
      "\n2 cases: 2 pass\n"
      "note (2 times): no machine is named, so that the bound is that of float32 sums in any "
      "order; name the machine for a tighter bound\n");
}

TEST_F(Gate, FailSaysWhatWhereAndHowToSeeItAgain) {
  make("g.h5", {product("x", 0.5), product("y")});
  const Ran ran = run("assay gate g.h5");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("\n2 cases: 1 pass, 1 fail\n"));
  EXPECT_THAT(ran.out,
              HasSubstr("\nx: fail: 1 of 6 elements (16.7 %) differs by more than the bound of "
                        "accumulation (the operator's own bound)\n"
                        "which are:\n"
                        "  [1, 2]: actual 5.5 (0x40b00000), expected 5 (0x40a00000), error 0.5, "
                        "bound 2.265e-06, 1 048 576 ulp\n"));
  EXPECT_THAT(ran.out, HasSubstr("\nreproduce: assay gate g.h5 --case x --recorded p\n"));
}

// If cases have several outcomes, the exit code is the first one of 2, 1, 3, 4 and 0 that one of
// these outcomes has.
TEST_F(Gate, ExitCodesAndTheirPrecedence) {
  make("g.h5", one_of_each());
  const auto code = [&](const std::string& cases) {
    std::vector<Case> chosen;
    for (const Case& c : one_of_each()) {
      if (cases.find(c.name) != std::string::npos) chosen.push_back(c);
    }
    make("some.h5", chosen);
    return run("assay gate some.h5 --recorded p --quiet").code;
  };
  EXPECT_EQ(code("pass"), 0);
  EXPECT_EQ(code("fail"), 1);
  EXPECT_EQ(code("pass missing"), 3);
  EXPECT_EQ(code("untrusted"), 4);
  EXPECT_EQ(code("pass fail"), 1);
  EXPECT_EQ(code("pass untrusted"), 4);
  EXPECT_EQ(code("pass missing untrusted"), 3);
  EXPECT_EQ(code("fail untrusted"), 1);
  EXPECT_EQ(code("fail missing untrusted pass"), 1);
}

// If one standard fails a case and another one finds it untrusted, the case fails, whichever
// standard is named first.
TEST_F(Gate, FailBeatsUntrustedInOneCase) {
  // torch is wide enough here for zeros to pass; bit equality finds the difference.
  make("g.h5", {recorded("x", "float32", {3}, {1e-6, 2e-6, 3e-6}, {1e-6, 2e-6, 3.5e-6})});
  EXPECT_THAT(run("assay gate g.h5 --standard torch"), Exits(4));
  EXPECT_THAT(run("assay gate g.h5 --standard torch --standard bit_equal"), Exits(1));
  EXPECT_THAT(run("assay gate g.h5 --standard bit_equal --standard torch"), Exits(1));
}

// A case with damaged data is an error. Exit code 2 takes precedence over a failure. The others are
// judged, and no report presents the whole as a pass.
TEST_F(Gate, DamagedCaseGoesOverAFailureAndIsInEveryReport) {
  python(R"py(
import h5py, numpy as np
with h5py.File("g.h5", "w") as f:
    f.attrs["assay_schema"] = 1
    for name, off in (("bad", 0), ("good", 0)):
        c = f.create_group("cases/" + name)
        c.attrs["op"], c.attrs["output_dtype"] = "external", "float32"
        for path, dtype in (("golden", "f8"), ("outputs/p", "f4")):
            d = c.create_dataset(path, data=np.arange(64, dtype=dtype), chunks=(64,), fletcher32=True)
            d.attrs["dtype"] = str(d.dtype)
    at = f["cases/bad/outputs/p"].id.get_chunk_info(0).byte_offset
with open("g.h5", "r+b") as f:
    f.seek(at + 17)
    f.write(b"\x55\x66")
)py");
  const Ran ran = run("assay gate g.h5 --json r.json --junit r.xml");
  EXPECT_THAT(ran, Code(2));
  EXPECT_THAT(ran.err, StartsWith("error: g.h5: /cases/bad/outputs/p: "));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\ngood "), HasSubstr("pass")));
  EXPECT_NE(json("r.json")["outcome"], "pass") << "the exit code is 2";
  EXPECT_THAT(read("r.xml"), HasSubstr("name=\"bad\"")) << "a report must not lose a case";
}

// A wrong attribute of one case is an error of only that case.
TEST_F(Gate, WrongAttributeOfOneCaseLeavesTheOthersJudged) {
  std::vector<Case> cases = {product("a"), product("b"), product("c", 0.5)};
  cases[1].attributes["standard"] = std::string("tourch");
  make("g.h5", cases);
  Ran ran = run("assay gate g.h5");
  EXPECT_THAT(ran, Code(2));
  EXPECT_THAT(ran.err + ran.out, HasSubstr("unknown standard 'tourch': did you mean 'torch'?"));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\na "), HasSubstr("\nc ")));
  cases[1].attributes.erase("standard");
  cases[1].attributes["rtol"] = -1.0;
  make("g.h5", cases);
  ran = run("assay gate g.h5");
  EXPECT_THAT(ran, Code(2));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\na "), HasSubstr("\nc ")));
}

TEST_F(Gate, NothingMatchesIsNotComparable) {
  make("g.h5", {product("layer0/x"), product("layer1/x")});
  EXPECT_THAT(run("assay gate g.h5 --case 'zz*'"),
              Exits(3,
                    "error: g.h5: no case matches 'zz*'; it has 2 cases, the first is "
                    "'layer0/x'"));
  EXPECT_THAT(run("assay gate g.h5 --case layer0/y"),
              Exits(3,
                    "error: g.h5: no case matches 'layer0/y' (did you mean 'layer0/x'?); it has "
                    "2 cases, the first is 'layer0/x'"));
}

TEST_F(Gate, GlobChoosesCases) {
  make("g.h5", {product("layer0/x"), product("layer1/x", 0.5), product("layer1/y")});
  EXPECT_THAT(run("assay gate g.h5 --case 'layer?/y'"), Exits(0));
  EXPECT_THAT(run("assay gate g.h5 --case '*0*'").out, HasSubstr("\n1 case: 1 pass\n"));
  EXPECT_THAT(run("assay gate g.h5 --case 'layer1/*'"), Exits(1));
}

TEST_F(Gate, SeveralProducersAreListedAndNoneChosen) {
  Case c = product("x");
  c.output().recorded["q"].tensor = c.output().recorded["p"].tensor;
  make("g.h5", {c});
  EXPECT_THAT(run("assay gate g.h5"),
              Exits(2,
                    "error: g.h5 has outputs of several producers; choose one with --recorded: "
                    "p, q"));
  EXPECT_THAT(run("assay gate g.h5 --recorded q"), Exits(0));
}

TEST_F(Gate, UnknownNamesAreSaidWithTheKnownOnes) {
  make("g.h5", {product("x", 0, "h200")});
  EXPECT_THAT(run("assay gate g.h5 --recorded h20"),
              Exits(2, "error: g.h5 has no outputs of 'h20' (did you mean 'h200'?); it has h200"));
  EXPECT_THAT(run("assay gate g.h5 --recorded zzzzz"),
              Exits(2, "error: g.h5 has no outputs of 'zzzzz'; it has h200"));
  EXPECT_THAT(
      run("assay gate g.h5 --outputs g.h5 --machine hopper"),
      Exits(2,
            "error: g.h5 has no outputs of 'hopper'; it has h200; to judge these as results "
            "of machine hopper, give --recorded h200 --machine hopper"));
  EXPECT_THAT(run("assay gate g.h5 --outputs g.h5 --recorded h200 --machine hopper"), Exits(0));
  const Ran machine = run("assay gate g.h5 --machine ascend910");
  EXPECT_THAT(machine, Code(2));
  EXPECT_THAT(machine.err, StartsWith("error: unknown machine 'ascend910': did you mean "
                                      "'ascend910b'?; known: exact, ascend910b"));
  const Ran standard = run("assay gate g.h5 --standard tourch");
  EXPECT_THAT(standard, Code(2));
  EXPECT_THAT(standard.err, HasSubstr("unknown standard 'tourch': did you mean 'torch'?; known: "
                                      "default, triton_ascend, triton_ascend_tests, "));
  EXPECT_THAT(run("assay gate g.h5 --standard 'ulp(x)'").err,
              HasSubstr("standard 'ulp(x)': ulp(n) needs a whole number n, as in ulp(4)"));
}

TEST_F(Gate, NoOutputsAtAll) {
  Case c = product("x");
  c.output().recorded.clear();
  make("g.h5", {c});
  EXPECT_THAT(run("assay gate g.h5"),
              Exits(2,
                    "error: g.h5 has no recorded outputs for these cases; give --outputs FILE "
                    "or --machine M"));
}

TEST_F(Gate, OutputsOfAnotherFile) {
  make("g.h5", {product("x"), product("y")});
  make("o.h5", {product("x", 0.5, "npu"), product("y", 0, "npu")});
  const Ran ran = run("assay gate g.h5 --outputs o.h5");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("reproduce: assay gate g.h5 --case x --outputs o.h5 --recorded "
                                 "npu\n"));
  // The golden result comes from the golden file, whatever the other file holds.
  Case other = product("x", 0.5);
  other.output().golden =
      Tensor::from_values(format_named("float64"), {2, 3}, std::vector<double>{2, 2, 3, 5, 4, 5.5});
  make("lie.h5", {other});
  EXPECT_THAT(run("assay gate g.h5 --outputs lie.h5 --case x"), Exits(1));
}

// The gate judges the outputs of the requested machine, or none.
TEST_F(Gate, MachineThatTheOutputsLackIsNotReplacedByAnother) {
  make("g.h5", {product("x")});
  make("o.h5", {product("x", 0, "npu")});
  const Ran ran = run("assay gate g.h5 --outputs o.h5 --machine exact");
  EXPECT_THAT(ran.out, Not(HasSubstr("npu"))) << testing::PrintToString(ran);
}

TEST_F(Gate, CaseMissingInTheOutputsIsNotComparable) {
  make("g.h5", {product("x"), product("y")});
  make("o.h5", {product("x")});
  const Ran ran = run("assay gate g.h5 --outputs o.h5");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("\ny: not_comparable: o.h5 has no such case\n"));
  make("none.h5", {product("z")});
  EXPECT_THAT(run("assay gate g.h5 --outputs none.h5"), Code(3)) << "no case at all is there";
}

TEST_F(Gate, ShapeOrDtypeOfTheOutputDiffers) {
  Case shape = product("shape"), dtype = product("dtype"), flat = product("flat");
  shape.output().recorded["p"].tensor =
      Tensor::from_values(format_named("float32"), {1, 3}, std::vector<double>{2, 2, 3});
  flat.output().recorded["p"].tensor =
      Tensor::from_values(format_named("float32"), {6}, std::vector<double>{2, 2, 3, 5, 4, 5});
  dtype.output().recorded["p"].tensor =
      Tensor::from_values(format_named("float16"), {2, 3}, std::vector<double>{2, 2, 3, 5, 4, 5});
  make("g.h5", {shape, dtype, flat});
  const Ran ran = run("assay gate g.h5");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("shape: not_comparable: the output's shape is [1, 3], the "
                                 "expected one is [2, 3]; nothing is broadcast\n"));
  EXPECT_THAT(ran.out, HasSubstr("flat: not_comparable: the output's shape is [6], the expected "
                                 "one is [2, 3]; nothing is broadcast\n"));
  EXPECT_THAT(ran.out, HasSubstr("dtype: not_comparable: the output is float16, the case's output "
                                 "dtype is float32\n"));
}

// Without output_dtype, the operator's rule applies: the dtype of its first input. The golden
// result may have more precision.
TEST_F(Gate, OutputDtypeFollowsFromTheInputs) {
  Case c = product("x");
  c.attributes.erase("output_dtype");
  make("g.h5", {c});
  EXPECT_THAT(run("assay gate g.h5 --machine exact"), Exits(0));
  EXPECT_THAT(run("assay gate g.h5 --recorded p"), Exits(0));
}

TEST_F(Gate, NoGoldenResultIsNotComparable) {
  Case c = product("x");
  c.output().golden = {};
  make("g.h5", {c, product("y")});
  Ran ran = run("assay gate g.h5");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("x: not_comparable: case x has no golden result; compute "
                                 "one from its inputs\n"));
  c.attributes.erase("output_dtype");
  make("g.h5", {c, product("y")});
  ran = run("assay gate g.h5");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("\ny "));
}

TEST_F(Gate, NanAndInfinityInOutputsFail) {
  make("g.h5", {recorded("nan", "float32", {3}, {1, 2, 3}, {1, kNan, 3}),
                recorded("inf", "float32", {3}, {1, 2, 3}, {1, kInfinity, 3}),
                recorded("sign", "float32", {2}, {1, kInfinity}, {1, -kInfinity}),
                recorded("finite", "float32", {2}, {1, kInfinity}, {1, 3e38})});
  for (const char* name : {"nan", "inf", "sign", "finite"}) {
    const Ran ran = run(std::string("assay gate g.h5 --case ") + name);
    EXPECT_THAT(ran, Exits(1)) << name;
    EXPECT_THAT(ran.out, HasSubstr("no tolerance would pass: NaN or infinity differ")) << name;
    EXPECT_THAT(run(std::string("assay gate g.h5 --rtol 1e300 --atol 1e300 --case ") + name),
                Exits(1))
        << name;
  }
}

TEST_F(Gate, NanInTheGoldenResultIsTheStandardsBusiness) {
  make("g.h5", {recorded("x", "float32", {3}, {1, kNan, 3}, {1, kNan, 3})});
  const Ran ran = run("assay gate g.h5");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("no tolerance would pass: NaN is where NaN is expected, which "
                                 "equal_nan accepts\n"));
  const Ran equal = run("assay gate g.h5 --equal-nan");
  EXPECT_THAT(equal, Exits(0));
  EXPECT_THAT(equal.out, HasSubstr("note: 1 of 3 elements is NaN where NaN is expected\n"));
  EXPECT_THAT(run("assay gate g.h5 --standard triton_ascend"), Exits(0));
  EXPECT_THAT(run("assay gate g.h5 --standard torch"), Exits(1));
  EXPECT_THAT(run("assay gate g.h5 --standard torch --equal-nan"), Exits(0));
}

TEST_F(Gate, MachineThatCannotComputeACase) {
  Case external = product("external"), k = product("k"), unknown = product("unknown");
  external.op = "external";
  k.inputs["b"] =
      Tensor::from_values(format_named("float32"), {3, 1}, std::vector<double>{1, 2, 3});
  unknown.op = "conv";
  unknown.attributes["stride"] = std::int64_t{2};
  make("g.h5", {product("good"), external, k, unknown});
  const Ran ran = run("assay gate g.h5 --machine ascend910b");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("4 cases: 1 pass, 3 not_comparable"));
  EXPECT_THAT(ran.out, HasSubstr("external: not_comparable: assay does not emulate "
                                 "the operator 'external'; it emulates "));
  EXPECT_THAT(ran.out, HasSubstr("k: not_comparable: a [2, 2] and b [3, 1] do not "
                                 "multiply: K is 2 in a and 3 in b\n"));
  EXPECT_THAT(ran.out, HasSubstr("unknown: not_comparable: assay does not emulate "
                                 "the operator 'conv'; it emulates "));
  EXPECT_THAT(run("assay gate g.h5 --recorded p"), Exits(0)) << "recorded, they can be judged";
}

TEST_F(Gate, BoundsAreChosenByPrecedence) {
  Case c = product("x", 0.01);
  make("g.h5", {c});
  EXPECT_THAT(run("assay gate g.h5"), Exits(1)) << "the default standard";
  c.attributes["standard"] = std::string("ulp(100000)");
  make("g.h5", {c});
  EXPECT_THAT(run("assay gate g.h5"), Exits(0)) << "the case's standard";
  c.attributes["rtol"] = 1e-4;
  make("g.h5", {c});
  EXPECT_THAT(run("assay gate g.h5"), Exits(1)) << "the case's own tolerance goes over it";
  EXPECT_THAT(run("assay gate g.h5 --rtol 0.01"), Exits(0)) << "the command goes over all";
  EXPECT_THAT(run("assay gate g.h5 --standard 'ulp(100000)'"), Exits(0));
  EXPECT_THAT(run("assay gate g.h5 --standard 'ulp(100000)' --standard torch"), Exits(1));
}

TEST_F(Gate, UntrustedSaysWhy) {
  make("g.h5", {recorded("empty", "float32", {0, 3}, {}, {}),
                recorded("wide", "float32", {3}, {1e-7, 0, -1e-7}, {0, 0, 0})});
  Ran ran = run("assay gate g.h5");
  EXPECT_THAT(ran, Exits(4));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("empty: untrusted: there are no elements to compare\n"),
                             HasSubstr("wide: untrusted: an output of zeros would pass too: ")));
}

// An output without elements passes if the case or the command allows it, also by checksums.
TEST_F(Gate, EmptyOutputsThatAreAllowed) {
  Case c = recorded("empty", "float32", {0, 3}, {}, {});
  make("g.h5", {c});
  EXPECT_THAT(run("assay gate g.h5"), Exits(4));
  EXPECT_THAT(run("assay gate g.h5 --allow-empty"), Exits(0));
  c.attributes["allow_empty"] = true;
  make("g.h5", {c});
  EXPECT_THAT(run("assay gate g.h5"), Exits(0));
  Case product;
  product.name = "rows";
  product.op = "matmul";
  product.attributes["output_dtype"] = std::string("float32");
  product.inputs["a"] = Tensor(format_named("float16"), {0, 4});
  product.inputs["b"] =
      Tensor::from_values(format_named("float16"), {4, 2}, std::vector<double>(8, 1.0));
  product.output().golden = Tensor(format_named("float64"), {0, 2});
  make("p.h5", {product});
  const std::string gate = "assay gate p.h5 --machine exact --abft rounding_variance";
  EXPECT_THAT(run(gate), Exits(4));
  EXPECT_THAT(run(gate + " --allow-empty"), Exits(0));
}

// An infinite tolerance is not a pass, because every finite value would be within it.
TEST_F(Gate, InfiniteToleranceOfACaseClearsNothing) {
  Case c = recorded("x", "float32", {3}, {1, kInfinity, 3}, {1e30, kInfinity, -1e30});
  c.attributes["atol"] = kInfinity;
  make("g.h5", {c});
  EXPECT_NE(run("assay gate g.h5").code, 0);
}

// If no element is finite on both sides, there is nothing to measure, and the metrics are not
// perfect.
TEST_F(Gate, MetricsOfNothingAreNotPerfect) {
  make("g.h5", {recorded("x", "float32", {3}, {kInfinity, kInfinity, kInfinity}, {1, 2, 3})});
  EXPECT_THAT(run("assay gate g.h5 --histograms --json r.json"), Exits(1));
  const auto metrics = json("r.json")["cases"][0]["verdicts"][0]["metrics"];
  EXPECT_EQ(metrics["compared"], 0);
  EXPECT_NE(metrics["snr_db"], "inf");
  EXPECT_NE(metrics["cosine"], 1.0);
}

TEST_F(Gate, ScalarsIntegersAndBools) {
  make("g.h5", {recorded("scalar", "float32", {}, {2.5}, {2.5}),
                recorded("int", "int32", {4}, {1, 2, 3, 4}, {1, 2, 3, 5}),
                recorded("bool", "bool", {2}, {1, 0}, {1, 0})});
  EXPECT_THAT(run("assay gate g.h5 --case scalar"), Exits(0));
  EXPECT_THAT(run("assay gate g.h5 --case bool"), Exits(0));
  const Ran ran = run("assay gate g.h5 --case int");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("int: fail: 1 of 4 elements (25.0 %) differs\n"));
}

TEST_F(Gate, OutputIsNeverJudgedAgainstItself) {
  make("g.h5", {product("x", 0.5)});
  // The same file on both sides is valid, because its golden result is not its output.
  EXPECT_THAT(run("assay gate g.h5 --outputs g.h5"), Exits(1));
}

}  // namespace
}  // namespace assay
