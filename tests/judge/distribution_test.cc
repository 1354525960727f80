// Tests draws against their laws. Right draws fail only as rarely as stated, in every output
// format, and the usual errors of generators are found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/judge/draw_distribution.h"
#include "assay/judge/draw_tests.h"
#include "assay/judge/regate.h"
#include "emulated.h"
#include "error_of.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Values = std::vector<double>;
constexpr std::int64_t kDraws = 1 << 14;

Values drawn(std::int64_t n, std::uint64_t seed, const std::function<double(Random&)>& draw) {
  Random random(seed, stream_of("distribution_test"));
  Values values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(draw(random));
  return values;
}

Values uniforms(std::int64_t n, std::uint64_t seed) {
  return drawn(n, seed, [](Random& r) { return r.uniform(); });
}
Values normals(std::int64_t n, std::uint64_t seed) {
  return drawn(n, seed, [](Random& r) { return r.normal(); });
}
Values bernoullis(std::int64_t n, std::uint64_t seed, double p) {
  return drawn(n, seed, [p](Random& r) { return r.uniform() < p ? 1.0 : 0.0; });
}

Tensor tensor_of(const Values& values, const char* dtype = "float32", Shape shape = {}) {
  if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
  return Tensor::from_values(format_named(dtype), shape, values);
}

Verdict verdict_of(const std::string& law, const TensorView& actual, const TensorView& expected) {
  const auto bound = standard_bound(formatted("distribution({})", law), *actual.format);
  return judge(actual, expected, *bound);
}
Verdict verdict_of(const std::string& law, const Tensor& actual) {
  return verdict_of(law, actual.view(), actual.view());
}

// -- Right draws ----------------------------------------------------------------------------------

struct RightDraws {
  std::string name, law, dtype;
  std::function<Values(std::uint64_t seed)> draw;
};

// Draws values on the grid of a generator with `bits` random bits: multiples of 2^-bits, cut off.
// Frameworks draw them in this way in narrow formats.
std::function<Values(std::uint64_t)> on_grid(int bits, std::int64_t n) {
  return [=](std::uint64_t seed) {
    return drawn(n, seed, [bits](Random& r) {
      return std::ldexp(std::floor(std::ldexp(r.uniform(), bits)), -bits);
    });
  };
}

constexpr std::int64_t kFew = 2048;

std::vector<RightDraws> right_draws() {
  std::vector<RightDraws> all;
  const auto of_uniforms = [](const std::function<double(double)>& change) {
    return [change](std::uint64_t seed) {
      Values values = uniforms(kFew, seed);
      for (double& v : values) v = change(v);
      return values;
    };
  };
  for (const char* dtype : {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn"}) {
    all.push_back({formatted("uniform {}", dtype), "uniform", dtype,
                   [](std::uint64_t seed) { return uniforms(kFew, seed); }});
    all.push_back({formatted("uniform from -6 to 2, {}", dtype), "uniform,low=-6,high=2", dtype,
                   of_uniforms([](double u) { return 8 * u - 6; })});
    all.push_back({formatted("normal {}", dtype), "normal", dtype,
                   [](std::uint64_t seed) { return normals(kFew, seed); }});
    all.push_back({formatted("exponential {}", dtype), "exponential,rate=0.5", dtype,
                   of_uniforms([](double u) { return -2 * std::log1p(-u); })});
  }
  all.push_back(
      {"uniform of 8 bits in bfloat16", "uniform,open_high=1", "bfloat16", on_grid(8, kFew)});
  all.push_back(
      {"uniform of 7 bits in bfloat16", "uniform,open_high=1", "bfloat16", on_grid(7, kFew)});
  all.push_back(
      {"uniform of 11 bits in float16", "uniform,open_high=1", "float16", on_grid(11, kFew)});
  all.push_back(
      {"uniform of 24 bits in float32", "uniform,open_high=1", "float32", on_grid(24, kFew)});
  all.push_back({"uniform of 23 bits in float64", "uniform", "float64", on_grid(23, kFew)});
  all.push_back({"integers", "integers,high=99", "int32",
                 of_uniforms([](double u) { return std::floor(100 * u); })});
  all.push_back({"a coin", "integers,low=-1,high=0", "int8",
                 of_uniforms([](double u) { return std::floor(2 * u) - 1; })});
  for (const double p : {0.003, 0.1, 0.5}) {
    all.push_back({formatted("bernoulli {}", p), formatted("bernoulli,p={}", p), "float16",
                   [p](std::uint64_t seed) { return bernoullis(kFew, seed, p); }});
  }
  return all;
}

const int kRepeats = walks_a_share() ? 30 : 300;

// If each of 300 right tensors fails with a probability of 5 percent, the probability that more
// than 36 fail is below 1e-6.
TEST(DistributionRates, RightDrawsFailNoMoreOftenThanIsStated) {
  for (const RightDraws& right : right_draws()) {
    int failed = 0;
    std::string words;
    for (int i = 0; i < kRepeats; ++i) {
      const Tensor t = tensor_of(right.draw(static_cast<std::uint64_t>(i)), right.dtype.c_str());
      const Verdict v = verdict_of(right.law + ",delta=0.05", t);
      EXPECT_EQ(v.mismatches, 0) << right.name << ": " << v.because;
      if (v.outcome == Outcome::kFail) ++failed, words = v.because;
    }
    EXPECT_LE(failed, 36) << right.name << ": " << words;
  }
}

// For right draws, a test whose law is known exactly has a p-value below p with probability p. A
// test by an inequality has it less often.
TEST(DistributionRates, PValuesAreProbabilities) {
  int mean = 0, deviation = 0, function = 0, serial = 0;
  constexpr int kRuns = 1000;
  for (int i = 0; i < kRuns; ++i) {
    const Tensor t = tensor_of(normals(500, static_cast<std::uint64_t>(i)), "float64");
    const Verdict v = verdict_of("normal", t);
    ASSERT_EQ(v.tests.size(), 6u);
    for (const DrawTest& test : v.tests) {
      const bool small = test.p_value < 0.1;
      if (test.name == "mean") mean += small;
      if (test.name == "deviation") deviation += small;
      if (test.name == "distribution function") function += small;
      if (test.name == "serial correlation") serial += small;
    }
  }
  // 100 p-values below 0.1 are expected among 1000. The standard deviation is 9.5, and five of them
  // are allowed.
  EXPECT_NEAR(mean, 100, 48);
  EXPECT_NEAR(deviation, 100, 48);
  EXPECT_LE(function, 148);
  EXPECT_GE(function, 40);
  EXPECT_LE(serial, 148);
}

TEST(DistributionRates, BinomialTails) {
  // 3 of 10 at 1/2: 2 (1 + 10 + 45 + 120) / 1024.
  EXPECT_NEAR(binomial_p_value(3, 10, 0.5, 0), 2.0 * 176 / 1024, 1e-12);
  EXPECT_NEAR(binomial_p_value(10, 10, 0.5, 0), 2.0 / 1024, 1e-12);
  EXPECT_EQ(binomial_p_value(5, 10, 0.5, 0), 1);
  EXPECT_NEAR(binomial_p_value(0, 1000, 0.01, 0), 2 * std::pow(0.99, 1000), 1e-12);
  // The slack never moves a share above 1 or below 0.
  EXPECT_EQ(binomial_p_value(10, 10, 1, 0.125), 1);
  EXPECT_NEAR(binomial_p_value(3, 10, 1, 0.5), 2.0 * 176 / 1024, 1e-12);
  EXPECT_EQ(binomial_p_value(0, 10, 0, 0.125), 1);
}

// -- What generators get wrong --------------------------------------------------------------------

// Expects that the verdict fails because of the test or words in `by`.
void expect_found(const Verdict& v, const char* by) {
  EXPECT_EQ(v.outcome, Outcome::kFail) << v.because;
  EXPECT_THAT(v.because, HasSubstr(by));
}

TEST(DistributionDefects, OfUniformNumbers) {
  const Values right = uniforms(kDraws, 1);
  const auto changed = [&](const std::function<double(double)>& change) {
    Values values = right;
    std::transform(values.begin(), values.end(), values.begin(), change);
    return values;
  };
  for (const char* dtype : {"float32", "float16", "bfloat16"}) {
    SCOPED_TRACE(dtype);
    EXPECT_EQ(verdict_of("uniform", tensor_of(right, dtype)).outcome, Outcome::kPass);
    const auto judged = [&](const Values& values) {
      return verdict_of("uniform", tensor_of(values, dtype));
    };
    expect_found(judged(changed([](double u) { return u * u; })), "distribution function");
    expect_found(judged(changed([](double u) { return 0.95 * u; })), "ends nothing in");
    expect_found(judged(changed([](double u) { return 0.05 + 0.95 * u; })), "ends nothing in");
    expect_found(judged(Values(kDraws, 0.25)), "distribution function");
    expect_found(judged(Values(kDraws, 0)), "distribution function");
    expect_found(judged(changed([](double u) { return 2 * u; })), "outside the law's range");
    Values sorted = right;
    std::sort(sorted.begin(), sorted.end());
    expect_found(judged(sorted), "serial correlation");
    // Every value occurs twice in a row, as if two lanes drew the same numbers.
    Values lanes = right;
    for (std::size_t i = 0; i + 1 < lanes.size(); i += 2) lanes[i + 1] = lanes[i];
    expect_found(judged(lanes), "between elements 1 apart");
    // Two blocks are equal, as if they had one seed.
    Values blocks = right;
    std::copy_n(right.begin() + 1000, 256, blocks.begin() + 9001);
    expect_found(
        judged(blocks),
        "repeats the 256 values from draw 1 000 on are the same as those from draw 9 001 on");
  }
}

TEST(DistributionDefects, RowsOfOneSeed) {
  Values rows = uniforms(4096, 3);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = rows[i % 100];
  expect_found(verdict_of("uniform", tensor_of(Values(rows.begin(), rows.begin() + 4000),
                                               "bfloat16", {40, 100})),
               "between elements 100 apart");
}

TEST(DistributionDefects, AnEndThatIsOpenIsNoValue) {
  Values values = uniforms(kDraws, 4);
  values[77] = 1;
  EXPECT_EQ(verdict_of("uniform", tensor_of(values)).outcome, Outcome::kPass);
  const Verdict v = verdict_of("uniform,open_high=1", tensor_of(values));
  EXPECT_EQ(v.because,
            "1 of 16 384 elements cannot be draws of uniform,low=0,high=1,open_high=1: they are "
            "outside the law's range from 0 to 1; the first is element 77, 1");
  EXPECT_EQ(v.mismatches, 1);
  EXPECT_EQ(v.special_mismatches, 0);
  EXPECT_TRUE(v.worst.empty()) << "no one value was to be drawn there";
  values[77] = std::nan("");
  EXPECT_EQ(verdict_of("uniform", tensor_of(values)).special_mismatches, 1);
}

TEST(DistributionDefects, OfNormalNumbers) {
  const Values right = normals(kDraws, 5);
  const auto judged = [&](const std::function<double(double)>& change) {
    Values values = right;
    std::transform(values.begin(), values.end(), values.begin(), change);
    return verdict_of("normal", tensor_of(values));
  };
  EXPECT_EQ(judged([](double z) { return z; }).outcome, Outcome::kPass);
  expect_found(judged([](double z) { return z + 0.05; }), "mean=0,deviation=1: mean 0.0448");
  expect_found(judged([](double z) { return 1.05 * z; }), "deviation 1.04");
  expect_found(judged([](double z) { return 0.95 * z; }), "deviation 0.9");
  expect_found(judged([](double z) { return std::clamp(z, -2.5, 2.5); }), "ends nothing in");
  expect_found(judged([](double z) { return std::abs(z); }), "distribution function");
  expect_found(judged([](double z) { return z > 2 ? HUGE_VAL : z; }), "not finite");
  // Uniform numbers with the mean and deviation of normal ones are found, too.
  Values uniform = uniforms(kDraws, 6);
  for (double& u : uniform) u = (u - 0.5) * std::sqrt(12.0);
  expect_found(verdict_of("normal", tensor_of(uniform)), "distribution function");
}

TEST(DistributionDefects, OfShares) {
  EXPECT_EQ(verdict_of("bernoulli,p=0.1", tensor_of(bernoullis(kDraws, 7, 0.1))).outcome,
            Outcome::kPass);
  expect_found(verdict_of("bernoulli,p=0.1", tensor_of(bernoullis(kDraws, 7, 0.12))),
               "share of ones");
  expect_found(verdict_of("bernoulli,p=0.1", tensor_of(bernoullis(kDraws, 7, 0.9))),
               "share of ones");
  Values values = bernoullis(kDraws, 7, 0.1);
  values[9] = 0.5;
  expect_found(verdict_of("bernoulli,p=0.1", tensor_of(values)), "neither 0 nor 1");
  Values periodic;
  for (std::int64_t i = 0; i < kDraws; ++i) periodic.push_back(i % 10 == 0 ? 1 : 0);
  expect_found(verdict_of("bernoulli,p=0.1", tensor_of(periodic)), "repeats");
}

// If two draws are 1 with probability 1/4, at least one is 1 with probability 7/16, and at most one
// with probability 15/16. The p-value of a single 1 is twice the smaller of both, although this
// count is next to the expected one.
TEST(DistributionRates, ShareOfFewDrawsIsBinomial) {
  const Verdict v = verdict_of("bernoulli,p=0.25", tensor_of({1, 0}));
  ASSERT_FALSE(v.tests.empty());
  EXPECT_EQ(v.tests[0].name, "share of ones");
  EXPECT_NEAR(v.tests[0].p_value, 14.0 / 16, 1e-6);
}

TEST(DistributionDefects, OfIntegers) {
  Values values = uniforms(kDraws, 8);
  for (double& v : values) v = std::floor(10 * v);
  EXPECT_EQ(verdict_of("integers,high=9", tensor_of(values, "int32")).outcome, Outcome::kPass);
  expect_found(verdict_of("integers,high=10", tensor_of(values, "int32")), "counts");
  expect_found(verdict_of("integers,high=8", tensor_of(values, "int32")),
               "no whole number from 0 to 8");
  for (double& v : values) v = v == 7 ? 8 : v;
  expect_found(verdict_of("integers,high=9", tensor_of(values, "int32")), "0 of 16 384 are 7");
}

// -- Dropout --------------------------------------------------------------------------------------

struct Dropout {
  Tensor x, y;
};
Dropout dropout(const char* dtype, double p, double factor, std::uint64_t seed) {
  const Tensor x = tensor_of(normals(kDraws, 100 + seed), dtype);
  const Values keep = bernoullis(kDraws, seed, 1 - p);
  Values y = x.view().values();
  const Format& f = format_named(dtype);
  // The factor is also rounded to the output's format, as some kernels do.
  for (std::size_t i = 0; i < y.size(); ++i) y[i] *= keep[i] * round_to(f, factor);
  return {x, tensor_of(y, dtype)};
}

TEST(DistributionDropout, ZerosAreCountedAndTheRestIsScaled) {
  for (const char* dtype : {"float32", "float16", "bfloat16"}) {
    SCOPED_TRACE(dtype);
    const Dropout right = dropout(dtype, 0.1, 1 / 0.9, 1);
    const Verdict v = verdict_of("dropout,p=0.1", right.y.view(), right.x.view());
    EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
    EXPECT_THAT(v.because, HasSubstr("16 384 draws agree with dropout,p=0.1: the least p-value of "
                                     "3 tests is "));
    ASSERT_EQ(v.notes.size(), 2u);
    EXPECT_THAT(v.notes[0], HasSubstr("a share of zeros that differs by less than about 0.0131"));
    const Dropout unscaled = dropout(dtype, 0.1, 1, 1);
    const Verdict u = verdict_of("dropout,p=0.1", unscaled.y.view(), unscaled.x.view());
    expect_found(u, "neither 0 nor 1.11111 times what was expected");
    EXPECT_EQ(u.worst.size(), 5u);
    const Dropout often = dropout(dtype, 0.12, 1 / 0.9, 1);
    expect_found(verdict_of("dropout,p=0.1", often.y.view(), often.x.view()), "share of zeros");
    const Dropout never = dropout(dtype, 0, 1 / 0.9, 1);
    expect_found(verdict_of("dropout,p=0.1", never.y.view(), never.x.view()),
                 "share of zeros 0 of 16 384");
  }
}

TEST(DistributionDropout, AMaskThatComesTwiceIsFound) {
  Dropout d = dropout("float32", 0.3, 1 / 0.7, 2);
  Values y = d.y.view().values();
  const Values x = d.x.view().values();
  for (std::size_t i = 0; i < 2048; ++i) y[8192 + i] = y[i] == 0 ? 0 : x[8192 + i] / 0.7;
  const Tensor masked = tensor_of(y);
  expect_found(verdict_of("dropout,p=0.3", masked.view(), d.x.view()), "repeats the 2 0");
}

TEST(DistributionDropout, ZerosOfTheInputTellNothing) {
  Values x = normals(kDraws, 3);
  for (std::size_t i = 0; i < x.size(); i += 2) x[i] = 0;
  const Tensor input = tensor_of(x), none = tensor_of(Values(kDraws, 0));
  const Values keep = bernoullis(kDraws, 9, 0.5);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= 2 * keep[i];
  const Verdict v = verdict_of("dropout,p=0.5", tensor_of(x).view(), input.view());
  EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
  EXPECT_THAT(v.notes[1], HasSubstr("of 8 192 zeros"));
  EXPECT_EQ(verdict_of("dropout,p=0.5", none.view(), none.view()).outcome, Outcome::kNotComparable);
}

// -- Sampling -------------------------------------------------------------------------------------

struct Sampled {
  Tensor probabilities, classes;
};
// Draws one class for each row. Row i is drawn from the probabilities of row from(i), which is i
// for right draws.
Sampled sampled(std::int64_t rows, const std::function<std::int64_t(std::int64_t)>& from) {
  constexpr std::int64_t kClasses = 8;
  Random random(10, stream_of("sampled"));
  Values p, drawn_classes;
  for (std::int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    Values row;
    for (std::int64_t j = 0; j < kClasses; ++j) {
      row.push_back(std::exp(2 * random.normal()));
      sum += row.back();
    }
    for (const double v : row) p.push_back(v / sum);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    const double u = random.uniform();
    const std::int64_t r = from(i);
    double sum = 0;
    std::int64_t j = 0;
    while (j + 1 < kClasses && (sum += p[static_cast<std::size_t>(r * kClasses + j)]) < u) ++j;
    drawn_classes.push_back(static_cast<double>(j));
  }
  return {tensor_of(p, "float64", {rows, kClasses}), tensor_of(drawn_classes, "int64")};
}

TEST(DistributionSampling, EveryRowHasItsOwnLaw) {
  const Sampled right = sampled(kDraws, [](std::int64_t i) { return i; });
  const Verdict v = verdict_of("categorical", right.classes.view(), right.probabilities.view());
  EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
  const Sampled next = sampled(kDraws, [](std::int64_t i) { return (i + 1) % kDraws; });
  expect_found(verdict_of("categorical", next.classes.view(), next.probabilities.view()),
               "probability of what was drawn");
  Values greedy;
  for (std::int64_t i = 0; i < kDraws; ++i) {
    std::int64_t best = 0;
    for (std::int64_t j = 1; j < 8; ++j) {
      if (right.probabilities.view().value_at(i * 8 + j) >
          right.probabilities.view().value_at(i * 8 + best)) {
        best = j;
      }
    }
    greedy.push_back(static_cast<double>(best));
  }
  expect_found(
      verdict_of("categorical", tensor_of(greedy, "int64").view(), right.probabilities.view()),
      "probability of what was drawn");
  Values shifted = right.classes.view().values();
  for (double& c : shifted) c = std::min(7.0, c + 1);
  expect_found(
      verdict_of("categorical", tensor_of(shifted, "int64").view(), right.probabilities.view()),
      "counts");
  shifted[3] = 8;
  expect_found(
      verdict_of("categorical", tensor_of(shifted, "int64").view(), right.probabilities.view()),
      "no class from 0 to 7");
}

TEST(DistributionSampling, OneRowOfProbabilitiesForAll) {
  const Tensor p = tensor_of({0.5, 0.25, 0, 0.25}, "float64");
  const Values right = drawn(kDraws, 11, [](Random& r) {
    const double u = r.uniform();
    return u < 0.5 ? 0.0 : u < 0.75 ? 1.0 : 3.0;
  });
  EXPECT_EQ(verdict_of("categorical", tensor_of(right, "int32").view(), p.view()).outcome,
            Outcome::kPass);
  const Values equal = drawn(kDraws, 11, [](Random& r) {
    const double u = std::floor(3 * r.uniform());
    return u == 2 ? 3 : u;
  });
  expect_found(verdict_of("categorical", tensor_of(equal, "int32").view(), p.view()), "counts");
  Values wrong = right;
  wrong[5] = 2;
  expect_found(verdict_of("categorical", tensor_of(wrong, "int32").view(), p.view()),
               "with a probability above 0");
  EXPECT_THAT(verdict_of("categorical", tensor_of(right, "int32").view(),
                         tensor_of({0.5, 0.25}, "float64").view())
                  .because,
              HasSubstr("sum to 0.75"));
  EXPECT_THAT(verdict_of("categorical", tensor_of(right, "int32").view(),
                         tensor_of(Values(20, 0.25), "float64", {5, 4}).view())
                  .because,
              HasSubstr("need probabilities of shape [classes]"));
}

// Right draws fail with a probability of at most 5 percent (delta). Here each row has a law of its
// own.
TEST(DistributionSampling, RightDrawsFailNoMoreOftenThanIsStated) {
  int failed = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    const Sampled s = sampled(1000 + i, [](std::int64_t row) { return row; });
    const Verdict v =
        verdict_of("categorical,delta=0.05", s.classes.view(), s.probabilities.view());
    failed += v.outcome == Outcome::kFail ? 1 : 0;
  }
  EXPECT_LE(failed, 12);
}

// -- What is said, and what is refused ------------------------------------------------------------

TEST(Distribution, FewDrawsTellNothing) {
  const Verdict v = verdict_of("uniform", tensor_of(uniforms(20, 1)));
  EXPECT_EQ(v.outcome, Outcome::kUntrusted);
  EXPECT_EQ(v.because,
            "20 draws are too few, because the same value throughout would pass as well; give more "
            "draws");
  EXPECT_EQ(verdict_of("bernoulli,p=0.1", tensor_of(bernoullis(60, 1, 0.1))).outcome,
            Outcome::kUntrusted);
  EXPECT_EQ(verdict_of("uniform", tensor_of({})).outcome, Outcome::kUntrusted);
}

// A constant output at the median deviates by only 1/2 from the distribution function. The draws
// are too few if chance and the roundings of the draws leave 1/2 or more open, because such an
// output would then pass. The inequality of Dvoretzky, Kiefer, Wolfowitz and Massart gives the part
// of chance.
TEST(Distribution, TooFewDrawsAreThoseThatAConstantWouldPass) {
  int trusted = 0, distrusted = 0, by_rounding = 0;
  for (const char* dtype : {"bfloat16", "float8_e4m3fn", "float8_e5m2"}) {
    const Format& f = format_named(dtype);
    for (const std::int64_t n : {30, 34, 40, 48, 64, 96, 128, 192, 256}) {
      const Tensor draws = tensor_of(uniforms(n, 3), dtype);
      const Verdict v = verdict_of("uniform", draws);
      // Values of coarse formats may repeat too often, which is a failure for another reason.
      if (v.outcome == Outcome::kFail) continue;
      double half = 0;
      for (const double x : draws.view().values()) {
        const double open = ulp_of(f, x) + std::ldexp(1.0, 1 - f.precision);
        half += (std::min(1.0, x + open) - std::max(0.0, x - open)) / 2;
      }
      half /= static_cast<double>(n);
      const double chance = std::sqrt(std::log(2 / (1e-6 / 5)) / (2 * static_cast<double>(n)));
      const bool too_few = chance + half >= 0.5;
      EXPECT_EQ(v.outcome, too_few ? Outcome::kUntrusted : Outcome::kPass) << dtype << " " << n;
      ++(too_few ? distrusted : trusted);
      by_rounding += too_few && chance < 0.5 ? 1 : 0;
    }
  }
  EXPECT_GT(trusted, 5);
  EXPECT_GT(distrusted, 5);
  EXPECT_GT(by_rounding, 2);
}

TEST(Distribution, AVerdictSaysStatisticsPValuesAndWhatIsNotTold) {
  const Verdict v = verdict_of("uniform", tensor_of(uniforms(kDraws, 12), "bfloat16"));
  ASSERT_EQ(v.tests.size(), 5u);
  EXPECT_DOUBLE_EQ(v.tests[0].limit, 1e-6 / 5);
  ASSERT_EQ(v.notes.size(), 2u);
  EXPECT_THAT(v.notes[0], AllOf(HasSubstr("a distribution function that differs by less than 0.0"),
                                HasSubstr("16 384 draws; 0.0"),
                                HasSubstr("of this is due to the rounding to bfloat16")));
  EXPECT_THAT(
      v.notes[1],
      AllOf(HasSubstr("tests of 16 384 draws, each of which fails if its p is below 2e-07: "),
            HasSubstr("distribution function differs by at most "),
            HasSubstr("serial correlation "), HasSubstr("mean of F 0.")));
  EXPECT_EQ(v.bound.text(), "draws of uniform, false alarms 1e-06");
  EXPECT_LT(v.worst_ratio, 1);
  EXPECT_FALSE(v.metrics);
}

TEST(Distribution, WrongWordsAreNamed) {
  const auto error = [](const char* law) {
    return error_of(
        [&] { (void)standard_bound(formatted("distribution({})", law), format_named("float32")); });
  };
  EXPECT_THAT(error("unifrom"), HasSubstr("did you mean 'uniform'?"));
  EXPECT_THAT(error("uniform,lo=1"), HasSubstr("did you mean 'low'?"));
  EXPECT_EQ(error("dropout,p=1"), "distribution 'dropout,p=1': p must be below 1, not 1");
  EXPECT_THAT(error("normal,deviation=0"), HasSubstr("deviation must be a number above 0"));
  EXPECT_THAT(error("normal,delta=0"), HasSubstr("delta must be a number above 0 and at most 0.5"));
  EXPECT_THAT(error(""), HasSubstr("unknown law"));
  const Tensor t = tensor_of(uniforms(100, 1));
  EXPECT_EQ(verdict_of("dropout", t).because,
            "the law dropout needs p, the probability of 0: give it in the standard, as in "
            "distribution(dropout,p=0.5), or as the case's attribute p");
  EXPECT_EQ(verdict_of("uniform,low=1", t).outcome, Outcome::kNotComparable);
  EXPECT_THAT(verdict_of("normal", tensor_of({1, 2, 3}, "int32")).because,
              HasSubstr("the law normal is for floats, but the output is int32"));
}

TEST(Distribution, ALawSaysWhatItHasNot) {
  const LawSpec spec = parse_law("uniform,low=-1");
  EXPECT_EQ(spec.get("low"), -1);
  EXPECT_EQ(spec.get("high"), 1);
  try {
    (void)spec.get("mean");
    ADD_FAILURE() << "it has a mean";
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "the law uniform has no parameter mean");
  }
}

TEST(Distribution, StandardsAreToldApartByCommasOutsideOfBrackets) {
  EXPECT_THAT(standard_words("torch, distribution(uniform,low=0,high=2) ,ulp(4)"),
              testing::ElementsAre("torch", "distribution(uniform,low=0,high=2)", "ulp(4)"));
  EXPECT_EQ(standard_word("bfloat16=distribution(normal,mean=1)").dtype, "bfloat16");
  EXPECT_EQ(standard_word("distribution(normal,mean=1)").dtype, "");
}

TEST(Distribution, SavedMetricsDoNotTell) {
  SavedResult saved;
  saved.format = &format_named("float32");
  saved.sites = 100;
  saved.metrics.emplace_back();
  const Verdict v = regate(saved, *standard_bound("distribution(uniform)", *saved.format));
  EXPECT_EQ(v.outcome, Outcome::kNotComparable);
  EXPECT_THAT(v.because, HasSubstr("distribution(uniform) tests the draws themselves"));
}

// For a kept element, the factor and the product may both be rounded. Together they may be off by
// 5/4 of an ulp of 2, but not by two ulps.
TEST(DistributionDropout, AKeptElementIsTwoRoundingsOffAtMost) {
  const auto mismatches = [](double y) {
    const Tensor x = tensor_of({1, 1, 1}), output = tensor_of({0, 2, y});
    return verdict_of("dropout,p=0.5", output.view(), x.view()).mismatches;
  };
  for (const double sign : {1.0, -1.0}) {
    EXPECT_EQ(mismatches(2 + sign * 0x1p-22), 0);
    EXPECT_EQ(mismatches(2 + sign * 0x1p-21), 1);
  }
}

// Probabilities must sum to 1, to within a thousandth.
TEST(DistributionSampling, ProbabilitiesSumToOne) {
  const auto because = [](double more) {
    const Values classes(64, 0);
    return verdict_of("categorical", tensor_of(classes, "int32").view(),
                      tensor_of({0.5, 0.5 + more}, "float64").view())
        .because;
  };
  EXPECT_THAT(because(0x1p-10), testing::Not(HasSubstr("sum to")));
  EXPECT_THAT(because(-0x1p-10), testing::Not(HasSubstr("sum to")));
  EXPECT_THAT(because(3 * 0x1p-11), HasSubstr("the probabilities of draw 0 sum to 1.00146"));
  EXPECT_THAT(because(-3 * 0x1p-11), HasSubstr("the probabilities of draw 0 sum to 0.99853"));
}

// All draws are one of two equally likely classes, so that the distribution function is 1/4 from
// its middle at each draw. Products of neighbours, their variance and the variance proxy are then
// 1/16 each. With seven lags and L = log(14 / limit), the inequality gives 14 exp(L - sqrt(2 L
// pairs)). This is smallest for direct neighbours, which have the most pairs.
TEST(DistributionSampling, SerialCorrelationByHand) {
  constexpr std::size_t kAlike = 64;
  const Verdict v = verdict_of("categorical", tensor_of(Values(kAlike, 0), "int32").view(),
                               tensor_of({0.5, 0.5}, "float64").view());
  const auto serial = std::find_if(v.tests.begin(), v.tests.end(), [](const DrawTest& test) {
    return test.name == "serial correlation";
  });
  ASSERT_NE(serial, v.tests.end());
  const double l = std::log(14 / (1e-6 / static_cast<double>(v.tests.size())));
  const double pairs = kAlike - 1;
  EXPECT_NEAR(std::log(serial->p_value), std::log(14) + l - std::sqrt(2 * l * pairs), 0.01);
  EXPECT_NEAR(serial->statistic, 1, 1e-9);
}

// A case's attributes give the parameters that the law leaves open. They do not replace parameters
// that the law gives.
TEST(Distribution, AttributesCompleteALaw) {
  const auto completed = [](const char* law) {
    Bound bound = *standard_bound(formatted("distribution({})", law), format_named("float32"));
    EXPECT_EQ(complete_law(bound,
                           [](std::string_view name) {
                             return name == "p" || name == "low" ? std::optional(0.25)
                                                                 : std::nullopt;
                           }),
              "");
    return bound.distribution;
  };
  EXPECT_EQ(completed("dropout"), "dropout,p=0.25");
  EXPECT_EQ(completed("dropout,p=0.5"), "dropout,p=0.5");
  EXPECT_EQ(completed("uniform,high=2"), "uniform,high=2,low=0.25");
}

// For the integers 0 and 1, the distribution function is 1/4 and 3/4 in the middle of its steps.
// Products of neighbours, their variance and the variance proxy are therefore 1/16 each, and the
// inequality is the same as that of two classes.
TEST(DistributionIntegers, SerialCorrelationByHand) {
  constexpr std::size_t kAlike = 64;
  const Verdict v = verdict_of("integers,low=0,high=1", tensor_of(Values(kAlike, 1), "int32"));
  const auto serial = std::find_if(v.tests.begin(), v.tests.end(), [](const DrawTest& test) {
    return test.name == "serial correlation";
  });
  ASSERT_NE(serial, v.tests.end());
  const double l = std::log(14 / (1e-6 / static_cast<double>(v.tests.size())));
  EXPECT_NEAR(std::log(serial->p_value), std::log(14) + l - std::sqrt(2 * l * (kAlike - 1)), 0.01);
}

// 2 * 60000 overflows float16. An output of 0, infinity or float16's largest number is then no
// mismatch, but no rounding gives a smaller number.
TEST(DistributionDropout, WhatOverflowsIsNoSmallNumber) {
  const auto mismatches = [](double y) {
    const Tensor x = tensor_of({1, 1, 60000}, "float16"), output = tensor_of({0, 2, y}, "float16");
    return verdict_of("dropout,p=0.5", output.view(), x.view()).mismatches;
  };
  for (const double y : {0.0, HUGE_VAL, 65504.0}) EXPECT_EQ(mismatches(y), 0) << y;
  for (const double y : {5.0, 60000.0, -5.0}) EXPECT_EQ(mismatches(y), 1) << y;
}

// A share that is exactly the expected one is reported like any other.
TEST(Distribution, SaysAShareThatIsJustRight) {
  Values coins;
  for (int i = 0; i < 64; ++i) coins.push_back(i % 2);
  const Verdict v = verdict_of("bernoulli,p=0.5", tensor_of(coins));
  ASSERT_FALSE(v.tests.empty());
  EXPECT_EQ(v.tests[0].name, "share of ones");
  EXPECT_EQ(v.tests[0].words, "32 of 64 ones, 32 expected");
  EXPECT_EQ(v.tests[0].statistic, 0.5);
  EXPECT_EQ(v.tests[0].p_value, 1);
}

// If rows have laws of their own, the binomial tail holds only for counts that are at least one
// above the mean. A class that is drawn once then has p-value 1, however rare it is. If all rows
// have one law, the tail holds for every count.
TEST(DistributionSampling, ACountNextToItsMeanTellsNothingOfManyLaws) {
  constexpr std::int64_t kRows = 1000;
  const Values row = {0.5, 0.5 - 1e-9, 1e-9};
  Values rows, classes;
  for (std::int64_t i = 0; i < kRows; ++i) {
    rows.insert(rows.end(), row.begin(), row.end());
    classes.push_back(i == 1 ? 2 : static_cast<double>(i % 2));
  }
  const auto p_value = [&](const Tensor& probabilities) {
    const Verdict v =
        verdict_of("categorical", tensor_of(classes, "int32").view(), probabilities.view());
    EXPECT_EQ(v.tests.at(0).name, "counts");
    return v.tests.at(0).p_value;
  };
  EXPECT_EQ(p_value(tensor_of(rows, "float64", {kRows, 3})), 1);
  EXPECT_LT(p_value(tensor_of(row, "float64")), 0.01);
}

}  // namespace
}  // namespace assay
