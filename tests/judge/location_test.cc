// Tests the words that describe where the mismatches lie, and that these words appear only if they
// are true.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/judge/verdict.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::tolerance;
using Positions = std::vector<std::int64_t>;

Positions every(std::int64_t first, std::int64_t step, std::int64_t count) {
  Positions p;
  for (std::int64_t i = 0; i < count; ++i) p.push_back(first + i * step);
  return p;
}

TEST(Location, EveryElement) {
  EXPECT_EQ(location_pattern(every(0, 1, 12), {3, 4}), "every element");
  EXPECT_EQ(location_pattern(every(0, 1, 2), {2}), "every element");
  EXPECT_EQ(location_pattern({0}, {}), "");
  EXPECT_EQ(location_pattern({0}, {1}), "");
}

TEST(Location, TooFewToFormAPattern) {
  EXPECT_EQ(location_pattern({}, {8, 8}), "");
  EXPECT_EQ(location_pattern({5}, {8, 8}), "");
  EXPECT_EQ(location_pattern({8, 9}, {8, 8}), "");
}

TEST(Location, Row) {
  EXPECT_EQ(location_pattern(every(24, 1, 8), {8, 8}), "all in row 3");
  EXPECT_EQ(location_pattern({24, 27, 31}, {8, 8}), "all in row 3");
  EXPECT_EQ(location_pattern({0, 3, 7}, {8, 8}), "all in row 0");
  EXPECT_EQ(location_pattern({56, 57, 63}, {8, 8}), "all in row 7");
}

TEST(Location, Column) {
  EXPECT_EQ(location_pattern(every(5, 8, 8), {8, 8}), "all in column 5");
  EXPECT_EQ(location_pattern({5, 21, 61}, {8, 8}), "all in column 5");
  EXPECT_EQ(location_pattern({0, 64, 128}, {3, 64}), "all in column 0");
}

TEST(Location, Tail) {
  EXPECT_EQ(location_pattern(every(1000, 1, 24), {1024}),
            "the tail: every element from position 1 000 on");
  EXPECT_EQ(location_pattern(every(40, 1, 24), {8, 8}),
            "the tail: every element from position 40 on");
  EXPECT_EQ(location_pattern(every(1000, 1, 23), {1024}),
            "a run of 23 elements from position 1 000");
}

TEST(Location, EveryNth) {
  EXPECT_EQ(location_pattern(every(0, 2, 50), {100}), "every 2 elements, beginning with element 0");
  EXPECT_EQ(location_pattern(every(7, 64, 16), {1024}),
            "every 64 elements, beginning with element 7");
  EXPECT_EQ(location_pattern({1, 5, 9, 14}, {16}), "");
}

// The text "every 2 elements" is used only if it holds up to the end of the tensor.
TEST(Location, EveryNthReachesTheEnd) {
  EXPECT_EQ(location_pattern(every(0, 2, 60), {200}).find("every 2 elements, beginning"),
            std::string::npos);
}

TEST(Location, Tile) {
  Positions p;
  for (std::int64_t r = 16; r < 32; ++r) {
    for (std::int64_t c = 48; c < 64; ++c) p.push_back(r * 128 + c);
  }
  EXPECT_EQ(location_pattern(p, {64, 128}), "in an aligned tile: rows 16 to 31, columns 48 to 63");
  p.erase(p.begin() + 20);
  EXPECT_EQ(location_pattern(p, {64, 128}), "in an aligned tile: rows 16 to 31, columns 48 to 63");
  for (std::int64_t& at : p) at += 129;
  EXPECT_EQ(location_pattern(p, {64, 128}), "in a tile: rows 17 to 32, columns 49 to 64");
  // The elements of a diagonal are described by their distance, and not as a tile.
  EXPECT_EQ(location_pattern({0, 9, 18, 27, 36, 45, 54, 63}, {8, 8}),
            "every 9 elements, beginning with element 0");
}

TEST(Location, Boundary) {
  Positions p;
  for (std::int64_t i = 0; i < 16 * 16; ++i) {
    const std::int64_t r = i / 16, c = i % 16;
    if (r == 0 || r == 15 || c == 0 || c == 15) p.push_back(i);
  }
  EXPECT_EQ(location_pattern(p, {16, 16}), "on the boundary: first and last rows and columns");
  p.push_back(18);
  std::sort(p.begin(), p.end());
  EXPECT_EQ(location_pattern(p, {16, 16}), "");
}

// Mismatches along the boundary of the matrix are not described as such if they are more than half
// of the matrix.
TEST(Location, BoundaryOfHalfTheElements) {
  const auto whole_boundary = [](std::int64_t rows, std::int64_t columns) {
    Positions p;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const std::int64_t r = i / columns, c = i % columns;
      if (r == 0 || r == rows - 1 || c == 0 || c == columns - 1) p.push_back(i);
    }
    return location_pattern(p, {rows, columns});
  };
  EXPECT_EQ(whole_boundary(6, 8), "on the boundary: first and last rows and columns");  // 24 of 48
  EXPECT_EQ(whole_boundary(5, 11), "");                                                 // 28 of 55
  EXPECT_EQ(whole_boundary(5, 10), "");                                                 // 26 of 50
}

TEST(Location, Scattered) {
  EXPECT_EQ(location_pattern({3, 17, 40, 58}, {8, 8}), "");
  EXPECT_EQ(location_pattern({3, 170, 400}, {1000}), "");
}

// The words are true for every mismatch, whatever the positions.
TEST(Location, SaysNothingUntrue) {
  oracle::Dice dice(11);
  for (int trial = 0; trial < 20000; ++trial) {
    const auto rows = static_cast<std::int64_t>(1 + dice.below(6));
    const auto columns = static_cast<std::int64_t>(1 + dice.below(6));
    const std::int64_t size = rows * columns;
    const std::uint64_t chosen = dice.next() & dice.next();
    Positions p;
    for (std::int64_t i = 0; i < size; ++i) {
      if ((chosen >> i) & 1) p.push_back(i);
    }
    const std::string text = location_pattern(p, {rows, columns});
    SCOPED_TRACE(text);
    long first = 0, second = 0, third = 0, fourth = 0;
    for (const std::int64_t at : p) {
      const long r = at / columns, c = at % columns;
      if (std::sscanf(text.c_str(), "all in row %ld", &first) == 1) {
        ASSERT_EQ(r, first);
      } else if (std::sscanf(text.c_str(), "all in column %ld", &first) == 1) {
        ASSERT_EQ(c, first);
      } else if (std::sscanf(text.c_str(), "in a tile: rows %ld to %ld, columns %ld to %ld", &first,
                             &second, &third, &fourth) == 4 ||
                 std::sscanf(text.c_str(),
                             "in an aligned tile: rows %ld to %ld, columns %ld to %ld", &first,
                             &second, &third, &fourth) == 4) {
        ASSERT_TRUE(first <= r && r <= second && third <= c && c <= fourth);
      } else if (std::sscanf(text.c_str(), "every %ld elements, beginning with element %ld", &first,
                             &second) == 2) {
        ASSERT_EQ((at - second) % first, 0);
      }
    }
    if (text == "every element") {
      ASSERT_EQ(static_cast<std::int64_t>(p.size()), size);
    }
    if (std::sscanf(text.c_str(), "the tail: every element from position %ld", &first) == 1) {
      ASSERT_EQ(static_cast<std::int64_t>(p.size()), size - first);
      ASSERT_EQ(p.front(), first);
    }
    if (std::sscanf(text.c_str(), "a run of %ld elements from position %ld", &first, &second) ==
        2) {
      ASSERT_EQ(static_cast<std::int64_t>(p.size()), first);
      ASSERT_EQ(p.back(), second + first - 1);
    }
  }
}

TEST(Location, OfAVerdict) {
  const std::vector<double> ones(64 * 64, 1);
  std::vector<double> broken = ones;
  for (std::size_t c = 0; c < 64; c += 2) broken[37 * 64 + c] = 5;
  const Verdict v = judge(oracle::tensor("float32", {64, 64}, broken),
                          oracle::tensor("float32", {64, 64}, ones), tolerance(0, 1e-3));
  EXPECT_EQ(v.mismatches, 32);
  EXPECT_EQ(v.where, "all in row 37");
  EXPECT_EQ(judge(oracle::tensor("float32", {64, 64}, ones),
                  oracle::tensor("float32", {64, 64}, ones), tolerance(0, 1e-3))
                .where,
            "");
  // In a view of the transposed memory, the row is a column.
  const Tensor memory = oracle::tensor("float32", {64, 64}, broken);
  const Verdict turned = judge(memory.view().transposed(),
                               oracle::tensor("float32", {64, 64}, ones), tolerance(0, 1e-3));
  EXPECT_EQ(turned.where, "all in column 37");
}

// Tests the places across parts of 2^18 elements, and with more mismatches than the judge keeps.
TEST(Location, OfALargeTensor) {
  const std::int64_t n = (1 << 18) + 4096;
  Tensor expected(format_named("float32"), {n / 1024, 1024});
  for (std::int64_t i = 0; i < n; ++i) expected.set_bits(i, 0x3f800000);
  Tensor actual = expected;
  for (std::int64_t i = 5; i < n; i += 1024) actual.set_bits(i, 0x40000000);
  for (const int threads : {1, 2}) {
    JudgeOptions options;
    options.threads = threads;
    EXPECT_EQ(judge(actual, expected, tolerance(0, 0.1), options).where, "all in column 5");
    // There are too many mismatches to keep them all. The text then says nothing rather than
    // something wrong.
    Tensor zeros = expected;
    for (std::int64_t i = 0; i < n - 7; ++i) zeros.set_bits(i, 0);
    const Verdict many = judge(zeros, expected, tolerance(0, 0.1), options);
    EXPECT_EQ(many.mismatches, n - 7);
    EXPECT_EQ(many.where, "");
  }
}

// Rows and tiles lie within one matrix of a batch, and never span two matrices.
TEST(Location, OfABatch) {
  EXPECT_EQ(location_pattern({132, 135, 140}, {2, 9, 11}), "in matrix [1]: all in row 3");
  EXPECT_EQ(location_pattern({100, 120, 140, 197}, {2, 9, 11}), "in matrix [1]");
  EXPECT_EQ(location_pattern({97, 98, 99, 100}, {2, 9, 11}),
            "a run of 4 elements from position 97");
  EXPECT_EQ(location_pattern({3, 14, 102}, {2, 9, 11}), "all in column 3");
  EXPECT_EQ(location_pattern({132, 135, 140}, {1, 2, 9, 11}), "in matrix [0, 1]: all in row 3");
  EXPECT_EQ(location_pattern({33, 35, 40}, {1, 9, 11}), "all in row 3");
}

// Compares the map of the mismatches with a count element by element. Each block is counted from
// its own elements.
TEST(MismatchMap, CountsWhatAScalarLoopCounts) {
  const Format& f32 = format_named("float32");
  Bound bound;
  bound.atol = 0.5;
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{7}, Shape{1000}, Shape{100, 3}, Shape{3, 100},
                             Shape{5, 33, 65}, Shape{300, 1100}}) {
    const std::int64_t size = element_count(shape);
    for (const int every : {1, 3, 1000000}) {  // which elements miss
      std::vector<double> expected(static_cast<std::size_t>(size), 2), actual = expected;
      for (std::int64_t i = 0; i < size; ++i) {
        if (i * 7919 % every == 0) actual[static_cast<std::size_t>(i)] = i % 2 == 0 ? 3 : NAN;
      }
      const Tensor golden = Tensor::from_values(f32, shape, expected),
                   output = Tensor::from_values(f32, shape, actual);
      for (const int threads : {1, 3}) {
        const Verdict v = judge(output, golden, bound, {.threads = threads, .mismatch_map = true});
        ASSERT_TRUE(v.mismatch_map) << shape_text(shape);
        const MismatchMap& map = *v.mismatch_map;
        EXPECT_LE(map.down, 32);
        EXPECT_LE(map.across, 32);
        EXPECT_EQ(map.rows * map.columns, size);
        ASSERT_EQ(map.counts.size(), static_cast<std::size_t>(map.down * map.across));
        std::int64_t elements = 0;
        for (std::int64_t r = 0; r < map.down; ++r) {
          for (std::int64_t c = 0; c < map.across; ++c) {
            std::int64_t mismatches = 0;
            for (std::int64_t i = r * map.block_rows;
                 i < std::min(map.rows, (r + 1) * map.block_rows); ++i) {
              for (std::int64_t k = c * map.block_columns;
                   k < std::min(map.columns, (c + 1) * map.block_columns); ++k, ++elements) {
                mismatches += actual[static_cast<std::size_t>(i * map.columns + k)] == 2 ? 0 : 1;
              }
            }
            EXPECT_EQ(map.counts[static_cast<std::size_t>(r * map.across + c)], mismatches);
          }
        }
        EXPECT_EQ(elements, size) << "blocks cover the output, each element once";
      }
      EXPECT_FALSE(judge(output, golden, bound).mismatch_map) << "nobody asked";
      EXPECT_FALSE(judge(golden, Tensor(golden), bound, {.mismatch_map = true}).mismatch_map)
          << "nothing missed";
    }
  }
}

// A tile is at least half full, and at most half of the tensor.
TEST(Location, ATileIsHalfFull) {
  const auto board = [](std::int64_t first_row, std::int64_t last_row, std::int64_t first_column,
                        std::int64_t last_column, std::int64_t columns) {
    Positions p;
    for (std::int64_t r = first_row; r <= last_row; ++r) {
      for (std::int64_t c = first_column; c <= last_column; ++c) {
        if ((r + c) % 2 == 0) p.push_back(r * columns + c);
      }
    }
    return p;
  };
  for (const auto& [last_row, last_column] :
       {std::pair(6, 14), std::pair(12, 8), std::pair(4, 30), std::pair(20, 6)}) {
    Positions p = board(3, last_row, 5, last_column, 64);
    EXPECT_EQ(location_pattern(p, {64, 64}),
              formatted("in a tile: rows 3 to {}, columns 5 to {}", last_row, last_column));
    // If one more element is right (in the tile's second row, not a corner), the tile is less than
    // half full, and no tile is named.
    p.erase(std::find_if(p.begin(), p.end(), [](std::int64_t at) { return at >= 4 * 64; }));
    EXPECT_EQ(location_pattern(p, {64, 64}), "");
  }
  EXPECT_EQ(location_pattern(board(0, 7, 0, 7, 8), {16, 8}),
            "in an aligned tile: rows 0 to 7, columns 0 to 7");
  EXPECT_EQ(location_pattern(board(0, 7, 0, 7, 8), {15, 8}), "");
}

// A tile of one row is not called aligned, because a block of a kernel has more than one row.
TEST(Location, OfOneRowATileIsNotAligned) {
  EXPECT_EQ(location_pattern({8, 9, 11, 12, 13, 15}, {1, 64}),
            "in a tile: rows 0 to 0, columns 8 to 15");
}

}  // namespace
}  // namespace assay
