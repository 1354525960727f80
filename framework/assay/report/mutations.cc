#include "assay/report/mutations.h"

#include <algorithm>
#include <cmath>

#include "assay/base/printable.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::report {

std::string mutation_table(const GateReport& report) {
  struct Row {
    std::string name;
    std::int64_t applied = 0, elementwise = 0, abft = 0;
    std::vector<std::string> through;
  };
  std::vector<Row> rows;
  bool any_abft = false;
  std::size_t passed = 0;
  for (const CaseReport& c : report.cases) {
    passed += c.mutations.empty() ? 0 : 1;
    for (const MutationResult& m : c.mutations) {
      auto row = std::ranges::find(rows, m.name, &Row::name);
      if (row == rows.end()) row = rows.insert(rows.end(), Row{m.name, 0, 0, 0, {}});
      if (!m.applied) continue;
      ++row->applied;
      row->elementwise += m.elementwise != Outcome::kPass ? 1 : 0;
      row->abft += m.abft && *m.abft != Outcome::kPass ? 1 : 0;
      any_abft |= m.abft.has_value();
      if (!m.caught()) row->through.push_back(printable_name(c.name));
    }
  }
  std::string out =
      formatted("\nmutations of the {} of {} outputs that passed\n{:<20}{:>8}{:>12}{}  {}\n",
                passed, report.cases.size(), "mutation", "applied", "elementwise",
                any_abft ? "  abft" : "", "let through");
  for (const Row& row : rows) {
    const std::size_t shown = std::min<std::size_t>(row.through.size(), 3);
    std::string through =
        row.applied == 0 ? "not applicable" : joined(std::span(row.through).first(shown));
    if (row.applied > 0 && row.through.empty()) through = "none";
    if (row.through.size() > shown) through += formatted(", {} more", row.through.size() - shown);
    out += formatted("{:<20}{:>8}{:>12}{}  {}\n", row.name, row.applied, row.elementwise,
                     any_abft ? formatted("{:>6}", row.abft) : "", through);
  }
  const MutationScore score = mutation_score(report);
  // The percentage is rounded down, so that it is "100 %" only if all mutations were caught.
  out += score.applied == 0 ? "no mutation could be applied\n"
                            : formatted("caught {} of {} ({} %)\n", score.caught, score.applied,
                                        short_number(std::floor(1000 * score.fraction()) / 10));
  return out;
}

}  // namespace assay::report
