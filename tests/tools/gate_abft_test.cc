// assay gate --abft: products checked by their checksums as well.
#include <limits>

#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class GateAbft : public ProgramTest {};

// By a tolerance that is far too wide the output passes; the checksums see the error.
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
  // Nothing that may be set is without words.
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

TEST_F(GateAbft, CaseWithoutOperandsIsNotComparable) {
  make("g.h5", {recorded("x", "float32", {2, 2}, {1, 2, 3, 4}, {1, 2, 3, 4})});
  EXPECT_THAT(run("assay gate g.h5"), Exits(0));
  const Ran ran = run("assay gate g.h5 --abft");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("\nx: not_comparable: abft: "));
}

TEST_F(GateAbft, NanAndInfinityInOperandsAndOutputs) {
  Case operand = product("operand"), output = product("output");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  operand.inputs["a"] =
      Tensor::from_values(format_named("float32"), {2, 2}, std::vector<double>{nan, 2, 3, 4});
  output.outputs["p"] =
      Tensor::from_values(format_named("float32"), {2, 3}, std::vector<double>{2, 2, 3, 5, nan, 5});
  make("g.h5", {operand, output});
  EXPECT_THAT(run("assay gate g.h5 --abft --case output"), Exits(1));
  // The golden result has no NaN there, so that this output fails by itself; and says so at once.
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

}  // namespace
}  // namespace assay
