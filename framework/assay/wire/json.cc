#include "assay/wire/json.h"

#include "assay/base/text.h"

namespace assay::inline v0_2::wire {

std::string why_not_read(const Json& schema) {
  if (schema == kResultSchema) return "";
  const std::string has = formatted("has schema {}", schema.dump());
  if (schema == 1) return has + ": it was written by an older assay";
  return formatted("{}; this assay reads schema {}", has, kResultSchema);
}

}  // namespace assay::wire
