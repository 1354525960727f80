#include "assay/report/audit_tables.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "assay/base/text.h"

namespace assay::inline v0_2::report {
namespace {

using audit::AuditResult;
using audit::TargetResult;

// Returns the score rounded down to three decimals, so that it is "1.000" only if all corruptions
// were caught.
std::string score_text(double score) {
  return formatted("{:.3f}", std::floor(1000 * score) / 1000);
}

// Returns "3 / 4": the number caught of the number tried.
std::string caught_text(const audit::Caught& c) {
  return c.tried == 0 ? "-" : formatted("{} / {}", c.caught, c.tried);
}

AuditTable scores(const AuditResult& result) {
  AuditTable table{"caught of what was tried", {"target", "score", "95 %"}, {}};
  for (const audit::CorruptionClass& c : audit::corruption_classes()) {
    table.columns.emplace_back(c.name);
  }
  table.columns.emplace_back("let through");
  for (const TargetResult& t : result.targets) {
    std::vector<std::string> row = {t.name};
    row.push_back(t.score ? score_text(t.score->share) : "-");
    row.push_back(t.score ? formatted("{} to {}", score_text(t.score->interval.low),
                                      score_text(t.score->interval.high))
                          : "-");
    std::int64_t escaped = 0, tried = 0;
    for (const audit::Caught& c : t.classes) {
      row.push_back(caught_text(c));
      escaped += c.escaped;
      tried += c.tried;
    }
    row.push_back(tried == 0 ? "-" : formatted("{}", escaped));
    table.rows.push_back(std::move(row));
  }
  table.note = formatted(
      "score: the mean over classes of the share caught; let through: passed, and more wrong than "
      "{} allows",
      result.yardstick);
  return table;
}

std::string more_text(std::size_t left_out) {
  if (left_out == 0) return "";
  return formatted("{} more {} in the JSON and the page", left_out, left_out == 1 ? "is" : "are");
}

AuditTable findings(const AuditResult& result, int listed) {
  constexpr int kMost = 4;  // at most this many findings are listed for each target, unless all are
  std::size_t left_out = 0;
  AuditTable table{"not audited", {"target", "case", "finding"}, {}};
  for (const TargetResult& t : result.targets) {
    // Cases of a target with the same finding share one line.
    std::vector<std::pair<std::string, std::vector<std::string>>> by_words;
    for (const audit::Finding& f : t.findings) {
      const std::string words = formatted("{}: {}", finding_words(f.kind), f.because);
      auto at = std::ranges::find_if(by_words, [&](const auto& one) { return one.first == words; });
      if (at == by_words.end()) at = by_words.insert(by_words.end(), {words, {}});
      at->second.push_back(f.subject);
    }
    int shown = 0;
    for (const auto& [words, subjects] : by_words) {
      if (listed >= 0 && shown++ >= kMost) {
        ++left_out;
        continue;
      }
      const std::string more =
          subjects.size() > 1 ? formatted(" and {} more", subjects.size() - 1) : "";
      table.rows.push_back({t.name, subjects.front() + more, words});
    }
  }
  table.note = more_text(left_out);
  return table;
}

AuditTable escapes(const AuditResult& result, int listed) {
  AuditTable table{"let through",
                   {"target", "corruption", "passed", "wrong elements", "first case", "what it is"},
                   {}};
  std::map<std::pair<std::size_t, std::string>, const audit::Escape*> first;
  for (const audit::Escape& e : result.escapes)
    first.emplace(std::pair(e.target, e.corruption), &e);
  std::size_t left_out = 0;
  for (std::size_t t = 0; t < result.targets.size(); ++t) {
    std::map<std::string_view, int> shown;  // of each class
    for (std::size_t c = 0; c < result.corruptions.size(); ++c) {
      const audit::Corruption& row = *result.corruptions[c];
      const auto at = first.find({t, row.name});
      if (at == first.end()) continue;
      if (listed >= 0 && shown[row.of]++ >= listed) {
        ++left_out;
        continue;
      }
      const audit::Caught& caught = result.targets[t].corruptions[c];
      table.rows.push_back(
          {result.targets[t].name, row.name, formatted("{} of {}", caught.escaped, caught.tried),
           formatted("{} of {}", grouped(at->second->changed), grouped(at->second->size)),
           at->second->subject, row.meaning});
    }
  }
  table.note = more_text(left_out);
  return table;
}

std::string least_text(const audit::Sight& s) {
  return s.least ? grouped(*s.least) : formatted("> {}", grouped(s.most));
}

// Returns one row for each target and dtype: the smallest error of each kind that was seen, and the
// blind elements.
AuditTable sights(const AuditResult& result) {
  AuditTable table{"the smallest errors seen", {"target", "dtype"}, {}};
  table.note = "blind: so many of the smallest elements could be 0 together, and it passes";
  for (const audit::SightKind& kind : audit::sight_kinds()) {
    table.columns.emplace_back(kind.heading);
    table.note += formatted("\n{}: {}", kind.heading, kind.meaning);
  }
  table.columns.insert(table.columns.end(), {"blind", "case"});
  for (const TargetResult& t : result.targets) {
    for (const audit::Blindness& b : t.blindness) {
      std::vector<std::string> row = {t.name, b.dtype};
      for (const audit::SightKind& kind : audit::sight_kinds()) {
        const auto seen = std::ranges::find_if(
            t.sights, [&](const auto& s) { return s.kind == kind.name && s.dtype == b.dtype; });
        row.push_back(seen == t.sights.end() ? "-" : least_text(*seen));
      }
      row.push_back(b.nonzero == 0 ? "-"
                                   : formatted("{} of {}", grouped(b.blind), grouped(b.nonzero)));
      row.push_back(b.subject);
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

AuditTable sizes(const AuditResult& result) {
  AuditTable table{
      "verdicts that depend on the size", {"target", "dtype", "corruption", "verdicts"}, {}};
  for (const TargetResult& t : result.targets) {
    for (const audit::SizeSeries& s : t.sizes) {
      if (!s.flips()) continue;
      std::vector<std::string> points;
      for (const auto& p : s.points) {
        points.push_back(formatted("{} of {}", p.passed ? "passes" : "caught", grouped(p.size)));
      }
      table.rows.push_back({t.name, s.dtype, s.corruption, joined(points)});
    }
  }
  return table;
}

}  // namespace

std::string_view finding_words(audit::Finding::Kind kind) {
  switch (kind) {
    case audit::Finding::Kind::kRefusesRight:
      return "does not pass the right output";
    case audit::Finding::Kind::kPassesWrong:
      return "passes an obviously wrong output";
    case audit::Finding::Kind::kNotComparable:
      break;
  }
  return "not comparable";
}

std::vector<AuditTable> audit_tables(const AuditResult& result, int listed) {
  std::vector<AuditTable> tables;
  for (AuditTable& table :
       std::vector<AuditTable>{scores(result), findings(result, listed), escapes(result, listed),
                               sights(result), sizes(result)}) {
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace assay::report
