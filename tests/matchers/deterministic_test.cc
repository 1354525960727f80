// Tests Deterministic: all runs must give the same bits, and a failure tells which run and element
// differ.
#include "assay/matchers/deterministic.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "assay/matchers/eigen.h"
#include "matchers/approved.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::Not;

TEST(Deterministic, EveryKindOfResult) {
  EXPECT_THAT(([] { return std::vector<float>{1, std::nanf("1"), -0.0F}; }), Deterministic(3));
  EXPECT_THAT([] { return Eigen::MatrixXf::Identity(3, 2).eval(); }, Deterministic(3));
  EXPECT_THAT(
      [] {
        return Tensor::from_values(format_named("bfloat16"), {2}, std::vector<double>{1, 2});
      },
      Deterministic(3));
  const std::vector<float> kept = {1, 2};
  EXPECT_THAT([&] { return view(kept); }, Deterministic(3));
  EXPECT_THAT([&]() -> const std::vector<float>& { return kept; }, Deterministic(3));
}

TEST(Deterministic, CountsItsRuns) {
  int calls = 0;
  EXPECT_THAT([&] { return std::vector<std::int32_t>{++calls > 0}; }, Deterministic(7));
  EXPECT_EQ(calls, 7);
  calls = 0;
  EXPECT_THAT([&] { return std::vector<std::int32_t>{++calls / 3}; }, Not(Deterministic(7)));
  EXPECT_EQ(calls, 3) << "the first run that differs is the last";
}

// Each run writes to one buffer and returns a view of it. The later runs are compared with what the
// buffer held after run 1.
TEST(Deterministic, ABufferThatIsReused) {
  std::vector<float> buffer = {0, 0};
  float value = 1;
  EXPECT_THAT(
      [&] {
        buffer[1] = value++;
        return view(buffer);
      },
      Not(Deterministic(2)));
}

TEST(Deterministic, AnOperatorThatChangesItself) {
  EXPECT_THAT(([n = 0.0F]() mutable { return std::vector<float>{1, ++n}; }), Not(Deterministic(2)));
}

TEST(Deterministic, BitsNotValues) {
  int calls = 0;
  EXPECT_THAT(([&] { return std::vector<float>{calls++ == 0 ? 0.0F : -0.0F}; }),
              Not(Deterministic(2)));
}

TEST(Deterministic, WrongUse) {
  EXPECT_THROW((void)Deterministic(1), std::invalid_argument);
  EXPECT_THROW((void)Deterministic(-1), std::invalid_argument);
}

TEST(Deterministic, Composes) {
  EXPECT_THAT([] { return std::vector<float>{1}; }, AllOf(Deterministic(2), Deterministic(3)));
}

TEST(Approved, Deterministic) {
  const auto same = [] { return Eigen::MatrixXf::Identity(2, 3).eval(); };
  expect_approved("deterministic_pass", all_texts(same, Deterministic(4)));
  int calls = 0;
  const auto drifting = [&] {
    Eigen::MatrixXf m = Eigen::MatrixXf::Identity(2, 3);
    if (++calls == 3) m(1, 2) = m(0, 1) = 0.5F;
    return m;
  };
  expect_approved("deterministic_fail", all_texts(drifting, Deterministic(4)));
  int shapes = 0;
  const auto growing = [&] {
    ++shapes;
    return std::vector<float>(static_cast<std::size_t>(shapes), 1);
  };
  expect_approved("deterministic_shape", all_texts(growing, Deterministic(4)));
  expect_approved("deterministic_empty",
                  all_texts([] { return std::vector<float>(); }, Deterministic(4)));
}

}  // namespace
}  // namespace assay
