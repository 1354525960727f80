#include "assay/format/rounding.h"

namespace assay {
namespace {

constexpr RoundingRow kRoundings[] = {
    {.rounding = Rounding::kNearestEven, .name = "nearest_even"},
    {.rounding = Rounding::kNearestAway, .name = "nearest_away"},
    {.rounding = Rounding::kTowardZero, .name = "toward_zero"},
    {.rounding = Rounding::kUp, .name = "up"},
    {.rounding = Rounding::kDown, .name = "down"},
    {.rounding = Rounding::kToOdd, .name = "to_odd"},
    {.rounding = Rounding::kStochastic, .name = "stochastic"},
};

}  // namespace

std::span<const RoundingRow> rounding_rows() { return kRoundings; }

std::span<const RoundingRow> deterministic_rounding_rows() {
  return rounding_rows().first(rounding_rows().size() - 1);
}

std::string_view rounding_name(Rounding rounding) {
  for (const RoundingRow& row : kRoundings) {
    if (row.rounding == rounding) return row.name;
  }
  return "";
}

std::optional<Rounding> find_rounding(std::string_view name) {
  for (const RoundingRow& row : kRoundings) {
    if (row.name == name) return row.rounding;
  }
  return std::nullopt;
}

}  // namespace assay
