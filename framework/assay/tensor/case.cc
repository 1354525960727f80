#include "assay/tensor/case.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "assay/base/error.h"
#include "assay/base/text.h"

namespace assay {
namespace {

const Attribute* find(const Case& c, std::string_view name) {
  const auto at = c.attributes.find(std::string(name));
  return at == c.attributes.end() ? nullptr : &at->second;
}

[[noreturn]] void wrong_type(const Case& c, std::string_view name, std::string_view wanted) {
  throw CaseError(c.name, formatted("attribute '{}' must be {}, but it is '{}'", name, wanted,
                                    attribute_text(*find(c, name))));
}

// Whether outputs are narrower than the accumulator of their products.
bool is_cast(const Format& output) { return output.is_float() && output.precision < 24; }
std::string not_cast(const Format& output) {
  return formatted("{} outputs are not cast: there is no residual", output.name);
}
bool is_wide(const Format& f) { return f.name == "float32" || f.name == "float64"; }

}  // namespace

std::string attribute_text(const Attribute& attribute) {
  if (const auto* i = std::get_if<std::int64_t>(&attribute)) return formatted("{}", *i);
  if (const auto* d = std::get_if<double>(&attribute)) return number_text(*d);
  return std::get<std::string>(attribute);
}

std::string Epilogue::why_no_accumulator(const Format& f, const Shape& accumulator,
                                         const Format& output, const Shape& shape) {
  if (!is_cast(output)) return not_cast(output);
  if (is_wide(f) && accumulator == shape) return "";
  return formatted(
      "an accumulator {} {} of the output {} {}: before its cast it is float32 (or float64) and of "
      "the same shape",
      f.name, shape_text(accumulator), output.name, shape_text(shape));
}

std::string Epilogue::why_no_residual(const Format& f, const Shape& residual, const Format& output,
                                      const Shape& shape) {
  if (!is_cast(output)) return not_cast(output);
  bool fits = is_wide(f) && shape.size() >= 2 && residual.size() == shape.size() &&
              residual.back() <= shape.back();
  for (std::size_t d = 0; fits && d + 1 < shape.size(); ++d) fits = residual[d] == shape[d];
  if (fits) return "";
  return formatted(
      "a residual {} {} of the output {} {}: R is float32 (or float64), [..., M, checks of a row]",
      f.name, shape_text(residual), output.name, shape_text(shape));
}

std::string Epilogue::why_not(const Format& output, const Shape& shape) const {
  std::string why;
  if (!accumulator.empty()) {
    why = why_no_accumulator(accumulator.format(), accumulator.shape(), output, shape);
  }
  if (why.empty() && !residual.empty()) {
    why = why_no_residual(residual.format(), residual.shape(), output, shape);
  }
  return why;
}

std::optional<std::string> Case::text(std::string_view attribute) const {
  const Attribute* found = find(*this, attribute);
  if (found == nullptr) return std::nullopt;
  if (const auto* s = std::get_if<std::string>(found)) return *s;
  wrong_type(*this, attribute, "a string");
}

std::optional<std::int64_t> Case::integer(std::string_view attribute) const {
  const Attribute* found = find(*this, attribute);
  if (found == nullptr) return std::nullopt;
  if (const auto* i = std::get_if<std::int64_t>(found)) return *i;
  if (const auto* d = std::get_if<double>(found);
      d && std::abs(*d) < 0x1p62 && *d == std::floor(*d)) {
    return static_cast<std::int64_t>(*d);
  }
  wrong_type(*this, attribute, "an integer");
}

std::optional<double> Case::real(std::string_view attribute) const {
  const Attribute* found = find(*this, attribute);
  if (found == nullptr) return std::nullopt;
  if (const auto* i = std::get_if<std::int64_t>(found)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(found)) return *d;
  wrong_type(*this, attribute, "a number");
}

std::optional<bool> Case::flag(std::string_view attribute) const {
  const Attribute* found = find(*this, attribute);
  if (found == nullptr) return std::nullopt;
  const std::string word = attribute_text(*found);
  if (word == "0" || word == "false") return false;
  if (word == "1" || word == "true") return true;
  wrong_type(*this, attribute, "0 or 1");
}

std::vector<std::string> Case::tags() const { return split(text("tags").value_or(""), ','); }

const Tensor& Case::input(const std::string& operand) const {
  const auto at = inputs.find(operand);
  if (at != inputs.end()) return at->second;
  std::vector<std::string> names;
  for (const auto& [known, tensor] : inputs) names.push_back(known);
  throw CaseError(name, formatted("{} needs the input '{}'; its inputs are {}",
                                  op.empty() ? "the operator" : op, operand, joined(names)));
}

const Format* Case::input_format(const std::string& operand) const {
  if (const auto read = inputs.find(operand); read != inputs.end()) return &read->second.format();
  const auto unread = unread_inputs.find(operand);
  return unread != unread_inputs.end() ? unread->second : nullptr;
}

const Tensor& Case::golden_tensor() const {
  if (golden) return *golden;
  if (!results.empty()) {
    throw CaseError(name, "has several outputs; one_output() gives the case of one");
  }
  throw std::invalid_argument(
      formatted("case {} has no golden result; `assay golden` computes one from the inputs", name));
}

namespace {

// Of a case, or of one of its outputs.
template <typename Of>
bool take_dtype(Of& of, const Format& output) {
  if (!of.output_dtype_is_open || !of.golden || !has_more_precision(of.golden->format(), output)) {
    return false;
  }
  of.attributes["output_dtype"] = std::string(output.name);
  of.output_dtype_is_open = false;
  return true;
}

}  // namespace

bool CaseOutput::take_output_dtype(const Format& output) { return take_dtype(*this, output); }

bool Case::take_output_dtype(const Format& output) { return take_dtype(*this, output); }

Case one_output(const Case& c, const std::string& output) {
  const auto result = c.results.find(output);
  if (result == c.results.end()) {
    std::vector<std::string> names;
    for (const auto& [name, other] : c.results) names.push_back(name);
    throw CaseError(c.name,
                    formatted("has no output '{}'; {}", output,
                              names.empty() ? "it has one, without a name"
                                            : formatted("its outputs are {}", joined(names))));
  }
  const CaseOutput& of = result->second;
  Case one;
  one.name = c.name;
  one.file = c.file;
  one.op = c.op;
  one.attributes = of.attributes;
  one.attributes.insert(c.attributes.begin(), c.attributes.end());
  one.inputs = c.inputs;
  one.absent_inputs = c.absent_inputs;
  one.unread_inputs = c.unread_inputs;
  one.output_dtype_is_open = of.output_dtype_is_open;
  one.golden = of.golden;
  one.outputs = of.outputs;
  one.epilogues = of.epilogues;
  one.output_machines = of.output_machines;
  one.output_name = output;
  return one;
}

bool is_case_name(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.back() == '/' ||
      name.find("//") != std::string_view::npos) {
    return false;
  }
  for (const std::string& part : split(name, '/')) {
    for (const char* reserved : {"inputs", "outputs", "golden", ".", ".."}) {
      if (part == reserved) return false;
    }
    for (const char c : part) {
      const bool allowed = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                           (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '=';
      if (!allowed) return false;
    }
  }
  return true;
}

}  // namespace assay
