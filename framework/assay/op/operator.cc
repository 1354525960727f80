#include "assay/op/operator.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/op/attention.h"
#include "assay/op/cast.h"
#include "assay/op/deform_roi_pool.h"
#include "assay/op/dot.h"
#include "assay/op/elementwise.h"
#include "assay/op/function.h"
#include "assay/op/generate.h"
#include "assay/op/norm.h"
#include "assay/op/order.h"
#include "assay/op/quantize.h"
#include "assay/op/reduce.h"
#include "assay/op/registered.h"
#include "assay/op/scaled_matmul.h"
#include "assay/op/unit.h"

namespace assay {
namespace {

constexpr Operator kOperators[] = {
    {"matmul", "a (..., M, K), b (..., K, N), optional bias (N)",
     "transpose_a transpose_b " ASSAY_DOT_PARAMETERS, run_matmul, matmul_tolerance,
     generate_matmul},
    {"dot", "a (n, K), b (n, K), c (n): c + a . b", ASSAY_DOT_PARAMETERS, run_dot, dot_tolerance,
     generate_dot},
    {"scaled_matmul", "a (..., M, K), b (..., K, N), scale_a, scale_b",
     "transpose_a transpose_b a_scaling b_scaling scales output_dtype compute_dtype "
     "promotion_interval fused",
     run_scaled_matmul, scaled_matmul_tolerance, generate_scaled_matmul},
    {"quantize", "x (...)", "scaling scales method result quantized_dtype output_dtype",
     run_quantize, quantize_tolerance, generate_vector},
    {"dequantize", "x (...), scale", "scaling scales output_dtype", run_dequantize,
     dequantize_tolerance, generate_dequantize},
    {"deform_roi_pool", "input (N, C, H, W), rois (n, 5), optional offset (n, 2, PH, PW)",
     "pooled_height pooled_width spatial_scale sampling_ratio gamma fused output_dtype",
     run_deform_roi_pool, deform_roi_pool_tolerance, generate_deform_roi_pool},
    {"cast", "x (...)", "rounding " ASSAY_UNIT_PARAMETERS, run_cast, cast_tolerance,
     generate_vector},
    {"add", "a (...), b (...)", ASSAY_UNIT_PARAMETERS, run_add, elementwise_tolerance,
     generate_vector},
    {"sub", "a (...), b (...)", ASSAY_UNIT_PARAMETERS, run_sub, elementwise_tolerance,
     generate_vector},
    {"mul", "a (...), b (...)", ASSAY_UNIT_PARAMETERS, run_mul, elementwise_tolerance,
     generate_vector},
    {"div", "a (...), b (...)", ASSAY_UNIT_PARAMETERS, run_div, elementwise_tolerance,
     generate_vector},
    {"fma", "a (...), b (...), c (...): a * b + c", "fused " ASSAY_UNIT_PARAMETERS, run_fma,
     elementwise_tolerance, generate_vector},
    {"axpy", "a (...), x (...), y (...): a * x + y", "fused " ASSAY_UNIT_PARAMETERS, run_axpy,
     elementwise_tolerance, generate_vector},
    {"exp", "x (...)", ASSAY_WIDE_PARAMETERS, run_function, function_tolerance, generate_vector},
    {"log", "x (...)", ASSAY_WIDE_PARAMETERS, run_function, function_tolerance, generate_vector},
    {"sqrt", "x (...)", ASSAY_WIDE_PARAMETERS, run_function, function_tolerance, generate_vector},
    {"rsqrt", "x (...)", ASSAY_WIDE_PARAMETERS, run_function, function_tolerance, generate_vector},
    {"tanh", "x (...)", ASSAY_WIDE_PARAMETERS, run_function, function_tolerance, generate_vector},
    {"sigmoid", "x (...)", ASSAY_WIDE_PARAMETERS, run_function, function_tolerance,
     generate_vector},
    {"silu", "x (...)", ASSAY_WIDE_PARAMETERS, run_function, function_tolerance, generate_vector},
    {"gelu", "x (...)", "approximate " ASSAY_WIDE_PARAMETERS, run_function, function_tolerance,
     generate_vector},
    {"reduce_sum", "x (...)", "axis " ASSAY_ORDER_PARAMETERS ASSAY_UNIT_PARAMETERS, run_reduce_sum,
     reduce_tolerance, generate_vector},
    {"reduce_mean", "x (...)", "axis " ASSAY_ORDER_PARAMETERS ASSAY_UNIT_PARAMETERS,
     run_reduce_mean, reduce_tolerance, generate_vector},
    {"reduce_max", "x (...)", "axis " ASSAY_ORDER_PARAMETERS ASSAY_UNIT_PARAMETERS, run_reduce_max,
     reduce_tolerance, generate_vector},
    {"softmax", "x (...)", "axis " ASSAY_ORDER_PARAMETERS ASSAY_WIDE_PARAMETERS, run_softmax,
     norm_tolerance, generate_vector},
    {"layernorm", "x (...), optional weight (n), bias (n)",
     "axis eps " ASSAY_ORDER_PARAMETERS ASSAY_WIDE_PARAMETERS, run_layernorm, norm_tolerance,
     generate_vector},
    {"rmsnorm", "x (...), optional weight (n)",
     "axis eps " ASSAY_ORDER_PARAMETERS ASSAY_WIDE_PARAMETERS, run_rmsnorm, norm_tolerance,
     generate_vector},
    {"attention", "q (..., L, D), k (..., S, D), v (..., S, E)",
     "causal scale tile " ASSAY_ORDER_PARAMETERS ASSAY_UNIT_PARAMETERS, run_attention,
     attention_tolerance, generate_attention},
};

// Attributes that say something about a case without changing what its operator computes.
constexpr std::array<std::string_view, 18> kHints = {
    "output_dtype", "standard",       "rtol",
    "atol",         "equal_nan",      "round_expected",
    "tags",         "seed",           "distribution",
    "source",       "machine",        "nan_payload",
    "why",          "description",    "accumulations",
    "infinity",     "max_mismatches", "max_mismatch_fraction"};

// A deque, because rows must stay where they are when another joins. Made on first use, so that a
// team may register from a static initialiser.
std::deque<Operator>& table() {
  static std::deque<Operator> rows(std::begin(kOperators), std::end(kOperators));
  return rows;
}

const Operator& operator_of(const Case& c) {
  if (const Operator* found = find_operator(c.op)) return *found;
  std::vector<std::string> names;
  for (const Operator& o : table()) names.emplace_back(o.name);
  const std::string near = nearest_word(c.op, names);
  throw std::invalid_argument(
      format("case {}: assay does not emulate the operator '{}'{}; it emulates {}", c.name, c.op,
             near.empty() ? "" : format(" (did you mean '{}'?)", near), joined(names)));
}

// What a machine or a format refuses knows nothing of cases.
template <typename Run>
Tensor naming(const Case& c, const Run& run) {
  try {
    return run();
  } catch (const std::invalid_argument& e) {
    if (std::string_view(e.what()).starts_with("case ")) throw;
    throw std::invalid_argument(format("case {}: {}", c.name, e.what()));
  }
}

}  // namespace

void register_operator(const Operator& row) {
  check_row(row);
  // The texts live as long as the table.
  static std::deque<std::string> texts;
  const auto keep = [&](std::string_view text) -> std::string_view {
    return texts.emplace_back(text);
  };
  Operator kept = row;
  kept.name = keep(row.name);
  kept.inputs = keep(row.inputs);
  kept.parameters = keep(row.parameters);
  set_output_rule(std::string(row.name), output_rule(row));
  table().push_back(kept);
}

const std::deque<Operator>& operators() { return table(); }

const Operator* find_operator(std::string_view name) {
  for (const Operator& o : table()) {
    if (o.name == name) return &o;
  }
  return nullptr;
}

std::string first_input(const Operator& op) {
  return std::string(op.inputs.substr(0, op.inputs.find_first_of(" ,(:")));
}

void check_parameters(const Case& c, const Operator& op) {
  const auto known = split(op.parameters, ' ');
  for (const auto& [name, value] : c.attributes) {
    if (std::find(kHints.begin(), kHints.end(), name) != kHints.end()) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw std::invalid_argument(format("case {}: {} does not know the parameter '{}'; it knows {}",
                                       c.name, op.name, name, joined(known)));
  }
}

Tensor emulate(const Case& c, const Machine& machine, int threads) {
  const FloatEnvironment environment;
  const Operator& op = operator_of(c);
  check_parameters(c, op);
  Tensor result = naming(c, [&] { return op.run({c, machine, c.output_format(), threads}); });
  if (op.reference != nullptr) check_result(c, op, result, threads);
  return result;
}

Tensor golden_result(const Case& c, int threads) {
  const FloatEnvironment environment;
  const Operator& op = operator_of(c);
  check_parameters(c, op);
  if (op.reference != nullptr) return reference_result(c, op, threads);
  const Format& output = c.output_format();
  return op.run(
      {c, machine_named("exact"), output.is_float() ? format_named("float64") : output, threads});
}

std::map<std::string, Attribute> DerivedTolerance::attributes() const {
  return {{"rtol", rtol},
          {"atol", atol},
          {"round_expected", std::int64_t{0}},
          {"equal_nan", std::int64_t{1}},
          {"why", why}};
}

DerivedTolerance derived_tolerance(const Case& c) {
  const FloatEnvironment environment;
  const Operator* op = find_operator(c.op);
  if (op == nullptr || op->tolerance == nullptr) no_tolerance(c);
  // Formats of uneven spacing, or without 0 and a sign, have no unit roundoff to reckon with.
  const Specials kind = c.output_format().specials;
  const bool uneven = kind == Specials::kTapered || kind == Specials::kScale;
  if (uneven && op->name != "cast" && op->name != "quantize") no_tolerance(c);
  return op->tolerance(c);
}

void no_tolerance(const Case& c) {
  throw std::invalid_argument(format("case {}: no tolerance can be derived for {} with {} results",
                                     c.name, c.op, c.output_format().name));
}

}  // namespace assay
