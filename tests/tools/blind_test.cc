// Tests through the program what the gate reports about elements that its check cannot see.
#include <algorithm>
#include <cmath>

#include "assay/base/random.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class BlindTest : public ProgramTest {
 protected:
  // Makes a float16 softmax of 8 x 32000. Its output is right, except for the elements that
  // `change` changes.
  template <typename Change>
  void softmax(const std::string& name, const Change& change) const {
    constexpr std::int64_t kRows = 8, kColumns = 32000;
    const Format &f16 = format_named("float16"), &f64 = format_named("float64");
    Random random(5, 1);
    std::vector<double> golden, output;
    for (std::int64_t row = 0; row < kRows; ++row) {
      std::vector<double> e(kColumns);
      double sum = 0;
      for (double& value : e) sum += value = std::exp(2 * random.normal());
      for (const double value : e) golden.push_back(value / sum);
    }
    output = golden;
    change(output);
    Case c;
    c.name = "softmax";
    c.op = "external";
    c.attributes["output_dtype"] = std::string("float16");
    c.output().golden = Tensor::from_values(f64, {kRows, kColumns}, golden);
    c.output().recorded["npu"].tensor = Tensor::from_values(f16, {kRows, kColumns}, output);
    make(name, {c});
  }

  // Makes a softmax whose output is zero at nearly all elements.
  void zeroed(const std::string& name) const {
    softmax(name, [](std::vector<double>& output) {
      for (double& value : output) value = value < 9e-4 ? 0 : value;
    });
  }
};

TEST_F(BlindTest, ASoftmaxOfZerosIsNoPassUnderAnyAbsoluteTolerance) {
  zeroed("zeroed.h5");
  for (const char* standard : {"triton_ascend", "atb", "catlass", "tensorflow"}) {
    const Ran ran = run(std::string("assay gate zeroed.h5 --standard ") + standard);
    EXPECT_THAT(ran, Code(4)) << standard;
    EXPECT_THAT(ran.out, AllOf(HasSubstr("untrusted"), HasSubstr("the check is blind to "),
                               HasSubstr(" elements that are not zero (99."),
                               HasSubstr("; an absolute tolerance below ")))
        << standard;
  }
  // A relative tolerance detects the elements that are wrongly zero.
  EXPECT_THAT(run("assay gate zeroed.h5 --rtol 1e-2 --atol 0"), Code(1));
}

TEST_F(BlindTest, TheToleranceThatIsOfferedSees) {
  zeroed("zeroed.h5");
  softmax("right.h5", [](std::vector<double>&) {});
  ASSERT_THAT(run("assay gate zeroed.h5 --json r.json"), Code(4));
  const std::string because = json("r.json")["cases"][0]["because"];
  const std::string before = "an absolute tolerance below ";
  const double atol = std::stod(because.substr(because.find(before) + before.size()));
  const std::string options = " --rtol 1e-3 --atol " + std::to_string(0.9 * atol);
  EXPECT_THAT(run("assay gate right.h5" + options), Code(0));
  EXPECT_THAT(run("assay gate zeroed.h5" + options), Code(1));
}

TEST_F(BlindTest, EveryReportHasTheShare) {
  // 3 of the 9 elements that are not zero are below the tolerance, so it is blind to 33.3 % of
  // them.
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 1e-4, -1e-4, 2e-4, 0};
  make("some.h5", {recorded("some", "float16", {10}, values, values)});
  const Ran ran = run("assay gate some.h5 --json r.json --junit r.xml --html r.html");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("  blind  "), HasSubstr("33.3 %")));
  const std::string note =
      "the check is blind to 3 of the 9 elements that are not zero (33.3 %): as zeros they would "
      "pass atol 0.001 + rtol 0.001 * |expected|";
  const auto entry = json("r.json")["cases"][0]["verdicts"][0];
  EXPECT_EQ(entry["nonzero"], 9);
  EXPECT_EQ(entry["blind"], 3);
  EXPECT_DOUBLE_EQ(entry["blind_share"], 3.0 / 9);
  EXPECT_EQ(entry["notes"], nlohmann::json::array({note}));
  EXPECT_THAT(read("r.html"), AllOf(HasSubstr("33.3 %"), HasSubstr("the check is blind to 3 of")));
  EXPECT_THAT(read("r.xml"), HasSubstr("<system-out>the check is blind to 3 of the 9"));
  // Arrays, too.
  python(
      "import numpy\nx = numpy.array([1, 2, 3, 1e-4], 'f2')\n"
      "numpy.save('a.npy', x)\nnumpy.save('b.npy', x)\n");
  const Ran compared = run("assay compare a.npy b.npy");
  EXPECT_THAT(compared, Exits(0));
  EXPECT_THAT(
      compared.out,
      AllOf(HasSubstr("note: the check is blind to 1 of the 4 elements"),
            HasSubstr("  blind               1 of the 4 elements that are not zero (25.0 %)")));
}

TEST_F(BlindTest, ALimitMayBeSetByTheCommandAndByACaseThatSaysWhy) {
  zeroed("zeroed.h5");
  EXPECT_THAT(run("assay gate zeroed.h5 --max-blind 1"), Exits(0));
  EXPECT_THAT(run("assay gate zeroed.h5 --max-blind 1.5"), Code(2));
  const std::vector<double> values = {1, 1e-4, 1e-4, 1e-4};
  Case c = recorded("few", "float16", {4}, values, values);
  c.attributes["max_blind"] = 0.8;
  make("silent.h5", {c});
  EXPECT_THAT(
      run("assay gate silent.h5"),
      AllOf(Code(2), testing::Field(&Ran::err, HasSubstr("max_blind is given without a reason"))));
  c.attributes["why"] = std::string("one-hot rows: the small ones are noise");
  make("said.h5", {c});
  const Ran said = run("assay gate said.h5 --json r.json");
  EXPECT_THAT(said, Exits(0));
  EXPECT_THAT(json("r.json")["cases"][0]["verdicts"][0]["notes"][0].get<std::string>(),
              AllOf(HasSubstr("blind to 3 of the 4"),
                    HasSubstr("; the case allows it: one-hot rows: the small ones are noise")));
  EXPECT_THAT(run("assay gate said.h5 --max-blind 0.5"), Code(4));
}

}  // namespace
}  // namespace assay
