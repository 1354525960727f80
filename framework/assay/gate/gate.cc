#include "assay/gate/gate.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/fault/mutation.h"
#include "assay/op/accumulation.h"
#include "assay/op/attributes.h"
#include "assay/op/dot.h"
#include "assay/op/operator.h"

namespace assay {
namespace {

// The recorded output whose memory this is.
std::string producer_of(const Case& c, const TensorView& output) {
  for (const auto& [producer, recorded] : c.outputs) {
    if (!recorded.empty() && recorded.bytes() == output.data) return producer;
  }
  return "";
}

Origin known_origin(const Case& c, const TensorView& output, Origin origin) {
  if (origin.producer.empty()) origin.producer = producer_of(c, output);
  return origin;
}

// The machine that a producer's name is, a variant's included; nullptr where it is none.
const Machine* machine_behind(const std::string& producer) {
  const std::string family = producer.substr(0, producer.find(','));
  for (const Machine& m : machines()) {
    if (m.name != family) continue;
    try {
      return &machine_named(producer);
    } catch (const std::invalid_argument&) {
      return nullptr;  // a name that begins like a machine's
    }
  }
  return nullptr;
}

// The machine whose accumulation a case is judged by: the standard's, else the case's, else the one
// that made the output. Any, where the operator's bounds hold on every machine.
const Machine& accumulation_machine(const Case& c, const std::string& named,
                                    const std::string& producer) {
  if (!named.empty()) return machine_named(named);
  if (const auto own = c.text("machine")) return machine_named(*own);
  if (const Machine* machine = machine_behind(producer)) return *machine;
  const Operator* op = find_operator(c.op);
  if (op != nullptr && op->machine_free_bounds) return machine_named(kReferenceMachine);
  throw CaseError(
      c.name, format("whose accumulation? Neither the attribute 'machine'{} names a machine; say "
                     "it, as in accumulation(hopper)",
                     producer.empty() ? " nor a producer of the output"
                                      : format(" nor the producer '{}'", producer)));
}

// The output that dual-benchmark standards compare with, or why there is none.
struct Benchmark {
  std::shared_ptr<const Tensor> output;
  std::string why_not;
};

Benchmark find_benchmark(const Case& c, const GateRequest& request, const Origin& origin) {
  const std::string& judged = origin.producer;
  const std::string& asked = request.benchmark;
  if (!asked.empty() && asked == judged) {
    return {nullptr, format("benchmark '{}': an output is no benchmark of itself", asked)};
  }
  std::map<std::string, std::function<std::shared_ptr<const Tensor>()>> found;
  const auto may_serve = [&](const std::string& producer) {
    return asked.empty() ? producer != judged : producer == asked;
  };
  for (const auto& [producer, recorded] : c.outputs) {
    if (!may_serve(producer)) continue;
    // It lies in the case, which outlives the check.
    found[producer] = [&tensor = recorded] {
      return std::shared_ptr<const Tensor>(std::shared_ptr<const Tensor>(), &tensor);
    };
  }
  for (const RecordedOutput& recorded :
       origin.recorded ? origin.recorded() : std::vector<RecordedOutput>()) {
    if (!may_serve(recorded.producer)) continue;
    found.emplace(recorded.producer,
                  [read = recorded.read] { return std::make_shared<const Tensor>(read()); });
  }
  if (found.size() == 1) return {found.begin()->second(), ""};
  if (!asked.empty()) {
    return {nullptr, format("there is no recorded output of the benchmark '{}'", asked)};
  }
  if (found.empty()) {
    return {nullptr, judged.empty()
                         ? "the standard compares with a benchmark's output, and the case has none"
                         : format("the standard compares with a benchmark's output, and there is "
                                  "none but '{}'",
                                  judged)};
  }
  std::vector<std::string> producers;
  for (const auto& [producer, read] : found) producers.push_back(producer);
  return {nullptr,
          format("the standard compares with a benchmark's output; choose one with --benchmark: {} "
                 "(in a matcher .benchmark(NAME), in CMake BENCHMARK NAME)",
                 joined(producers))};
}

// Why an output of this dtype cannot be held against the case's golden result; empty where it can.
std::string unfit(const Case& c, const Format& output) {
  if (!c.golden) {
    return format("case {} has no golden result; `assay golden` computes one from the inputs",
                  c.name);
  }
  const Format& wanted = c.output_format();
  if (&wanted == &output) return "";
  return format("the output is {}, the case's output dtype is {}", output.name, wanted.name);
}

// What a case with rtol or atol alone should be told; empty where it has both or neither.
std::string lone_tolerance(const Case& c, const Bound& bound) {
  const bool has_rtol = c.attributes.count("rtol") != 0, has_atol = c.attributes.count("atol") != 0;
  const bool is_own = bound.origin == "case" && bound.standard == "custom";
  if (!is_own || has_rtol == has_atol) return "";
  return has_rtol
             ? format("the case gives rtol without atol, which is {}", number_text(bound.atol))
             : format("the case gives atol without rtol, which is {}", number_text(bound.rtol));
}

JudgeOptions judge_options(const GateRequest& request) {
  JudgeOptions options;
  options.metrics = request.metrics;
  options.worst = request.worst;
  options.threads = request.threads;
  return options;
}

// What the checks say of each corruption of an output that they passed.
std::vector<MutationResult> try_mutations(const Case& c, const TensorView& output,
                                          const std::vector<ElementCheck>& checks,
                                          const std::optional<ChecksumOptions>& checksums,
                                          JudgeOptions options) {
  options.metrics = false;
  const Tensor clean = copy_of(output);
  std::vector<MutationResult> results;
  for (const Mutation& mutation : mutations()) {
    MutationResult result;
    result.name = mutation.name;
    if (const auto changed = mutate(mutation, c, clean)) {
      result.applied = true;
      result.elementwise = worst_outcome(judge_by(checks, *changed, c.golden->view(), options));
      if (checksums) result.abft = abft_check(c, *changed, checksums->options).outcome;
    }
    results.push_back(result);
  }
  return results;
}

}  // namespace

Verdict ElementCheck::judge(const TensorView& output, const TensorView& expected,
                            JudgeOptions options) const {
  const FloatEnvironment environment;
  if (!bound || !why_not.empty()) {
    Verdict verdict = not_comparable(why_not);
    if (bound) verdict.bound = *bound;
    verdict.bound.standard = standard;
    return verdict;
  }
  if (benchmark) options.benchmark = benchmark->view();
  if (element_bounds) options.element_bounds = element_bounds->view();
  Verdict verdict = assay::judge(output, expected, *bound, options);
  if (!note.empty()) verdict.notes.push_back(note);
  return verdict;
}

std::vector<Verdict> judge_by(const std::vector<ElementCheck>& checks, const TensorView& output,
                              const TensorView& expected, const JudgeOptions& options) {
  const FloatEnvironment environment;
  std::vector<Verdict> verdicts;
  for (const ElementCheck& check : checks) {
    verdicts.push_back(check.judge(output, expected, options));
  }
  return verdicts;
}

std::vector<ElementCheck> element_checks(const Case& c, const Format& output,
                                         const GateRequest& request, const Origin& origin) {
  const FloatEnvironment environment;
  check_attribute_names(c);
  const bool is_no_case = c.name.empty() && c.op.empty() && c.inputs.empty();
  std::vector<ElementCheck> checks;
  std::optional<Benchmark> benchmark;
  std::map<std::string_view, std::shared_ptr<const Tensor>> bounds;  // by machine
  for (ChosenBound& chosen : choose_bounds(c, output, request.bounds)) {
    ElementCheck& check = checks.emplace_back();
    check.standard = std::move(chosen.standard);
    check.why_not = std::move(chosen.why_not);
    check.bound = std::move(chosen.bound);
    if (check.bound) check.note = lone_tolerance(c, *check.bound);
    // Of two tensors without a case the judge itself says what is missing.
    if (!check.bound || is_no_case) continue;
    if (check.bound->needs_benchmark()) {
      if (!benchmark) benchmark = find_benchmark(c, request, origin);
      check.benchmark = benchmark->output;
      check.why_not = benchmark->why_not;
    }
    if (check.bound->rule != Rule::kGiven) continue;
    const std::string& named = check.bound->machine;
    if (!named.empty()) (void)machine_named(named);  // a wrong name is the caller's mistake
    try {
      const Machine& machine = accumulation_machine(c, named, origin.producer);
      std::shared_ptr<const Tensor>& known = bounds[machine.name];
      if (!known) {
        known = std::make_shared<const Tensor>(accumulation_bounds(c, machine, request.threads));
      }
      check.element_bounds = known;
    } catch (const CaseError& e) {
      check.why_not = e.reason();
    } catch (const std::invalid_argument& e) {
      check.why_not = e.what();
    }
  }
  return checks;
}

ChecksumOptions checksum_options(const Case& c, const Format& output, const GateRequest& request,
                                 const Origin& origin) {
  const FloatEnvironment environment;
  ChecksumOptions checksums;
  checksums.options.spec = request.checksums.value_or(parse_threshold(kDefaultThreshold));
  checksums.options.threads = request.threads;
  checksums.options.model = request.model;
  if (request.model != nullptr) return checksums;
  if (const Machine* machine = machine_behind(origin.producer)) {
    if (const auto model = product_model(c, *machine, output)) {
      checksums.model = std::make_shared<const DotModel>(*model);
      checksums.options.model = checksums.model.get();
    }
  }
  return checksums;
}

CaseReport report_of(const Case& c) {
  CaseReport report;
  report.name = c.name;
  report.op = c.op;
  report.tags = c.tags();
  if (c.golden) {
    report.dtype = c.output_format().name;
    report.shape = c.golden->shape();
  }
  return report;
}

CaseReport gate_case(const Case& c, const TensorView& output, const GateRequest& request,
                     const Origin& given) {
  const FloatEnvironment environment;
  check_attribute_names(c);
  const Origin origin = known_origin(c, output, given);
  CaseReport report = report_of(c);
  report.producer = origin.producer;
  report.dtype = output.format->name;
  report.shape = output.shape;
  std::vector<ElementCheck> checks;
  if (request.elements) {
    if (std::string why_not = unfit(c, *output.format); !why_not.empty()) {
      report.verdicts = {not_comparable(std::move(why_not))};
    } else {
      checks = element_checks(c, *output.format, request, origin);
      report.verdicts = judge_by(checks, output, c.golden->view(), judge_options(request));
    }
  }
  std::optional<ChecksumOptions> checksums;
  if (request.checksums && (!request.elements || may_be_product(c))) {
    checksums = checksum_options(c, *output.format, request, origin);
    report.abft = abft_check(c, output, checksums->options);
  }
  if (request.mutate && report.outcome() == Outcome::kPass) {
    report.mutations = try_mutations(c, output, checks, checksums, judge_options(request));
  }
  return report;
}

std::vector<Verdict> judge_case(const Case& c, const TensorView& output,
                                const BoundRequest& request, const JudgeOptions& options) {
  if (std::string why_not = unfit(c, *output.format); !why_not.empty()) {
    return {not_comparable(std::move(why_not))};
  }
  std::vector<ElementCheck> checks =
      element_checks(c, *output.format, {.bounds = request}, known_origin(c, output, {}));
  for (ElementCheck& check : checks) {
    if (!check.bound) continue;
    const bool brought = (check.bound->needs_benchmark() && options.benchmark) ||
                         (check.bound->rule == Rule::kGiven && options.element_bounds);
    if (!brought) continue;
    check.benchmark = check.element_bounds = nullptr;  // the caller's own instead
    check.why_not.clear();
  }
  return judge_by(checks, output, c.golden->view(), options);
}

CaseReport gate_emulated(const Case& c, const Machine& machine, const GateRequest& request,
                         Origin origin, std::optional<Tensor>* output) {
  const FloatEnvironment environment;
  check_attribute_names(c);
  origin.producer = machine.name;
  Tensor result;
  try {
    result = emulate(c, machine, request.threads);
  } catch (const std::invalid_argument& e) {
    CaseReport report = report_of(c);
    report.producer = origin.producer;
    const auto* of_case = dynamic_cast<const CaseError*>(&e);
    report.verdicts = {not_comparable(of_case != nullptr ? of_case->reason() : e.what())};
    return report;
  }
  CaseReport report = gate_case(c, result, request, origin);
  if (output != nullptr) *output = std::move(result);
  return report;
}

std::vector<Verdict> gate_tensors(const TensorView& output, const TensorView& expected,
                                  const GateRequest& request, std::string_view advice) {
  const FloatEnvironment environment;
  std::vector<ElementCheck> checks = element_checks(Case{}, *output.format, request);
  for (ElementCheck& check : checks) {
    if (!check.bound) check.why_not += advice;
  }
  return judge_by(checks, output, expected, judge_options(request));
}

bool needs_inputs(const Case& header, const GateRequest& request) {
  if (request.checksums || request.mutate) return true;
  std::vector<std::string> standards = request.bounds.standards;
  for (const std::string& own : case_standards(header)) standards.push_back(own);
  return std::any_of(standards.begin(), standards.end(),
                     [](const std::string& s) { return needs_operands(s); });
}

}  // namespace assay
