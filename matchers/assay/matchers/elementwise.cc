#include "assay/matchers/elementwise.h"

#include <set>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/device/device_judge.h"
#include "assay/gate/close_to.h"
#include "assay/gate/gate.h"
#include "assay/report.h"

namespace assay::inline v0_2 {

ElementwiseMatcher::ElementwiseMatcher(Reference reference, std::string standard, bool fixed)
    : reference_(std::move(reference)), fixed_(fixed) {
  GateRequest request;
  if (!standard.empty()) request.bounds.standards = {std::move(standard)};
  request.bounds.origin = "matcher";
  request_ = std::make_shared<const GateRequest>(std::move(request));
}
ElementwiseMatcher::ElementwiseMatcher(const ElementwiseMatcher&) = default;
ElementwiseMatcher::ElementwiseMatcher(ElementwiseMatcher&&) noexcept = default;
ElementwiseMatcher& ElementwiseMatcher::operator=(const ElementwiseMatcher&) = default;
ElementwiseMatcher& ElementwiseMatcher::operator=(ElementwiseMatcher&&) noexcept = default;
ElementwiseMatcher::~ElementwiseMatcher() = default;

template <typename Change>
ElementwiseMatcher ElementwiseMatcher::with_request(const Change& change) const {
  GateRequest changed = *request_;
  change(changed);
  return with([&](auto& m) { m.request_ = std::make_shared<const GateRequest>(changed); });
}

ElementwiseMatcher ElementwiseMatcher::standard(const std::string& name) const {
  return with_request([&](GateRequest& r) { r.bounds.standards.push_back(name); });
}

ElementwiseMatcher ElementwiseMatcher::reference_implementation(const std::string& name) const {
  return with_request([&](GateRequest& r) { r.reference_implementation = name; });
}

ElementwiseMatcher ElementwiseMatcher::sample_rows(std::int64_t rows, std::uint64_t seed) const {
  return with_request([&](GateRequest& r) { r.sample = RowSample{rows, seed}; });
}

GateRequest ElementwiseMatcher::effective(std::string& overridden) const {
  GateRequest effective = *request_;
  BoundRequest& request = effective.bounds;
  request.rtol = rtol_;
  request.atol = atol_;
  request.equal_nan = equal_nan_;
  request.max_blind = max_blind_;
  request.allow_empty = allow_empty_;
  if (!fixed_) overridden = override_by_environment(request);
  return effective;
}

GateRequest ElementwiseMatcher::said_request(bool words, std::string& overridden) const {
  GateRequest request = effective(overridden);
  request.metrics = request.patterns = words;
  say_override(overridden);
  return request;
}

MatchReport ElementwiseMatcher::check_outputs(const std::vector<NamedView>& actual,
                                              bool words) const {
  const FloatEnvironment environment;
  const Case* c = reference_.as_case();
  if (c == nullptr || !c->names_outputs()) {
    return {Outcome::kNotComparable,
            c == nullptr
                ? "outputs by name can be compared only with a case that has several outputs"
                : formatted("case {} has only one output, without a name; give that tensor instead "
                            "of outputs by name",
                            c->name)};
  }
  std::string overridden;
  const GateRequest request = said_request(words, overridden);
  Outcome worst = Outcome::kPass;
  std::vector<std::string> parts, notes;
  const auto add = [&](Outcome outcome, const std::string& name, const std::string& text) {
    worst = worse(worst, outcome);
    parts.push_back(formatted("{} {}: {}", name, outcome_verb(outcome), text));
  };
  std::set<std::string> given;
  for (const NamedView& output : actual) {
    given.insert(output.name);
    const CaseOutput* known = c->find_output(output.name);
    if (known == nullptr) {
      add(Outcome::kFail, output.name, formatted("case {} has no such output", c->name));
      continue;
    }
    if (known->golden.is_absent()) continue;  // not compared
    const CaseReport report = std::visit(
        [&](const auto& tensor) {
          return gate_case(*c, output.name, tensor, request, {.producer = producer_});
        },
        named(output.tensor, formatted("the output {}", output.name)));
    for (const std::string& note : notes_of(report)) {
      notes.push_back(formatted("{}: {}", output.name, note));
    }
    const Verdict* decides = report.deciding_verdict();
    add(report.outcome(), output.name, decides != nullptr ? explain(*decides) : report.because());
  }
  for (const auto& [name, output] : c->outputs) {
    if (!output.golden.is_absent() && given.count(name) == 0)
      add(Outcome::kFail, name, "it is not among the outputs");
  }
  if (parts.empty()) add(Outcome::kNotComparable, c->name, "none of its outputs is to be compared");
  std::string text = joined(parts, "\n");
  return {worst, text + override_line(overridden), notes};
}

MatchReport ElementwiseMatcher::check(const AnyView& actual, bool words) const {
  const FloatEnvironment environment;
  std::string overridden;
  const GateRequest request = said_request(words, overridden);
  CaseReport report;
  const AnyView output = named(actual, kOutputName);
  if (const Case* c = reference_.as_case()) {
    report = std::visit(
        [&](const auto& tensor) { return gate_case(*c, tensor, request, {.producer = producer_}); },
        output);
  } else {
    report.verdicts = std::visit(
        [&](const auto& tensor, const auto& expected) {
          return gate_tensors(tensor, expected, request,
                              "; give .rtol() and .atol(), or another .standard()");
        },
        output, named(reference_.tensor(), kReferenceName));
  }
  if (!words) return {report.outcome(), "", notes_of(report)};
  const Verdict* decides = report.deciding_verdict();
  std::string text = decides != nullptr ? explain(*decides) : report.because();
  return {report.outcome(), text + override_line(overridden), notes_of(report)};
}

std::string ElementwiseMatcher::describe(bool negated) const {
  std::string overridden;
  const BoundRequest request = effective(overridden).bounds;
  return closeness_text(request, reference_.text(), reference_.as_case() != nullptr, overridden,
                        negated);
}

ElementwiseMatcher CloseTo(Reference reference) {
  return ElementwiseMatcher(std::move(reference), "", false);
}
ElementwiseMatcher MeetsStandard(std::string name, Reference reference) {
  return ElementwiseMatcher(std::move(reference), std::move(name), false);
}
ElementwiseMatcher WithinUlps(Reference reference, std::uint64_t ulps) {
  return ElementwiseMatcher(std::move(reference), "ulp(" + std::to_string(ulps) + ")", true);
}
ElementwiseMatcher BitEqual(Reference reference) {
  return ElementwiseMatcher(std::move(reference), "bit_equal", true);
}

}  // namespace assay
