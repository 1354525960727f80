// One NaN or infinity in an operand changes the bound of only the elements that it reaches. The
// results that machines compute of such operands pass by the operator's own bound. A wrong element
// that nothing reaches fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/gate/gate.h"
#include "assay/matchers/elementwise.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "assay/op/sum_bound.h"
#include "assay/report.h"
#include "generated_operators.h"

namespace assay {
namespace {

using testing::Not;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

Tensor with_value(const Tensor& tensor, std::size_t at, double value) {
  std::vector<double> values = tensor.view().values();
  values[at % values.size()] = value;
  return Tensor::from_values(tensor.format(), tensor.shape(), values);
}

Case small_case(const Operator& op, const char* dtype) {
  Recipe recipe{&format_named(dtype), {4, 48, 5}};
  if (op.name == "dot") recipe.sizes = {6, 48};
  if (op.name == "attention") recipe.sizes = {6, 40, 8};
  if (op.name == "cast") recipe.attributes["output_dtype"] = std::string("bfloat16");
  if (op.name == "quantize") recipe.attributes["output_dtype"] = std::string("float8_e4m3fn");
  if (op.name == "deform_roi_pool") {
    recipe.sizes = {2, 3, 9, 8, 4};
    recipe.attributes["pooled_height"] = std::int64_t{2};
    recipe.attributes["pooled_width"] = std::int64_t{3};
  }
  return generate_case(op.name, recipe);
}

bool holds_nan(const Tensor& t) {
  const std::vector<double> values = t.view().values();
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
}

// True if units treat a special value in a way that no bound covers:
// - Saturating units make 0 of NaN.
// - silu and gelu of -infinity are NaN if they are computed in steps, but exactly 0 in theory.
// - scaled_matmul multiplies a sum by an infinite scale, but the exact result has a sum of
//   infinities. Its bfloat16 codes fill float32's whole range, so that their sums overflow.
bool no_tolerance_can_say(const Case& c, const std::string& input, double value, const Verdict& v) {
  if (v.bound.origin != "operator" && holds_nan(*c.output().golden)) return true;
  if (c.op == "silu" || c.op == "gelu") return value == -kInf;
  if (c.op != "scaled_matmul") return false;
  const bool is_scale = input == "scale_a" || input == "scale_b";
  return (is_scale && std::isinf(value)) || c.input("a").format().name == "bfloat16";
}

class SpecialOperands : public testing::TestWithParam<std::string> {};

TEST_P(SpecialOperands, FailNoRightResult) {
  const Operator& op = *find_operator(GetParam());
  int judged = 0, own = 0;
  for (const char* dtype : {"float16", "bfloat16", "float32", "float64", "float8_e4m3fn"}) {
    Case plain;
    try {
      plain = small_case(op, dtype);
    } catch (const std::invalid_argument&) {
      // The operator does not take the dtype.
      continue;
    }
    for (const auto& [name, tensor] : plain.inputs) {
      if (!tensor.format().is_float()) continue;
      for (const double value : {kNotANumber, kInf, -kInf}) {
        Case c = plain;
        c.inputs[name] = with_value(tensor, 7, value);
        const double kept =
            c.input(name).view().values()[7 % static_cast<std::size_t>(tensor.size())];
        // The format does not hold the special value.
        if (std::isfinite(kept)) continue;
        try {
          c.output().golden = golden_result(c);
        } catch (const std::invalid_argument&) {
          continue;
        }
        for (const Machine& machine : machines()) {
          Tensor output;
          try {
            output = emulate(c, machine);
          } catch (const std::invalid_argument&) {
            // The machine has no unit for this case.
            continue;
          }
          const Verdict v =
              gate_case(c, output, {}, {std::string(machine.name), {}}).verdicts.front();
          if (no_tolerance_can_say(c, name, value, v)) continue;
          ++judged;
          own += v.bound.origin == "operator" ? 1 : 0;
          EXPECT_NE(v.outcome, Outcome::kFail)
              << op.name << " " << dtype << " " << name << " = " << value << " on " << machine.name
              << ": " << explain(v);
        }
      }
    }
  }
  // deform_roi_pool does not accept NaN or infinity, so that too few results are judged.
  if (op.name != "deform_roi_pool") {
    EXPECT_GT(own, 9 * judged / 10) << own << " of " << judged;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, SpecialOperands, testing::ValuesIn(generated_operators()),
                         [](const auto& test) { return test.param; });

// A wrong element fails even if it lies beside elements that a NaN reaches.
TEST(SpecialOperand, KeepsTheBoundsOfOtherElements) {
  for (const char* name :
       {"matmul", "dot", "reduce_sum", "softmax", "layernorm", "rmsnorm", "attention"}) {
    const Operator& op = *find_operator(name);
    Case plain = small_case(op, "float32");
    const std::string first = op.inputs.front().name;
    if (find_parameter(op, "axis") != nullptr) plain.attributes["axis"] = std::int64_t{1};
    Case c = plain;
    c.inputs[first] = with_value(plain.input(first), 0, kNotANumber);
    c.output().golden = golden_result(c);
    Tensor output = emulate(c, machine_named("cpu_fma"));
    EXPECT_THAT(output, CloseTo(c).producer("cpu_fma")) << name;
    const std::vector<double>
        bounds = accumulation_bounds(c, machine_named("cpu_fma")).view().values(),
        before = accumulation_bounds(plain, machine_named("cpu_fma")).view().values(),
        golden = c.output().golden->view().values();
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      if (std::isnan(golden[i]))
        EXPECT_EQ(bounds[i], 0) << name << " " << i;
      else
        EXPECT_EQ(bounds[i], before[i]) << name << " " << i;
    }
    const std::int64_t last = output.size() - 1;
    const double value = output.view().value_at(last);
    output.set_bits(last, encode(output.format(), value * 1.01 + 0.01));
    EXPECT_THAT(output, Not(CloseTo(c).producer("cpu_fma"))) << name;
  }
}

// One NaN of an 8-bit float product leaves one row undefined.
TEST(SpecialOperand, OfFloat8) {
  Case c = generate_case("matmul", {&format_named("float8_e4m3fn"), {16, 128, 16}});
  c.inputs["a"] = with_value(c.input("a"), 130, kNotANumber);
  c.output().golden = golden_result(c);
  for (const char* machine : {"hopper", "ada"}) {
    const Tensor output = emulate(c, machine_named(machine));
    const Verdict v = gate_case(c, output, {}, {machine, {}}).verdicts.front();
    EXPECT_EQ(v.bound.origin, "operator");
    EXPECT_EQ(v.outcome, Outcome::kPass) << explain(v);
  }
}

// Tests masks of -infinity, and masks of the most negative number.
TEST(SpecialOperand, MasksOfSoftmax) {
  for (const double mask : {-kInf, -3.4028234663852886e38, -1e9}) {
    Case c = generate_case("softmax", {&format_named("float32"), {6, 40}});
    std::vector<double> x = c.input("x").view().values();
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i % 40 > i / 40 * 7) x[i] = mask;
    }
    c.inputs["x"] = Tensor::from_values(format_named("float32"), {6, 40}, x);
    c.output().golden = golden_result(c);
    for (const char* machine : {"cpu_fma", "hopper", "ascend910b"}) {
      Tensor output = emulate(c, machine_named(machine));
      const Verdict v = gate_case(c, output, {}, {machine, {}}).verdicts.front();
      EXPECT_EQ(v.bound.origin, "operator") << mask << machine;
      EXPECT_EQ(v.outcome, Outcome::kPass) << explain(v);
      output.set_bits(40, encode(output.format(), output.view().value_at(40) * 1.0001));
      EXPECT_THAT(output, Not(CloseTo(c).producer(machine)));
    }
  }
}

// A key that a causal query does not see has no influence, whatever it holds.
TEST(SpecialOperand, AtAKeyThatNoQuerySeesBefore) {
  for (const char* dtype : {"float16", "float32"}) {
    for (const std::int64_t tile : {0, 8}) {
      for (const double value : {kNotANumber, kInf, -kInf}) {
        for (const char* name : {"k", "v"}) {
          Case plain = generate_case("attention", {&format_named(dtype), {2, 24, 24, 8}});
          plain.attributes["causal"] = std::int64_t{1};
          plain.attributes["tile"] = tile;
          Case c = plain;
          // Key 20 of the first matrix: queries 0 to 19 do not see it.
          c.inputs[name] = with_value(plain.input(name), 20 * 8 + 3, value);
          c.output().golden = golden_result(c);
          for (const Machine& machine : machines()) {
            Tensor output, before;
            try {
              output = emulate(c, machine);
              before = emulate(plain, machine);
            } catch (const std::invalid_argument&) {
              continue;
            }
            for (std::int64_t i = 0; i < 20 * 8; ++i) {
              ASSERT_EQ(output.bits_at(i), before.bits_at(i)) << machine.name << " " << i;
            }
            const Verdict v =
                gate_case(c, output, {}, {std::string(machine.name), {}}).verdicts.front();
            if (no_tolerance_can_say(c, name, value, v)) continue;
            EXPECT_NE(v.outcome, Outcome::kFail)
                << machine.name << " " << dtype << " " << name << " " << value << explain(v);
          }
        }
      }
    }
  }
}

// Sums and products beyond the range of float16 give the largest number or infinity.
TEST(SpecialOperand, OverflowsOfFloat16) {
  const auto half = [](const Shape& shape, double value) {
    return Tensor::from_values(
        format_named("float16"), shape,
        std::vector<double>(static_cast<std::size_t>(element_count(shape)), value));
  };
  std::vector<Case> cases(4);
  cases[0].op = "fma";
  for (const char* name : {"a", "b", "c"}) cases[0].inputs[name] = half({3}, 300);
  cases[1].op = "dot";
  for (const char* name : {"a", "b"}) cases[1].inputs[name] = half({3, 16}, 100);
  cases[1].inputs["c"] = half({3}, 1);
  cases[2].op = "reduce_sum";
  cases[2].inputs["x"] = half({3, 64}, 4000);
  cases[2].attributes["axis"] = std::int64_t{1};
  cases[3].op = "mul";
  for (const char* name : {"a", "b"}) cases[3].inputs[name] = half({3}, 300);
  for (Case& c : cases) {
    c.name = c.op;
    // The elements of the first third are 1, so that their results stay in the range.
    const std::string first = c.inputs.count("x") != 0 ? "x" : "a";
    std::vector<double> values = c.input(first).view().values();
    const std::size_t row = values.size() / 3;
    for (std::size_t i = 0; i < row; ++i) values[i] = 1;
    c.inputs[first] = Tensor::from_values(format_named("float16"), c.input(first).shape(), values);
    c.output().golden = golden_result(c);
    for (const char* machine : {"ascend910b", "cpu_fma", "hopper"}) {
      Tensor output = emulate(c, machine_named(machine));
      const Verdict v = gate_case(c, output, {}, {machine, {}}).verdicts.front();
      EXPECT_EQ(v.bound.origin, "operator") << c.op << " " << machine;
      EXPECT_EQ(v.outcome, Outcome::kPass) << c.op << " " << machine << explain(v);
      for (const std::int64_t i : {0, 2}) {
        Tensor wrong = output;
        wrong.set_bits(i, encode(wrong.format(), std::min(output.view().value_at(i), 65504.0) / 2));
        EXPECT_THAT(wrong, Not(CloseTo(c).producer(machine))) << c.op << " " << machine << i;
      }
    }
  }
}

}  // namespace
}  // namespace assay
