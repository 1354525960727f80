#include "assay/gate/case_outputs.h"

#include <utility>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/text.h"
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

}  // namespace

OperatorOutput operator_output(const Case& c) {
  OperatorOutput found;
  for (const auto& [name, output] : c.results) {
    Case attributes;
    attributes.name = c.name;
    attributes.attributes = output.attributes;
    if (!attributes.flag(kOperatorOutput).value_or(false)) continue;
    if (!found.name.empty()) {
      throw CaseError(c.name, format("its outputs '{}' and '{}' both have operator_output = 1",
                                     found.name, name));
    }
    found.name = name;
  }
  if (!found.name.empty()) return found;
  const Operator* op = find_operator(c.op);
  if (op == nullptr) {
    found.why_not = format("assay does not know the operator '{}'", c.op);
  } else if (c.results.count(op->output) != 0) {
    found.name = op->output;
  } else if (c.results.size() == 1) {
    found.name = c.results.begin()->first;
  } else {
    found.why_not = format(
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
  add_output_dtype(one);
  return one;
}

void say_output(CaseReport& report, const Case& several, const std::string& output) {
  report.op = several.op;
  report.output = output;
  if (find_operator(several.op) == nullptr) return;
  const OperatorOutput computed = operator_output(several);
  if (computed.name == output) return;
  const std::string why = computed.name.empty() ? computed.why_not
                                                : format("of the outputs of {} assay computes {}",
                                                         several.op, computed.name);
  for (Verdict& v : report.verdicts) v.notes.push_back("judged by standards alone: " + why);
}

}  // namespace assay
