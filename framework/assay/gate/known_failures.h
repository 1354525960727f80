// Quarantine: cases that are known to fail, why, and until when that is accepted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/gate/case_report.h"

namespace assay {

struct KnownFailure {
  std::string cases;     // a glob of case names
  std::string reason;
  std::string expires;   // the last day on which it is accepted, "2027-01-31"
  std::string output;    // a glob of outputs' names; empty: every one
  std::string standard;  // excuses the verdict of this standard alone; "abft": the checksums'
};

// Whether the text is a day of the calendar as YYYY-MM-DD.
bool is_date(std::string_view text);
// Today in UTC, "2026-11-22"; the environment's SOURCE_DATE_EPOCH, in seconds, goes over the clock.
// Throws std::invalid_argument where that is no number.
std::string today();

// Marks the cases that are listed. One that fails is excused where each of its failed verdicts is
// listed, and fails as `expired` where the entry's day is over; one that passes what it is listed for
// fails as `unexpected_pass`. What could not be judged or read stays what it is. Gives the entries
// that match no case of the report, by their globs.
std::vector<std::string> mark_known_failures(GateReport& report,
                                             const std::vector<KnownFailure>& list,
                                             const std::string& today);

}  // namespace assay
