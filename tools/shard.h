// A part of a job that several processes share.
#pragma once

#include <string>

namespace assay::inline v0_2::tools {

struct Shard {
  int index = 1, count = 1;  // index: from 1
};

// Parses "2/8". Throws Refusal with a message about --shard.
Shard parse_shard(const std::string& text);

}  // namespace assay::tools
