#include "assay/gate/case_report.h"

namespace assay {

Outcome CaseReport::outcome() const {
  if (!abft) return worst_outcome(verdicts);
  return verdicts.empty() ? abft->outcome : worse(worst_outcome(verdicts), abft->outcome);
}

std::string_view CaseReport::outcome_text() const {
  return error.empty() ? outcome_word(outcome()) : "error";
}

const Verdict* CaseReport::deciding_verdict() const {
  const Outcome decided = outcome();
  for (const Verdict& v : verdicts) {
    if (v.outcome == decided) return &v;
  }
  return nullptr;
}

const std::string& CaseReport::because() const {
  if (!error.empty()) return error;
  if (const Verdict* v = deciding_verdict()) return v->because;
  static const std::string kNothing = "nothing was judged";
  return abft ? abft->because : kNothing;
}

Outcome report_outcome(const GateReport& report) {
  if (report.cases.empty()) return Outcome::kNotComparable;
  Outcome worst = Outcome::kPass;
  for (const CaseReport& c : report.cases) worst = worse(worst, c.outcome());
  return worst;
}

int exit_code(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return 0;
    case Outcome::kFail:
      return 1;
    case Outcome::kNotComparable:
      return 3;
    case Outcome::kUntrusted:
      return 4;
  }
  return 2;
}

}  // namespace assay
