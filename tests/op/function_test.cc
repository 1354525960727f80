// Tests exp, log, sqrt, rsqrt, tanh, sigmoid, silu and gelu: the golden functions against MPFR, the
// machines' steps, published examples, and tolerances.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/constants.h"
#include "assay/machine/vector.h"
#include "assay/op/function_reference.h"
#include "vector_cases.h"

namespace assay {
namespace {

// Returns the golden function of this name.
double (*reference_function(std::string_view name))(double) {
  static const std::map<std::string_view, double (*)(double)> functions = {
      {"exp", exp_reference},     {"log", log_reference},   {"sqrt", sqrt_reference},
      {"rsqrt", rsqrt_reference}, {"tanh", tanh_reference}, {"sigmoid", sigmoid_reference},
      {"silu", silu_reference},   {"gelu", gelu_reference}, {"gelu_tanh", gelu_tanh_reference}};
  return functions.at(name);
}

using cases::error_of;
using cases::on;
using cases::operation;
using cases::random_tensor;
using cases::values;

constexpr const char* kFunctionNames[] = {"exp",  "log",     "sqrt", "rsqrt",
                                          "tanh", "sigmoid", "silu", "gelu"};

// -- Golden results -------------------------------------------------------------------------------

// Computes the functions in 400 bits.
class Mpfr {
 public:
  Mpfr() {
    for (auto* v : {x_, y_, t_}) mpfr_init2(v, 400);
  }
  ~Mpfr() {
    for (auto* v : {x_, y_, t_}) mpfr_clear(v);
  }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;

  mpfr_srcptr function(const std::string& name, double x) {
    mpfr_set_d(x_, x, MPFR_RNDN);
    mpfr_set(y_, x_, MPFR_RNDN);
    if (name == "exp") mpfr_exp(y_, x_, MPFR_RNDN);
    if (name == "log") mpfr_log(y_, x_, MPFR_RNDN);
    if (name == "sqrt") mpfr_sqrt(y_, x_, MPFR_RNDN);
    if (name == "rsqrt") mpfr_rec_sqrt(y_, x_, MPFR_RNDN);
    if (name == "tanh") mpfr_tanh(y_, x_, MPFR_RNDN);
    if (name == "sigmoid" || name == "silu") {
      mpfr_neg(t_, x_, MPFR_RNDN);
      mpfr_exp(t_, t_, MPFR_RNDN);
      mpfr_add_ui(t_, t_, 1, MPFR_RNDN);
      if (name == "sigmoid") mpfr_set_ui(y_, 1, MPFR_RNDN);
      mpfr_div(y_, y_, t_, MPFR_RNDN);
    }
    if (name == "gelu") {  // gelu is x erfc(-x / sqrt 2) / 2
      mpfr_sqrt_ui(t_, 2, MPFR_RNDN);
      mpfr_div(t_, x_, t_, MPFR_RNDN);
      mpfr_neg(t_, t_, MPFR_RNDN);
      mpfr_erfc(t_, t_, MPFR_RNDN);
      mpfr_mul(y_, y_, t_, MPFR_RNDN);
      mpfr_div_ui(y_, y_, 2, MPFR_RNDN);
    }
    if (name == "gelu_tanh") {
      mpfr_pow_ui(t_, x_, 3, MPFR_RNDN);
      mpfr_mul_ui(t_, t_, 44715, MPFR_RNDN);
      mpfr_div_ui(t_, t_, 1000000, MPFR_RNDN);
      mpfr_add(t_, t_, x_, MPFR_RNDN);
      mpfr_const_pi(y_, MPFR_RNDN);
      mpfr_ui_div(y_, 2, y_, MPFR_RNDN);
      mpfr_sqrt(y_, y_, MPFR_RNDN);
      mpfr_mul(t_, t_, y_, MPFR_RNDN);
      mpfr_set_prec(y_, 1400);  // 1 + tanh cancels
      mpfr_tanh(y_, t_, MPFR_RNDN);
      mpfr_add_ui(y_, y_, 1, MPFR_RNDN);
      mpfr_mul(y_, y_, x_, MPFR_RNDN);
      mpfr_div_ui(y_, y_, 2, MPFR_RNDN);
      mpfr_prec_round(y_, 400, MPFR_RNDN);
    }
    return y_;
  }
  double nearest(const std::string& name, double x) {
    return mpfr_get_d(function(name, x), MPFR_RNDN);
  }

 private:
  mpfr_t x_, y_, t_;
};

// Returns random bits, sizes from 2^-30 to 2^10, and values around 0, 1 and the ends of the range
// of each format.
std::vector<double> hard_points(int count) {
  Random random(61, 0);
  const double ends[] = {88.7228390520684,
                         -87.3365447505531,
                         -103.972077083992,
                         709.782712893384,
                         -745.133219101941,
                         -708.396418532264,
                         11.0898664,
                         -17.3286795,
                         -38.5,
                         -27.2,
                         -14.4,
                         -5.5,
                         8.3,
                         -8.3,
                         0.34657359027997264};
  std::vector<double> points = {
      0.0, 1, -1, 0x1p-1074, -0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023};
  for (int i = 0; i < count; ++i) {
    const double sign = random.below(2) != 0 ? 1 : -1;
    const double size = std::ldexp(1 + random.uniform(), static_cast<int>(random.below(40)) - 30);
    switch (random.below(5)) {
      case 0:
        points.push_back(std::bit_cast<double>(random.next64()));
        break;
      case 1:
        points.push_back(sign * size);
        break;
      case 2:
        points.push_back(1 + sign * size * 0x1p-12);
        break;
      case 3:
        points.push_back(ends[random.below(std::size(ends))] + sign * size * 0x1p-20);
        break;
      default:
        points.push_back(80 * random.uniform() - 60);
        break;
    }
  }
  return points;
}

bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

TEST(FunctionReferenceTest, IsMpfrsCorrectlyRounded) {
  Mpfr mpfr;
  std::vector<std::string> names(std::begin(kFunctionNames), std::end(kFunctionNames));
  names.emplace_back("gelu_tanh");
  for (const std::string& name : names) {
    const bool gelu = name.rfind("gelu", 0) == 0;
    int mismatches = 0;
    for (const double x : hard_points(gelu ? 3000 : 10000)) {
      if (!std::isfinite(x) || (name == "rsqrt" && x == 0)) continue;
      if (gelu && x < -1000) continue;  // MPFR's exponents end
      const double nearest = mpfr.nearest(name, x), value = reference_function(name)(x);
      if (!same(nearest, value) && ++mismatches < 4) {
        ADD_FAILURE() << name << std::hexfloat << " of " << x << ": " << value << ", nearest is "
                      << nearest;
      }
    }
    EXPECT_EQ(mismatches, 0) << name;
  }
}

// Arrays are computed many elements at a time, and hard elements one by one. The results equal
// those of single elements.
TEST(FunctionReferenceTest, ArraysAreOneByOne) {
  const std::vector<double> points = hard_points(9001);
  for (const bool by_tanh : {false, true}) {
    for (const std::string name : kFunctionNames) {
      Case c = operation(name.c_str(), {{"x", values("float64", points)}});
      if (by_tanh && name != "gelu") continue;
      if (by_tanh) c.attributes["approximate"] = std::string("tanh");
      const auto one_by_one = reference_function(by_tanh ? "gelu_tanh" : name);
      const auto y = golden_result(c, 1).view().values();
      for (std::size_t i = 0; i < points.size(); ++i) {
        ASSERT_TRUE(same(y[i], one_by_one(points[i])))
            << name << std::hexfloat << " of " << points[i] << ": " << y[i];
      }
      const auto by_threads = golden_result(c, 3).view().values();
      EXPECT_TRUE(std::equal(y.begin(), y.end(), by_threads.begin(), same)) << name;
    }
  }
}

TEST(FunctionReferenceTest, SpecialValues) {
  const auto f = [](const char* name, double x) { return reference_function(name)(x); };
  for (const char* name : kFunctionNames) EXPECT_TRUE(std::isnan(f(name, kNan))) << name;
  EXPECT_TRUE(same(f("exp", -kInfinity), 0));
  EXPECT_EQ(f("log", 0), -kInfinity);
  EXPECT_EQ(f("rsqrt", -0.0), -kInfinity);
  EXPECT_TRUE(std::isnan(f("rsqrt", -1)));
  EXPECT_EQ(f("sigmoid", -kInfinity), 0);
  EXPECT_EQ(f("sigmoid", kInfinity), 1);
  for (const char* name : {"silu", "gelu", "gelu_tanh"}) {
    EXPECT_TRUE(same(f(name, -kInfinity), -0.0)) << name;  // the limit
    EXPECT_TRUE(same(f(name, -1e300), -0.0)) << name;
    EXPECT_EQ(f(name, 1e300), 1e300) << name;
    EXPECT_EQ(f(name, kInfinity), kInfinity) << name;
    EXPECT_TRUE(same(f(name, -0.0), -0.0)) << name;
  }
}

// The examples of PyTorch's documentation, whose arguments and results have four digits.
TEST(FunctionTest, PublishedExamples) {
  struct Example {
    const char* op;
    std::vector<double> x, y;
  };
  const Example examples[] = {
      {"exp", {0, 0.6931471805599453}, {1, 2}},
      {"log", {4.7767, 4.3234, 1.2156, 0.2411, 4.5739}, {1.5637, 1.4640, 0.1952, -1.4226, 1.5204}},
      {"sqrt", {-2.0755, 1.0226, 0.0831, 0.4806}, {kNan, 1.0112, 0.2883, 0.6933}},
      {"rsqrt", {-0.0370, 0.2970, 1.5420, -0.9105}, {kNan, 1.8351, 0.8053, kNan}},
      {"tanh", {0.8986, -0.7279, 1.1745, 0.2611}, {0.7156, -0.6218, 0.8257, 0.2553}},
      {"sigmoid", {0.9213, 1.0887, -0.8858, -1.7683}, {0.7153, 0.7481, 0.2920, 0.1458}},
  };
  for (const Example& e : examples) {
    for (const char* machine : {"exact", "hopper", "cpu_fma"}) {
      const auto y = on(machine, operation(e.op, {{"x", values("float32", e.x)}}));
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (std::isnan(e.y[i]))
          EXPECT_TRUE(std::isnan(y[i])) << e.op << " " << i;
        else
          EXPECT_NEAR(y[i], e.y[i], 2e-4) << e.op << " " << i;
      }
    }
  }
  // The unit of the 910B saturates: NaN becomes 0.
  EXPECT_EQ(on("ascend910b", operation("sqrt", {{"x", values("float32", {-1})}}))[0], 0);
}

// Compares gelu with values of the normal distribution's table: Phi(1) = 0.8413447461, Phi(-2) =
// 0.0227501319.
TEST(FunctionTest, GeluByTheNormalDistribution) {
  const Tensor x = values("float64", {1, -2, 0.5});
  const auto y = golden_result(operation("gelu", {{"x", x}})).view().values();
  EXPECT_NEAR(y[0], 0.8413447461, 1e-10);
  EXPECT_NEAR(y[1], 2 * -0.0227501319, 1e-10);
  EXPECT_NEAR(y[2], 0.3457312306, 1e-10);
  const auto approximate =
      golden_result(operation("gelu", {{"x", x}}, {{"approximate", "tanh"}})).view().values();
  EXPECT_NEAR(approximate[0], 0.8411919906, 1e-10);  // 0.5 (1 + tanh(0.7978845608 * 1.044715))
  EXPECT_NEAR(approximate[1], -0.0454023, 1e-7);
}

// Values that MindSpore's documentation prints for GELU on Ascend (mint.nn.functional.gelu). x / (1
// + exp(-2 u)) gives -3.1e-21 for -8. With 1 + tanh(u) the result would be 0.
TEST(FunctionTest, GeluOnAscendAsPublished) {
  const Tensor x = values("float32", {-1, 4, -8, 2, -5, 9});
  const double published[] = {-1.58808023e-01, 3.99992990,      -3.10779147e-21,
                              1.95459759,      -2.29180174e-07, 9};
  const auto y = on("ascend910b", operation("gelu", {{"x", x}}, {{"approximate", "tanh"}}));
  for (std::size_t i = 0; i < y.size(); ++i) {
    // The error is 58 ulps at -8, and at most 2 ulps above -2.
    EXPECT_NEAR(y[i] / published[i], 1, 6e-6) << i;
  }
  EXPECT_EQ(on("hopper", operation("gelu", {{"x", x}}, {{"approximate", "tanh"}}))[2], 0);
  // With approximate=none, MindSpore's documentation printed results of another platform. They are
  // those of x / 2 (1 + erf) step by step in float32, with its cancellation.
  const double none[] = {-1.5865526e-01, 3.9998732, -0.0, 1.9544997, -1.4901161e-06, 9};
  const auto z = on("cpu_mul_add", operation("gelu", {{"x", x}}));
  for (std::size_t i = 0; i < z.size(); ++i) {
    EXPECT_NEAR(z[i], none[i], 5e-8 * std::abs(none[i])) << i;
  }
}

// -- Machines -------------------------------------------------------------------------------------

double chained(const VectorArithmetic& unit, VectorOp op, double a, double b = 0) {
  return vector_oracle(unit, op, round_to(*unit.format, a), round_to(*unit.format, b));
}

// Every step is rounded to float16: exp(-1) = 0.36791992, the sum is 1401 / 1024.
TEST(FunctionTest, SigmoidByHand) {
  const Tensor one = values("float16", {1});
  EXPECT_EQ(on("ascend910b", operation("sigmoid", {{"x", one}}))[0], 1497.0 / 2048);
  // Hopper rounds only the result, which here gives the same number.
  EXPECT_EQ(on("hopper", operation("sigmoid", {{"x", one}}))[0], 1497.0 / 2048);
  const Tensor x = values("float16", {-9});  // exp(9) = 8103.08: 8104, of spacing 4
  EXPECT_EQ(on("ascend910b", operation("sigmoid", {{"x", x}}))[0],
            round_to(format_named("float16"), 1.0 / 8104));
  EXPECT_EQ(on("hopper", operation("sigmoid", {{"x", x}}))[0],
            round_to(format_named("float16"), 1 / (1 + std::exp(9.0))));
}

TEST(FunctionTest, StepsAreRoundedOneByOne) {
  for (const char* input : {"float16", "bfloat16", "float32"}) {
    const Tensor x = random_tensor(input, {500}, 3, 3);
    const auto xs = x.view().values();
    const VectorFormat& row =
        vector_format(vector_model(machine_named("ascend910b")), format_named(input));
    const VectorArithmetic unit{&format_named(row.unit.value), Overflow::kSaturate};
    const VectorArithmetic wide = block_arithmetic(unit);
    const auto silu = on("ascend910b", operation("silu", {{"x", x}}));
    const auto tanh = on("ascend910b", operation("tanh", {{"x", x}}));
    const auto gelu = on("ascend910b", operation("gelu", {{"x", x}}));
    const auto approximate =
        on("ascend910b", operation("gelu", {{"x", x}}, {{"approximate", "tanh"}}));
    const auto simt = on("hopper", operation("gelu", {{"x", x}}, {{"approximate", "tanh"}}));
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const double v = xs[i];
      const double below = chained(unit, VectorOp::kAdd, chained(unit, VectorOp::kExp, -v), 1);
      EXPECT_EQ(silu[i], round_to(x.format(), chained(unit, VectorOp::kDiv, v, below)));
      const double end = static_cast<double>(8.8f);
      const double e = chained(wide, VectorOp::kExp, 2 * std::clamp(v, -end, end));
      EXPECT_EQ(tanh[i], round_to(x.format(),
                                  chained(wide, VectorOp::kDiv, chained(wide, VectorOp::kSub, e, 1),
                                          chained(wide, VectorOp::kAdd, e, 1))));
      const double erf =
          chained(unit, VectorOp::kErf, chained(unit, VectorOp::kMul, v, std::sqrt(0.5)));
      EXPECT_EQ(gelu[i], round_to(x.format(), chained(unit, VectorOp::kMul,
                                                      chained(unit, VectorOp::kMul, v, 0.5),
                                                      chained(unit, VectorOp::kAdd, erf, 1))));
      const auto inner = [&](const VectorArithmetic& by) {
        const double cube = chained(by, VectorOp::kMul, chained(by, VectorOp::kMul, v, v), v);
        return chained(by, VectorOp::kAdd, chained(by, VectorOp::kMul, cube, 0.044715), v);
      };
      const double scaled =
          chained(unit, VectorOp::kMul, inner(unit), -2 * std::sqrt(2 / 3.141592653589793));
      const double under = chained(unit, VectorOp::kAdd, chained(unit, VectorOp::kExp, scaled), 1);
      EXPECT_EQ(approximate[i], round_to(x.format(), chained(unit, VectorOp::kDiv, v, under)));
      const VectorArithmetic ieee{&format_named("float32")};
      const double t =
          chained(ieee, VectorOp::kTanh,
                  chained(ieee, VectorOp::kMul, inner(ieee), std::sqrt(2 / 3.141592653589793)));
      EXPECT_EQ(simt[i], round_to(x.format(), chained(ieee, VectorOp::kMul,
                                                      chained(ieee, VectorOp::kMul, v, 0.5),
                                                      chained(ieee, VectorOp::kAdd, t, 1))));
    }
  }
}

// tanh as (e - 1) / (e + 1), with an exponential e, loses small arguments: the vendor's tanh of
// 2^-26 is 0.
TEST(FunctionTest, TanhThroughExpLosesSmallArguments) {
  const Case c = operation("tanh", {{"x", values("float32", {0x1p-26, 20, 8.8})}});
  EXPECT_EQ(on("ascend910b", c)[0], 0);
  EXPECT_EQ(on("hopper", c)[0], 0x1p-26);
  EXPECT_EQ(on("ascend910b", c)[1], on("ascend910b", c)[2]);  // held at 8.8
}

TEST(FunctionTest, ComputeDtypeWidensFirst) {
  const Tensor x = random_tensor("float16", {3000}, 5, 4);
  const auto xs = x.view().values();
  Case c = operation("sigmoid", {{"x", x}});
  const auto narrow = on("ascend910b", c);
  c.attributes["compute_dtype"] = "float32";
  const auto wide = on("ascend910b", c), golden = golden_result(c).view().values();
  int narrow_mismatches = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const double right = round_to(x.format(), golden[i]);
    EXPECT_EQ(wide[i], right);
    narrow_mismatches += narrow[i] != right ? 1 : 0;
  }
  EXPECT_GT(narrow_mismatches, 300);
}

TEST(FunctionTest, ThreadsShapesAndEmpties) {
  const Tensor x = random_tensor("bfloat16", {3, 5000}, 6);
  for (const char* op : kFunctionNames) {
    const Case c = operation(op, {{"x", x}});
    const Tensor one = emulate(c, machine_named("ascend910b"), 1);
    EXPECT_EQ(one.shape(), x.shape());
    EXPECT_EQ(one.view().values(), emulate(c, machine_named("ascend910b"), 4).view().values());
    EXPECT_TRUE(on("ampere", operation(op, {{"x", values("float16", {})}})).empty());
    EXPECT_TRUE(emulate(operation(op, {{"x", values("float32", {}, {1})}}), machine_named("volta"))
                    .shape()
                    .empty());
  }
}

TEST(FunctionTest, Errors) {
  const Tensor x = random_tensor("float16", {4}, 7);
  EXPECT_EQ(error_of([&] {
              golden_result(operation("exp", {{"x", values("int32", {1})}}));
            }),
            "case t: exp takes float operands; x is int32");
  EXPECT_EQ(error_of([&] {
              on("ascend910b", operation("gelu", {{"x", x}}, {{"approximate", "erf"}}));
            }),
            "case t: approximate is 'erf'; it may be none, tanh");
  EXPECT_EQ(error_of([&] {
              on("ascend910b", operation("exp", {{"x", x}}, {{"approximate", "none"}}));
            }),
            "case t: exp does not know the parameter 'approximate'; it knows fast_functions, "
            "compute_dtype, output_dtype, saturate, subnormals");
  EXPECT_EQ(error_of([&] {
              on("ascend910b", operation("exp", {{"x", x}}, {{"compute_dtype", "bfloat16"}}));
            }),
            "case t: compute_dtype is 'bfloat16'; float16 operands can be widened to float32 or "
            "float64");
  EXPECT_EQ(error_of([&] {
              on("ascend910b", operation("exp", {{"x", x}}, {{"compute_dtype", "float64"}}));
            }),
            "case t: the vector unit of ascend910b takes float16, bfloat16, float32, not float64");
}

// -- Tolerances -----------------------------------------------------------------------------------

TEST(FunctionTest, TolerancesAcceptTheMachines) {
  std::uint64_t stream = 100;
  for (const char* op : kFunctionNames) {
    for (const char* input : {"float16", "bfloat16", "float32", "float64"}) {
      for (const char* output : {"float16", "bfloat16", "float32", "float64"}) {
        for (const double scale : {1e-3, 1.0, 4.0, 20.0}) {
          Tensor x = random_tensor(input, {900}, stream++, scale);
          const bool root =
              op == std::string("log") || op == std::string("sqrt") || op == std::string("rsqrt");
          if (root) {
            auto list = x.view().values();
            for (double& v : list) v = std::abs(v) + 0x1p-20;
            x = Tensor::from_values(x.format(), x.shape(), list);
          }
          // Tests only finite results of exp, because the result of an overflow depends on the
          // machine.
          if (op == std::string("exp") && scale > 4) continue;
          for (const char* approximate : {"none", "tanh"}) {
            Case c = operation(op, {{"x", x}}, {{"output_dtype", std::string(output)}});
            if (op == std::string("gelu"))
              c.attributes["approximate"] = approximate;
            else if (approximate == std::string("tanh"))
              continue;
            for (const char* machine : {"ascend910b", "hopper", "cpu_mul_add"}) {
              if (machine == std::string("ascend910b") && input == std::string("float64")) continue;
              EXPECT_EQ(cases::outside_tolerance(c, machine), 0)
                  << op << " " << approximate << " " << input << " " << output << " " << scale
                  << " " << machine;
            }
          }
        }
      }
    }
  }
}

// The tolerance has the documented error of the named machine's functions, or the largest error of
// all machines if no machine is named.
TEST(FunctionTest, TolerancesAreTheMachines) {
  const auto rtol_on = [](const Case& c, const char* machine) {
    return derived_tolerance(c, machine == nullptr ? nullptr : &machine_named(machine)).rtol;
  };
  constexpr double kU = 0x1p-24, kHalf = 0x1p-11;
  const Case exp = operation("exp", {{"x", random_tensor("float32", {50}, 9)}});
  EXPECT_NEAR(rtol_on(exp, "hopper"), 5 * kU, 1e-12);      // 2 ulps
  EXPECT_NEAR(rtol_on(exp, "ascend910b"), 3 * kU, 1e-12);  // 1
  EXPECT_NEAR(rtol_on(exp, "cpu_fma"), 3 * kU, 1e-12);
  EXPECT_NEAR(rtol_on(exp, nullptr), 5 * kU, 1e-12);
  EXPECT_NEAR(rtol_on(exp, "hopper,kept_bits=24"), 5 * kU, 1e-12);
  // The machine `exact` has no vector unit, so that it counts as no machine.
  EXPECT_NEAR(rtol_on(exp, "exact"), 5 * kU, 1e-12);
  Case named = exp;
  named.attributes["machine"] = std::string("cpu_fma");
  EXPECT_NEAR(rtol_on(named, nullptr), 3 * kU, 1e-12);
  EXPECT_NEAR(rtol_on(named, "hopper"), 5 * kU, 1e-12);
  const Case root = operation("sqrt", {{"x", values("float32", {2})}});
  EXPECT_NEAR(rtol_on(root, "hopper"), kU, 1e-12);
  const Case half = operation("exp", {{"x", random_tensor("float16", {50}, 10)}});
  EXPECT_NEAR(rtol_on(half, "hopper"), kHalf + 5 * kU, 1e-9);  // through float32
  EXPECT_NEAR(rtol_on(half, "ascend910b"), 3 * kHalf, 1e-5);   // 1 ulp of float16
  EXPECT_NEAR(rtol_on(half, nullptr), 3 * kHalf, 1e-5);
  EXPECT_EQ(error_of([&] {
              rtol_on(operation("exp", {{"x", values("float64", {1})}}), "ascend910b");
            }),
            "the vector unit of ascend910b takes float16, bfloat16, float32, not float64");
  // If exp(-x) overflows, silu in IEEE arithmetic is 0 and not a part of x.
  const Case silu = operation("silu", {{"x", values("float32", {-1e30, 1})}});
  EXPECT_LT(derived_tolerance(silu, &machine_named("hopper")).atol, 1e-36);
  EXPECT_GT(derived_tolerance(silu, &machine_named("ascend910b")).atol, 1e-9);
}

TEST(FunctionTest, TolerancesOfFastFunctions) {
  Case c = operation("exp", {{"x", values("float32", {-20.5, 3})}},
                     {{"fast_functions", std::int64_t{1}}});
  const DerivedTolerance t = derived_tolerance(c, &machine_named("hopper"));
  // At |x| = 20.5, the error is 2 + floor(1.173 * 20.5) = 26 ulps of the correctly rounded result.
  EXPECT_NEAR(t.rtol, 53 * 0x1p-24, 1e-9);
  EXPECT_EQ(t.why,
            "rtol, atol: exp in float32 within 2 + floor(1.173 |x|) ulps (cuda_fast); without "
            "overflow");
  EXPECT_NEAR(derived_tolerance(c).rtol, t.rtol, 0);
  // For the other machines, no faster functions are known, so that the usual error holds.
  EXPECT_NEAR(derived_tolerance(c, &machine_named("ascend910b")).rtol, 3 * 0x1p-24, 1e-12);
  c.op = "log";
  EXPECT_GE(derived_tolerance(c, &machine_named("hopper")).atol, std::exp2(-21.41));
  // CUDA has no faster rsqrt.
  c.op = "rsqrt";
  EXPECT_NEAR(derived_tolerance(c, &machine_named("hopper")).rtol, 5 * 0x1p-24, 1e-12);
}

// The tolerance must reject sigmoid in float16 by a table of 8 bits.
TEST(FunctionTest, TolerancesRejectACoarseTable) {
  const Case c = operation("sigmoid", {{"x", random_tensor("float16", {500}, 8)}});
  const DerivedTolerance t = derived_tolerance(c);
  EXPECT_NEAR(t.rtol, 5 * 0x1p-11, 0x1p-14);
  int mismatches = 0;
  for (const double y : golden_result(c).view().values()) {
    const double coarse = std::round(y * 256) / 256;
    mismatches += std::abs(coarse - y) <= t.atol + t.rtol * y ? 0 : 1;
  }
  EXPECT_GT(mismatches, 100);
  EXPECT_EQ(t.why,
            "rtol, atol: exp in float16 within 1 ulp (cann), a sum and a quotient, each rounded; "
            "without overflow");
  Case inf = operation("gelu", {{"x", values("float32", {-kInfinity})}});
  EXPECT_EQ(error_of([&] { derived_tolerance(inf); }),
            "case t: no tolerance can be derived: its inputs hold -infinity");
}

}  // namespace
}  // namespace assay
