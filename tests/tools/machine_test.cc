// Tests emulate --verify, machines with parameters, and calibrate, as a user types them.
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using MachineTool = ProgramTest;

const std::string kCorners = std::string(ASSAY_SOURCE_DIR "/datasets/samples/hopper_corners.h5");

TEST_F(MachineTool, VerifyReplaysRecordedResults) {
  const Ran ran = run("assay emulate " + kCorners + " --machine hopper --verify");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("mma/bfloat16/wide: float32 [64] on hopper; h200: all 64 elements "
                              "agree bit for bit\n"),
                    HasSubstr("73 of 73 recorded outputs agree bit for bit with hopper\n")));
}

TEST_F(MachineTool, VerifyNamesTheFirstDifference) {
  const Ran ran = run("assay emulate " + kCorners +
                      " --machine hopper,kept_bits=24 --verify --case 'mma/bfloat16/*'");
  EXPECT_THAT(ran, Code(1));
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr(" of 64 elements differ, first at ["), HasSubstr(", recorded "),
                    HasSubstr("agree bit for bit with hopper,kept_bits=24\n")));
}

TEST_F(MachineTool, VerifyNeedsRecordedOutputs) {
  EXPECT_THAT(run("assay emulate " + kCorners + " --machine hopper"), Code(2));
  const Ran ran = run("assay emulate " + kCorners + " --machine hopper --verify --recorded a100");
  EXPECT_THAT(ran, Code(3));
  EXPECT_THAT(ran.err,
              HasSubstr("there are no recorded outputs to compare with; leave out --verify"));
}

TEST_F(MachineTool, ParametersAreChecked) {
  const auto error = [&](const std::string& machine) {
    const Ran ran = run("assay emulate " + kCorners + " --verify --machine '" + machine + "'");
    EXPECT_THAT(ran, Code(2));
    return ran.err;
  };
  EXPECT_THAT(
      error("hopper,kept_bit=24"),
      HasSubstr("machine 'hopper,kept_bit=24': a matrix unit takes no 'kept_bit' (did you mean "
                "'kept_bits'?); it takes chunk, order, rounding, "));
  EXPECT_THAT(error("hopper,chunk=4,chunk=8"), HasSubstr("'chunk' is given twice"));
  EXPECT_THAT(error("hopper,chunk=0"),
              HasSubstr("chunk must be a whole number from 1 to 1048576, not '0'"));
  EXPECT_THAT(error("hopper,order=random"),
              HasSubstr("order must be one of fused, sequential, pairwise, not 'random'"));
  EXPECT_THAT(
      error("hopper,rounding=stochastic"),
      HasSubstr("rounding must be one of nearest_even, nearest_away, toward_zero, up, down, "
                "to_odd, not 'stochastic'"));
  EXPECT_THAT(error("exact,chunk=4"), HasSubstr("exact has no matrix unit to change"));
  EXPECT_THAT(error("hoper,chunk=4"), HasSubstr("did you mean 'hopper'?"));
}

TEST_F(MachineTool, Calibrate) {
  const Ran ran =
      run("assay calibrate --machine ascend910b --dtype bfloat16 --shape 128,256,64 "
          "--trials 20");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(
      ran.out,
      AllOf(HasSubstr("ascend910b bfloat16, 128 x 256 x 64, inputs normal: 2 560 rows of 20 "
                      "products, seed 0\n"),
            HasSubstr("Use it: assay gate FILE --abft v_abft,e_max=")));
  EXPECT_EQ(run("assay calibrate --machine ascend910b --dtype bfloat16 --shape 128,256,64 "
                "--trials 20 --threads 1")
                .out,
            ran.out);
}

TEST_F(MachineTool, CalibrateErrors) {
  const auto error = [&](const std::string& options, int code = 2) {
    const Ran ran = run("assay calibrate " + options);
    EXPECT_THAT(ran, Code(code));
    return ran.err;
  };
  EXPECT_THAT(error("--machine exact --dtype float32"),
              HasSubstr("machine exact is the reference, which makes no such rounding errors"));
  EXPECT_THAT(error("--machine volta --dtype float32"),
              HasSubstr("the matrix unit of volta takes float16, not float32"));
  EXPECT_THAT(error("--machine ascend910b --dtype int8"), HasSubstr("int8 products are exact"));
  EXPECT_THAT(error("--machine ascend910b --dtype float32 --shape 1,2"),
              HasSubstr("--shape 1,2: three whole numbers M,K,N from 1 to 1048576 are needed"));
  EXPECT_THAT(error("--machine ascend910b --dtype float32 --inputs uniform"),
              HasSubstr("--inputs uniform: normal, folded or shifted is needed"));
}

TEST_F(MachineTool, ListShowsEveryParameter) {
  EXPECT_THAT(run("assay list machines").out,
              AllOf(HasSubstr("terms kept to 25 bits, toward_zero (measured), emax at least -133 "
                              "(measured)"),
                    HasSubstr("float32 of 13 mantissa bits (measured)"),
                    HasSubstr("bias: added last, in float32 (measured)"),
                    HasSubstr("products rounded (documented)")));
}

}  // namespace
}  // namespace assay
