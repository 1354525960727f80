// Compares the elementwise rule with the oracle: random and adversarial pairs of every dtype, views
// of every kind, sizes near the block boundaries, threads and SIMD targets.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/judge/metrics_pass.h"
#include "assay/judge/verdict.h"
#include "assay/simd/targets.h"
#include "assay/tensor/eigen.h"
#include "emulated.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::Dice;
using oracle::kMax;
using oracle::same_bits;
using oracle::tensor;
using oracle::tolerance;
using oracle::vector_of;
using oracle::within_ulps;

// Returns a random code of a format, often that of a special value.
std::uint64_t drawn_code(const Format& f, Dice& dice) {
  if (f.kind == Kind::kBool) return dice.next() & 1;
  const auto of = [&](double value) { return encode(f, value); };
  if (f.is_float()) {
    switch (dice.below(16)) {
      case 0:
        return of(0.0);
      case 1:
        return of(-0.0);
      case 2:
        return of(min_subnormal(f));
      case 3:
        return of(-min_normal(f));
      case 4:
        return of(max_finite(f));
      case 5:
        return of(-max_finite(f));
      case 6:
        return of(dice.below(2) ? kInfinity : -kInfinity);
      case 7:
        return of(kNan);
      case 8:
      case 9:
      case 10:
      case 11:
        return of((dice.uniform() - 0.5) * 4);
      default:
        break;
    }
  } else if (dice.below(2) == 0) {
    return of(static_cast<double>(dice.below(200)) - (f.is_signed() ? 100 : 0));
  }
  const int width = f.bits;
  return (dice.next() >> (64 - width)) << f.padding;
}

// Returns an output near a golden value: the rounded one, one step away, at the bound, or any
// value.
std::uint64_t drawn_near(const Format& out, double e, const Bound& bound, Dice& dice) {
  if (std::isnan(e) || (!out.is_float() && std::isinf(e))) return drawn_code(out, dice);
  const std::uint64_t rounded = encode(out, e);
  const double limit = bound.atol + bound.rtol * std::abs(e);
  switch (dice.below(8)) {
    case 0:
    case 1:
      return rounded;
    case 2:
      return next_up(out, rounded);
    case 3:
      return next_down(out, rounded);
    case 4:
      return std::isfinite(limit) ? encode(out, e + limit) : rounded;
    case 5:
      return std::isfinite(limit) ? next_down(out, encode(out, e - limit)) : rounded;
    case 6:
      return out.is_signed() ? encode(out, -e) : rounded;
    default:
      return drawn_code(out, dice);
  }
}

struct Pair {
  Tensor actual, expected;
};
Pair drawn_pair(const Format& out, const Format& golden, const Bound& bound, std::int64_t n,
                std::uint64_t seed) {
  Dice dice(seed);
  Pair pair{Tensor(out, {n}), Tensor(golden, {n})};
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint64_t e = drawn_code(golden, dice);
    // As is usual, half of the float64 golden values lie between two values of the output's dtype.
    if (golden.name == "float64" && dice.below(2) == 0) {
      const double near = decode(out, drawn_code(out, dice));
      if (std::isfinite(near)) e = encode(golden, near * (1 + 1e-3 * (dice.uniform() - 0.5)));
    }
    // Golden values that overflow have tests of their own, so that 1.5 replaces them here.
    if (!bound.round_expected) {
      if (std::isinf(round_to(out, decode(golden, e)))) e = encode(golden, 1.5);
    }
    pair.expected.set_bits(i, e);
    pair.actual.set_bits(i, drawn_near(out, decode(golden, e), bound, dice));
  }
  return pair;
}

constexpr const char* kFloats[] = {"float64",         "float32",       "float16",
                                   "bfloat16",        "float8_e4m3fn", "float8_e5m2",
                                   "float8_e4m3fnuz", "hifloat8",      "tfloat32"};
constexpr const char* kIntegers[] = {"int4",  "uint4",  "int8",  "uint8",  "int16", "uint16",
                                     "int32", "uint32", "int64", "uint64", "bool"};

// The oracle is slow, and ten times slower under the sanitizers, so that these draw fewer elements.
const std::int64_t kDrawn = walks_a_share() ? 150 : 700;

TEST(Judge, AgreesWithTheOracleOnFloats) {
  const std::vector<Bound> bounds = {tolerance(1e-3, 1e-3),
                                     tolerance(0, 0),
                                     tolerance(0, 1e-2, true, true),
                                     tolerance(1e-6, 0),
                                     tolerance(kMax, 1),
                                     tolerance(kInfinity, 0),
                                     tolerance(1e-3, 1e-3, false),
                                     tolerance(0, 1e-4, false, true),
                                     within_ulps(0),
                                     within_ulps(1),
                                     within_ulps(1000),
                                     same_bits()};
  std::uint64_t seed = 1;
  for (const char* dtype : kFloats) {
    for (const char* golden : {dtype, "float64", "float32"}) {
      for (const Bound& bound : bounds) {
        const Pair pair =
            drawn_pair(format_named(dtype), format_named(golden), bound, kDrawn, ++seed);
        oracle::check(pair.actual, pair.expected, bound);
      }
    }
  }
}

TEST(Judge, AgreesWithTheOracleOnIntegers) {
  std::uint64_t seed = 100;
  for (const char* dtype : kIntegers) {
    for (const char* golden : {dtype, "int64", "int8"}) {
      Bound symmetric = tolerance(0, 0.25), largest = symmetric, either = tolerance(2, 0.01);
      symmetric.rule = Rule::kSymmetric;
      largest.rule = Rule::kLargest;
      symmetric.floor = largest.floor = 8;
      either.rule = Rule::kEither;
      either.or_ulps = 3;
      for (const Bound& bound :
           {tolerance(0, 0), tolerance(2, 0), tolerance(0, 0.01), within_ulps(0), within_ulps(3),
            same_bits(), symmetric, largest, either}) {
        if (std::string(dtype) == "bool" &&
            !(bound.atol == 0 && bound.ulps == 0 && bound.floor == 0))
          continue;
        const Pair pair =
            drawn_pair(format_named(dtype), format_named(golden), bound, kDrawn, ++seed);
        oracle::check(pair.actual, pair.expected, bound);
      }
    }
  }
}

// All 65 536 pairs of the 8-bit floats.
TEST(Judge, AgreesWithTheOracleOnEveryPairOfEightBitFloats) {
  std::size_t place = 0;
  for (const char* dtype :
       {"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "hifloat8"}) {
    const Format& f = format_named(dtype);
    Tensor actual(f, {256, 256}), expected(f, {256, 256});
    for (std::int64_t i = 0; i < 65536; ++i) {
      actual.set_bits(i, static_cast<std::uint64_t>(i & 255));
      expected.set_bits(i, static_cast<std::uint64_t>(i >> 8));
    }
    for (const Bound& bound :
         {tolerance(0.0675, 0.125), tolerance(0, 0, true, true), within_ulps(2), same_bits()}) {
      // A share has every third pair of a dtype and a bound.
      if (walks_a_share() && place++ % 3 != 0) continue;
      oracle::check(actual, expected, bound);
    }
  }
}

TEST(Judge, EveryPairOfSpecialValues) {
  const std::vector<double> special = {0.0,   -0.0,      5e-324,     -5e-324, 1.0,
                                       -1.0,  0x1p-1022, 0x1p-24,    65504.0, kMax,
                                       -kMax, kInfinity, -kInfinity, kNan};
  std::vector<double> a, e;
  for (const double x : special) {
    for (const double y : special) {
      a.push_back(x);
      e.push_back(y);
    }
  }
  for (const char* dtype : kFloats) {
    for (const char* golden : {dtype, "float64"}) {
      for (const Bound& bound :
           {tolerance(0, 0), tolerance(0, 0, true, true), tolerance(1, 0.5), tolerance(kMax, 0.5),
            tolerance(kInfinity, 0), tolerance(0, 2.5), within_ulps(0), within_ulps(1),
            within_ulps(std::uint64_t{1} << 63), same_bits()}) {
        oracle::check(vector_of(dtype, a), vector_of(golden, e), bound);
      }
    }
  }
}

// An infinite result is matched by the same infinity and by nothing else, under any bound.
TEST(Judge, NothingFinitePassesAgainstAnInfinity) {
  for (const Bound& bound :
       {tolerance(kInfinity, 0), tolerance(0, kInfinity), tolerance(kInfinity, kInfinity),
        tolerance(kMax, kMax), within_ulps(~std::uint64_t{0})}) {
    for (const std::size_t n : {1u, 3u, 16u, 4096u}) {
      for (const double finite : {0.0, 1.0, 65504.0, -65504.0, kNan, -kInfinity}) {
        const std::vector<double> e(n, kInfinity), a(n, finite);
        for (const char* dtype : {"float16", "float32", "float64"}) {
          const Verdict one = judge(vector_of(dtype, a), vector_of(dtype, e), bound);
          EXPECT_EQ(one.outcome, Outcome::kFail) << dtype << " " << finite << " " << bound.text();
          EXPECT_EQ(one.mismatches, static_cast<std::int64_t>(n));
          const Verdict other = judge(vector_of(dtype, e), vector_of(dtype, a), bound);
          EXPECT_EQ(other.outcome, Outcome::kFail) << dtype << " " << finite;
        }
      }
    }
  }
}

// If the output's dtype has no infinity, no value of the output matches an expected infinity.
TEST(Judge, NothingPassesAgainstAnInfinityThatTheDtypeLacks) {
  for (const char* dtype : {"int8", "int64", "bool", "float4_e2m1fn", "float6_e3m2fn",
                            "float8_e4m3fn", "float8_e5m2fnuz"}) {
    const Format& f = format_named(dtype);
    for (const double infinity : {kInfinity, -kInfinity}) {
      Tensor actual(f, {1});
      actual.set_bits(0, encode(f, std::copysign(max_finite(f), infinity)));
      for (const Bound& bound : {tolerance(0, 0), tolerance(1, 0.5, false), within_ulps(1)}) {
        EXPECT_EQ(judge(actual, vector_of("float64", {infinity}), bound).outcome, Outcome::kFail)
            << dtype << " " << infinity << " " << bound.text();
      }
    }
  }
}

// If the expected value is rounded, a golden 1e6 is infinity in float16, so that only infinity
// passes.
TEST(Judge, GoldenThatRoundsToInfinity) {
  const Tensor golden = vector_of("float64", {1e6, -1e6, 65519.9, 65520, 1});
  EXPECT_EQ(judge(vector_of("float16", {kInfinity, -kInfinity, 65504, kInfinity, 1}), golden,
                  tolerance(0, 0))
                .outcome,
            Outcome::kPass);
  const Verdict saturated =
      judge(vector_of("float16", {65504, -65504, 65504, 65504, 1}), golden, tolerance(1e-3, 1e-3));
  EXPECT_EQ(saturated.mismatches, 3);
  EXPECT_EQ(judge(vector_of("float16", {kInfinity, kInfinity, 65504, kInfinity, 1}), golden,
                  tolerance(1, 1))
                .mismatches,
            1);
  // If the expected value is not rounded, no float16 is near 1e6, not even infinity.
  EXPECT_EQ(judge(vector_of("float16", {kInfinity, -kInfinity, 65504, 65504, 1}), golden,
                  tolerance(1e-3, 1e-3, false))
                .mismatches,
            2);
}

// The bound atol + rtol * |e| is rounded after each of both operations. It is not a fused
// multiply-add, on any target or in the elements behind the last full vector.
TEST(Judge, TheBoundIsNotFused) {
  Dice dice(5);
  std::vector<double> a, e;
  const double rtol = 0.7, atol = 0.3;
  int missing = 0;
  while (a.size() < 67) {
    const double x = 3 + dice.uniform();
    volatile double product = rtol * x;
    const double separate = atol + product, fused = std::fma(rtol, x, atol);
    if (separate == fused) continue;
    // x - error is exact, and so is x - (x - error) (Sterbenz).
    const double error = std::max(separate, fused);
    ASSERT_EQ(x - (x - error), error);
    missing += error > separate ? 1 : 0;
    a.push_back(x - error);
    e.push_back(x);
  }
  ASSERT_GT(missing, 5);
  for (const std::string& target : simd::available_targets()) {
    simd::force_target(target);
    EXPECT_EQ(
        judge(vector_of("float64", a), vector_of("float64", e), tolerance(atol, rtol)).mismatches,
        missing)
        << target;
  }
  simd::force_target("");
}

// An error equal to the bound passes. One that is one step larger does not.
TEST(Judge, NearTies) {
  for (const double limit : {1e-3, 0.25, 1e-300, 3.0}) {
    const std::vector<double> e(33, 0.0);
    EXPECT_EQ(judge(vector_of("float64", std::vector<double>(33, limit)), vector_of("float64", e),
                    tolerance(limit, 0))
                  .mismatches,
              0);
    EXPECT_EQ(judge(vector_of("float64", std::vector<double>(33, std::nextafter(limit, kInfinity))),
                    vector_of("float64", e), tolerance(limit, 0))
                  .mismatches,
              33);
  }
}

// Numbers whose difference or bound leaves the range of float64.
TEST(Judge, OverflowOfErrorAndBound) {
  const Tensor high = vector_of("float64", std::vector<double>(37, kMax));
  const Tensor low = vector_of("float64", std::vector<double>(37, -kMax));
  EXPECT_EQ(judge(low, high, tolerance(0, 1)).mismatches, 37);
  EXPECT_EQ(judge(low, high, tolerance(0, 4)).mismatches, 37) << "an infinite bound clears nothing";
  EXPECT_EQ(judge(Tensor(high), high, tolerance(kMax, 1)).mismatches, 0);
  EXPECT_EQ(judge(Tensor(high), high, tolerance(kMax, 1)).outcome, Outcome::kUntrusted);
}

TEST(Judge, BlockBoundariesThreadsAndTargets) {
  const char* const dtypes[] = {"float32", "bfloat16", "int32"};
  std::size_t place = 2;  // so that the last size meets float32
  for (const std::int64_t n : {1, 2, 31, 2047, 2048, 2049, 4097, 262143, 262144, 262145, 524289}) {
    const std::string in_turn = dtypes[place++ % 3];
    for (const char* dtype : dtypes) {
      // A share has each large size in one dtype.
      if (walks_a_share() && n > 4097 && dtype != in_turn) continue;
      // The thread sanitizer tests only this case, which several threads share.
      if (kThreadSanitizer && (n != 524289 || dtype != std::string("float32"))) continue;
      Tensor expected(format_named(dtype), {n});
      const std::uint64_t seven = encode(expected.format(), 7);
      for (std::int64_t i = 0; i < n; ++i) expected.set_bits(i, seven);
      Tensor actual = expected;
      std::vector<std::int64_t> wanted;
      for (const std::int64_t at :
           {std::int64_t{0}, std::int64_t{2046}, std::int64_t{2047}, std::int64_t{2048},
            std::int64_t{262143}, std::int64_t{262144}, n - 1}) {
        if (at >= n || (!wanted.empty() && wanted.back() == at)) continue;
        wanted.push_back(at);
        actual.set_bits(at, encode(expected.format(), 8));
      }
      std::string first;
      for (const std::string& target : simd::available_targets()) {
        // Threads share the work in the same way on every target, so that the thread sanitizer
        // tests only one.
        if (kThreadSanitizer && target != simd::available_targets().front()) continue;
        simd::force_target(target);
        for (const int threads : {1, 2, 5}) {
          SCOPED_TRACE(target + " " + dtype + " " + std::to_string(n));
          JudgeOptions options;
          options.threads = threads;
          options.worst = 20;
          options.metrics = false;
          const Verdict plain = judge(actual, expected, tolerance(0, 1e-2), options);
          std::vector<std::int64_t> found;
          for (const Mismatch& mismatch : plain.worst) found.push_back(mismatch.linear);
          // Mismatches with equal ratios are listed in the order of their positions.
          ASSERT_EQ(found, wanted);
          EXPECT_EQ(plain.mismatches, static_cast<std::int64_t>(wanted.size()));
          if (threads == 5) continue;
          options.metrics = true;
          const std::string text =
              verdict_json(judge(actual, expected, tolerance(0, 1e-2), options));
          if (first.empty()) first = text;
          EXPECT_TRUE(text == first);
        }
      }
      simd::force_target("");
    }
  }
}

TEST(Judge, EveryTargetGivesTheSameVerdict) {
  for (const char* dtype : kFloats) {
    for (const Bound& bound : {tolerance(1e-3, 1e-3), tolerance(0, 1e-2, false, true)}) {
      const Pair pair = drawn_pair(format_named(dtype), format_named("float64"), bound, 3001, 77);
      std::string first;
      for (const std::string& target : simd::available_targets()) {
        simd::force_target(target);
        const std::string text = verdict_json(judge(pair.actual, pair.expected, bound));
        if (first.empty()) first = text;
        EXPECT_TRUE(text == first) << target << " " << dtype << " " << bound.text();
      }
      simd::force_target("");
    }
  }
}

// A NaN or an infinity is one on every target, in the vectors and in the rest.
TEST(Judge, NanAndInfinityOnEveryTarget) {
  for (const char* dtype : kFloats) {
    const Format& f = format_named(dtype);
    if (!f.has_infinity()) continue;
    for (const std::size_t n : {1u, 3u, 40u}) {
      const Tensor nan = vector_of(dtype, std::vector<double>(n, kNan));
      const Tensor infinity = vector_of(dtype, std::vector<double>(n, kInfinity));
      for (const std::string& target : simd::available_targets()) {
        SCOPED_TRACE(target + " " + dtype + " " + std::to_string(n));
        simd::force_target(target);
        EXPECT_EQ(judge(Tensor(nan), nan, tolerance(1, 1)).mismatches,
                  static_cast<std::int64_t>(n));
        EXPECT_EQ(judge(Tensor(nan), nan, tolerance(1, 1)).metrics->actual.nan,
                  static_cast<std::int64_t>(n));
        EXPECT_EQ(judge(Tensor(infinity), infinity, tolerance(1e-3, 1e-3)).outcome, Outcome::kPass);
        EXPECT_EQ(judge(Tensor(infinity), infinity, tolerance(1, 1)).metrics->actual.positive_inf,
                  static_cast<std::int64_t>(n));
        EXPECT_EQ(judge(infinity, vector_of("float64", std::vector<double>(n, kInfinity)),
                        tolerance(1e-3, 1e-3))
                      .mismatches,
                  0);
      }
      simd::force_target("");
    }
  }
}

TEST(Judge, StridedViews) {
  const Bound bound = tolerance(1e-3, 1e-3);
  for (const char* dtype : {"float64", "float32", "bfloat16", "float8_e5m2", "int64"}) {
    if (walks_a_share() && dtype != std::string("bfloat16")) continue;
    const Format& f = format_named(dtype);
    const Pair pair = drawn_pair(f, f, bound, 60 * 40, 9);
    const auto look = [&](const Tensor& t, std::int64_t offset, Shape shape, Strides strides) {
      return view_bytes(t.bytes() + offset * f.storage_bytes, f, std::move(shape),
                        std::move(strides));
    };
    const std::vector<std::tuple<std::int64_t, Shape, Strides>> views = {
        {0, {60, 40}, {40, 1}},       // row-major
        {0, {40, 60}, {1, 40}},       // column-major
        {41, {20, 17}, {80, 2}},      // every second
        {2399, {60, 40}, {-40, -1}},  // backwards
        {5, {7, 30}, {0, 1}},         // the same row seven times
        {0, {3, 4, 5, 6}, {800, 1, 7, 100}},
        {0, {2, 1200}, {1200, 1}},
        {17, {}, {}},
    };
    for (const auto& [offset, shape, strides] : views) {
      const TensorView a = look(pair.actual, offset, shape, strides);
      const TensorView e = look(pair.expected, offset, shape, strides);
      oracle::check(a, e, bound);
      const Tensor packed = copy_of(e);  // one side strided
      oracle::check(a, packed, bound);
    }
  }
}

TEST(Judge, EigenColumnMajorAgainstRowMajor) {
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::MatrixXf columns(123, 45);
  for (int i = 0; i < 123; ++i) {
    for (int j = 0; j < 45; ++j) columns(i, j) = static_cast<float>(100 * i + j + 1);
  }
  const RowMajor rows = columns;
  EXPECT_EQ(judge(view(columns), view(rows), tolerance(0, 0)).outcome, Outcome::kPass);
  columns(7, 31) += 1000;
  const Verdict v = judge(view(columns), view(rows), tolerance(0, 1e-3));
  ASSERT_EQ(v.mismatches, 1);
  EXPECT_EQ(v.worst[0].index, (std::vector<std::int64_t>{7, 31}));
  EXPECT_EQ(v.worst[0].actual, 1732);
  const auto block = columns.block(5, 30, 4, 4);
  EXPECT_EQ(judge(view(block), view(rows.block(5, 30, 4, 4)), tolerance(0, 1e-3)).worst[0].index,
            (std::vector<std::int64_t>{2, 1}));
  const Eigen::MatrixXf turned = columns.transpose().eval();
  EXPECT_EQ(judge(view(turned), view(columns).transposed(), tolerance(0, 0)).mismatches, 0);
}

TEST(Judge, WorstListsTheLargestRatioFirst) {
  const Verdict v = judge(vector_of("float64", {1.5, 103, 3, 40, kNan, 6.25, -7}),
                          vector_of("float64", {1, 100, 3, 4, 5, 6, 7}), tolerance(0, 0.01));
  ASSERT_EQ(v.mismatches, 6);
  ASSERT_EQ(v.worst.size(), 5u);
  std::vector<std::int64_t> order;
  for (const Mismatch& mismatch : v.worst) order.push_back(mismatch.linear);
  EXPECT_EQ(order, (std::vector<std::int64_t>{4, 3, 6, 0, 5}));
  EXPECT_EQ(v.worst_ratio, kInfinity);
  EXPECT_EQ(v.worst[1].error, 36);
  EXPECT_EQ(v.worst[1].bound, 0.04);
  EXPECT_FALSE(v.worst[0].ulps.has_value());
  EXPECT_EQ(v.worst[3].ulps, std::uint64_t{1} << 51);
}

// With or_ulps, an element within a few ulps of the expected value is not a mismatch, however small
// the tolerance is.
TEST(Judge, UlpsBesideATolerance) {
  Bound bound = tolerance(0, 0);
  bound.or_ulps = 2;
  for (const char* dtype : {"float32", "float64", "bfloat16"}) {
    const Format& f = format_named(dtype);
    Tensor expected = vector_of(dtype, {1, -3, 0.5}), actual = expected;
    actual.set_bits(1, expected.bits_at(1) + 2);
    EXPECT_EQ(judge(actual, expected, bound).mismatches, 0) << dtype;
    actual.set_bits(2, encode(f, 0.5) + 3);
    const Verdict v = judge(actual, expected, bound);
    EXPECT_EQ(v.mismatches, 1) << dtype;
    ASSERT_EQ(v.worst.size(), 1u);
    EXPECT_EQ(v.worst[0].linear, 2);
  }
}

// |actual - expected| < 0.5 max(8, |actual| + |expected|), worked out by hand.
TEST(Judge, SymmetricToleranceOfIntegers) {
  Bound bound = tolerance(0, 0.5);
  bound.rule = Rule::kSymmetric;
  bound.floor = 8;
  const auto mismatches = [&](double actual, double expected) {
    return judge(vector_of("int32", {actual}), vector_of("int32", {expected}), bound).mismatches;
  };
  EXPECT_EQ(mismatches(9, 4), 0) << "5 < 6.5";
  EXPECT_EQ(mismatches(4, 9), 0) << "the rule is symmetric";
  EXPECT_EQ(mismatches(12, 4), 1) << "8 is not below 8, and 0.5 |expected| would be 2";
  EXPECT_EQ(mismatches(0, 4), 1) << "4 is not below 0.5 times the floor";
  EXPECT_EQ(mismatches(0, 3), 0) << "3 < 4";
  EXPECT_EQ(mismatches(-1, 1), 0) << "2 < 4";
  EXPECT_EQ(mismatches(-5, 5), 1) << "10 is not below 5";
  EXPECT_EQ(mismatches(7, 7), 0);
  bound.floor = bound.rtol = 0;
  EXPECT_EQ(mismatches(7, 7), 0) << "equal values pass, whatever the tolerance is";
  EXPECT_EQ(mismatches(7, 8), 1);
  bound.or_ulps = 1;
  EXPECT_EQ(mismatches(7, 8), 0) << "neighbours";
  EXPECT_EQ(mismatches(7, 9), 1);
}

// Without metrics, a large tensor is read in parts. Each part must be read at its own place, even
// if the tensor begins in the middle of a buffer.
TEST(Judge, PartsWithoutMetrics) {
  constexpr auto kPart = static_cast<std::size_t>(MetricsPass::kPart);
  std::vector<double> values(3 * kPart), output(2 * kPart);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1 + static_cast<double>(i % 1000);
  // The expected values begin in the middle of the buffer. The elements before them differ from the
  // output, so that reading a part at a wrong place gives mismatches.
  for (std::size_t i = 0; i < kPart; ++i) values[i] += 0.5;
  for (std::size_t i = 0; i < output.size(); ++i) output[i] = values[kPart + i];
  const Tensor buffer = vector_of("float32", values);
  TensorView expected = vector_of("float32", output).view();
  expected.data = buffer.view().data + 4 * kPart;
  JudgeOptions options;
  options.metrics = false;
  const auto mismatches = [&](int threads) {
    options.threads = threads;
    return judge(vector_of("float32", output), expected, tolerance(1e-3, 0), options).mismatches;
  };
  EXPECT_EQ(mismatches(1), 0);
  EXPECT_EQ(mismatches(3), 0);
  for (std::size_t i = 0; i < kPart; ++i) output[kPart + i] = values[i];
  EXPECT_EQ(mismatches(1), MetricsPass::kPart) << "all of the second part is wrong";
  EXPECT_EQ(mismatches(3), MetricsPass::kPart);
}

// Each element has its own bound, which adds to the tolerance. A mismatch at another element does
// not change that.
TEST(JudgeGiven, ABoundOfItsOwnBesideAMiss) {
  for (const char* dtype : {"float64", "float32"}) {
    const Tensor golden = vector_of(dtype, {1, 1, 1, 1}),
                 output = vector_of(dtype, {1.5, 9, 1.25, 1});
    const Tensor bounds = vector_of("float64", {0.5, 0.5, 0.125, 0.25});
    Bound bound = tolerance(0, 0);
    bound.rule = Rule::kAccumulation;
    JudgeOptions options;
    options.element_bounds = bounds.view();
    const Verdict v = judge(output, golden, bound, options);
    EXPECT_EQ(v.mismatches, 2) << dtype;
    ASSERT_EQ(v.worst.size(), 2u);
    for (const Mismatch& mismatch : v.worst) {
      EXPECT_EQ(mismatch.bound, bounds.view().value_at(mismatch.linear))
          << dtype << " " << mismatch.linear;
    }
    bound.atol = 0.125;
    EXPECT_EQ(judge(output, golden, bound, options).mismatches, 1) << "0.125 + 0.125 holds 0.25";
  }
}

// The used share of a bound is the same whether elements are judged one by one, as saturating
// hardware's are, or many at once.
TEST(Judge, TheUsedShareOfABoundBelowOne) {
  Bound bound = tolerance(0.5, 0);
  bound.rule = Rule::kEither;
  for (const Infinity infinity : {Infinity::kSign, Infinity::kSaturating}) {
    bound.infinity = infinity;
    const Verdict v =
        judge(vector_of("float32", {1, 2.25, 4}), vector_of("float32", {1, 2, 4}), bound);
    EXPECT_EQ(v.mismatches, 0);
    EXPECT_EQ(v.worst_ratio, 0.5);
  }
}

// An output that overflows as expected does not hide a mismatch beside it.
TEST(JudgeGiven, AnOverflowBesideAMiss) {
  const Tensor golden = vector_of("float64", {1, 1e5, 1}),
               output = vector_of("float16", {2, kInfinity, 1.25}),
               bounds = vector_of("float64", {0.5, 0.5, 0.5});
  JudgeOptions options;
  options.element_bounds = bounds.view();
  for (const bool rounds : {true, false}) {
    Bound bound = tolerance(0, 0, rounds);
    bound.rule = Rule::kAccumulation;
    const Verdict v = judge(output, golden, bound, options);
    EXPECT_EQ(v.outcome, Outcome::kFail) << v.because;
    EXPECT_EQ(v.mismatches, 1);
    ASSERT_FALSE(v.worst.empty());
    EXPECT_EQ(v.worst[0].linear, 0);
  }
}

}  // namespace
}  // namespace assay
