#include "assay/format/rounding.h"

#include "assay/base/words.h"

namespace assay::inline v0_2 {
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
  return find_row(kRoundings, rounding, &RoundingRow::rounding)->name;
}

std::optional<Rounding> find_rounding(std::string_view name) {
  const RoundingRow* row = find_row(kRoundings, name, &RoundingRow::name);
  return row != nullptr ? std::optional(row->rounding) : std::nullopt;
}

}  // namespace assay
