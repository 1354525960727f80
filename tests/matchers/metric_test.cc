// Tests SnrAtLeast, CosineAtLeast, RelativeL2AtMost and NoWorseThan.
#include "assay/matchers/metric.h"

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/cases/case.h"
#include "assay/judge/metric_table.h"
#include "assay/matchers/eigen.h"
#include "matchers/approved.h"
#include "matchers/texts.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

// With golden values e and outputs a, sum e^2 = 100 and sum (a - e)^2 = 0.01, so that the SNR is 40
// dB and relative L2 is 0.01. The sum of a e is 100.6, and |a| = sqrt(101.21).
const std::vector<double> kGolden = {6, 8};
const std::vector<double> kOut = {6.1, 8};

TEST(Metric, LimitsAtTheirValues) {
  // The SNR is a little off 40 dB, because 6.1 - 6 is rounded to float64.
  EXPECT_THAT(kOut, SnrAtLeast(kGolden, 39.9999));
  EXPECT_THAT(kOut, Not(SnrAtLeast(kGolden, 40.0001)));
  EXPECT_THAT(kOut, RelativeL2AtMost(kGolden, 0.0100001));
  EXPECT_THAT(kOut, Not(RelativeL2AtMost(kGolden, 0.0099999)));
  const double cosine = 100.6 / (10 * std::sqrt(6.1 * 6.1 + 64));
  EXPECT_THAT(kOut, CosineAtLeast(kGolden, cosine - 1e-9));
  EXPECT_THAT(kOut, Not(CosineAtLeast(kGolden, cosine + 1e-9)));
  EXPECT_THAT(kGolden, AllOf(SnrAtLeast(std::vector<double>(kGolden), 1000),
                             CosineAtLeast(kGolden, 1), RelativeL2AtMost(kGolden, 0)));
}

TEST(Metric, KindsOfTensors) {
  const Tensor golden = Tensor::from_values(format_named("float64"), {2}, kGolden);
  const Tensor out = Tensor::from_values(format_named("bfloat16"), {2}, kOut);
  EXPECT_THAT(out, SnrAtLeast(golden, 35));
  EXPECT_THAT(out.view(), SnrAtLeast(golden.view(), 35));
  EXPECT_THAT(Eigen::Vector2f(6.1F, 8), SnrAtLeast(Eigen::Vector2d(6, 8), 35));
  EXPECT_THAT(Eigen::Vector2f(6.1F, 8) * 2, Not(SnrAtLeast(Eigen::Vector2d(6, 8), 35)));
  EXPECT_THAT((std::vector<std::int32_t>{6, 9}), SnrAtLeast(std::vector<std::int32_t>{6, 8}, 19));
  Case c;
  c.name = "norm/x";
  EXPECT_THAT(out, Not(SnrAtLeast(c, 35))) << "no golden result yet";
  c.output().golden = golden;
  c.attributes["output_dtype"] = std::string("bfloat16");
  EXPECT_THAT(out, SnrAtLeast(c, 35));
  EXPECT_THAT(golden, Not(SnrAtLeast(c, 35))) << "of another dtype than the case's output";
}

TEST(Metric, WhatANumberOverAllElementsHidesIsNotForgivenForNan) {
  const std::vector<float> golden = {1, 2, 3, 4};
  for (const float broken : {kNaN, kInf, -kInf}) {
    const std::vector<float> out = {1, 2, broken, 4};
    EXPECT_THAT(out, Not(SnrAtLeast(golden, 1)));
    EXPECT_THAT(out, Not(CosineAtLeast(golden, 0.1)));
    EXPECT_THAT(out, Not(RelativeL2AtMost(golden, 0.9)));
    EXPECT_THAT(golden, Not(SnrAtLeast(out, 1)));
  }
  const std::vector<float> same = {1, kNaN, kInf};
  EXPECT_THAT(same, Not(SnrAtLeast(std::vector<float>(same), 10)));
  EXPECT_THAT(same, SnrAtLeast(std::vector<float>(same), 10).equal_nan());
}

TEST(Metric, WhatZerosWouldPassCannotBeTrusted) {
  const std::vector<float> golden = {1, 2}, zeros = {0, 0}, none;
  EXPECT_THAT(golden, Not(SnrAtLeast(std::vector<float>(golden), 0)));
  EXPECT_THAT(golden, Not(RelativeL2AtMost(std::vector<float>(golden), 1)));
  EXPECT_THAT(golden, Not(CosineAtLeast(std::vector<float>(golden), 0)));
  EXPECT_THAT(zeros, Not(SnrAtLeast(std::vector<float>(zeros), 40)));
  EXPECT_THAT(none, Not(SnrAtLeast(std::vector<float>(), 40)));
  const std::vector<float> all_nan = {kNaN};
  EXPECT_THAT(all_nan, Not(SnrAtLeast(std::vector<float>(all_nan), 10).equal_nan()));
}

TEST(Metric, WrongUse) {
  EXPECT_THROW((void)SnrAtLeast(kGolden, std::nan("")), std::invalid_argument);
  EXPECT_THROW((void)NoWorseThan(kOut, kGolden).by("snr_db"), std::invalid_argument);
  EXPECT_THROW((void)NoWorseThan(kOut, kGolden).factor(0), std::invalid_argument);
  EXPECT_THROW((void)NoWorseThan(kOut, kGolden).floor(-1), std::invalid_argument);
  try {
    (void)NoWorseThan(kOut, kGolden).by("rmsd");
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), HasSubstr("unknown metric 'rmsd': did you mean 'rmse'?"));
  }
}

TEST(NoWorse, ByEveryMetric) {
  const std::vector<double> golden = {1, 2, 4}, reference_implementation = {1.1, 2, 4},
                            better = {1, 2.01, 4}, worse = {1.3, 2.3, 4.5};
  for (const Metric& row : metric_table()) {
    if (row.better != Better::kSmaller) continue;
    const auto matcher = NoWorseThan(reference_implementation, golden).by(row.name);
    EXPECT_THAT(better, matcher) << row.name;
    EXPECT_THAT(worse, Not(matcher)) << row.name;
    EXPECT_THAT(std::vector<double>(reference_implementation), matcher) << row.name;
  }
}

TEST(NoWorse, FactorAndFloor) {
  const std::vector<double> golden = {1, 2, 4}, reference_implementation = {1.125, 2, 4},
                            out = {1.25, 2, 4};
  EXPECT_THAT(out,
              Not(NoWorseThan(reference_implementation, golden).by("max_abs_error").factor(1.99)));
  EXPECT_THAT(out, NoWorseThan(reference_implementation, golden).by("max_abs_error").factor(2));
  const std::vector<double> exact = golden;
  EXPECT_THAT(out, Not(NoWorseThan(exact, golden)));
  EXPECT_THAT(out, Not(NoWorseThan(exact, golden).factor(1e6)));
  EXPECT_THAT(out, NoWorseThan(exact, golden).by("max_abs_error").floor(0.25));
}

TEST(NoWorse, WhatCannotBeTrusted) {
  const std::vector<double> golden = {1, 2}, far = {-9, 9}, near = {1, 2.1}, broken = {1, kNaN};
  EXPECT_THAT(near, Not(NoWorseThan(near, golden))) << "a comparison of the output with itself";
  EXPECT_THAT(near, Not(NoWorseThan(golden, golden))) << "and of the golden result with itself";
  EXPECT_THAT(near, Not(NoWorseThan(far, golden)))
      << "zeros would be better than that reference implementation";
  EXPECT_THAT(near, Not(NoWorseThan(broken, golden)));
  EXPECT_THAT(broken, Not(NoWorseThan(near, golden)));
  EXPECT_THAT(near, Not(NoWorseThan(std::vector<double>{1, 2, 3}, golden)));
}

TEST(Metric, Composes) {
  EXPECT_THAT(kOut, AllOf(SnrAtLeast(kGolden, 30), Not(SnrAtLeast(kGolden, 50)),
                          AnyOf(CosineAtLeast(kGolden, 1), RelativeL2AtMost(kGolden, 0.1))));
}

TEST(Approved, Snr) {
  const std::vector<float> golden = {1, 2, 3, 4};
  expect_approved("snr_pass", all_texts(golden, SnrAtLeast(std::vector<float>(golden), 40)));
  expect_approved("snr_fail", all_texts(std::vector<float>{1, 2, 3.5F, 4}, SnrAtLeast(golden, 40)));
  expect_approved("snr_nan", all_texts(std::vector<float>{1, kNaN, 3, 4}, SnrAtLeast(golden, 40)));
  expect_approved("snr_untrusted", all_texts(golden, SnrAtLeast(std::vector<float>(golden), -3)));
  expect_approved("snr_shape", all_texts(std::vector<float>{1}, SnrAtLeast(golden, 40)));
}

TEST(Approved, CosineAndRelativeL2) {
  const std::vector<float> golden = {1, 2, 3, 4}, out = {1, 2, 3.5F, 4};
  expect_approved("cosine_fail", all_texts(out, CosineAtLeast(golden, 0.9999)));
  expect_approved("relative_l2_fail", all_texts(out, RelativeL2AtMost(golden, 0.01)));
}

TEST(Approved, NoWorse) {
  const std::vector<double> golden = {1, 2, 4}, reference_implementation = {1.1, 2, 4},
                            worse = {1.3, 2, 4};
  expect_approved("no_worse_fail", all_texts(worse, NoWorseThan(reference_implementation, golden)));
  expect_approved("no_worse_pass",
                  all_texts(worse, NoWorseThan(reference_implementation, golden).factor(4)));
  expect_approved("no_worse_floor",
                  all_texts(worse, NoWorseThan(std::vector<double>(golden), golden).floor(0.1)));
  expect_approved("no_worse_itself", all_texts(worse, NoWorseThan(worse, golden)));
  expect_approved("no_worse_benchmark",
                  all_texts(worse, NoWorseThan(std::vector<double>{1, kNaN, 4}, golden)));
}

}  // namespace
}  // namespace assay
