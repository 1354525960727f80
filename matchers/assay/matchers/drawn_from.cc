#include "assay/matchers/drawn_from.h"

#include <utility>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/gate/gate.h"
#include "assay/report.h"

namespace assay::inline v0_2 {

DrawnFromMatcher::DrawnFromMatcher(std::string law, std::optional<Reference> reference)
    : law_(std::move(law)), reference_(std::move(reference)) {}

MatchReport DrawnFromMatcher::check_on_host(const TensorView& actual, HostCopies& copies) const {
  const FloatEnvironment environment;
  GateRequest request;
  request.bounds.standards = {formatted("distribution({})", law_)};
  request.bounds.origin = "matcher";
  CaseReport report;
  if (const Case* c = reference_ ? reference_->as_case() : nullptr) {
    report = gate_case(*c, actual, request);
  } else {
    const TensorView expected =
        reference_ ? copies.add(reference_->tensor(), kReferenceName) : actual;
    report.verdicts = gate_tensors(actual, expected, request);
  }
  const Verdict* decides = report.deciding_verdict();
  return {report.outcome(), decides != nullptr ? explain(*decides) : report.because(),
          notes_of(report)};
}

std::string DrawnFromMatcher::describe(bool negated) const {
  return formatted("is {}drawn from {}{}", negated ? "not " : "", law_,
                   reference_ ? " of " + reference_->text() : "");
}

DrawnFromMatcher DrawnFrom(std::string law) {
  return DrawnFromMatcher(std::move(law), std::nullopt);
}
DrawnFromMatcher DrawnFrom(std::string law, Reference reference) {
  return DrawnFromMatcher(std::move(law), std::move(reference));
}

}  // namespace assay
