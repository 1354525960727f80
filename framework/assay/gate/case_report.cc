#include "assay/gate/case_report.h"

#include "assay/base/words.h"
#include "assay/cases/source_names.h"
#include "assay/gate/gate.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {

std::string CaseReport::title() const { return output.empty() ? name : name + ":" + output; }

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
  return find_row(verdicts, judged(), &Verdict::outcome);
}

const std::string& CaseReport::because() const {
  if (!error.empty()) return error;
  if (remark != Remark::kNone) return remark_text;
  if (const Verdict* v = deciding_verdict()) return v->because;
  static const std::string kNothing = "nothing was judged";
  return abft ? abft->because : kNothing;
}

std::string_view remark_word(Remark remark) {
  constexpr std::string_view kWords[] = {
      "", "worse", "disappeared", "known_failure", "unexpected_pass", "expired"};
  return kWords[static_cast<std::size_t>(remark)];
}

int CaseReport::rank() const {
  if (!error.empty()) return 0;
  if (remark == Remark::kKnownFailure) return 4;
  constexpr int kRanks[] = {5, 1, 3, 2};  // by Outcome
  return kRanks[static_cast<std::size_t>(outcome())];
}

std::vector<const CaseReport*> worst_first(const GateReport& report) {
  std::map<int, std::vector<const CaseReport*>> of_rank;
  for (const CaseReport& c : report.cases) of_rank[c.rank()].push_back(&c);
  std::vector<const CaseReport*> order;
  order.reserve(report.cases.size());
  for (const auto& [rank, reports] : of_rank) {
    order.insert(order.end(), reports.begin(), reports.end());
  }
  return order;
}

std::vector<const CaseReport*> worst_outputs(const GateReport& report) {
  std::vector<const CaseReport*> worst_of_each;
  const std::vector<CaseReport>& all = report.cases;
  for (std::size_t i = 0; i < all.size();) {
    const CaseReport &first = all[i], *worst = &first;
    for (++i; i < all.size() && !all[i].output.empty(); ++i) {
      if (all[i].name != first.name || all[i].file != first.file) break;
      if (all[i].rank() < worst->rank()) worst = &all[i];
    }
    worst_of_each.push_back(worst);
  }
  return worst_of_each;
}

std::map<std::string_view, std::int64_t> outcome_counts(const GateReport& report) {
  std::map<std::string_view, std::int64_t> counts;
  for (const CaseReport* c : worst_outputs(report)) ++counts[c->outcome_text()];
  return counts;
}

Outcome report_outcome(const GateReport& report) {
  if (report.cases.empty()) return Outcome::kNotComparable;
  Outcome worst = Outcome::kPass;
  for (const CaseReport& c : report.cases) {
    if (c.remark != Remark::kKnownFailure) worst = worse(worst, c.outcome());
  }
  return worst;
}

double MutationScore::fraction() const {
  return applied == 0 ? 0 : static_cast<double>(caught) / static_cast<double>(applied);
}

MutationScore mutation_score(const GateReport& report) {
  MutationScore score;
  for (const CaseReport& c : report.cases) {
    for (const MutationResult& m : c.mutations) {
      score.applied += m.applied ? 1 : 0;
      score.caught += m.applied && m.caught() ? 1 : 0;
    }
  }
  return score;
}

int exit_code(Outcome outcome) {
  constexpr int kCodes[] = {0, 1, 4, 3};  // by Outcome
  return kCodes[static_cast<std::size_t>(outcome)];
}

CaseReport report_of(const Case& c) {
  CaseReport report;
  report.name = c.name;
  std::string source_name = source_name_of(c.name, c.attributes);
  if (source_name != c.name) report.source_name = std::move(source_name);
  report.op = c.op;
  report.tags = c.tags();
  if (c.outputs.size() == 1 && c.output().golden) {
    report.dtype = output_format(c).name;
    report.shape = c.output().golden->shape();
  }
  return report;
}

}  // namespace assay
