// A part of a job that several processes share.
#pragma once

#include <optional>
#include <string>

namespace assay::inline v0_2::tools {

struct Shard {
  int index = 1, count = 1;  // index: from 1
};

// Parses "2/8". Throws Refusal with a message about --shard.
Shard parse_shard(const std::string& text);

// Returns the shard that the environment variables of a Slurm job array give to this task, or
// nothing outside of a job array. Throws Refusal if it is not a shard.
std::optional<Shard> shard_of_slurm();

// Returns the shard of "2/8". If the text is empty, the environment variables of a Slurm job array
// or of a sharded test of GoogleTest give the shard. Without these it is all of the job.
Shard shard_of(const std::string& text);

}  // namespace assay::tools
