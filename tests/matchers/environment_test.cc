// Tests MeetsStandard, and what the environment overrides.
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/matchers/eigen.h"
#include "matchers/approved.h"
#include "matchers/texts.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

// Sets variables for the length of a test.
class Environment {
 public:
  explicit Environment(std::initializer_list<std::pair<std::string, std::string>> variables)
      : variables_(variables) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : variables_) unsetenv(name.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<std::pair<std::string, std::string>> variables_;
};

const std::vector<float> kReference = {1, 2, 4};
// 2.00001 is 1e-5 off, which is within torch's 1.26e-5.
const std::vector<float> kNear = {1, 2.00001F, 4};
const std::vector<float> kFar = {1, 2.1F, 4};

TEST(MeetsStandard, ByName) {
  EXPECT_THAT(kNear, MeetsStandard("torch", kReference));
  EXPECT_THAT(kFar, Not(MeetsStandard("torch", kReference)));
  EXPECT_THAT(kNear, MeetsStandard("torch", kReference).standard("triton_ascend"));
  EXPECT_THAT(kNear, Not(MeetsStandard("ulp(1)", kReference)));
}

TEST(Override, Tolerances) {
  const Environment set{{"ASSAY_RTOL", "0.5"}};
  EXPECT_THAT(kFar, CloseTo(kReference));
  EXPECT_THAT(kFar, CloseTo(kReference).rtol(1e-9)) << "the environment comes first";
  EXPECT_THAT(kFar, MeetsStandard("torch", kReference));
  EXPECT_THAT(kFar, Not(BitEqual(kReference))) << "and leaves what is no tolerance alone";
  EXPECT_THAT(kFar, Not(WithinUlps(kReference, 3)));
}

TEST(Override, Standard) {
  const Environment set{{"ASSAY_STANDARD", "torch,bit_equal"}};
  EXPECT_THAT(kNear, Not(CloseTo(kReference).rtol(0.5)));
  EXPECT_THAT(kReference, CloseTo(std::vector<float>(kReference)));
}

TEST(Override, EqualNan) {
  const std::vector<float> with_nan = {1, std::nanf("")};
  EXPECT_THAT(with_nan, CloseTo(std::vector<float>(with_nan)).equal_nan());
  {
    const Environment set{{"ASSAY_EQUAL_NAN", "1"}};
    EXPECT_THAT(with_nan, CloseTo(std::vector<float>(with_nan)));
  }
  const Environment set{{"ASSAY_EQUAL_NAN", "0"}};
  EXPECT_THAT(with_nan, Not(CloseTo(std::vector<float>(with_nan)).equal_nan()));
}

TEST(Override, ValuesThatAreNone) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"ASSAY_RTOL", "x"},
                                                        {"ASSAY_ATOL", "-1"},
                                                        {"ASSAY_ATOL", "nan"},
                                                        {"ASSAY_EQUAL_NAN", "2"}}) {
    const Environment set{{name, value}};
    EXPECT_THAT(failures_of([] { EXPECT_THAT(kNear, CloseTo(kReference)); }),
                testing::ElementsAre(HasSubstr("a matcher cannot judge: the environment's "),
                                     HasSubstr(name + "='" + value + "'")));
  }
  const Environment empty{{"ASSAY_RTOL", ""}};
  EXPECT_THAT(kFar, Not(CloseTo(kReference)));
}

// Matches twice, and ends the program with 0 if both match.
[[noreturn]] void match_twice() {
  const Environment set{{"ASSAY_RTOL", "0.5"}, {"ASSAY_ATOL", "0"}};
  const bool first = testing::Value(kFar, CloseTo(kReference));
  std::exit(first && testing::Value(kFar, CloseTo(kReference)) ? 0 : 1);
}

// The death test runs in its own process, because this one may have printed the line already.
TEST(Override, IsSaidOnceOnStandardError) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(match_twice(), testing::ExitedWithCode(0),
              "^\\[ assay    \\] the environment overrides tolerances: ASSAY_RTOL=0.5, "
              "ASSAY_ATOL=0\n$");
}

TEST(Approved, Elementwise) {
  expect_approved("close_fail", all_texts(kFar, CloseTo(kReference)));
  expect_approved("standard_fail", all_texts(kFar, MeetsStandard("torch", kReference)));
  expect_approved("ulps_fail", all_texts(kFar, WithinUlps(kReference, 3)));
  expect_approved("bits_fail", all_texts(kFar, BitEqual(kReference)));
  const Environment set{{"ASSAY_RTOL", "0.001"}, {"ASSAY_ATOL", "0.01"}};
  expect_approved("override_fail", all_texts(kFar, CloseTo(kReference)));
  expect_approved("override_pass", all_texts(kNear, CloseTo(kReference)));
}

TEST(Approved, Abft) {
  const Eigen::MatrixXf a = Eigen::MatrixXf::Constant(2, 3, 2), b = Eigen::MatrixXf::Identity(3, 3);
  Eigen::MatrixXf c = a * b;
  expect_approved("abft_pass", all_texts(c, AbftClose(a, b)));
  c(1, 2) = 3;
  expect_approved("abft_fail", all_texts(c, AbftClose(a, b)));
}

}  // namespace
}  // namespace assay
