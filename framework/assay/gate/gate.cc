#include "assay/gate/gate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/fault/mutation.h"
#include "assay/gate/benchmark.h"
#include "assay/gate/case_outputs.h"
#include "assay/gate/expected_error.h"
#include "assay/gate/sampled.h"
#include "assay/judge/distribution.h"
#include "assay/op/accumulation.h"
#include "assay/op/attributes.h"
#include "assay/op/dot.h"
#include "assay/op/operator.h"
#include "assay/op/unit.h"

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
  const auto known = c.epilogues.find(origin.producer);
  if (origin.epilogue == nullptr && known != c.epilogues.end()) origin.epilogue = &known->second;
  return origin;
}

// The machine that a producer's name is, a variant's included; nullptr where it is none.
const Machine* machine_called(const std::string& producer) {
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

// The machine whose accumulation a case is judged by: the standard's, else the one that made the
// output. Where that is no machine with a matrix unit, any may have made it.
const Machine& accumulation_machine(const std::string& named, const Machine* behind) {
  if (!named.empty()) return machine_named(named);
  return behind != nullptr && behind->has_matrix_unit() ? *behind : any_machine();
}

// The golden result's format where it is no float64, so that its own error counts beside the
// output's; else nullptr.
const Format* rounded_golden(const Case& c) {
  if (!c.golden || !c.golden->format().is_float() || c.golden->format().is_float64()) {
    return nullptr;
  }
  return &c.golden->format();
}

// Why a case's own bound says nothing of what a machine makes of NaN; empty where it does.
std::string why_no_nan(const Case& c, const Machine* machine) {
  const bool has_unit = machine != nullptr && find_vector_model(*machine) != nullptr;
  const Operator* op = find_operator(c.op);
  if (!has_unit || !c.golden || find_parameter(*op, "saturate") == nullptr ||
      overflow_of(c, *machine) != Overflow::kSaturate) {
    return "";
  }
  const std::vector<double> golden = c.golden->view().values();
  if (std::none_of(golden.begin(), golden.end(), [](double v) { return std::isnan(v); })) return "";
  return formatted("the golden result holds NaN, which {} makes 0; the parameter saturate says so",
                   machine->name);
}

using BoundsByMachine = std::map<std::string_view, std::shared_ptr<const Tensor>>;

// The bounds of a case's elements on a machine; twice those where the golden result may be as far
// off as the output.
std::shared_ptr<const Tensor> element_bounds_on(const Case& c, const Machine& machine, int threads,
                                                BoundsByMachine& known) {
  std::shared_ptr<const Tensor>& bounds = known[machine.name];
  if (bounds) return bounds;
  Tensor own = accumulation_bounds(c, machine, threads);
  if (c.golden && own.shape() != c.golden->shape()) {
    throw CaseError(c.name, formatted("{} of these inputs is {}, the golden result {}", c.op,
                                      shape_text(own.shape()), shape_text(c.golden->shape())));
  }
  if (rounded_golden(c) != nullptr) {
    std::vector<double> values = own.view().values();
    for (double& v : values) v *= 2;
    own = Tensor::from_values(own.format(), own.shape(), values);
  }
  bounds = std::make_shared<const Tensor>(std::move(own));
  return bounds;
}

// Gives a check by the operator's roundings the bounds of its elements, or says why there are none.
void add_element_bounds(const Case& c, const Machine* behind, int threads, BoundsByMachine& known,
                        ElementCheck& check) {
  const std::string& named = check.bound->machine;
  if (!named.empty()) (void)machine_named(named);  // a wrong name is the caller's mistake
  try {
    const Machine& machine = accumulation_machine(named, behind);
    check.element_bounds = element_bounds_on(c, machine, threads, known);
    if (&machine == &any_machine() && behind == nullptr) {
      for (std::string& note : any_machine_notes(c)) check.notes.push_back(std::move(note));
    }
  } catch (const std::invalid_argument& e) {
    check.why_not = reason_of(e);
  }
}

// The check of the elements whose golden result is finite: NaN and infinity accept anything.
ElementCheck of_finite_elements(const ElementCheck& check) {
  ElementCheck finite = check;
  finite.bound->nan_accepts = true;
  finite.bound->infinity = Infinity::kFewer;
  return finite;
}

// Throws std::invalid_argument if a check by the expected error passes a right result, but says
// nothing of most elements: those whose golden result is within its expected error.
void require_sight(const Case& c, const Verdict& of_right) {
  if (of_right.outcome != Outcome::kUntrusted) return;
  throw CaseError(c.name, formatted("most results are within it: {}", of_right.because));
}

// Holds the theory of a check's expected error against a right result of these operands, which the
// machine computes, or the first of three that can if none is named. If none can, the golden result
// takes its place. Throws std::invalid_argument if the result does not pass, as with constants on a
// machine, whose errors do not know chance, or if the check is blind to most elements.
void hold_against_machine(const Case& c, const Format& output, const Machine& machine,
                          const Tensor& golden, int threads, ElementCheck& check) {
  const JudgeOptions options{.metrics = false, .threads = threads, .patterns = false};
  const ElementCheck finite = of_finite_elements(check);
  std::vector<const Machine*> able = {&machine};
  if (&machine == &any_machine()) {
    able = {&machine_named("cpu_fma"), &machine_named("hopper"), &machine_named("ascend910b")};
  }
  for (const Machine* one : able) {
    std::optional<Tensor> right;
    try {
      right = emulate(c, *one, threads);
    } catch (const std::invalid_argument&) {  // the next one may
    }
    if (!right || &right->format() != &output) continue;
    const Verdict v = finite.judge(*right, golden, options);
    if (v.outcome == Outcome::kFail || v.misses > 0) {
      throw CaseError(c.name, formatted("right results of these operands, by {}, have others: {}",
                                        one->name, v.because));
    }
    require_sight(c, v);
    for (Limit& limit : check.bound->limits) {
      for (const LimitReading& r : v.readings) {
        if (r.value < limit.parameter) limit.parameter = 0;  // they may be as small
      }
    }
    return;
  }
  const Tensor rounded = Tensor::from_values(output, golden.shape(), golden.view().values());
  require_sight(c, finite.judge(rounded, golden, options));
}

// Adds the golden result's own rounding to a bound on the distance from the exact one. (A derived
// tolerance has that of a float64 already.)
void allow_for_golden(const Case& c, const Format& output, ElementCheck& check) {
  const Format* golden = rounded_golden(c);
  Bound& bound = *check.bound;
  if (bound.rtol == 0 && bound.atol == 0) return;
  if (golden == nullptr && output.is_float64() && bound.rule == Rule::kGiven) {
    bound.rtol += unit_roundoff(output);
    bound.atol += min_subnormal(output);  // half of it is no float64
  }
  if (golden == nullptr) return;
  bound.rtol += unit_roundoff(*golden);
  bound.atol += min_subnormal(*golden) / 2;
  check.notes.push_back(
      formatted("the golden result is {}: its own error counts beside the output's; `assay golden` "
                "computes one in float64",
                golden->name));
}

// The error test of a check, on a machine, or what right results do that its theory does not.
void add_error_test(const Case& c, const Format& output, const Machine& machine, int threads,
                    ElementCheck& check) {
  if (rounded_golden(c) != nullptr || output.precision >= 53) {
    throw CaseError(c.name, "the golden result has no more precision than it");
  }
  const auto golden = std::make_shared<const Tensor>(c.golden ? *c.golden : golden_result(c));
  const ExpectedErrors errors = expected_errors(c, machine, threads);
  if (static_cast<std::int64_t>(errors.mean.size()) != golden->size()) {
    throw CaseError(c.name, formatted("{} of these inputs has {} elements, the golden result {}",
                                      c.op, errors.mean.size(), golden->size()));
  }
  const ErrorTest test = error_test(errors, *golden, output);
  check.element_bounds = test.bounds;
  check.error_weights = test.weights;
  check.bound->limits.clear();
  if (test.squares) check.bound->limits = {*test.squares};
  hold_against_machine(c, output, machine, *golden, threads, check);
  check.explain = [&c, &machine, golden, test, threads](const TensorView& judged) {
    return likely_arithmetic(c, machine, judged, *golden, test, threads);
  };
}

// Gives a check by the expected error its test; where theory does not hold, the operator's own
// bound with the reason.
void add_expected_error(const Case& c, const Format& output, const Machine* behind, int threads,
                        BoundsByMachine& known, ElementCheck& check) {
  const std::string named = check.bound->machine;
  if (!named.empty()) (void)machine_named(named);  // a wrong name is the caller's mistake
  const Bound asked = *check.bound;
  try {
    add_error_test(c, output, accumulation_machine(named, behind), threads, check);
    return;
  } catch (const std::invalid_argument& e) {
    check.notes.push_back(
        formatted("judged by the operator's own bound, for the expected error is not known: {}",
                  reason_of(e)));
  }
  try {
    Bound own = own_bound(c, output, behind);
    own.standard = asked.standard;
    own.origin = asked.origin;
    own.machine = named;
    own.nan_equal = asked.nan_equal;
    own.nan_accepts = asked.nan_accepts;
    own.infinity = asked.infinity;
    own.max_mismatches = asked.max_mismatches;
    own.max_mismatch_fraction = asked.max_mismatch_fraction;
    own.max_blind = asked.max_blind;
    own.max_blind_why = asked.max_blind_why;
    check.bound = own;
    check.element_bounds = check.error_weights = nullptr;
    if (own.rule == Rule::kGiven) add_element_bounds(c, behind, threads, known, check);
    allow_for_golden(c, output, check);
  } catch (const std::invalid_argument& e) {
    check.why_not = reason_of(e);
  }
}

// How far a bound of single elements lets one be from its expected value.
double allowed(const Bound& bound, const Format& output, double expected) {
  if (bound.rule == Rule::kBits) return 0;
  if (bound.rule == Rule::kUlps) {
    return static_cast<double>(bound.ulps) * ulp_of(output, expected);
  }
  return tolerance_at(bound, expected, expected);
}

// Says it where a bound that holds for all data leaves room for wrong arithmetic.
void note_times_expected(const Case& c, const Machine* behind, ElementCheck& check) {
  constexpr double kNoted = 100;
  const auto times = times_expected(
      c, accumulation_machine(check.bound->machine, behind), [&](std::int64_t i, double exact) {
        return check.element_bounds ? check.element_bounds->view().value_at(i)
                                    : tolerance_at(*check.bound, exact);
      });
  if (!times || !(*times > kNoted)) return;
  check.notes.push_back(formatted(
      "the bound is more than {} times the error that is expected of right results: arithmetic of "
      "less precision may pass it; the standard expected_error would tell",
      times_text(std::pow(10.0, std::floor(std::log10(*times))))));
}

// Whether all that judges the case are laws of what is drawn, which may do without a golden result.
bool tests_draws_alone(const Case& c, const Format& output, const GateRequest& request) {
  const std::vector<ChosenBound> all = choose_bounds(c, output, request.bounds);
  return std::all_of(all.begin(), all.end(), [](const ChosenBound& chosen) {
    return chosen.bound && chosen.bound->rule == Rule::kDistribution;
  });
}

// What an output is held against: the golden result; of draws without one the case's input x, from
// which dropout drops, else the output's own shape.
TensorView expected_of(const Case& c, const TensorView& output) {
  if (c.golden) return c.golden->view();
  const auto x = c.inputs.find("x");
  return x != c.inputs.end() ? x->second.view() : output;
}

// Why an output of this dtype cannot be held against the case's golden result; empty where it can.
std::string unfit(const Case& c, const Format& output, const GateRequest& request) {
  if (!c.golden && !tests_draws_alone(c, output, request)) {
    const std::string of =
        c.output_name.empty() ? "" : formatted("the output '{}' of ", c.output_name);
    const std::string no_rows = request.sample ? why_no_rows(c) : "";
    return formatted(
        "{}case {} has no golden result; `assay golden` computes one from the inputs{}", of, c.name,
        no_rows.empty() ? "" : ", and " + no_rows);
  }
  return c.why_not_output(output);
}

// What a case with rtol or atol alone should be told; empty where it has both or neither.
std::string lone_tolerance(const Case& c, const Bound& bound) {
  const bool has_rtol = c.attributes.count("rtol") != 0, has_atol = c.attributes.count("atol") != 0;
  const bool is_own = bound.origin == "case" && bound.standard == "custom";
  if (!is_own || has_rtol == has_atol) return "";
  return has_rtol
             ? formatted("the case gives rtol without atol, which is {}", number_text(bound.atol))
             : formatted("the case gives atol without rtol, which is {}", number_text(bound.rtol));
}

JudgeOptions judge_options(const GateRequest& request) {
  JudgeOptions options;
  options.metrics = request.metrics;
  options.patterns = request.patterns;
  options.miss_map = request.miss_map;
  options.worst = request.worst;
  options.threads = request.threads;
  return options;
}

// What the checks say of each corruption of an output that they passed.
std::vector<MutationResult> try_mutations(const Case& c, const TensorView& output,
                                          const std::vector<ElementCheck>& checks,
                                          const std::optional<ChecksumOptions>& checksums,
                                          const Epilogue* epilogue, JudgeOptions options) {
  options.metrics = options.patterns = options.miss_map = false;
  options.blindness = false;  // of the clean output it is known to be small enough
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

}  // namespace

ElementCheck::ElementCheck(ChosenBound chosen)
    : standard(std::move(chosen.standard)),
      bound(std::move(chosen.bound)),
      why_not(std::move(chosen.why_not)),
      notes(std::move(chosen.notes)) {}

Verdict ElementCheck::judge(const TensorView& output, const TensorView& expected,
                            JudgeOptions options) const {
  const FloatEnvironment environment;
  Verdict verdict;
  if (!bound || !why_not.empty()) {
    verdict = not_comparable(why_not);
    if (bound) verdict.bound = *bound;
    verdict.bound.standard = standard;
  } else {
    if (benchmark) options.benchmark = benchmark->view();
    if (element_bounds) options.element_bounds = element_bounds->view();
    if (error_weights) options.error_weights = error_weights->view();
    if (index_source != nullptr) {
      options.index_source = index_source->view();
      options.index_axis = index_axis;
    }
    verdict = assay::judge(output, expected, *bound, options);
    if (explain && verdict.outcome == Outcome::kFail && options.patterns) {
      if (const std::string why = explain(output); !why.empty()) verdict.because += "; " + why;
    }
  }
  verdict.notes.insert(verdict.notes.end(), notes.begin(), notes.end());
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

namespace {

// Completes the law of draws from the case's attributes; why that cannot be done, else empty.
std::string why_no_draws(const Case& c, Bound& bound) {
  try {
    std::string open = complete_law(
        bound, [&](std::string_view name) -> std::optional<double> { return c.real(name); });
    const std::string_view needed = parse_law(bound.distribution).law->golden;
    if (open.empty() && !needed.empty() && !c.golden && c.inputs.count("x") == 0) {
      return formatted("the law needs {}: the case has neither a golden result nor an input x",
                       needed);
    }
    return open;
  } catch (const std::invalid_argument& e) {
    return reason_of(e);
  }
}

// Why the machine that was asked for cannot have made a recorded product; empty where it can.
std::string why_not_made_by(const Case& c, const Format& output, const GateRequest& request,
                            const Origin& origin) {
  const bool is_recorded = request.machine != nullptr && origin.machine != request.machine->name;
  if (!is_recorded || !c.is_product()) return "";
  try {
    (void)product_model(c, *request.machine, output);
  } catch (const std::invalid_argument& e) {
    return reason_of(e);
  }
  return "";
}

}  // namespace

std::vector<ElementCheck> element_checks(const Case& c, const Format& output,
                                         const GateRequest& request, const Origin& origin) {
  const FloatEnvironment environment;
  check_attribute_names(c);
  const bool is_no_case = c.name.empty() && c.op.empty() && c.inputs.empty();
  std::vector<ElementCheck> checks;
  std::optional<Benchmark> benchmark;
  BoundsByMachine known;
  const auto behind = [&] { return machine_behind(c, request, origin); };
  for (ChosenBound& chosen : choose_bounds(c, output, request.bounds, behind)) {
    ElementCheck& check = checks.emplace_back(std::move(chosen));
    if (check.bound) {
      if (std::string note = lone_tolerance(c, *check.bound); !note.empty()) {
        check.notes.push_back(std::move(note));
      }
    }
    // Of two tensors without a case the judge itself says what is missing.
    if (!check.bound || is_no_case) continue;
    if (check.bound->rule == Rule::kDistribution) {
      check.why_not = why_no_draws(c, *check.bound);
      continue;
    }
    if (check.bound->rule == Rule::kIndices) {
      const IndexSource source = index_source(c, check.bound->standard);
      check.index_source = source.tensor;
      check.index_axis = source.axis;
      check.why_not = source.why_not;
      continue;
    }
    if (check.bound->needs_benchmark()) {
      if (!benchmark) benchmark = find_benchmark(c, request, origin);
      check.benchmark = benchmark->output;
      check.why_not = benchmark->why_not;
    }
    const bool own = check.bound->origin == kOperatorOrigin;
    if (own) {
      check.why_not = why_not_made_by(c, output, request, origin);
      if (!check.why_not.empty()) continue;
    }
    if (check.bound->by_chance) {
      add_expected_error(c, output, behind(), request.threads, known, check);
      if (!check.why_not.empty()) {  // the operator's own bound is not known either
        ElementCheck instead(default_bound(c, output, request.bounds, check.why_not));
        instead.notes.insert(instead.notes.begin(), check.notes.begin(), check.notes.end());
        if (instead.bound) check = std::move(instead);
      }
      continue;
    }
    if (check.bound->rule == Rule::kGiven) {
      add_element_bounds(c, behind(), request.threads, known, check);
    }
    if (own && check.why_not.empty()) check.why_not = why_no_nan(c, behind());
    if (own && !check.why_not.empty()) {
      check = ElementCheck(default_bound(c, output, request.bounds, check.why_not));
      continue;
    }
    if (own || check.bound->rule == Rule::kGiven) {
      allow_for_golden(c, output, check);
      if (check.why_not.empty()) note_times_expected(c, behind(), check);
    }
  }
  return checks;
}

const Machine* machine_behind(const Case& c, const GateRequest& request, const Origin& origin) {
  if (request.machine != nullptr) return request.machine;
  if (!origin.machine.empty()) return &machine_named(origin.machine);
  const auto of_output = c.output_machines.find(origin.producer);
  if (of_output != c.output_machines.end()) return &machine_named(of_output->second);
  if (const Machine* machine = machine_called(origin.producer)) return machine;
  const auto of_case = c.text("machine");
  return of_case ? &machine_named(*of_case) : nullptr;
}

namespace {

// What the bounds that the case is judged by allow an element of this expected value; those that
// say nothing of single elements without the operands give way to the default standard. Empty where
// that has no row for the dtype.
std::function<double(double)> golden_tolerance(const Case& c, const Format& output,
                                               const BoundRequest& request) {
  std::vector<Bound> bounds;
  for (const ChosenBound& chosen : choose_bounds(c, output, request)) {
    if (chosen.bound && chosen.bound->rule != Rule::kStatistics &&
        chosen.bound->rule != Rule::kGiven && chosen.bound->rule != Rule::kDistribution &&
        chosen.bound->rule != Rule::kIndices) {
      bounds.push_back(*chosen.bound);
    }
  }
  if (bounds.empty()) {
    if (const auto otherwise = standard_bound(kDefaultStandard, output)) bounds = {*otherwise};
  }
  if (bounds.empty()) return {};
  return [bounds, &output](double expected) {
    double least = HUGE_VAL;
    for (const Bound& bound : bounds) least = std::min(least, allowed(bound, output, expected));
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
  const bool attention = c.is_attention();
  if (!c.is_product() && !attention) {
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
        checksums.why_not = why +
                            ", of the case or of the output, or by --machine (in a matcher "
                            ".machine(NAME))";
      }
    } else if (const auto model = product_model(c, *machine, output)) {
      checksums.model = std::make_shared<const DotModel>(*model);
      checksums.options.model = checksums.model.get();
    }
  } catch (const std::invalid_argument& e) {
    checksums.why_not = reason_of(e);
  }
  return checksums;
}

AbftVerdict ChecksumOptions::check(const Case& c, const TensorView& output,
                                   const Epilogue* epilogue) const {
  if (why_not.empty()) return abft_check(c, output, options, epilogue);
  AbftVerdict verdict;
  verdict.outcome = Outcome::kNotComparable;
  verdict.because = why_not;
  verdict.spec = options.spec.text();
  verdict.format = output.format;
  return verdict;
}

CaseReport gate_case(const Case& c, const TensorView& output, const GateRequest& request,
                     const Origin& given) {
  const FloatEnvironment environment;
  require_one_output(c);
  check_attribute_names(c);
  const Origin origin = known_origin(c, output, given);
  CaseReport report = report_of(c);
  report.producer = origin.producer;
  report.dtype = output.format->name;
  report.shape = output.shape;
  std::vector<ElementCheck> checks;
  if (request.sample && request.mutate) {
    throw std::invalid_argument("mutations are tried on whole outputs, not on a sample of rows");
  }
  const bool by_sample = is_judged_by_sample(c, request);
  if (by_sample) {
    report.verdicts = judge_sampled(c, output, request, origin, report);
  } else if (request.elements) {
    if (std::string why_not = unfit(c, *output.format, request); !why_not.empty()) {
      report.verdicts = {not_comparable(std::move(why_not))};
    } else {
      checks = element_checks(c, *output.format, request, origin);
      report.verdicts = judge_by(checks, output, expected_of(c, output), judge_options(request));
    }
  }
  if (request.sample && c.golden) {
    for (Verdict& v : report.verdicts) {
      v.notes.emplace_back(
          "judged as a whole, by its golden result: rows are drawn where there is "
          "none");
    }
  }
  std::optional<ChecksumOptions> checksums;
  if ((request.checksums || by_sample) &&
      (!request.elements || may_be_product(c) || c.is_attention())) {
    checksums = checksum_options(c, *output.format, request, origin);
    report.abft = checksums->check(c, output, origin.epilogue);
    if (request.elements && c.is_attention() && report.abft->outcome == Outcome::kNotComparable) {
      // As of operators without checksums, the elements alone decide.
      for (Verdict& v : report.verdicts) {
        v.notes.push_back("the checksums say nothing of it: " + report.abft->because);
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

std::vector<Verdict> judge_case(const Case& c, const TensorView& output,
                                const BoundRequest& request, const JudgeOptions& options) {
  if (std::string why_not = unfit(c, *output.format, {.bounds = request}); !why_not.empty()) {
    return {not_comparable(std::move(why_not))};
  }
  std::vector<ElementCheck> checks =
      element_checks(c, *output.format, {.bounds = request}, known_origin(c, output, {}));
  for (ElementCheck& check : checks) {
    if (!check.bound) continue;
    const bool brought = (check.bound->needs_benchmark() && options.benchmark) ||
                         (check.bound->rule == Rule::kGiven && options.element_bounds);
    if (!brought) continue;
    check.benchmark = check.element_bounds = check.error_weights = nullptr;  // the caller's own
    check.why_not.clear();
  }
  return judge_by(checks, output, expected_of(c, output), options);
}

CaseReport gate_emulated(const Case& c, const Machine& machine, const GateRequest& request,
                         Origin origin, std::optional<Tensor>* output, Epilogue* epilogue) {
  const FloatEnvironment environment;
  require_one_output(c);
  check_attribute_names(c);
  origin.producer = origin.machine = machine.name;
  Tensor result;
  try {
    result = emulate(c, machine, request.threads);
  } catch (const std::invalid_argument& e) {
    CaseReport report = report_of(c);
    report.producer = origin.producer;
    report.verdicts = {not_comparable(reason_of(e))};
    return report;
  }
  Epilogue own;
  std::string no_accumulator;
  if (request.checksums && request.checksums->threshold->takes_residuals && c.is_product()) {
    try {
      own.accumulator = emulate_accumulator(c, machine, request.threads);
    } catch (const std::invalid_argument& e) {
      no_accumulator = reason_of(e);
    }
    origin.epilogue = &own;
  }
  CaseReport report = gate_case(c, result, request, origin);
  if (!no_accumulator.empty() && report.abft) report.abft->because = no_accumulator;
  if (epilogue != nullptr) *epilogue = std::move(own);
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
  if (request.checksums || request.mutate || request.sample) return true;
  if (find_operator(header.op) != nullptr && !names_bound(header, request.bounds)) return true;
  std::vector<std::string> standards = request.bounds.standards;
  for (const std::string& own : case_standards(header)) standards.push_back(own);
  return std::any_of(standards.begin(), standards.end(), [&](const std::string& s) {
    return needs_operands(s, request.bounds.custom);
  });
}

}  // namespace assay
