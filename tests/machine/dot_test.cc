// Compares the fast engine with the scalar oracle, bit for bit. Covers every dot model of every
// machine, every family of hard inputs, odd shapes, every SIMD target, and one and two threads.
#include "assay/machine/dot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/sanitized.h"
#include "assay/simd/targets.h"
#include "inputs.h"

namespace assay {
namespace {

using inputs::Problem;

std::vector<float> by_oracle(const DotModel& model, const Problem& p) {
  std::vector<float> c = p.c;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      float& out = c[static_cast<std::size_t>(i * p.n + j)];
      out = static_cast<float>(dot_oracle(model, p.k, p.a.data() + i * p.k, 1, p.b.data() + j, p.n,
                                          static_cast<double>(out)));
    }
  }
  return c;
}

// Compares dot_rows() with the oracle. The sums are those of the first rows of A, each with k
// numbers of B.
void expect_rows(const DotModel& model, const Problem& p, const std::string& what) {
  const std::int64_t rows = std::min(p.m, p.n);
  std::vector<double> sums(p.c.begin(), p.c.begin() + rows);
  dot_rows(model, rows, p.k, p.a.data(), p.b.data(), sums.data());
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto c = static_cast<double>(p.c[static_cast<std::size_t>(i)]);
    const auto sum = static_cast<float>(sums[static_cast<std::size_t>(i)]);
    const auto wanted = static_cast<float>(
        dot_oracle(model, p.k, p.a.data() + i * p.k, 1, p.b.data() + i * p.k, 1, c));
    ASSERT_EQ(inputs::bits(sum), inputs::bits(wanted))
        << what << ", row " << i << " of " << p.k << std::hexfloat << ": " << sum << ", not "
        << wanted << "; c was " << c;
  }
}

// Compares the engine with the oracle, on every target and with one and two threads.
void expect_oracle(const DotModel& model, const Problem& p, const std::string& what) {
  const std::vector<float> expected = by_oracle(model, p);
  for (const std::string& target : simd::available_targets()) {
    simd::force_target(target);
    expect_rows(model, p, what + " on " + target);
    for (const int threads : {1, 2}) {
      std::vector<float> c = p.c;
      dot_matmul(model, p.m, p.n, p.k, p.a.data(), p.b.data(), c.data(), threads);
      for (std::size_t i = 0; i < c.size(); ++i) {
        if (inputs::bits(c[i]) == inputs::bits(expected[i])) continue;
        ADD_FAILURE() << what << ", " << p.m << "x" << p.n << "x" << p.k << " on " << target
                      << " with " << threads << " threads: element " << i << std::hexfloat << " is "
                      << c[i] << ", not " << expected[i] << "; C was " << p.c[i];
        simd::force_target("");
        return;
      }
    }
    simd::force_target("");
  }
}

struct Row {
  const Machine* machine;
  const DotModel* model;
  std::string family;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.machine->name << " " << row.model->input << " " << row.family;
}

std::vector<Row> rows() {
  std::vector<Row> all;
  for (const Machine& machine : machines()) {
    for (const DotModel& model : machine.dots) {
      // The engine leaves chains of pairs and joined sums to the oracle, so that one family of
      // inputs is enough for these.
      const bool by_oracle = model.sum_bits.value > 0 || model.order.value == ChunkOrder::kPairwise;
      for (const std::string& family : inputs::families()) {
        if (!by_oracle || family == inputs::families().front()) {
          all.push_back({&machine, &model, family});
        }
      }
    }
  }
  // The address sanitizer takes ten times as long, so that it tests only every fifth row.
  if (kAddressSanitizer) {
    std::size_t place = 0;
    std::erase_if(all, [&](const Row&) { return place++ % 5 != 0; });
  }
  return all;
}

class EngineTest : public testing::TestWithParam<Row> {
 protected:
  void check(std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto& [machine, model, family] = GetParam();
    const auto stream = static_cast<std::uint64_t>(m * 1000003 + n * 1009 + k);
    expect_oracle(*model, inputs::make(family, format_named(model->input), m, n, k, stream),
                  family);
  }
};

std::string row_name(const testing::TestParamInfo<Row>& row) {
  return std::string(row.param.machine->name) + "_" + std::string(row.param.model->input) + "_" +
         row.param.family;
}

INSTANTIATE_TEST_SUITE_P(Models, EngineTest, testing::ValuesIn(rows()), row_name);

TEST_P(EngineTest, OddShapes) {
  check(1, 1, 1);
  check(1, 1, 17);
  check(1, 40, 5);
  check(19, 1, 16);
  check(7, 33, 17);
  check(6, 32, 4);
  check(13, 67, 48);
}

// The depth is more than one panel of 256, plus a rest that is no multiple of any chunk.
TEST_P(EngineTest, DeepProducts) {
  check(5, 35, 257);
  check(7, 3, 600);
}

// Tests more rows than a block of the engine holds.
TEST_P(EngineTest, TallProducts) { check(203, 5, 9); }

// There are more sums than the engine's registers hold, for every model, and deep enough for each
// of its paths.
TEST(EngineShapeTest, ManyRows) {
  for (const Machine& machine : machines()) {
    for (const DotModel& model : machine.dots) {
      const Problem p = inputs::make(inputs::families().front(), format_named(model.input), 21, 21,
                                     3 * model.chunk.value + 70, 5);
      for (const std::string& target : simd::available_targets()) {
        simd::force_target(target);
        expect_rows(model, p, std::string(machine.name) + " " + std::string(model.input));
      }
      simd::force_target("");
    }
  }
}

// -0 and 0 add up to 0, as in an accumulator that starts at 0.
TEST(EngineShapeTest, ANegativeZeroBesideAZero) {
  const double minus_one = -1, zero = 0;
  for (const Machine& machine : machines()) {
    for (const DotModel& model : machine.dots) {
      const double sum = dot_oracle(model, 1, &minus_one, 1, &zero, 1, 0.0);
      EXPECT_TRUE(sum == 0 && !std::signbit(sum)) << machine.name << " " << model.input;
    }
  }
}

TEST(EngineShapeTest, NothingToAdd) {
  for (const DotModel& model : machine_named("ascend910b").dots) {
    std::vector<float> c = {1.5f, -0.0f, std::numeric_limits<float>::infinity(), 0x1p-149f};
    const auto before = c;
    dot_matmul(model, 2, 2, 0, nullptr, nullptr, c.data());
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(inputs::bits(c[i]), inputs::bits(before[i]));
    dot_matmul(model, 0, 5, 3, nullptr, nullptr, nullptr);
    const double a[] = {1, 2, 3};
    dot_matmul(model, 1, 0, 3, a, nullptr, nullptr);
  }
}

TEST(EngineShapeTest, DefaultThreads) {
  const DotModel& model = dot_model(machine_named("ascend910b"), format_named("float16"));
  const auto p = inputs::make("normal", format_named("float16"), 64, 40, 100, 7);
  std::vector<float> c = p.c;
  dot_matmul(model, p.m, p.n, p.k, p.a.data(), p.b.data(), c.data());
  EXPECT_EQ(c, by_oracle(model, p));
}

// Mixes families of inputs in the engine's strips and panels. The result of an element must not
// depend on its neighbours.
TEST(EngineMixTest, FamiliesSideBySide) {
  const Format& format = format_named("bfloat16");
  const DotModel& model = dot_model(machine_named("ascend910b"), format);
  const std::vector<std::string> kinds = {"normal",    "any_bits", "specials",
                                          "subnormal", "wide20",   "exact_ties"};
  const std::int64_t rows_each = 5, k = 70, n = 80;
  Problem all{rows_each * static_cast<std::int64_t>(kinds.size()), n, k, {}, {}, {}};
  all.b.resize(static_cast<std::size_t>(k * n));
  std::int64_t column = 0;
  for (const std::string& kind : kinds) {
    const auto p = inputs::make(kind, format, rows_each, n, k, 5);
    all.a.insert(all.a.end(), p.a.begin(), p.a.end());
    all.c.insert(all.c.end(), p.c.begin(), p.c.end());
    for (const std::int64_t end = std::min(n, column + 14); column < end; ++column) {
      for (std::int64_t kk = 0; kk < k; ++kk) {
        const auto at = static_cast<std::size_t>(kk * n + column);
        all.b[at] = p.b[at];
      }
    }
  }
  expect_oracle(model, all, "mixed");
}

// Every term of the first row is -0, in a strip that needs split sums for its second row.
TEST(EngineMixTest, NegativeZeroBesideAWideRow) {
  for (const char* input : {"float16", "bfloat16", "float32"}) {
    const DotModel& model = dot_model(machine_named("ascend910b"), format_named(input));
    const Problem p{2, 1, 2, {-0.0, -0.0, 65504, 0x1p-24}, {1024, 0x1p-24}, {-0.0f, -0.0f}};
    expect_oracle(model, p, input);
  }
}

// One bit decides a tie. The bit lies just below the tie, or far away. First float64 is exact, then
// only split sums are, and then no fast path is. The large part of the sum is one product, or 96.
TEST(EngineTieTest, OneFarBitDecides) {
  for (const DotModel& model : machine_named("ascend910b").dots) {
    if (model.input == "int8" || model.input == "hfloat32") continue;
    // For float16, the whole sum is 2^20 times as large, which leaves room for small products.
    const int base = model.input == "float16" ? 20 : 0;
    const int farthest = model.input == "float16" ? base + 48 : 150;
    for (const auto& [ones, ulp] : {std::pair(1, -23), {96, -17}}) {
      for (int far = 25; far <= farthest; ++far) {
        for (const double sign : {1.0, -1.0}) {
          for (const bool odd : {false, true}) {
            Problem p{1, 1, 0, {}, {}, {0.0f}};
            const auto add = [&](double factor, int exponent) {
              p.a.push_back(factor * std::ldexp(1.0, exponent / 2));
              p.b.push_back(std::ldexp(1.0, exponent - exponent / 2));
              ++p.k;
            };
            for (int i = 0; i < ones; ++i) add(1, base);
            add(odd ? 1 : 0, base + ulp);
            add(1, base + ulp - 1);  // half an ulp
            add(sign, base - far);
            const int last = odd ? (sign > 0 ? 2 : 1) : (sign > 0 ? 1 : 0);
            const double expected = std::ldexp(ones + last * std::ldexp(1.0, ulp), base);
            ASSERT_EQ(static_cast<double>(by_oracle(model, p)[0]), expected)
                << model.input << " " << far;
            expect_oracle(model, p, std::string(model.input) + ", bit " + std::to_string(far));
          }
        }
      }
    }
  }
}

// The exact sum of the products spans 54 bits, one more than float64 holds. The last bit decides
// whether the sum is above the tie.
TEST(EngineTieTest, OneBitBeyondFloat64Decides) {
  const DotModel& model = dot_model(machine_named("ascend910b"), format_named("bfloat16"));
  const double a[] = {1, 0x1p-12, (1 + 0x1p-7) * 0x1p-20, -(1 + 0x1p-6) * 0x1p-20},
               b[] = {1, 0x1p-12, (1 + 0x1p-7) * 0x1p-19, 0x1p-19};
  // 1 + 2^-24 + 2^-53: above the tie.
  for (const std::int64_t side : {1, 3}) {
    Problem p{side, side, 4, {}, {}, std::vector<float>(static_cast<std::size_t>(side * side))};
    for (int row = 0; row < side; ++row) p.a.insert(p.a.end(), std::begin(a), std::end(a));
    for (const double factor : b) p.b.insert(p.b.end(), static_cast<std::size_t>(side), factor);
    ASSERT_EQ(by_oracle(model, p), std::vector<float>(p.c.size(), 1 + 0x1p-23f));
    expect_oracle(model, p, "54 bits");
  }
}

// The sum with an accumulator spans 54 bits: 2^39 + 2^15 is a tie of float32, and 2^-14, the 54th
// bit, decides it. The bound of the sum by Cauchy and Schwarz is no more than 2^40.
TEST(EngineTieTest, OneBitBeyondFloat64OfAnAccumulatorDecides) {
  const DotModel& model = dot_model(machine_named("ascend910b"), format_named("bfloat16"));
  const Problem p{1, 1, 3, {0x1p8, 1 + 0x1p-7, 1}, {0x1p7, 1 + 0x1p-7, -(1 + 0x1p-6)}, {0x1p39f}};
  ASSERT_EQ(by_oracle(model, p)[0], 0x1p39f + 0x1p16f);
  expect_oracle(model, p, "54 bits");
}

// Makes rows and columns that are 0 except for some k. The number of products is a few times what a
// tile takes at once. They fill tiles of every target, because the padding of a tile counts among
// its accumulators.
Problem few_products(const std::vector<std::array<double, 3>>& products) {
  constexpr std::int64_t kRows = 24, kColumns = 64, kDepth = 256;
  Problem p{kRows, kColumns, kDepth, {}, {}, std::vector<float>(kRows * kColumns)};
  p.a.resize(kRows * kDepth);
  p.b.resize(kDepth * kColumns);
  for (const auto& [k, a, b] : products) {
    const auto at = static_cast<std::int64_t>(k);
    for (std::int64_t i = 0; i < kRows; ++i) p.a[static_cast<std::size_t>(i * kDepth + at)] = a;
    std::fill_n(p.b.begin() + at * kColumns, kColumns, b);
  }
  return p;
}

// An early stretch of k leaves a remainder in the accumulator. It decides a tie in a later stretch,
// whose own products float64 sums exactly.
TEST(EngineTieTest, WhatEarlierStretchesLeftDecides) {
  const DotModel& model = dot_model(machine_named("ascend910b"), format_named("bfloat16"));
  for (const int far : {20, 28, 40, 60}) {
    const double little = std::ldexp(1.0, -far);
    const Problem p = few_products({{0, little, little}, {128, 1, 1}, {129, 0x1p-12, 0x1p-12}});
    ASSERT_EQ(by_oracle(model, p)[0], 1 + 0x1p-23f);
    expect_oracle(model, p, "2^-" + std::to_string(2 * far));
  }
}

// If one operand of a stretch is 0, the accumulator may still be nonzero. It starts with 2^-30,
// which decides a tie of float32, 2^30 + 2^6.
TEST(EngineTieTest, ZerosTellNothingOfAnAccumulator) {
  const DotModel& model = dot_model(machine_named("ascend910b"), format_named("bfloat16"));
  for (const double of_a : {0.0, 1.0}) {
    Problem p = few_products({{0, of_a, 1 - of_a}, {128, 0x1p15, 0x1p15}, {129, 0x1p3, 0x1p3}});
    std::fill(p.c.begin(), p.c.end(), 0x1p-30f);
    ASSERT_EQ(by_oracle(model, p)[0], 0x1p30f + 0x1p7f);
    expect_oracle(model, p, of_a == 0 ? "A is 0" : "B is 0");
  }
}

// The accumulator grows from stretch to stretch, until its last digits and those of the next
// products are 54 bits apart: 2 + 2^-23, a tie of float32, and 2^-52.
TEST(EngineTieTest, AnAccumulatorOutgrowsFloat64) {
  const DotModel& model = dot_model(machine_named("ascend910b"), format_named("bfloat16"));
  const Problem p = few_products({{0, 1, 1},
                                  {1, 0x1p-19, 0},
                                  {2, 0, 0x1p-19},
                                  {64, 0.5, 1},
                                  {128, 0.5, 1},
                                  {192, 0x1p-11, 0x1p-12},
                                  {193, (1 + 0x1p-7) * 0x1p-19, (1 + 0x1p-7) * 0x1p-19},
                                  {194, -(1 + 0x1p-6) * 0x1p-19, 0x1p-19}});
  ASSERT_EQ(by_oracle(model, p)[0], 2 + 0x1p-22f);
  expect_oracle(model, p, "four stretches");
}

// Tests accumulators that are too large for a tile, in any of its columns.
TEST(EngineMixTest, LargeAccumulatorsInAnyColumn) {
  Random random(118, 2);
  for (const char* machine : {"hopper", "ampere", "volta", "blackwell"}) {
    const Machine& m = machine_named(machine);
    for (const DotModel& model : m.dots) {
      const Format& f = format_named(model.input);
      if (!f.is_float() || model.sum_bits.value > 0) continue;
      for (const double size : {0x1p119, 0x1p124, 0x1p127}) {
        const double factor = std::min(0x1p48, max_finite(f) / 16);
        Problem p{9, 20, 40, {}, {}, {}};
        const auto draw = [&] { return round_to(f, (2 * random.uniform() - 1) * factor); };
        for (std::int64_t i = 0; i < p.m * p.k; ++i) p.a.push_back(draw());
        for (std::int64_t i = 0; i < p.k * p.n; ++i) p.b.push_back(draw());
        for (std::int64_t i = 0; i < p.m * p.n; ++i) {
          const bool large = i % p.n % 4 != 0;
          p.c.push_back(large ? static_cast<float>(size * (2 * random.uniform() - 1)) : 0.0f);
        }
        expect_oracle(model, p, std::string(machine) + " " + std::string(model.input));
      }
    }
  }
}

// Tests sums of aligned terms near 2^118, the largest that tiles take. Products are some 20 bits
// below, and their last bits are cut.
TEST(EngineMixTest, AlignedSumsOfLargeAccumulators) {
  Random random(118, 1);
  for (const char* machine : {"hopper", "ampere", "blackwell"}) {
    for (const char* input : {"bfloat16", "tfloat32"}) {
      const DotModel& model = dot_model(machine_named(machine), format_named(input));
      const Format& f = format_named(input);
      for (const double size : {0x1p116, 0x1p117, 0x1p118, 0x1p119, 0x1p125}) {
        Problem p{9, 20, 40, {}, {}, {}};
        const auto draw = [&] { return round_to(f, random.normal() * 0x1p48); };
        for (std::int64_t i = 0; i < p.m * p.k; ++i) p.a.push_back(draw());
        for (std::int64_t i = 0; i < p.k * p.n; ++i) p.b.push_back(draw());
        for (std::int64_t i = 0; i < p.m * p.n; ++i) {
          p.c.push_back(static_cast<float>(size * (2 * random.uniform() - 1)));
        }
        expect_oracle(model, p, std::string(machine) + " " + input);
      }
    }
  }
}

// A subnormal accumulator plus zeros is the sum itself. A unit that flushes it gives zero.
TEST(EngineMixTest, AlignedSumsOfZerosAndASubnormalAccumulator) {
  for (const bool flushes : {false, true}) {
    DotModel model = dot_model(machine_named("hopper"), format_named("bfloat16"));
    model.flush_sums.value = flushes;
    const Problem p{3,
                    5,
                    40,
                    std::vector<double>(3 * 40),
                    std::vector<double>(40 * 5),
                    std::vector<float>(3 * 5, 0x1p-128f)};
    ASSERT_EQ(by_oracle(model, p)[0], flushes ? 0.0f : 0x1p-128f);
    expect_oracle(model, p, flushes ? "flushed" : "kept");
  }
}

// Sums that round to the smallest subnormals can become twice the sum of their terms. Each chunk
// adds half of the smallest subnormal and a far bit, and is rounded up.
TEST(EngineTieTest, SubnormalAccumulatorsOutgrowTheirTerms) {
  for (const char* input : {"bfloat16", "float32"}) {
    const DotModel& model = dot_model(machine_named("ascend910b"), format_named(input));
    const auto chunk = static_cast<std::size_t>(model.chunk.value);
    for (std::size_t chunks = 1; chunks <= 9; ++chunks) {
      for (int far = 151; far <= 210; ++far) {
        Problem p{1, 1, static_cast<std::int64_t>(chunks * chunk), {}, {}, {0.0f}};
        p.a.assign(chunks * chunk, 0.0);
        p.b.assign(chunks * chunk, 0.0);
        for (std::size_t i = 0; i < chunks * chunk; i += chunk) {
          p.a[i] = p.b[i] = 0x1p-75;
          p.a[i + 1] = std::ldexp(1.0, -far / 2);
          p.b[i + 1] = std::ldexp(1.0, -far + far / 2);
        }
        ASSERT_EQ(static_cast<double>(by_oracle(model, p)[0]),
                  static_cast<double>(chunks) * 0x1p-149);
        expect_oracle(model, p, std::string(input) + ", bit " + std::to_string(far));
      }
    }
  }
}

DotModel with_chunk(const char* input, int chunk) {
  return {input,
          {chunk, Provenance::kAssumed},
          {"float32", Provenance::kAssumed},
          {Rounding::kNearestEven, Provenance::kAssumed}};
}

// Tests chunk lengths from 1 to 256, some of which no row of the table has.
class ChunkTest : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Length, ChunkTest, testing::Values(1, 2, 4, 8, 16, 32, 64, 128, 256),
                         [](const auto& row) { return std::to_string(row.param); });

TEST_P(ChunkTest, EveryFamily) {
  for (const char* input : {"float8_e5m2", "bfloat16", "float32"}) {
    const DotModel model = with_chunk(input, GetParam());
    for (const std::string& family : inputs::families()) {
      expect_oracle(model, inputs::make(family, format_named(input), 7, 19, 300, 3),
                    std::string(input) + " " + family);
    }
  }
}

// The parts of the products below the quantum of a split sum add up to more digits than float64
// holds. One far bit, which float64 would lose there, decides a tie.
TEST_P(ChunkTest, LowPartsOfASplitSum) {
  const int terms = std::max(GetParam() - 4, 0) / 2 * 2;
  for (int at = 0; at < 35 * 5; ++at) {
    // Half of the quantum of the split sum is about 2^-50. The small products lie on both sides of
    // it.
    const int low = 26 + at / 5, far = 96 + at % 5;
    Problem p{1, 1, 0, {}, {}, {0.0f}};
    const auto add = [&](double factor, int exponent) {
      p.a.push_back(factor * std::ldexp(1.0, exponent / 2));
      p.b.push_back(std::ldexp(1.0, exponent - exponent / 2));
      ++p.k;
    };
    add(1, 0);
    add(1, -24);                                   // a tie
    for (int i = 0; i < terms; ++i) add(1, -low);  // the low parts
    add(1, -far);                                  // puts the sum just above the tie
    add(-terms / 2, 1 - low);                      // takes the low parts away
    const DotModel model = with_chunk("bfloat16", GetParam());
    if (GetParam() >= 4) {
      ASSERT_EQ(by_oracle(model, p)[0], 0x1.000002p0f) << low;
    }
    expect_oracle(model, p, "low parts of 2^-" + std::to_string(low));
  }
}

// A model in which one parameter has a value that no machine has.
struct Variant {
  std::string name;
  DotModel model;
};
void PrintTo(const Variant& v, std::ostream* out) { *out << v.name; }

std::vector<Variant> variants() {
  const DotModel fused = with_chunk("bfloat16", 8);
  const DotModel hopper = dot_model(machine_named("hopper"), format_named("bfloat16"));
  const DotModel fp8 = dot_model(machine_named("hopper"), format_named("float8_e4m3fn"));
  std::vector<Variant> all;
  const auto add = [&](std::string name, DotModel model, auto change) {
    change(model);
    all.push_back({std::move(name), model});
  };
  add("chunk_3", fused, [](DotModel& m) { m.chunk.value = 3; });
  add("chunk_300", fused, [](DotModel& m) { m.chunk.value = 300; });
  add("float16_accumulator", fused, [](DotModel& m) { m.accumulator.value = "float16"; });
  add("truncated", fused, [](DotModel& m) { m.rounding.value = Rounding::kTowardZero; });
  add("sequential", fused, [](DotModel& m) { m.order.value = ChunkOrder::kSequential; });
  add("pairwise", fused, [](DotModel& m) { m.order.value = ChunkOrder::kPairwise; });
  add("rounded_products", fused, [](DotModel& m) { m.round_products.value = true; });
  add("sequential_rounded", fused, [](DotModel& m) {
    m.order.value = ChunkOrder::kSequential;
    m.round_products.value = true;
  });
  add("flushed", fused, [](DotModel& m) { m.flush_inputs.value = m.flush_sums.value = true; });
  add("mantissa_13", fused, [](DotModel& m) { m.mantissa_bits.value = 13; });
  add("promoted", fused, [](DotModel& m) { m.promotion_interval.value = 32; });
  add("aligned_24", hopper, [](DotModel& m) { m.kept_bits.value = 24; });
  add("aligned_26", hopper, [](DotModel& m) { m.kept_bits.value = 26; });
  add("aligned_chunk_4", hopper, [](DotModel& m) { m.chunk.value = 4; });
  add("aligned_chunk_32", hopper, [](DotModel& m) { m.chunk.value = 32; });
  add("aligned_nearest", hopper, [](DotModel& m) { m.rounding.value = Rounding::kNearestEven; });
  add("aligned_terms_nearest", hopper,
      [](DotModel& m) { m.alignment.value = Rounding::kNearestEven; });
  add("aligned_flushed_sums", hopper, [](DotModel& m) { m.flush_sums.value = true; });
  add("aligned_promoted", hopper, [](DotModel& m) { m.promotion_interval.value = 48; });
  add("floor", hopper, [](DotModel& m) { m.emax_floor.value = -20; });
  add("fp8_promoted", fp8, [](DotModel& m) { m.promotion_interval.value = 64; });
  add("fp8_12", fp8, [](DotModel& m) { m.kept_bits.value = 12; });
  add("fp8_full_mantissa", fp8, [](DotModel& m) { m.mantissa_bits.value = 0; });
  // For kept_bits and mantissa_bits, 0 means that there is no such limit. 1 is the value next to
  // it.
  add("nearest_of_1_kept_bit", fused, [](DotModel& m) { m.kept_bits.value = 1; });
  add("mantissa_1", fused, [](DotModel& m) { m.mantissa_bits.value = 1; });
  add("flushed_inputs", fused, [](DotModel& m) { m.flush_inputs.value = true; });
  add("flushed_sums", fused, [](DotModel& m) { m.flush_sums.value = true; });
  add("rounded_away", fused, [](DotModel& m) { m.rounding.value = Rounding::kNearestAway; });
  add("chain_flushed", with_chunk("bfloat16", 1), [](DotModel& m) { m.flush_sums.value = true; });
  add("aligned_1", hopper, [](DotModel& m) { m.kept_bits.value = 1; });
  add("aligned_mantissa_1", hopper, [](DotModel& m) { m.mantissa_bits.value = 1; });
  add("aligned_mantissa_22", hopper, [](DotModel& m) { m.mantissa_bits.value = 22; });
  add("aligned_flushed_inputs", hopper, [](DotModel& m) { m.flush_inputs.value = true; });
  add("aligned_float16_accumulator", hopper, [](DotModel& m) { m.accumulator.value = "float16"; });
  add("aligned_sequential", hopper, [](DotModel& m) { m.order.value = ChunkOrder::kSequential; });
  add("joined_1", hopper, [](DotModel& m) { m.sum_bits.value = 1; });
  // With these floors, the last of the 25 kept bits is at 2^-126, the smallest normal number of
  // float32, or just above it.
  add("floor_at_the_least", hopper, [](DotModel& m) { m.emax_floor.value = 25 - 126; });
  add("floor_above_the_least", hopper, [](DotModel& m) { m.emax_floor.value = 25 - 125; });
  // a and b have different formats.
  add("float8_by_another", fp8, [](DotModel& m) { m.other_input = "float8_e5m2"; });
  add("float8_by_another_exchanged", fp8, [](DotModel& m) {
    m.input = "float8_e5m2";
    m.other_input = "float8_e4m3fn";
  });
  add("bfloat16_by_float16", hopper, [](DotModel& m) { m.other_input = "float16"; });
  add("float16_by_bfloat16", hopper, [](DotModel& m) {
    m.input = "float16";
    m.other_input = "bfloat16";
  });
  add("bfloat16_by_float32", hopper, [](DotModel& m) { m.other_input = "float32"; });
  add("fused_bfloat16_by_float32", fused, [](DotModel& m) { m.other_input = "float32"; });
  add("fused_float32_by_float8", fused, [](DotModel& m) {
    m.input = "float32";
    m.other_input = "float8_e4m3fn";
  });
  return all;
}

// Makes A in one format, and B and C in another.
Problem make_for(const DotModel& model, const std::string& family, std::int64_t m, std::int64_t n,
                 std::int64_t k) {
  Problem p = inputs::make(family, format_named(model.b_input()), m, n, k, 4);
  if (model.b_input() != model.input) {
    p.a = inputs::make(family, format_named(model.input), m, n, k, 4).a;
  }
  return p;
}

class VariantTest : public testing::TestWithParam<Variant> {};

INSTANTIATE_TEST_SUITE_P(Model, VariantTest, testing::ValuesIn(variants()),
                         [](const auto& row) { return row.param.name; });

TEST_P(VariantTest, EveryFamily) {
  const DotModel& model = GetParam().model;
  for (const std::string& family : inputs::families()) {
    auto p = make_for(model, family, 5, 9, 70);
    // C must be a value of the accumulator's format.
    for (float& c : p.c) {
      c = static_cast<float>(round_to(accumulator_format(model), static_cast<double>(c)));
    }
    expect_oracle(model, p, family);
  }
}

// Adds the sums of the parts in plain code, in the order and formats that `parts` prescribes.
float met(const KParts& parts, float start, std::vector<float> sums) {
  const auto add = [&](float x, float y) {
    const float sum = x + y;
    return parts.sum == nullptr
               ? sum
               : static_cast<float>(round_to(*parts.sum, static_cast<double>(sum)));
  };
  if (parts.order == PartOrder::kDescending) std::reverse(sums.begin(), sums.end());
  if (parts.order == PartOrder::kPairwise) {
    while (sums.size() > 1) {
      std::vector<float> next;
      for (std::size_t i = 0; i < sums.size(); i += 2) {
        next.push_back(i + 1 < sums.size() ? add(sums[i], sums[i + 1]) : sums[i]);
      }
      sums = next;
    }
  }
  for (const float sum : sums) start = add(start, sum);
  return start;
}

// Tests parts of K of one size and of several sizes, in every order and format. Each part starts
// from 0 with its own promotion.
TEST_P(VariantTest, SplitOverBlocks) {
  const DotModel& model = GetParam().model;
  const Format& half = format_named("float16");
  const KParts all[] = {{{17, 34, 51, 68, 70}},
                        {{48, 70}, PartOrder::kDescending},
                        {{3, 10, 11, 40, 64, 66, 70}, PartOrder::kPairwise},
                        {{16, 32, 48, 64, 70}, PartOrder::kDescending, &half},
                        {{30, 60, 70}, PartOrder::kPairwise, nullptr, &half},
                        {{69, 70}, PartOrder::kAscending, &half, &half},
                        {{70}, PartOrder::kDescending, &half, &half}};
  for (const std::string& family : inputs::families()) {
    const auto p = make_for(model, family, 3, 5, 70);
    for (const KParts& parts : all) {
      std::vector<float> c = p.c;
      dot_matmul(model, p.m, p.n, p.k, p.a.data(), p.b.data(), c.data(), 1, parts);
      for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j) {
          const auto at = static_cast<std::size_t>(i * p.n + j);
          const auto sum_of = [&](std::int64_t first, std::int64_t last, float start) {
            return static_cast<float>(dot_oracle(model, last - first, p.a.data() + i * p.k + first,
                                                 1, p.b.data() + first * p.n + j, p.n,
                                                 static_cast<double>(start)));
          };
          std::vector<float> sums;
          std::int64_t first = 0;
          for (const std::int64_t last : parts.ends) {
            const float sum = sum_of(first, last, 0);
            sums.push_back(parts.part == nullptr ? sum
                                                 : static_cast<float>(round_to(
                                                       *parts.part, static_cast<double>(sum))));
            first = last;
          }
          // One part is not a split. Its sum starts from the given value.
          const float wanted =
              parts.is_split() ? met(parts, p.c[at], sums) : sum_of(0, p.k, p.c[at]);
          ASSERT_EQ(inputs::bits(c[at]), inputs::bits(wanted))
              << family << ", " << parts.count() << " parts";
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay
