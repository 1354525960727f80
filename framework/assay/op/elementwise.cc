#include "assay/op/elementwise.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/machine/exact_sum.h"
#include "assay/op/unit.h"

namespace assay {
namespace {

struct Operands {
  std::vector<const char*> names;
  Shape shape;  // of the result
};

// Their one shape, scalars aside.
Operands operands_of(const Case& c, std::initializer_list<const char*> names) {
  Operands result{names, {}};
  const char* shaped = nullptr;
  for (const char* name : names) {
    const Shape& shape = c.input(name).shape();
    if (shape.empty()) continue;
    if (shaped == nullptr) {
      shaped = name;
      result.shape = shape;
    } else if (shape != result.shape) {
      throw std::invalid_argument(
          format("case {}: {} is {} and {} is {}; {} takes operands of one shape, or scalars of "
                 "rank 0: nothing else broadcasts",
                 c.name, shaped, shape_text(result.shape), name, shape_text(shape), c.op));
    }
  }
  return result;
}

// to[0, n) = the operand's values from `begin`; of a scalar the one.
template <typename T>
VectorOperand<T> read_operand(const Tensor& tensor, std::int64_t begin, std::int64_t n,
                              std::vector<T>& to) {
  const bool scalar = tensor.shape().empty();
  to.resize(static_cast<std::size_t>(scalar ? 1 : n));
  read_values(tensor, scalar ? 0 : begin, scalar ? 1 : n, to.data());
  return {to.data(), scalar};
}

// The reference. float64's own operations are correctly rounded, and rounding them again to at most
// 24 bits is innocuous, but for a * b + c: there a narrower output takes the exact sum.
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

// Elements [begin, begin + n) of the result, in the unit's arithmetic.
template <typename T>
void emulate_part(const Call& call, const VectorArithmetic& unit, VectorOp op,
                  const Operands& operands, std::int64_t begin, std::int64_t n, Tensor& result) {
  std::vector<T> values[3], out(static_cast<std::size_t>(n));
  VectorOperand<T> read[3] = {nullptr, nullptr, nullptr};
  for (std::size_t i = 0; i < operands.names.size(); ++i) {
    read[i] = read_operand(call.test_case.input(operands.names[i]), begin, n, values[i]);
  }
  vector_apply(unit, op, n, read[0], read[1], read[2], out.data());
  store_values(call, unit.overflow, out.data(), n,
               result.bytes() + begin * call.output.storage_bytes);
}

// The same of the golden result.
void reference_part(const Call& call, VectorOp op, const Operands& operands, bool narrow,
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
  store_values(call, overflow_of(call.test_case, call.machine), out.data(), n,
               result.bytes() + begin * call.output.storage_bytes);
}

Tensor run_elementwise(const Call& call, VectorOp op, std::initializer_list<const char*> names) {
  const Case& c = call.test_case;
  const Format& input = operand_format(c, names, call.output);
  const Operands operands = operands_of(c, names);
  const bool exact = call.machine.is_exact();
  const VectorArithmetic unit = exact ? VectorArithmetic{&input} : arithmetic_of(call, input);
  // ExactSum holds products of float32 values; of wider inputs float64 is the reference.
  const bool narrow = call.output.precision < 53 && input.precision <= 24;

  Tensor result(call.output, operands.shape);
  constexpr std::int64_t kPart = 1 << 12;
  const std::int64_t count = result.size();
  parallel_for((count + kPart - 1) / kPart, call.threads, [&](std::int64_t part) {
    const std::int64_t begin = part * kPart, n = std::min(kPart, count - begin);
    if (exact)
      reference_part(call, op, operands, narrow, begin, n, result);
    else if (fits_float32(unit))
      emulate_part<float>(call, unit, op, operands, begin, n, result);
    else
      emulate_part<double>(call, unit, op, operands, begin, n, result);
  });
  return result;
}

}  // namespace

Tensor run_add(const Call& call) { return run_elementwise(call, VectorOp::kAdd, {"a", "b"}); }
Tensor run_sub(const Call& call) { return run_elementwise(call, VectorOp::kSub, {"a", "b"}); }
Tensor run_mul(const Call& call) { return run_elementwise(call, VectorOp::kMul, {"a", "b"}); }
Tensor run_div(const Call& call) { return run_elementwise(call, VectorOp::kDiv, {"a", "b"}); }
Tensor run_fma(const Call& call) { return run_elementwise(call, VectorOp::kFma, {"a", "b", "c"}); }
Tensor run_axpy(const Call& call) { return run_elementwise(call, VectorOp::kFma, {"a", "x", "y"}); }

DerivedTolerance elementwise_tolerance(const Case& c) {
  const Format& output = c.output_format();
  const bool ternary = c.op == "fma" || c.op == "axpy";
  const char* second = c.op == "axpy" ? "x" : "b";
  const Format& input = operand_format(c, {"a", second}, output);
  const RoundoffBounds bounds = roundoff_bounds(c, input, output);
  const double rtol = bounds.result();
  if (!ternary || c.flag("fused").value_or(false)) {
    return {rtol, bounds.tiny,
            format("rtol, atol: one rounding of the exact result{}, and half the smallest "
                   "subnormal; without overflow",
                   bounds.output > 0 ? format(" and one to {}", output.name) : "")};
  }
  const std::vector<double> a = c.input("a").view().values(), b = c.input(second).view().values();
  double largest = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const double product = std::abs(a[a.size() == 1 ? 0 : i] * b[b.size() == 1 ? 0 : i]);
    if (!std::isfinite(product)) {
      throw std::invalid_argument(
          format("case {}: no tolerance can be derived: its inputs hold NaN or infinity", c.name));
    }
    largest = std::max(largest, product);
  }
  return {
      rtol, (1 + rtol) * (bounds.unit * largest + bounds.tiny) + bounds.tiny,
      format("rtol: the rounding of the sum; atol: the product may be rounded first (at most {})",
             short_number(largest, 4))};
}

}  // namespace assay
