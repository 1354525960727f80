// Tests targets that are standards. Some judge only by the standard, and others by the gate.
#include "assay/audit/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "assay/base/constants.h"
#include "error_of.h"

namespace assay::audit {
namespace {

using testing::StartsWith;

Tensor of_values(const char* dtype, const std::vector<double>& values) {
  return Tensor::from_values(format_named(dtype), {static_cast<std::int64_t>(values.size())},
                             values);
}

// Returns a subject whose right output is its golden result.
Subject right_output(const char* dtype, const std::vector<double>& values) {
  Subject s;
  s.test_case.name = "a";
  s.test_case.op = "external";
  s.test_case.attributes["output_dtype"] = std::string(dtype);
  s.clean = of_values(dtype, values);
  s.test_case.output().golden = s.clean;
  return s;
}

GateRequest by_standards(const std::vector<std::string>& standards) {
  GateRequest request;
  request.bounds.standards = standards;
  return request;
}

TEST(StandardTargets, KnowTheirStandards) {
  StandardTarget target("torch alone", by_standards({"torch"}), false);
  EXPECT_EQ(target.name(), "torch alone");
  EXPECT_FALSE(target.reads_files());
  EXPECT_FALSE(target.golden_file_differs(right_output("float32", {1})));
  EXPECT_THAT(error_of([] { StandardTarget("x", by_standards({"torc"}), true); }),
              StartsWith("unknown standard 'torc': did you mean 'torch'?"));
}

TEST(StandardTargets, PassWhatTheirStandardPasses) {
  const Subject subject = right_output("float32", {1, 2, 4});
  for (const bool gate : {false, true}) {
    StandardTarget target("torch", by_standards({"torch"}), gate);
    EXPECT_EQ(target.why_not(subject), "");
    const Answer right = target.judge({subject, subject.clean});
    EXPECT_TRUE(right.passed);
    EXPECT_THAT(right.because, StartsWith("all 3 elements within "));
    EXPECT_EQ(right.said, "");
    const Answer wrong = target.judge({subject, of_values("float32", {1, 2, 5})});
    EXPECT_FALSE(wrong.passed);
    EXPECT_THAT(wrong.because, StartsWith("1 of 3 elements (33.3 %) differs by more than "));
    EXPECT_FALSE(target.judge({subject, of_values("float32", {1, kNan, 4})}).passed);
  }
}

// All standards must pass. The first one that fails gives the reason.
TEST(StandardTargets, SeveralStandards) {
  const Subject subject = right_output("float32", {1, 2, 4});
  StandardTarget target("both", by_standards({"triton_ascend", "bit_equal"}), true);
  EXPECT_TRUE(target.judge({subject, subject.clean}).passed);
  const Answer near = target.judge({subject, of_values("float32", {1, 2, 4 + 0x1p-21})});
  EXPECT_FALSE(near.passed);
  EXPECT_EQ(near.because, "1 of 3 elements (33.3 %) differs in its bits");
}

// Every tolerance passes an output of zeros if the golden result is 0. The gate does not trust
// that.
TEST(StandardTargets, TheGateDoesNotTrustWhatZerosPass) {
  const Subject zeros = right_output("float32", {0, 0, 0});
  StandardTarget alone("alone", by_standards({"triton_ascend"}), false);
  StandardTarget gate("gate", by_standards({"triton_ascend"}), true);
  EXPECT_TRUE(alone.judge({zeros, zeros.clean}).passed);
  const Answer untrusted = gate.judge({zeros, zeros.clean});
  EXPECT_FALSE(untrusted.passed);
  EXPECT_THAT(untrusted.because, StartsWith("an output of zeros would pass too: "));
  EXPECT_FALSE(alone.judge({zeros, of_values("float32", {0, 1, 0})}).passed);
}

// The request allows one mismatch. The standard without the gate also allows it in an output of
// zeros.
TEST(StandardTargets, MissesThatAreForgiven) {
  GateRequest request = by_standards({"triton_ascend"});
  request.bounds.max_mismatches = 1;
  const Subject zeros = right_output("float32", {0, 0, 0});
  StandardTarget alone("alone", request, false);
  EXPECT_TRUE(alone.judge({zeros, of_values("float32", {0, 1, 0})}).passed);
  EXPECT_FALSE(alone.judge({zeros, of_values("float32", {1, 1, 0})}).passed);
  const Subject numbers = right_output("float32", {1, 2, 4});
  EXPECT_TRUE(alone.judge({numbers, of_values("float32", {1, 3, 4})}).passed);
  EXPECT_FALSE(alone.judge({numbers, of_values("float32", {2, 3, 4})}).passed);
}

TEST(StandardTargets, SayWhyTheyCannotJudge) {
  StandardTarget requant("requant", by_standards({"ttk_requant"}), true);
  const Subject one = right_output("float32", {1}), code = right_output("float8_e4m3fn", {1});
  EXPECT_THAT(requant.why_not(one),
              StartsWith("standard ttk_requant has no tolerance for float32; "));
  EXPECT_EQ(requant.why_not(code), "");
  StandardTarget dual("dual", by_standards({"cann_l0"}), true);
  EXPECT_NE(dual.why_not(one), "") << "there is no reference implementation";
  EXPECT_FALSE(dual.judge({one, one.clean}).passed);
  // An error in the case is not a fault of the target.
  Subject unknown = right_output("float32", {1});
  unknown.test_case.attributes["standard"] = std::string("torchy");
  StandardTarget own("the case's own", GateRequest{}, true);
  EXPECT_THAT(own.why_not(unknown), StartsWith("unknown standard 'torchy': did you mean 'torch'?"));
}

// Four threads ask one target about eight subjects at once. Each subject is judged by its own
// checks, so that only its own right output passes.
TEST(StandardTargets, ThreadsAskAtOnce) {
  std::vector<Subject> subjects;
  subjects.reserve(8);
  for (int i = 0; i < 8; ++i) subjects.push_back(right_output("float16", {1.0 + i, 2, 3}));
  StandardTarget target("torch", by_standards({"torch"}), true);
  std::atomic<int> right = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < subjects.size(); ++i) {
        const Subject &own = subjects[i], &other = subjects[(i + 1) % subjects.size()];
        right += target.why_not(own).empty() && target.judge({own, own.clean}).passed ? 1 : 0;
        wrong += target.judge({own, other.clean}).passed ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 32);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace assay::audit
