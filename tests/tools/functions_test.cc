// Judges functions that an H200 computed. Right results pass with their machine and without one.
// Errors that its documentation does not explain fail.
#include <gtest/gtest.h>

#include <string>

#include "program.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

class FunctionsTest : public ProgramTest {
 protected:
  FunctionsTest() {
    const std::string recorded = ASSAY_SOURCE_DIR "/datasets/samples/hopper_functions.h5";
    EXPECT_THAT(run("assay golden --quiet '" + recorded + "' --out g.h5"), Exits(0));
  }
};

TEST_F(FunctionsTest, RightOnesPassByTheirMachine) {
  const Ran ran = run("assay gate g.h5 --machine hopper --recorded h200 --json r.json");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("40 cases: 40 pass"));
  const auto report = json("r.json");
  for (const auto& one : report.at("cases")) {
    EXPECT_EQ(one.at("verdicts").at(0).at("bound").at("standard"), "derived") << one.at("case");
  }
}

// For a case whose inputs are all -1e38, a bound that holds on every machine is blind, because some
// machines saturate.
TEST_F(FunctionsTest, RightOnesPassWithoutAMachine) {
  const Ran ran =
      run("assay gate g.h5 --recorded h200 --exclude float32/silu --exclude float32/gelu_tanh");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("38 cases: 38 pass"));
  EXPECT_THAT(run("assay gate g.h5 --recorded h200 --case float32/silu").out,
              HasSubstr("1 case: 1 untrusted"));
}

TEST_F(FunctionsTest, ErrorsBeyondTheMachinesFail) {
  for (const char* name : {"float32/log", "float32/sqrt", "float16/rsqrt", "bfloat16/exp",
                           "float16/sigmoid", "float32/tanh"}) {
    const std::string one = std::string(" --recorded h200 --case ") + name;
    EXPECT_THAT(run("assay inject g.h5 --fault add,ulps=8,at=1000 --out bad.h5 --quiet" + one),
                Exits(0));
    const Ran ran = run("assay gate g.h5 --outputs bad.h5 --machine hopper" + one);
    EXPECT_THAT(ran, Code(1)) << name;
    EXPECT_THAT(ran.out, HasSubstr("1 of ")) << name;
  }
}

TEST_F(FunctionsTest, FastOnesFailWhereTheCaseDoesNotSaySo) {
  const std::string script =
      "import h5py; f = h5py.File('g.h5', 'r+'); del f['cases/fast/float32/exp'].attrs["
      "'fast_functions']";
  EXPECT_THAT(run(std::string(ASSAY_PYTHON) + " -c \"" + script + "\""), Code(0));
  const Ran ran =
      run("assay gate g.h5 --recorded h200 --machine hopper --case 'fast/*/exp' --trust");
  EXPECT_THAT(ran, Code(1));
  EXPECT_THAT(ran.out, Not(HasSubstr("untrusted")));
}

}  // namespace
}  // namespace assay
