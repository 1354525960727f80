// Compares the theory of right results' errors with recorded numbers: sums of bounds and weights,
// limits, and the texts about wrong arithmetic, for operators and machines. Other tests derive the
// numbers of single elements (square_moments_test.cc, error_squares_test.cc). A failure says how to
// record the lines again.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/gate/bound_width.h"
#include "assay/gate/gate.h"
#include "assay/gate/likely_arithmetic.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "assay/op/sum_bound.h"
#include "recorded.h"

namespace assay {
namespace {

// The number of recorded digits. It is small, because logarithms and erfc come from the host's
// library.
constexpr int kKept = 7;

std::string line_of(const ExpectedErrors& errors, const Tensor& golden, const Format& output) {
  const ErrorTest test = error_test(errors, golden, output);
  const std::vector<double> bounds = test.bounds->view().values(),
                            weights = test.weights->view().values();
  double sum_bounds = 0, sum_weights = 0, turned = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    sum_bounds += bounds[i];
    sum_weights += weights[i];
    turned += static_cast<double>(i % 7) * (bounds[i] + weights[i]);
  }
  const auto number = [](double value) { return formatted("{:.{}g}", value, kKept); };
  std::string line = formatted("bounds {} weights {} both {}", number(sum_bounds),
                               number(sum_weights), number(turned));
  if (test.squares) {
    line += formatted(" limit {} least {}", number(test.squares->limit),
                      number(test.squares->parameter));
  }
  return line + formatted(" rms {}", number(expected_rms(errors, golden, output)));
}

struct Drawing {
  const char *op, *dtype;
  std::vector<std::int64_t> sizes;
  std::map<std::string, Attribute> attributes = {};
};

Case case_of(const Drawing& what, const char* distribution = "normal", std::uint64_t seed = 0) {
  Recipe recipe{&format_named(what.dtype), what.sizes, what.attributes};
  recipe.distribution = parse_distribution(distribution);
  recipe.seed = seed;
  Case c = generate_case(what.op, recipe);
  c.output().golden = golden_result(c);
  return c;
}

const std::vector<Drawing>& drawings() {
  static const std::vector<Drawing> all = {
      {"matmul", "float16", {5, 70, 6}},
      {"matmul", "bfloat16", {5, 70, 6}, {{"output_dtype", std::string("float32")}}},
      {"matmul", "float32", {20, 70, 18}},
      {"matmul", "float32", {2, 3, 70, 3}},
      {"dot", "float32", {9, 48}},
      {"add", "float32", {60}},
      {"mul", "float16", {60}},
      {"fma", "float32", {60}},
      {"reduce_sum", "float32", {6, 70}, {{"axis", std::int64_t{1}}}},
      {"reduce_mean", "float16", {6, 70}, {{"axis", std::int64_t{0}}}},
      {"softmax", "float32", {4, 30}},
      {"layernorm", "float32", {4, 30}},
      {"rmsnorm", "float32", {4, 30}}};
  return all;
}

TEST(RecordedErrors, OfOperatorsAndMachines) {
  std::vector<std::string> recorded;
  for (const Drawing& what : drawings()) {
    const Case c = case_of(what);
    for (const char* name : {"", "cpu_fma", "hopper", "ascend910b"}) {
      const Machine& machine = *name == 0 ? any_machine() : machine_named(name);
      std::string line;
      try {
        line = line_of(expected_errors(c, machine), *c.output().golden, output_format(c));
      } catch (const std::invalid_argument& e) {
        line = e.what();
      }
      recorded.push_back(formatted("{} by {}: {}", c.name, *name == 0 ? "any" : name, line));
    }
  }
  expect_recorded("gate/recorded/operators.txt", recorded);
}

// Records the texts about outputs of less precision: inputs that were rounded first, and noise of
// many sizes.
TEST(RecordedErrors, OfLikelyArithmetic) {
  std::vector<std::string> recorded;
  const Machine& machine = machine_named("ascend910b");
  for (const char* dtype : {"float32", "float16", "float8_e4m3fn"}) {
    const bool fp8 = std::string(dtype) == "float8_e4m3fn";
    const Machine& unit = fp8 ? machine_named("hopper") : machine;
    const Case c =
        case_of({"matmul", dtype, {10, 128, 10}, {{"output_dtype", std::string("float32")}}});
    const ExpectedErrors errors = expected_errors(c, unit);
    const ErrorTest test = error_test(errors, *c.output().golden, output_format(c));
    const double rms = expected_rms(errors, *c.output().golden, output_format(c));
    const std::vector<double> exact = c.output().golden->view().values();
    for (int i = 0; i < 30; ++i) {
      // Adds noise whose root mean square doubles in two steps.
      std::vector<double> values = exact;
      std::uint64_t state = 17;
      for (std::size_t at = 0; at < values.size(); ++at) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double u = static_cast<double>(state >> 11) * 0x1p-52 - 1;
        values[at] += u * rms * std::ldexp(i % 2 == 0 ? 1 : 1.5, i / 2);
      }
      const Tensor output =
          Tensor::from_values(output_format(c), c.output().golden->shape(), values);
      recorded.push_back(
          formatted("{} noise {}: {}", dtype, i,
                    likely_arithmetic(c, unit, output, *c.output().golden, test, 1)));
    }
    for (const char* narrow : {"tfloat32", "hfloat32", "float16", "bfloat16", "float8_e4m3fn",
                               "float8_e5m2", "float4_e2m1fn"}) {
      for (const double part : {1.0, 0.7, 0.5, 0.4}) {
        Case other = c;
        for (auto& [name, input] : other.inputs) {
          std::vector<double> values = input.view().values();
          for (double& v : values) v = round_to(format_named(narrow), v);
          input = Tensor::from_values(input.format(), input.shape(), values);
        }
        std::vector<double> values = golden_result(other).view().values();
        for (std::size_t at = 0; at < values.size(); ++at) {
          values[at] = exact[at] + part * (values[at] - exact[at]);
        }
        const Tensor output =
            Tensor::from_values(output_format(c), c.output().golden->shape(), values);
        recorded.push_back(
            formatted("{} inputs in {} by {}: {}", dtype, narrow, part,
                      likely_arithmetic(c, unit, output, *c.output().golden, test, 1)));
      }
    }
  }
  expect_recorded("gate/recorded/likely.txt", recorded);
}

TEST(RecordedErrors, TimesTheExpectedOne) {
  std::vector<std::string> recorded;
  for (const Drawing& what : drawings()) {
    Case c = case_of(what);
    for (const char* name : {"cpu_fma", "hopper", "ascend910b"}) {
      const auto times = times_expected(c, machine_named(name), [](std::int64_t i, double exact) {
        return i % 5 == 4 ? HUGE_VAL
                          : 1e-5 * static_cast<double>(1 + i % 11) + 1e-4 * std::abs(exact);
      });
      recorded.push_back(formatted("{} by {}: {}", c.name, name,
                                   with_digits(formatted("{}", times.value_or(-1)), kKept)));
      c.attributes["machine"] = std::string(name);
      try {
        recorded.push_back(explained_tolerance(c).why);
      } catch (const std::invalid_argument& e) {
        recorded.emplace_back(e.what());
      }
    }
  }
  for (const double times : {0.0123, 1.0, 9.94, 9.96, 10.0, 99.4, 99.6, 100.0, 104.9, 105.1, 3149.0,
                             3151.0, 9.949e14, 9.96e14, 1e15, 1.26e15, 3e20}) {
    recorded.push_back(formatted("{}: {}", times, times_text(times)));
  }
  expect_recorded("gate/recorded/times.txt", recorded);
}

}  // namespace
}  // namespace assay
