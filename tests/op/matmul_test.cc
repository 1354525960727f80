// Tests matmul and dot: the reference against plain loops, the sums and the biases of machines, and
// tolerances.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "assay/machine/dot.h"
#include "assay/simd/targets.h"
#include "cases.h"

namespace assay {
namespace {

using cases::ascend;
using cases::error_of;
using cases::integer_tensor;
using cases::matmul;
using cases::random_tensor;

const Machine& exact() { return machine_named("exact"); }

struct Layout {
  Shape batch_a, batch_b;
  bool transpose_a, transpose_b, bias;
};

std::vector<Layout> layouts() {
  std::vector<Layout> all;
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{}, {}},
                                                                 {{3}, {3}},
                                                                 {{3}, {}},
                                                                 {{}, {3}},
                                                                 {{2, 3}, {2, 3}},
                                                                 {{2, 3}, {}},
                                                                 {{1}, {1}}}) {
    for (int bits = 0; bits < 8; ++bits) {
      all.push_back({a, b, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0});
    }
  }
  return all;
}

Shape with(Shape batch, std::int64_t rows, std::int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

// Computes the product element by element from the stored values, as the operator's documentation
// says.
std::vector<double> by_loops(const Case& c, std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto value = [&](const char* name, std::int64_t batch, std::int64_t row,
                         std::int64_t column, std::int64_t rows, std::int64_t columns) {
    const Tensor& t = c.input(name);
    const bool transposed = c.flag("transpose_" + std::string(name)).value_or(false);
    const std::int64_t at = transposed ? column * rows + row : row * columns + column;
    const std::int64_t first = t.shape().size() == 2 ? 0 : batch * rows * columns;
    return decode(t.format(), t.bits_at(first + at));
  };
  const Shape &a = c.input("a").shape(), &b = c.input("b").shape();
  std::int64_t batches = 1;
  for (std::size_t d = 0; d + 2 < std::max(a.size(), b.size()); ++d) {
    batches *= a.size() > 2 ? a[d] : b[d];
  }
  std::vector<double> result;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = c.inputs.count("bias") != 0
                         ? decode(c.input("bias").format(), c.input("bias").bits_at(j))
                         : 0.0;
        for (std::int64_t kk = 0; kk < k; ++kk) {
          sum += value("a", batch, i, kk, m, k) * value("b", batch, kk, j, k, n);
        }
        result.push_back(sum);
      }
    }
  }
  return result;
}

TEST(MatmulTest, TransposesBatchesAndBias) {
  const std::int64_t m = 3, n = 5, k = 37;
  for (const Layout& layout : layouts()) {
    for (const char* format : {"float32", "bfloat16"}) {
      Case c = matmul(
          integer_tensor(
              format, layout.transpose_a ? with(layout.batch_a, k, m) : with(layout.batch_a, m, k),
              1),
          integer_tensor(
              format, layout.transpose_b ? with(layout.batch_b, n, k) : with(layout.batch_b, k, n),
              2));
      if (layout.transpose_a) c.attributes["transpose_a"] = std::int64_t{1};
      if (layout.transpose_b) c.attributes["transpose_b"] = "true";
      if (layout.bias) c.inputs["bias"] = integer_tensor("float32", {n}, 3, 99);
      c.attributes["output_dtype"] = "float32";
      const auto expected = by_loops(c, m, n, k);
      const Shape batch = layout.batch_a.empty() ? layout.batch_b : layout.batch_a;
      for (const Machine* machine : {&exact(), &ascend()}) {
        const Tensor out = emulate(c, *machine);
        EXPECT_EQ(out.shape(), with(batch, m, n));
        EXPECT_EQ(out.format().name, "float32");
        EXPECT_EQ(out.view().values(), expected) << machine->name << " " << format;
      }
      EXPECT_EQ(golden_result(c).view().values(), expected);
      EXPECT_EQ(golden_result(c).format().name, "float64");
    }
  }
}

// Each element is that of the dot model, rounded once to the output's dtype.
TEST(MatmulTest, TheMachineRoundsAsItsModel) {
  for (const DotModel& model : ascend().dots) {
    // int8 products are exact. Int8GivesInt32 tests them.
    if (model.input == "int8") continue;
    for (const char* output : {"float32", "float16", "bfloat16"}) {
      Case c = matmul(random_tensor(std::string(model.input).c_str(), {9, 70}, 4),
                      random_tensor(std::string(model.input).c_str(), {70, 35}, 5));
      c.inputs["bias"] = random_tensor("float16", {35}, 6);
      c.attributes["output_dtype"] = output;
      const auto a = c.input("a").view().values(), b = c.input("b").view().values(),
                 bias = c.input("bias").view().values();
      const Tensor out = emulate(c, ascend());
      ASSERT_EQ(out.format().name, output);
      for (std::int64_t i = 0; i < 9; ++i) {
        for (std::int64_t j = 0; j < 35; ++j) {
          const double sum = dot_oracle(model, 70, a.data() + i * 70, 1, b.data() + j, 35,
                                        bias[static_cast<std::size_t>(j)]);
          ASSERT_EQ(out.bits_at(i * 35 + j), encode(format_named(output), sum))
              << model.input << " " << output;
        }
      }
    }
  }
}

TEST(MatmulTest, TheBiasStartsTheAccumulator) {
  // 2^24 + 1 + 1 is 2^24 + 2 if the bias is added at the end. If the sum starts with it, each 1 is
  // lost.
  Case c = matmul(
      Tensor::from_values(format_named("float32"), {1, 5}, std::vector<double>{1, 0, 0, 0, 1}),
      Tensor::from_values(format_named("float32"), {5, 1}, std::vector<double>(5, 1.0)));
  c.inputs["bias"] = Tensor::from_values(format_named("float32"), {1}, std::vector<double>{0x1p24});
  EXPECT_EQ(emulate(c, ascend()).view().value_at(0), 0x1p24);
  EXPECT_EQ(golden_result(c).view().value_at(0), 0x1p24 + 2);
}

TEST(MatmulTest, ThreadsAndTargetsDoNotMatter) {
  const Case c =
      matmul(random_tensor("float16", {2, 130, 90}, 7), random_tensor("float16", {90, 41}, 8));
  const auto bits = [](const Tensor& t) {
    std::vector<std::uint64_t> all;
    for (std::int64_t i = 0; i < t.size(); ++i) all.push_back(t.bits_at(i));
    return all;
  };
  for (const Machine* machine : {&exact(), &ascend()}) {
    const auto first = bits(emulate(c, *machine, 1));
    for (const std::string& target : simd::available_targets()) {
      simd::force_target(target);
      EXPECT_EQ(bits(emulate(c, *machine, 1)), first) << target;
      EXPECT_EQ(bits(emulate(c, *machine, 2)), first) << target;
      simd::force_target("");
    }
  }
}

TEST(MatmulTest, Int8GivesInt32) {
  const Case c =
      matmul(integer_tensor("int8", {4, 300}, 9, 127), integer_tensor("int8", {300, 6}, 10, 127));
  const auto expected = by_loops(c, 4, 6, 300);
  const Tensor golden = golden_result(c);
  EXPECT_EQ(golden.format().name, "int32");
  EXPECT_EQ(golden.view().values(), expected);
  const Tensor emulated = emulate(c, ascend());
  EXPECT_EQ(emulated.format().name, "int32");
  EXPECT_EQ(emulated.view().values(), expected);
  EXPECT_EQ(error_of([&] { emulate(c, machine_named("volta")); }),
            "case t: the matrix unit of volta takes float16, not int8");
}

// If sums of int8 products exceed int32, the reference and some machines give the end of the range,
// and other machines wrap.
TEST(MatmulTest, Int8BeyondInt32) {
  constexpr std::int64_t kDepth = (1 << 17) + 1;
  std::vector<double> least(static_cast<std::size_t>(kDepth), -128), most = least;
  for (double& v : most) v = 127;
  std::vector<double> rows = least;
  rows.insert(rows.end(), most.begin(), most.end());
  const Case c = matmul(Tensor::from_values(format_named("int8"), {2, kDepth}, rows),
                        Tensor::from_values(format_named("int8"), {kDepth, 1}, least));
  const double high = 16384.0 * kDepth, low = -127 * 128.0 * kDepth;
  const auto on = [&](const char* machine) {
    return emulate(c, machine_named(machine)).view().values();
  };
  EXPECT_EQ(on("hopper"), (std::vector<double>{high - 0x1p32, low}));
  EXPECT_EQ(on("hopper,overflow=saturate"), (std::vector<double>{0x1p31 - 1, low}));
  EXPECT_EQ(on("ascend910b"), (std::vector<double>{0x1p31 - 1, low}));
  EXPECT_EQ(on("ascend910b,overflow=wrap"), (std::vector<double>{high - 0x1p32, low}));
  EXPECT_EQ(golden_result(c).view().values(), (std::vector<double>{0x1p31 - 1, low}));
}

TEST(DotTest, Int8StartsNearTheEnds) {
  Case c;
  c.name = "t";
  c.op = "dot";
  const std::vector<double> a = {1, 1, -128, -1, 127, 127}, b = {1, 0, 1, 0, 127, 127},
                            start = {0x1p31 - 1, -0x1p31 + 100, 0x1p31 - 32259};
  c.inputs["a"] = Tensor::from_values(format_named("int8"), {3, 2}, a);
  c.inputs["b"] = Tensor::from_values(format_named("int8"), {3, 2}, b);
  c.inputs["c"] = Tensor::from_values(format_named("int32"), {3}, start);
  const auto on = [&](const char* machine) {
    return emulate(c, machine_named(machine)).view().values();
  };
  EXPECT_EQ(on("hopper"), (std::vector<double>{-0x1p31, 0x1p31 - 28, 0x1p31 - 1}));
  EXPECT_EQ(on("ascend910b"), (std::vector<double>{0x1p31 - 1, -0x1p31, 0x1p31 - 1}));
}

double element(const Tensor& t, std::int64_t i) { return t.view().value_at(i); }

// float32 operands are first rounded to the working format, in the reference, too.
TEST(MatmulTest, ComputeDtype) {
  for (const auto& [machine, word] :
       {std::pair("hopper", "tfloat32"), {"ascend910b", "hfloat32"}}) {
    Case c = matmul(random_tensor("float32", {6, 40}, 31), random_tensor("float32", {40, 9}, 32));
    c.attributes["compute_dtype"] = word;
    for (const Rounding rounding : {Rounding::kNearestEven, Rounding::kTowardZero}) {
      c.attributes["compute_rounding"] = std::string(rounding_name(rounding));
      const Format& compute = format_named(word);
      Case rounded = c;
      rounded.attributes.erase("compute_dtype");
      for (const char* name : {"a", "b"}) {
        std::vector<double> values = c.input(name).view().values();
        for (double& v : values) v = round_to(compute, v, rounding);
        rounded.inputs[name] =
            Tensor::from_values(format_named("float32"), c.input(name).shape(), values);
      }
      EXPECT_EQ(golden_result(c).view().values(), golden_result(rounded).view().values());
      for (const char* name : {"a", "b"}) {
        rounded.inputs[name] = Tensor::from_values(compute, c.input(name).shape(),
                                                   rounded.input(name).view().values());
      }
      rounded.attributes["output_dtype"] = "float32";
      EXPECT_EQ(emulate(c, machine_named(machine)).view().values(),
                emulate(rounded, machine_named(machine)).view().values());
    }
    EXPECT_NE(emulate(c, machine_named(machine)).view().values(),
              emulate(c, exact()).view().values());
    c.attributes["compute_rounding"] = "up";
    EXPECT_EQ(
        error_of([&] { emulate(c, exact()); }),
        "case t: compute_rounding is 'up'; it may be nearest_even, nearest_away, toward_zero");
  }
  Case half = matmul(random_tensor("float16", {2, 3}, 1), random_tensor("float16", {3, 2}, 2));
  half.attributes["compute_dtype"] = "tfloat32";
  EXPECT_EQ(error_of([&] { emulate(half, exact()); }),
            "case t: compute_dtype is 'tfloat32' for float16 operands; float32 operands can be "
            "rounded to tfloat32, hfloat32 or bfloat16");
}

// Parts of K, each summed from 0, are added in float32. Inside a part, the sum is promoted every
// few terms.
TEST(MatmulTest, SplitAndPromotedSums) {
  const DotModel& model = dot_model(machine_named("hopper"), format_named("float8_e4m3fn"));
  Case c = matmul(random_tensor("float8_e4m3fn", {3, 300}, 41),
                  random_tensor("float8_e4m3fn", {300, 5}, 42));
  const auto a = c.input("a").view().values(), b = c.input("b").view().values();
  for (const std::int64_t split : {0, 96, 512}) {
    for (const std::int64_t promotion : {0, 64}) {
      c.attributes["split_k"] = split;
      c.attributes["promotion_interval"] = promotion;
      const Tensor out = emulate(c, machine_named("hopper"));
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 5; ++j) {
          DotModel promoted = model;
          promoted.promotion_interval.value = static_cast<int>(promotion);
          const std::int64_t part = split == 0 ? 300 : split;
          float total = 0;
          for (std::int64_t k = 0; k < 300; k += part) {
            total += static_cast<float>(dot_oracle(promoted, std::min(part, 300 - k),
                                                   a.data() + i * 300 + k, 1, b.data() + k * 5 + j,
                                                   5, 0));
          }
          EXPECT_EQ(element(out, i * 5 + j), static_cast<double>(total)) << split << promotion;
        }
      }
      EXPECT_EQ(golden_result(c).view().values(),
                golden_result(matmul(c.input("a"), c.input("b"))).view().values());
    }
  }
  c.attributes["split_k"] = std::int64_t{-1};
  EXPECT_EQ(error_of([&] { emulate(c, exact()); }), "case t: split_k is -1, below 0");
}

// Split sums are right to the bit, even if the accumulator starts at a bias or at a zero of either
// sign, and if every product is a zero. Parts start at +0, and a whole sum starts at the bias.
TEST(MatmulTest, SplitSumsStartWhereTheyShould) {
  const std::int64_t m = 4, n = 6, k = 70;
  const std::vector<double> bias = {0.0, -0.0, 1.5, -0x1p14, 0x1p30, -0x1p-140};
  const char* format = "bfloat16";
  std::vector<double> factors = random_tensor(format, {m, k}, 43).view().values();
  for (std::int64_t i = 0; i < k; ++i) {
    factors[static_cast<std::size_t>(i)] = -0.0;
    factors[static_cast<std::size_t>(k + i)] = i < 40 ? 0.0 : -0.0;
  }
  std::vector<double> positive = random_tensor(format, {k, n}, 44).view().values();
  for (double& v : positive) v = std::abs(v);
  Case c = matmul(Tensor::from_values(format_named(format), {m, k}, factors),
                  Tensor::from_values(format_named(format), {k, n}, positive));
  c.attributes["output_dtype"] = "float32";
  const auto a = c.input("a").view().values(), b = c.input("b").view().values();
  int differ = 0, negative_zeros = 0;
  for (const char* name : {"ascend910b", "hopper"}) {
    const Machine& machine = machine_named(name);
    for (const bool biased : {false, true}) {
      c.inputs.erase("bias");
      if (biased) c.inputs["bias"] = Tensor::from_values(format_named("float32"), {n}, bias);
      for (const std::int64_t split : {0, 1, 16, 17, 32, 69, 70, 71}) {
        for (const std::int64_t promotion : {0, 1, 8, 16, 17, 40, 70, 100}) {
          c.attributes["split_k"] = split;
          c.attributes["promotion_interval"] = promotion;
          const Tensor out = emulate(c, machine);
          DotModel model = dot_model(machine, format_named(format));
          model.promotion_interval.value = static_cast<int>(promotion);
          DotModel in_one = model;
          in_one.promotion_interval.value = static_cast<int>(split);
          for (std::int64_t i = 0; i < m; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
              const auto sum = [&](const DotModel& of, std::int64_t first, std::int64_t count,
                                   double start) {
                return static_cast<float>(dot_oracle(of, count, a.data() + i * k + first, 1,
                                                     b.data() + first * n + j, n, start));
              };
              const double added = biased ? bias[static_cast<std::size_t>(j)] : 0;
              const bool first = machine.bias_first.value;
              const double start = first ? added : 0;
              float wanted = static_cast<float>(start);
              if (split == 0 || split >= k) {
                wanted = sum(model, 0, k, start);
              } else {
                for (std::int64_t begin = 0; begin < k; begin += split) {
                  wanted += sum(model, begin, std::min(split, k - begin), 0);
                }
                // Parts without promotion give the same sum as a promotion interval of their
                // length. Parts with promotion do not.
                const float other = sum(in_one, 0, k, start);
                if (promotion == 0) {
                  EXPECT_EQ(encode(format_named("float32"), static_cast<double>(wanted)),
                            encode(format_named("float32"), static_cast<double>(other)));
                }
                differ += wanted != other ? 1 : 0;
              }
              if (biased && !first) wanted += static_cast<float>(added);
              negative_zeros += wanted == 0 && std::signbit(wanted) ? 1 : 0;
              ASSERT_EQ(out.bits_at(i * n + j),
                        encode(format_named("float32"), static_cast<double>(wanted)))
                  << name << ", split " << split << ", promotion " << promotion << ", bias "
                  << (biased ? "there" : "none") << ", element " << i << " " << j;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(differ, 0);
  EXPECT_GT(negative_zeros, 0);
}

// The bias enters the sum first or last, depending on the machine.
TEST(MatmulTest, TheBiasFirstOrLast) {
  Case c =
      matmul(Tensor::from_values(format_named("float16"), {1, 1}, std::vector<double>{0x1p-12}),
             Tensor::from_values(format_named("float16"), {1, 1}, std::vector<double>{0x1p-12}));
  c.attributes["output_dtype"] = "float32";
  c.inputs["bias"] = Tensor::from_values(format_named("float32"), {1}, std::vector<double>{1.0});
  // 1 + 2^-24 is a tie: truncation in the accumulator and rounding to even at the end both give 1.
  // This product is just above the tie, so that they differ.
  c.inputs["a"] =
      Tensor::from_values(format_named("float16"), {1, 1}, std::vector<double>{0x1.8p-12});
  EXPECT_EQ(element(emulate(c, machine_named("hopper")), 0), 1 + 0x1p-23);  // rounded to nearest
  EXPECT_TRUE(machine_named("ascend910b").bias_first.value);
  EXPECT_FALSE(machine_named("hopper").bias_first.value);
}

TEST(DotTest, AccumulatorsOfTheResultsFormat) {
  Case c;
  c.name = "d";
  c.op = "dot";
  const auto half = [](const Shape& shape, const std::vector<double>& values) {
    return Tensor::from_values(format_named("float16"), shape, values);
  };
  c.inputs["a"] = half({2, 2}, {1, 0x1p-12, 1, 0x1.8p-11});
  c.inputs["b"] = half({2, 2}, {1, 1, 1, 1});
  c.inputs["c"] = half({2}, {0, 0});
  c.attributes["output_dtype"] = "float16";
  const Tensor out = emulate(c, machine_named("hopper"));
  EXPECT_EQ(out.format().name, "float16");
  EXPECT_EQ(element(out, 0), 1);
  // The sum is rounded to nearest. A truncated sum would be 1.
  EXPECT_EQ(element(out, 1), 1 + 0x1p-10);
  c.attributes["output_dtype"] = "float32";
  EXPECT_EQ(element(emulate(c, machine_named("hopper")), 1), 1 + 0x1.8p-11);
  EXPECT_EQ(element(golden_result(c), 1), 1 + 0x1.8p-11);
  c.inputs["c"] = half({3}, {0, 0, 0});
  EXPECT_EQ(error_of([&] { emulate(c, exact()); }),
            "case d: a [2, 2], b [2, 2] and c [3] do not fit; dot takes [n, K], [n, K] and [n]");
}

// The tolerance allows for K + 1 roundings of the accumulator, which is float16 if c and the result
// are float16.
TEST(DotTest, ToleranceFollowsItsFormula) {
  Case c;
  c.name = "d";
  c.op = "dot";
  const auto tensor = [](const char* format, const Shape& shape,
                         const std::vector<double>& values) {
    return Tensor::from_values(format_named(format), shape, values);
  };
  c.inputs["a"] = tensor("float16", {2, 3}, {1, -2, 3, 4, 5, -6});
  c.inputs["b"] = tensor("float16", {2, 3}, {1, 1, 1, -1, 1, 2});
  c.inputs["c"] = tensor("float16", {2}, {7, -8});
  DerivedTolerance t = derived_tolerance(c);
  EXPECT_EQ(t.rtol, 0x1p-11);
  const double h = 4 * 0x1p-11;  // |-8| + 4 + 5 + 12 = 29
  EXPECT_EQ(t.atol, (1 + 0x1p-11) * (h / (1 - h) * 29 + 4 * 0x1p-25) + 0x1p-25);
  EXPECT_EQ(
      t.why,
      "rtol: half a float16 ulp; atol: n u / (1 - n u) max (|c| + sum_k |a_k b_k|), n = K + 1, "
      "the error of float16 accumulation in any order (K = 3, sum at most 29)");
  c.attributes["output_dtype"] = "float32";
  t = derived_tolerance(c);
  EXPECT_EQ(t.rtol, 0x1p-24);
  EXPECT_NEAR(t.atol, 4 * 0x1p-24 * 29, 1e-11);
  c.inputs["c"] = tensor("float16", {2}, {7, std::numeric_limits<double>::infinity()});
  EXPECT_NEAR(derived_tolerance(c).atol, 4 * 0x1p-24 * 13, 1e-11)
      << "the judge settles the sum that starts at infinity";
  c.attributes["output_dtype"] = "float16";
  c.inputs["a"] = c.inputs["b"] = tensor("float16", {2, 1024}, std::vector<double>(2048, 1));
  c.inputs["c"] = tensor("float16", {2}, {0, 0});
  EXPECT_EQ(error_of([&] { derived_tolerance(c); }),
            "case d: no tolerance can be derived for dot with float16 results");
}

TEST(DotTest, IntegersAreSummedInInt32) {
  Case c;
  c.name = "d";
  c.op = "dot";
  c.inputs["a"] = integer_tensor("int8", {3, 1000}, 1, 100);
  c.inputs["b"] = c.inputs["a"];
  c.inputs["c"] = integer_tensor("int32", {3}, 2, 100000);
  const Tensor golden = golden_result(c), out = emulate(c, machine_named("ascend910b"));
  EXPECT_EQ(golden.format().name, "int32");
  for (std::int64_t i = 0; i < 3; ++i) {
    double sum = element(c.input("c"), i);
    for (std::int64_t k = 0; k < 1000; ++k) {
      sum += element(c.input("a"), i * 1000 + k) * element(c.input("b"), i * 1000 + k);
    }
    EXPECT_EQ(element(golden, i), sum);
    EXPECT_EQ(element(out, i), sum);
  }
  EXPECT_EQ(derived_tolerance(c).atol, 0);
}

TEST(MatmulTest, Float8GivesFloat32OnTheReference) {
  const Case c = matmul(random_tensor("float8_e4m3fn", {3, 20}, 11),
                        random_tensor("float8_e5m2", {20, 4}, 12));
  const Tensor out = emulate(c, exact());
  EXPECT_EQ(out.format().name, "float32");
  const auto expected = by_loops(c, 3, 4, 20);
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(out.view().value_at(i), expected[static_cast<std::size_t>(i)], 1e-5);
  }
}

TEST(MatmulTest, EmptyDimensions) {
  Case c = matmul(integer_tensor("float16", {2, 0}, 13), integer_tensor("float16", {0, 3}, 14));
  c.inputs["bias"] = integer_tensor("float16", {3}, 15);
  const auto bias = c.input("bias").view().values();
  for (const Machine* machine : {&exact(), &ascend()}) {
    const Tensor out = emulate(c, *machine);
    EXPECT_EQ(out.shape(), (Shape{2, 3}));
    for (std::int64_t i = 0; i < 6; ++i) {
      EXPECT_EQ(out.view().value_at(i), bias[static_cast<std::size_t>(i % 3)]);
    }
    EXPECT_EQ(
        emulate(matmul(integer_tensor("float16", {0, 4}, 1), integer_tensor("float16", {4, 3}, 2)),
                *machine)
            .shape(),
        (Shape{0, 3}));
    EXPECT_EQ(emulate(matmul(integer_tensor("float16", {0, 2, 4}, 1),
                             integer_tensor("float16", {4, 3}, 2)),
                      *machine)
                  .shape(),
              (Shape{0, 2, 3}));
  }
}

TEST(MatmulTest, SpecialsComeThrough) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Case c =
      matmul(Tensor::from_values(format_named("float16"), {4, 2},
                                 std::vector<double>{1, inf, nan, 1, 1, 2, inf, -inf}),
             Tensor::from_values(format_named("float16"), {2, 1}, std::vector<double>{1, 1}));
  for (const Machine* machine : {&exact(), &ascend()}) {
    const Tensor out = emulate(c, *machine);
    EXPECT_EQ(out.view().value_at(0), inf);
    EXPECT_TRUE(std::isnan(out.view().value_at(1)));
    EXPECT_EQ(out.view().value_at(2), 3);
    EXPECT_TRUE(std::isnan(out.view().value_at(3)));
  }
}

TEST(MatmulErrorTest, Operands) {
  const auto run = [](const char* a, const char* b, const Machine& machine) {
    return error_of([&] {
      emulate(matmul(integer_tensor(a, {2, 3}, 1), integer_tensor(b, {3, 2}, 2)), machine);
    });
  };
  EXPECT_EQ(run("float16", "float32", exact()),
            "case t: a is float16 and b is float32; matmul takes operands of one width");
  EXPECT_EQ(run("int16", "int16", exact()),
            "case t: matmul takes float and int8 operands, not int16");
  EXPECT_EQ(run("bool", "bool", exact()), "case t: matmul takes float and int8 operands, not bool");
  EXPECT_EQ(
      run("float8_e5m2", "float8_e5m2", ascend()),
      "case t: the matrix unit of ascend910b takes float16, bfloat16, float32, hfloat32, int8, "
      "not float8_e5m2");
  EXPECT_EQ(
      run("float64", "float64", ascend()),
      "case t: the matrix unit of ascend910b takes float16, bfloat16, float32, hfloat32, int8, "
      "not float64");
  EXPECT_EQ(run("float16", "bfloat16", exact()), "no error");
}

// The second operand must have an accepted dtype, as the first one must.
TEST(MatmulErrorTest, TheSecondOperandsKind) {
  const auto run = [](const char* a, const char* b) {
    return error_of([&] {
      emulate(matmul(integer_tensor(a, {2, 3}, 1), integer_tensor(b, {3, 2}, 2)), exact());
    });
  };
  const std::string refused = "case t: matmul takes float and int8 operands, not ";
  EXPECT_EQ(run("float32", "int32"), refused + "int32");
  EXPECT_EQ(run("float64", "int64"), refused + "int64");
  EXPECT_EQ(run("float16", "int16"), refused + "int16");
  EXPECT_EQ(run("float8_e5m2", "uint8"), refused + "uint8");
}

TEST(MatmulErrorTest, ShapesAndParameters) {
  const auto with_attribute = [](const char* name, const Attribute& value) {
    Case c = matmul(integer_tensor("float16", {2, 3}, 1), integer_tensor("float16", {3, 2}, 2));
    c.attributes[name] = value;
    return error_of([&] { emulate(c, ascend()); });
  };
  EXPECT_EQ(with_attribute("transpose_a", std::int64_t{1}),
            "case t: a [3, 2] and b [3, 2] do not multiply: K is 2 in a and 3 in b");
  EXPECT_EQ(with_attribute("transpose_a", std::int64_t{0}), "no error");
  EXPECT_EQ(with_attribute("promotion_interval", std::int64_t{0}), "no error");
  EXPECT_EQ(with_attribute("promotion_interval", std::int64_t{128}), "no error");
  EXPECT_EQ(with_attribute("promotion_interval", std::int64_t{-1}),
            "case t: promotion_interval is -1, below 0");
  EXPECT_EQ(with_attribute("promotion_interval", "often"),
            "case t: attribute 'promotion_interval' must be an integer, but it is 'often'");
  EXPECT_EQ(with_attribute("transpose", std::int64_t{1}),
            "case t: matmul does not know the parameter 'transpose': did you mean "
            "'transpose_a'?; it knows transpose_a, "
            "transpose_b, output_dtype, compute_dtype, compute_rounding, promotion_interval, "
            "split_k, split_first, split_parts, split_order, split_dtype, split_sum_dtype, "
            "compute_terms, "
            "round_before_bias, output_rounding");
  EXPECT_EQ(with_attribute("output_dtype", "float17"),
            "case t: output_dtype 'float17' is no dtype that assay knows; "
            "docs/formats.md lists all: did you mean 'float16'?");
  Case c = matmul(integer_tensor("float16", {2, 3}, 1), integer_tensor("float16", {3, 2}, 2));
  c.inputs["bias"] = integer_tensor("float16", {3}, 3);
  EXPECT_EQ(error_of([&] { emulate(c, ascend()); }), "case t: bias [3] must have the shape [2]");
  c.inputs.erase("bias");
  c.inputs.erase("a");
  EXPECT_EQ(error_of([&] { emulate(c, ascend()); }),
            "case t: matmul needs the input 'a'; its inputs are b");
}

// Tests results with more elements than one range of threads. They do not depend on the number of
// threads, and the last rows computed separately are the same.
TEST(LargeMatmul, IsTheSameByAnyThreadsAndInParts) {
  constexpr std::int64_t kM = 270, kN = 260, kK = 8, kLast = 5;
  for (const char* machine : {"exact", "ascend910b", "hopper"}) {
    for (const char* extra : {"", "round_before_bias", "output_rounding", "no bias"}) {
      SCOPED_TRACE(std::string(machine) + " " + extra);
      Case c =
          matmul(random_tensor("bfloat16", {2, kM, kK}, 1), random_tensor("bfloat16", {kK, kN}, 2));
      if (std::string(extra) != "no bias") c.inputs["bias"] = random_tensor("bfloat16", {kN}, 3);
      if (std::string(extra) == "round_before_bias") c.attributes[extra] = std::int64_t{1};
      if (std::string(extra) == "output_rounding") c.attributes[extra] = std::string("toward_zero");
      c.attributes["output_dtype"] = std::string("bfloat16");
      const Machine& m = machine_named(machine);
      const Tensor whole = emulate(c, m, 1);
      EXPECT_EQ(whole.view().values(), emulate(c, m, 3).view().values());
      EXPECT_EQ(golden_result(c, 1).view().values(3), golden_result(c, 3).view().values());
      Case last = c;
      last.inputs["a"] = copy_of(c.input("a").view().at(1).slice(kM - kLast, kLast));
      EXPECT_EQ(emulate(last, m, 1).view().values(),
                whole.view().at(1).slice(kM - kLast, kLast).values());
    }
  }
}

}  // namespace
}  // namespace assay
