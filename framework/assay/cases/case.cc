#include "assay/cases/case.h"

#include <algorithm>
#include <cmath>

#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2 {
namespace {

const Attribute* find(const Case& c, std::string_view name) {
  const auto at = c.attributes.find(std::string(name));
  return at == c.attributes.end() ? nullptr : &at->second;
}

[[noreturn]] void wrong_type(const Case& c, std::string_view name, std::string_view wanted) {
  refuse_case(c.name, "attribute '{}' must be {}, but it is '{}'", name, wanted,
              attribute_text(*find(c, name)));
}

}  // namespace

std::string attribute_text(const Attribute& attribute) {
  if (const auto* i = std::get_if<std::int64_t>(&attribute)) return formatted("{}", *i);
  if (const auto* d = std::get_if<double>(&attribute)) return number_text(*d);
  return std::get<std::string>(attribute);
}

const CaseOutput& Case::output() const {
  static const CaseOutput none;
  if (outputs.size() > 1) {
    refuse_case(name, "has several outputs; name one of them: {}", joined(keys_of(outputs)));
  }
  return outputs.empty() ? none : outputs.begin()->second;
}

CaseOutput& Case::output() {
  if (outputs.empty()) return outputs[""];
  return const_cast<CaseOutput&>(std::as_const(*this).output());
}

std::string Case::output_name() const {
  (void)output();
  return outputs.empty() ? "" : outputs.begin()->first;
}

Case Case::without_tensors() const {
  Case header;
  header.name = name, header.op = op, header.file = file;
  header.attributes = attributes;
  header.absent_inputs = absent_inputs;
  for (const auto& [output, from] : outputs) {
    CaseOutput& to = header.outputs[output];
    to.attributes = from.attributes;
    to.output_dtype_is_open = from.output_dtype_is_open;
    for (const auto& [producer, recorded] : from.recorded) {
      if (!recorded.machine.empty()) to.recorded[producer].machine = recorded.machine;
    }
  }
  return header;
}

Case Case::only(const std::string& output) const {
  const auto found = outputs.find(output);
  if (found == outputs.end() && !has_output(output)) {
    refuse_case(name, "has no output '{}'; {}", output,
                names_outputs() ? "its outputs are " + joined(keys_of(outputs))
                                : "it has only one output, without a name");
  }
  Case one;
  static_cast<BasicCase<Tensor>&>(one) = {name, op, attributes, inputs, absent_inputs, {}};
  one.file = file;
  one.unread_inputs = unread_inputs;
  if (found != outputs.end()) {
    for (const auto& [attribute, value] : found->second.attributes) {
      one.attributes[attribute] = value;
    }
    one.outputs.emplace(*found);
  }
  return one;
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
  refuse_case(name, "{} needs the input '{}'; its inputs are {}", op.empty() ? "the operator" : op,
              operand, joined(keys_of(inputs)));
}

const Format* Case::input_format(const std::string& operand) const {
  if (const auto read = inputs.find(operand); read != inputs.end()) return &read->second.format();
  const auto unread = unread_inputs.find(operand);
  return unread != unread_inputs.end() ? unread->second : nullptr;
}

const Tensor& Case::golden_tensor() const {
  if (output().golden) return *output().golden;
  refuse("case {} has no golden result; compute one from its inputs", name);
}

bool Case::take_output_dtype(const std::string& output, const Format& format) {
  const auto found = outputs.find(output);
  if (found == outputs.end()) return false;
  CaseOutput& of = found->second;
  if (!of.output_dtype_is_open || !of.golden || !has_more_precision(of.golden->format(), format)) {
    return false;
  }
  const std::string dtype(format.name);
  if (names_outputs()) of.attributes["output_dtype"] = dtype;
  if (outputs.size() == 1) attributes["output_dtype"] = dtype;
  of.output_dtype_is_open = false;
  return true;
}

bool is_case_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '=';
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
    if (!std::ranges::all_of(part, is_case_character)) return false;
  }
  return true;
}

}  // namespace assay
