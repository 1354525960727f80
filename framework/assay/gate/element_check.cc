#include "assay/gate/element_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/gate/bound_width.h"
#include "assay/gate/case_outputs.h"
#include "assay/gate/likely_arithmetic.h"
#include "assay/gate/reference_implementation.h"
#include "assay/judge/draw_distribution.h"
#include "assay/judge/rule_table.h"
#include "assay/op/attributes.h"
#include "assay/op/dot_operator.h"
#include "assay/op/operator.h"
#include "assay/op/sum_bound.h"
#include "assay/op/unit.h"

namespace assay::inline v0_2 {

ElementCheck::ElementCheck(ChosenBound chosen)
    : standard(std::move(chosen.standard)),
      bound(std::move(chosen.bound)),
      why_not(std::move(chosen.why_not)),
      notes(std::move(chosen.notes)) {}

Verdict ElementCheck::judge_alone(const TensorView& output, const TensorView& expected,
                                  JudgeOptions options) const {
  Verdict verdict;
  if (!bound || !why_not.empty()) {
    verdict = not_comparable(why_not);
    if (bound) verdict.bound = *bound;
    verdict.bound.standard = standard;
  } else {
    if (reference_implementation)
      options.reference_implementation = reference_implementation->view();
    if (element_bounds) options.element_bounds = element_bounds->view();
    if (error_weights) options.error_weights = error_weights->view();
    if (index_source != nullptr) {
      options.index_source = index_source->view();
      options.index_axis = index_axis;
    }
    verdict = assay::judge(output, expected, *bound, options);
    if (explain && verdict.outcome == Outcome::kFail && options.patterns && !verdict.explained) {
      if (const std::string why = explain(output); !why.empty()) verdict.because += "; " + why;
    }
    if (remark && verdict.outcome == Outcome::kPass) {
      if (std::string note = remark(output); !note.empty()) {
        verdict.notes.push_back(std::move(note));
      }
    }
  }
  verdict.notes.insert(verdict.notes.end(), notes.begin(), notes.end());
  return verdict;
}

namespace {

// Returns options for a verdict of which only the outcome is used.
JudgeOptions quickly(JudgeOptions options) {
  options.metrics = options.patterns = options.mismatch_map = false;
  return options;
}

}  // namespace

void ElementCheck::settle_doubt(const TensorView& output, const TensorView& expected,
                                const JudgeOptions& options, Verdict& verdict) const {
  if (!by_float32 || verdict.outcome != Outcome::kPass) return;
  const Verdict narrow = by_float32->judge_alone(output, expected, quickly(options));
  if (narrow.outcome != Outcome::kFail) return;
  verdict.outcome = Outcome::kUntrusted;
  verdict.because = formatted("{}: {}", doubt, narrow.because);
}

Verdict ElementCheck::judge(const TensorView& output, const TensorView& expected,
                            const JudgeOptions& options) const {
  const FloatEnvironment environment;
  Verdict own = judge_alone(output, expected, options);
  settle_doubt(output, expected, options, own);
  if (!by_chance || own.outcome == Outcome::kNotComparable) return own;
  if (own.outcome == Outcome::kFail) {
    if (options.patterns && !own.explained && by_chance->explain) {
      if (const std::string why = by_chance->explain(output); !why.empty()) {
        own.because += "; " + why;
      }
    }
    return own;
  }
  const Outcome chance = by_chance->judge_alone(output, expected, quickly(options)).outcome;
  const bool own_passes = own.outcome == Outcome::kPass;
  if (chance == Outcome::kPass && own_passes) {
    own.because += " and within the expected error";
    by_chance->settle_doubt(output, expected, options, own);
    return own;
  }
  // The own bound does not fail this output. The check by the expected error decides if it fails
  // the output, or if only this check passes it.
  if (chance != Outcome::kFail && (own_passes || chance != Outcome::kPass)) return own;
  Verdict decided = by_chance->judge_alone(output, expected, options);
  by_chance->settle_doubt(output, expected, options, decided);
  decided.notes.push_back(
      own_passes
          ? formatted("{} holds: it is the operator's own bound, for all data", own.bound.text())
          : formatted("the operator's own bound cannot judge this output: {}", own.because));
  return decided;
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

// Returns the machine whose accumulation judges a case: the one that the standard names, or else
// the one that computed the output. If that is not a machine with a matrix unit, returns
// any_machine().
const Machine& accumulation_machine(const std::string& named, const Machine* behind) {
  if (!named.empty()) return machine_named(named);
  return behind != nullptr && behind->has_matrix_unit() ? *behind : any_machine();
}

// Returns the golden result's format if it is a float format other than float64, so that the golden
// result's own error counts in addition to the output's. Otherwise returns nullptr.
const Format* rounded_golden(const Case& c) {
  if (!c.output().golden || !c.output().golden->format().is_float() ||
      c.output().golden->format().is_float64()) {
    return nullptr;
  }
  return &c.output().golden->format();
}

// Returns why a case's own bound cannot judge a machine that turns NaN into 0. Returns an empty
// string if it can.
std::string why_no_nan(const Case& c, const Machine* machine) {
  const bool has_unit = machine != nullptr && find_vector_model(*machine) != nullptr;
  const Operator* op = find_operator(c.op);
  if (!has_unit || !c.output().golden || find_parameter(*op, "saturate") == nullptr ||
      overflow_of(c, *machine) != Overflow::kSaturate) {
    return "";
  }
  const std::vector<double> golden = c.output().golden->view().values();
  if (std::none_of(golden.begin(), golden.end(), [](double v) { return std::isnan(v); })) return "";
  return formatted(
      "the golden result holds NaN, where {} gives 0; set the parameter saturate = 1, and compute "
      "the golden result again",
      machine->name);
}

using BoundsByMachine = std::map<std::string_view, std::shared_ptr<const Tensor>>;

// Returns the bounds of a case's elements on a machine. They are doubled if the golden result may
// be as inexact as the output.
std::shared_ptr<const Tensor> element_bounds_on(const Case& c, const Machine& machine, int threads,
                                                BoundsByMachine& known) {
  std::shared_ptr<const Tensor>& bounds = known[machine.name];
  if (bounds) return bounds;
  Tensor own = accumulation_bounds(c, machine, threads);
  if (c.output().golden && own.shape() != c.output().golden->shape()) {
    refuse_case(c.name, "{} of these inputs has the shape {}, but the golden result has {}", c.op,
                shape_text(own.shape()), shape_text(c.output().golden->shape()));
  }
  if (rounded_golden(c) != nullptr && !gives_codes(c)) {
    std::vector<double> values = own.view().values();
    for (double& v : values) v *= 2;
    own = Tensor::from_values(own.format(), own.shape(), values);
  }
  bounds = std::make_shared<const Tensor>(std::move(own));
  return bounds;
}

// Adds the elements' bounds to a check that is bounded by the operator's roundings. Sets why_not if
// there are no such bounds.
void add_element_bounds(const Case& c, const Machine* behind, int threads, BoundsByMachine& known,
                        ElementCheck& check) {
  const std::string& named = check.bound->machine;
  if (!named.empty()) (void)machine_named(named);  // a wrong name is the caller's mistake
  try {
    const Machine& machine = accumulation_machine(named, behind);
    check.element_bounds = element_bounds_on(c, machine, threads, known);
    if (const Operator* op = find_operator(c.op); op != nullptr && op->remark != nullptr) {
      check.remark = [&c, op](const TensorView& output) { return op->remark(c, output); };
    }
    if (is_any_machine(machine) && behind == nullptr) {
      for (std::string& note : any_machine_notes(c)) check.notes.push_back(std::move(note));
    }
  } catch (const Refusal& e) {
    check.why_not = e.reason();
  }
}

// Returns the check without the elements whose golden result is NaN or infinite: the check then
// accepts every finite output there.
ElementCheck of_finite_elements(const ElementCheck& check) {
  ElementCheck finite = check;
  finite.bound->nan_accepts = true;
  finite.bound->infinity = Infinity::kFewer;
  return finite;
}

// Throws Refusal if a check by the expected error passes a right result, but does not
// judge most of its elements. Those are the elements whose golden result is smaller than its
// expected error.
void require_sight(const Case& c, const Verdict& of_right) {
  if (of_right.outcome != Outcome::kUntrusted) return;
  refuse_case(c.name, "most results are within it: {}", of_right.because);
}

// Tests the theory of a check's expected error on a right result of these operands. The machine
// computes that result. If no machine is named, the first of three machines that can compute the
// case does. If none can, the golden result is used instead. Throws Refusal if the
// result does not pass. That happens for constants on a machine, whose errors are not random. Also
// throws if the check cannot judge most elements.
void hold_against_machine(const Case& c, const Format& output, const Machine& machine,
                          const Tensor& golden, int threads, ElementCheck& check) {
  const JudgeOptions options{.metrics = false, .threads = threads, .patterns = false};
  const ElementCheck finite = of_finite_elements(check);
  std::vector<const Machine*> able = {&machine};
  if (&machine == &any_float32_machine()) {
    able = {&machine_named("cpu_fma")};
  } else if (is_any_machine(machine)) {
    able = {&machine_named("cpu_fma"), &machine_named("hopper"), &machine_named("ascend910b")};
  }
  for (const Machine* one : able) {
    std::optional<Tensor> right;
    try {
      right = emulate(c, *one, threads);
    } catch (const Refusal&) {  // the next machine may be able to
    }
    if (!right || &right->format() != &output) continue;
    const Verdict v = finite.judge(*right, golden, options);
    if (v.outcome == Outcome::kFail || v.mismatches > 0) {
      refuse_case(c.name, "right results of these operands, computed by {}, have larger errors: {}",
                  one->name, v.because);
    }
    require_sight(c, v);
    for (Limit& limit : check.bound->limits) {
      for (const LimitReading& r : v.readings) {
        const bool is_of_it = r.limit.statistic == limit.statistic;
        // A right result has errors below the lower limit, so this limit is dropped.
        if (is_of_it && r.value < limit.parameter) limit.parameter = 0;
      }
    }
    return;
  }
  const Tensor rounded = Tensor::from_values(output, golden.shape(), golden.view().values());
  require_sight(c, finite.judge(rounded, golden, options));
}

// Adds the golden result's own rounding to a bound on the distance from the exact result. (A
// derived tolerance already includes the rounding of a float64 result.)
void allow_for_golden(const Case& c, const Format& output, ElementCheck& check) {
  const Format* golden = rounded_golden(c);
  Bound& bound = *check.bound;
  if (bound.rtol == 0 && bound.atol == 0) return;
  if (golden == nullptr && output.is_float64() && by_element_bounds(bound)) {
    bound.rtol += unit_roundoff(output);
    bound.atol += min_subnormal(output);  // half of it is not a float64
  }
  if (golden == nullptr) return;
  bound.rtol += unit_roundoff(*golden);
  bound.atol += min_subnormal(*golden) / 2;
  check.notes.push_back(
      formatted("the golden result is {}, so that the bound allows its own rounding error, too; a "
                "golden result in float64 has none",
                golden->name));
}

// Gives a check its error test for a machine. Throws Refusal if right results have
// errors that the theory does not describe.
void add_error_test(const Case& c, const Format& output, const Machine& machine, int threads,
                    ElementCheck& check) {
  if (rounded_golden(c) != nullptr || output.precision >= 53) {
    refuse_case(c.name, "the golden result has no more precision than the output");
  }
  // The case outlives the check.
  const std::shared_ptr<const Tensor> golden =
      c.output().golden
          ? std::shared_ptr<const Tensor>(std::shared_ptr<const Tensor>(), &*c.output().golden)
          : std::make_shared<const Tensor>(golden_result(c));
  const ExpectedErrors errors = expected_errors(c, machine, threads);
  if (static_cast<std::int64_t>(errors.mean.size()) != golden->size()) {
    refuse_case(c.name, "{} of these inputs has {} elements, but the golden result has {}", c.op,
                errors.mean.size(), golden->size());
  }
  const ErrorTest test = error_test(errors, *golden, output, threads);
  check.element_bounds = test.bounds;
  check.error_weights = test.weights;
  check.bound->limits.clear();
  for (const std::optional<Limit>& limit : {test.squares, test.bias}) {
    if (limit) check.bound->limits.push_back(*limit);
  }
  hold_against_machine(c, output, machine, *golden, threads, check);
  check.explain = [&c, &machine, golden, test, threads](const TensorView& judged) {
    return likely_arithmetic(c, machine, judged, *golden, test, threads);
  };
}

// Gives a check by the expected error its error test. If no machine is named and the case may have
// sums of few bits, also adds the test for float32 sums, which can tell the two apart.
void add_error_tests(const Case& c, const Format& output, const Machine& machine, int threads,
                     ElementCheck& check) {
  add_error_test(c, output, machine, threads, check);
  const int bits = is_any_machine(machine) ? shortest_sum_bits(c) : 0;
  if (bits == 0) return;
  auto narrow = std::make_shared<ElementCheck>(check);
  try {
    add_error_test(c, output, any_float32_machine(), threads, *narrow);
  } catch (const Refusal&) {
    return;
  }
  *narrow = of_finite_elements(*narrow);
  check.doubt = formatted(
      "no machine is named, and the output is right only if its sums keep as few as {} bits, as "
      "those of some machines do; name the machine that computed it. As sums of float32 it would "
      "fail",
      bits);
  check.by_float32 = std::move(narrow);
}

// Gives a check by the expected error its test. If the theory does not apply, the check uses the
// operator's own bound, with a note on the reason.
void add_expected_error(const Case& c, const Format& output, const Machine* behind, int threads,
                        BoundsByMachine& known, ElementCheck& check) {
  const std::string named = check.bound->machine;
  if (!named.empty()) (void)machine_named(named);  // a wrong name is the caller's mistake
  const Bound asked = *check.bound;
  try {
    add_error_tests(c, output, accumulation_machine(named, behind), threads, check);
    return;
  } catch (const Refusal& e) {
    check.notes.push_back(
        formatted("judged by the operator's own bound, because the expected error is not known: {}",
                  e.reason()));
  }
  try {
    Bound own = own_bound(c, output, behind);
    own.standard = asked.standard;
    own.origin = asked.origin;
    own.machine = named;
    static_cast<BoundPolicies&>(own) = asked;
    check.bound = own;
    check.element_bounds = check.error_weights = nullptr;
    if (own.rule == Rule::kAccumulation) add_element_bounds(c, behind, threads, known, check);
    allow_for_golden(c, output, check);
  } catch (const Refusal& e) {
    check.why_not = e.reason();
  }
}

// Adds a note if a bound that holds for all data is wide enough to pass wrong arithmetic.
void note_times_expected(const Case& c, const Machine* behind, ElementCheck& check) {
  constexpr double kNoted = 100;
  const auto times = times_expected(
      c, accumulation_machine(check.bound->machine, behind), [&](std::int64_t i, double exact) {
        return check.element_bounds ? check.element_bounds->view().value_at(i)
                                    : tolerance_at(*check.bound, exact);
      });
  if (!times || !(*times > kNoted)) return;
  check.notes.push_back(
      formatted("the bound is more than {} times the error that is expected of right results: "
                "arithmetic of less precision may pass it; the standard expected_error would tell",
                times_text(std::pow(10.0, std::floor(std::log10(*times))))));
}

// Completes the law of random draws from the case's attributes. Returns the reason if that is not
// possible, and an empty string otherwise.
std::string why_no_draws(const Case& c, Bound& bound) {
  try {
    std::string open = complete_law(
        bound, [&](std::string_view name) -> std::optional<double> { return c.real(name); });
    const std::string_view needed = parse_law(bound.distribution).law->golden;
    if (open.empty() && !needed.empty() && !c.output().golden && c.inputs.count("x") == 0) {
      return formatted("the law needs {}: the case has neither a golden result nor an input x",
                       needed);
    }
    return open;
  } catch (const Refusal& e) {
    return e.reason();
  }
}

// Returns why the machine that the request names cannot have computed a recorded product. Returns
// an empty string if it can.
std::string why_not_made_by(const Case& c, const Format& output, const GateRequest& request,
                            const Origin& origin) {
  const bool is_recorded = request.machine != nullptr && origin.machine != request.machine->name;
  if (!is_recorded || !is_product(c)) return "";
  try {
    (void)product_model(c, *request.machine, output);
  } catch (const Refusal& e) {
    return e.reason();
  }
  return "";
}

// Returns a check by the expected error. It is used in addition to an operator's own bound, or
// replaces that bound if `takes_place`. Returns nullptr if the theory does not cover the case.
std::shared_ptr<const ElementCheck> chance_check(const Case& c, const Format& output,
                                                 const GateRequest& request, const Machine* behind,
                                                 bool takes_place) {
  const std::optional<Bound> bound = chance_bound(c, output, request.bounds);
  if (!bound) return nullptr;
  auto check = std::make_shared<ElementCheck>(ChosenBound{*bound, bound->standard, ""});
  try {
    add_error_tests(c, output, accumulation_machine("", behind), request.threads, *check);
  } catch (const Refusal&) {
    return nullptr;
  }
  // The own bound already judges NaN and infinity, and knows how a saturating unit changes them.
  if (!takes_place) *check = of_finite_elements(*check);
  return check;
}

// An output whose checks are prepared, and what they share.
struct CheckedOutput {
  const Case& c;
  const Format& format;
  const GateRequest& request;
  const Origin& origin;
  BoundsByMachine bounds = {};
  std::optional<ReferenceImplementation> reference_implementation = {};

  const Machine* machine() const { return machine_behind(c, request, origin); }
};

void prepare_draws(CheckedOutput& output, ElementCheck& check) {
  check.why_not = why_no_draws(output.c, *check.bound);
}

void prepare_indices(CheckedOutput& output, ElementCheck& check) {
  const IndexSource source = index_source(output.c, check.bound->standard);
  check.index_source = source.tensor;
  check.index_axis = source.axis;
  check.why_not = source.why_not;
}

void prepare_accumulation(CheckedOutput& output, ElementCheck& check) {
  const Case& c = output.c;
  add_element_bounds(c, output.machine(), output.request.threads, output.bounds, check);
  allow_for_golden(c, output.format, check);
  if (check.why_not.empty()) note_times_expected(c, output.machine(), check);
}

// If neither the expected error nor the operator's own bound is known, the default standard judges.
void prepare_expected_error(CheckedOutput& output, ElementCheck& check) {
  const Case& c = output.c;
  add_expected_error(c, output.format, output.machine(), output.request.threads, output.bounds,
                     check);
  if (check.why_not.empty()) return;
  ElementCheck instead(default_bound(c, output.format, output.request.bounds, check.why_not));
  instead.notes.insert(instead.notes.begin(), check.notes.begin(), check.notes.end());
  if (instead.bound) check = std::move(instead);
}

// A row of the table that prepares checks which a standard names: it gives a check what its rule
// needs of the case. Rules without a row need nothing, or only a reference implementation's output.
struct Preparation {
  Rule rule;
  void (*prepare)(CheckedOutput& output, ElementCheck& check);
};
constexpr Preparation kPreparations[] = {{Rule::kAccumulation, prepare_accumulation},
                                         {Rule::kExpectedError, prepare_expected_error},
                                         {Rule::kDistribution, prepare_draws},
                                         {Rule::kIndices, prepare_indices}};

void prepare_named(CheckedOutput& output, ElementCheck& check) {
  const Bound& bound = *check.bound;
  if (bound.needs_reference()) {
    auto& reference = output.reference_implementation;
    if (!reference) {
      reference = find_reference_implementation(output.c, output.request, output.origin);
    }
    check.reference_implementation = reference->output;
    check.why_not = reference->why_not;
  }
  // For integers, the standards of rounding errors mean equality. For codes, they allow the codes
  // that the quotient may give.
  const bool of_rounding =
      bound.standard.starts_with("accumulation") || bound.standard.starts_with("expected_error");
  if (of_rounding && bound.rule != Rule::kExpectedError) bound_codes(output.c, *check.bound);
  const Preparation* row = find_row(kPreparations, bound.rule, &Preparation::rule);
  if (row != nullptr) row->prepare(output, check);
}

// Prepares a check by the operator's own bound. If that bound is not known, the expected error
// replaces it, or else the default standard.
void prepare_own(CheckedOutput& output, ElementCheck& check) {
  const Case& c = output.c;
  const GateRequest& request = output.request;
  check.why_not = why_not_made_by(c, output.format, request, output.origin);
  if (!check.why_not.empty()) return;
  if (check.bound->rule == Rule::kAccumulation) {
    add_element_bounds(c, output.machine(), request.threads, output.bounds, check);
  }
  if (!check.why_not.empty()) {
    if (const auto chance = chance_check(c, output.format, request, output.machine(), true)) {
      const std::string reason = std::move(check.why_not);
      check = *chance;
      check.notes.push_back(formatted(
          "judged by the expected error, because the operator's own bound is not known: {}",
          reason));
      return;
    }
  } else {
    check.why_not = why_no_nan(c, output.machine());
  }
  if (!check.why_not.empty()) {
    check = ElementCheck(default_bound(c, output.format, request.bounds, check.why_not));
    return;
  }
  allow_for_golden(c, output.format, check);
  check.by_chance = chance_check(c, output.format, request, output.machine(), false);
  if (!check.by_chance) note_times_expected(c, output.machine(), check);
}

}  // namespace

std::vector<ElementCheck> element_checks(const Case& c, const Format& format,
                                         const GateRequest& request, const Origin& origin) {
  const FloatEnvironment environment;
  check_attribute_names(c);
  const bool is_no_case = c.name.empty() && c.op.empty() && c.inputs.empty();
  CheckedOutput output{c, format, request, origin};
  std::vector<ElementCheck> checks;
  for (ChosenBound& chosen :
       choose_bounds(c, format, request.bounds, [&] { return output.machine(); })) {
    ElementCheck& check = checks.emplace_back(std::move(chosen));
    // For two tensors without a case, judge() itself reports what is missing.
    if (!check.bound || is_no_case) continue;
    if (check.bound->origin == kOperatorOrigin) {
      prepare_own(output, check);
    } else {
      prepare_named(output, check);
    }
  }
  return checks;
}

}  // namespace assay
