// Quarantine: the cases that are known to fail, why they fail, and until when that is accepted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/gate/case_report.h"

namespace assay::inline v0_2 {

struct KnownFailure {
  std::string cases;  // a glob of case names
  std::string reason;
  std::string expires;   // the last day on which the failure is accepted, "2027-01-31"
  std::string output;    // a glob of output names; an empty one matches every output
  std::string standard;  // excuses only this standard's verdict; "abft" is the checksums'
};

// True if the text is a day of the calendar as YYYY-MM-DD.
bool is_date(std::string_view text);
// Returns the current day in UTC, "2026-11-22". The environment variable SOURCE_DATE_EPOCH, in
// seconds, overrides the clock. Throws Refusal if its value is not a number.
std::string today();

// Marks the cases that are listed:
// - A case that fails is excused if each of its failed verdicts is listed.
// - It fails as `expired` if the day of an entry is over.
// - A case that passes although it is listed fails as `unexpected_pass`.
// - A case that could not be judged or read stays as it is.
//
// Returns the globs of the entries that match no case of the report.
std::vector<std::string> mark_known_failures(GateReport& report,
                                             const std::vector<KnownFailure>& list,
                                             const std::string& today);

}  // namespace assay
