#include "assay/judge/verdict.h"

#include <stdexcept>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/judge/blindness.h"
#include "assay/judge/complex.h"
#include "assay/judge/elements.h"
#include "assay/judge/pattern.h"
#include "assay/judge/published_standards.h"
#include "assay/judge/rule_table.h"

namespace assay::inline v0_2 {

Verdict& Verdict::decide(Outcome is, std::string reason) {
  outcome = is;
  because = std::move(reason);
  return *this;
}

double Verdict::blind_share() const {
  return blind && nonzero > 0 ? static_cast<double>(*blind) / static_cast<double>(nonzero) : 0;
}

namespace {

// True if every element of both views is in the same memory. Strides of dimensions of extent 1 do
// not matter.
bool same_memory(const TensorView& a, const TensorView& b) {
  if (a.data != b.data || a.format != b.format || a.shape != b.shape) return false;
  for (std::size_t d = 0; d < a.shape.size(); ++d) {
    if (a.shape[d] > 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

// Marks a verdict as untrusted, whatever else was found: a tensor was compared with itself.
void cannot_fail(Verdict& verdict, std::string because) {
  verdict.decide(Outcome::kUntrusted, std::move(because) + ": the check could not have failed");
  verdict.where.clear();
}
void same_memory_cannot_fail(Verdict& verdict) {
  cannot_fail(verdict, "the output is the expected result itself, in the same memory");
  verdict.same_data = true;
}

}  // namespace

std::string_view outcome_word(Outcome outcome) {
  constexpr std::string_view kWords[] = {"pass", "fail", "untrusted", "not_comparable"};
  return kWords[static_cast<std::size_t>(outcome)];
}

Verdict not_comparable(std::string because) {
  return Verdict().decide(Outcome::kNotComparable, std::move(because));
}

Verdict& decide_without_elements(Verdict& verdict) {
  return verdict.bound.allow_empty
             ? verdict.decide(Outcome::kPass, kEmptyAllowed)
             : verdict.decide(Outcome::kUntrusted, "there are no elements to compare");
}

std::string why_not_comparable(const TensorView& actual, const TensorView& expected) {
  if (actual.shape != expected.shape) {
    return formatted("the output's shape is {}, the expected one is {}; nothing is broadcast",
                     shape_text(actual.shape), shape_text(expected.shape));
  }
  if (actual.format->is_complex() != expected.format->is_complex()) {
    return formatted("the output is {}, the expected result {}: one is complex and one is real",
                     actual.format->name, expected.format->name);
  }
  if (actual.format->is_float() && !expected.format->is_float()) {
    return formatted(
        "the output is {}, the expected result {}: integers cannot be the golden result of a float "
        "output",
        actual.format->name, expected.format->name);
  }
  return "";
}

Verdict judge(const TensorView& actual, const TensorView& expected, const Bound& bound,
              const JudgeOptions& options) {
  const FloatEnvironment environment;
  if (actual.format == nullptr || expected.format == nullptr) {
    throw std::invalid_argument("judge: a view without data has no values to compare");
  }
  for (const double tolerance : {bound.rtol, bound.atol}) {
    if (tolerance >= 0) continue;
    refuse("judge: a tolerance is a number of at least 0, not {}", short_number(tolerance));
  }
  const auto refuse = [&](std::string because) {
    Verdict refused = not_comparable(std::move(because));
    refused.bound = bound;
    return refused;
  };
  if (actual.format->is_complex()) {
    if (std::string why_not = why_not_complex(bound); !why_not.empty()) {
      return refuse(std::move(why_not));
    }
  }
  if (bound.as_published) return judge_published(actual, expected, bound, options);
  if (const RuleRow& rule = row_of(bound.rule); rule.judge != nullptr) {
    Verdict verdict = rule.judge(actual, expected, bound, options);
    if (rule.needs_expected && verdict.outcome == Outcome::kPass && same_memory(actual, expected)) {
      same_memory_cannot_fail(verdict);
    }
    return verdict;
  }
  if (std::string why_not = why_not_comparable(actual, expected); !why_not.empty()) {
    return refuse(std::move(why_not));
  }
  if (by_element_bounds(bound) &&
      (!options.element_bounds || options.element_bounds->shape != actual.shape)) {
    return refuse(
        formatted("standard {} needs the {} of each element, which is computed from the case's "
                  "operands and a machine; give a case with operands, and a machine",
                  bound.standard, bound.rule == Rule::kExpectedError ? "expected error" : "bound"));
  }
  Verdict verdict{
      .sites = actual.size(), .bound = bound, .format = actual.format, .shape = actual.shape};
  if (verdict.sites == 0) return decide_without_elements(verdict);
  ElementFindings found;
  const MetricsRequest wanted =
      options.metrics
          ? MetricsRequest()
          : metrics_for(bound.limits, actual, expected, bound.round_expected, options.threads);
  judge_elements(actual, expected, bound, options, wanted, 0, found);
  std::optional<StatisticsResult> statistics;
  if (!bound.limits.empty()) {
    // Zeros are tried against the limits only if nothing else decides the outcome.
    const bool trivial = !found.zeros_mismatch(bound, verdict.sites) &&
                         found.mismatches == found.forgiven(bound, verdict.sites);
    statistics = judge_statistics(actual, expected, options.reference_implementation,
                                  bound.round_expected, bound.limits,
                                  {.metrics = &*found.metrics,
                                   .trivial = trivial,
                                   .blindness = options.blindness,
                                   .threads = options.threads,
                                   .error_weights = options.error_weights});
    if (!statistics->why_not.empty()) return refuse(statistics->why_not);
  }
  const std::vector<std::int64_t> mismatches = found.positions;
  settle(verdict, std::move(found), statistics, options.metrics, [&] {
    std::vector<double> sizes;
    for (const std::int64_t position : sampled_positions(expected.size())) {
      sizes.push_back(magnitude_at(expected, position));
    }
    return sizes;
  });
  const bool is_real = !actual.format->is_complex();
  if (verdict.outcome == Outcome::kFail && options.patterns && is_real) {
    FailurePattern pattern = failure_pattern(actual, expected, options, verdict, mismatches);
    verdict.where = std::move(pattern.text);
    verdict.explained = pattern.explained;
  }
  for (const LimitReading& r : verdict.readings) {
    if (!r.limit.needs_weights() || !(r.value < r.limit.parameter)) continue;
    verdict.notes.push_back(
        formatted("computed in more precision than claimed: squared errors are {} of those "
                  "expected, and chance leaves at least {}",
                  short_number(r.value, 3), short_number(r.limit.parameter, 3)));
  }
  if (bound.needs_reference() && same_memory(actual, *options.reference_implementation)) {
    cannot_fail(verdict, "the reference implementation is the output itself");
  } else if (verdict.outcome == Outcome::kPass && same_memory(actual, expected)) {
    same_memory_cannot_fail(verdict);
  }
  return verdict;
}

std::vector<std::string> notes_of(const Verdict& v) {
  std::vector<std::string> notes;
  const bool said = v.outcome == Outcome::kUntrusted && v.blind_share() > v.bound.max_blind;
  if (v.blind_share() >= kNotedBlindness && !said) {
    std::string note = blind_words(v);
    if (v.blind_share() > kMaxBlind && !v.bound.max_blind_why.empty()) {
      note += formatted("; the case allows it: {}", v.bound.max_blind_why);
    }
    notes.push_back(std::move(note));
  }
  notes.insert(notes.end(), v.notes.begin(), v.notes.end());
  return notes;
}

Outcome worse(Outcome a, Outcome b) {
  for (const Outcome outcome : {Outcome::kFail, Outcome::kNotComparable, Outcome::kUntrusted}) {
    if (a == outcome || b == outcome) return outcome;
  }
  return Outcome::kPass;
}

Outcome worst_outcome(const std::vector<Verdict>& verdicts) {
  if (verdicts.empty()) return Outcome::kNotComparable;
  Outcome worst = Outcome::kPass;
  for (const Verdict& verdict : verdicts) worst = worse(worst, verdict.outcome);
  return worst;
}

}  // namespace assay
