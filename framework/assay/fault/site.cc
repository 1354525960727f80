#include "assay/fault/site.h"

#include <algorithm>

#include "assay/base/error.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::fault {
namespace {

constexpr SiteRow kSites[] = {
    {.site = Site::kElement,
     .name = "element",
     .help = "one element of the output; the default",
     .in_output = true},
    {.site = Site::kRow, .name = "row", .help = "all elements of a row", .in_output = true},
    {.site = Site::kColumn,
     .name = "column",
     .help = "all elements of a column",
     .in_output = true},
    {.site = Site::kTile,
     .name = "tile",
     .help = "all elements of a tile of 16 x 16",
     .in_output = true},
    {.site = Site::kPeriodic,
     .name = "periodic",
     .parts = "every",
     .help = "every n-th element, row by row, as every=N",
     .in_output = true},
    {.site = Site::kAccumulator,
     .name = "accumulator",
     .parts = "step",
     .help = "the unrounded sum of an element, after chunk step=K or a drawn one",
     .in_output = false,
     .needs_product = true},
    {.site = Site::kInput,
     .name = "input",
     .parts = "input when",
     .help =
         "an element of input=NAME, when=before or after (the default) its checksum was encoded",
     .in_output = false},
    {.site = Site::kInput,
     .name = "input_a",
     .parts = "when",
     .help = "the same of input=a",
     .in_output = false,
     .input = "a"},
    {.site = Site::kInput,
     .name = "input_b",
     .parts = "when",
     .help = "the same of input=b",
     .in_output = false,
     .input = "b"},
    {.site = Site::kChecksum,
     .name = "checksum",
     .help = "an element of the checksum vector B e",
     .in_output = false,
     .needs_product = true},
    {.site = Site::kThreshold,
     .name = "threshold",
     .help = "the threshold's own value",
     .in_output = false,
     .needs_product = true},
};

std::int64_t tiles(std::int64_t extent) { return (extent + kTileSide - 1) / kTileSide; }

void require_every(Site site, std::int64_t every) {
  if (site != Site::kPeriodic || every >= 1) return;
  refuse("every must be at least 1, not {}", every);
}

Refusal not_in_output(Site site) {
  return Refusal(formatted("site {} does not lie in the output, so that it has no places there",
                           row_of(site).name));
}

}  // namespace

std::span<const SiteRow> site_rows() { return kSites; }

const SiteRow& row_of(Site site, std::string_view input) {
  const SiteRow* found = nullptr;
  for (const SiteRow& row : kSites) {
    if (row.site == site && (found == nullptr || (!row.input.empty() && row.input == input))) {
      found = &row;
    }
  }
  return *found;
}

std::int64_t place_count(Site site, std::int64_t every, std::int64_t rows, std::int64_t columns) {
  require_every(site, every);
  const std::int64_t size = rows * columns;
  if (size == 0) return 0;
  switch (site) {
    case Site::kElement:
      return size;
    case Site::kRow:
      return rows;
    case Site::kColumn:
      return columns;
    case Site::kTile:
      return tiles(rows) * tiles(columns);
    case Site::kPeriodic:
      return std::min(every, size);
    default:
      throw not_in_output(site);
  }
}

std::vector<std::int64_t> place_positions(Site site, std::int64_t every, std::int64_t rows,
                                          std::int64_t columns, std::int64_t index) {
  require_every(site, every);
  // The first row and column of the place, and its height and width.
  std::int64_t row = 0, column = 0, height = 1, width = 1;
  switch (site) {
    case Site::kElement:
      return {index};
    case Site::kRow:
      row = index;
      width = columns;
      break;
    case Site::kColumn:
      column = index;
      height = rows;
      break;
    case Site::kTile:
      row = index / tiles(columns) * kTileSide;
      column = index % tiles(columns) * kTileSide;
      height = std::min(kTileSide, rows - row);
      width = std::min(kTileSide, columns - column);
      break;
    case Site::kPeriodic: {
      std::vector<std::int64_t> positions;
      for (std::int64_t i = index; i < rows * columns; i += every) positions.push_back(i);
      return positions;
    }
    default:
      throw not_in_output(site);
  }
  std::vector<std::int64_t> positions;
  positions.reserve(static_cast<std::size_t>(height * width));
  for (std::int64_t i = row; i < row + height; ++i) {
    for (std::int64_t j = column; j < column + width; ++j) positions.push_back(i * columns + j);
  }
  return positions;
}

std::int64_t place_of(Site site, std::int64_t every, std::int64_t columns, std::int64_t position) {
  require_every(site, every);
  const std::int64_t row = position / columns, column = position % columns;
  switch (site) {
    case Site::kElement:
      return position;
    case Site::kRow:
      return row;
    case Site::kColumn:
      return column;
    case Site::kTile:
      return row / kTileSide * tiles(columns) + column / kTileSide;
    case Site::kPeriodic:
      return position % every;
    default:
      throw not_in_output(site);
  }
}

}  // namespace assay::fault
