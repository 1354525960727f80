#include "assay/gate/case_outputs.h"

#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/gate/bounds.h"
#include "assay/judge/indices.h"
#include "assay/op/attributes.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {
namespace {

constexpr const char* kOperatorOutput = "operator_output";

// Turns the case of an output that no operator computes into one without an operator, and removes
// the operator's parameters.
void make_external(Case& c) {
  c.op = "external";
  c.attributes.erase(kOperatorOutput);
  std::erase_if(c.attributes,
                [](const auto& named) { return !name_problem("external", named.first).empty(); });
}

// Sets the output dtype to that of the golden result. A float64 golden result does not give one,
// because outputs of every float dtype have golden results in float64.
void add_output_dtype(Case& c) {
  const auto& golden = c.output().golden;
  if (c.attributes.count("output_dtype") != 0 || !golden || golden->format().is_float64()) return;
  c.attributes["output_dtype"] = std::string(golden->format().name);
}

// Gives an output of indices the bound of the output that holds the values at them, unless it has a
// bound of its own.
void add_value_bound(const Case& several, Case& c) {
  const auto values = c.text("value_output");
  if (!values) return;
  if (several.outputs.count(*values) == 0) {
    refuse_case(
        c.name,
        "the value_output of '{}' is '{}', which is not an output of the case; give one of {}",
        c.output_name(), *values, joined(keys_of(several.outputs)));
  }
  const auto& own = c.output().attributes;
  if (own.count("rtol") + own.count("atol") > 0) return;
  const Case of_values = several.only(*values);
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

ComputedOutput computed_output(const Case& c) {
  ComputedOutput found;
  if (!c.names_outputs()) {
    found.name = "";
    return found;
  }
  for (const auto& [name, output] : c.outputs) {
    Case attributes;
    attributes.name = c.name;
    attributes.attributes = output.attributes;
    if (!attributes.flag(kOperatorOutput).value_or(false)) continue;
    if (found.name) {
      refuse_case(
          c.name,
          "its outputs '{}' and '{}' both have operator_output = 1; only one output may have it",
          *found.name, name);
    }
    found.name = name;
  }
  if (found.name) return found;
  const Operator* op = find_operator(c.op);
  if (op == nullptr) {
    found.why_not = formatted("assay does not know the operator '{}'", c.op);
  } else if (c.outputs.count(op->output) != 0) {
    found.name = op->output;
  } else if (c.outputs.size() == 1) {
    found.name = c.outputs.begin()->first;
  } else {
    found.why_not = formatted(
        "{} computes only one output, which is called '{}' or has the attribute operator_output = "
        "1, but the case has only {}",
        c.op, op->output, joined(keys_of(c.outputs)));
  }
  return found;
}

Case judged_case(const Case& c, const std::string& output) {
  Case one = c.only(output);
  one.attributes.erase(kOperatorOutput);
  if (output.empty() || (find_operator(c.op) != nullptr && computed_output(c).name == output)) {
    return one;
  }
  make_external(one);
  add_value_bound(c, one);
  add_output_dtype(one);
  return one;
}

Case judged_case(const Case& c) {
  const ComputedOutput computed = computed_output(c);
  if (!computed.name) refuse_case(c.name, computed.why_not);
  return judged_case(c, *computed.name);
}

Case judged_case(Case&& c) {
  if (is_judged_as_it_is(c)) return std::move(c);
  return judged_case(std::as_const(c));
}

bool is_judged_as_it_is(const Case& c) {
  return !c.names_outputs() && c.output().attributes.empty() &&
         c.attributes.count(kOperatorOutput) == 0;
}

IndexSource index_source(const Case& c, std::string_view standard) {
  const auto of = c.text("of");
  if (!of) {
    return {.why_not = "indices need the attribute 'of': the input that they point into"};
  }
  const auto input = c.inputs.find(*of);
  if (input == c.inputs.end()) {
    return {.why_not = formatted("the attribute 'of' is '{}', which is not an input of the case; "
                                 "name the input that the indices point into",
                                 *of)};
  }
  const auto rule = index_rule(standard);
  if (rule && rule->flattened && c.attributes.count("axis") != 0) {
    return {.why_not = "indices into the flattened input have no axis; leave the attribute out"};
  }
  return {.tensor = &input->second, .axis = c.integer("axis").value_or(-1)};
}

void name_output(CaseReport& report, const Case& c, const std::string& output) {
  report.op = c.op;
  report.output = output;
  if (output.empty() || find_operator(c.op) == nullptr) return;
  const ComputedOutput computed = computed_output(c);
  if (computed.name == output) return;
  const std::string why = computed.name ? formatted("of the outputs of {}, assay computes only {}",
                                                    c.op, *computed.name)
                                        : computed.why_not;
  for (Verdict& v : report.verdicts) v.notes.push_back("judged only by standards: " + why);
}

}  // namespace assay
