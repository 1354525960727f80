#include "assay/op/registered.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2 {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_plain(std::string_view name) {
  return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

void check_name(std::string_view name) {
  if (name.empty()) refuse("an operator to register needs a name");
  // Names of generated cases begin with the name of their operator. A few words cannot begin the
  // name of a case.
  if (!is_plain(name) || !is_case_name(name)) {
    refuse(
        "the operator name '{}' cannot be used; a name has letters, digits and underscores, begins "
        "with a letter, and is not inputs, outputs or golden",
        name);
  }
}

// Checks names of one kind: each is well-formed and occurs once.
template <typename Row>
void check_names(const Operator& row, const std::vector<Row>& named, std::string_view what) {
  std::set<std::string> seen;
  for (const Row& each : named) {
    if (!is_plain(each.name)) {
      refuse_row(row, formatted("the {} name '{}' must have only letters, digits and underscores, "
                                "and begin with a letter",
                                what, each.name));
    }
    if (!seen.insert(each.name).second) {
      refuse_row(row, formatted("it has the {} '{}' twice", what, each.name));
    }
  }
}

// Checks one parameter without the others: its default must be a value that a case could give.
void check_parameter(const Operator& row, const Parameter& p) {
  if (is_case_attribute(p.name) && p.name != "output_dtype") {
    refuse_row(row, formatted("its parameter '{}' has the name of an attribute that every case may "
                              "have; choose another name",
                              p.name));
  }
  if (p.kind == ParameterKind::kWord && p.choices.empty()) {
    refuse_row(
        row,
        formatted("its parameter '{}' is a word without choices; list the words that it may be",
                  p.name));
  }
  if (p.needed && !p.default_value.empty()) {
    refuse_row(row, formatted("its parameter '{}' is needed but has a default; drop one of the two",
                              p.name));
  }
  std::string problem;
  try {
    Operator alone{.name = row.name, .parameters = {p}};
    if (const auto value = default_value(p)) {
      problem = parameter_problem(alone, {{p.name, *value}});
    }
  } catch (const Refusal& e) {
    problem = e.what();
  }
  if (!problem.empty()) refuse_row(row, problem);
}

// Returns a text of all that the shape of a result depends on: the operator, the dtypes and shapes
// of the inputs, and the operator's parameters. If two cases have the same text, their results have
// the same shape.
std::string kind_of(const Case& c, const Operator& op) {
  std::string kind = c.op;
  for (const auto& [name, tensor] : c.inputs) {
    kind += formatted(" {} {} {}", name, tensor.format().name, shape_text(tensor.shape()));
  }
  for (const Parameter& p : op.parameters) {
    const auto value = c.attributes.find(p.name);
    if (value != c.attributes.end())
      kind += formatted(" {}={}", p.name, attribute_text(value->second));
  }
  return kind;
}

}  // namespace

void refuse_row(const Operator& row, std::string_view why) {
  refuse("the operator '{}' cannot be registered: {}", row.name, why);
}

void check_row(const Operator& row) {
  check_name(row.name);
  if (row.inputs.empty()) {
    refuse_row(
        row,
        R"text(`inputs` is empty; name each input and its shape, as in {{"x", "(...)"}, {"gate", "(...)"}})text");
  }
  check_names(row, row.inputs, "input");
  check_names(row, row.parameters, "parameter");
  for (const Parameter& p : row.parameters) check_parameter(row, p);
  if (!is_plain(row.output)) {
    refuse_row(row, formatted("the name '{}' of its output must have only letters, digits and "
                              "underscores, and begin with a letter",
                              row.output));
  }
  if (row.run == nullptr) refuse_row(row, "it has no `run`");
  if (row.reference == nullptr) {
    refuse_row(row, "it has no `reference`; a golden result never comes from the code under test");
  }
  const auto has_input = [&](std::string_view name) {
    return find_row(row.inputs, name, &OperatorInput::name) != nullptr;
  };
  if (row.product && !(has_input("a") && has_input("b"))) {
    refuse_row(row,
               "it is registered as a product, but does not have the inputs a and b; name its "
               "operands a and b");
  }
}

const Format& golden_format(const Case& c) {
  const Format& output = output_format(c);
  return output.is_float() ? format_named("float64") : output;
}

Tensor reference_result(const Operator& op, const ReferenceCall& call) {
  Tensor golden = op.reference(call);
  if (golden.empty() || &golden.format() != &call.output) {
    const Case& c = call.test_case;
    refuse_case(c.name,
                "the reference of '{}' gave {}, but the golden result of a {} result must be {}",
                op.name, golden.empty() ? "nothing" : golden.format().name, output_format(c).name,
                call.output.name);
  }
  return golden;
}

void check_result(const Case& c, const Operator& op, const Tensor& result, int threads) {
  const Format& output = output_format(c);
  if (result.empty() || &result.format() != &output) {
    refuse_case(c.name, "the operator '{}' gave {}, but the case's output dtype is {}", op.name,
                result.empty() ? "nothing" : result.format().name, output.name);
  }
  static std::mutex mutex;
  static std::set<std::string> checked;
  const std::string kind = c.output().golden ? "" : kind_of(c, op);
  if (!c.output().golden) {
    const std::lock_guard lock(mutex);
    if (checked.count(kind) != 0) return;
  }
  const Shape golden = c.output().golden
                           ? c.output().golden->shape()
                           : reference_result(op, {c, golden_format(c), threads}).shape();
  if (result.shape() != golden) {
    refuse_case(c.name, "the operator '{}' gave a result of shape {}, but its golden result has {}",
                op.name, shape_text(result.shape()), shape_text(golden));
  }
  if (c.output().golden) return;
  const std::lock_guard lock(mutex);
  checked.insert(kind);
}

}  // namespace assay
