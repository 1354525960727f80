// The date that is written to results.
#pragma once

#include <string>

namespace assay::inline v0_2 {

// Returns the current time in UTC, "2026-11-22 15:04:05". The environment variable
// SOURCE_DATE_EPOCH, in seconds since 1970, overrides the clock. Throws Refusal if
// its value is not a number of seconds.
std::string utc_now();

}  // namespace assay
