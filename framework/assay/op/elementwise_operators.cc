#include "assay/op/elementwise_operators.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/machine/exact_sum.h"
#include "assay/op/chance_unit.h"
#include "assay/op/generate.h"
#include "assay/op/sum_bound.h"
#include "assay/op/unit.h"

namespace assay::inline v0_2 {
namespace {

// An operator of this family: the operation that it computes, and the names of its inputs in the
// order of its row.
struct Operation {
  VectorOp op;
  // Names of the operands. The third is nullptr if there are two.
  std::array<const char*, 3> names;
};
constexpr Operation kAdd = {VectorOp::kAdd, {"a", "b", nullptr}};
constexpr Operation kSub = {VectorOp::kSub, {"a", "b", nullptr}};
constexpr Operation kMul = {VectorOp::kMul, {"a", "b", nullptr}};
constexpr Operation kDiv = {VectorOp::kDiv, {"a", "b", nullptr}};
constexpr Operation kFma = {VectorOp::kFma, {"a", "b", "c"}};
constexpr Operation kAxpy = {VectorOp::kFma, {"a", "x", "y"}};

struct Operands {
  std::vector<const char*> names;
  const Format& format;
  Shape shape;  // of the result
};

// Returns the operands, which have one shape, except for scalars.
Operands operands_of(const Case& c, const Operation& operation, const Format& output) {
  const auto end = std::ranges::find(operation.names, nullptr);
  const std::vector<const char*> names(operation.names.begin(), end);
  Operands result{names, operand_format(c, names, output), {}};
  const char* shaped = nullptr;
  for (const char* name : names) {
    const Shape& shape = c.input(name).shape();
    if (shape.empty()) continue;
    if (shaped == nullptr) {
      shaped = name;
      result.shape = shape;
    } else if (shape != result.shape) {
      refuse_case(c.name,
                  "{} is {} and {} is {}; {} takes operands of one shape, or scalars of rank 0: "
                  "nothing else broadcasts",
                  shaped, shape_text(result.shape), name, shape_text(shape), c.op);
    }
  }
  return result;
}

// Reads the operand's values [begin, begin + n) into `to`, or the one value of a scalar.
template <typename T>
VectorOperand<T> read_operand(const Tensor& tensor, std::int64_t begin, std::int64_t n,
                              std::vector<T>& to) {
  const bool scalar = tensor.shape().empty();
  to.resize(static_cast<std::size_t>(scalar ? 1 : n));
  read_values(tensor, scalar ? 0 : begin, scalar ? 1 : n, to.data());
  return {to.data(), scalar};
}

// Computes one element of the reference. float64's own operations are correctly rounded, and
// rounding their results again to at most 24 bits changes nothing. a * b + c is the exception: for
// a narrower output it is computed from the exact sum.
double reference(VectorOp op, double a, double b, double c, bool narrow) {
  switch (op) {
    case VectorOp::kAdd:
      return a + b;
    case VectorOp::kSub:
      return a - b;
    case VectorOp::kMul:
      return a * b;
    case VectorOp::kDiv:
      return a / b;
    default:
      break;
  }
  const double fused = std::fma(a, b, c);
  if (!narrow || !std::isfinite(fused) || fused == 0) return fused;
  ExactSum sum;
  sum.add_product(a, b);
  sum.add(c);
  return sum.to_odd();
}

// Computes elements [begin, begin + n) of the result, in the unit's arithmetic.
template <typename T>
void emulate_part(const Call& call, const VectorArithmetic& unit, VectorOp op,
                  const Operands& operands, std::int64_t begin, std::int64_t n, Tensor& result) {
  std::vector<T> values[3], out(static_cast<std::size_t>(n));
  VectorOperand<T> read[3] = {nullptr, nullptr, nullptr};
  for (std::size_t i = 0; i < operands.names.size(); ++i) {
    read[i] = read_operand(call.test_case.input(operands.names[i]), begin, n, values[i]);
  }
  vector_apply(unit, op, n, read[0], read[1], read[2], out.data());
  store_values(call.test_case, call.output, unit.overflow, out.data(), n,
               result.bytes() + begin * call.output.storage_bytes);
}

// Computes elements [begin, begin + n) of the golden result.
void reference_part(const ReferenceCall& call, VectorOp op, const Operands& operands, bool narrow,
                    std::int64_t begin, std::int64_t n, Tensor& result) {
  std::vector<double> values[3], out(static_cast<std::size_t>(n));
  std::size_t steps[3] = {0, 0, 0};
  for (std::size_t i = 0; i < operands.names.size(); ++i) {
    const bool scalar =
        read_operand(call.test_case.input(operands.names[i]), begin, n, values[i]).scalar;
    steps[i] = scalar ? 0 : 1;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double third = op == VectorOp::kFma ? values[2][i * steps[2]] : 0;
    out[i] = reference(op, values[0][i * steps[0]], values[1][i * steps[1]], third, narrow);
  }
  store_values(call.test_case, call.output, overflow_of(call.test_case), out.data(), n,
               result.bytes() + begin * call.output.storage_bytes);
}

template <const Operation& operation>
Tensor run_elementwise(const Call& call) {
  const Case& c = call.test_case;
  const Operands operands = operands_of(c, operation, call.output);
  const VectorArithmetic unit = arithmetic_of(call, operands.format);
  Tensor result(call.output, operands.shape);
  const auto emulate = [&](std::int64_t begin, std::int64_t n) {
    if (fits_float32(unit))
      emulate_part<float>(call, unit, operation.op, operands, begin, n, result);
    else
      emulate_part<double>(call, unit, operation.op, operands, begin, n, result);
  };
  parallel_ranges(result.size(), call.threads, emulate, kElementsOfPart);
  return result;
}

template <const Operation& operation>
Tensor elementwise_reference(const ReferenceCall& call) {
  const Operands operands = operands_of(call.test_case, operation, call.output);
  // ExactSum::to_odd() needs a sum in float64's normal range, which holds for products of float32
  // values. For wider inputs the float64 operation is the reference.
  const bool narrow = call.output.precision < 53 && operands.format.precision <= 24;
  Tensor result(call.output, operands.shape);
  const auto refer = [&](std::int64_t begin, std::int64_t n) {
    reference_part(call, operation.op, operands, narrow, begin, n, result);
  };
  parallel_ranges(result.size(), call.threads, refer, kElementsOfPart);
  return result;
}

// The expected errors are those of one rounding, and of the product's rounding if it is not fused.
template <const Operation& operation>
ExpectedErrors elementwise_errors(const Case& c, const Machine& machine, int) {
  const Format& output = output_format(c);
  const Operands operands = operands_of(c, operation, output);
  const ChanceUnit unit = chance_unit(c, machine, operands.format);
  std::vector<double> values[3];
  std::size_t steps[3] = {0, 0, 0};
  for (std::size_t i = 0; i < operands.names.size(); ++i) {
    values[i] = c.input(operands.names[i]).view().values();
    steps[i] = c.input(operands.names[i]).shape().empty() ? 0 : 1;
  }
  ExpectedErrors errors{.last = &output, .at_most = unit.any_order};
  errors.resize(static_cast<std::size_t>(element_count(operands.shape)));
  const RoundingStep step(*unit.unit);
  for (std::size_t i = 0; i < errors.mean.size(); ++i) {
    const auto operand = [&](std::size_t which) {
      const double v = values[which][i * steps[which]];
      return Uncertain::exact(v);
    };
    // Results of infinite operands are infinite, NaN or an exact 0, so they have no error.
    bool all_finite = true;
    for (std::size_t which = 0; which < operands.names.size(); ++which) {
      all_finite = all_finite && std::isfinite(values[which][i * steps[which]]);
    }
    if (!all_finite) continue;
    const Uncertain a = operand(0), b = operand(1);
    Uncertain result = a;
    if (operation.op == VectorOp::kAdd) {
      result.add(b);
    } else if (operation.op == VectorOp::kSub) {
      result.add(Uncertain::exact(-b.value));
    } else if (operation.op == VectorOp::kDiv) {
      result = Uncertain::inexact(a.value / b.value);
    } else {
      result = Uncertain::product(a, b);
      if (operation.op == VectorOp::kFma) {
        if (!unit.fused) result.round(step);
        result.add(operand(2));
      }
    }
    if (unit.unit != &output) result.round(step);
    set_error(errors, i, result);
  }
  return errors;
}

template <const Operation& operation>
DerivedTolerance elementwise_tolerance(const Case& c) {
  const Format& output = output_format(c);
  const char* second = operation.names[1];
  const Format& input = operand_format(c, {"a", second}, output);
  const RoundoffBounds bounds = roundoff_bounds(c, input, output);
  const double rtol = bounds.result();
  require_result_range(c, input, output);
  if (operation.op != VectorOp::kFma || c.flag("fused").value_or(false)) {
    return {rtol, bounds.tiny,
            formatted("rtol, atol: one rounding of the exact result{}, and half the smallest "
                      "subnormal; without overflow",
                      bounds.output > 0 ? formatted(" and one to {}", output.name) : "")};
  }
  const Format& unit = unit_format(c, input);
  const std::vector<double> a = c.input("a").view().values(), b = c.input(second).view().values(),
                            added = c.input(operation.names[2]).view().values();
  const auto value_at = [](const std::vector<double>& values, std::size_t i) {
    return values[values.size() == 1 ? 0 : i];
  };
  const bool ends_there = max_finite(output) <= max_finite(unit);
  double largest = 0;
  // The number a of axpy has no element to be combined with if x and y are empty.
  const bool is_empty = a.empty() || b.empty() || added.empty();
  const std::size_t count = is_empty ? 0 : std::max({a.size(), b.size(), added.size()});
  for (std::size_t i = 0; i < count; ++i) {
    const double product = value_at(a, i) * value_at(b, i), third = value_at(added, i);
    // The result is then NaN or infinite, and the product's rounding does not count.
    if (std::isnan(product) || !std::isfinite(third)) continue;
    // A product beyond the range stays there if nothing of the other sign is added. The result is
    // then the largest number or an infinity, as for mul, and the judge decides on it.
    const bool stays = product > 0 ? third >= 0 : third <= 0;
    if (std::abs(product) > max_finite(unit) && ends_there && stays) continue;
    if (std::isinf(product) && !(std::isfinite(value_at(a, i)) && std::isfinite(value_at(b, i)))) {
      continue;
    }
    largest = std::max(largest, std::abs(product));
  }
  require_range(c, unit, "a product", largest);
  return {rtol, (1 + rtol) * (bounds.unit * largest + bounds.tiny) + bounds.tiny,
          formatted(
              "rtol: the rounding of the sum; atol: the product may be rounded first (at most {})",
              short_number(largest, 4))};
}

// The input a of axpy is one number.
void generate_axpy(const Recipe& recipe, Case& c) {
  draw_vectors(recipe, c, {"x", "y"});
  c.inputs["a"] = recipe.draw_input("a", *recipe.dtype, {});
}

// Returns the common part of all operators of this family.
template <const Operation& operation>
Operator elementwise_row(const char* name, const char* summary) {
  Operator row = {
      .name = name,
      .summary = summary,
      .run = run_elementwise<operation>,
      .reference = elementwise_reference<operation>,
      .output_format = computed_format,
      .no_element_bounds =
          "each element is computed separately, and its tolerance says how far it may be off",
      .expected_errors = elementwise_errors<operation>,
      .tolerance = elementwise_tolerance<operation>,
      .generate = generate_vector};
  for (const char* input : operation.names) {
    if (input != nullptr) row.inputs.push_back({.name = input, .shape = "(...)"});
  }
  row.parameters = operation.op == VectorOp::kFma ? unit_parameters({fused_parameter()}, false)
                                                  : unit_parameters({}, false);
  return row;
}

}  // namespace

std::vector<Operator> elementwise_operators() {
  Operator axpy = elementwise_row<kAxpy>("axpy", "a x + y");
  axpy.generate = generate_axpy;
  return {elementwise_row<kAdd>("add", "a + b"),   elementwise_row<kSub>("sub", "a - b"),
          elementwise_row<kMul>("mul", "a b"),     elementwise_row<kDiv>("div", "a / b"),
          elementwise_row<kFma>("fma", "a b + c"), axpy};
}

}  // namespace assay
