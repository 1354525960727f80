// Tests the bounds of accumulation: the results of every emulated machine are within them, and
// hardly any other results are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/random.h"
#include "assay/judge/verdict.h"
#include "assay/op/sum_bound.h"

namespace assay {
namespace {

using testing::HasSubstr;

// Returns a case whose factors differ in size by up to 2^spread, with both signs or with one. In
// formats of a small range, a large spread makes some factors subnormal.
Case product(std::string_view dtype, std::int64_t k, int spread, bool signs, std::uint64_t seed,
             bool bias = false) {
  const Format& f = format_named(dtype);
  Random random(seed, 0);
  const auto draw = [&](std::int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& v : values) {
      const int down =
          spread == 0 ? 0 : static_cast<int>(random.below(static_cast<std::uint64_t>(spread)));
      v = std::ldexp(1 + random.uniform(), -down) * (signs && random.below(2) == 1 ? -1 : 1);
    }
    return values;
  };
  Case c;
  c.name = "m";
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string("float32");
  c.inputs["a"] = Tensor::from_values(f, {4, k}, draw(4 * k));
  c.inputs["b"] = Tensor::from_values(f, {k, 5}, draw(k * 5));
  if (bias) c.inputs["bias"] = Tensor::from_values(format_named("float32"), {5}, draw(5));
  c.output().golden = golden_result(c);
  return c;
}

Verdict judged(const Case& c, const Tensor& output, const Tensor& bounds) {
  const Bound bound = standard_bound("accumulation", output.format()).value();
  JudgeOptions options;
  options.element_bounds = bounds.view();
  return judge(output, *c.output().golden, bound, options);
}

TEST(Accumulation, EveryMachineIsWithinItsBound) {
  int products = 0;
  for (const Machine& m : machines()) {
    for (const DotModel& d : m.dots) {
      if (!format_named(d.input).is_float()) continue;
      for (const std::int64_t k : {1, 7, 16, 33, 200}) {
        for (const int spread : {0, 4, 12, 24}) {
          for (const bool signs : {false, true}) {
            const Case c =
                product(d.input, k, spread, signs, static_cast<std::uint64_t>(k + spread), k == 33);
            const Verdict v = judged(c, emulate(c, m), accumulation_bounds(c, m));
            EXPECT_EQ(v.mismatches, 0) << m.name << " " << d.input << " K " << k << " spread "
                                       << spread << ": worst " << v.worst_ratio;
            ++products;
          }
        }
      }
    }
  }
  EXPECT_GT(products, 400);
}

// Machines that flush subnormals have bounds, too. Products, sums and factors are near the smallest
// normal, so that flushes are most of the error. The bounds of the same machines without flushes
// would be too small.
TEST(Accumulation, MachinesThatFlushAreWithinTheirBound) {
  int moved = 0;
  for (const char* unit :
       {"ascend910b", "cpu_fma", "cpu_mul_add", "hopper", "ampere", "ascend910b,order=pairwise"}) {
    for (const char* flush : {",flush_inputs=1", ",flush_sums=1", ",flush_inputs=1,flush_sums=1"}) {
      const Machine &m = machine_variant(std::string(unit) + flush), &keeps = machine_named(unit);
      for (const DotModel& d : m.dots) {
        const Format& f = format_named(d.input);
        if (!f.is_float()) continue;
        for (const std::int64_t k : {1, 16, 70}) {
          Case c = product(d.input, k, 12, true, static_cast<std::uint64_t>(k));
          // `a` is near the smallest normal number of its format. `b` brings the products near that
          // of float32, if its range allows.
          const double a = 8 * min_normal(f), b = std::max(0x1p-126 / a, 0x1p-10);
          for (const auto& [name, scale] : {std::pair{"a", a}, std::pair{"b", b}}) {
            std::vector<double> values = c.inputs[name].view().values();
            for (double& v : values) v *= scale;
            c.inputs[name] = Tensor::from_values(f, c.inputs[name].shape(), values);
          }
          c.output().golden = golden_result(c);
          const Tensor output = emulate(c, m), bounds = accumulation_bounds(c, m);
          const Verdict v = judged(c, output, bounds);
          EXPECT_EQ(v.mismatches, 0)
              << m.name << " " << d.input << " K " << k << ": " << v.worst_ratio;
          moved += judged(c, output, accumulation_bounds(c, keeps)).mismatches > 0 ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(moved, 20);
}

// The bound is not loose either: some sums of Hopper use more than 5 percent of it, and an error of
// 2^-12 of a sum, which is less than a dropped product, is detected.
TEST(Accumulation, IsNotVacuous) {
  const Machine& hopper = machine_named("hopper");
  double worst = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Case c = product("float16", 64, 6, false, seed);
    worst =
        std::max(worst, judged(c, emulate(c, hopper), accumulation_bounds(c, hopper)).worst_ratio);
  }
  EXPECT_GT(worst, 0.05);
  const Case c = product("float16", 64, 0, false, 1);
  Tensor broken = emulate(c, hopper);
  const double less = broken.view().value_at(3) * (1 - 0x1p-12);
  broken.set_bits(3, encode(broken.format(), less));
  EXPECT_EQ(judged(c, broken, accumulation_bounds(c, hopper)).mismatches, 1);
}

// After each promotion the accumulator starts at 0 again, so that later chunks cut only small
// units. If K is large and the products have one sign, sums that are never promoted exceed the
// bound of promoted sums. Right results do not.
TEST(Accumulation, OfPromotedSumsFindsWhereNoneWasPromoted) {
  const Machine& hopper = machine_named("hopper");
  int found = 0, tails = 0, all = 0;
  for (const bool signs : {false, true}) {
    for (const std::int64_t k : {512, 1024, 2048, 4096}) {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        Case c = product("float8_e4m3fn", k, 3, signs, seed + 50);
        const Tensor never = emulate(c, hopper);
        const Tensor loose = accumulation_bounds(c, hopper);
        c.attributes["promotion_interval"] = std::int64_t{128};
        const Tensor bounds = accumulation_bounds(c, hopper);
        EXPECT_EQ(judged(c, emulate(c, hopper), bounds).mismatches, 0) << k;
        for (std::int64_t i = 0; i < bounds.size(); ++i) {
          EXPECT_LT(bounds.view().value_at(i), loose.view().value_at(i) / 2) << k;
        }
        found += judged(c, never, bounds).mismatches > 0 ? 1 : 0;
        std::vector<double> a = c.input("a").view().values();
        for (std::size_t i = 0; i < a.size(); ++i) {
          if (static_cast<std::int64_t>(i) % k >= k - 32) a[i] = 0;
        }
        Case tail = c;
        tail.inputs["a"] = Tensor::from_values(c.input("a").format(), c.input("a").shape(), a);
        tails += judged(c, emulate(tail, hopper), bounds).mismatches > 0 ? 1 : 0;
        ++all;
      }
    }
  }
  RecordProperty("never_promoted", found);
  RecordProperty("tails", tails);
  EXPECT_EQ(all, 24);
  EXPECT_GE(tails, 20);
  EXPECT_GE(found, 9);
}

// By hand: K = 32 in chunks of 16 and float32 rounded to nearest give 2 roundings. The sizes of the
// products add up to S = 32 * 3.
TEST(Accumulation, ByHand) {
  Case c;
  c.name = "m";
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string("float32");
  c.inputs["a"] = Tensor::from_values(format_named("float16"), {1, 32}, std::vector<double>(32, 3));
  c.inputs["b"] =
      Tensor::from_values(format_named("float16"), {32, 1}, std::vector<double>(32, -1));
  const double u = 0x1p-24, first = 2 * u * 96;
  EXPECT_NEAR(accumulation_bounds(c, machine_named("ascend910b")).view().value_at(0), first,
              1e-6 * first);
  // On Hopper, truncation doubles u. Each chunk cuts 17 terms (16 products and the accumulator) at
  // 2^-25 of the largest term: max(3, 0) in the first chunk and max(3, 48) in the second.
  const double cut = 17 * 0x1p-25 * (3 + 48);
  EXPECT_NEAR(accumulation_bounds(c, machine_named("hopper")).view().value_at(0), 2 * first + cut,
              1e-5 * first);
}

TEST(Accumulation, SumsToo) {
  for (const char* order : {"sequential", "pairwise"}) {
    Case c;
    c.name = "s";
    c.op = "reduce_sum";
    c.attributes["axis"] = std::int64_t{1};
    c.attributes["order"] = std::string(order);
    std::vector<double> x(6 * 300);
    Random random(5, 1);
    for (double& v : x) v = random.normal();
    c.inputs["x"] = Tensor::from_values(format_named("float32"), {6, 300}, x);
    c.output().golden = golden_result(c);
    const Machine& m = machine_named("ascend910b");
    const Tensor output = emulate(c, m), bounds = accumulation_bounds(c, m);
    EXPECT_EQ(bounds.shape(), (Shape{6}));
    EXPECT_EQ(judged(c, output, bounds).outcome, Outcome::kPass);
    Tensor broken = output;
    broken.set_bits(2, encode(broken.format(), broken.view().value_at(2) + 0.1));
    EXPECT_EQ(judged(c, broken, bounds).mismatches, 1);
  }
}

std::string message_of(const Case& c, const char* machine) {
  try {
    accumulation_bounds(c, machine_named(machine));
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "(nothing was thrown)";
}

TEST(Accumulation, SaysWhereItKnowsNone) {
  Case c = product("float16", 8, 0, false, 1);
  EXPECT_THAT(message_of(c, "exact"),
              HasSubstr("machine exact is the reference and has no matrix unit"));
  EXPECT_THAT(message_of(product("float8_e5m2", 8, 0, false, 1), "ampere"),
              HasSubstr("the matrix unit of ampere takes"));
  c.inputs["a"].set_bits(0, 0x7c00);
  const Tensor bounds = accumulation_bounds(c, machine_named("hopper"));
  for (std::int64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(bounds.view().value_at(i) == 0, i < 5) << "an infinity reaches its row only";
  }
  c.op = "cast";
  EXPECT_THAT(message_of(c, "hopper"), HasSubstr("rmsnorm and attention, not cast"));
}

}  // namespace
}  // namespace assay
