#include "assay/op/unit.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "assay/base/text.h"
#include "assay/format/convert.h"

namespace assay {

Overflow overflow_of(const Case& c, const Machine& machine) {
  if (const auto saturate = c.flag("saturate")) {
    return *saturate ? Overflow::kSaturate : Overflow::kIeee;
  }
  return machine.is_exact() ? Overflow::kIeee : vector_model(machine).overflow.value;
}

Subnormals subnormals_of(const Case& c, const Machine& machine) {
  if (const auto word = c.text("subnormals")) {
    for (const Subnormals policy : {Subnormals::kGradual, Subnormals::kFlush}) {
      if (*word == subnormals_word(policy)) return policy;
    }
    throw std::invalid_argument(
        format("case {}: subnormals is gradual or flush, not '{}'", c.name, *word));
  }
  return machine.is_exact() ? Subnormals::kGradual : vector_model(machine).subnormals.value;
}

const Format& compute_format(const Case& c, const Format& input) {
  const auto word = c.text("compute_dtype");
  if (!word) return input;
  const Format* wide = find_format(*word);
  const bool holds = wide != nullptr && (wide->name == "float32" || wide->is_float64()) &&
                     wide->precision >= input.precision;
  if (wide != &input && !holds) {
    throw std::invalid_argument(
        format("case {}: compute_dtype is '{}'; {} operands can be widened to {}", c.name, *word,
               input.name, input.is_float64() ? "float64" : "float32 or float64"));
  }
  return *wide;
}

VectorArithmetic arithmetic_of(const Call& call, const Format& input) {
  const Case& c = call.test_case;
  const VectorModel& model = vector_model(call.machine);
  const VectorFormat& row = vector_format(model, compute_format(c, input));
  return {&format_named(row.unit.value), overflow_of(c, call.machine),
          subnormals_of(c, call.machine), c.flag("fused").value_or(model.fused.value)};
}

const Format& operand_format(const Case& c, std::initializer_list<const char*> names,
                             const Format& output) {
  const Format& first = c.input(*names.begin()).format();
  for (const char* name : names) {
    const Format& f = c.input(name).format();
    if (!f.is_float()) {
      throw std::invalid_argument(
          format("case {}: {} takes float operands; {} is {}", c.name, c.op, name, f.name));
    }
    if (&f != &first) {
      throw std::invalid_argument(
          format("case {}: {} takes operands of one dtype; {} is {}, {} is {}", c.name, c.op,
                 *names.begin(), first.name, name, f.name));
    }
  }
  if (!output.is_float()) {
    throw std::invalid_argument(
        format("case {}: {} gives a float result, output_dtype is {}; the "
               "operator cast converts",
               c.name, c.op, output.name));
  }
  return first;
}

void store_values(const Call& call, Overflow overflow, double* values, std::int64_t n,
                  std::byte* to) {
  if (overflow == Overflow::kSaturate) {
    const double most = max_finite(call.test_case.output_format());
    for (std::int64_t i = 0; i < n; ++i) {
      values[i] = std::isnan(values[i]) ? 0.0 : std::clamp(values[i], -most, most);
    }
  }
  encode_array(call.output, values, static_cast<std::size_t>(n), to);
}

void store_values(const Call& call, Overflow overflow, float* values, std::int64_t n,
                  std::byte* to) {
  if (overflow == Overflow::kSaturate) {
    const double largest = max_finite(call.test_case.output_format());
    // Beyond float32 there is nothing to hold.
    const float most = static_cast<float>(std::min(largest, max_finite(format_named("float32"))));
    for (std::int64_t i = 0; i < n; ++i) {
      const float v = values[i];
      const float held = v > most ? most : v < -most ? -most : v;
      values[i] = v == v ? held : 0.0f;
    }
  }
  encode_array(call.output, values, static_cast<std::size_t>(n), to);
}

const Format& unit_format(const Case& c, const Format& input) {
  const Format& computed = compute_format(c, input);
  const bool own = computed.name == "float16" || computed.is_float64();
  return own ? computed : format_named("float32");
}

double function_error(const Format& unit) {
  return unit.is_float64() ? 6.1 * unit_roundoff(unit) : unit_roundoff(unit) + 0x1p-50;
}

RoundoffBounds roundoff_bounds(const Case& c, const Format& input, const Format& output) {
  if (subnormals_of(c, machine_named("exact")) == Subnormals::kFlush) {
    throw std::invalid_argument(
        format("case {}: no tolerance can be derived: its subnormals are flushed", c.name));
  }
  const Format& unit = unit_format(c, input);
  const bool one = &unit == &output;
  return {unit_roundoff(unit), one ? 0 : unit_roundoff(output),
          (min_subnormal(unit) + (one ? 0 : min_subnormal(output))) / 2};
}

}  // namespace assay
