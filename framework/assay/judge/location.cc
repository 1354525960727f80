// Describes in words where mismatches lie.
#include "assay/judge/location.h"

#include <algorithm>
#include <string_view>

#include "assay/base/text.h"

namespace assay::inline v0_2 {

MismatchMap::MismatchMap(const Shape& shape) {
  columns = shape.empty() ? 1 : std::max<std::int64_t>(shape.back(), 1);
  rows = std::max<std::int64_t>(element_count(shape) / columns, 1);
  const auto cut = [](std::int64_t extent, std::int64_t& block, std::int64_t& blocks) {
    block = (extent + kMostBlocks - 1) / kMostBlocks;
    blocks = (extent + block - 1) / block;
  };
  cut(rows, block_rows, down);
  cut(columns, block_columns, across);
  counts.assign(static_cast<std::size_t>(down * across), 0);
}

void MismatchMap::add(std::int64_t position) {
  const std::int64_t row = position / columns, column = position % columns;
  ++counts[static_cast<std::size_t>(row / block_rows * across + column / block_columns)];
}

void MismatchMap::merge(const MismatchMap& other) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
}

namespace {

// Returns numbers of rows or columns as text: "row 3", "rows 3 and 9", "rows 3 to 7", "rows 3, 9,
// 12 and 4 others".
std::string lines_text(std::string_view word, const std::vector<std::int64_t>& lines) {
  const std::size_t n = lines.size();
  if (n == 1) return formatted("{} {}", word, lines[0]);
  const bool adjacent = lines.back() - lines.front() + 1 == static_cast<std::int64_t>(n);
  if (adjacent && n > 2) return formatted("{}s {} to {}", word, lines.front(), lines.back());
  constexpr std::size_t kListed = 4;
  std::string text;
  const std::size_t listed = n <= kListed ? n : kListed - 1;
  for (std::size_t i = 0; i < listed; ++i) {
    const bool last = i + 1 == n;
    text += formatted("{}{}", i == 0 ? "" : last ? " and " : ", ", lines[i]);
  }
  if (listed < n) text += formatted(" and {} others", n - listed);
  return formatted("{}s {}", word, text);
}

}  // namespace

std::string whole_lines_text(const std::vector<std::int64_t>& positions, const Shape& shape,
                             bool* holds_all) {
  const std::int64_t columns = shape.empty() ? 1 : shape.back();
  const std::int64_t rows = columns == 0 ? 0 : element_count(shape) / columns;
  if (shape.size() < 2 || rows < 2 || columns < 2 || positions.empty()) return "";
  const std::size_t all = positions.size();
  for (const bool by_row : {true, false}) {
    const std::int64_t length = by_row ? columns : rows, count = by_row ? rows : columns;
    if (length < 4) continue;
    std::vector<std::int64_t> in_line(static_cast<std::size_t>(count));
    for (const std::int64_t p : positions) {
      ++in_line[static_cast<std::size_t>(by_row ? p / columns : p % columns)];
    }
    std::vector<std::int64_t> lines;
    std::size_t held = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t found = in_line[static_cast<std::size_t>(i)];
      if (4 * found < 3 * length) continue;
      lines.push_back(i);
      held += static_cast<std::size_t>(found);
    }
    const bool is_most = all - held <= std::max(all / 10, std::min<std::size_t>(4, all / 5));
    if (!lines.empty() && is_most && 2 * static_cast<std::int64_t>(lines.size()) <= count) {
      if (holds_all != nullptr) *holds_all = held == all;
      return lines_text(by_row ? "row" : "column", lines);
    }
  }
  return "";
}

std::string location_pattern(const std::vector<std::int64_t>& positions, const Shape& shape) {
  const std::int64_t size = element_count(shape);
  const auto count = static_cast<std::int64_t>(positions.size());
  if (count == size && count > 1) return "every element";
  if (count < 3) return "";
  if (shape.size() > 2) {
    // In a batch, the matrix that has all mismatches is named. If there is no such matrix, a column
    // that has all of them is named. Otherwise the whole batch is searched as one row.
    const Shape matrix(shape.end() - 2, shape.end());
    const std::int64_t elements = element_count(matrix), first = positions.front() / elements;
    if (positions.back() / elements != first) {
      const std::int64_t columns = matrix.back(), column = positions.front() % columns;
      const bool in_column = columns > 1 && std::ranges::all_of(positions, [&](std::int64_t p) {
                               return p % columns == column;
                             });
      return in_column ? formatted("all in column {}", column)
                       : location_pattern(positions, Shape{size});
    }
    std::vector<std::int64_t> within;
    for (const std::int64_t p : positions) within.push_back(p - first * elements);
    std::string pattern = location_pattern(within, matrix);
    if (size == elements) return pattern;
    const TensorView batch{nullptr, nullptr, Shape(shape.begin(), shape.end() - 2), {}};
    return formatted("in matrix {}{}", shape_text(batch.multi_index(first)),
                     pattern.empty() ? "" : ": " + pattern);
  }
  const std::int64_t columns = shape.empty() ? 1 : shape.back();
  std::int64_t low_row = positions.front() / columns, high_row = positions.back() / columns;
  std::int64_t low_column = columns, high_column = -1;
  for (const std::int64_t p : positions) {
    low_column = std::min(low_column, p % columns);
    high_column = std::max(high_column, p % columns);
  }
  const std::int64_t rows = size / columns;
  if (shape.size() >= 2 && rows > 1 && columns > 1) {
    if (low_row == high_row) return formatted("all in row {}", low_row);
    if (low_column == high_column) return formatted("all in column {}", low_column);
  }
  const std::int64_t step = positions[1] - positions[0];
  bool regular = true;
  for (std::size_t i = 2; i < positions.size(); ++i) {
    regular = regular && positions[i] - positions[i - 1] == step;
  }
  if (regular && step == 1) {
    return positions.back() == size - 1
               ? formatted("the tail: every element from position {} on", grouped(positions[0]))
               : formatted("a run of {} elements from position {}", grouped(count),
                           grouped(positions[0]));
  }
  if (regular && step > 0 && positions.back() + step >= size && positions.front() < step) {
    return formatted("every {} elements, beginning with element {}", grouped(step), positions[0]);
  }
  const std::int64_t box = (high_row - low_row + 1) * (high_column - low_column + 1);
  if (shape.size() >= 2 && count * 2 >= box && box * 2 <= size) {
    // A tile is aligned if both extents are powers of two and it begins at multiples of them.
    // Kernels work in such tiles.
    const auto aligned = [](std::int64_t low, std::int64_t high) {
      const std::int64_t extent = high - low + 1;
      return extent > 1 && (extent & (extent - 1)) == 0 && low % extent == 0;
    };
    const bool block = aligned(low_row, high_row) && aligned(low_column, high_column);
    return formatted("in {}tile: rows {} to {}, columns {} to {}", block ? "an aligned " : "a ",
                     low_row, high_row, low_column, high_column);
  }
  if (shape.size() == 2 && rows > 2 && columns > 2) {
    const bool edges = std::ranges::all_of(positions, [&](std::int64_t p) {
      const std::int64_t row = p / columns, column = p % columns;
      return row == 0 || row == rows - 1 || column == 0 || column == columns - 1;
    });
    const std::int64_t boundary = 2 * (rows + columns) - 4;
    if (edges && 2 * count >= boundary && 2 * boundary <= size) {
      return "on the boundary: first and last rows and columns";
    }
  }
  if (shape.size() == 2) {
    // The mismatches may fill whole rows or columns and a few positions elsewhere.
    bool holds_all = false;
    const std::string lines = whole_lines_text(positions, shape, &holds_all);
    if (!lines.empty()) return (holds_all ? "all in " : "mostly in ") + lines;
  }
  return "";
}

}  // namespace assay
