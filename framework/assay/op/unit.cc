#include "assay/op/unit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "assay/base/text.h"
#include "assay/format/convert.h"

namespace assay::inline v0_2 {

namespace {

std::optional<Overflow> asked_overflow(const Case& c) {
  const auto saturate = c.flag("saturate");
  if (!saturate) return std::nullopt;
  return *saturate ? Overflow::kSaturate : Overflow::kIeee;
}

std::optional<Subnormals> asked_subnormals(const Case& c) {
  const auto word = c.text("subnormals");
  if (!word) return std::nullopt;
  return *word == subnormals_word(Subnormals::kFlush) ? Subnormals::kFlush : Subnormals::kGradual;
}

template <typename T>
void clamp_values(double largest, T* values, std::int64_t n) {
  // If T is float, the limit must lie within float32's range.
  const T most =
      static_cast<T>(std::min(largest, static_cast<double>(std::numeric_limits<T>::max())));
  for (std::int64_t i = 0; i < n; ++i) {
    const T v = values[i];
    const T held = v > most ? most : v < -most ? -most : v;
    values[i] = std::isnan(v) ? T{0} : held;
  }
}

}  // namespace

std::vector<Parameter> unit_parameters(std::vector<Parameter> own, bool widens) {
  if (widens) {
    own.push_back(dtype_parameter("compute_dtype",
                                  "dtype to which operands are widened first, float32 or float64. "
                                  "If it is not given, they keep their own"));
  }
  own.push_back(dtype_parameter(
      "output_dtype", "dtype of the result. If it is not given, it is that of the operands"));
  own.push_back({.name = "saturate",
                 .words = "whether results beyond the range become the largest value, and NaN "
                          "becomes 0. If it is not given, the machine decides"});
  own.push_back(
      {.name = "subnormals",
       .kind = ParameterKind::kWord,
       .choices = {std::string(subnormals_word(Subnormals::kGradual)),
                   std::string(subnormals_word(Subnormals::kFlush))},
       .words = "whether subnormal numbers are kept. If it is not given, the machine decides"});
  return own;
}

Parameter fused_parameter() {
  return {.name = "fused",
          .words =
              "whether a multiply-add rounds only once. If it is not given, the machine's vector "
              "unit decides"};
}

Overflow overflow_of(const Case& c, const Machine& machine) {
  const auto asked = asked_overflow(c);
  return asked ? *asked : vector_model(machine).overflow.value;
}
Overflow overflow_of(const Case& c) { return asked_overflow(c).value_or(Overflow::kIeee); }

Subnormals subnormals_of(const Case& c, const Machine& machine) {
  const auto asked = asked_subnormals(c);
  return asked ? *asked : vector_model(machine).subnormals.value;
}
Subnormals subnormals_of(const Case& c) {
  return asked_subnormals(c).value_or(Subnormals::kGradual);
}

bool fused_of(const Case& c, const Machine& machine) {
  if (const auto fused = c.flag("fused")) return *fused;
  const VectorModel* unit = find_vector_model(machine);
  return unit == nullptr || unit->fused.value;
}

const Format* sums_format(const Case& c, const char* parameter) {
  const auto word = c.text(parameter);
  if (!word) return nullptr;
  const Format* f = find_format(*word);
  for (const char* name : {"float16", "bfloat16", "float32", "float64"}) {
    if (f == &format_named(name)) return f;
  }
  refuse_case(c.name, "{} is '{}'; sums are computed in float16, bfloat16, float32 or float64",
              parameter, *word);
}

namespace {

// Returns the format of `sum_dtype`, which must hold the operands, or nullptr if the case has none.
const Format* asked_sums(const Case& c, const Format& operands) {
  const Format* f = sums_format(c, "sum_dtype");
  if (f != nullptr &&
      (f->precision < operands.precision || f->exponent_bits < operands.exponent_bits)) {
    refuse_case(c.name, "sum_dtype is {}, which does not hold the {} operands", f->name,
                operands.name);
  }
  return f;
}

}  // namespace

const Format& compute_format(const Case& c, const Format& input) {
  const auto word = c.text("compute_dtype");
  if (!word) return input;
  const Format* wide = find_format(*word);
  const bool holds = wide != nullptr && (wide->name == "float32" || wide->is_float64()) &&
                     wide->precision >= input.precision;
  if (wide != &input && !holds) {
    refuse_case(c.name, "compute_dtype is '{}'; {} operands can be widened to {}", *word,
                input.name, input.is_float64() ? "float64" : "float32 or float64");
  }
  return *wide;
}

VectorArithmetic arithmetic_of(const Call& call, const Format& input) {
  const Case& c = call.test_case;
  const VectorModel& model = vector_model(call.machine);
  const Format& operands = compute_format(c, input);
  const Format* sums = asked_sums(c, operands);
  const VectorFormat& row = vector_format(model, operands);
  return {sums != nullptr ? sums : &format_named(row.unit.value), overflow_of(c, call.machine),
          subnormals_of(c, call.machine), c.flag("fused").value_or(model.fused.value)};
}

const Format& operand_format(const Case& c, const std::vector<const char*>& names,
                             const Format& output) {
  const Format& first = c.input(names.front()).format();
  for (const char* name : names) {
    const Format& f = c.input(name).format();
    if (!f.is_float()) {
      refuse_case(c.name, "{} takes float operands; {} is {}", c.op, name, f.name);
    }
    if (&f != &first) {
      refuse_case(c.name, "{} takes operands of one dtype; {} is {}, {} is {}", c.op, names.front(),
                  first.name, name, f.name);
    }
  }
  if (!output.is_float()) {
    refuse_case(
        c.name,
        "output_dtype is {1}, but {0} gives a float result; convert it with the operator cast",
        c.op, output.name);
  }
  return first;
}

void store_values(const Case& c, const Format& output, Overflow overflow, double* values,
                  std::int64_t n, std::byte* to) {
  if (overflow == Overflow::kSaturate) clamp_values(max_finite(output_format(c)), values, n);
  encode_array(output, values, static_cast<std::size_t>(n), to);
}

void store_values(const Case& c, const Format& output, Overflow overflow, float* values,
                  std::int64_t n, std::byte* to) {
  if (overflow == Overflow::kSaturate) clamp_values(max_finite(output_format(c)), values, n);
  encode_array(output, values, static_cast<std::size_t>(n), to);
}

const Format& unit_format(const Case& c, const Format& input) {
  const Format& computed = compute_format(c, input);
  if (const Format* sums = asked_sums(c, computed)) return *sums;
  const bool own = computed.name == "float16" || computed.is_float64();
  return own ? computed : format_named("float32");
}

void require_range(const Case& c, const Format& arithmetic, const char* what, double value) {
  if (value <= max_finite(arithmetic)) return;
  const Operator* op = find_operator(c.op);
  const bool widens = op != nullptr && find_parameter(*op, "compute_dtype") != nullptr;
  refuse_case(c.name,
              "no tolerance can be derived: {} may reach {}, beyond {}'s largest number, {}, where "
              "units saturate or overflow{}",
              what, short_number(value, 4), arithmetic.name,
              short_number(max_finite(arithmetic), 6),
              widens && arithmetic.name == "float16"
                  ? "; compute_dtype=float32 says that they compute in float32"
                  : "");
}

void require_result_range(const Case& c, const Format& input, const Format& output) {
  require_result_range_in(c, unit_format(c, input), output);
}

void require_result_range_in(const Case& c, const Format& unit, const Format& output) {
  if (max_finite(output) <= max_finite(unit)) return;
  for (const double v : golden_result(c).view().values()) {
    if (!std::isnan(v)) require_range(c, unit, "the result", std::abs(v));
  }
}

RoundoffBounds roundoff_bounds(const Case& c, const Format& input, const Format& output) {
  return roundoff_bounds_in(c, unit_format(c, input), output);
}

RoundoffBounds roundoff_bounds_in(const Case& c, const Format& unit, const Format& output) {
  if (subnormals_of(c) == Subnormals::kFlush) {
    refuse_case(c.name, "no tolerance can be derived: its subnormals are flushed");
  }
  const bool one = &unit == &output;
  return {unit_roundoff(unit), one ? 0 : unit_roundoff(output),
          (min_subnormal(unit) + (one ? 0 : min_subnormal(output))) / 2};
}

}  // namespace assay
