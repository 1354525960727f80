// assay gate --abft: products are also checked by their checksums.
#include <cmath>
#include <limits>

#include "assay/abft/threshold.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/format/convert.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class GateAbft : public ProgramTest {};

// The output passes by a tolerance that is far too wide. The checksums detect the error.
TEST_F(GateAbft, FailureByChecksumsAloneIsInEveryReport) {
  make("g.h5", {product("x", 0.5), product("y")});
  EXPECT_THAT(run("assay gate g.h5 --rtol 0.5"), Exits(0));
  const Ran ran =
      run("assay gate g.h5 --rtol 0.5 --abft --json r.json --junit r.xml --html r.html");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("\n2 cases: 1 pass, 1 fail\n"), HasSubstr("\nx: fail: abft: "),
                    HasSubstr("element [1, 2]: actual 5.5")));
  const auto report = json("r.json");
  EXPECT_EQ(report["outcome"], "fail");
  EXPECT_EQ(report["cases"][0]["outcome"], "fail");
  EXPECT_EQ(report["cases"][0]["abft"]["outcome"], "fail");
  EXPECT_EQ(report["cases"][1]["abft"]["outcome"], "pass");
  EXPECT_THAT(read("r.xml"), AllOf(HasSubstr("failures=\"1\""), HasSubstr("rounding_variance")));
  EXPECT_THAT(read("r.html"), HasSubstr("rounding_variance"));
}

TEST_F(GateAbft, EveryThresholdOfTheTableIsKnown) {
  make("g.h5", {product("x")});
  const Ran list = run("assay list thresholds");
  EXPECT_THAT(list, Exits(0));
  for (const char* name : {"rounding_variance", "v_abft", "a_abft"}) {
    EXPECT_THAT("\n" + list.out, HasSubstr(std::string("\n") + name)) << name;
    EXPECT_THAT(run(std::string("assay gate g.h5 --quiet --abft ") + name), Exits(0)) << name;
  }
}

TEST_F(GateAbft, TheListSaysWhatParametersAndVariantsThereAre) {
  const std::string list = run("assay list thresholds").out;
  EXPECT_THAT(list, HasSubstr("\n  variants: seed (default), recalibrated, april, sampling, h100\n"
                              "  variant     which of its variants\n"));
  EXPECT_THAT(list, HasSubstr("\n  lambda      probabilistic, with this lambda\n"));
  // Every parameter that can be set has a description.
  EXPECT_THAT(list, Not(testing::ContainsRegex("\n  [a-z_]+\n")));
}

TEST_F(GateAbft, WrongWordsOfAThresholdHaveASuggestion) {
  make("g.h5", {product("x")});
  const std::pair<const char*, const char*> wrong[] = {
      {"v_abft,variant=recalibratde", "(did you mean 'recalibrated'?)"},
      {"v_abft,sigma=extrem", "(did you mean 'extreme'?)"},
      {"v_abft,arithmetic=flaot32", "(did you mean 'float32'?)"},
      {"rounding_variance,gruops=8", "(did you mean 'groups'?)"}};
  for (const auto& [threshold, suggestion] : wrong) {
    const Ran ran = run(std::string("assay gate g.h5 --abft ") + threshold);
    EXPECT_THAT(ran, Code(2)) << threshold;
    EXPECT_THAT(ran.err, HasSubstr(suggestion)) << threshold;
  }
}

TEST_F(GateAbft, UnknownThresholdIsAUsageError) {
  make("g.h5", {product("x")});
  const Ran ran = run("assay gate g.h5 --abft rounding_varience");
  EXPECT_THAT(ran, Code(2));
  EXPECT_THAT(ran.err, StartsWith("error: unknown threshold 'rounding_varience'"));
  EXPECT_THAT(ran.err, HasSubstr("rounding_variance"));
  EXPECT_THAT(run("assay gate g.h5 --abft rounding_variance,groups=x"), Code(2));
  EXPECT_THAT(run("assay gate g.h5 --abft rounding_variance,frob=1"), Code(2));
}

TEST_F(GateAbft, OptionDoesNotSwallowTheFile) {
  make("g.h5", {product("x")});
  EXPECT_THAT(run("assay gate --abft g.h5 --quiet"), Exits(0));
}

TEST_F(GateAbft, RecordedHardwareResultsPass) {
  const Ran ran = run("assay gate '" + sample() + "' --abft");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("\n18 cases: 18 pass\n"));
}

TEST_F(GateAbft, CaseWithoutOperandsIsHeldAgainstItsGoldenResult) {
  make("g.h5", {recorded("x", "float32", {2, 2}, {1, 2, 3, 4}, {1, 2, 3, 4}),
                recorded("y", "float32", {2, 2}, {1, 2, 3, 4}, {1, 2.5, 3, 4})});
  EXPECT_THAT(run("assay gate g.h5 --abft --case x"), Exits(0));
  const Ran ran = run("assay gate g.h5 --abft --case y --rtol 0.3");
  EXPECT_THAT(ran, Exits(0)) << "its own bound allows it";
  EXPECT_THAT(run("assay gate g.h5 --abft --case y").out,
              HasSubstr("\n    element [0, 1]: actual 2.5 (0x40200000), golden says 2"));
}

TEST_F(GateAbft, NanAndInfinityInOperandsAndOutputs) {
  Case operand = product("operand"), output = product("output");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  operand.inputs["a"] =
      Tensor::from_values(format_named("float32"), {2, 2}, std::vector<double>{nan, 2, 3, 4});
  output.output().recorded["p"].tensor =
      Tensor::from_values(format_named("float32"), {2, 3}, std::vector<double>{2, 2, 3, 5, nan, 5});
  make("g.h5", {operand, output});
  EXPECT_THAT(run("assay gate g.h5 --abft --case output"), Exits(1));
  // One operand has a NaN, and the golden result has none. So the output fails, and the gate
  // reports this and no error of the checksums.
  EXPECT_NE(run("assay gate g.h5 --abft --case operand").code, 2);
}

TEST_F(GateAbft, ReproducerAsksForTheSameCheck) {
  make("g.h5", {product("x", 0.5)});
  const Ran first = run("assay gate g.h5 --rtol 0.5 --abft rounding_variance,groups=0");
  EXPECT_THAT(first, Exits(1));
  const std::size_t at = first.out.find("reproduce: ") + 11;
  const Ran again = run(first.out.substr(at, first.out.find('\n', at) - at));
  EXPECT_EQ(again.code, 1);
  EXPECT_EQ(again.out, first.out);
}

// --- The machine that an output comes from -------------------------------------------------------

// Half of the recorded 8-bit products were promoted to float32. The other half is refused.
TEST_F(GateAbft, RecordedProductsOfAnH200) {
  const std::string mma = ASSAY_SOURCE_DIR "/datasets/samples/hopper_mma.h5";
  ASSERT_THAT(run("assay golden '" + mma + "' --out mma.h5 --quiet"), Exits(0));
  const Ran ran =
      run("assay gate mma.h5 --recorded h200 --abft --standard accumulation --json r.json");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_EQ(json("r.json")["cases"].size(), 86u);
  const nlohmann::json report = json("r.json");
  for (const auto& c : report["cases"]) {
    const std::string name = c["case"];
    EXPECT_NE(c["outcome"], "fail") << name;
    const bool fast = name.find("/fast/") != std::string::npos;
    EXPECT_EQ(c["abft"]["outcome"], fast ? "not_comparable" : "pass") << name;
    if (!fast) continue;
    EXPECT_THAT(c["abft"]["because"].get<std::string>(),
                StartsWith("rounding_variance does not hold for an accumulator of 13 mantissa bits "
                           "that is never promoted"));
  }
}

// Makes products of 8-bit floats as hopper sums them. The name of their producer is not that of a
// machine.
class RecordedProducts : public GateAbft {
 protected:
  RecordedProducts() {
    const std::string options =
        " --shape 8,512,32 --parameter promotion_interval=128 --output-dtype float32 --count 2 "
        "--quiet --out made.h5";
    EXPECT_THAT(run("assay generate matmul --dtype float8_e4m3fn" + options), Exits(0));
    EXPECT_THAT(run("assay emulate made.h5 --machine hopper --out emulated.h5 --quiet"), Exits(0));
  }
  // Writes the file with its outputs under the name npu, and with the attributes that name their
  // machine.
  void make_recorded(const std::string& of_output, const std::string& of_case) const {
    const DatasetFile emulated(path("emulated.h5"));
    std::vector<Case> cases;
    for (const std::string& name : emulated.case_names()) {
      Case c = emulated.read(name);
      EXPECT_EQ(c.output().recorded.at("hopper").machine, "hopper");
      Tensor output = std::move(c.output().recorded.at("hopper").tensor);
      c.output().recorded.clear();
      c.output().recorded["npu"].tensor = std::move(output);
      if (!of_output.empty()) c.output().recorded["npu"].machine = of_output;
      if (!of_case.empty()) c.attributes["machine"] = of_case;
      cases.push_back(std::move(c));
    }
    make("g.h5", cases);
  }
  Ran gate(const std::string& options = "") const {
    return run("assay gate g.h5 --recorded npu --standard 'accumulation(hopper)' --abft" + options);
  }
};

TEST_F(RecordedProducts, MachineOfTheCommandThenOfTheOutputThenOfTheCase) {
  make_recorded("", "");
  const Ran unknown = gate();
  EXPECT_THAT(unknown, Exits(3));
  EXPECT_THAT(
      unknown.out,
      HasSubstr("seed0: not_comparable: abft: matrix units sum products of float8_e4m3fn with as "
                "few as 14 bits; name the machine that computed them, as in "
                "machine=hopper\n"));
  const Ran named = gate(" --machine hopper");
  EXPECT_THAT(named, Exits(0));
  EXPECT_THAT(named.out, HasSubstr("\n2 cases: 2 pass\n"));
  EXPECT_THAT(gate(" --machine volta").out,
              HasSubstr("not_comparable: abft: the matrix unit of volta takes float16, not "
                        "float8_e4m3fn\n"));
  // If the wrong machine is named, the elements are not comparable either. They are not judged by a
  // wider bound.
  const Ran elements = run("assay gate g.h5 --recorded npu --machine volta");
  EXPECT_THAT(elements, Exits(3));
  EXPECT_THAT(elements.out, HasSubstr("seed0: not_comparable: the matrix unit of volta takes "
                                      "float16, not float8_e4m3fn"));
  EXPECT_THAT(gate(" --machine hoper"),
              Exits(2, "error: unknown machine 'hoper': did you mean 'hopper'?; known: " +
                           joined(names_of(machines()))));
  make_recorded("hopper", "volta");
  EXPECT_THAT(gate(), Exits(0)) << "the output's goes before the case's";
  EXPECT_THAT(gate(" --machine volta"), Exits(3)) << "the command's before both";
  make_recorded("", "hopper");
  EXPECT_THAT(gate(), Exits(0));
  make_recorded("hoper", "");
  const Ran misspelt = gate();
  EXPECT_THAT(misspelt, Code(2));
  EXPECT_THAT(misspelt.err, HasSubstr("unknown machine 'hoper': did you mean 'hopper'?"));
}

TEST_F(RecordedProducts, TheReproducerNamesTheMachine) {
  make_recorded("", "");
  const Ran ran = gate(" --machine volta");
  EXPECT_THAT(ran.out, HasSubstr(" --recorded npu --machine volta"));
}

// Campaigns that break recorded results ask for the machine as well.
TEST_F(RecordedProducts, InCampaigns) {
  const auto campaign = [&](const std::string& more) {
    write("plan.json", R"({"schema": 1, "name": "p", "cells": [{"dataset": "g.h5", )" + more +
                           R"("recorded": "npu", "gates": ["rounding_variance"], "clean_rows": 1,
                              "faults": [{"fault": "flip,bit=30", "trials": 5}]}]})");
    return run("assay campaign plan.json --quiet");
  };
  make_recorded("", "");
  const Ran refused = campaign("");
  EXPECT_THAT(refused, Code(2));
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("gate rounding_variance: matrix units sum products of float8_e4m3fn "
                              "with as few as 14 bits"),
                    Not(HasSubstr("gate rounding_variance: cell"))));
  EXPECT_EQ(campaign(R"("machine": "hopper", )").code, 0);
  make_recorded("hopper", "");
  EXPECT_EQ(campaign("").code, 0);
}

// The gate judges a machine's output alike whether it is emulated now or read from a file. This
// holds for variants, too.
TEST_F(GateAbft, EmulatedNowAndFromAFile) {
  for (const char* machine : {"hopper", "ampere", "volta", "ascend910b", "cpu_fma", "exact",
                              "hopper,chunk=8", "ascend910b,rounding=toward_zero"}) {
    ASSERT_THAT(run("assay generate matmul --dtype float16 --shape 16,512,48 --distribution "
                    "normal,mean=1 --output-dtype float32 --out g.h5 --quiet"),
                Exits(0));
    const std::string word = std::string(" --machine '") + machine + "'";
    ASSERT_THAT(run("assay emulate g.h5" + word + " --out e.h5 --quiet"), Exits(0));
    const std::string row = std::string(machine).substr(0, std::string(machine).find(','));
    const std::string abft = " --abft rounding_variance,confirm=0 --json r.json --quiet";
    EXPECT_THAT(run("assay gate e.h5 --recorded " + row + abft), Code(0)) << machine;
    const auto recorded = json("r.json")["cases"][0]["abft"];
    EXPECT_THAT(run("assay gate g.h5" + word + abft), Code(0)) << machine;
    EXPECT_EQ(recorded, json("r.json")["cases"][0]["abft"]) << machine;
  }
}

// --- Infinities and NaN
// ---------------------------------------------------------------------------

// Returns a float16 product of a [4, 2] and b [2, 3]. Its first `rows` rows overflow in float16.
Case overflowing(const std::string& name, std::int64_t rows) {
  const Format& f16 = format_named("float16");
  Case c;
  c.name = name;
  c.op = "matmul";
  std::vector<double> a, golden;
  for (std::int64_t i = 0; i < 4; ++i) {
    const double value = i < rows ? 300 : 1;
    a.insert(a.end(), {value, value});
    for (const double b : {200.0, 300.0, 400.0}) golden.push_back(2 * value * b);
  }
  c.inputs["a"] = Tensor::from_values(f16, {4, 2}, a);
  c.inputs["b"] =
      Tensor::from_values(f16, {2, 3}, std::vector<double>{200, 300, 400, 200, 300, 400});
  c.output().golden = Tensor::from_values(format_named("float64"), {4, 3}, golden);
  c.output().recorded["p"].tensor = Tensor::from_values(f16, {4, 3}, golden);
  return c;
}

void set_element(Case& c, std::int64_t element, double value) {
  Tensor& output = c.output().recorded.at("p").tensor;
  output.set_bits(element, encode(output.format(), value));
}

TEST_F(GateAbft, OverflowThatIsRightIsCountedAndNoCheck) {
  make("g.h5", {overflowing("all", 4), overflowing("most", 3), overflowing("half", 2)});
  const Ran ran = run("assay gate g.h5 --abft --json r.json");
  EXPECT_THAT(ran, Exits(4));
  EXPECT_THAT(
      ran.out,
      AllOf(
          HasSubstr("\nall: untrusted: abft: no check could be made, because each of them sums "
                    "infinite or NaN elements; 12 infinite or NaN elements are right, because the "
                    "rounded reference is so, too; 4 checks could not be made because of them\n"),
          HasSubstr("\nmost: untrusted: abft: only 1 of 4 row checks say anything; 9 infinite or "
                    "NaN elements are right"),
          HasSubstr("\n3 cases: 1 pass, 2 untrusted\n")));
  const auto abft = json("r.json")["cases"][1]["abft"];
  EXPECT_EQ(abft["right_specials"], 6);
  EXPECT_EQ(abft["not_checkable"], 2);
}

// Under every threshold, an infinity or NaN that the reference does not share is a fault. A right
// overflow is not.
TEST_F(GateAbft, InfinitiesByEveryThreshold) {
  Case infinite = overflowing("infinite", 1), nan = infinite, right = infinite, operand = infinite;
  nan.name = "nan";
  right.name = "right";
  operand.name = "operand";
  set_element(infinite, 7, std::numeric_limits<double>::infinity());
  set_element(nan, 7, std::numeric_limits<double>::quiet_NaN());
  // An operand's NaN reaches one row. A NaN in any other element is a fault of the product.
  operand.inputs.at("a").set_bits(0, 0x7e00);
  for (std::int64_t j = 0; j < 3; ++j) {
    set_element(operand, j, std::numeric_limits<double>::quiet_NaN());
  }
  make("g.h5", {infinite, nan, right, operand});
  int judged = 0;
  for (const Threshold& threshold : thresholds()) {
    if (threshold.takes_residuals) continue;
    const Ran ran = run("assay gate g.h5 --standard accumulation --json r.json --abft " +
                        std::string(threshold.name));
    const nlohmann::json report = json("r.json");
    for (const auto& c : report["cases"]) {
      const std::string name = c["case"];
      const bool wrong = name == "infinite" || name == "nan";
      // Leaves out thresholds that are not for this dtype.
      if (c["abft"]["outcome"] == "not_comparable") continue;
      ++judged;
      EXPECT_EQ(c["abft"]["outcome"], wrong ? "fail" : "pass") << name << " " << threshold.name;
    }
  }
  EXPECT_GE(judged, 20) << "of four cases by most thresholds";
  const Ran ran = run("assay gate g.h5 --abft");
  EXPECT_THAT(ran.out,
              HasSubstr("\ninfinite: fail: abft: 1 of 4 row checks is above "
                        "rounding_variance; 3 infinite or NaN elements are right, because the "
                        "rounded reference is so, too; 1 check could not be made because of them\n"
                        "  row 2, columns 0 to 2: infinity in the output at [2, 1], the "
                        "operands say 600\n"));
  EXPECT_THAT(ran.out, HasSubstr("\n  row 2, columns 0 to 2: NaN in the output at [2, 1], the "
                                 "operands say 600"));
  EXPECT_THAT(ran.out, Not(HasSubstr("D nan")));
}

// --- No alarm on right results ------------------------------------------------------------------

// Expects that each product that these options of `generate` make on this machine passes the
// checksums and the bound of its accumulation.
class RightResults : public ProgramTest {
 protected:
  void expect_pass(const std::string& machine, const std::string& options) const {
    SCOPED_TRACE(machine + ": " + options);
    ASSERT_THAT(run("assay generate matmul " + options + " --parameter machine=" + machine +
                    " --tolerance --out g.h5 --quiet"),
                Exits(0));
    for (const char* by : {"--standard accumulation", ""}) {
      const Ran ran = run("assay gate g.h5 --machine " + machine + " --abft " + by);
      EXPECT_THAT(ran, Exits(0)) << ran.out;
    }
  }
};

// Right products of subnormal factors raise no alarm. The units align such factors by their
// format's smallest normal.
TEST_F(RightResults, SubnormalFactorsOnTensorCores) {
  for (const char* machine : {"hopper", "ampere", "volta"}) {
    expect_pass(machine,
                "--dtype float16 --output-dtype float32 --shape 16,64,32 --a normal,scale=1e-5 "
                "--b outlier_channels,axis=-2,factor=300,count=1 --count 10");
  }
}

// Right sums of equal products raise no alarm, although all of their rounding errors have one sign.
TEST_F(RightResults, ConstantProducts) {
  const std::string products =
      "--dtype float32 --a normal,mean=1,deviation=0 --b normal,mean=0.1,deviation=0 --shape ";
  expect_pass("cpu_fma", products + "16,2048,32");
  expect_pass("ascend910b", products + "16,16384,32");
  expect_pass("cpu_fma", products + "16,1024,32 --bias uniform,low=1000,high=1001");
  expect_pass("cpu_mul_add", products + "16,4096,32");
}

// Right results below float32's smallest normal raise no alarm. There, matrix units align the
// products at a fixed least exponent (emax_floor) and not at the largest exponent of the products.
TEST_F(RightResults, BelowTheNormalRange) {
  for (const char* machine : {"hopper", "ampere", "ascend910b", "cpu_fma"}) {
    for (const char* scale : {"1e-19", "1e-20", "1e-21"}) {
      expect_pass(machine, std::string("--dtype bfloat16 --output-dtype float32 --shape 8,40,24 ") +
                               "--count 3 --distribution normal,scale=" + scale);
    }
  }
}

// Factors 1 / (i + k + 1), as in a Hilbert matrix, have sums that hardly grow. Right products of
// them raise no alarm.
TEST_F(RightResults, OfHilbertMatrices) {
  constexpr std::int64_t kDepth = 8192, kSide = 16;
  const Format& f32 = format_named("float32");
  std::vector<double> a, b;
  for (std::int64_t i = 0; i < kSide; ++i) {
    for (std::int64_t k = 0; k < kDepth; ++k) a.push_back(1 / static_cast<double>(i + k + 1));
  }
  for (std::int64_t k = 0; k < kDepth; ++k) {
    for (std::int64_t j = 0; j < kSide; ++j) b.push_back(1 / static_cast<double>(j + k + 1));
  }
  Case c;
  c.name = "hilbert";
  c.op = "matmul";
  c.inputs["a"] = Tensor::from_values(f32, {kSide, kDepth}, a);
  c.inputs["b"] = Tensor::from_values(f32, {kDepth, kSide}, b);
  make("inputs.h5", {c});
  ASSERT_THAT(run("assay golden inputs.h5 --out g.h5 --quiet"), Exits(0));
  for (const char* machine : {"cpu_fma", "cpu_mul_add", "ascend910b"}) {
    EXPECT_THAT(
        run(std::string("assay gate g.h5 --standard accumulation --abft --machine ") + machine),
        Exits(0));
  }
}

// A fault is detected among equal products, whose errors all have one sign. It is also detected
// among products that differ, for which the threshold is still that of random errors.
TEST_F(RightResults, AFaultAmongThemIsSeen) {
  for (const char* b : {"normal,mean=0.1,deviation=0", "normal"}) {
    ASSERT_THAT(run(std::string("assay generate matmul --dtype float32 --shape 16,2048,32 --a "
                                "normal,mean=1,deviation=0 --out g.h5 --quiet --b ") +
                    b),
                Exits(0));
    ASSERT_THAT(run("assay emulate g.h5 --machine cpu_fma --out e.h5 --quiet && assay inject e.h5 "
                    "--recorded cpu_fma --fault flip,bit=16,at=5:7 --out f.h5 --quiet"),
                Exits(0));
    const Ran ran = run("assay gate f.h5 --recorded cpu_fma --rtol 1 --abft");
    EXPECT_THAT(ran, Code(1)) << b;
    EXPECT_THAT(ran.out, HasSubstr("element [5, 7]: actual ")) << b;
  }
}

// Rows of a Fourier matrix times a constant cancel, some of them exactly. Without operands, only
// the case's own bound tells how large the errors of such sums may be.
TEST_F(RightResults, GoldenAloneOfCancellingSums) {
  constexpr std::int64_t kSide = 48;
  std::vector<double> golden, output;
  for (std::int64_t i = 0; i < kSide; ++i) {
    for (std::int64_t j = 0; j < kSide; ++j) {
      double exact = 0;
      float sum = 0;
      for (std::int64_t k = 0; k < kSide; ++k) {
        const double angle = 2 * M_PI * static_cast<double>(i * k % kSide) / kSide;
        const auto factor = static_cast<float>(std::cos(angle));
        exact += static_cast<double>(factor) * 3;
        sum = std::fma(factor, 3.0F, sum);
      }
      golden.push_back(exact);
      output.push_back(static_cast<double>(sum));
    }
  }
  for (const char* dtype : {"bfloat16", "float16", "float32"}) {
    make("g.h5", {recorded("dft", dtype, {kSide, kSide}, golden, output)});
    const Ran ran = run("assay gate g.h5 --abft --rtol 0.01 --atol 1e-4");
    EXPECT_THAT(ran, Exits(4)) << dtype;
    EXPECT_THAT(ran.out, HasSubstr("dft: untrusted: abft: only 57 of 144 checks of 16 columns say "
                                   "anything; 87 checks would accept zeros, because the case's own "
                                   "bound is larger than the elements"))
        << dtype;
    // A fault is still detected.
    std::vector<double> wrong = output;
    wrong[50] += 100;
    make("w.h5", {recorded("dft", dtype, {kSide, kSide}, golden, wrong)});
    EXPECT_THAT(run("assay gate w.h5 --abft --rtol 0.01 --atol 1e-4").out,
                HasSubstr("element [1, 2]: actual "))
        << dtype;
  }
}

}  // namespace
}  // namespace assay
