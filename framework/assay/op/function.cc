#include "assay/op/function.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/op/function_reference.h"
#include "assay/op/generate.h"
#include "assay/op/unit.h"

namespace assay {
namespace {

constexpr double kTanhEnd = 8.8;                    // where tanh through exp holds x
constexpr double kHalfRoot = 0x1.6a09e667f3bcdp-1;  // sqrt(1 / 2)
constexpr double kGeluCube = 0.044715;
constexpr double kGeluScale = 0x1.9884533d43651p-1;  // sqrt(2 / pi)

enum class Function : std::uint8_t { kExp, kLog, kSqrt, kRsqrt, kTanh, kSigmoid, kSilu, kGelu };

// Whether gelu is asked for by its formula with tanh.
bool by_tanh(const Case& c) { return word_of(c, "approximate") == "tanh"; }

// The steps of a function on the vector unit, each rounded: docs/operators/functions.md lists them.
template <typename T>
class FunctionSteps {
 public:
  FunctionSteps(const VectorArithmetic& unit, std::int64_t n)
      : unit_(unit), n_(n), scratch_(static_cast<std::size_t>(n)) {}

  // x becomes f(x).
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
  // With a constant, rounded to the unit's format.
  void apply(VectorOp op, const T* x, double constant, T* to) const {
    const T rounded = static_cast<T>(round_to(*unit_.format, constant));
    vector_apply(unit_, op, n_, x, {&rounded, true}, x, to);
  }
  // x = dividend / (1 + exp(-x)), 1 where it is nullptr.
  void divided_by_one_plus_exp(const T* dividend, T* x) const {
    apply(VectorOp::kMul, x, -1, x);
    function(VectorOp::kExp, x);
    apply(VectorOp::kAdd, x, 1, x);
    const T one = 1;
    const VectorOperand<T> above =
        dividend == nullptr ? VectorOperand<T>(&one, true) : VectorOperand<T>(dividend);
    vector_apply(unit_, VectorOp::kDiv, n_, above, x, x, x);
  }
  // x = (x / 2) (1 + scratch).
  void times_half_one_plus(T* x) {
    apply(VectorOp::kAdd, scratch_.data(), 1, scratch_.data());
    apply(VectorOp::kMul, x, 0.5, x);
    vector_apply(unit_, VectorOp::kMul, n_, x, scratch_.data(), x, x);
  }

  const VectorArithmetic& unit_;
  std::int64_t n_;
  std::vector<T> scratch_;
};

// How a case's function is computed.
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

// The result in `output`: change(values, n) turns elements of x, as T, into the function's values.
template <typename T, typename Change>
Tensor changed(const Case& c, const Format& output, Overflow overflow, int threads,
               const Change& change) {
  const Tensor& x = c.input("x");
  Tensor result(output, x.shape());
  constexpr std::int64_t kPart = 1 << 12;
  const std::int64_t count = result.size();
  parallel_for((count + kPart - 1) / kPart, threads, [&](std::int64_t part) {
    const std::int64_t begin = part * kPart, n = std::min(kPart, count - begin);
    std::vector<T> values(static_cast<std::size_t>(n));
    read_values(x, begin, n, values.data());
    change(values.data(), n);
    store_values(c, output, overflow, values.data(), n,
                 result.bytes() + begin * output.storage_bytes);
  });
  return result;
}

template <Function function>
Tensor run_function(const Call& call) {
  const Case& c = call.test_case;
  const Format& input = operand_format(c, {"x"}, call.output);
  Way way{arithmetic_of(call, input), vector_model(call.machine).tanh_by_exp.value,
          function == Function::kGelu && by_tanh(c)};
  // The vendor's library widens its argument of tanh.
  if (function == Function::kTanh && way.tanh_by_exp) way.unit = block_arithmetic(way.unit);
  const auto change = [&](auto* values, std::int64_t n) { take_steps<function>(way, n, values); };
  return fits_float32(way.unit)
             ? changed<float>(c, call.output, way.unit.overflow, call.threads, change)
             : changed<double>(c, call.output, way.unit.overflow, call.threads, change);
}

// By the golden function; of gelu by `by_formula` where the case asks for its formula with tanh.
template <double (*golden)(double), double (*by_formula)(double)>
Tensor function_reference(const ReferenceCall& call) {
  const Case& c = call.test_case;
  (void)operand_format(c, {"x"}, call.output);  // refuses what is not float
  const bool formula = golden != by_formula && by_tanh(c);
  return changed<double>(
      c, call.output, overflow_of(c), call.threads, [&](double* values, std::int64_t n) {
        std::transform(values, values + n, values, formula ? by_formula : golden);
      });
}

template <Function function>
DerivedTolerance function_tolerance(const Case& c) {
  const Format& output = c.output_format();
  const Format& input = operand_format(c, {"x"}, output);
  const Format& unit = unit_format(c, input);
  const RoundoffBounds bounds = roundoff_bounds(c, input, output);
  require_result_range(c, input, output);
  const double u = bounds.unit;
  const double f = function_error(unit);
  const double largest = max_finite(unit);
  double lowest = 0;  // the most negative x
  if (function == Function::kSilu || function == Function::kGelu) {
    for (const double x : c.input("x").view().values()) {
      if (!std::isfinite(x)) {
        throw CaseError(c.name, "no tolerance can be derived: its inputs hold NaN or infinity");
      }
      lowest = std::max(lowest, -x);
    }
  }
  // Where the unit's exp(-x) overflows, the result is 0 or x over the largest number.
  const double overflow = lowest / largest;
  double relative = f, absolute = 0;
  std::string why = "one rounding";
  if (function == Function::kSigmoid || function == Function::kSilu) {
    relative = f + 2 * u;
    absolute = function == Function::kSigmoid ? 1 / largest : overflow;
    why = "exp, a sum and a quotient, each rounded";
  } else if (function == Function::kTanh && !unit.is_float64()) {
    // Through exp in float32: e - 1 keeps the error of e, and x is held at +-8.8.
    const double float32 = unit_roundoff(format_named("float32")),
                 wide = function_error(format_named("float32"));
    relative = std::max(f, 2 * wide + 3 * float32);
    absolute = wide + 4.6e-8;
    why = "through exp in float32 at the worst";
  } else if (function == Function::kGelu) {
    // Beyond it 1 + erf, 1 + tanh are 0.
    const double reach = std::min(lowest, unit.is_float64() ? 9.0 : 6.0) / 2;
    relative = f + 3 * u;
    absolute = by_tanh(c) ? 1.85 * u + reach * f + overflow : reach * (0.97 * u + f);
    why = "each step rounded; 1 + erf and 1 + tanh keep absolute errors";
  }
  relative = relative / (1 - 4 * relative);  // the higher orders
  const double rtol = bounds.of(relative);
  return {rtol, (1 + rtol) * absolute * (1 + 8 * u) + 4 * bounds.tiny,
          format("rtol, atol: {}{}; without overflow", why,
                 bounds.output > 0 ? format(", and one rounding to {}", output.name) : "")};
}

// What the rows of this family have in common.
template <Function function, double (*golden)(double), double (*by_formula)(double) = golden>
Operator function_row(const char* name, const char* summary,
                      std::vector<Parameter> parameters = {}) {
  return {.name = name,
          .summary = summary,
          .inputs = {{.name = "x", .shape = "(...)"}},
          .parameters = unit_parameters(std::move(parameters), true),
          .run = run_function<function>,
          .reference = function_reference<golden, by_formula>,
          .output_format = computed_format,
          .no_element_bounds =
              "each element is computed by itself: its tolerance says how far it "
              "may be off",
          .tolerance = function_tolerance<function>,
          .generate = generate_vector};
}

}  // namespace

std::vector<Operator> function_operators() {
  return {function_row<Function::kExp, exp_reference>("exp", "e to the power of x"),
          function_row<Function::kLog, log_reference>("log", "the natural logarithm of x"),
          function_row<Function::kSqrt, sqrt_reference>("sqrt", "the square root of x"),
          function_row<Function::kRsqrt, rsqrt_reference>("rsqrt", "1 / sqrt(x)"),
          function_row<Function::kTanh, tanh_reference>("tanh", "the hyperbolic tangent of x"),
          function_row<Function::kSigmoid, sigmoid_reference>("sigmoid", "1 / (1 + exp(-x))"),
          function_row<Function::kSilu, silu_reference>("silu", "x / (1 + exp(-x))"),
          function_row<Function::kGelu, gelu_reference, gelu_tanh_reference>(
              "gelu", "x Phi(x)",
              {{.name = "approximate",
                .kind = ParameterKind::kWord,
                .otherwise = "none",
                .choices = {"none", "tanh"},
                .words = "tanh: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))"}})};
}

}  // namespace assay
