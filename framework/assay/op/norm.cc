#include "assay/op/norm.h"

#include <vector>

#include "assay/op/generate.h"
#include "assay/op/norm_bounds.h"
#include "assay/op/norm_errors.h"
#include "assay/op/norm_reference.h"
#include "assay/op/order.h"

namespace assay::inline v0_2 {
namespace {

// Computes one row on the vector unit step by step.
template <typename T>
class RowSteps {
 public:
  RowSteps(const VectorArithmetic& unit, const SumOrder& order, std::int64_t n)
      : unit_(unit),
        // The steps after a sum in float32 blocks are computed in float32.
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
  // Subtracts the mean from x.
  void centre(T* x, T* scratch) const {
    const T mean = mean_of(sum(x, scratch));
    vector_apply(after_, VectorOp::kSub, n_, x, {&mean, true}, x, x);
  }
  // Divides x by the root of its mean square.
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
  // Divides a sum by the exact count of elements, as reduce_mean does.
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
  each_row<T>(call.test_case, norm.e, unit.overflow, 1, call.threads, result,
              [&](T* row, T* scratch) {
                if (norm.is_softmax()) return steps.softmax(row, scratch);
                if (norm.subtracts_mean()) steps.centre(row, scratch);
                steps.scale(norm.eps, row, scratch);
                steps.apply(VectorOp::kMul, weight, row);
                steps.apply(VectorOp::kAdd, bias, row);
              });
}

template <NormKind kind>
Tensor run_norm(const Call& call) {
  const Norm norm = norm_of(call.test_case, kind, call.output);
  const SumOrder order = sum_order(call, norm.input);
  const VectorArithmetic unit = arithmetic_of(call, norm.input);
  Tensor result(call.output, call.test_case.input("x").shape());
  if (fits_float32(unit))
    emulate_rows<float>(call, norm, unit, order, result);
  else
    emulate_rows<double>(call, norm, unit, order, result);
  return result;
}

// Sizes are those of x. weight and bias are as long as x along `axis`, and are made only if they
// are named.
void generate_norm(const Recipe& recipe, Case& c) {
  draw_vectors(recipe, c, {"x"});
  for (const char* name : {"weight", "bias"}) {
    if (!recipe.names(name) || !has_input(c, name)) continue;
    const std::int64_t n = extent_along(c, integer_of(c, "axis")).n;
    c.inputs[name] = recipe.draw_input(name, *recipe.dtype, {n});
  }
}

// Returns the common part of all operators of this family.
template <NormKind kind>
Operator norm_row(const char* name, const char* summary, std::vector<OperatorInput> inputs,
                  std::vector<Parameter> parameters) {
  parameters.insert(parameters.begin(),
                    {.name = "axis",
                     .kind = ParameterKind::kInteger,
                     .default_value = "-1",
                     .words = "dimension of a row. A negative number counts from the end",
                     .tried = {"-1", "0", "1"}});
  inputs.insert(inputs.begin(), {.name = "x", .shape = "(...)"});
  return {.name = name,
          .summary = summary,
          .inputs = std::move(inputs),
          .parameters = unit_parameters(order_parameters(std::move(parameters)), true),
          .run = run_norm<kind>,
          .reference = [](const ReferenceCall& call) { return norm_reference(call, kind); },
          .output_format = computed_format,
          .element_bounds = [](const Case& c, const Machine&, int) { return norm_bounds(c, kind); },
          .machine_free_bounds = true,
          .expected_errors = [](const Case& c, const Machine& machine,
                                int threads) { return norm_errors(c, machine, kind, threads); },
          .tolerance = [](const Case& c) { return norm_tolerance(c, kind); },
          .generate = generate_norm};
}

OperatorInput optional_vector(const char* name) {
  return {.name = name, .shape = "(n)", .optional = true, .words = "as long as x along axis"};
}

Parameter eps_parameter(const char* default_value) {
  return {.name = "eps",
          .kind = ParameterKind::kNumber,
          .default_value = default_value,
          .least = 0,
          .words = "number that is added under the root",
          .tried = {default_value, "0.01", "1"}};
}

}  // namespace

std::vector<Operator> norm_operators() {
  return {norm_row<NormKind::kSoftmax>("softmax", "exp(x - max x) / sum exp(x - max x)", {}, {}),
          norm_row<NormKind::kLayernorm>(
              "layernorm", "(x - mean x) / sqrt(mean (x - mean x)^2 + eps) weight + bias",
              {optional_vector("weight"), optional_vector("bias")}, {eps_parameter("1e-5")}),
          norm_row<NormKind::kRmsnorm>("rmsnorm", "x / sqrt(mean x^2 + eps) weight",
                                       {optional_vector("weight")}, {eps_parameter("1e-6")})};
}

}  // namespace assay
