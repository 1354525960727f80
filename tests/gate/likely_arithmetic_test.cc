// Tests causes that can only be found with the operands, by the whole sentence that the gate adds
// to a failure.
#include "assay/gate/likely_arithmetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "assay/gate/gate.h"
#include "assay/op/operator.h"
#include "emulated.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<double> nearly_normal(std::size_t n, std::uint64_t seed) {
  std::vector<double> values(n);
  std::uint64_t state = seed;
  for (double& v : values) {
    v = 0;
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      v += static_cast<double>(state >> 40) * 0x1p-24 - 0.5;
    }
    v = static_cast<double>(static_cast<float>(v));
  }
  return values;
}

constexpr std::int64_t kProductM = 24, kProductK = 64, kProductN = 24;

struct DrawnProduct {
  Case test_case;
  std::vector<double> a, b, bias, golden;

  DrawnProduct()
      : a(nearly_normal(kProductM * kProductK, 1)),
        b(nearly_normal(kProductK * kProductN, 2)),
        bias(nearly_normal(kProductN, 3)) {
    const Format& f = format_named("float32");
    test_case.name = "x";
    test_case.op = "matmul";
    test_case.inputs["a"] = Tensor::from_values(f, {kProductM, kProductK}, a);
    test_case.inputs["b"] = Tensor::from_values(f, {kProductK, kProductN}, b);
    test_case.inputs["bias"] = Tensor::from_values(f, {kProductN}, bias);
    test_case.output().golden = golden_result(test_case);
    golden = test_case.output().golden->view().values();
  }
  // Returns the gate's reason for an output that differs from the golden result by change(row,
  // column).
  std::string said(const std::function<double(std::int64_t, std::int64_t)>& change) const {
    std::vector<double> values = golden;
    for (std::int64_t p = 0; p < kProductM * kProductN; ++p) {
      values[static_cast<std::size_t>(p)] += change(p / kProductN, p % kProductN);
    }
    const CaseReport report = gate_case(
        test_case, Tensor::from_values(format_named("float32"), {kProductM, kProductN}, values),
        {.threads = 1});
    EXPECT_EQ(report.outcome(), Outcome::kFail);
    return report.because();
  }
  double term(std::int64_t row, std::int64_t column, std::int64_t k) const {
    return a[static_cast<std::size_t>(row * kProductK + k)] *
           b[static_cast<std::size_t>(k * kProductN + column)];
  }
};

TEST(LikelyCause, OfABias) {
  const DrawnProduct p;
  const auto at = [&](std::int64_t i) { return p.bias[static_cast<std::size_t>(i)]; };
  EXPECT_THAT(p.said([&](std::int64_t, std::int64_t j) { return -at(j); }),
              HasSubstr("; errors like those of a missing bias"));
  EXPECT_THAT(p.said([&](std::int64_t, std::int64_t j) { return at(j); }),
              HasSubstr("; errors like those of a bias that was added twice"));
  EXPECT_THAT(
      p.said([&](std::int64_t i, std::int64_t j) { return at(i) - at(j); }),
      HasSubstr("; errors like those of a bias that was added by row instead of by column"));
}

TEST(LikelyCause, OfTermsThatAreMissing) {
  const DrawnProduct p;
  const auto sum = [&](std::int64_t first, std::int64_t end, double sign) {
    return [&p, first, end, sign](std::int64_t i, std::int64_t j) {
      double total = 0;
      for (std::int64_t k = first; k < end; ++k) total += p.term(i, j, k);
      return sign * total;
    };
  };
  EXPECT_THAT(p.said(sum(48, 64, -1)),
              HasSubstr("; errors like those of a sum without the last 16 terms of 64"));
  EXPECT_THAT(p.said(sum(63, 64, -1)),
              HasSubstr("; errors like those of a sum without the last term of 64"));
  EXPECT_THAT(p.said(sum(32, 48, -1)),
              HasSubstr("; errors like those of a sum without terms 32 to 47 of 64"));
  EXPECT_THAT(p.said(sum(16, 32, 1)),
              HasSubstr("; errors like those of a sum with terms 16 to 31 of 64 added twice"));
}

// Errors that do not depend on the operands have no named cause, whatever their size.
TEST(LikelyCause, OfNoiseThereIsNone) {
  const DrawnProduct p;
  for (int e = -16; e <= 4; e += walks_a_share() ? 4 : 1) {
    const std::vector<double> noise =
        nearly_normal(kProductM * kProductN, 100 + static_cast<std::uint64_t>(e + 16));
    EXPECT_THAT(p.said([&](std::int64_t i, std::int64_t j) {
      return std::ldexp(noise[static_cast<std::size_t>(i * kProductN + j)], e);
    }),
                Not(HasSubstr("errors ")))
        << e;
  }
}

// A pattern of the output comes before a cause that only has errors of the same size.
TEST(LikelyCause, IsNotAskedIfThePatternExplainsTheFailure) {
  const DrawnProduct p;
  const std::string zeros = p.said([&](std::int64_t i, std::int64_t j) {
    return -p.golden[static_cast<std::size_t>(i * kProductN + j)];
  });
  EXPECT_THAT(zeros, Not(HasSubstr("errors ")));
  const std::string flip = p.said([&](std::int64_t i, std::int64_t j) {
    return i == 3 && j == 4 ? -2 * p.golden[static_cast<std::size_t>(i * kProductN + j)] : 0;
  });
  EXPECT_THAT(flip, Not(HasSubstr("errors ")));
}

TEST(LikelyCause, OfAMissingWeightOfLayernorm) {
  const Format& f = format_named("float32");
  Case c;
  c.name = "x";
  c.op = "layernorm";
  c.attributes["axis"] = std::int64_t{-1};
  c.attributes["eps"] = 1e-5;
  const std::vector<double> bias = nearly_normal(kProductN, 7);
  std::vector<double> weight = nearly_normal(kProductN, 6);
  for (double& w : weight) w = static_cast<double>(static_cast<float>(1.5 + 0.25 * w));
  c.inputs["x"] =
      Tensor::from_values(f, {kProductM, kProductN}, nearly_normal(kProductM * kProductN, 5));
  c.inputs["weight"] = Tensor::from_values(f, {kProductN}, weight);
  c.inputs["bias"] = Tensor::from_values(f, {kProductN}, bias);
  c.output().golden = golden_result(c);
  std::vector<double> values = c.output().golden->view().values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t column = i % bias.size();
    values[i] = (values[i] - bias[column]) / weight[column] + bias[column];
  }
  EXPECT_THAT(gate_case(c, Tensor::from_values(f, {kProductM, kProductN}, values), {.threads = 1})
                  .because(),
              HasSubstr("; errors like those of a missing weight"));
}

TEST(LikelyCause, OfTheLastElementOfASum) {
  const Format& f = format_named("float32");
  Case c;
  c.name = "x";
  c.op = "reduce_sum";
  c.attributes["axis"] = std::int64_t{-1};
  const std::vector<double> x = nearly_normal(kProductM * kProductN, 8);
  c.inputs["x"] = Tensor::from_values(f, {kProductM, kProductN}, x);
  c.output().golden = golden_result(c);
  std::vector<double> values = c.output().golden->view().values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] -=
        x[i * static_cast<std::size_t>(kProductN) + static_cast<std::size_t>(kProductN) - 1];
  }
  EXPECT_THAT(gate_case(c, Tensor::from_values(f, {kProductM}, values), {.threads = 1}).because(),
              HasSubstr("; errors like those of a sum without the last term of 24"));
}

}  // namespace
}  // namespace assay
