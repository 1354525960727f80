#include "assay/op/registered.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <stdexcept>

#include "assay/base/text.h"

namespace assay {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

void check_name(std::string_view name) {
  if (name.empty()) throw std::invalid_argument("an operator to register needs a name");
  const bool plain = is_letter(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
                       return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
                     });
  // The names of cases that are made of it begin with it, which a few words may not.
  if (!plain || !is_case_name(name)) {
    throw std::invalid_argument(
        format("the operator name '{}' cannot be used: a name has letters, digits and underscores, "
               "a letter first, and is none of inputs, outputs and golden",
               name));
  }
}

// What decides the shape of a result.
std::string kind_of(const Case& c, const Operator& op) {
  std::string kind = c.op;
  for (const auto& [name, tensor] : c.inputs) {
    kind += format(" {} {} {}", name, tensor.format().name, shape_text(tensor.shape()));
  }
  for (const std::string& name : split(op.parameters, ' ')) {
    const auto value = c.attributes.find(name);
    if (value != c.attributes.end()) kind += format(" {}={}", name, attribute_text(value->second));
  }
  return kind;
}

}  // namespace

void check_row(const Operator& row) {
  check_name(row.name);
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(
        format("the operator '{}' cannot be registered: {}", row.name, why));
  };
  if (const Operator* taken = find_operator(row.name)) {
    refuse(taken->reference == nullptr ? "assay has one of that name" : "it is registered already");
  }
  if (first_input(row).empty()) refuse("it names no inputs, as in \"x (...), gate (...)\"");
  if (row.run == nullptr) refuse("it has no `run`");
  if (row.reference == nullptr) {
    refuse("it has no `reference`; a golden result never comes from the code under test");
  }
}

OutputRule output_rule(const Operator& row) {
  if (row.output_format != nullptr) return row.output_format;
  return [first = first_input(row)](const Case& c) -> const Format& {
    if (const Format* found = c.input_format(first)) return *found;
    const bool golden_alone = c.golden && c.inputs.empty() && c.unread_inputs.empty();
    return golden_alone ? c.golden->format() : c.input(first).format();
  };
}

Tensor reference_result(const Case& c, const Operator& op, int threads) {
  Tensor golden = op.reference(c, threads);
  const Format& output = c.output_format();
  const Format& wanted = output.is_float() ? format_named("float64") : output;
  if (golden.empty() || &golden.format() != &wanted) {
    throw std::invalid_argument(format(
        "case {}: the reference of '{}' gave {}; the golden result of a {} result is {}", c.name,
        op.name, golden.empty() ? "nothing" : golden.format().name, output.name, wanted.name));
  }
  return golden;
}

void check_result(const Case& c, const Operator& op, const Tensor& result, int threads) {
  const Format& output = c.output_format();
  if (result.empty() || &result.format() != &output) {
    throw std::invalid_argument(
        format("case {}: the operator '{}' gave {}; the case's output dtype is {}", c.name, op.name,
               result.empty() ? "nothing" : result.format().name, output.name));
  }
  static std::mutex mutex;
  static std::set<std::string> checked;
  const std::string kind = c.golden ? "" : kind_of(c, op);
  if (!c.golden) {
    const std::lock_guard lock(mutex);
    if (checked.count(kind) != 0) return;
  }
  const Shape golden = c.golden ? c.golden->shape() : reference_result(c, op, threads).shape();
  if (result.shape() != golden) {
    throw std::invalid_argument(
        format("case {}: the operator '{}' gave a result of shape {}; its golden result has {}",
               c.name, op.name, shape_text(result.shape()), shape_text(golden)));
  }
  if (c.golden) return;
  const std::lock_guard lock(mutex);
  checked.insert(kind);
}

}  // namespace assay
