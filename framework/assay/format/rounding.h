// The rounding modes by name: one table for writing (rounding_name in format.h) and reading.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "assay/format/format.h"

namespace assay::inline v0_2 {

struct RoundingRow {
  Rounding rounding;
  std::string_view name;
};
// Returns all modes. Those that need no random bits come first. deterministic_rounding_rows()
// returns only these, because they are the ones that a text may name.
std::span<const RoundingRow> rounding_rows();
std::span<const RoundingRow> deterministic_rounding_rows();

// Returns the mode with this name, as rounding_name() writes it. Empty for another word.
std::optional<Rounding> find_rounding(std::string_view name);

}  // namespace assay
