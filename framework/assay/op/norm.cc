#include "assay/op/norm.h"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "assay/base/text.h"
#include "assay/op/norm_case.h"

namespace assay {
namespace {

// A row on the vector unit, step by step.
template <typename T>
class RowSteps {
 public:
  RowSteps(const VectorArithmetic& unit, const SumOrder& order, std::int64_t n)
      : unit_(unit),
        // What follows a sum in float32 blocks is float32.
        after_(order.order == ReduceOrder::kBlock ? block_arithmetic(unit) : unit),
        order_(order),
        n_(n) {}

  void softmax(T* x, T* scratch) const {
    const T most = vector_maximum(n_, x);
    vector_apply(unit_, VectorOp::kSub, n_, x, {&most, true}, x, x);
    vector_apply(unit_, VectorOp::kExp, n_, x, x, x, x);
    const T total = sum(x, scratch);
    vector_apply(after_, VectorOp::kDiv, n_, x, {&total, true}, x, x);
  }
  // x less its mean.
  void centre(T* x, T* scratch) const {
    const T mean = mean_of(sum(x, scratch));
    vector_apply(after_, VectorOp::kSub, n_, x, {&mean, true}, x, x);
  }
  // x over the root of its mean square.
  void scale(double eps, T* x, T* scratch) const {
    vector_apply(after_, VectorOp::kMul, n_, x, x, x, scratch);
    T total;
    reduce_sum(after_, order_.order, order_.chunk, n_, 1, scratch, &total);
    const double square = static_cast<double>(mean_of(total));
    const double shifted =
        vector_oracle(after_, VectorOp::kAdd, square, round_to(*after_.format, eps));
    const T factor = static_cast<T>(vector_oracle(after_, VectorOp::kRsqrt, shifted));
    vector_apply(after_, VectorOp::kMul, n_, x, {&factor, true}, x, x);
  }
  void apply(VectorOp op, const std::vector<T>& by, T* x) const {
    if (!by.empty()) vector_apply(after_, op, n_, x, by.data(), x, x);
  }

 private:
  T sum(const T* x, T* scratch) const {
    std::copy_n(x, n_, scratch);
    T total;
    reduce_sum(unit_, order_.order, order_.chunk, n_, 1, scratch, &total);
    return total;
  }
  // Divided by the exact count, as reduce_mean does.
  T mean_of(T total) const {
    return static_cast<T>(
        vector_oracle(after_, VectorOp::kDiv, static_cast<double>(total), static_cast<double>(n_)));
  }

  VectorArithmetic unit_, after_;
  const SumOrder& order_;
  std::int64_t n_;
};

template <typename T>
void emulate_rows(const Call& call, const Norm& norm, const VectorArithmetic& unit,
                  const SumOrder& order, Tensor& result) {
  const RowSteps<T> steps(unit, order, norm.e.n);
  const std::vector<T> weight = norm.vector<T>("weight", norm.has_weight),
                       bias = norm.vector<T>("bias", norm.has_bias);
  each_row<T>(call, norm.e, unit.overflow, 1, result, [&](T* row, T* scratch) {
    if (norm.is_softmax()) return steps.softmax(row, scratch);
    if (norm.subtracts_mean()) steps.centre(row, scratch);
    steps.scale(norm.eps, row, scratch);
    steps.apply(VectorOp::kMul, weight, row);
    steps.apply(VectorOp::kAdd, bias, row);
  });
}

Tensor run_norm(const Call& call) {
  const Norm norm = norm_of(call.test_case, call.output);
  const SumOrder order = sum_order(call, norm.input);
  if (call.machine.is_exact()) return norm_reference(call, norm);
  const VectorArithmetic unit = arithmetic_of(call, norm.input);
  Tensor result(call.output, call.test_case.input("x").shape());
  if (fits_float32(unit))
    emulate_rows<float>(call, norm, unit, order, result);
  else
    emulate_rows<double>(call, norm, unit, order, result);
  return result;
}

}  // namespace

Norm norm_of(const Case& c, const Format& output) {
  const bool has_weight = c.op != "softmax" && c.inputs.count("weight") != 0;
  const bool has_bias = c.op == "layernorm" && c.inputs.count("bias") != 0;
  const Format& input = has_bias && has_weight ? operand_format(c, {"x", "weight", "bias"}, output)
                        : has_bias             ? operand_format(c, {"x", "bias"}, output)
                        : has_weight           ? operand_format(c, {"x", "weight"}, output)
                                               : operand_format(c, {"x"}, output);
  const AxisExtent e = extent_along(c, c.integer("axis").value_or(-1));
  if (e.outer * e.n * e.inner == 0) {
    throw std::invalid_argument(format("case {}: {} of no elements: x is {}", c.name, c.op,
                                       shape_text(c.input("x").shape())));
  }
  for (const char* name : {"weight", "bias"}) {
    if (!(name == std::string_view("weight") ? has_weight : has_bias)) continue;
    if (c.input(name).shape() != Shape{e.n}) {
      throw std::invalid_argument(
          format("case {}: {} is {}; {} takes [{}], as long as x along axis", c.name, name,
                 shape_text(c.input(name).shape()), c.op, e.n));
    }
  }
  const double eps = c.real("eps").value_or(c.op == "rmsnorm" ? 1e-6 : 1e-5);
  if (!(eps >= 0) || !std::isfinite(eps)) {
    throw std::invalid_argument(
        format("case {}: eps is {}; it is 0 or more", c.name, number_text(eps)));
  }
  return {c, input, e, eps, has_weight, has_bias};
}

Tensor run_softmax(const Call& call) { return run_norm(call); }
Tensor run_layernorm(const Call& call) { return run_norm(call); }
Tensor run_rmsnorm(const Call& call) { return run_norm(call); }

}  // namespace assay
