// Where a fault is put: rows of a table. Sites that lie in an output are counted, so that one of
// them is drawn by one number.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace assay::fault {

enum class Site : std::uint8_t {
  kElement,      // one element of the output
  kRow,          // all elements of a row
  kColumn,       // of a column
  kTile,         // of a tile of 16 x 16
  kPeriodic,     // every n-th element in row-major order, as of a broken address line
  kAccumulator,  // the running sum of one element before its output is rounded
  kInput,        // an element of an input, before or after its checksum was encoded
  kChecksum,     // an element of the checksum vector B e
  kThreshold,    // the threshold that a difference is held against
};

// A row of the table. Those that do not lie in the output need the computation replayed.
struct SiteRow {
  Site site;
  std::string_view name;
  std::string_view parts = "";  // the keys it takes beside those of every site, between blanks
  std::string_view help;
  bool in_output;
  bool needs_product = false;   // there is one of it in a matrix product alone
  std::string_view input = "";  // a short form: site=input of this input
};
std::span<const SiteRow> site_rows();
// `input`: of a fault in an input, which; the row of its short form where it has one.
const SiteRow& row_of(Site site, std::string_view input = "");

constexpr std::int64_t kTileSide = 16;

// How many places a site has in a matrix of rows x columns: elements, rows, columns, tiles (those
// at the lower and right edge may be smaller), or starts of the elements that lie `every` apart.
// Throws std::invalid_argument for a site that is not in the output, and where `every` is below 1.
std::int64_t place_count(Site site, std::int64_t every, std::int64_t rows, std::int64_t columns);
// The row-major positions of place 0 <= index < place_count(), ascending.
std::vector<std::int64_t> place_positions(Site site, std::int64_t every, std::int64_t rows,
                                          std::int64_t columns, std::int64_t index);
// The index of the place that holds the element at a row-major position.
std::int64_t place_of(Site site, std::int64_t every, std::int64_t columns, std::int64_t position);

}  // namespace assay::fault
