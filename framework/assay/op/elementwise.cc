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

// to[0, n) = the operand's values from `begin`; a scalar is repeated.
void read_operand(const Tensor& tensor, std::int64_t begin, std::int64_t n, double* to) {
  if (tensor.shape().empty())
    std::fill_n(to, n, tensor.view().value_at(0));
  else
    tensor.view().read(begin, n, to);
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
    case VectorOp::kFma:
      break;
  }
  const double fused = std::fma(a, b, c);
  if (!narrow || !std::isfinite(fused) || fused == 0) return fused;
  ExactSum sum;
  sum.add_product(a, b);
  sum.add(c);
  return sum.to_odd();
}

Tensor run_elementwise(const Call& call, VectorOp op, std::initializer_list<const char*> names) {
  const Case& c = call.test_case;
  const Format& input = operand_format(c, names, call.output);
  const Operands operands = operands_of(c, names);
  const bool exact = call.machine.is_exact();
  const VectorArithmetic unit = exact ? VectorArithmetic{&input} : arithmetic_of(call, input);
  const Overflow overflow = overflow_of(c, call.machine);
  // ExactSum holds products of float32 values; of wider inputs float64 is the reference.
  const bool narrow = call.output.precision < 53 && input.precision <= 24;

  Tensor result(call.output, operands.shape);
  constexpr std::int64_t kPart = 1 << 14;
  const std::int64_t count = result.size();
  parallel_for((count + kPart - 1) / kPart, call.threads, [&](std::int64_t part) {
    const std::int64_t begin = part * kPart, n = std::min(kPart, count - begin);
    std::vector<double> values[3];
    for (std::size_t i = 0; i < operands.names.size(); ++i) {
      values[i].resize(static_cast<std::size_t>(n));
      read_operand(c.input(operands.names[i]), begin, n, values[i].data());
    }
    double* a = values[0].data();
    const double *b = values[1].data(), *third = values[2].data();
    if (exact) {
      for (std::int64_t i = 0; i < n; ++i) {
        a[i] = reference(op, a[i], b[i], op == VectorOp::kFma ? third[i] : 0, narrow);
      }
    } else {
      vector_apply(unit, op, n, a, b, third, a);
    }
    store_values(call, overflow, a, n, result.bytes() + begin * call.output.storage_bytes);
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
