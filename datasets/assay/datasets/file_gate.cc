#include "assay/datasets/file_gate.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/gate/case_outputs.h"

namespace assay {
namespace {

// The recorded outputs of both files may serve as benchmarks. `output`: which one, of a case that
// has several; else empty.
Origin origin_of(const CaseSource& golden, const std::string& name, const std::string& output,
                 const OutputSource& source) {
  Origin origin;
  // A team's operator is no recorded producer: its output has no name that a file could know.
  if (!source.compute) origin.producer = source.name;
  origin.recorded = [&golden, &source, name, output] {
    std::vector<RecordedOutput> recorded;
    for (const CaseSource* file : {&golden, source.recorded}) {
      if (file == nullptr || !file->has_case(name)) continue;
      for (const std::string& producer : file->producers_of(name)) {
        if (!file->output_place(name, producer, output)) continue;  // not this one
        recorded.push_back({producer, [file, name, producer, output] {
                              return file->read_output(name, producer, output);
                            }});
      }
    }
    return recorded;
  };
  return origin;
}

bool is_golden_itself(const CaseSource& golden, const CaseSource& outputs, const Case& c,
                      const std::string& producer) {
  const auto place = golden.golden_place(c.name, c.output_name);
  return place && place == outputs.output_place(c.name, producer, c.output_name);
}

CaseReport not_judged(const Case& c, Outcome outcome, std::string because) {
  CaseReport report = report_of(c);
  Verdict verdict = not_comparable(std::move(because));
  verdict.outcome = outcome;
  report.verdicts = {std::move(verdict)};
  return report;
}

// What a team's operator gave for a case, once for all its outputs.
struct ComputedCase {
  Computed computed = Tensor();
  std::string failure = {};  // what went wrong; empty where nothing did
};

template <typename Value>
std::string keys_of(const std::map<std::string, Value>& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return joined(names);
}

// Refuses results that are not those of the case.
void check_results(const Case& c, const Computed& computed) {
  if (c.results.empty()) {
    if (!computed.results.empty()) {
      throw std::runtime_error(
          format("it returned outputs by name ({}), and the case has one, "
                 "without a name",
                 keys_of(computed.results)));
    }
    if (computed.output.empty()) throw std::runtime_error("it returned an empty tensor");
    return;
  }
  const std::string has = keys_of(c.results);
  if (computed.results.empty()) {
    throw std::runtime_error(
        format("it returned one tensor, and the case has several outputs: return {} by name", has));
  }
  for (const auto& [name, tensor] : computed.results) {
    if (c.results.count(name) == 0) {
      throw std::runtime_error(format(
          "it returned '{}', which is no output of the case; its outputs are {}", name, has));
    }
    if (tensor.empty())
      throw std::runtime_error(format("it returned an empty tensor as '{}'", name));
  }
  for (const auto& [name, output] : c.results) {
    const bool compared = output.golden || output.golden_missing;
    if (compared && computed.results.count(name) == 0) {
      throw std::runtime_error(format("it did not return the output '{}'; it returned {}", name,
                                      keys_of(computed.results)));
    }
  }
}

ComputedCase compute(const Case& c, const OutputSource& source) {
  ComputedCase made;
  try {
    made.computed = source.compute(c);
    check_results(c, made.computed);
  } catch (const std::exception& e) {
    made.failure = format("the operator threw: {}", e.what());
  }
  return made;
}

GatedCase gate_computed(const Case& c, ComputedCase& made, const GateRequest& request,
                        Origin origin) {
  if (!made.failure.empty()) return {not_judged(c, Outcome::kFail, made.failure), {}};
  Computed& computed = made.computed;
  const bool several = !c.output_name.empty();
  Tensor& output = several ? computed.results.at(c.output_name) : computed.output;
  origin.epilogue = several ? &computed.epilogues[c.output_name] : &computed.epilogue;
  CaseReport report = gate_case(c, output, request, origin);
  return {std::move(report), std::move(output)};
}

GatedCase gate_recorded(const CaseSource& golden, const Case& c, const OutputSource& source,
                        const GateRequest& request, Origin origin) {
  const CaseSource& file = *source.recorded;
  if (!file.has_case(c.name)) {
    return {not_judged(c, Outcome::kNotComparable, format("{} has no such case", file.path())), {}};
  }
  const CaseInfo info = file.info(c.name);
  const std::map<std::string, TensorInfo>* outputs = &info.outputs;
  if (!c.output_name.empty() || !info.results.empty()) {
    const auto result = info.results.find(c.output_name);
    if (result == info.results.end()) {
      const std::string wanted = c.output_name.empty() ? "the one output of the case"
                                                       : format("the output '{}'", c.output_name);
      const std::string has = info.results.empty() ? "one without a name" : keys_of(info.results);
      return {not_judged(c, Outcome::kNotComparable,
                         format("{} does not have {}; it has {}", file.path(), wanted, has)),
              {}};
    }
    outputs = &result->second.outputs;
  }
  const auto recorded = outputs->find(source.name);
  if (recorded == outputs->end()) {
    return {not_judged(c, Outcome::kNotComparable,
                       format("there is no recorded output of '{}'", source.name)),
            {}};
  }
  origin.machine = recorded->second.machine;
  Tensor output = file.read_output(c.name, source.name, c.output_name);
  Epilogue epilogue;
  if (request.checksums && request.checksums->threshold->takes_residuals) {
    epilogue = file.read_epilogue(c.name, source.name, c.output_name);
    origin.epilogue = &epilogue;
  }
  CaseReport report = gate_case(c, output, request, origin);
  if (is_golden_itself(golden, file, c, source.name)) {
    distrust_same_bytes(report.verdicts, golden.path());
    report.mutations.clear();
  }
  return {std::move(report), std::move(output)};
}

// Of a case with several outputs the one that its operator computes can be emulated.
GatedCase gate_by_machine(const Case& c, const OperatorOutput& of, const OutputSource& source,
                          const GateRequest& request, const Origin& origin) {
  GatedCase gated;
  if (c.output_name.empty() || of.name == c.output_name) {
    gated.report =
        gate_emulated(c, *source.machine, request, origin, &gated.output, &gated.epilogue);
  } else {
    gated.report = not_judged(
        c, Outcome::kNotComparable,
        of.name.empty() ? of.why_not : format("emulation computes the output '{}' alone", of.name));
  }
  return gated;
}

// Whether the request reads the inputs for an output with attributes of its own.
bool outputs_need_inputs(const Case& c, const GateRequest& request) {
  return std::any_of(c.results.begin(), c.results.end(), [&](const auto& named) {
    Case header;
    header.op = c.op;
    header.attributes = named.second.attributes;
    header.attributes.insert(c.attributes.begin(), c.attributes.end());
    return needs_inputs(header, request);
  });
}

Case read_to_judge(const CaseSource& golden, const std::string& name, const OutputSource& source,
                   const GateRequest& request) {
  Case header;
  header.name = name;
  header.attributes = golden.attributes_of(name);
  header.op = header.text("op").value_or("");
  const bool inputs = source.recorded == nullptr || needs_inputs(header, request);
  Case c = golden.read(name, {.inputs = inputs, .golden = true, .outputs = false});
  if (!inputs && outputs_need_inputs(c, request)) {
    c.inputs = golden.read(name, {.inputs = true, .golden = false, .outputs = false}).inputs;
    c.unread_inputs.clear();
  }
  return c;
}

// What a reader should know of outputs that nobody compares.
void note_uncompared(const std::vector<std::string>& names, CaseReport& report) {
  if (names.empty()) return;
  for (Verdict& v : report.verdicts) {
    v.notes.push_back(format("not to be compared, as the case says: {}", joined(names)));
  }
}

// `judge` judges one output, as a case of its own.
template <typename Judge>
std::vector<GatedCase> gate_several(Case c, const Judge& judge) {
  const OperatorOutput of = operator_output(c);
  std::vector<std::string> compared, uncompared;
  for (const auto& [output, result] : c.results) {
    (result.golden || result.golden_missing ? compared : uncompared).push_back(output);
  }
  std::map<std::string, Tensor> inputs = std::move(c.inputs);  // which each has in turn
  c.inputs.clear();
  std::vector<GatedCase> gated;
  for (const std::string& output : compared) {
    Case one = output_case(c, output);
    one.inputs = std::move(inputs);
    GatedCase& judged = gated.emplace_back(judge(one, of));
    inputs = std::move(one.inputs);
    say_output(judged.report, c, output);
    note_uncompared(uncompared, judged.report);
  }
  if (compared.empty()) {
    gated.push_back(
        {not_judged(c, Outcome::kNotComparable,
                    format("none of its outputs is to be compared: {}", joined(uncompared))),
         {}});
  }
  return gated;
}

}  // namespace

void distrust_same_bytes(std::vector<Verdict>& verdicts, const std::string& file) {
  for (Verdict& verdict : verdicts) {
    if (verdict.sites == 0) continue;  // there was nothing to compare
    verdict.outcome = Outcome::kUntrusted;
    verdict.because = format("the output is the golden result itself: the same bytes of {}", file);
    verdict.where.clear();
  }
}

std::vector<GatedCase> gate_file_case(const CaseSource& golden, const std::string& name,
                                      const OutputSource& source, const GateRequest& request) {
  Case c = read_to_judge(golden, name, source, request);
  std::vector<GatedCase> gated;
  try {
    ComputedCase made;
    if (source.compute) made = compute(c, source);
    const auto judge_one = [&](const Case& one, const OperatorOutput& of) {
      const Origin origin = origin_of(golden, name, one.output_name, source);
      if (source.machine != nullptr) return gate_by_machine(one, of, source, request, origin);
      if (source.compute) return gate_computed(one, made, request, origin);
      return gate_recorded(golden, one, source, request, origin);
    };
    if (c.results.empty()) {
      gated.push_back(judge_one(c, {}));
    } else {
      gated = gate_several(std::move(c), judge_one);
    }
  } catch (const std::invalid_argument& e) {
    // What was asked for was checked before: it is the case that is wrong.
    throw FileError(golden.path(), "", e.what());
  }
  for (GatedCase& one : gated) one.report.producer = source.name;
  return gated;
}

}  // namespace assay
