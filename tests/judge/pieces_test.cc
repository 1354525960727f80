// Tests that PiecewiseJudge, which judges an array in pieces, gives the verdict of judge() on the
// whole.
#include "assay/judge/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/judge/blindness.h"
#include "assay/report.h"
#include "emulated.h"

namespace assay {
namespace {

constexpr std::int64_t kUnit = PiecewiseJudge::kUnit;

TensorView piece_of(const Tensor& t, std::int64_t begin, std::int64_t count) {
  return view_bytes(t.bytes() + begin * t.format().storage_bytes, t.format(), {count});
}

// Judges by add() of pieces, and by parts in reverse order.
Verdict in_pieces(const Tensor& a, const Tensor& e, const Bound& bound, std::int64_t piece) {
  const auto pass = [&](const PiecewiseJudge::TakePiece& take) {
    for (std::int64_t begin = 0; begin < a.size(); begin += piece) {
      const std::int64_t count = std::min(piece, a.size() - begin);
      take(piece_of(a, begin, count), piece_of(e, begin, count));
    }
  };
  PiecewiseJudge judging(a.format(), a.shape(), bound);
  pass(
      [&](const TensorView& actual, const TensorView& expected) { judging.add(actual, expected); });
  PiecewiseJudge by_parts(a.format(), a.shape(), bound);
  std::vector<PiecewiseJudge::Part> parts;
  for (std::int64_t begin = (a.size() - 1) / kUnit * kUnit; begin >= 0; begin -= kUnit) {
    const std::int64_t count = std::min(kUnit, a.size() - begin);
    parts.push_back(
        by_parts.judge_part(piece_of(a, begin, count), piece_of(e, begin, count), begin));
  }
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) by_parts.add(std::move(*part));
  const Verdict verdict = judging.result(pass);
  EXPECT_EQ(verdict_json(by_parts.result(pass)), verdict_json(verdict));
  return verdict;
}

struct ValuePair {
  std::vector<double> actual, expected;
};

ValuePair random_pair(std::int64_t size, double off) {
  Random random(5, 9);
  ValuePair p;
  for (std::int64_t i = 0; i < size; ++i) {
    p.expected.push_back(random.normal());
    p.actual.push_back(p.expected.back() * (1 + off * random.normal()));
  }
  return p;
}

// Compares everything that is printed or saved, word for word.
void expect_same(const Verdict& pieces, const Verdict& whole) {
  EXPECT_EQ(verdict_json(pieces), verdict_json(whole));
  EXPECT_EQ(metrics_text(pieces), metrics_text(whole));
  EXPECT_EQ(explain(pieces), explain(whole));
}

// Fractions are counted over all pieces, and the first one is named wherever it lies.
TEST(PiecewiseJudge, AnOutputOfIntegersIsNotComparableWithFractions) {
  const std::int64_t size = 3 * kUnit + 5;
  std::vector<double> values(static_cast<std::size_t>(size), 3);
  const Tensor output = Tensor::from_values(format_named("int32"), {size}, values);
  Bound bound;
  bound.whole_numbers = true;
  const auto golden = [&] { return Tensor::from_values(format_named("float64"), {size}, values); };
  expect_same(in_pieces(output, golden(), bound, kUnit), judge(output, golden(), bound));
  for (const std::int64_t at : {3 * kUnit + 2, 2 * kUnit, kUnit - 1}) {
    values[static_cast<std::size_t>(at)] = 3.25;
    const Verdict v = in_pieces(output, golden(), bound, 2 * kUnit);
    EXPECT_EQ(v.outcome, Outcome::kNotComparable);
    EXPECT_THAT(v.because, testing::HasSubstr(formatted("3.25 at [{}]", at)));
    EXPECT_EQ(v.because, judge(output, golden(), bound).because);
  }
}

TEST(PiecewiseJudge, IsTheJudgeOfTheWhole) {
  const std::int64_t size = 2 * kUnit + 777;
  const ValuePair p = random_pair(size, 1e-3);
  std::size_t place = 0;
  for (const char* dtype : {"float32", "bfloat16", "float64"}) {
    const Format& f = format_named(dtype);
    const Tensor a = Tensor::from_values(f, {size}, p.actual);
    ++place;
    for (const char* golden : {dtype, "float64"}) {
      const Tensor e = Tensor::from_values(format_named(golden), {size}, p.expected);
      for (const char* standard : {"torch", "ulp(2)", "bit_equal"}) {
        // A share has every second combination, and the next dtype has the others.
        if (walks_a_share() && place++ % 2 == 0) continue;
        const Bound bound = *standard_bound(standard, f);
        for (const std::int64_t piece : {kUnit, 2 * kUnit}) {
          if (walks_a_share() && piece != kUnit) continue;
          SCOPED_TRACE(testing::Message()
                       << dtype << " " << golden << " " << standard << " " << piece);
          expect_same(in_pieces(a, e, bound, piece), judge(a, e, bound));
        }
      }
    }
  }
}

TEST(PiecewiseJudge, SpecialsZerosAndIntegers) {
  const std::int64_t size = 3 * kUnit;
  ValuePair p = random_pair(size, 0);
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  p.actual[at(7)] = kNan, p.actual[at(2 * kUnit + 1)] = p.expected[at(2 * kUnit + 1)] = kNan;
  p.expected[at(kUnit)] = kInfinity, p.actual[at(kUnit)] = kInfinity,
  p.actual[at(kUnit + 1)] = -kInfinity;
  const Format& f = format_named("float32");
  const Tensor a = Tensor::from_values(f, {3, kUnit}, p.actual);
  const Tensor e = Tensor::from_values(f, {3, kUnit}, p.expected);
  Bound bound = *standard_bound("torch", f);
  expect_same(in_pieces(a, e, bound, kUnit), judge(a, e, bound));
  bound.nan_equal = true;
  expect_same(in_pieces(a, e, bound, kUnit), judge(a, e, bound));

  const Format& i64 = format_named("int64");
  Tensor x(i64, {size}), y(i64, {size});
  for (std::int64_t i = 0; i < size; ++i) {
    const auto bits = static_cast<std::uint64_t>(i) << 40;
    x.set_bits(i, bits);
    // Element 2 * kUnit + 5 differs by 1, which float64 does not hold at this size.
    y.set_bits(i, bits + (i == 2 * kUnit + 5 ? 1 : 0));
  }
  const Bound exact = *standard_bound("torch", i64);
  EXPECT_EQ(judge(x, y, exact).mismatches, 1);
  expect_same(in_pieces(x, y, exact, kUnit), judge(x, y, exact));
}

// A float64 golden result of a 64-bit output counts as the integer that it rounds to. Errors are
// exact differences of integers. float64 arithmetic would lose an odd difference beyond 2^53.
TEST(PiecewiseJudge, IntegersOfAFloatGoldenResult) {
  const std::int64_t size = 2 * kUnit;
  const Format& i64 = format_named("int64");
  Tensor x(i64, {size}), y(format_named("float64"), {size});
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  for (std::int64_t i = 0; i < size; ++i) {
    x.set_bits(i, static_cast<std::uint64_t>(kFar + 512 * i + i % 3));
    y.set_bits(i, encode(y.format(), static_cast<double>(kFar + 512 * i)));
  }
  for (const char* standard : {"torch", "ulp(1)"}) {
    const Bound bound = *standard_bound(standard, i64);
    const Verdict whole = judge(x, y, bound);
    EXPECT_EQ(whole.metrics->max_abs_error, 2) << standard;
    expect_same(in_pieces(x, y, bound, kUnit), whole);
  }
  // Values that are not integers are compared in float64, in pieces and as a whole.
  y.set_bits(kUnit + 5, encode(y.format(), kNan));
  const Bound bound = *standard_bound("torch", i64);
  expect_same(in_pieces(x, y, bound, kUnit), judge(x, y, bound));
}

// A NaN with other bits is equal to NaN, but the outputs are then not bit-identical. The golden
// result has the same dtype, or its NaN is rounded to it.
TEST(PiecewiseJudge, BitsOfNan) {
  const Format& f = format_named("float32");
  Tensor a = Tensor::from_values(f, {kUnit}, random_pair(kUnit, 0).actual);
  a.set_bits(5, 0x7fc00000);
  Tensor same = a, other = a;
  other.set_bits(5, 0xffc00001);
  Bound bound = *standard_bound("torch", f);
  bound.nan_equal = true;
  Tensor golden = Tensor::from_values(format_named("float64"), {kUnit}, a.view().values());
  for (const Tensor* expected : {&same, &other, &golden}) {
    const Verdict whole = judge(a, *expected, bound);
    EXPECT_EQ(whole.metrics->bit_identical, expected != &other);
    expect_same(in_pieces(a, *expected, bound, kUnit), whole);
  }
}

TEST(PiecewiseJudge, Outcomes) {
  const Format& f = format_named("float32");
  const Bound bound = *standard_bound("torch", f);
  const std::vector<double> zeros(static_cast<std::size_t>(2 * kUnit), 0.0);
  const Tensor zero = Tensor::from_values(f, {2 * kUnit}, zeros);
  expect_same(in_pieces(zero, zero, bound, kUnit), judge(Tensor(zero), zero, bound));
  Tensor one = zero;
  one.set_bits(2 * kUnit - 1, 0x3f800000);
  EXPECT_EQ(judge(Tensor(one), one, bound).outcome, Outcome::kPass);
  expect_same(in_pieces(one, one, bound, kUnit), judge(Tensor(one), one, bound));
  expect_same(in_pieces(zero, one, bound, kUnit), judge(zero, one, bound));
  Bound infinite;
  infinite.rtol = kInfinity;
  expect_same(in_pieces(one, one, infinite, kUnit), judge(Tensor(one), one, infinite));
  const Verdict nothing = PiecewiseJudge(f, {0}, bound).result();
  EXPECT_EQ(nothing.outcome, Outcome::kUntrusted);
  EXPECT_EQ(nothing.because, "there are no elements to compare");
  EXPECT_EQ(nothing.because, judge(Tensor(f, {0}), Tensor(f, {0}), bound).because);
}

// bfloat16 does not hold the golden 1 + 2^-9, and its nearest number is farther off than the
// tolerance of 1e-6, so that no output can meet this bound.
TEST(PiecewiseJudge, ABoundThatNothingCanMeet) {
  const Format& f = format_named("bfloat16");
  const std::vector<double> values(static_cast<std::size_t>(2 * kUnit), 1 + 0x1p-9);
  const Tensor a = Tensor::from_values(f, {2 * kUnit}, values);
  const Tensor e = Tensor::from_values(format_named("float64"), {2 * kUnit}, values);
  Bound bound;
  bound.rtol = 1e-6;
  bound.round_expected = false;
  EXPECT_EQ(judge(a, e, bound).outcome, Outcome::kUntrusted);
  EXPECT_EQ(in_pieces(a, e, bound, kUnit).outcome, Outcome::kUntrusted);
  EXPECT_EQ(in_pieces(a, e, bound, kUnit).mismatches, 2 * kUnit);
}

TEST(PiecewiseJudge, WhereFewMissesLie) {
  const Format& f = format_named("float32");
  const ValuePair p = random_pair(2 * kUnit, 0);
  const Tensor e = Tensor::from_values(f, {2 * kUnit / 64, 64}, p.expected);
  Tensor a = e;
  for (const std::int64_t row : {3, 5, 4100}) a.set_bits(row * 64 + 9, 0x7f000000);
  const Verdict v = in_pieces(a, e, *standard_bound("torch", f), kUnit);
  EXPECT_EQ(v.where, "all in column 9");
  EXPECT_EQ(v.worst[0].index, (std::vector<std::int64_t>{v.worst[0].linear / 64, 9}));
}

TEST(PiecewiseJudge, WrongUse) {
  const Format& f = format_named("float32");
  const Tensor t = Tensor::from_values(f, {4}, std::vector<double>{1, 2, 3, 4});
  const Bound bound = *standard_bound("torch", f);
  PiecewiseJudge judging(f, {4}, bound);
  judging.add(t, t);
  EXPECT_THROW(judging.add(t, t), std::invalid_argument) << "more than the whole";
  PiecewiseJudge small(f, {2}, bound);
  EXPECT_THROW(small.add(t, t), std::invalid_argument) << "a first piece of more than the whole";
  PiecewiseJudge gap(f, {8}, bound);
  gap.add(t, t);
  EXPECT_THROW(gap.add(t, t), std::invalid_argument) << "a short piece that is not the last";
  const Tensor one = Tensor::from_values(f, {1}, std::vector<double>{5});
  const Tensor unit = Tensor::from_values(f, {kUnit}, std::vector<double>(kUnit, 5));
  PiecewiseJudge parts(f, {kUnit + 1}, bound);
  EXPECT_THROW(parts.add(parts.judge_part(one, one, kUnit)), std::invalid_argument) << "a gap";
  parts.add(parts.judge_part(unit, unit, 0));
  EXPECT_THROW(parts.add(parts.judge_part(unit, unit, 0)), std::invalid_argument) << "twice";
  const Tensor wider = Tensor::from_values(format_named("float64"), {1}, std::vector<double>{5});
  EXPECT_THROW(parts.add(parts.judge_part(one, wider, kUnit)), std::invalid_argument)
      << "another format";
  parts.add(parts.judge_part(one, one, kUnit));
  EXPECT_EQ(parts.result().outcome, Outcome::kPass);
  EXPECT_THROW((void)parts.judge_part(unit, unit, 1), std::invalid_argument) << "begins elsewhere";
  // Pieces are stretches of the elements, and have one dimension.
  const Tensor square = Tensor::from_values(f, {2, 2}, std::vector<double>{1, 2, 3, 4});
  PiecewiseJudge flat(f, {2, 2}, bound);
  EXPECT_THROW(flat.add(square, square), std::invalid_argument) << "a piece of two dimensions";
  PiecewiseJudge long_parts(f, {2 * kUnit}, bound);
  const Tensor more = Tensor(f, {kUnit + 1});
  EXPECT_THROW((void)long_parts.judge_part(more, more, 0), std::invalid_argument) << "too long";
}

// Draws, indices, bounds of each element and reference implementations need more than the output
// and the golden result.
TEST(Piecewise, WhatNeedsMoreThanThePairIsRefused) {
  const Format& f = format_named("float32");
  Bound bound;
  EXPECT_TRUE(PiecewiseJudge::can_judge(bound));
  Bound limited = bound;
  limited.rule = Rule::kStatistics;
  limited.limits.push_back({Statistic::kMere, 1e-3});
  EXPECT_TRUE(PiecewiseJudge::can_judge(limited));
  for (const Rule rule :
       {Rule::kAccumulation, Rule::kExpectedError, Rule::kDistribution, Rule::kIndices}) {
    Bound other = bound;
    other.rule = rule;
    EXPECT_FALSE(PiecewiseJudge::can_judge(other));
    EXPECT_THROW(PiecewiseJudge(f, {4}, other), std::invalid_argument);
  }
  for (const Statistic statistic :
       {Statistic::kMareRatio, Statistic::kErrorSquares, Statistic::kErrorBias}) {
    Bound other = bound;
    other.limits.push_back({statistic, 2});
    EXPECT_FALSE(PiecewiseJudge::can_judge(other));
  }
  const Tensor t = Tensor::from_values(f, {4}, std::vector<double>{1, 2, 3, 4});
  PiecewiseJudge judging(f, {4}, limited);
  judging.add(t, t);
  EXPECT_THROW((void)judging.result(), std::invalid_argument) << "may have to read again";
}

// The histograms do not always hold the count that a limit needs. The judge then reads all elements
// again.
TEST(Piecewise, LimitsAndBudgets) {
  const std::int64_t size = 2 * kUnit + 777;
  const ValuePair p = random_pair(size, 1e-3);
  for (const char* dtype : {"float32", "bfloat16"}) {
    const Format& f = format_named(dtype);
    const Tensor a = Tensor::from_values(f, {size}, p.actual);
    const Tensor e = Tensor::from_values(format_named("float64"), {size}, p.expected);
    Bound counted;
    counted.rule = Rule::kStatistics;
    counted.standard = "counted";
    counted.limits = {{Statistic::kShareRelative, 0.5, 1.2345e-3},
                      {Statistic::kShareUlps, 1, 3},
                      {Statistic::kMere, 1e-2}};
    Bound budget = *standard_bound("torch", f);
    budget.max_mismatch_fraction = 0.99;
    Bound few = budget;
    few.max_mismatches = 3;
    for (const Bound& bound : {counted, budget, few}) {
      expect_same(in_pieces(a, e, bound, kUnit), judge(a, e, bound, {.patterns = false}));
    }
  }
}

// Sampled elements of the whole show which tolerance would see half of the elements that are not
// zero. Here the first kUnit elements are 0. After them, sampled elements are 2 and others 8.
TEST(PiecewiseJudge, SaysWhichToleranceWouldSeeHalf) {
  const Format& f = format_named("float32");
  const std::int64_t size = kUnit + kUnit / 2 + 1;
  Tensor a(f, {size});
  for (std::int64_t i = 0; i < size; ++i) a.set_bits(i, encode(f, i < kUnit ? 0 : 8));
  for (const std::int64_t i : sampled_positions(size)) {
    if (i >= kUnit) a.set_bits(i, encode(f, 2));
  }
  Bound bound;
  bound.atol = 16;
  const Verdict v = in_pieces(a, a, bound, kUnit);
  EXPECT_EQ(v.outcome, Outcome::kUntrusted);
  EXPECT_THAT(v.because, testing::HasSubstr("; an absolute tolerance below 2 would see half of "));
  EXPECT_EQ(v.because, judge(Tensor(a), a, bound).because);
}

}  // namespace
}  // namespace assay
