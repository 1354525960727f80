// The location of a verdict's mismatches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

// Returns the pattern that sorted row-major positions form in a shape ("all in row 3", ...), or an
// empty string.
std::string location_pattern(const std::vector<std::int64_t>& positions, const Shape& shape);

// Returns the whole rows or columns that hold nearly all of the sorted positions: "rows 3 and 9",
// "columns 2 to 5", "rows 3, 9, 12 and 4 others". Three quarters of each such line must be among
// the positions. A tenth of the positions may lie elsewhere, or if they are few, up to 4 and at
// most a fifth. Returns an empty string if there are no such lines, or if they are more than half
// of all lines. Also returns it if the shape has fewer than 2 rows or columns, or if a line has
// fewer than 4 elements. Sets `holds_all`, if it is not null, to whether the lines hold all of the
// positions.
std::string whole_lines_text(const std::vector<std::int64_t>& positions, const Shape& shape,
                             bool* holds_all = nullptr);

// Counts the mismatches in each region of the output. The output is taken as a matrix: its last
// dimension gives the columns, and all others together give the rows. The matrix is cut into at
// most 32 x 32 blocks of equal size. The last block of a row or column may be smaller.
struct MismatchMap {
  static constexpr std::int64_t kMostBlocks = 32;  // on each side

  explicit MismatchMap(const Shape& shape);

  std::int64_t rows = 1, columns = 1;              // of the matrix
  std::int64_t block_rows = 1, block_columns = 1;  // the size of a block in elements
  std::int64_t down = 1, across = 1;               // numbers of blocks
  // Number of mismatches in each block, with the blocks in row-major order.
  std::vector<std::int64_t> counts;

  void add(std::int64_t position);  // counts a mismatch at this row-major position of the output
  void merge(const MismatchMap& other);  // adds the counts of another map of the same shape
};

}  // namespace assay
