// The sites of faults: rows of a table. Places of a site in an output are numbered, so that one of
// them is drawn by one number.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace assay::inline v0_2::fault {

// The places of a computation that a fault can break.
enum class Site : std::uint8_t {
  kElement,   // one element of the output
  kRow,       // all elements of a row
  kColumn,    // all elements of a column
  kTile,      // all elements of a tile of 16 x 16
  kPeriodic,  // every n-th element in row-major order, as a broken address line causes
  // The running sum of one element of the output, before it is rounded to the output's dtype.
  kAccumulator,
  kInput,  // an element of an input, before or after its checksum was encoded
  // An element of the checksum vector B e, which is a row of operand B summed over its columns.
  kChecksum,
  kThreshold,  // the threshold with which the difference of a check is compared
};

// One row of the table of sites. If a site is not in the output, its faults need the computation to
// be repeated.
struct SiteRow {
  Site site;
  std::string_view name;
  // The keys of the site in a fault's text, in addition to those of every site, separated by
  // blanks.
  std::string_view parts = "";
  std::string_view help;
  bool in_output;
  bool needs_product = false;  // true if the site exists only in a matrix product
  // If not empty, the row is a short form of site=input for the input of this name.
  std::string_view input = "";
};
// Returns all rows of the table.
std::span<const SiteRow> site_rows();
// Returns the row of a site. For a fault in an input, `input` is its name. If that input has a row
// for its short form, returns that row.
const SiteRow& row_of(Site site, std::string_view input = "");

// The number of rows of a tile, and of its columns.
constexpr std::int64_t kTileSide = 16;

// Returns the number of places of a site in a matrix of rows x columns. Places are elements, rows,
// columns, or tiles (smaller at the lower and right edge). For periods, they are the first elements
// of the sequences with distance `every`. Throws Refusal if the site is not in the
// output, or if `every` is below 1.
std::int64_t place_count(Site site, std::int64_t every, std::int64_t rows, std::int64_t columns);
// Returns the row-major positions of the elements of place number `index`, ascending. `index` is at
// least 0 and below place_count().
std::vector<std::int64_t> place_positions(Site site, std::int64_t every, std::int64_t rows,
                                          std::int64_t columns, std::int64_t index);
// Returns the number of the place that holds the element at a row-major position.
std::int64_t place_of(Site site, std::int64_t every, std::int64_t columns, std::int64_t position);

}  // namespace assay::fault
