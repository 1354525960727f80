#include "swiglu.h"

#include <assay/error.h>
#include <assay/operator.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

using assay::Case, assay::Format, assay::Tensor;

namespace team {
namespace {

void check_inputs(const Case& c) {
  const Tensor &x = c.input("x"), &gate = c.input("gate");
  if (x.shape() == gate.shape() && &x.format() == &gate.format()) return;
  throw assay::CaseError(c.name, "swiglu takes x and gate of one shape and one dtype");
}

// Makes a case of one of assay's operators, which is one step of ours. It has the name of the whole
// case, so that errors name that.
Case step(const Case& c, const char* op, std::map<std::string, Tensor> inputs,
          const Format& output) {
  Case part;
  part.name = c.name;
  part.op = op;
  part.inputs = std::move(inputs);
  part.attributes["output_dtype"] = std::string(output.name);
  return part;
}

// Makes the step silu(x). x is widened to float32, and the result is float32.
Case silu_step(const Case& c) {
  Case silu = step(c, "silu", {{"x", c.input("x")}}, assay::format_named("float32"));
  silu.attributes["compute_dtype"] = "float32";
  return silu;
}

// Emulates the kernel on a machine, in the kernel's order. Everything is computed in float32, and
// the product is rounded to the output's dtype.
Tensor run(const assay::Call& call) {
  const Case& c = call.test_case;
  check_inputs(c);
  const auto on_machine = [&](const Case& part) {
    return assay::emulate(part, call.machine, call.threads);
  };
  Tensor silu = on_machine(silu_step(c));
  Tensor gate = on_machine(step(c, "cast", {{"x", c.input("gate")}}, silu.format()));
  return on_machine(step(c, "mul", {{"a", std::move(silu)}, {"b", std::move(gate)}}, call.output));
}

// Computes the golden result: the definition in float64, without the steps above.
Tensor reference(const assay::ReferenceCall& call) {
  const Case& c = call.test_case;
  check_inputs(c);
  const std::vector<double> x = c.input("x").view().values(),
                            gate = c.input("gate").view().values();
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[i] / (1 + std::exp(-x[i])) * gate[i];
  return Tensor::from_values(call.output, c.input("x").shape(), y);
}

// Returns the bound for the difference between the kernel and the exact result. Let s = silu(x),
// and r and a be the relative and absolute errors of its steps in float32. The product is rounded
// to float32 (unit roundoff u) and to the output's dtype (unit roundoff v), which gives s gate (1 +
// r) (1 + u) (1 + v). The absolute error of s adds at most a |gate|.
assay::DerivedTolerance tolerance(const Case& c) {
  check_inputs(c);
  const Format &float32 = assay::format_named("float32"), &output = output_format(c);
  const assay::DerivedTolerance silu = assay::derived_tolerance(silu_step(c));
  const double roundings = (1 + assay::unit_roundoff(float32)) * (1 + assay::unit_roundoff(output));
  double largest = 0;
  for (const double g : c.input("gate").view().values()) {
    if (!std::isfinite(g)) throw assay::CaseError(c.name, "gate is not finite");
    largest = std::max(largest, std::abs(g));
  }
  // If the result is below the normal numbers, rounding may add an error of half the smallest
  // subnormal.
  const double tiny = (assay::min_subnormal(float32) + assay::min_subnormal(output)) / 2;
  return {(1 + silu.rtol) * roundings - 1, (silu.atol * largest + tiny) * roundings,
          "rtol: silu and the product in float32, and the output's rounding; atol: subnormal "
          "numbers; without overflow"};
}

}  // namespace

void register_swiglu() {
  assay::register_operator(
      {.name = "swiglu",
       .summary = "silu(x) gate",
       .inputs = {{.name = "x", .shape = "(...)"}, {.name = "gate", .shape = "(...)"}},
       .parameters = {{.name = "output_dtype",
                       .kind = assay::ParameterKind::kDtype,
                       .words = "of the result; that of x if not given"}},
       .run = run,
       .reference = reference,
       .tolerance = tolerance,
       // Makes `assay generate swiglu --shape 64,256` work. The sizes are the dimensions of x and
       // gate.
       .generate = assay::generate_vector});
}

}  // namespace team
