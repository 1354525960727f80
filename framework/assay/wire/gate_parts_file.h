// Joins the results that `assay gate --shard I/N --json` wrote on several machines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace assay::wire {

struct JoinedGate {
  std::string json;     // the result file of the whole run, its cases in their order there
  std::string outcome;  // "error" if a case could not be read, or the worst outcome of a case
  std::map<std::string, std::int64_t> counts = {};  // of cases, by outcome
  std::vector<std::string> unpassed = {};           // "case: outcome: because", in order
};

// Each part has a name for messages, and its text. Throws Refusal that names the part
// if it is not the result of a shard, or if it is from another run (golden files, version, shards).
// Also throws Refusal if a shard is missing or occurs twice.
JoinedGate join_gate(const std::vector<std::pair<std::string, std::string>>& parts);

}  // namespace assay::wire
