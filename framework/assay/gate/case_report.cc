#include "assay/gate/case_report.h"

namespace assay {

std::string CaseReport::title() const { return output.empty() ? name : name + ":" + output; }

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

std::map<std::string_view, std::int64_t> outcome_counts(const GateReport& report) {
  std::map<std::string_view, std::int64_t> counts;
  const std::vector<CaseReport>& all = report.cases;
  for (std::size_t i = 0; i < all.size();) {
    Outcome worst = Outcome::kPass;
    bool error = false;
    const std::size_t first = i;
    do {
      error |= !all[i].error.empty();
      worst = worse(worst, all[i].outcome());
      ++i;
    } while (i < all.size() && !all[i].output.empty() && all[i].name == all[first].name);
    ++counts[error ? "error" : outcome_word(worst)];
  }
  return counts;
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
