#include "assay/audit/target.h"

#include <utility>

#include "assay/base/error.h"

namespace assay::inline v0_2::audit {

StandardTarget::StandardTarget(std::string name, GateRequest request, bool gate)
    : name_(std::move(name)), request_(std::move(request)), gate_(gate) {
  check_request(request_.bounds);
  request_.threads = 1;
}

StandardTarget::Checks StandardTarget::checks_of(const Subject& subject) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = checks_.find(&subject);
    if (known != checks_.end()) return known->second;
  }
  auto made = std::make_shared<const std::vector<ElementCheck>>(element_checks(
      subject.test_case, subject.clean.format(), request_, {.producer = subject.producer}));
  const std::lock_guard lock(mutex_);
  return checks_.emplace(&subject, std::move(made)).first->second;
}

std::string StandardTarget::why_not(const Subject& subject) {
  try {
    const Checks checks = checks_of(subject);
    for (const ElementCheck& check : *checks) {
      if (!check.why_not.empty()) return check.why_not;
    }
    return checks->empty() ? "it has no rule for this dtype" : "";
  } catch (const Refusal& e) {
    return e.reason();
  }
}

Answer StandardTarget::judge(const Trial& trial) {
  const Checks checks = checks_of(trial.subject);
  const std::vector<Verdict> verdicts =
      judge_by(*checks, trial.output, *trial.subject.test_case.output().golden,
               {.metrics = false, .worst = 1, .threads = 1, .blindness = gate_, .patterns = false});
  for (const Verdict& v : verdicts) {
    const bool holds = v.outcome == Outcome::kPass ||
                       (!gate_ && v.outcome == Outcome::kUntrusted && v.mismatches <= v.forgiven);
    if (!holds) return {false, v.because, ""};
  }
  return {!verdicts.empty(), verdicts.empty() ? "" : verdicts.front().because, ""};
}

}  // namespace assay::audit
