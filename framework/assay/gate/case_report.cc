#include "assay/gate/case_report.h"

namespace assay {

Outcome CaseReport::judged() const {
  if (!abft) return worst_outcome(verdicts);
  return verdicts.empty() ? abft->outcome : worse(worst_outcome(verdicts), abft->outcome);
}

Outcome CaseReport::outcome() const {
  const bool fails = remark != Remark::kNone && remark != Remark::kKnownFailure;
  return fails ? Outcome::kFail : judged();
}

bool CaseReport::passes() const {
  return error.empty() && (remark == Remark::kKnownFailure || outcome() == Outcome::kPass);
}

std::string_view CaseReport::outcome_text() const {
  if (!error.empty()) return "error";
  return remark != Remark::kNone ? remark_word(remark) : outcome_word(outcome());
}

std::string_view CaseReport::outcome_text(Outcome verdict) const {
  return remark != Remark::kNone && verdict == judged() ? remark_word(remark)
                                                        : outcome_word(verdict);
}

const Verdict* CaseReport::deciding_verdict() const {
  const Outcome decided = judged();
  for (const Verdict& v : verdicts) {
    if (v.outcome == decided) return &v;
  }
  return nullptr;
}

const std::string& CaseReport::because() const {
  if (!error.empty()) return error;
  if (remark != Remark::kNone) return remark_text;
  if (const Verdict* v = deciding_verdict()) return v->because;
  static const std::string kNothing = "nothing was judged";
  return abft ? abft->because : kNothing;
}

std::string_view remark_word(Remark remark) {
  switch (remark) {
    case Remark::kNone:
      return "";
    case Remark::kWorse:
      return "worse";
    case Remark::kDisappeared:
      return "disappeared";
    case Remark::kKnownFailure:
      return "known_failure";
    case Remark::kUnexpectedPass:
      return "unexpected_pass";
    case Remark::kExpired:
      return "expired";
  }
  return "";
}

Outcome report_outcome(const GateReport& report) {
  if (report.cases.empty()) return Outcome::kNotComparable;
  Outcome worst = Outcome::kPass;
  for (const CaseReport& c : report.cases) {
    if (c.remark != Remark::kKnownFailure) worst = worse(worst, c.outcome());
  }
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
