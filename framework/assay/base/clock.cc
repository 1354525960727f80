#include "assay/base/clock.h"

#include <cstdint>
#include <cstdlib>
#include <ctime>

#include "assay/base/call_text.h"
#include "assay/base/text.h"

namespace assay::inline v0_2 {

std::string utc_now() {
  std::time_t now = std::time(nullptr);
  if (const char* text = std::getenv("SOURCE_DATE_EPOCH")) {
    const auto seconds = read_number<std::int64_t>(text);
    if (!seconds || *seconds < 0) {
      refuse("SOURCE_DATE_EPOCH is '{}', not a number of seconds", text);
    }
    now = static_cast<std::time_t>(*seconds);
  }
  std::tm date{};
  gmtime_r(&now, &date);
  return formatted("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", date.tm_year + 1900, date.tm_mon + 1,
                   date.tm_mday, date.tm_hour, date.tm_min, date.tm_sec);
}

}  // namespace assay
