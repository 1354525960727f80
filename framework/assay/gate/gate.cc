#include "assay/gate/gate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "assay/abft/product_check.h"
#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/fault/mutation.h"
#include "assay/gate/case_outputs.h"
#include "assay/gate/sampled.h"
#include "assay/judge/rule_table.h"
#include "assay/op/attributes.h"
#include "assay/op/dot_operator.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {
namespace {

// Returns the producer of the recorded output that owns this memory, or an empty string.
std::string producer_of(const Case& c, const TensorView& output) {
  for (const auto& [producer, recorded] : c.output().recorded) {
    if (!recorded.tensor.empty() && recorded.tensor.bytes() == output.data) return producer;
  }
  return "";
}

Origin known_origin(const Case& c, const TensorView& output, Origin origin) {
  if (origin.producer.empty()) origin.producer = producer_of(c, output);
  const auto& recorded = c.output().recorded;
  const auto known = recorded.find(origin.producer);
  if (origin.epilogue == nullptr && known != recorded.end() && !known->second.epilogue.empty()) {
    origin.epilogue = &known->second.epilogue;
  }
  return origin;
}

// True if all bounds of the case are laws of random draws, which do not need a golden result.
bool tests_draws_alone(const Case& c, const Format& output, const GateRequest& request) {
  const std::vector<ChosenBound> all = choose_bounds(c, output, request.bounds);
  return std::ranges::all_of(all, [](const ChosenBound& chosen) {
    return chosen.bound && !row_of(chosen.bound->rule).needs_expected;
  });
}

// Returns the tensor that an output is compared with: the golden result, if there is one. Random
// draws may have none. Their output is compared with the case's input x, from which dropout drops
// elements, or with itself if there is no x.
TensorView expected_of(const Case& c, const TensorView& output) {
  if (c.output().golden) return c.output().golden->view();
  const auto x = c.inputs.find("x");
  return x != c.inputs.end() ? x->second.view() : output;
}

// Returns why an output of this dtype cannot be compared with the case's golden result, and sets
// `lack`. Returns an empty string if it can.
std::string unfit(const Case& c, const Format& output, const GateRequest& request, Lack& lack) {
  if (!c.output().golden && !tests_draws_alone(c, output, request)) {
    lack = Lack::kGoldenResult;
    const std::string output_name = c.output_name();
    const std::string of = output_name.empty() ? "" : formatted("the output '{}' of ", output_name);
    const std::string no_rows = request.sample ? why_no_rows(c) : "";
    return formatted("{}case {} has no golden result; compute one from its inputs{}", of, c.name,
                     no_rows.empty() ? "" : ", and " + no_rows);
  }
  std::string why_not = why_not_output(c, output);
  const bool is_stated = c.attributes.count("output_dtype") != 0;
  if (!why_not.empty() && (!is_stated || c.output().output_dtype_is_open)) {
    lack = Lack::kOutputDtype;
  }
  return why_not;
}

JudgeOptions judge_options(const GateRequest& request) {
  return {.metrics = request.metrics,
          .worst = request.worst,
          .threads = request.threads,
          .patterns = request.patterns,
          .mismatch_map = request.mismatch_map};
}

// Applies each mutation to an output that passed, and returns the outcomes of the checks.
std::vector<MutationResult> try_mutations(const Case& c, const TensorView& output,
                                          const std::vector<ElementCheck>& checks,
                                          const std::optional<ChecksumOptions>& checksums,
                                          const Epilogue* epilogue, JudgeOptions options) {
  options.metrics = options.patterns = options.mismatch_map = false;
  // Not needed, because the clean output is known to have few enough blind elements.
  options.blindness = false;
  const Tensor clean = copy_of(output);
  std::vector<MutationResult> results;
  for (const Mutation& mutation : mutations()) {
    MutationResult result;
    result.name = mutation.name;
    if (const auto changed = mutate(mutation, c, clean)) {
      result.applied = true;
      result.elementwise =
          worst_outcome(judge_by(checks, *changed, expected_of(c, changed->view()), options));
      if (checksums) result.abft = checksums->check(c, *changed, epilogue).outcome;
    }
    results.push_back(result);
  }
  return results;
}

// Returns a function from an element's expected value to the largest error that the case's bounds
// allow. Leaves out bounds that cannot give it without the operands. If none is left, uses the
// default standard. Returns an empty function if the default standard has no row for the dtype.
std::function<double(double)> golden_tolerance(const Case& c, const Format& output,
                                               const BoundRequest& request) {
  std::vector<Bound> bounds;
  for (const ChosenBound& chosen : choose_bounds(c, output, request)) {
    if (chosen.bound && row_of(chosen.bound->rule).by_value) bounds.push_back(*chosen.bound);
  }
  if (bounds.empty()) {
    if (const auto fallback = standard_bound(kDefaultStandard, output)) bounds = {*fallback};
  }
  if (bounds.empty()) return {};
  return [bounds, &output](double expected) {
    double least = HUGE_VAL;
    for (const Bound& bound : bounds)
      least = std::min(least, largest_error(bound, output, expected, expected));
    return least;
  };
}

}  // namespace

ChecksumOptions checksum_options(const Case& c, const Format& output, const GateRequest& request,
                                 const Origin& origin) {
  const FloatEnvironment environment;
  ChecksumOptions checksums;
  checksums.options.spec = request.checksums.value_or(parse_threshold(kDefaultThreshold));
  checksums.options.threads = request.threads;
  checksums.options.model = request.model;
  const bool attention = is_attention(c);
  if (!is_product(c) && !attention) {
    checksums.options.golden_tolerance = golden_tolerance(c, output, request.bounds);
    return checksums;
  }
  try {
    if (!attention) require_known_errors(c);
    if (request.model != nullptr) return checksums;
    const Machine* machine = machine_behind(c, request, origin);
    if (attention) {
      if (machine != nullptr) checksums.options.model = &dot_model(*machine, c.input("q").format());
    } else if (machine == nullptr) {
      if (const std::string why = why_machine_is_needed(c); !why.empty()) {
        checksums.why_not = why;
      }
    } else if (const auto model = product_model(c, *machine, output)) {
      checksums.model = std::make_shared<const DotModel>(*model);
      checksums.options.model = checksums.model.get();
    }
  } catch (const Refusal& e) {
    checksums.why_not = e.reason();
  }
  return checksums;
}

AbftVerdict ChecksumOptions::check(const Case& c, const TensorView& output,
                                   const Epilogue* epilogue) const {
  if (why_not.empty()) return abft_check(c, output, options, epilogue);
  return abft::not_checkable(output, options, why_not);
}

CaseReport gate_case(const Case& c, const std::string& name, const TensorView& output,
                     const GateRequest& request, const Origin& origin) {
  if (name.empty() && is_judged_as_it_is(c)) return gate_case(c, output, request, origin);
  CaseReport report = gate_case(judged_case(c, name), output, request, origin);
  name_output(report, c, name);
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
  if (request.sample && request.mutate) {
    refuse(
        "mutations can be tried only on whole outputs, and not on a sample of rows; leave out one "
        "of the two");
  }
  const bool by_sample = is_judged_by_sample(c, request);
  if (by_sample) {
    report.verdicts = judge_sampled(c, output, request, origin, report);
  } else if (request.elements) {
    if (std::string why_not = unfit(c, *output.format, request, report.lack); !why_not.empty()) {
      report.verdicts = {not_comparable(std::move(why_not))};
    } else {
      checks = element_checks(c, *output.format, request, origin);
      report.verdicts = judge_by(checks, output, expected_of(c, output), judge_options(request));
    }
  }
  if (request.sample && c.output().golden) {
    for (Verdict& v : report.verdicts) {
      v.notes.emplace_back(
          "judged as a whole by its golden result, because rows are drawn only from cases without "
          "one");
    }
  }
  std::optional<ChecksumOptions> checksums;
  if ((request.checksums || by_sample) &&
      (!request.elements || may_be_product(c) || is_attention(c))) {
    checksums = checksum_options(c, *output.format, request, origin);
    report.abft = checksums->check(c, output, origin.epilogue);
    if (output.size() == 0 && report.abft->outcome == Outcome::kUntrusted &&
        allows_empty(c, request.bounds)) {
      report.abft->outcome = Outcome::kPass;
      report.abft->because = kEmptyAllowed;
    }
    if (request.elements && is_attention(c) && report.abft->outcome == Outcome::kNotComparable) {
      // The checksums cannot judge this case. So only the elements decide, as for operators that
      // have no checksums.
      for (Verdict& v : report.verdicts) {
        v.notes.push_back("the checksums do not judge it: " + report.abft->because);
      }
      report.abft.reset();
      checksums.reset();
    }
  }
  if (request.mutate && report.outcome() == Outcome::kPass) {
    report.mutations =
        try_mutations(c, output, checks, checksums, origin.epilogue, judge_options(request));
  }
  return report;
}

CaseReport gate_emulated(const Case& c, const Machine& machine, const GateRequest& request,
                         Origin origin, std::optional<Tensor>* output, Epilogue* epilogue) {
  const FloatEnvironment environment;
  check_attribute_names(c);
  origin.producer = origin.machine = machine.name;
  Tensor result;
  try {
    result = emulate(c, machine, request.threads);
  } catch (const Refusal& e) {
    CaseReport report = report_of(c);
    report.producer = origin.producer;
    report.verdicts = {not_comparable(e.reason())};
    return report;
  }
  Epilogue own;
  std::string no_accumulator;
  if (request.checksums && request.checksums->threshold->takes_residuals && is_product(c)) {
    try {
      own.accumulator = emulate_accumulator(c, machine, request.threads);
    } catch (const Refusal& e) {
      no_accumulator = e.reason();
    }
    origin.epilogue = &own;
  }
  CaseReport report = gate_case(c, result, request, origin);
  if (!no_accumulator.empty() && report.abft) report.abft->because = no_accumulator;
  if (epilogue != nullptr) *epilogue = std::move(own);
  if (output != nullptr) *output = std::move(result);
  return report;
}

std::vector<ElementCheck> tensor_checks(const Format& output, const Format& expected,
                                        const GateRequest& request, std::string_view advice) {
  GateRequest of_both = request;
  of_both.bounds.golden = &expected;
  std::vector<ElementCheck> checks = element_checks(Case{}, output, of_both);
  for (ElementCheck& check : checks) {
    if (check.bound) {
      check.bound->whole_numbers = true;
    } else {
      check.why_not += advice;
    }
  }
  return checks;
}

std::vector<Verdict> gate_tensors(const TensorView& output, const TensorView& expected,
                                  const GateRequest& request, std::string_view advice) {
  const FloatEnvironment environment;
  const std::vector<ElementCheck> checks =
      tensor_checks(*output.format, *expected.format, request, advice);
  return judge_by(checks, output, expected, judge_options(request));
}

bool needs_inputs(const Case& header, const GateRequest& request) {
  if (request.checksums || request.mutate || request.sample) return true;
  if (find_operator(header.op) != nullptr && !names_bound(header, request.bounds)) return true;
  std::vector<std::string> standards = request.bounds.standards;
  for (const std::string& own : case_standards(header)) standards.push_back(own);
  return std::ranges::any_of(
      standards, [&](const std::string& s) { return needs_operands(s, request.bounds.custom); });
}

}  // namespace assay
