#include "assay/gate/known_failures.h"

#include <algorithm>
#include <chrono>

#include "assay/base/call_text.h"
#include "assay/base/clock.h"
#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::string_view kChecksums = "abft";

// The outcome of one verdict of a case. `standard` is the name by which a list of known failures
// excuses this verdict.
struct Judged {
  std::string_view standard;
  Outcome outcome;
};
std::vector<Judged> judged(const CaseReport& c) {
  std::vector<Judged> all;
  for (const Verdict& v : c.verdicts) all.push_back({v.bound.standard, v.outcome});
  if (c.abft) all.push_back({kChecksums, c.abft->outcome});
  return all;
}

bool speaks_of(const KnownFailure& entry, const Judged& verdict) {
  return entry.standard.empty() || entry.standard == verdict.standard;
}

void mark(CaseReport& c, const std::vector<const KnownFailure*>& entries,
          const std::string& today) {
  const std::vector<Judged> all = judged(c);
  for (const KnownFailure* entry : entries) {
    const bool speaks =
        std::ranges::any_of(all, [&](const Judged& verdict) { return speaks_of(*entry, verdict); });
    if (!speaks || c.judged() != Outcome::kPass) continue;
    c.remark = Remark::kUnexpectedPass;
    c.remark_text =
        formatted("listed as a known failure ({}), and it passes: remove '{}' from the list",
                  entry->reason, entry->cases);
    return;
  }
  const KnownFailure* excuse = nullptr;
  const KnownFailure* expired = nullptr;
  for (const Judged& verdict : all) {
    if (verdict.outcome != Outcome::kFail) continue;
    const KnownFailure* listed = nullptr;
    for (const KnownFailure* entry : entries) {
      if (!speaks_of(*entry, verdict)) continue;
      // If several entries match, takes the one that expires last.
      if (listed == nullptr || entry->expires > listed->expires) listed = entry;
    }
    if (listed == nullptr) return;
    if (listed->expires < today && expired == nullptr) expired = listed;
    if (excuse == nullptr || listed->expires < excuse->expires) excuse = listed;
  }
  const std::string because = c.because();
  if (expired != nullptr) {
    c.remark = Remark::kExpired;
    c.remark_text = formatted("a known failure that was accepted until {} ({}): {}",
                              expired->expires, expired->reason, because);
  } else if (excuse != nullptr) {
    c.remark = Remark::kKnownFailure;
    c.remark_text = formatted("known until {} ({}): {}", excuse->expires, excuse->reason, because);
  }
}

}  // namespace

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto year = read_number<int>(text.substr(0, 4)),
             month = read_number<int>(text.substr(5, 2)), day = read_number<int>(text.substr(8));
  if (!year || !month || !day || *month < 1 || *day < 1) return false;
  return std::chrono::year_month_day(std::chrono::year(*year),
                                     std::chrono::month(static_cast<unsigned>(*month)),
                                     std::chrono::day(static_cast<unsigned>(*day)))
      .ok();
}

std::string today() { return utc_now().substr(0, 10); }

std::vector<std::string> mark_known_failures(GateReport& report,
                                             const std::vector<KnownFailure>& list,
                                             const std::string& today) {
  std::vector<bool> used(list.size(), false);
  for (CaseReport& c : report.cases) {
    std::vector<const KnownFailure*> entries;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!glob_match(list[i].cases, c.given_name())) continue;
      if (!list[i].output.empty() && !glob_match(list[i].output, c.output)) continue;
      entries.push_back(&list[i]);
      used[i] = true;
    }
    if (!entries.empty() && c.error.empty()) mark(c, entries, today);
  }
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!used[i]) unused.push_back(list[i].cases);
  }
  return unused;
}

}  // namespace assay
