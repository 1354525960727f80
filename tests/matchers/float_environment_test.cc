// The floating-point environment of the calling program must not change assay's results. Every
// function that users call gives the same words and bits if the caller rounds upward and flushes
// subnormal numbers to zero.
#include "assay/base/float_environment.h"

#include <assay/matchers.h>
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/text.h"
#include "assay/campaign/rate_statistics.h"
#include "assay/fault/fault.h"
#include "assay/fault/mutation.h"
#include "assay/format/convert.h"
#include "assay/judge/pieces.h"
#include "assay/machine/dot.h"
#include "assay/machine/exact_matmul.h"
#include "assay/machine/vector.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "assay/report.h"
#include "hostile_environment.h"
#include "matchers/texts.h"

namespace assay {
namespace {

std::string bits_text(std::span<const double> values) {
  std::string text;
  for (const double v : values) text += formatted("{:x} ", std::bit_cast<std::uint64_t>(v));
  return text;
}
std::string bits_text(const Tensor& t) {
  std::string text;
  for (std::int64_t i = 0; i < t.size(); ++i) text += formatted("{:x} ", t.bits_at(i));
  return text;
}
std::string bits_text(const Case& c) {
  std::string text;
  for (const auto& [name, input] : c.inputs) text += name + ": " + bits_text(input);
  return text;
}

// float32's smallest subnormal and smallest normal number. Results near them show whether subnormal
// numbers are flushed.
constexpr double kTiny32 = 0x1p-149, kNormal32 = 0x1p-126;
Tensor scaled_tensor(std::string_view dtype, Shape shape, double scale, std::uint64_t stream = 1) {
  const Tensor drawn =
      draw(parse_distribution("normal"), format_named("float64"), shape, 7, stream);
  std::vector<double> values = drawn.view().values();
  for (double& v : values) v *= scale;
  return Tensor::from_values(format_named(dtype), std::move(shape), values);
}

Case product(std::string_view dtype, double scale) {
  Case c;
  c.name = "product";
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string(dtype);
  c.inputs["a"] = scaled_tensor(dtype, {5, 33}, scale, 1);
  c.inputs["b"] = scaled_tensor(dtype, {33, 20}, scale, 2);
  return c;
}

struct Door {
  std::string name;
  std::function<std::string()> enter;
};

std::vector<Door> doors() {
  const auto sub = [](std::vector<double> golden, std::vector<double> out, const Bound& bound) {
    const Tensor a =
        Tensor::from_values(format_named("float32"), {static_cast<std::int64_t>(out.size())}, out);
    return [=] {
      return verdict_json(
          judge(a, view(golden), bound, {.metrics = true, .worst = 5, .threads = 2}));
    };
  };
  std::vector<Door> all;
  for (const Rule rule : {Rule::kTolerance, Rule::kUlps, Rule::kLargest, Rule::kSymmetric}) {
    Bound bound;
    bound.rule = rule;
    bound.rtol = 0x1p-10;
    bound.atol = rule == Rule::kTolerance ? 2 * kTiny32 : 0;
    bound.ulps = 2;
    all.push_back(
        {formatted("judge by rule {}", static_cast<int>(rule)),
         sub({0, kTiny32, kNormal32, 3 * kTiny32, 1, NAN, INFINITY, -INFINITY},
             {kTiny32, 4 * kTiny32, kNormal32 - kTiny32, 0, 1.001, 1, INFINITY, NAN}, bound)});
  }
  for (const char* standard : {"torch", "cann_l1", "ulp(3)", "bit_equal", "deepgemm"}) {
    all.push_back({std::string("CloseTo by ") + standard, [=] {
                     const std::vector<float> golden = {0, 0x1p-140F, 1, kNaN, kInf, 0x1p-149F};
                     const std::vector<float> out = {0x1p-149F, 0x1p-139F, 1.0001F, kNaN, kInf, 0};
                     return explanation(out, CloseTo(golden).standard(standard));
                   }});
  }
  for (const char* metric : {"snr_db", "cosine", "relative_l2"}) {
    all.push_back({metric, [=] {
                     const std::vector<double> golden = {0x1p-1070, 0x3p-1070, 0x7p-1070};
                     const std::vector<double> out = {0x1p-1070, 0x3p-1070, 0x9p-1070};
                     return explanation(out, MetricMatcher(golden, metric, 0.5));
                   }});
  }
  for (const char* dtype : {"float32", "float16", "bfloat16"}) {
    // For float16, the products are normal in float32, and the results are subnormal in float16.
    // For float32 and bfloat16, the products are already subnormal.
    const double scale = std::string_view(dtype) == "float16" ? 0x1p-12 : 0x1p-66;
    const Case c = product(dtype, scale);
    const std::string name = std::string(" in ") + dtype;
    all.push_back(
        {"emulate" + name, [=] { return bits_text(emulate(c, machine_named("ascend910b"), 2)); }});
    all.push_back({"emulate on hopper" + name, [=] {
                     return std::string_view(dtype) == "float32"
                                ? std::string()
                                : bits_text(emulate(c, machine_named("hopper"), 2));
                   }});
    all.push_back({"golden_result" + name, [=] { return bits_text(golden_result(c, 2)); }});
    all.push_back({"derived_tolerance" + name, [=] {
                     const DerivedTolerance t = derived_tolerance(c);
                     return t.why + bits_text(std::vector<double>{t.rtol, t.atol});
                   }});
    const Tensor out = emulate(c, machine_named("ascend910b"));
    for (const char* threshold : {"rounding_variance", "v_abft", "a_abft"}) {
      all.push_back({std::string("AbftClose by ") + threshold + name, [=] {
                       return explanation(
                           out, AbftClose(c.inputs.at("a"), c.inputs.at("b")).threshold(threshold));
                     }});
      all.push_back(
          {std::string("AbftChecker by ") + threshold + name, [=] {
             AbftOptions options;
             options.spec = parse_threshold(threshold);
             const auto checker =
                 AbftChecker::of_product(c.inputs.at("a").view(), c.inputs.at("b").view(), options);
             std::vector<abft::Reading> row(static_cast<std::size_t>(checker.groups_per_row()));
             checker.read_row(1, out.bytes() + 20 * out.format().storage_bytes, out.format(),
                              row.data());
             std::string text;
             for (const abft::Reading& r : row) {
               text += bits_text(std::vector<double>{r.difference, r.threshold});
             }
             return text + bits_text(std::vector<double>{
                               checker.check(out).worst_ratio,
                               checker.element_bound(1, 2, 0, out.format()).bound});
           }});
    }
    all.push_back({"array conversions" + name, [=] {
                     const Tensor& a = c.inputs.at("a");
                     const auto n = static_cast<std::size_t>(a.size());
                     std::vector<double> wide(n);
                     decode_array(a.format(), a.bytes(), n, wide.data());
                     for (std::size_t i = 0; i < n; ++i) wide[i] = i % 2 == 0 ? wide[i] : 1.0 / 3;
                     Tensor back(a.format(), a.shape());
                     encode_array(a.format(), wide.data(), n, back.bytes());
                     round_array(a.format(), wide.data(), n);
                     return bits_text(back) + bits_text(wide) + bits_text(a.view().values());
                   }});
    all.push_back({"inject and mutate" + name, [=] {
                     Tensor broken = copy_of(out.view());
                     inject(broken, parse_fault("add,value=1e-40"), 3);
                     std::string text = bits_text(broken);
                     for (const Mutation& m : mutations()) {
                       const auto mutated = mutate(m, c, out);
                       if (mutated) text += bits_text(*mutated);
                     }
                     return text;
                   }});
  }
  for (const char* op : {"softmax", "exp", "gelu", "layernorm", "reduce_sum"}) {
    for (const char* dtype : {"float32", "float16"}) {
      all.push_back({formatted("a case of {} in {}", op, dtype), [=] {
                       Recipe recipe{&format_named(dtype), {4, 40}};
                       recipe.distribution = parse_distribution("normal,mean=0.1,deviation=1e-5");
                       const Case c = generate_case(op, recipe);
                       return bits_text(c) + bits_text(golden_result(c)) +
                              bits_text(emulate(c, machine_named("ascend910b")));
                     }});
    }
  }
  all.push_back({"texts of numbers", [] {
                   const auto bound = standard_bound("torch", format_named("bfloat16"));
                   return parse_distribution("normal,deviation=0.1").text() +
                          parse_threshold("rounding_variance,kappa=7.3").text() +
                          parse_fault("add,value=0.1").text() + bound->text() +
                          bits_text(std::vector<double>{
                              parse_distribution("normal,deviation=0.1").get("deviation"),
                              parse_fault("add,value=0.1").change.value});
                 }});
  all.push_back({"statistics", [] {
                   const campaign::Interval w = campaign::wilson({3, 1000}, 0.95);
                   return bits_text(std::vector<double>{w.low, w.high,
                                                        campaign::lower_bound({3, 1000}, 0.9),
                                                        campaign::upper_bound({3, 1000}, 0.9)});
                 }});
  all.push_back({"dot and vector engines", [] {
                   const std::vector<double> x(64, 0x1p-75), y(64, 0x1.1p-70);
                   std::vector<float> c(1);
                   const Machine& m = machine_named("cpu_fma");
                   const DotModel& model = dot_model(m, format_named("float32"));
                   dot_matmul(model, 1, 1, 64, x.data(), y.data(), c.data());
                   std::vector<double> exact(1), sum(64);
                   exact_matmul(1, 1, 64, x.data(), y.data(), exact.data());
                   VectorArithmetic unit{&format_named("float64")};
                   const std::vector<double> tiny(64, 0x3p-1073);
                   vector_apply(unit, VectorOp::kAdd, 64, tiny.data(), tiny.data(), tiny.data(),
                                sum.data());
                   return formatted("{:x} ", std::bit_cast<std::uint32_t>(c[0])) +
                          bits_text(exact) + bits_text(sum);
                 }});
  all.push_back({"judging in pieces", [] {
                   Bound bound;
                   bound.atol = 0x1p-149;
                   const std::vector<float> out = {0x1p-149F, 0x3p-149F};
                   const std::vector<double> golden = {0, 0};
                   PiecewiseJudge judge(format_named("float32"), {2}, bound);
                   judge.add(view(out), view(golden));
                   return verdict_json(judge.result());
                 }});
  return all;
}

TEST(FloatEnvironment, OfTheCallerChangesNothing) {
  for (const Door& door : doors()) {
    SCOPED_TRACE(door.name);
    const std::string expected = door.enter();
    std::string seen;
    int rounding = -1;
    volatile double smallest = 0x1p-1022, half = 0.5;
    double halved = -1;
    {
      const HostileEnvironment hostile;
      seen = door.enter();
      rounding = std::fegetround();
      halved = smallest * half;
    }
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(rounding, FE_UPWARD) << "the caller's environment is not given back";
    if (HostileEnvironment::flushes()) {
      EXPECT_EQ(halved, 0) << "nor its flushing to zero";
    }
  }
}

// Deterministic runs the team's own kernel, which computes as it does in the team's program.
TEST(FloatEnvironment, OfATeamsKernelIsItsPrograms) {
  const HostileEnvironment hostile;
  std::vector<int> roundings;
  EXPECT_THAT(
      [&] {
        roundings.push_back(std::fegetround());
        return std::vector<float>{1};
      },
      Deterministic(2));
  EXPECT_EQ(roundings, (std::vector<int>{FE_UPWARD, FE_UPWARD}));
}

}  // namespace
}  // namespace assay
