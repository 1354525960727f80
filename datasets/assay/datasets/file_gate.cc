#include "assay/datasets/file_gate.h"

#include <algorithm>
#include <stdexcept>

#include "assay/base/text.h"

namespace assay {
namespace {

// The recorded outputs of both files may serve as benchmarks.
Origin origin_of(const CaseSource& golden, const std::string& name, const OutputSource& source) {
  Origin origin;
  // A team's operator is no recorded producer: its output has no name that a file could know.
  if (!source.compute) origin.producer = source.name;
  origin.recorded = [&golden, &source, name] {
    std::vector<RecordedOutput> recorded;
    for (const CaseSource* file : {&golden, source.recorded}) {
      if (file == nullptr || !file->has_case(name)) continue;
      for (const std::string& producer : file->producers_of(name)) {
        recorded.push_back(
            {producer, [file, name, producer] { return file->read_output(name, producer); }});
      }
    }
    return recorded;
  };
  return origin;
}

bool is_golden_itself(const CaseSource& golden, const CaseSource& outputs, const std::string& name,
                      const std::string& producer) {
  const auto place = golden.golden_place(name);
  return place && place == outputs.output_place(name, producer);
}

CaseReport not_judged(const Case& c, Outcome outcome, std::string because) {
  CaseReport report = report_of(c);
  Verdict verdict = not_comparable(std::move(because));
  verdict.outcome = outcome;
  report.verdicts = {std::move(verdict)};
  return report;
}

GatedCase gate_computed(const Case& c, const OutputSource& source, const GateRequest& request,
                        Origin origin) {
  Computed computed = Tensor();
  try {
    computed = source.compute(c);
    if (computed.output.empty()) throw std::runtime_error("it returned an empty tensor");
  } catch (const std::exception& e) {
    return {not_judged(c, Outcome::kFail, format("the operator threw: {}", e.what())), {}};
  }
  origin.epilogue = &computed.epilogue;
  CaseReport report = gate_case(c, computed.output, request, origin);
  return {std::move(report), std::move(computed.output)};
}

GatedCase gate_recorded(const Case& c, const OutputSource& source, const GateRequest& request,
                        Origin origin) {
  const CaseSource& file = *source.recorded;
  if (!file.has_case(c.name)) {
    return {not_judged(c, Outcome::kNotComparable, format("{} has no such case", file.path())), {}};
  }
  const CaseInfo info = file.info(c.name);
  const auto recorded = info.outputs.find(source.name);
  if (recorded == info.outputs.end()) {
    return {not_judged(c, Outcome::kNotComparable,
                       format("there is no recorded output of '{}'", source.name)),
            {}};
  }
  origin.machine = recorded->second.machine;
  Tensor output = file.read_output(c.name, source.name);
  Epilogue epilogue;
  if (request.checksums && request.checksums->threshold->takes_residuals) {
    epilogue = file.read_epilogue(c.name, source.name);
    origin.epilogue = &epilogue;
  }
  CaseReport report = gate_case(c, output, request, origin);
  return {std::move(report), std::move(output)};
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

GatedCase gate_file_case(const CaseSource& golden, const std::string& name,
                         const OutputSource& source, const GateRequest& request) {
  Case header;
  header.name = name;
  header.attributes = golden.attributes_of(name);
  header.op = header.text("op").value_or("");
  const bool inputs = source.recorded == nullptr || needs_inputs(header, request);
  const Case c = golden.read(name, {.inputs = inputs, .golden = true, .outputs = false});
  const Origin origin = origin_of(golden, name, source);
  GatedCase gated;
  try {
    if (source.machine != nullptr) {
      gated.report =
          gate_emulated(c, *source.machine, request, origin, &gated.output, &gated.epilogue);
    } else if (source.compute) {
      gated = gate_computed(c, source, request, origin);
    } else {
      gated = gate_recorded(c, source, request, origin);
      if (gated.output && is_golden_itself(golden, *source.recorded, name, source.name)) {
        distrust_same_bytes(gated.report.verdicts, golden.path());
        gated.report.mutations.clear();
      }
    }
  } catch (const std::invalid_argument& e) {
    // What was asked for was checked before: it is the case that is wrong.
    throw FileError(golden.path(), "", e.what());
  }
  gated.report.producer = source.name;
  return gated;
}

}  // namespace assay
