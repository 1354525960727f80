// The rounding modes by name: one table for writing (rounding_name in format.h) and reading.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "assay/format/format.h"

namespace assay {

struct RoundingRow {
  Rounding rounding;
  std::string_view name;
};
// All of them. Those that need no random bits, which are all that a text may ask for, come first.
std::span<const RoundingRow> rounding_rows();
std::span<const RoundingRow> deterministic_rounding_rows();

// The mode of that name, what rounding_name() writes; empty for another word.
std::optional<Rounding> find_rounding(std::string_view name);

}  // namespace assay
