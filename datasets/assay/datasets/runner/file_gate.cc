#include "assay/datasets/runner/file_gate.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/arrays/array_judge.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/gate/case_outputs.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {
namespace {

// Returns the producer of an output, and the recorded outputs of both files, which may serve as
// reference implementations. `output` names one output of a case that has several, and is empty
// otherwise.
Origin origin_of(const CaseSource& golden, const std::string& name, const std::string& output,
                 const OutputSource& source) {
  Origin origin;
  // A team's operator is not a recorded producer, so its output has no name that a file could know.
  if (!source.compute) origin.producer = source.name;
  origin.recorded = [&golden, &source, name, output] {
    std::vector<RecordedOutput> recorded;
    for (const CaseSource* file : {&golden, source.recorded}) {
      if (file == nullptr || !file->has_case(name)) continue;
      for (const std::string& producer : file->producers_of(name)) {
        // A producer may have recorded only some of a case's outputs.
        if (!output.empty() && !file->result_place(name, producer, output)) continue;
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
                      const Tensor& output, const std::string& producer) {
  // If the bytes differ, the output is not the golden result, so the places of both need not be
  // compared.
  const auto& expected = c.output().golden;
  if (!expected || &expected->format() != &output.format() || expected->shape() != output.shape() ||
      std::memcmp(expected->bytes(), output.bytes(),
                  static_cast<std::size_t>(output.size() * output.format().storage_bytes)) != 0) {
    return false;
  }
  const auto place = golden.result_place(c.name, "", c.output_name());
  return place && place == outputs.result_place(c.name, producer, c.output_name());
}

GatedCase not_judged(const Case& c, std::string because,
                     Outcome outcome = Outcome::kNotComparable) {
  CaseReport report = report_of(c);
  Verdict verdict = not_comparable(std::move(because));
  verdict.outcome = outcome;
  report.verdicts = {std::move(verdict)};
  return {std::move(report), {}};
}

// The results of a team's operator for a case, computed once for all outputs.
struct ComputedCase {
  std::map<std::string, Computed::Result> outputs = {};
  std::string failure = {};  // The error message, or empty if there was no error.
};

bool is_compared(const std::string& name, const CaseOutput& output) {
  return name.empty() || !output.golden.is_absent();
}

// Throws std::runtime_error if an operator returned other outputs than those that the case has.
void check_outputs(const Case& c, const std::map<std::string, Computed::Result>& outputs) {
  const bool has_one = outputs.size() == 1 && outputs.count("") != 0;
  if (!c.names_outputs() && !has_one) {
    throw std::runtime_error(
        formatted("it returned named outputs ({}), but the case has only one output, without a "
                  "name; return one tensor",
                  joined(keys_of(outputs))));
  }
  if (c.names_outputs() && has_one) {
    throw std::runtime_error(
        formatted("it returned one tensor, but the case has several outputs; return each of them "
                  "by its name: {}",
                  joined(keys_of(c.outputs))));
  }
  for (const auto& [name, result] : outputs) {
    if (!c.has_output(name)) {
      throw std::runtime_error(formatted(
          "it returned '{}', which is not an output of the case; return only its outputs: {}", name,
          joined(keys_of(c.outputs))));
    }
    if (result.tensor.empty()) {
      throw std::runtime_error("it returned an empty tensor" +
                               (name.empty() ? "" : formatted(" as '{}'", name)));
    }
  }
  for (const auto& [name, output] : c.outputs) {
    if (is_compared(name, output) && outputs.count(name) == 0) {
      throw std::runtime_error(formatted("it did not return the output '{}'; it returned {}", name,
                                         joined(keys_of(outputs))));
    }
  }
}

ComputedCase compute(const Case& c, const OutputSource& source) {
  ComputedCase made;
  try {
    made.outputs = source.compute(c).outputs;
    check_outputs(c, made.outputs);
  } catch (const std::exception& e) {
    made.failure = formatted("the operator threw: {}", e.what());
  }
  return made;
}

void add_note(const std::string& note, CaseReport& report) {
  for (Verdict& v : report.verdicts) v.notes.push_back(note);
}

GatedCase gate_computed(const Case& c, ComputedCase& made, const GateRequest& request,
                        Origin origin) {
  if (!made.failure.empty()) return not_judged(c, made.failure, Outcome::kFail);
  Computed::Result& result = made.outputs.at(c.output_name());
  origin.epilogue = &result.epilogue;
  CaseReport report = gate_case(c, result.tensor, request, origin);
  if (!result.note.empty()) add_note(result.note, report);
  return {std::move(report), std::move(result.tensor)};
}

// The note for a case whose output dtype is known only from the output itself.
constexpr const char* kTakenDtype =
    "the output dtype is that of the output, because the golden result has more precision";

GatedCase gate_recorded(const CaseSource& golden, Case& c, const OutputSource& source,
                        const GateRequest& request, Origin origin) {
  const CaseSource& file = *source.recorded;
  if (!file.has_case(c.name)) {
    return not_judged(c, formatted("{} has no such case", file.path()));
  }
  const StoredCase info = file.info(c.name);
  check_same_source(golden.path(), c.attributes, file.path(), info.attributes, c.name);
  const std::string name = c.output_name();
  const StoredOutput* const of = info.find_output(name);
  if (of == nullptr) {
    const std::string wanted =
        name.empty() ? "the one output of the case" : formatted("the output '{}'", name);
    const std::string has =
        info.names_outputs() ? joined(keys_of(info.outputs)) : "one without a name";
    return not_judged(c, formatted("{} does not have {}; it has {}", file.path(), wanted, has));
  }
  if (of->recorded_by(source.name) == nullptr) {
    return not_judged(c, formatted("there is no recorded output of '{}'", source.name));
  }
  origin.machine = of->recorded.at(source.name).machine;
  Tensor output = file.read_output(c.name, source.name, name);
  Epilogue epilogue;
  if (request.checksums && request.checksums->threshold->takes_residuals) {
    epilogue = file.read_epilogue(c.name, source.name, name);
    origin.epilogue = &epilogue;
  }
  const bool taken = c.take_output_dtype(name, output.format());
  CaseReport report = gate_case(c, output, request, origin);
  if (taken) add_note(kTakenDtype, report);
  if (is_golden_itself(golden, file, c, output, source.name)) {
    distrust_same_bytes(report.verdicts, golden.path());
    report.mutations.clear();
  }
  return {std::move(report), std::move(output)};
}

// If a case has several outputs, a machine can emulate only the one that the case's operator
// computes.
GatedCase gate_by_machine(const Case& c, const ComputedOutput& of, const OutputSource& source,
                          const GateRequest& request, const Origin& origin) {
  if (of.name != c.output_name()) {
    return not_judged(
        c, of.name ? formatted("emulation computes only the output '{}'", *of.name) : of.why_not);
  }
  GatedCase gated;
  gated.report = gate_emulated(c, *source.machine, request, origin, &gated.output, &gated.epilogue);
  return gated;
}

// Returns true if judging one of the outputs needs the inputs, because of the output's own
// attributes.
bool outputs_need_inputs(const Case& c, const GateRequest& request) {
  return std::ranges::any_of(c.outputs, [&](const auto& named) {
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
  Case c = golden.read(name, {.inputs = inputs, .golden = true, .recorded = false});
  if (!inputs) {
    // The inputs are read even if nothing asks for them, because a case whose inputs cannot be read
    // is not evidence.
    Case with_inputs = golden.read(name, {.inputs = true, .golden = false, .recorded = false});
    if (outputs_need_inputs(c, request)) {
      c.inputs = std::move(with_inputs.inputs);
      c.unread_inputs.clear();
    }
  }
  return c;
}

// Adds a note about the outputs that are not compared.
void note_uncompared(const std::vector<std::string>& names, CaseReport& report) {
  if (names.empty()) return;
  add_note(formatted("the case says that these outputs are not to be compared: {}", joined(names)),
           report);
}

// Judges each output that is to be compared. `judge` is called with the judged_case().
template <typename Judge>
std::vector<GatedCase> gate_outputs(Case c, const Judge& judge) {
  const ComputedOutput computed = computed_output(c);
  std::vector<GatedCase> gated;
  if (is_judged_as_it_is(c)) {
    gated.push_back(judge(c, computed));
    return gated;
  }
  std::vector<std::string> uncompared;
  for (const auto& [output, of] : c.outputs) {
    if (!is_compared(output, of)) uncompared.push_back(output);
  }
  // The inputs are moved from one output to the next, so that they are not copied.
  std::map<std::string, Tensor> inputs = std::exchange(c.inputs, {});
  for (const auto& [output, of] : c.outputs) {
    if (!is_compared(output, of)) continue;
    Case one = judged_case(c, output);
    one.inputs = std::move(inputs);
    GatedCase& judged = gated.emplace_back(judge(one, computed));
    inputs = std::move(one.inputs);
    name_output(judged.report, c, output);
    note_uncompared(uncompared, judged.report);
  }
  if (gated.empty()) {
    gated.push_back(
        not_judged(c, formatted("none of its outputs is to be compared: {}", joined(uncompared))));
  }
  return gated;
}

// ------------------------------------------------------------------------------------ in pieces

std::int64_t bytes_to_judge(const CaseSource& golden, const CaseSource& outputs,
                            const std::string& name, const std::string& producer) {
  try {
    if (!outputs.has_case(name)) return 0;
    return golden.result_bytes(name, "") + outputs.result_bytes(name, producer);
  } catch (const FileError&) {
    return 0;  // The error is reported when the data is read.
  }
}

// Returns a golden result without its data, because the choice of a bound needs only its dtype.
Tensor without_data(const ArrayInfo& info) { return Tensor(format_named(info.dtype), {0}); }

// One output of a case that is judged as it is read.
struct OutputInPieces {
  std::unique_ptr<ArraySource> golden, output;
  std::string machine;
};

// Opens the arrays of an output in pieces. Returns nothing if one is missing or cannot be read in
// pieces. The case is then read as a whole, which also reports what is missing.
std::optional<OutputInPieces> open_in_pieces(const CaseSource& golden, const CaseSource& file,
                                             const StoredCase& recorded, const std::string& name,
                                             const std::string& producer,
                                             const std::string& output) {
  const StoredOutput* const of = recorded.find_output(output);
  if (of == nullptr || of->recorded_by(producer) == nullptr) return std::nullopt;
  OutputInPieces opened{golden.open_result(name, "", output),
                        file.open_result(name, producer, output),
                        of->recorded.at(producer).machine};
  if (!opened.golden || !opened.output) return std::nullopt;
  return opened;
}

// Returns true if all bounds that would judge an output can judge pieces of it.
bool bounds_take_pieces(const Case& c, const Format& output, const GateRequest& request) {
  const std::vector<ChosenBound> all = choose_bounds(c, output, request.bounds);
  return std::ranges::all_of(all, [](const ChosenBound& chosen) {
    return !chosen.bound || PiecewiseJudge::can_judge(*chosen.bound);
  });
}

GatedCase judge_in_pieces(Case& c, OutputInPieces& arrays, const std::string& file,
                          const GateRequest& request, Origin origin, std::int64_t piece) {
  ArraySource &actual = *arrays.output, &expected = *arrays.golden;
  GatedCase gated{report_of(c), {}};
  gated.in_pieces = true;
  CaseReport& report = gated.report;
  report.dtype = actual.format().name;
  report.shape = actual.shape();
  const bool taken = c.take_output_dtype(c.output_name(), actual.format());
  if (std::string why_not = why_not_output(c, actual.format()); !why_not.empty()) {
    report.verdicts = {not_comparable(std::move(why_not))};
    return gated;
  }
  origin.machine = arrays.machine;
  const std::vector<ElementCheck> checks = element_checks(c, actual.format(), request, origin);
  const JudgeOptions options{
      .metrics = request.metrics, .worst = request.worst, .threads = request.threads};
  report.verdicts = judge_arrays(actual, expected, checks, options,
                                 piece > 0 ? piece : piece_for(request.threads));
  if (taken) add_note(kTakenDtype, report);
  if (&actual.format() == &expected.format() && actual.shape() == expected.shape() &&
      actual.place() == expected.place()) {
    distrust_same_bytes(report.verdicts, file);
  }
  return gated;
}

// Judges all outputs of a case as they are read. Returns an empty list if something about one of
// them needs its whole arrays.
std::vector<GatedCase> gate_in_pieces(const CaseSource& golden, const std::string& name,
                                      const OutputSource& source, const GateRequest& request,
                                      const PieceReading& reading) {
  const CaseSource* const file = source.recorded;
  if (file == nullptr || !request.elements || request.checksums || request.mutate) return {};
  const std::int64_t bytes = bytes_to_judge(golden, *file, name, source.name);
  if (bytes <= reading.whole_bytes) return {};
  Case c = golden.read(name, {.inputs = false, .golden = false, .recorded = false});
  if (needs_inputs(c, request) || outputs_need_inputs(c, request)) return {};
  const StoredCase info = golden.info(name), recorded = file->info(name);
  check_same_source(golden.path(), c.attributes, file->path(), recorded.attributes, name);
  for (auto& [output, of] : c.outputs) {
    const auto& known = info.outputs.at(output).golden;
    if (known) of.golden = without_data(*known);
  }
  std::map<std::string, OutputInPieces> opened;  // by output
  const auto can_judge = [&](Case one) {
    const std::string output = one.output_name();
    if (!one.output().golden) return false;
    auto arrays = open_in_pieces(golden, *file, recorded, name, source.name, output);
    if (!arrays) return false;
    one.take_output_dtype(output, arrays->output->format());
    if (!bounds_take_pieces(one, arrays->output->format(), request)) return false;
    opened.emplace(output, std::move(*arrays));
    return true;
  };
  const auto judge_one = [&](Case& one, const ComputedOutput& /*of*/) {
    return judge_in_pieces(one, opened.at(one.output_name()), golden.path(), request,
                           origin_of(golden, name, one.output_name(), source), reading.piece);
  };
  for (const auto& [output, of] : c.outputs) {
    if (is_compared(output, of) && !can_judge(judged_case(c, output))) return {};
  }
  std::vector<GatedCase> gated = gate_outputs(std::move(c), judge_one);
  const bool failed = std::ranges::any_of(
      gated, [](const GatedCase& one) { return one.report.outcome() == Outcome::kFail; });
  if (failed && bytes <= reading.pattern_bytes) return {};
  return gated;
}

}  // namespace

void distrust_same_bytes(std::vector<Verdict>& verdicts, const std::string& file) {
  for (Verdict& verdict : verdicts) {
    if (verdict.sites == 0) continue;  // nothing was compared
    verdict.outcome = Outcome::kUntrusted;
    verdict.same_data = true;
    verdict.because = formatted(
        "the output is the golden result itself, because both are the same bytes of {}; give "
        "another file for one of them",
        file);
    verdict.where.clear();
  }
}

std::vector<GatedCase> gate_file_case(const CaseSource& golden, const std::string& name,
                                      const OutputSource& source, const GateRequest& request,
                                      const PieceReading& reading) {
  std::vector<GatedCase> gated = in_file(
      golden.path(), [&] { return gate_in_pieces(golden, name, source, request, reading); });
  if (gated.empty()) {
    Case c = read_to_judge(golden, name, source, request);
    // The request was checked before, so the reason of a refusal lies in the case, and the error
    // names its file.
    gated = in_file(golden.path(), [&] {
      ComputedCase made;
      if (source.compute) made = compute(c, source);
      const auto judge_one = [&](Case& one, const ComputedOutput& of) {
        const Origin origin = origin_of(golden, name, one.output_name(), source);
        GateRequest asked = request;
        // Checksums apply only to the output that the operator computes. The other outputs are
        // decided by their elements only.
        if (of.name && *of.name != one.output_name() && asked.elements) asked.checksums.reset();
        if (source.machine != nullptr) return gate_by_machine(one, of, source, asked, origin);
        if (source.compute) return gate_computed(one, made, asked, origin);
        return gate_recorded(golden, one, source, asked, origin);
      };
      return gate_outputs(std::move(c), judge_one);
    });
  }
  for (GatedCase& one : gated) one.report.producer = source.name;
  return gated;
}

}  // namespace assay
