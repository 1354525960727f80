#include "assay/gate/case_outputs.h"

#include <utility>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/gate/bounds.h"
#include "assay/judge/indices.h"
#include "assay/op/attributes.h"
#include "assay/op/operator.h"

namespace assay {
namespace {

constexpr const char* kOperatorOutput = "operator_output";

std::vector<std::string> names_of_outputs(const Case& c) {
  std::vector<std::string> names;
  for (const auto& [name, output] : c.results) names.push_back(name);
  return names;
}

// Of an output that no operator computes: no parameters of one.
void make_external(Case& c) {
  c.op = "external";
  c.attributes.erase(kOperatorOutput);
  std::erase_if(c.attributes,
                [](const auto& named) { return !name_problem("external", named.first).empty(); });
}

// An output of any float dtype has a golden result in float64.
void add_output_dtype(Case& c) {
  if (c.attributes.count("output_dtype") != 0 || !c.golden || c.golden->format().is_float64()) {
    return;
  }
  c.attributes["output_dtype"] = std::string(c.golden->format().name);
}

// Gives an output of indices the bound of the output that has the values at them, unless it has one
// of its own.
void add_value_bound(const Case& several, Case& c) {
  const auto values = c.text("value_output");
  if (!values) return;
  if (several.results.count(*values) == 0) {
    throw CaseError(c.name,
                    formatted("the value_output of '{}' is '{}', which is none of its outputs: "
                              "{}",
                              c.output_name, *values, joined(names_of_outputs(several))));
  }
  const auto& own = several.results.at(c.output_name).attributes;
  if (own.count("rtol") + own.count("atol") > 0) return;
  const Case of_values = one_output(several, *values);
  for (const char* name : {"rtol", "atol"}) {
    const auto given = of_values.attributes.find(name);
    if (given != of_values.attributes.end()) c.attributes[name] = given->second;
  }
  if (c.attributes.count("rtol") + c.attributes.count("atol") > 0) return;
  if (c.text("standard").value_or("") != "indices") return;
  std::vector<std::string> standards;
  for (const std::string& name : case_standards(of_values)) {
    standards.push_back(formatted("indices({})", name));
  }
  c.attributes["standard"] =
      standards.empty() ? formatted("indices({})", kDefaultStandard) : joined(standards);
}

}  // namespace

OperatorOutput operator_output(const Case& c) {
  OperatorOutput found;
  for (const auto& [name, output] : c.results) {
    Case attributes;
    attributes.name = c.name;
    attributes.attributes = output.attributes;
    if (!attributes.flag(kOperatorOutput).value_or(false)) continue;
    if (!found.name.empty()) {
      throw CaseError(c.name, formatted("its outputs '{}' and '{}' both have operator_output = 1",
                                        found.name, name));
    }
    found.name = name;
  }
  if (!found.name.empty()) return found;
  const Operator* op = find_operator(c.op);
  if (op == nullptr) {
    found.why_not = formatted("assay does not know the operator '{}'", c.op);
  } else if (c.results.count(op->output) != 0) {
    found.name = op->output;
  } else if (c.results.size() == 1) {
    found.name = c.results.begin()->first;
  } else {
    found.why_not = formatted(
        "{} computes one output, which is called '{}' or has the attribute operator_output = 1, "
        "and "
        "the case has {}",
        c.op, op->output, joined(names_of_outputs(c)));
  }
  return found;
}

Case output_case(const Case& c, const std::string& output) {
  Case one = one_output(c, output);
  one.attributes.erase(kOperatorOutput);
  if (find_operator(c.op) != nullptr && operator_output(c).name == output) return one;
  make_external(one);
  add_value_bound(c, one);
  add_output_dtype(one);
  return one;
}

Case computed_case(Case c) {
  if (c.results.empty()) return c;
  const OperatorOutput computed = operator_output(c);
  if (computed.name.empty()) throw CaseError(c.name, computed.why_not);
  return output_case(c, computed.name);
}

void require_one_output(const Case& c) {
  if (c.results.empty()) return;
  throw CaseError(c.name,
                  "has several outputs, and one tensor is to be judged: give them by name, or the "
                  "case of one, which output_case() (gate/case_outputs.h) makes");
}

IndexSource index_source(const Case& c, std::string_view standard) {
  const auto of = c.text("of");
  if (!of) {
    return {.why_not = "indices need the attribute 'of': the input that they point into"};
  }
  const auto input = c.inputs.find(*of);
  if (input == c.inputs.end()) {
    return {.why_not = formatted("the indices are of '{}', which is no input of the case", *of)};
  }
  const auto rule = index_rule(standard);
  if (rule && rule->flattened && c.attributes.count("axis") != 0) {
    return {.why_not = "indices into the flattened input have no axis; leave the attribute out"};
  }
  return {.tensor = &input->second, .axis = c.integer("axis").value_or(-1)};
}

void say_output(CaseReport& report, const Case& several, const std::string& output) {
  report.op = several.op;
  report.output = output;
  if (find_operator(several.op) == nullptr) return;
  const OperatorOutput computed = operator_output(several);
  if (computed.name == output) return;
  const std::string why =
      computed.name.empty()
          ? computed.why_not
          : formatted("of the outputs of {} assay computes {}", several.op, computed.name);
  for (Verdict& v : report.verdicts) v.notes.push_back("judged by standards alone: " + why);
}

}  // namespace assay
