// Puts together what `assay gate --shard I/N --json` wrote on several machines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace assay::wire {

struct JoinedGate {
  std::string json;     // the result file of the whole run, its cases in their order there
  std::string outcome;  // "error" where a case could not be read, else the worst of the cases'
  std::map<std::string, std::int64_t> counts = {};  // of cases, by outcome
  std::vector<std::string> unpassed = {};           // "case: outcome: because", in order
};

// Each part: a name for messages, and its text. Throws std::invalid_argument that names the part
// which is no result of a shard, or one of another run (golden files, version, shards), and where a
// shard is missing or there twice.
JoinedGate join_gate(const std::vector<std::pair<std::string, std::string>>& parts);

}  // namespace assay::wire
