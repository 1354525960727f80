// Compares draws with the probabilities of their distributions: moments, and the Kolmogorov-Smirnov
// distance. The seeds are fixed, so a test that passes once always passes. A right distribution
// exceeds the limits for one seed in a thousand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "assay/tensor/distribution.h"

namespace assay {
namespace {

constexpr std::int64_t kDraws = 40000;
constexpr double kLimit = 1.9495;  // P(sqrt(n) D > 1.9495) = 0.001 (Smirnov 1948)

std::vector<double> drawn(const std::string& text) {
  return draw(parse_distribution(text), format_named("float64"), {kDraws}, 20, 30).view().values();
}

using Probability = std::function<double(double)>;

// Returns sqrt(n) times the largest distance between the draws' distribution and P(X <= x).
double distance(std::vector<double> values, const Probability& below) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double p = below(values[i]), rank = static_cast<double>(i);
    most = std::max({most, p - rank / n, (rank + 1) / n - p});
  }
  return most * std::sqrt(n);
}

double normal(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

struct Row {
  std::string text;
  Probability below;
};

double student_3(double t) {
  const double x = t / std::sqrt(3.0);
  return 0.5 + (x / (1 + x * x) + std::atan(x)) / std::numbers::pi;
}
double student_2(double t) { return 0.5 + t / (2 * std::sqrt(2 + t * t)); }

std::vector<Row> rows() {
  const auto truncated = [](double low, double high) {
    return [=](double x) { return (normal(x) - normal(low)) / (normal(high) - normal(low)); };
  };
  return {
      {"normal", normal},
      {"normal,mean=2,deviation=3,scale=-0.5",
       [](double x) { return 1 - normal((x / -0.5 - 2) / 3); }},
      {"uniform", [](double x) { return (x + 1) / 2; }},
      {"uniform,low=2,high=7", [](double x) { return (x - 2) / 5; }},
      {"truncated_normal", truncated(-1, 1)},
      {"truncated_normal,low=-0.25,high=3", truncated(-0.25, 3)},
      {"truncated_normal,low=-5,high=-4", truncated(-5, -4)},
      // In the upper tail, 1 - P is computed from the lower tail, in which it is precise.
      {"truncated_normal,low=6,high=7",
       [](double x) { return 1 - (normal(-x) - normal(-7)) / (normal(-6) - normal(-7)); }},
      {"folded_normal,mean=1", [](double x) { return normal(x - 1) - normal(-x - 1); }},
      {"folded_normal,shift=0.5", [](double x) { return 2 * normal(x - 0.5) - 1; }},
      {"student_t,nu=1", [](double x) { return 0.5 + std::atan(x) / std::numbers::pi; }},
      {"student_t,nu=2", student_2},
      {"student_t", student_3},
      {"student_t,nu=1e9", normal},
      {"lognormal", [](double x) { return normal(std::log(x)); }},
      {"lognormal,mu=1,sigma=0.25", [](double x) { return normal((std::log(x) - 1) / 0.25); }},
      {"outlier_channels,count=1,factor=1", normal},
      {"correlated,rho=0.6,standard=1", normal},
      {"correlated,rho=0.5", [](double x) { return normal(x / std::sqrt(0.5)); }},
      {"specials,zeros=0,negative_zeros=0,infinities=0,nans=0,largest=0", normal},
  };
}

TEST(DistributionShapeTest, KolmogorovSmirnov) {
  for (const Row& row : rows()) {
    const double seen = distance(drawn(row.text), row.below);
    EXPECT_LT(seen, kLimit) << row.text;
    EXPECT_GT(seen, 0.3) << row.text << ": nearer than chance allows";
  }
}

// The distance shows wrong distributions: 3 to 5 percent of scale, mean or a limit, another number
// of degrees of freedom, and clamping in place of truncation.
TEST(DistributionShapeTest, AWrongDistributionIsFar) {
  EXPECT_GT(distance(drawn("normal,deviation=1.05"), normal), kLimit);
  EXPECT_GT(distance(drawn("normal,mean=0.03"), normal), kLimit);
  EXPECT_GT(distance(drawn("student_t,nu=3"), student_2), kLimit);
  EXPECT_GT(distance(drawn("uniform,low=-1.03"), [](double x) { return (x + 1) / 2; }), kLimit);
  const auto truncated = [](double x) {
    return (normal(x) - normal(-1)) / (normal(1) - normal(-1));
  };
  EXPECT_GT(distance(drawn("clamped_normal"), truncated), kLimit);
}

TEST(DistributionShapeTest, Moments) {
  struct Expected {
    const char* text;
    // These are central moments. A fourth moment of 0 is not checked.
    double mean, variance, fourth;
  };
  const double e = std::numbers::e;
  // Truncated to [-1, 1]: variance 1 - 2 phi(1) / (2 Phi(1) - 1).
  const double phi = std::exp(-0.5) / std::sqrt(2 * std::numbers::pi), mass = 2 * normal(1) - 1;
  const double clamped = mass - 2 * phi + 2 * normal(-1);
  for (const Expected& row : {
           Expected{"normal", 0, 1, 3},
           Expected{"normal,mean=1e-6", 1e-6, 1, 3},
           Expected{"normal,mean=5,deviation=2,scale=0.5", 2.5, 1, 3},
           Expected{"uniform,low=-6,high=6", 0, 12, 144 * 144 / 80.0},
           Expected{"truncated_normal", 0, 1 - 2 * phi / mass, 0},
           Expected{"clamped_normal", 0, clamped, 0},
           Expected{"folded_normal", std::sqrt(2 / std::numbers::pi), 1 - 2 / std::numbers::pi, 0},
           Expected{"student_t,nu=10", 0, 1.25, 0},
           Expected{"lognormal,sigma=0.5", std::exp(0.125), (std::exp(0.25) - 1) * std::exp(0.25),
                    0},
           Expected{"correlated,rho=0.5", 0, 0.5, 0.75},
           Expected{"integers,low=-8,high=8", 0, 24, 0},
           Expected{"lognormal", std::sqrt(e), 0, 0},
       }) {
    const std::vector<double> values = drawn(row.text);
    const auto n = static_cast<double>(values.size());
    double mean = 0, variance = 0, fourth = 0;
    for (const double v : values) mean += v / n;
    for (const double v : values) {
      const double square = (v - mean) * (v - mean);
      variance += square / n;
      fourth += square * square / n;
    }
    EXPECT_NEAR(mean, row.mean, 4 * std::sqrt(variance / n)) << row.text;
    if (row.variance > 0) {
      EXPECT_NEAR(variance, row.variance, 4 * std::sqrt(fourth / n)) << row.text;
    }
    if (row.fourth > 0) {
      EXPECT_NEAR(fourth, row.fourth, 0.08 * row.fourth) << row.text;
    }
  }
}

}  // namespace
}  // namespace assay
