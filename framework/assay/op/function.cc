#include "assay/op/function.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/machine/function_error.h"
#include "assay/op/function_reference.h"
#include "assay/op/generate.h"
#include "assay/op/sum_bound.h"
#include "assay/op/unit.h"

namespace assay::inline v0_2 {
namespace {

constexpr double kTanhEnd = 8.8;                    // tanh through exp limits x to +-8.8
constexpr double kHalfRoot = 0x1.6a09e667f3bcdp-1;  // sqrt(1 / 2)
constexpr double kGeluCube = 0.044715;
constexpr double kGeluScale = 0x1.9884533d43651p-1;  // sqrt(2 / pi)

enum class Function : std::uint8_t { kExp, kLog, kSqrt, kRsqrt, kTanh, kSigmoid, kSilu, kGelu };

Parameter approximate_parameter() {
  Parameter row = word_parameter("approximate", {"none", "tanh"},
                                 "tanh: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))");
  row.tried = row.choices;
  return row;
}

// True if the case selects gelu's formula with tanh.
bool by_tanh(const Case& c) { return word_of(c, "approximate") == "tanh"; }

// Computes a function on the vector unit step by step, and rounds each step.
// docs/operators/functions.md lists the steps.
template <typename T>
class FunctionSteps {
 public:
  FunctionSteps(const VectorArithmetic& unit, std::int64_t n)
      : unit_(unit), n_(n), scratch_(static_cast<std::size_t>(n)) {}

  // Replaces x by f(x).
  void function(VectorOp op, T* x) const { vector_apply(unit_, op, n_, x, x, x, x); }
  void sigmoid(T* x) { divided_by_one_plus_exp(nullptr, x); }
  void silu(T* x) {
    std::copy_n(x, n_, scratch_.data());
    divided_by_one_plus_exp(scratch_.data(), x);
  }
  void tanh_by_exp(T* x) {
    apply(VectorOp::kMin, x, kTanhEnd, x);
    apply(VectorOp::kMax, x, -kTanhEnd, x);
    apply(VectorOp::kMul, x, 2, x);
    function(VectorOp::kExp, x);
    apply(VectorOp::kAdd, x, 1, scratch_.data());
    apply(VectorOp::kSub, x, 1, x);
    vector_apply(unit_, VectorOp::kDiv, n_, x, scratch_.data(), x, x);
  }
  void gelu(T* x) {
    apply(VectorOp::kMul, x, kHalfRoot, scratch_.data());
    function(VectorOp::kErf, scratch_.data());
    times_half_one_plus(x);
  }
  void gelu_tanh(bool by_exp, T* x) {
    T* inner = scratch_.data();
    vector_apply(unit_, VectorOp::kMul, n_, x, x, x, inner);
    vector_apply(unit_, VectorOp::kMul, n_, inner, x, x, inner);
    apply(VectorOp::kMul, inner, kGeluCube, inner);
    vector_apply(unit_, VectorOp::kAdd, n_, inner, x, x, inner);
    if (by_exp) {
      apply(VectorOp::kMul, inner, -2 * kGeluScale, inner);
      function(VectorOp::kExp, inner);
      apply(VectorOp::kAdd, inner, 1, inner);
      vector_apply(unit_, VectorOp::kDiv, n_, x, inner, x, x);
    } else {
      apply(VectorOp::kMul, inner, kGeluScale, inner);
      function(VectorOp::kTanh, inner);
      times_half_one_plus(x);
    }
  }

 private:
  // Applies an operation with a constant, which is rounded to the unit's format.
  void apply(VectorOp op, const T* x, double constant, T* to) const {
    const T rounded = static_cast<T>(round_to(*unit_.format, constant));
    vector_apply(unit_, op, n_, x, {&rounded, true}, x, to);
  }
  // Computes x = dividend / (1 + exp(-x)). The dividend is 1 if `dividend` is nullptr.
  void divided_by_one_plus_exp(const T* dividend, T* x) const {
    apply(VectorOp::kMul, x, -1, x);
    function(VectorOp::kExp, x);
    apply(VectorOp::kAdd, x, 1, x);
    const T one = 1;
    const VectorOperand<T> above =
        dividend == nullptr ? VectorOperand<T>(&one, true) : VectorOperand<T>(dividend);
    vector_apply(unit_, VectorOp::kDiv, n_, above, x, x, x);
  }
  // Replaces x by (x / 2) (1 + scratch).
  void times_half_one_plus(T* x) {
    apply(VectorOp::kAdd, scratch_.data(), 1, scratch_.data());
    apply(VectorOp::kMul, x, 0.5, x);
    vector_apply(unit_, VectorOp::kMul, n_, x, scratch_.data(), x, x);
  }

  const VectorArithmetic& unit_;
  std::int64_t n_;
  std::vector<T> scratch_;
};

// The arithmetic and the formulas by which a case's function is computed.
struct Way {
  VectorArithmetic unit;
  bool tanh_by_exp, gelu_by_tanh;
};

template <Function function, typename T>
void take_steps(const Way& way, std::int64_t n, T* x) {
  FunctionSteps<T> steps(way.unit, n);
  switch (function) {
    case Function::kExp:
      return steps.function(VectorOp::kExp, x);
    case Function::kLog:
      return steps.function(VectorOp::kLog, x);
    case Function::kSqrt:
      return steps.function(VectorOp::kSqrt, x);
    case Function::kRsqrt:
      return steps.function(VectorOp::kRsqrt, x);
    case Function::kSigmoid:
      return steps.sigmoid(x);
    case Function::kSilu:
      return steps.silu(x);
    case Function::kTanh:
      return way.tanh_by_exp ? steps.tanh_by_exp(x) : steps.function(VectorOp::kTanh, x);
    case Function::kGelu:
      return way.gelu_by_tanh ? steps.gelu_tanh(way.tanh_by_exp, x) : steps.gelu(x);
  }
}

// Returns the result in `output`. change(values, n) replaces elements of x, as T, by the function's
// values.
template <typename T, typename Change>
Tensor changed(const Case& c, const Format& output, Overflow overflow, int threads,
               const Change& change) {
  const Tensor& x = c.input("x");
  Tensor result(output, x.shape());
  const auto change_part = [&](std::int64_t begin, std::int64_t n) {
    std::vector<T> values(static_cast<std::size_t>(n));
    read_values(x, begin, n, values.data());
    change(values.data(), n);
    store_values(c, output, overflow, values.data(), n,
                 result.bytes() + begin * output.storage_bytes);
  };
  parallel_ranges(result.size(), threads, change_part, kElementsOfPart);
  return result;
}

template <Function function>
Tensor run_function(const Call& call) {
  const Case& c = call.test_case;
  const Format& input = operand_format(c, {"x"}, call.output);
  Way way{arithmetic_of(call, input), vector_model(call.machine).tanh_by_exp.value,
          function == Function::kGelu && by_tanh(c)};
  // The library that computes tanh through exp (Ascend's) widens the argument of tanh to float32.
  if (function == Function::kTanh && way.tanh_by_exp) way.unit = block_arithmetic(way.unit);
  const auto change = [&](auto* values, std::int64_t n) { take_steps<function>(way, n, values); };
  return fits_float32(way.unit)
             ? changed<float>(c, call.output, way.unit.overflow, call.threads, change)
             : changed<double>(c, call.output, way.unit.overflow, call.threads, change);
}

// Computes the golden function. If a case of gelu selects the formula with tanh, that formula's
// golden function is used.
template <simd::GoldenFunction golden>
Tensor function_reference(const ReferenceCall& call) {
  using enum simd::GoldenFunction;
  const Case& c = call.test_case;
  (void)operand_format(c, {"x"}, call.output);  // refuses operands that are not floats
  const auto function = golden == kGelu && by_tanh(c) ? kGeluTanh : golden;
  return changed<double>(c, call.output, overflow_of(c), call.threads,
                         [&](double* values, std::int64_t n) {
                           function_references(function, static_cast<std::size_t>(n), values);
                         });
}

// Properties of the steps by which a machine computes a result. The error of the result depends on
// them.
struct Path {
  const FunctionError* called;  // the library function that the steps call
  const Format* unit;           // the format that the steps compute in
  bool tanh_by_exp, saturates, fast;
};

// Returns the function that a machine's library calls to compute this operator.
template <Function function>
std::string_view called(const Case& c, bool tanh_by_exp) {
  switch (function) {
    case Function::kLog:
      return "log";
    case Function::kSqrt:
      return "sqrt";
    case Function::kRsqrt:
      return "rsqrt";
    case Function::kTanh:
      return tanh_by_exp ? "exp" : "tanh";
    case Function::kGelu:
      return !by_tanh(c) ? "erf" : tanh_by_exp ? "exp" : "tanh";
    default:
      return "exp";
  }
}

bool takes(const VectorModel& model, const Format& f) {
  return find_row(model.formats, f.name, &VectorFormat::input) != nullptr;
}

template <Function function>
Path path_of(const Case& c, const VectorModel& model, const Format& computed) {
  const Format* unit = &format_named(vector_format(model, computed).unit.value);
  const bool by_exp = model.tanh_by_exp.value;
  if (function == Function::kTanh && by_exp) unit = block_arithmetic({unit}).format;
  const FunctionLibrary* library = &function_library(model.functions.value);
  if (flag_of(c, "fast_functions")) {
    const FunctionLibrary* fast = fast_functions_of(library->name);
    if (fast != nullptr) library = fast;
  }
  const std::string_view name = called<function>(c, by_exp);
  const FunctionError* row = find_function_error_or_default(*library, name, *unit);
  if (row == nullptr) {
    throw std::logic_error(
        formatted("no row for {} in {} of the library {}", name, unit->name, library->name));
  }
  return {row, unit, by_exp,
          c.flag("saturate").value_or(model.overflow.value == Overflow::kSaturate),
          !library->fast_of.empty()};
}

// Returns the path of the machine, or those of all machines that take the operands if no machine is
// named. Operands that no unit takes (8-bit floats) are widened to float32.
template <Function function>
std::vector<Path> paths_of(const Case& c, const Machine& machine, const Format& input) {
  const std::span<const VectorModel> models = vector_models();
  const Format& asked = compute_format(c, input);
  const bool taken =
      std::ranges::any_of(models, [&](const VectorModel& model) { return takes(model, asked); });
  const Format& computed = taken ? asked : format_named("float32");
  if (const VectorModel* model = find_vector_model(machine.family())) {
    return {path_of<function>(c, *model, computed)};
  }
  std::vector<Path> paths;
  for (const VectorModel& model : models) {
    if (!takes(model, computed)) continue;
    const Path path = path_of<function>(c, model, computed);
    const bool known = std::ranges::any_of(paths, [&](const Path& other) {
      return other.called == path.called && other.unit == path.unit &&
             other.saturates == path.saturates;
    });
    if (!known) paths.push_back(path);
  }
  return paths;
}

// The range of finite inputs x that a tolerance depends on. `lowest` is the largest -x, at least 0.
// `largest` is the largest |x| up to 104, beyond which exp in float32 is 0 or infinite.
struct Reach {
  double lowest = 0, largest = 0;
};

template <Function function>
DerivedTolerance path_tolerance(const Case& c, const Path& path, const Format& output,
                                const Reach& reach) {
  const Format& unit = *path.unit;
  const FunctionError& row = *path.called;
  const RoundoffBounds bounds = roundoff_bounds_in(c, unit, output);
  require_result_range_in(c, unit, output);
  const double f = relative_error(row, unit, reach.largest);
  const double u = bounds.unit, largest = max_finite(unit);
  // If exp(-x) overflows in the unit, the result is x over the largest number or, in IEEE
  // arithmetic, 0. The error is then at most the exact result.
  const double end = std::log(largest) + 1;
  const double overflow = (path.saturates ? reach.lowest : std::min(reach.lowest, end)) / largest;
  const double quotient = path.fast ? 5 * u : u;  // a fast quotient errs by 2 ulps more
  double relative = f, absolute = row.absolute;
  std::string steps;
  if (function == Function::kSigmoid || function == Function::kSilu) {
    relative = f + u + quotient;
    absolute = function == Function::kSigmoid ? 1 / largest : overflow;
    steps = ", a sum and a quotient, each rounded";
  } else if (function == Function::kTanh && path.tanh_by_exp) {
    // tanh is (e - 1) / (e + 1). e - 1 keeps the absolute error of e, and x is limited to +-8.8.
    relative = 2 * f + 3 * u;
    absolute = f + 4.6e-8;
    steps = ", tanh through it";
  } else if (function == Function::kGelu) {
    // Half of the largest -x that matters: below x = -6 (-9 in float64), 1 + erf and 1 + tanh are
    // 0.
    const double held = std::min(reach.lowest, unit.is_float64() ? 9.0 : 6.0) / 2;
    relative = f + 2 * u + quotient;
    // The roundings of the argument of exp, 7 u, times x w e^-w / (1 + e^-w)^2, where w = -the
    // argument and u is the unit roundoff. This factor is at most 0.2643, and at most 0.4 x^2.
    const double of_argument = std::min(1.85, 2.8 * reach.largest * reach.largest) * u;
    absolute = by_tanh(c) ? of_argument + held * f + overflow : held * (0.97 * u + f);
    steps = " and each step rounded; 1 + erf and 1 + tanh keep absolute errors";
  }
  relative = relative / (1 - 4 * relative);  // the higher orders
  const double rtol = bounds.of(relative);
  const double flushed = path.fast ? min_normal(unit) : 0;
  const double tiny = (4 + 2 * std::min(row.ulps_at(reach.largest), 1e3)) * bounds.tiny;
  return {rtol, (1 + rtol) * absolute * (1 + 8 * u) + tiny + flushed,
          formatted("rtol, atol: {} in {} within {} ({}){}; without overflow{}", row.function,
                    unit.name, row.text(), row.library, steps,
                    bounds.output > 0 ? formatted(", and one rounding to {}", output.name) : "")};
}

template <Function function>
DerivedTolerance function_tolerance(const Case& c, const Machine& machine) {
  const Format& output = output_format(c);
  const Format& input = operand_format(c, {"x"}, output);
  constexpr double kExpEnd = 104;
  Reach reach;
  for (const double x : c.input("x").view().values()) {
    // For -infinity, the results of silu and GELU differ between units. NaN and other infinities do
    // not change the tolerance.
    if ((function == Function::kSilu || function == Function::kGelu) && x < 0 && std::isinf(x)) {
      refuse_case(c.name, "no tolerance can be derived: its inputs hold -infinity");
    }
    if (std::isfinite(x)) reach.lowest = std::max(reach.lowest, -x);
    if (std::abs(x) <= kExpEnd) reach.largest = std::max(reach.largest, std::abs(x));
  }
  DerivedTolerance widest{-1, 0, ""};
  for (const Path& path : paths_of<function>(c, machine, input)) {
    const DerivedTolerance one = path_tolerance<function>(c, path, output, reach);
    if (one.rtol > widest.rtol) widest.why = one.why;
    widest.rtol = std::max(widest.rtol, one.rtol);
    widest.atol = std::max(widest.atol, one.atol);
  }
  return widest;
}

// Returns the common part of all operators of this family.
template <Function function, simd::GoldenFunction golden>
Operator function_row(const char* name, const char* summary,
                      std::vector<Parameter> parameters = {}) {
  parameters.push_back(
      flag_parameter("fast_functions",
                     "whether results may be as inexact as the machine's fast functions (CUDA's "
                     "intrinsics), if these are known. It does not change emulated results"));
  return {.name = name,
          .summary = summary,
          .inputs = {{.name = "x", .shape = "(...)"}},
          .parameters = unit_parameters(std::move(parameters), true),
          .run = run_function<function>,
          .reference = function_reference<golden>,
          .output_format = computed_format,
          .no_element_bounds =
              "each element is computed separately, and its tolerance says how far it may be off",
          .tolerance = [](const Case& c) { return function_tolerance<function>(c, any_machine()); },
          .machine_tolerance = function_tolerance<function>,
          .generate = generate_vector};
}

}  // namespace

std::vector<Operator> function_operators() {
  using enum simd::GoldenFunction;
  return {function_row<Function::kExp, kExp>("exp", "e to the power of x"),
          function_row<Function::kLog, kLog>("log", "the natural logarithm of x"),
          function_row<Function::kSqrt, kSqrt>("sqrt", "the square root of x"),
          function_row<Function::kRsqrt, kRsqrt>("rsqrt", "1 / sqrt(x)"),
          function_row<Function::kTanh, kTanh>("tanh", "the hyperbolic tangent of x"),
          function_row<Function::kSigmoid, kSigmoid>("sigmoid", "1 / (1 + exp(-x))"),
          function_row<Function::kSilu, kSilu>("silu", "x / (1 + exp(-x))"),
          function_row<Function::kGelu, kGelu>("gelu", "x Phi(x)", {approximate_parameter()})};
}

}  // namespace assay
