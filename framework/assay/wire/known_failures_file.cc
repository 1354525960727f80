#include "assay/wire/known_failures_file.h"

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/wire/json.h"

namespace assay::inline v0_2::wire {

std::vector<KnownFailure> read_known_failures(const std::string& path) {
  const Json json = parse_json(read_file(path), path);
  check_keys(json, {"schema", "known_failures"}, path);
  if (!json.contains("schema") || json["schema"] != 1) wrong(path, "'schema' must be 1");
  std::vector<KnownFailure> list;
  for (const Json& entry : list_in(json, "known_failures", path)) {
    const std::string where = formatted("{}: entry {}", path, list.size() + 1);
    check_keys(entry, {"cases", "reason", "expires", "output", "standard"}, where);
    KnownFailure failure{text_of(entry, "cases", where), text_of(entry, "reason", where),
                         text_of(entry, "expires", where), text_of(entry, "output", where),
                         text_of(entry, "standard", where)};
    if (failure.cases.empty()) wrong(where, "'cases' is missing, a glob of case names");
    if (failure.reason.empty()) wrong(where, "'reason' is missing; why is the failure accepted?");
    if (!is_date(failure.expires)) {
      wrong(where, "'expires' must be a day as in \"2027-01-31\", not {}",
            entry.contains("expires") ? entry["expires"].dump() : "missing");
    }
    list.push_back(std::move(failure));
  }
  return list;
}

}  // namespace assay::wire
