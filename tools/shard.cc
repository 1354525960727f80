#include "shard.h"

#include <vector>

#include "assay/base/call_text.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::tools {

Shard parse_shard(const std::string& text) {
  const std::vector<std::string> parts = every_part(text, '/');
  const int index = read_number<int>(parts.front()).value_or(0);
  const int count = read_number<int>(parts.back()).value_or(0);
  if (parts.size() != 2 || index < 1 || index > count) {
    refuse("--shard {}: i/n with i from 1 to n is needed, such as 2/8", text);
  }
  return {index, count};
}

}  // namespace assay::tools
