// Tests softmax, layernorm and rmsnorm: golden results against MPFR and published cases, the
// machines' steps, and tolerances.
#include "assay/op/norm.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <numbers>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/machine/vector.h"
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

constexpr const char* kNormNames[] = {"softmax", "layernorm", "rmsnorm"};

std::vector<double> golden(const Case& c) { return golden_result(c).view().values(); }

// -- Published and hand-worked cases
// ----------------------------------------------------------------

// The example is that of scipy.special.softmax's documentation.
TEST(NormTest, SoftmaxAsPublished) {
  const Tensor x = values("float64", {3, 4}, {1, 0.5, 0.2, 3, 1, -1, 7, 3, 2, 12, 13, 3});
  const std::vector<double> columns = {2.11942e-01, 1.01300e-05, 2.75394e-06, 3.33333e-01,
                                       2.11942e-01, 2.26030e-06, 2.47262e-03, 3.33333e-01,
                                       5.76117e-01, 9.99988e-01, 9.97525e-01, 3.33333e-01};
  const std::vector<double> rows = {1.05877e-01, 6.42177e-02, 4.75736e-02, 7.82332e-01,
                                    2.42746e-03, 3.28521e-04, 9.79307e-01, 1.79366e-02,
                                    1.22094e-05, 2.68929e-01, 7.31025e-01, 3.31885e-05};
  for (const std::int64_t axis : {0, -1}) {
    const Case c = operation("softmax", {{"x", x}}, {{"axis", axis}});
    const auto& published = axis == 0 ? columns : rows;
    for (const auto& y : {golden(c), on("cpu_fma", c)}) {
      for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i] / published[i], 1, 1e-5) << i;
    }
  }
}

TEST(NormTest, ByHand) {
  // Mean 5/2, variance 5/4.
  const Tensor x = values("float64", {1, 2, 3, 4});
  const auto y = golden(operation("layernorm", {{"x", x}}, {{"eps", 0.0}}));
  const double expected[] = {-1.5, -0.5, 0.5, 1.5};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(y[i], expected[i] / std::sqrt(1.25));
  const auto scaled = golden(operation("layernorm", {{"x", x},
                                                     {"weight", values("float64", {2, 2, 2, 2})},
                                                     {"bias", values("float64", {1, 0, 0, 10})}}));
  EXPECT_DOUBLE_EQ(scaled[0], 1 - 3 / std::sqrt(1.25 + 1e-5));
  EXPECT_DOUBLE_EQ(scaled[3], 10 + 3 / std::sqrt(1.25 + 1e-5));
  // The mean square of 3 and 4 is 25/2.
  const Tensor z = values("float64", {3, 4});
  const auto r = golden(operation("rmsnorm", {{"x", z}}, {{"eps", 0.0}}));
  EXPECT_DOUBLE_EQ(r[0], 0.6 * std::sqrt(2));
  EXPECT_DOUBLE_EQ(r[1], 0.8 * std::sqrt(2));
  EXPECT_DOUBLE_EQ(golden(operation("rmsnorm", {{"x", z}}))[0], 3 / std::sqrt(12.5 + 1e-6));
  // Equal elements get equal shares, whatever their size.
  for (const double v : {0.0, 1000.0, -1e300}) {
    EXPECT_EQ(golden(operation("softmax", {{"x", values("float64", {v, v, v, v})}})),
              std::vector<double>(4, 0.25));
  }
}

// Float16 steps by hand: softmax of 1 and 0. exp(-1) = 0.36791992 and the sum is 1401 / 1024 =
// 1.36816406. The quotients are 0.73095703 and 0.26892090 (550.75 / 2048 -> 1101.5 / 4096 ties).
TEST(NormTest, SoftmaxInFloat16ByHand) {
  const auto y = on("ascend910b", operation("softmax", {{"x", values("float16", {1, 0})}}));
  const Format& half = format_named("float16");
  EXPECT_EQ(y[0], 1497.0 / 2048);
  EXPECT_EQ(y[1], round_to(half, round_to(half, std::exp(-1.0)) / (1401.0 / 1024)));
}

TEST(NormTest, SpecialValues) {
  const auto softmax = [](std::vector<double> x) {
    return golden(operation("softmax", {{"x", values("float32", x)}}));
  };
  EXPECT_EQ(softmax({-kInfinity, 0, 0}), (std::vector<double>{0, 0.5, 0.5}));
  for (const double y : softmax({kInfinity, 0})) EXPECT_TRUE(std::isnan(y));
  for (const double y : softmax({-kInfinity, -kInfinity})) EXPECT_TRUE(std::isnan(y));
  for (const double y : softmax({1, std::nan(""), 0})) EXPECT_TRUE(std::isnan(y));
  const Case masked = operation("softmax", {{"x", values("float32", {-kInfinity, 0, 0})}});
  for (const char* machine : {"ascend910b", "hopper"}) {
    EXPECT_EQ(on(machine, masked), (std::vector<double>{0, 0.5, 0.5})) << machine;
  }
  // In float16, squares overflow from 256 on, and the unit saturates them.
  const Case large = operation("rmsnorm", {{"x", values("float16", {300, 300, 300, 300})}});
  EXPECT_DOUBLE_EQ(golden(large)[0], 300 / std::sqrt(90000 + 1e-6));
  EXPECT_GT(on("ascend910b", large)[0], 2);
  Case wide = large;
  wide.attributes["compute_dtype"] = "float32";
  EXPECT_EQ(on("ascend910b", wide)[0], 1);
}

// -- MPFR -----------------------------------------------------------------------------------------

// Rows in 600 bits.
class MpfrRow {
 public:
  ~MpfrRow() {
    for (auto& v : numbers_) mpfr_clear(v.get());
  }
  mpfr_ptr number(double value = 0) {
    numbers_.emplace_back();
    mpfr_init2(numbers_.back().get(), 600);
    mpfr_set_d(numbers_.back().get(), value, MPFR_RNDN);
    return numbers_.back().get();
  }
  std::vector<mpfr_ptr> exact(const std::string& op, const std::vector<double>& x, double eps) {
    std::vector<mpfr_ptr> y;
    for (const double v : x) y.push_back(number(v));
    mpfr_ptr sum = number(), square = number();
    const auto n = static_cast<unsigned long>(x.size());
    if (op == "softmax") {
      for (mpfr_ptr v : y) {
        mpfr_exp(v, v, MPFR_RNDN);
        mpfr_add(sum, sum, v, MPFR_RNDN);
      }
      for (mpfr_ptr v : y) mpfr_div(v, v, sum, MPFR_RNDN);
      return y;
    }
    if (op == "layernorm") {
      for (mpfr_ptr v : y) mpfr_add(sum, sum, v, MPFR_RNDN);
      mpfr_div_ui(sum, sum, n, MPFR_RNDN);
      for (mpfr_ptr v : y) mpfr_sub(v, v, sum, MPFR_RNDN);
    }
    mpfr_set_ui(sum, 0, MPFR_RNDN);
    for (mpfr_ptr v : y) {
      mpfr_sqr(square, v, MPFR_RNDN);
      mpfr_add(sum, sum, square, MPFR_RNDN);
    }
    mpfr_div_ui(sum, sum, n, MPFR_RNDN);
    mpfr_add_d(sum, sum, eps, MPFR_RNDN);
    mpfr_sqrt(sum, sum, MPFR_RNDN);
    for (mpfr_ptr v : y) mpfr_div(v, v, sum, MPFR_RNDN);
    return y;
  }

 private:
  struct Number {
    mpfr_ptr get() { return &value; }
    __mpfr_struct value;
  };
  std::deque<Number> numbers_;
};

TEST(NormReferenceTest, IsMpfrsCorrectlyRounded) {
  Random random(71, 0);
  for (const char* op : kNormNames) {
    for (const char* format : {"float16", "float32", "float64"}) {
      for (int trial = 0; trial < 60; ++trial) {
        const std::size_t n = 1 + random.below(70);
        std::vector<double> x(n);
        // The values are spread, almost equal, of different sizes, or of sizes whose squares only
        // binary128 holds.
        const bool wide = trial % 4 == 3 && format == std::string("float64");
        const double offset = trial % 3 == 1 ? 100 * random.normal() : 0;
        for (double& v : x) {
          v = random.normal();
          if (trial % 3 == 1) v = offset + std::ldexp(v, -8);
          if (trial % 3 == 2) v *= std::ldexp(1.0, static_cast<int>(random.below(16)) - 10);
          if (wide) {
            v = op == std::string("softmax")
                    ? 1000 * random.normal()
                    : std::ldexp(random.normal(), static_cast<int>(random.below(1600)) - 800);
          }
          v = round_to(format_named(format), v);
        }
        Case c = operation(op, {{"x", values(format, x)}});
        if (op != std::string("softmax")) c.attributes["eps"] = 1e-5;
        const auto y = golden(c);
        MpfrRow row;
        const auto exact = row.exact(op, x, 1e-5);
        for (std::size_t i = 0; i < n; ++i) {
          EXPECT_EQ(y[i], mpfr_get_d(exact[i], MPFR_RNDN))
              << op << " " << format << " trial " << trial << " element " << i;
        }
      }
    }
  }
}

// -- Machines -------------------------------------------------------------------------------------

// Computes the steps a second time, by the scalar oracle.
std::vector<double> steps_of(const Case& c, const VectorArithmetic& unit, ReduceOrder order,
                             std::int64_t chunk, std::vector<double> x) {
  const auto n = static_cast<std::int64_t>(x.size());
  const VectorArithmetic after = order == ReduceOrder::kBlock ? block_arithmetic(unit) : unit;
  const auto each = [&](const VectorArithmetic& by, VectorOp op, double b) {
    for (double& v : x) v = vector_oracle(by, op, v, b);
  };
  const auto mean = [&](double sum) {
    return vector_oracle(after, VectorOp::kDiv, sum, static_cast<double>(n));
  };
  if (c.op == "softmax") {
    each(unit, VectorOp::kSub, *std::max_element(x.begin(), x.end()));
    each(unit, VectorOp::kExp, 0);
    each(after, VectorOp::kDiv, reduce_oracle(unit, order, chunk, n, x.data()));
    return x;
  }
  if (c.op == "layernorm") {
    each(after, VectorOp::kSub, mean(reduce_oracle(unit, order, chunk, n, x.data())));
  }
  std::vector<double> squares = x;
  for (double& v : squares) v = vector_oracle(after, VectorOp::kMul, v, v);
  const double square = mean(reduce_oracle(after, order, chunk, n, squares.data()));
  const double eps = round_to(*after.format, c.op == "rmsnorm" ? 1e-6 : 1e-5);
  each(after, VectorOp::kMul,
       vector_oracle(after, VectorOp::kRsqrt, vector_oracle(after, VectorOp::kAdd, square, eps)));
  const auto weight = c.input("weight").view().values();
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = vector_oracle(after, VectorOp::kMul, x[i], weight[i]);
  }
  if (c.op == "layernorm") {
    const auto bias = c.input("bias").view().values();
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = vector_oracle(after, VectorOp::kAdd, x[i], bias[i]);
    }
  }
  return x;
}

TEST(NormTest, StepsAreRoundedOneByOne) {
  struct Order {
    const char* name;
    ReduceOrder order;
  };
  const Order orders[] = {{"pairwise", ReduceOrder::kPairwise},
                          {"sequential", ReduceOrder::kSequential},
                          {"block", ReduceOrder::kBlock},
                          {"ascend910b_first_n", ReduceOrder::kFirstN}};
  std::uint64_t stream = 300;
  for (const char* op : kNormNames) {
    for (const char* input : {"float16", "bfloat16", "float32"}) {
      for (const Order& order : orders) {
        for (const std::int64_t n : {1, 7, 200}) {
          for (const std::int64_t saturate : {0, 1}) {
            Case c = operation(op, {{"x", random_tensor(input, {3, n}, stream++)}},
                               {{"order", order.name}, {"saturate", saturate}});
            if (op != std::string("softmax"))
              c.inputs["weight"] = random_tensor(input, {n}, stream++);
            if (op == std::string("layernorm"))
              c.inputs["bias"] = random_tensor(input, {n}, stream++);
            if (order.order == ReduceOrder::kBlock) c.attributes["block_size"] = std::int64_t{24};
            const VectorFormat& row =
                vector_format(vector_model(machine_named("ascend910b")), format_named(input));
            const VectorArithmetic unit{&format_named(row.unit.value),
                                        saturate != 0 ? Overflow::kSaturate : Overflow::kIeee};
            const std::int64_t chunk =
                order.order == ReduceOrder::kFirstN ? row.repeat.value : std::int64_t{24};
            const auto y = on("ascend910b", c);
            const auto x = c.input("x").view().values();
            for (std::int64_t i = 0; i < 3; ++i) {
              const auto expected = steps_of(c, unit, order.order, chunk,
                                             {x.begin() + i * n, x.begin() + (i + 1) * n});
              for (std::int64_t j = 0; j < n; ++j) {
                const double right =
                    round_to(format_named(input), expected[static_cast<std::size_t>(j)]);
                ASSERT_EQ(y[static_cast<std::size_t>(i * n + j)], right)
                    << op << " " << input << " " << order.name << " n " << n;
              }
            }
          }
        }
      }
    }
  }
}

// The result of a row does not depend on the dimension along which it lies, or on the number of
// threads.
TEST(NormTest, AxesAndThreads) {
  const Tensor x = random_tensor("bfloat16", {5, 40, 700}, 9);
  for (const char* op : kNormNames) {
    for (const char* machine : {"exact", "ascend910b", "cpu_mul_add"}) {
      const auto run = [&](std::int64_t axis, int threads) {
        const Case c = operation(op, {{"x", x}}, {{"axis", axis}});
        return emulate(c, machine_named(machine), threads).view().values();
      };
      const auto middle = run(1, 4);
      EXPECT_EQ(middle, run(-2, 1));
      // Column (2, :, 33) by itself.
      std::vector<double> column;
      for (std::int64_t i = 0; i < 40; ++i)
        column.push_back(x.view().value_at((80 + i) * 700 + 33));
      const auto alone = on(machine, operation(op, {{"x", values("bfloat16", column)}}));
      for (std::int64_t i = 0; i < 40; ++i) {
        EXPECT_EQ(middle[static_cast<std::size_t>((80 + i) * 700 + 33)],
                  alone[static_cast<std::size_t>(i)]);
      }
    }
  }
}

TEST(NormTest, Errors) {
  const Tensor x = random_tensor("float16", {2, 4}, 7);
  const auto error = [&](const Case& c) { return error_of([&] { golden_result(c); }); };
  EXPECT_EQ(error(operation("softmax", {{"x", x}}, {{"axis", std::int64_t{2}}})),
            "case t: axis 2 is no dimension of x [2, 4]");
  EXPECT_EQ(error(operation("softmax", {{"x", values("float16", {}, {1})}})),
            "case t: axis -1 is no dimension of x []");
  EXPECT_EQ(error(operation("rmsnorm", {{"x", values("float16", {0, 3}, {})}})),
            "case t: rmsnorm of no elements: x is [0, 3]");
  EXPECT_EQ(error(operation("layernorm", {{"x", x}, {"weight", random_tensor("float16", {2}, 1)}})),
            "case t: weight is [2]; layernorm takes [4], as long as x along axis");
  EXPECT_EQ(error(operation("layernorm", {{"x", x}, {"bias", random_tensor("float32", {4}, 1)}})),
            "case t: layernorm takes operands of one dtype; x is float16, bias is float32");
  EXPECT_EQ(error(operation("rmsnorm", {{"x", x}}, {{"eps", -1.0}})), "case t: eps is -1, below 0");
  EXPECT_EQ(error(operation("softmax", {{"x", x}}, {{"order", "block"}})),
            "case t: the order block needs the parameter block_size, which is at least 1");
  EXPECT_EQ(error_of([&] {
              on("hopper", operation("softmax", {{"x", x}}, {{"order", "ascend910b_high_dim"}}));
            }),
            "case t: the machine hopper has no repeats, so that it has no order "
            "ascend910b_high_dim; choose another order");
}

// -- Tolerances -----------------------------------------------------------------------------------

Case drawn(const char* op, const char* input, std::int64_t n, double scale, std::uint64_t stream) {
  Case c = operation(op, {{"x", random_tensor(input, {6, n}, stream, scale)}});
  if (op != std::string("softmax")) c.inputs["weight"] = random_tensor(input, {n}, stream + 1);
  if (op == std::string("layernorm")) c.inputs["bias"] = random_tensor(input, {n}, stream + 2);
  return c;
}

int outside_norm_bounds(const Case& c, const char* machine) {
  const auto bounds = accumulation_bounds(c, machine_named(machine)).view().values();
  const auto y = on(machine, c), right = golden(c);
  const Format& output = output_format(c);
  int mismatches = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double bound =
        bounds[i] + std::max(unit_roundoff(output) * std::abs(right[i]), min_subnormal(output) / 2);
    mismatches += std::abs(y[i] - right[i]) <= bound ? 0 : 1;
  }
  return mismatches;
}

TEST(NormTest, TolerancesAcceptTheMachines) {
  std::uint64_t stream = 500;
  for (const char* op : kNormNames) {
    for (const char* input : {"float16", "bfloat16", "float32", "float64"}) {
      for (const double scale : {0.1, 1.0, 8.0}) {
        for (const std::int64_t n : {1, 33, 600}) {
          for (const char* order : {"pairwise", "sequential"}) {
            for (const char* machine : {"ascend910b", "hopper"}) {
              if (machine == std::string("ascend910b") && input == std::string("float64")) continue;
              // 600 chained roundings of float16 leave too few digits.
              const bool half = input == std::string("float16");
              if (half && n == 600 && order == std::string("sequential")) continue;
              Case c = drawn(op, input, n, scale, stream += 3);
              c.attributes["order"] = order;
              EXPECT_EQ(cases::outside_tolerance(c, machine), 0)
                  << op << " " << input << " " << scale << " " << n << " " << order << " "
                  << machine;
              EXPECT_EQ(outside_norm_bounds(c, machine), 0)
                  << op << " " << input << " " << scale << " " << n << " " << order << " "
                  << machine;
            }
          }
        }
      }
    }
  }
}

// The first row is one that a trial of this kernel found. Without the two roundings that exp2 adds,
// the bounds would be a third as wide, and the kernel would exceed them.
TEST(NormTest, BoundsOfSoftmaxHoldForPowersOfTwo) {
  std::vector<double> x = {-48.769264221191406, 4.052487373352051};
  for (int i = 1; i < 2000; ++i) {
    x.push_back(static_cast<float>(4 - 0.0433 * i));
    x.push_back(static_cast<float>(4.0 + 1e-3 * i));
  }
  const auto rows = static_cast<std::int64_t>(x.size() / 2);
  const Case c =
      operation("softmax", {{"x", Tensor::from_values(format_named("float32"), {rows, 2}, x)}});
  const auto bounds = accumulation_bounds(c, machine_named("hopper")).view().values(),
             right = golden(c);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); i += 2) {
    const float log2_e = std::numbers::log2e_v<float>;
    const auto most = static_cast<float>(x[i + 1]);
    const float low = std::exp2((static_cast<float>(x[i]) - most) * log2_e);
    worst = std::max(worst, std::abs(low / (low + 1) - right[i]) / bounds[i]);
  }
  EXPECT_LT(worst, 1);
  EXPECT_GT(worst, 0.4);
}

// The bounds are not so wide that a wrong operator passes. The wrong operators divide the variance
// by n - 1, leave the term of the maximum out of the sum, or leave out eps in small rows.
TEST(NormTest, TolerancesRejectOtherOperators) {
  const auto mismatches = [](const Case& c, const std::vector<double>& y) {
    const DerivedTolerance t = derived_tolerance(c);
    const auto right = golden(c);
    int count = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      count += std::abs(y[i] - right[i]) <= t.atol + t.rtol * std::abs(right[i]) ? 0 : 1;
    }
    return count;
  };
  for (const char* input : {"bfloat16", "float32"}) {
    const Case layernorm = operation("layernorm", {{"x", random_tensor(input, {6, 32}, 70)}},
                                     {{"output_dtype", "float32"}});
    auto y = golden(layernorm);
    for (double& v : y) v *= std::sqrt(31.0 / 32);
    EXPECT_GT(mismatches(layernorm, y), 150) << input;
    const Case softmax = operation("softmax", {{"x", random_tensor(input, {6, 32}, 71)}},
                                   {{"output_dtype", "float32"}});
    auto z = golden(softmax);
    for (std::size_t row = 0; row < 6; ++row) {
      const double rest =
          1 - *std::max_element(z.begin() + static_cast<std::ptrdiff_t>(row * 32),
                                z.begin() + static_cast<std::ptrdiff_t>(row * 32 + 32));
      for (std::size_t i = 0; i < 32; ++i) z[row * 32 + i] /= rest;
    }
    EXPECT_EQ(mismatches(softmax, z), 192) << input;
    const Case rms = operation("rmsnorm", {{"x", random_tensor(input, {6, 32}, 72, 1e-3)}},
                               {{"output_dtype", "float32"}});
    Case without = rms;
    without.attributes["eps"] = 0.0;
    EXPECT_GT(mismatches(rms, golden(without)), 150) << input;
  }
}

TEST(NormTest, NoToleranceWhereNoDigitIsLeft) {
  const Case constant =
      operation("layernorm", {{"x", values("float16", {100, 100, 100})}}, {{"eps", 0.0}});
  EXPECT_EQ(error_of([&] { derived_tolerance(constant); }),
            "case t: no tolerance can be derived, because the rounding errors of layernorm may be "
            "as large as its mean square");
  const Case nan = operation("softmax", {{"x", values("float16", {1, std::nan("")})}});
  EXPECT_GE(derived_tolerance(nan).atol, 0) << "the judge settles a row that is NaN";
  const DerivedTolerance t =
      derived_tolerance(operation("softmax", {{"x", values("float32", {0, 0})}}));
  // The terms are two exp of 2 ulps each, a sum and a quotient.
  EXPECT_NEAR(t.rtol, 12 * 0x1p-24, 0x1p-30);
  EXPECT_EQ(t.why.substr(0, 62), "rtol: 3 u |x - max| through exp, the sum and the quotient, at ");
}

}  // namespace
}  // namespace assay
