#include "shard.h"

#include <cstdlib>
#include <vector>

#include "assay/base/call_text.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::tools {
namespace {

std::optional<int> environment_number(const char* name) {
  const char* word = std::getenv(name);
  return word != nullptr ? read_number<int>(word) : std::nullopt;
}

// Returns the shard. Throws Refusal if there is no such shard.
Shard checked(const Shard& shard) {
  if (shard.index < 1 || shard.index > shard.count) {
    refuse("the environment variables of Slurm or GoogleTest ask for shard {} of {}", shard.index,
           shard.count);
  }
  return shard;
}

}  // namespace

Shard parse_shard(const std::string& text) {
  const std::vector<std::string> parts = every_part(text, '/');
  const int index = read_number<int>(parts.front()).value_or(0);
  const int count = read_number<int>(parts.back()).value_or(0);
  if (parts.size() != 2 || index < 1 || index > count) {
    refuse("--shard {}: i/n with i from 1 to n is needed, such as 2/8", text);
  }
  return {index, count};
}

std::optional<Shard> shard_of_slurm() {
  const auto count = environment_number("SLURM_ARRAY_TASK_COUNT");
  const auto id = environment_number("SLURM_ARRAY_TASK_ID");
  if (!count || !id) return std::nullopt;
  // Slurm numbers the shards from SLURM_ARRAY_TASK_MIN.
  return checked({*id - environment_number("SLURM_ARRAY_TASK_MIN").value_or(0) + 1, *count});
}

Shard shard_of(const std::string& text) {
  if (!text.empty()) return parse_shard(text);
  if (const std::optional<Shard> shard = shard_of_slurm()) return *shard;
  const auto total = environment_number("GTEST_TOTAL_SHARDS");
  const auto id = environment_number("GTEST_SHARD_INDEX");  // from 0
  return total && id ? checked({*id + 1, *total}) : Shard();
}

}  // namespace assay::tools
