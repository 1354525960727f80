// Joins the results that `assay gate --shard I/N --json` wrote on several machines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace assay::inline v0_2::wire {

struct JoinedGate {
  // The result file of the whole run. Its cases have the order that they would have without shards.
  std::string json;
  std::string outcome;  // "error" if a case could not be read, or the worst outcome of a case
  std::map<std::string, std::int64_t> counts = {};  // number of cases with each outcome
  // A line "case: outcome: because" for each case that did not pass, in order.
  std::vector<std::string> unpassed = {};
};

// Joins the results of all shards. Each part is the name that messages use for it, and its text.
// Throws Refusal that names the part if it is not the result of a shard, or if it is from another
// run (golden files, version, shards). Also throws Refusal if a shard is missing or occurs twice.
JoinedGate join_gate(const std::vector<std::pair<std::string, std::string>>& parts);

}  // namespace assay::wire
