// The date that results carry.
#pragma once

#include <string>

namespace assay {

// Now in UTC, "2026-11-22 15:04:05"; the environment's SOURCE_DATE_EPOCH, in seconds since 1970,
// goes over the clock. Throws std::invalid_argument where that is no number of seconds.
std::string utc_now();

}  // namespace assay
