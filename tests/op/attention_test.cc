// Tests attention: golden results against plain loops, the machines' steps, and tolerances.
#include "assay/op/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/double_double.h"
#include "assay/base/quad.h"
#include "assay/machine/dot.h"
#include "assay/machine/exact_matmul.h"
#include "assay/machine/vector.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "assay/op/sum_bound.h"
#include "sum_oracles.h"
#include "vector_cases.h"

namespace assay {
namespace {

using cases::error_of;
using cases::on;
using cases::operation;
using cases::random_tensor;
using cases::values;

Case attention(const char* dtype, const Shape& q, std::int64_t keys, std::uint64_t stream,
               double scale = 1) {
  Shape k = q;
  k[q.size() - 2] = keys;
  return operation("attention", {{"q", random_tensor(dtype, q, stream, scale)},
                                 {"k", random_tensor(dtype, k, stream + 1)},
                                 {"v", random_tensor(dtype, k, stream + 2)}});
}

TEST(AttentionTest, ByHand) {
  // With q = 0, every key has the same weight.
  Case c = operation("attention", {{"q", values("float32", {2, 2}, {0, 0, 0, 0})},
                                   {"k", values("float32", {3, 2}, {1, 2, 3, 4, 5, 6})},
                                   {"v", values("float32", {3, 1}, {3, 6, 12})}});
  for (const char* machine : {"exact", "ascend910b", "cpu_fma"}) {
    c.attributes.erase("causal");
    EXPECT_EQ(emulate(c, machine_named(machine)).shape(), (Shape{2, 1}));
    for (const double y : on(machine, c)) EXPECT_NEAR(y, 7, 1e-6) << machine;
    // Query 0 sees key 0, and query 1 sees keys 0 and 1.
    c.attributes["causal"] = std::int64_t{1};
    const auto y = on(machine, c);
    EXPECT_EQ(y[0], 3) << machine;
    EXPECT_NEAR(y[1], 4.5, 1e-6) << machine;
  }
  // With a scale of 1, the scores are 0 and ln 3, so that the weights are 1/4 and 3/4.
  const Case two = operation("attention",
                             {{"q", values("float64", {1, 1}, {1})},
                              {"k", values("float64", {2, 1}, {0, std::log(3.0)})},
                              {"v", values("float64", {2, 2}, {4, 0, 8, 4})}},
                             {{"scale", 1.0}});
  const auto y = golden_result(two).view().values();
  EXPECT_DOUBLE_EQ(y[0], 7);
  EXPECT_DOUBLE_EQ(y[1], 3);
}

TEST(AttentionTest, TheReferenceIsPlainLoopsInLongDouble) {
  for (const std::int64_t causal : {0, 1}) {
    Case c = attention("float32", {2, 3, 7, 5}, 11, 40);
    c.attributes["causal"] = causal;
    const auto q = c.input("q").view().values(), k = c.input("k").view().values(),
               v = c.input("v").view().values(), y = golden_result(c).view().values();
    for (std::size_t b = 0; b < 6; ++b) {
      for (std::size_t i = 0; i < 7; ++i) {
        long double sum = 0, out[5] = {};
        for (std::size_t j = 0; j < (causal != 0 ? i + 1 : 11); ++j) {
          long double score = 0;
          for (std::size_t d = 0; d < 5; ++d) {
            score += static_cast<long double>(q[(b * 7 + i) * 5 + d]) * k[(b * 11 + j) * 5 + d];
          }
          const long double weight = std::exp(score / std::sqrt(5.0L));
          sum += weight;
          for (std::size_t d = 0; d < 5; ++d) out[d] += weight * v[(b * 11 + j) * 5 + d];
        }
        for (std::size_t d = 0; d < 5; ++d) {
          EXPECT_NEAR(y[(b * 7 + i) * 5 + d], static_cast<double>(out[d] / sum), 2e-15);
        }
      }
    }
  }
}

// The code computes many weights and their sum at a time if their rounding is sure. This test
// computes them one by one. The query and the keys are single numbers, and the query is 1.
TEST(AttentionTest, TheReferenceIsOneKeyAfterTheOther) {
  Random random(12, 0);
  for (int kind = 0; kind < 8; ++kind) {
    constexpr std::size_t kKeys = 37, kWidth = 5;
    const double scale = kind == 1 ? -0.75 : 1;
    std::vector<double> k(kKeys), v(kKeys * kWidth);
    for (double& x : k) {
      x = 3 * random.normal();
      // The weights lie next to the middles between two numbers.
      if (kind == 2) x = 1 + std::nearbyint(8 * x) * 0x1p-52;
    }
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i] = random.normal();
      if (kind == 3) v[i] *= 0x1p-1000;
      if (kind == 4) v[i] *= 0x1p1000;
      if (kind == 5 && i % kWidth < 2) v[i] = i % kWidth == 0 ? 0.0 : -0.0;
      if (kind == 6 && i % 7 == 0) v[i] = i % 2 == 0 ? kInfinity : kNan;
      if (kind == 7) v[i] = std::ldexp(v[i], -static_cast<int>(random.below(200)));
    }
    const double top =
        scale < 0 ? *std::min_element(k.begin(), k.end()) : *std::max_element(k.begin(), k.end());
    std::vector<double> weights, out(kWidth, 0.0);
    DoubleDouble sum = 0;
    for (const double x : k) {
      const DoubleDouble weight = exp(exact_product(x, scale) - exact_product(top, scale));
      weights.push_back(weight.high);
      sum = sum + weight;
    }
    exact_matmul(1, kWidth, kKeys, weights.data(), v.data(), out.data(), 1);
    const auto y = golden_result(operation("attention",
                                           {{"q", values("float64", {1, 1}, {1})},
                                            {"k", values("float64", {kKeys, 1}, k)},
                                            {"v", values("float64", {kKeys, kWidth}, v)}},
                                           {{"scale", scale}}))
                       .view()
                       .values();
    for (std::size_t i = 0; i < kWidth; ++i) {
      const auto expected = static_cast<double>(out[i] / (Quad{sum.high} + sum.low));
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(y[i])) << kind << " " << i;
        continue;
      }
      EXPECT_EQ(y[i], expected) << kind << " " << i;
      EXPECT_EQ(std::signbit(y[i]), std::signbit(expected)) << kind << " " << i;
    }
  }
}

// Plain attention is matmul, mul, softmax, cast and matmul, one operator after the other.
TEST(AttentionTest, PlainIsItsOperatorsInARow) {
  for (const char* machine : {"ascend910b", "hopper"}) {
    for (const char* dtype : {"float16", "bfloat16"}) {
      const Machine& m = machine_named(machine);
      Case c = attention(dtype, {2, 300, 32}, 70, 50);
      c.attributes["scale"] = 0.125;
      Case scores = operation("matmul", {{"a", c.input("q")}, {"b", c.input("k")}},
                              {{"transpose_b", std::int64_t{1}}, {"output_dtype", "float32"}});
      const Case scaled =
          operation("mul", {{"a", emulate(scores, m)}, {"b", values("float32", {}, {0.125})}});
      const Case softmax = operation("softmax", {{"x", emulate(scaled, m)}});
      const Case weights =
          operation("cast", {{"x", emulate(softmax, m)}}, {{"output_dtype", std::string(dtype)}});
      const Case mixed = operation("matmul", {{"a", emulate(weights, m)}, {"b", c.input("v")}});
      EXPECT_EQ(on(machine, c), on(machine, mixed)) << machine << " " << dtype;
    }
  }
}

// Computes the running maximum and sum a second time, by the scalar oracles.
TEST(AttentionTest, TilesRunOn) {
  const std::int64_t queries = 9, keys = 40, depth = 8, tile = 16;
  for (const char* machine : {"ascend910b", "ampere"}) {
    for (const std::int64_t causal : {0, 1}) {
      Case c = attention("bfloat16", {queries, depth}, keys, 60, 3);
      c.attributes["tile"] = tile;
      c.attributes["causal"] = causal;
      const Machine& m = machine_named(machine);
      const Format& bfloat16 = format_named("bfloat16");
      const DotModel& model = dot_model(m, bfloat16);
      const VectorArithmetic unit{&format_named("float32"), vector_model(m).overflow.value};
      const auto op = [&](VectorOp what, double a, double b = 0) {
        return vector_oracle(unit, what, a, b);
      };
      const double scale = round_to(*unit.format, 1 / std::sqrt(8.0));
      const auto q = c.input("q").view().values(), k = c.input("k").view().values(),
                 v = c.input("v").view().values(), y = on(machine, c);
      for (std::int64_t i = 0; i < queries; ++i) {
        double most = -std::numeric_limits<double>::infinity(), total = 0;
        std::vector<double> out(static_cast<std::size_t>(depth), 0.0);
        const std::int64_t seen = causal != 0 ? i + 1 : keys;
        for (std::int64_t begin = 0; begin < seen; begin += tile) {
          const std::int64_t n = std::min(tile, seen - begin);
          std::vector<double> weights;
          double largest = most;
          for (std::int64_t j = begin; j < begin + n; ++j) {
            const double score =
                dot_oracle(model, depth, q.data() + i * depth, 1, k.data() + j * depth, 1, 0);
            weights.push_back(op(VectorOp::kMul, score, scale));
            largest = std::max(largest, weights.back());
          }
          const double factor =
              begin == 0 ? 0 : op(VectorOp::kExp, op(VectorOp::kSub, most, largest));
          most = largest;
          for (double& w : weights) w = op(VectorOp::kExp, op(VectorOp::kSub, w, most));
          const double sum = reduce_oracle(unit, ReduceOrder::kPairwise, 1, n, weights.data());
          total = begin == 0 ? sum : op(VectorOp::kAdd, op(VectorOp::kMul, total, factor), sum);
          for (double& w : weights) w = round_to(bfloat16, w);
          for (std::int64_t d = 0; d < depth; ++d) {
            double& o = out[static_cast<std::size_t>(d)];
            const double part =
                dot_oracle(model, n, weights.data(), 1, v.data() + begin * depth + d, depth, 0);
            o = begin == 0 ? part : op(VectorOp::kAdd, op(VectorOp::kMul, o, factor), part);
          }
        }
        for (std::int64_t d = 0; d < depth; ++d) {
          EXPECT_EQ(y[static_cast<std::size_t>(i * depth + d)],
                    round_to(bfloat16, op(VectorOp::kDiv, out[static_cast<std::size_t>(d)], total)))
              << machine << " " << causal << " " << i << " " << d;
        }
      }
    }
  }
}

TEST(AttentionTest, ThreadsDoNotShow) {
  for (const std::int64_t tile : {0, 64}) {
    Case c = attention("float16", {3, 600, 16}, 130, 70);
    c.attributes["tile"] = tile;
    for (const char* machine : {"exact", "ascend910b"}) {
      EXPECT_EQ(emulate(c, machine_named(machine), 1).view().values(),
                emulate(c, machine_named(machine), 3).view().values());
    }
  }
}

TEST(AttentionTest, Errors) {
  const Case c = attention("float16", {2, 4, 8}, 5, 80);
  const auto error = [&](const char* name, Attribute value, const char* machine = "exact") {
    Case changed = c;
    changed.attributes[name] = value;
    return error_of([&] { on(machine, changed); });
  };
  EXPECT_EQ(error("tile", std::int64_t{-1}), "case t: tile is -1, below 0");
  EXPECT_EQ(error("order", "block"),
            "case t: the order block needs the parameter block_size, which is at least 1");
  EXPECT_EQ(error("keys", std::int64_t{1}),
            "case t: attention does not know the parameter 'keys'; it knows causal, scale, tile, "
            "order, block_size, output_dtype, saturate, subnormals");
  EXPECT_EQ(error_of([&] {
              on("ampere", attention("float32", {4, 8}, 5, 80));
            }).substr(0, 39),
            "case t: the matrix unit of ampere takes");
  Case odd = c;
  odd.inputs["k"] = random_tensor("float16", {2, 5, 7}, 81);
  EXPECT_EQ(error_of([&] { golden_result(odd); }),
            "case t: q [2, 4, 8], k [2, 5, 7] and v [2, 5, 8] do not fit; attention takes [..., L, "
            "D], [..., S, D] and [..., S, E]");
  EXPECT_EQ(error_of([&] {
              golden_result(attention("float16", {0, 4, 8}, 5, 80));
            }),
            "case t: attention needs at least one element, but q has the shape [0, 4, 8] and v has "
            "[0, 5, 8]");
}

// Returns the number of elements that are further from the golden result than their own bound and
// the output's rounding allow.
int outside_attention_bounds(const Case& c, const char* machine) {
  const Machine& m = machine_named(machine);
  const Format& f = output_format(c);
  const auto out = emulate(c, m).view().values(), golden = golden_result(c).view().values(),
             bounds = accumulation_bounds(c, m).view().values();
  int count = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double rounding = unit_roundoff(f) * std::abs(golden[i]) + min_subnormal(f) / 2;
    count += std::abs(out[i] - golden[i]) <= bounds[i] + rounding ? 0 : 1;
  }
  return count;
}

TEST(AttentionTest, TolerancesAcceptTheMachines) {
  std::uint64_t stream = 700;
  for (const char* machine :
       {"ascend910b", "hopper", "ampere", "volta", "cdna2", "cpu_fma", "cpu_mul_add"}) {
    for (const char* dtype : {"float16", "bfloat16", "float32"}) {
      const bool volta = machine == std::string("volta");
      const bool tensor_core =
          volta || machine == std::string("hopper") || machine == std::string("ampere");
      if (dtype == std::string("float32") && tensor_core) continue;
      if (dtype == std::string("bfloat16") && volta) continue;
      for (const std::int64_t tile : {0, 32}) {
        for (const double scale : {0.3, 1.0, 4.0}) {
          Case c = attention(dtype, {2, 40, 32}, 100, stream += 3, scale);
          c.attributes["tile"] = tile;
          c.attributes["causal"] = tile / 32;
          EXPECT_EQ(cases::outside_tolerance(c, machine), 0)
              << machine << " " << dtype << " tile " << tile << " " << scale;
          EXPECT_EQ(outside_attention_bounds(c, machine), 0)
              << machine << " " << dtype << " tile " << tile << " " << scale;
        }
      }
    }
  }
}

// CDNA2's matrix unit is that of CDNA1, but takes subnormal operands as 0. Here small weights and
// small values of v are subnormal in float16.
TEST(AttentionTest, BoundsKnowWhatAUnitFlushes) {
  for (const std::int64_t tile : {0, 32}) {
    Case weights = attention("float16", {2, 40, 32}, 100, 811, 6);
    Case operands = attention("float16", {2, 40, 32}, 100, 812);
    operands.inputs["v"] = random_tensor("float16", {2, 100, 32}, 813, 3e-5);
    for (Case* c : {&weights, &operands}) {
      c->attributes["tile"] = tile;
      c->attributes["output_dtype"] = std::string("float32");
      EXPECT_EQ(outside_attention_bounds(*c, "cdna2"), 0) << tile;
      const auto flushed = emulate(*c, machine_named("cdna2")).view().values(),
                 kept = emulate(*c, machine_named("cdna1")).view().values();
      EXPECT_NE(flushed, kept) << tile;
      const auto wide = accumulation_bounds(*c, machine_named("cdna2")).view().values(),
                 narrow = accumulation_bounds(*c, machine_named("cdna1")).view().values();
      const auto golden = golden_result(*c).view().values();
      // The number of elements outside a bound that ignores flushes.
      int beyond = 0;
      for (std::size_t i = 0; i < golden.size(); ++i) {
        EXPECT_GE(wide[i], narrow[i]);
        beyond += std::abs(flushed[i] - golden[i]) > narrow[i] + 0x1p-24 * std::abs(golden[i]);
      }
      if (c == &operands) {
        EXPECT_GT(beyond, 100) << tile;
      }
    }
  }
}

// The tolerance rejects attention without the causal mask, and attention without the scale.
TEST(AttentionTest, TolerancesRejectOtherOperators) {
  Case c = attention("bfloat16", {2, 40, 32}, 40, 900);
  c.attributes["causal"] = std::int64_t{1};
  c.attributes["output_dtype"] = "float32";
  const DerivedTolerance t = derived_tolerance(c);
  EXPECT_LT(t.atol, 0.1);
  const auto mismatches = [&](const char* name, Attribute value) {
    Case other = c;
    other.attributes[name] = value;
    const auto y = golden_result(other).view().values(), right = golden_result(c).view().values();
    int count = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      count += std::abs(y[i] - right[i]) <= t.atol + t.rtol * std::abs(right[i]) ? 0 : 1;
    }
    return count;
  };
  EXPECT_GT(mismatches("causal", std::int64_t{0}), 2000);
  EXPECT_GT(mismatches("scale", 1.0), 2000);
}

TEST(AttentionTest, PositionsSayWhatAQuerySees) {
  const Attribute yes = std::int64_t{1};
  Case causal = attention("float16", {2, 12, 8}, 12, 31);
  causal.attributes["causal"] = yes;
  // The queries are the last rows of a sequence, as if its first keys had been cached before.
  Case later = causal;
  later.inputs["q"] = Tensor(format_named("float16"), {2, 5, 8});
  for (std::int64_t i = 0; i < 2 * 5 * 8; ++i) {
    const std::int64_t batch = i / 40, row = i % 40 / 8 + 7;
    later.inputs["q"].set_bits(i, causal.input("q").bits_at((batch * 12 + row) * 8 + i % 8));
  }
  for (const Shape& shape : {Shape{5}, Shape{2, 5}}) {
    std::vector<double> positions;
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      positions.push_back(static_cast<double>(7 + i % 5));
    }
    later.inputs["positions"] = Tensor::from_values(format_named("int64"), shape, positions);
    for (const char* machine : {"exact", "ascend910b", "cpu_fma"}) {
      const Tensor all = emulate(causal, machine_named(machine));
      const Tensor some = emulate(later, machine_named(machine));
      for (std::int64_t i = 0; i < 2 * 5 * 8; ++i) {
        const std::int64_t at = (i / 40 * 12 + i % 40 / 8 + 7) * 8 + i % 8;
        ASSERT_EQ(some.bits_at(i), all.bits_at(at)) << machine << " " << i;
      }
    }
  }
  const auto refused = [&](const char* dtype, const Shape& shape, double position) {
    const std::vector<double> same(static_cast<std::size_t>(element_count(shape)), position);
    later.inputs["positions"] = Tensor::from_values(format_named(dtype), shape, same);
    return error_of([&] { (void)golden_result(later); });
  };
  EXPECT_THAT(
      refused("int32", {4}, 1),
      testing::HasSubstr(
          "positions are int32 [4], but they must be signed integers of the shape [5] or [2, 5]"));
  EXPECT_THAT(refused("float32", {5}, 1), testing::HasSubstr("positions are float32 [5], "));
  EXPECT_THAT(refused("int32", {5}, -1),
              testing::HasSubstr("the position -1 of a query is below 0, so that it would see no "
                                 "key; positions must be at least 0"));
  EXPECT_EQ(refused("int32", {5}, 1e9), "no error");
  later.attributes.erase("causal");
  EXPECT_THAT(refused("int32", {5}, 1),
              testing::HasSubstr("positions are given, but the parameter causal is not 1; set "
                                 "causal = 1, or leave out positions"));
}

// float64 cannot tell such large positions apart.
TEST(AttentionTest, DrawnPositionsAreThoseOfKeys) {
  for (const std::int64_t keys : {1, 7, 129}) {
    Recipe recipe{&format_named("float32"), {400, keys, 4}};
    recipe.attributes["causal"] = std::int64_t{1};
    for (const char* text : {"uniform,low=1e16,high=9e18", "normal,deviation=1e17"}) {
      recipe.distributions["positions"] = parse_distribution(text);
      const std::vector<double> drawn =
          generate_case("attention", recipe).input("positions").view().values();
      const std::set<double> different(drawn.begin(), drawn.end());
      EXPECT_EQ(*different.begin(), 0) << text;
      EXPECT_EQ(*different.rbegin(), keys - 1) << text;
      EXPECT_GT(std::ssize(different), keys * 3 / 4) << text;
    }
  }
}

}  // namespace
}  // namespace assay
