// Tests bounds of an accumulator's errors against the scalar oracle of the dot model. The machines
// are those of the table, and variants of them that flush subnormals in their inputs and sums. The
// data lie around and below the normal range.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/machine/dot.h"
#include "assay/machine/exact_sum.h"
#include "assay/machine/unit_bound.h"

namespace assay {
namespace {

// The sizes of the factors a and b of a product.
enum class Data {
  kNormal,         // about 1
  kSmallProducts,  // products about the smallest normal of float32
  kSmallFactors,   // subnormal factors among others
  kSmallAndLarge,  // subnormal factors beside the largest
  kCancelling,     // pairs of products that nearly cancel, about the smallest normal
  kOneSign,        // about 1, all positive
};
constexpr Data kAllData[] = {Data::kNormal,        Data::kSmallProducts, Data::kSmallFactors,
                             Data::kSmallAndLarge, Data::kCancelling,    Data::kOneSign};

struct Sum {
  std::vector<double> a, b;
  double start = 0;
};

Sum draw(const DotModel& model, Data data, std::int64_t k, Random& random) {
  const Format &fa = format_named(model.input), &fb = format_named(model.b_input());
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * random.uniform();
  };
  const auto sign = [&] { return random.below(2) == 0 ? 1.0 : -1.0; };
  const double normal_a = min_normal(fa), normal_b = min_normal(fb);
  // The size of a that lets a product lie about 2^-126, the smallest normal number of float32, if b
  // has the size 2^-126 / half_way. It is 2^-64, or a format's smallest normal number if larger.
  const double half_way = std::max(0x1p-64, std::max(normal_a, normal_b));
  Sum s;
  for (std::int64_t i = 0; i < k; ++i) {
    double a = 1, b = 1;
    switch (data) {
      case Data::kNormal:
        a = sign() * uniform(0.25, 4);
        b = uniform(0.25, 4);
        break;
      case Data::kOneSign:
        a = uniform(1, 2);
        b = uniform(1, 2);
        break;
      case Data::kSmallProducts:
        a = sign() * uniform(0.25, 4) * half_way;
        b = uniform(0.25, 4) * std::max(0x1p-126 / half_way, normal_b);
        break;
      case Data::kSmallFactors:
        a = sign() * uniform(0.01, 1.5) * normal_a;
        b = random.below(2) == 0 ? uniform(0.5, 2) : uniform(0.01, 1.5) * normal_b;
        break;
      case Data::kSmallAndLarge:
        a = sign() * (random.below(2) == 0 ? uniform(0.01, 1.5) * normal_a : uniform(0.5, 2));
        b = random.below(4) == 0 ? uniform(0.1, 0.5) * std::sqrt(max_finite(fb))
                                 : uniform(0.01, 1.5) * normal_b;
        break;
      case Data::kCancelling:
        a = (i % 2 == 0 ? 1 : -1) * half_way * (1 + random.uniform() / 4);
        b = std::max(0x1p-126 / half_way, normal_b) * uniform(0.9, 1.1);
        break;
    }
    s.a.push_back(round_to(fa, a));
    s.b.push_back(round_to(fb, b));
  }
  if (random.below(3) == 0) {
    const double sizes[] = {1, 0x1p-126, 0x1p-130};
    s.start =
        static_cast<double>(static_cast<float>(sign() * uniform(0.5, 2) * sizes[random.below(3)]));
  }
  return s;
}

// Returns |oracle's result - exact sum|. The difference is taken exactly.
double sum_error(const DotModel& model, const Sum& s) {
  const auto k = static_cast<std::int64_t>(s.a.size());
  const double got = dot_oracle(model, k, s.a.data(), 1, s.b.data(), 1, s.start);
  ExactSum sum;
  for (std::size_t i = 0; i < s.a.size(); ++i) sum.add_product(s.a[i], s.b[i]);
  sum.add(s.start);
  sum.add(-got);
  return std::abs(sum.to_odd());
}

double bound_of(const DotModel& model, const Sum& s) {
  const std::vector<double> start =
      s.start == 0 ? std::vector<double>() : std::vector<double>{s.start};
  return sum_bounds(model, 1, 1, static_cast<std::int64_t>(s.a.size()), s.a, s.b, start).error[0];
}

ElementError element_bound_of(const DotModel& model, const Sum& s) {
  double reference = s.start;
  for (std::size_t i = 0; i < s.a.size(); ++i) reference += s.a[i] * s.b[i];
  return Accumulation(&model, static_cast<std::int64_t>(s.a.size()))
      .element_bound(s.start, reference, s.a.data(), s.b.data());
}

// Returns every machine, and for some of them every order, rounding, promotion and product
// rounding, each with and without flushes.
std::vector<std::string> machines_to_try() {
  std::vector<std::string> names;
  const std::vector<std::string> units = {
      "ascend910b",
      "ascend910b,chunk=8,order=sequential",
      "ascend910b,order=pairwise",
      "ascend910b,chunk=4,order=pairwise,round_products=1",
      "ascend910b,chunk=4,order=sequential,round_products=1",
      "ascend910b,chunk=4,round_products=1",
      "ascend910b,rounding=toward_zero",
      "ascend910b,rounding=up,chunk=4,order=sequential",
      "ascend910b,mantissa_bits=13,promotion_interval=32",
      "ascend910b,promotion_interval=24",  // the interval is not a multiple of the chunk
      "cpu_fma",
      "cpu_mul_add",
      "hopper",
      "hopper,promotion_interval=40",
      "hopper,kept_bits=14",
      "volta",
      "ampere,rounding=nearest_even",
      "blackwell,emax_floor=-60"};
  for (const std::string& unit : units) {
    for (const char* flush :
         {"", ",flush_inputs=1", ",flush_sums=1", ",flush_inputs=1,flush_sums=1"}) {
      names.push_back(unit + flush);
    }
  }
  for (const Machine& m : machines()) {
    if (!m.dots.empty()) names.emplace_back(m.name);
  }
  return names;
}

const Machine& named(const std::string& name) {
  return name.find(',') == std::string::npos ? machine_named(name) : machine_variant(name);
}

DotModel without_flushes(DotModel model) {
  model.flush_inputs.value = model.flush_sums.value = false;
  return model;
}

TEST(SumBounds, HoldForEveryMachineAndWhatItFlushes) {
  std::int64_t sums = 0, moved_by_flushes = 0, beyond_without_flushes = 0;
  std::int64_t elements_beyond_without_flushes = 0;
  Random random(14, 5);
  for (const std::string& name : machines_to_try()) {
    for (const DotModel& model : named(name).dots) {
      if (!format_named(model.input).is_float()) continue;
      const DotModel keeps = without_flushes(model);
      for (const Data data : kAllData) {
        for (const std::int64_t k : {1, 5, 16, 33, 96}) {
          for (int trial = 0; trial < 3; ++trial) {
            const Sum s = draw(model, data, k, random);
            const double error = sum_error(model, s);
            // An overflow is not a rounding error, so that no bound holds for it.
            if (!std::isfinite(error)) continue;
            SCOPED_TRACE(formatted("{} {} data {} K {} start {}", name, model.input,
                                   static_cast<int>(data), k, s.start));
            ASSERT_EQ(why_no_sum_bounds(model, k, s.start != 0), "");
            ASSERT_LE(error, bound_of(model, s));
            ASSERT_LE(error, element_bound_of(model, s).chance);
            ++sums;
            const bool moved = dot_oracle(model, k, s.a.data(), 1, s.b.data(), 1, s.start) !=
                               dot_oracle(keeps, k, s.a.data(), 1, s.b.data(), 1, s.start);
            moved_by_flushes += moved ? 1 : 0;
            beyond_without_flushes += error > bound_of(keeps, s) ? 1 : 0;
            elements_beyond_without_flushes += error > element_bound_of(keeps, s).chance ? 1 : 0;
          }
        }
      }
    }
  }
  EXPECT_GT(sums, 10000);
  // Some units do flush subnormals: many of their sums lie outside of bounds that ignore flushes.
  EXPECT_GT(moved_by_flushes, 1000);
  EXPECT_GT(beyond_without_flushes, 500);
  EXPECT_GT(elements_beyond_without_flushes, 500);
}

// For data in the normal range, a unit that flushes has the same bounds as a unit that does not.
TEST(SumBounds, FlushesCostNothingFarFromTheSubnormals) {
  Random random(14, 6);
  for (const char* name : {"ascend910b,flush_inputs=1,flush_sums=1", "cpu_fma,flush_sums=1",
                           "hopper,flush_inputs=1,flush_sums=1"}) {
    for (const DotModel& model : named(name).dots) {
      if (!format_named(model.input).is_float()) continue;
      const Sum s = draw(model, Data::kNormal, 64, random);
      const double keeps = bound_of(without_flushes(model), s);
      EXPECT_GE(bound_of(model, s), keeps);
      EXPECT_LE(bound_of(model, s), keeps * (1 + 1e-15)) << name;
    }
  }
}

// Subnormal products are added before the sum is flushed. If all products are subnormal, their
// whole sum may be lost, but no more than that.
TEST(SumBounds, FlushedSumsAreBoundedByWhatWasSummed) {
  const DotModel& model =
      dot_model(machine_variant("cpu_fma,flush_sums=1"), format_named("float32"));
  Sum s;
  for (int i = 0; i < 50; ++i) {
    s.a.push_back(0x1p-70);
    s.b.push_back(0x1p-70);
  }
  EXPECT_EQ(sum_error(model, s), 50 * 0x1p-140);
  EXPECT_GE(bound_of(model, s), 50 * 0x1p-140);
  EXPECT_LE(bound_of(model, s), 50 * (0x1p-140 + 2 * 0x1p-149));
  // If inputs are flushed, the bound has the size of the products that are lost: 2^-127 is
  // subnormal and flushed, 2^-126 is not.
  const DotModel& inputs =
      dot_model(machine_variant("cpu_fma,flush_inputs=1"), format_named("float32"));
  const Sum mixed = {{0x1p-127, 0x1p-126}, {0x1p100, 0x1p100}, 0};
  EXPECT_EQ(sum_error(inputs, mixed), 0x1p-27);
  EXPECT_NEAR(bound_of(inputs, mixed), 0x1p-27 + 2 * 0x1p-24 * 0x1p-26, 0x1p-60);
  EXPECT_EQ(sum_bounds(inputs, 1, 1, 2, mixed.a, mixed.b, {}).size[0], 0x1p-27 + 0x1p-26);
}

// The bound of a flushed sum by hand: the whole sum, which is lost, and the 50 roundings before the
// flush, of u each and with their higher orders.
TEST(SumBounds, FlushedSumsByHand) {
  const DotModel& model =
      dot_model(machine_variant("cpu_fma,flush_sums=1"), format_named("float32"));
  const Sum s = {std::vector<double>(50, 0x1p-70), std::vector<double>(50, 0x1p-70), 0};
  const double all = 50 * 0x1p-140, lost = 50 * 0x1p-149;
  const double growth = 50 * 0x1p-24 / (1 - 50 * 0x1p-24);
  const double wanted = (1 + growth) * (all + lost) + growth * all;
  EXPECT_NEAR(bound_of(model, s), wanted, 1e-12 * wanted);
}

// Each of m x n bounds is that of its own row and column, on any number of threads.
TEST(SumBounds, OfMatricesAreThoseOfTheirElements) {
  const DotModel& model =
      dot_model(machine_variant("hopper,flush_inputs=1,flush_sums=1"), format_named("float16"));
  Random random(14, 7);
  const std::int64_t m = 5, n = 7, k = 50;
  std::vector<double> a, b(static_cast<std::size_t>(k * n)), start;
  std::vector<Sum> rows, columns;
  for (std::int64_t i = 0; i < m; ++i) {
    rows.push_back(draw(model, Data::kSmallAndLarge, k, random));
    a.insert(a.end(), rows.back().a.begin(), rows.back().a.end());
  }
  for (std::int64_t j = 0; j < n; ++j) {
    columns.push_back(draw(model, Data::kSmallAndLarge, k, random));
    for (std::int64_t kk = 0; kk < k; ++kk) {
      b[static_cast<std::size_t>(kk * n + j)] = columns.back().b[static_cast<std::size_t>(kk)];
    }
    start.push_back(static_cast<double>(j) - 3);
  }
  for (const int threads : {1, 3}) {
    const SumBounds all = sum_bounds(model, m, n, k, a, b, start, threads);
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 7; ++j) {
        const SumBounds one = sum_bounds(model, 1, 1, k, rows[i].a, columns[j].b, {start[j]}, 1);
        EXPECT_EQ(all.error[i * 7 + j], one.error[0]);
        EXPECT_EQ(all.size[i * 7 + j], one.size[0]);
      }
    }
  }
}

// 300 products stand anywhere in a long sum, whose other products are 0. With promotion, the bound
// does not depend on their place, even if a stretch of the kernel ends among them.
TEST(SumBounds, OfLongSumsDoNotDependOnStretches) {
  const DotModel& model =
      dot_model(machine_named("hopper,promotion_interval=128"), format_named("float8_e4m3fn"));
  constexpr std::size_t kDepth = 9000, kProducts = 300;
  Random random(14, 6);
  std::vector<double> a(kProducts), b(kProducts);
  for (auto* values : {&a, &b}) {
    for (double& v : *values) v = round_to(format_named("float8_e4m3fn"), random.normal());
  }
  const auto bounds_from = [&](std::size_t first) {
    std::vector<double> long_a(kDepth, 0.0), long_b(kDepth, 0.0);
    std::copy(a.begin(), a.end(), long_a.begin() + static_cast<std::ptrdiff_t>(first));
    std::copy(b.begin(), b.end(), long_b.begin() + static_cast<std::ptrdiff_t>(first));
    return sum_bounds(model, 1, 1, kDepth, long_a, long_b, {0.5}, 1);
  };
  const SumBounds wanted = bounds_from(0);
  double size = 0.5;
  for (std::size_t i = 0; i < kProducts; ++i) size += std::abs(a[i] * b[i]);
  EXPECT_EQ(wanted.size[0], size);
  EXPECT_GT(wanted.error[0], 0);
  for (const std::size_t first : {128UL, 3968UL, 4096UL, 8064UL}) {
    EXPECT_EQ(bounds_from(first).size, wanted.size) << first;
    EXPECT_EQ(bounds_from(first).error, wanted.error) << first;
  }
}

TEST(SumBounds, SaysWhereThereAreNone) {
  DotModel model = dot_model(machine_named("hopper"), format_named("float8_e5m2"));
  EXPECT_EQ(why_no_sum_bounds(model, 64, false), "");
  EXPECT_EQ(why_no_sum_bounds(model, std::int64_t{1} << 20, false), "the roundings leave no digit");
  // 1024 roundings of float16 sums come to 1024 2^-11, which is one half.
  model = dot_model(machine_named("cpu_fma"), format_named("float16"));
  model.accumulator.value = "float16";
  EXPECT_EQ(why_no_sum_bounds(model, 1023, false), "");
  EXPECT_EQ(why_no_sum_bounds(model, 1024, false), "the roundings leave no digit");
}

// Counts roundings by hand, for 10 products in chunks of 4. With promotion after every 6 products,
// the chunks have 4, 2 and 4 products.
TEST(RoundingCounts, ByHand) {
  DotModel model = dot_model(machine_named("ascend910b"), format_named("float16"));
  model.chunk.value = 4;
  const auto expect = [&](double path, double inside, double promotions, double all,
                          double inexact) {
    const RoundingCounts c = rounding_counts(model, 10);
    EXPECT_EQ(c.path, path);
    EXPECT_EQ(c.inside, inside);
    EXPECT_EQ(c.promotions, promotions);
    EXPECT_EQ(c.all, all);
    EXPECT_EQ(c.inexact, inexact);
  };
  expect(3, 0, 0, 3, 3);
  model.promotion_interval.value = 6;
  expect(2, 0, 2, 3, 3);
  model.promotion_interval.value = 0;
  // Counts 10 fused multiply-adds, and 3 additions of chunks.
  model.order.value = ChunkOrder::kSequential;
  expect(3 + 3, 3, 0, 10 + 3, 10);
  // Counts the roundings of 10 products, of 7 sums inside the chunks, and of 3 additions of chunks.
  model.order.value = ChunkOrder::kPairwise;
  expect(3 + 2 + 1, 3, 0, 10 + 7 + 3, 10);
  model.round_products.value = true;
  expect(3 + 2 + 1, 3, 0, 20, 10);
  model.order.value = ChunkOrder::kFused;
  expect(3 + 1, 1, 0, 10 + 3, 10);
  // Aligned terms are not rounded separately.
  model.kept_bits.value = 24;
  EXPECT_EQ(rounding_counts(model, 10).all, 3);
  EXPECT_EQ(rounding_counts(model, 0).all, 0);
}

// No element's bound is above the bound that a census takes for all elements.
TEST(ElementBounds, AreBelowTheLargest) {
  Random random(14, 8);
  for (const std::string& name : machines_to_try()) {
    for (const DotModel& model : named(name).dots) {
      if (!format_named(model.input).is_float()) continue;
      for (const Data data : kAllData) {
        const std::int64_t k = 48;
        const Sum s = draw(model, data, k, random);
        const Accumulation accumulation(&model, k);
        double a = 0, b = 0;
        for (std::size_t i = 0; i < s.a.size(); ++i) {
          const double x = std::max(std::abs(s.a[i]), accumulation.aligned_size_a(s.a[i]));
          const double y = std::max(std::abs(s.b[i]), accumulation.aligned_size_b(s.b[i]));
          a += x * x;
          b += y * y;
        }
        const double size = std::sqrt(a) * std::sqrt(b) + std::abs(s.start);
        EXPECT_LE(element_bound_of(model, s).worst,
                  accumulation.largest_element_bound(size) * (1 + 1e-12))
            << name << " " << model.input << " data " << static_cast<int>(data);
      }
    }
  }
}

// The largest bound is reached by some element: the sum of one product that is aligned to itself in
// every chunk.
TEST(ElementBounds, TheLargestIsReached) {
  DotModel model = dot_model(machine_named("hopper"), format_named("float16"));
  model.kept_bits.value = 12;
  for (const std::size_t k : {16u, 48u}) {
    Sum s = {std::vector<double>(k, 0.0), std::vector<double>(k, 0.0), 0};
    s.a[0] = s.b[0] = 1;
    const double most = Accumulation(&model, static_cast<std::int64_t>(k)).largest_element_bound(1);
    EXPECT_GE(most, element_bound_of(model, s).worst);
    EXPECT_LE(most, element_bound_of(model, s).worst * 1.001);
  }
}

// If all sums are subnormal, each of 100 roundings errs by at most one of their ulps, 2^-149.
TEST(ElementBounds, TheLargestBelowTheNormalRangeByHand) {
  const DotModel& model =
      dot_model(machine_variant("cpu_fma,rounding=toward_zero"), format_named("float32"));
  EXPECT_DOUBLE_EQ(Accumulation(&model, 100).largest_element_bound(0), 100 * 0x1p-149);
}

// The part that is cut from each product grows with the sum that the product is added to. All
// products have one sign, and a segment of 128 adds up to nearly 256. From sums of 128 on, each
// product of 2 - 2^-10 loses 7/8 of a unit of 2^-7. All 128 of a segment lose 0.4375 together.
TEST(ElementBounds, HoldForTruncatedSumsThatGrow) {
  const DotModel& model = dot_model(machine_variant("hopper,kept_bits=14,promotion_interval=128"),
                                    format_named("float16"));
  const Sum s = {std::vector<double>(256, 2 - 0x1p-10), std::vector<double>(256, 1.0), 0};
  EXPECT_EQ(sum_error(model, s), 2 * 0.4375);
  EXPECT_GE(element_bound_of(model, s).worst, sum_error(model, s));
}

// The bound by hand is 16 standard deviations of 100 roundings. Each rounding has the variance u^2
// / 3 times the square of the partial sum. In any order, this square is S / 3 + V / 6 in the mean,
// where S is the square of the sum and V the sum of the squares of the products. If the partial
// sums in the order of the products are larger, the bound uses these.
TEST(ElementBounds, OfAnyOrderByHand) {
  const Accumulation sums(nullptr, 100);
  const auto chance = [&](double reference, double prefix_squares) {
    return sums.chain_bound({reference, 1000, 24, prefix_squares}).chance / 0x1p-24;
  };
  EXPECT_DOUBLE_EQ(chance(0, 0), 16 * std::sqrt(100 * 4 / 3.0));
  EXPECT_DOUBLE_EQ(chance(3, 0), 16 * std::sqrt(100 * 7 / 3.0));
  EXPECT_DOUBLE_EQ(chance(3, 699), 16 * std::sqrt(100 * 7 / 3.0));
  EXPECT_DOUBLE_EQ(chance(3, 900), 16 * std::sqrt(900 / 3.0));
}

// 128 products of 1 and 128 of -1: the partial sums rise to 128 and fall back. Their squares are
// larger than those of an arbitrary order.
TEST(ElementBounds, OfTheirOwnPartialSumsByHand) {
  std::vector<double> a(256, 1.0);
  const std::vector<double> b(256, 1.0);
  std::fill(a.begin() + 128, a.end(), -1.0);
  double squares = 0;
  for (int i = 1; i <= 128; ++i) squares += i * i + (128 - i) * (128 - i);
  const ElementError error = Accumulation(nullptr, 256).element_bound(0, 0, a.data(), b.data());
  EXPECT_DOUBLE_EQ(error.chance, 0x1p-24 * 16 * std::sqrt(squares / 3));
  EXPECT_DOUBLE_EQ(error.worst, 0x1p-24 * 256 * 256);
}

// Counts by hand the roundings after each product, for K = 6 in chunks of 2. With promotion after
// every 4 products, each segment begins a new sum.
TEST(Accumulation, RoundingsOfEachProduct) {
  DotModel model = dot_model(machine_named("hopper"), format_named("float16"));
  model.chunk.value = 2;
  model.promotion_interval.value = 4;
  const Accumulation split(&model, 6);
  const double wanted[] = {2, 2, 1, 1, 1, 1};
  for (std::int64_t k = 0; k < 6; ++k) EXPECT_EQ(split.roundings_after(k), wanted[k]);
  model.promotion_interval.value = 0;
  const Accumulation whole(&model, 6);
  const double all[] = {3, 3, 2, 2, 1, 1};
  for (std::int64_t k = 0; k < 6; ++k) EXPECT_EQ(whole.roundings_after(k), all[k]);
  EXPECT_EQ(whole.roundings(), 3);
  EXPECT_TRUE(whole.truncates());
  EXPECT_TRUE(whole.aligns());
  const Accumulation plain(nullptr, 6);
  EXPECT_FALSE(plain.truncates());
  EXPECT_EQ(plain.bias({.prefixes = 100}), 0);
}

// Without alignment, the bias of a truncating accumulator is -0.7 u sum P, where P are the partial
// sums. The variance is computed from the numbers of its derivation.
TEST(Accumulation, BiasAndVarianceByHand) {
  DotModel model = dot_model(machine_named("ascend910b"), format_named("float32"));
  model.rounding.value = Rounding::kTowardZero;
  const Accumulation cut(&model, 8);  // two roundings
  const ProductStats p{.expected = 3, .square = 5, .prefixes = 10, .columns = 4};
  EXPECT_DOUBLE_EQ(cut.bias(p), -0.7 * 0x1p-24 * 10);
  const AccumulationNoise noise = cut.noise(p, 6);
  const double weight = 1 / 5.0 + 0.031 * 0.031 * 2;
  EXPECT_DOUBLE_EQ(noise.per_square, 0x1p-48 * weight * 2 / 3);
  EXPECT_EQ(noise.flushed, 0);
  EXPECT_NEAR(noise.variance,
              0x1p-48 * weight * (2 / 6.0 * 5) + std::pow(0.05 * 0.7 * 0x1p-24 * 10, 2), 1e-22);
  EXPECT_DOUBLE_EQ(noise.deviations,
                   6 * std::sqrt(5 / 3.0) + (1 - 0.7) * std::sqrt(4 * 2 / weight));
  // Each of two roundings in each of four columns may flush up to the smallest normal number.
  model.flush_sums.value = true;
  EXPECT_EQ(Accumulation(&model, 8).noise(p, 6).flushed, 4 * 2 * 0x1p-126);
  EXPECT_EQ(Accumulation(&model, 8).noise({.columns = 4}, 6).flushed, 0) << "of zeros alone";
}

// Roundings inside a chunk add to the variance of those of the accumulator. If L products of a
// chunk are added one by one, they add L^2 / 3K times the square of the sum and L / 2 times the
// squares of the products.
TEST(Accumulation, VarianceInsideAChunkByHand) {
  DotModel model = dot_model(machine_named("ascend910b"), format_named("float32"));
  model.chunk.value = 8;
  model.order.value = ChunkOrder::kSequential;
  const AccumulationNoise noise =
      Accumulation(&model, 32).noise({.expected = 3, .square = 5, .columns = 4}, 6);
  EXPECT_DOUBLE_EQ(noise.per_square, 0x1p-48 / 5 * (4 / 3.0 + 64 / 96.0));
  EXPECT_DOUBLE_EQ(noise.variance, 0x1p-48 / 5 * (4 / 6.0 + 8 / 2.0) * 5);
}

// If sums are far below the normal range, only roundings to multiples of 2^-149 are left. The
// variance of each is a twelfth of the square of 2^-149.
TEST(Accumulation, VarianceBelowTheNormalRangeByHand) {
  const Accumulation sums(nullptr, 6);
  const AccumulationNoise noise = sums.noise({.square = 0x1p-600, .columns = 4}, 6);
  EXPECT_DOUBLE_EQ(noise.variance, 6 * 4 * std::pow(0x1p-149, 2) / 12);
}

// The number of aligned terms that lose bits depends on the size of the partial sums. It is
// computed for products that add up to 0 in the mean, and for products that do not, whose partial
// sums are larger.
TEST(Accumulation, VarianceOfAlignedTermsByHand) {
  const DotModel& model = dot_model(machine_named("hopper"), format_named("float16"));
  // 32 products in chunks of 16 have two roundings. Terms keep 25 bits, and the accumulator 23.
  const Accumulation sums(&model, 32);
  const auto weight = [&](double expected) {
    return sums.noise({.expected = expected, .square = 5}, 6).per_square / (0x1p-48 * 2 / 3);
  };
  // The bias factor is 1 - 2^(23 - 25) = 0.75, because two more bits are kept.
  const double path = 0.031 * 0.75;
  const auto by_hand = [&](double total) {
    const double sum = (2 / 3.0 * total + 1 / 3.0 * 5) / 2, product = 5 / 32.0;
    const double bits = std::log2(sum / product) / 2 - 25 + 20 + 2.5;
    const double cut = bits > 0 ? 1 - std::exp2(-bits) / 2 : std::exp2(bits) / 2;
    return (1 - 1 / 16.0) / 5 + 16 * cut / 4 / 6 + path * path * 2;
  };
  EXPECT_DOUBLE_EQ(weight(0), by_hand(5));
  EXPECT_DOUBLE_EQ(weight(40), by_hand(40 * 40 + 5));
  // If all values are zeros, there is nothing to align.
  const AccumulationNoise none = sums.noise({.columns = 4}, 6);
  EXPECT_EQ(none.variance, 0);
  EXPECT_TRUE(std::isfinite(none.deviations));
}

// Terms are aligned to no less than 2^floor, which is far above these products of 2^-28. Each of
// two chunks of four loses a unit of 2^(floor - 12) for each term, and one for the accumulator. If
// the accumulator meets a finished sum of two lanes, it loses three more. Without a floor, terms
// are aligned to themselves or to the sum, 2^-26.
TEST(SumBounds, FloorsOfAlignedTermsByHand) {
  DotModel model = dot_model(machine_named("hopper"), format_named("float16"));
  model.chunk.value = 4;
  model.kept_bits.value = 12;
  const std::vector<double> factors(8, 0x1p-14);
  const auto expect = [&](double units) {
    const Accumulation sums(&model, 8);
    const double wanted = units * 0x1p-12;
    EXPECT_NEAR(sum_bounds(model, 1, 1, 8, factors, factors, {}).error[0], wanted, 1e-3 * wanted);
    EXPECT_NEAR(sums.element_bound(0, 0x1p-25, factors.data(), factors.data()).worst, wanted,
                1e-3 * wanted);
    EXPECT_GE(sums.largest_element_bound(0x1p-25), wanted);
    return sums.largest_element_bound(0x1p-25) / 0x1p-12;
  };
  for (const int floor : {-20, -15, 3}) {
    model.emax_floor.value = floor;
    const double size = std::ldexp(1.0, floor);
    EXPECT_NEAR(expect(2 * 5 * size), 2 * 5 * size, 1e-2 * size);
    model.sum_bits.value = 20;
    model.interleave.value = 2;
    EXPECT_NEAR(expect(2 * 8 * size), 2 * 8 * size, 1e-2 * size);
    model.sum_bits.value = 0;
    model.interleave.value = 1;
  }
  model.emax_floor.value = DotModel::kNoFloor;
  const auto bound = [&] {
    return sum_bounds(model, 1, 1, 8, factors, factors, {}).error[0] / 0x1p-12;
  };
  EXPECT_NEAR(bound(), 5 * (0x1p-28 + 0x1p-26), 1e-2 * 0x1p-26);
  // A floor between the products and their sum matters only in the first chunk.
  model.emax_floor.value = -27;
  EXPECT_NEAR(bound(), 5 * (0x1p-27 + 0x1p-26), 1e-2 * 0x1p-26);
  EXPECT_NEAR(
      Accumulation(&model, 8).element_bound(0, 0x1p-25, factors.data(), factors.data()).worst /
          0x1p-12,
      5 * (0x1p-26 + 0x1p-25), 1e-2 * 0x1p-25);
}

// A promotion ends a chunk. Terms that are aligned to the sum after it are cut once more.
TEST(SumBounds, PromotionsEndChunks) {
  DotModel model = dot_model(machine_named("hopper"), format_named("float16"));
  model.chunk.value = 4;
  model.kept_bits.value = 12;
  const std::vector<double> ones(8, 1.0);
  const auto error = [&](int interval) {
    model.promotion_interval.value = interval;
    return sum_bounds(model, 1, 1, 8, ones, ones, {}).error[0];
  };
  // Terms are cut at 1 and 4. With a promotion they are cut at 1, at 4 and, in an accumulator that
  // starts at 0 again, at 1. Each cut costs five units.
  EXPECT_NEAR(error(8), 5 * 0x1p-12 * (1 + 4), 1e-4);
  EXPECT_NEAR(error(6), 5 * 0x1p-12 * (1 + 4 + 1), 1e-4);
}

// Far below the normal range, a rounding to nearest errs by half of 2^-149, and a rounding that
// cuts errs by 2^-149. An empty sum has no error.
TEST(ElementBounds, BelowTheNormalRangeByHand) {
  const Accumulation plain(nullptr, 6);
  const ElementError tiny = plain.chain_bound({0, 0x1p-170, 0, 0});
  EXPECT_EQ(tiny.chance, 6 * 0x1p-150);
  EXPECT_EQ(tiny.worst, 6 * 0x1p-150 + 6 * 0x1p-194);
  const ElementError none = plain.chain_bound({0, 0, 0, 0});
  EXPECT_EQ(none.chance, 0);
  EXPECT_EQ(none.worst, 0);
  const std::vector<double> factors(20, 0x1p-130);
  const auto cut = [&](const char* machine) {
    const DotModel& model = dot_model(machine_named(machine), format_named("bfloat16"));
    return Accumulation(&model, 20).element_bound(0, 0, factors.data(), factors.data()).worst;
  };
  EXPECT_DOUBLE_EQ(cut("ascend910b,rounding=toward_zero"), 2 * 0x1p-149);
  EXPECT_DOUBLE_EQ(cut("ascend910b,rounding=toward_zero,flush_sums=1"),
                   2 * 0x1p-149 + 2 * 0x1p-126);
  EXPECT_EQ(cut("ascend910b,rounding=toward_zero,flush_inputs=1"),
            20 * 0x1p-260 * (1 + 20 * 0x1p-52));
}

// Below the normal range, the bound of a sum is 2^-149 for each rounding, whether it cuts or not,
// and half of that for the start value.
TEST(SumBounds, BelowTheNormalRangeByHand) {
  const DotModel& model = dot_model(machine_named("cpu_fma"), format_named("float32"));
  const std::vector<double> factors(3, 0x1p-140);
  const auto error = [&](const std::vector<double>& start) {
    return sum_bounds(model, 1, 1, 3, factors, factors, start, 1).error[0] / 0x1p-149;
  };
  EXPECT_NEAR(error({}), 3, 1e-6);
  EXPECT_NEAR(error({0}), 3.5, 1e-6);
}

}  // namespace
}  // namespace assay
