// A matrix product cut into register tiles. Operands are packed in strips of rows and panels of
// columns, a stretch of k at a time, with the range of their elements, which kernels need.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "assay/base/index.h"
#include "assay/base/large_memory.h"
#include "assay/base/parallel.h"
#include "assay/base/words.h"
#include "assay/machine/dot_oracle.h"
#include "assay/simd/aligned.h"

namespace assay::inline v0_2 {

// The product that C = C + A B adds. The rows of B and of C are contiguous. Those of A are
// `a_stride` elements apart.
struct Product {
  std::int64_t m, n, k;
  const double* a;
  std::int64_t a_stride;
  const double* b;
  float* c;
};

// The range of some rows of A (or columns of B) over a stretch of k. Only finite values count.
struct Extent {
  double norm = 0;  // the largest 2-norm of a row, rounded up
  // The smallest |x| of the elements that are not 0.
  double smallest = std::numeric_limits<double>::infinity();
  double largest = 0;

  // Exponents of the elements in a format: `lowest` is the exponent of the lowest bit that an
  // element can have, `exponent` is that of the smallest element, and `top` is that of the largest.
  // If all elements are 0, the first two are very high and the last is very low.
  int lowest(const Format& format) const { return exponent(format) - format.mantissa_bits(); }
  int exponent(const Format& format) const {
    return std::isinf(smallest) ? 4000 : std::max(std::ilogb(smallest), format.min_exponent());
  }
  int top() const { return largest > 0 ? std::ilogb(largest) : -4000; }
};

// Facts about a tile's sums that a kernel keeps from one stretch to the next. No sum exceeds
// `reach`. All sums are multiples of 2^lowest, if the kernel keeps `lowest`. If `reach` is
// infinite, nothing is known, and the kernel has to read the sums.
struct KnownSums {
  int lowest = 0;
  double reach = std::numeric_limits<double>::infinity();

  bool any() const { return reach < std::numeric_limits<double>::infinity(); }
};

// The part of the product that a kernel adds to one tile: a stretch of `depth` products for each
// sum. The layout of a is [depth][rows], and that of b is [depth][columns].
template <typename T>
struct Tile {
  std::int64_t depth;
  int rows, columns;
  const T* a;
  const T* b;
  const std::int16_t* a_exponents;  // null if the kernel does not need exponents
  const std::int16_t* b_exponents;
  Extent a_extent, b_extent;
  float* c;
  std::int64_t c_stride;
  KnownSums& known;
};

namespace panels {

inline std::int16_t exponent_of(double value, int least) {
  if (value == 0) return simd::kNoExponent;
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  // No number of an input format is a subnormal float64, so the exponent field gives its exponent.
  return static_cast<std::int16_t>(std::max(static_cast<int>((bits >> 52) & 0x7ff) - 1023, least));
}

// Finds the range of the sizes |x| of numbers, in eight lanes: their largest value, their smallest
// value that is not 0, and the sum of their squares. `poison` is NaN in a lane that had a NaN or an
// infinity. The loop has a form that compilers vectorise.
struct Range {
  static constexpr int kWidth = 8;
  double squares[kWidth] = {}, largest[kWidth] = {}, poison[kWidth] = {};
  double smallest[kWidth];

  Range() { std::fill_n(smallest, kWidth, std::numeric_limits<double>::infinity()); }
  void add(const double* values) {
    for (int i = 0; i < kWidth; ++i) {
      const double size = std::abs(values[i]);
      squares[i] += size * size;
      poison[i] += size * 0;  // NaN after a NaN or an infinity
      largest[i] = largest[i] < size ? size : largest[i];
      const double seen = size == 0 ? std::numeric_limits<double>::infinity() : size;
      smallest[i] = seen < smallest[i] ? seen : smallest[i];
    }
  }
};

// Packs `count` lanes (rows of A or columns of B) of `depth` elements each: to[k][lanes]. One of
// the strides is 1. Lanes beyond `count` become 0. NaN and infinity become 0 too, and their lanes
// are marked in `bad`. Without kRanges all elements are copied unchanged, and the extent is empty.
template <typename T, bool kExponents, bool kRanges>
Extent pack(const double* from, std::int64_t lane_stride, std::int64_t k_stride, std::int64_t count,
            std::int64_t lanes, std::int64_t depth, int least_exponent, T* to,
            std::int16_t* exponents, std::uint8_t* bad) {
  constexpr std::int64_t kWidth = Range::kWidth;
  Extent extent;
  double square = 0;
  bool is_poisoned = false;
  // Adds a range to the extent. Its eight entries belong to one lane (`one_lane`) or to eight
  // lanes.
  const auto take = [&](const Range& range, bool one_lane) {
    double sum = 0;
    for (std::int64_t i = 0; i < kWidth; ++i) {
      sum = one_lane ? sum + range.squares[i] : std::max(sum, range.squares[i]);
      extent.smallest = std::min(extent.smallest, range.smallest[i]);
      extent.largest = std::max(extent.largest, range.largest[i]);
      is_poisoned = is_poisoned || range.poison[i] != 0;
    }
    square = std::max(square, sum);
  };
  if (k_stride == 1) {
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const double* row = from + lane * lane_stride;
      if constexpr (kRanges) {
        Range range;
        std::int64_t k = 0;
        for (; k + kWidth <= depth; k += kWidth) range.add(row + k);
        double rest[kWidth] = {};
        std::copy(row + k, row + depth, rest);
        range.add(rest);
        take(range, true);
      }
      for (std::int64_t k = 0; k < depth; ++k) to[k * lanes + lane] = static_cast<T>(row[k]);
      if constexpr (kExponents) {
        for (std::int64_t k = 0; k < depth; ++k) {
          exponents[k * lanes + lane] = exponent_of(row[k], least_exponent);
        }
      }
    }
  } else {
    for (std::int64_t lane = 0; kRanges && lane < count; lane += kWidth) {
      const std::int64_t width = std::min(kWidth, count - lane);
      Range range;
      for (std::int64_t k = 0; k < depth; ++k) {
        const double* row = from + lane + k * k_stride;
        double rest[kWidth] = {};
        if (width < kWidth) std::copy(row, row + width, rest);
        range.add(width < kWidth ? rest : row);
      }
      take(range, false);
    }
    for (std::int64_t k = 0; k < depth; ++k) {
      const double* row = from + k * k_stride;
      T* out = to + k * lanes;
      for (std::int64_t lane = 0; lane < count; ++lane) out[lane] = static_cast<T>(row[lane]);
      if constexpr (kExponents) {
        for (std::int64_t lane = 0; lane < count; ++lane) {
          exponents[k * lanes + lane] = exponent_of(row[lane], least_exponent);
        }
      }
    }
  }
  for (std::int64_t k = 0; k < depth && count < lanes; ++k) {
    for (std::int64_t lane = count; lane < lanes; ++lane) {
      to[k * lanes + lane] = 0;
      if constexpr (kExponents) exponents[k * lanes + lane] = simd::kNoExponent;
    }
  }
  if (is_poisoned) {
    // The extent is taken once more, without the elements that are not finite.
    extent = Extent{};
    square = 0;
    for (std::int64_t lane = 0; lane < count; ++lane) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        const double size = std::abs(from[lane * lane_stride + k * k_stride]);
        if (!std::isfinite(size)) {
          bad[lane] = 1;
          to[k * lanes + lane] = 0;
          if constexpr (kExponents) exponents[k * lanes + lane] = simd::kNoExponent;
          continue;
        }
        sum += size * size;
        extent.largest = std::max(extent.largest, size);
        if (size > 0) extent.smallest = std::min(extent.smallest, size);
      }
      square = std::max(square, sum);
    }
  }
  extent.norm = std::sqrt(square) * (1 + 0x1p-20);
  return extent;
}

}  // namespace panels

// Returns the number of rows of A that a thread takes at once, a multiple of `rows`. At most `most`
// rows, so that their packed elements stay in the second-level cache. Takes fewer rows if there
// would be less than 64 blocks, so that many threads have the same amount of work.
inline std::int64_t rows_of_block(std::int64_t m, std::int64_t rows, std::int64_t most) {
  constexpr std::int64_t kBlocks = 64;
  return std::clamp((m + kBlocks - 1) / kBlocks / rows, std::int64_t{1},
                    std::max<std::int64_t>(most / rows, 1)) *
         rows;
}

// Calls kernel.run(tile) for every tile of the product, in ascending stretches of k. The oracle
// computes an element instead if run() returns false for its tile, if its row of A, its column of B
// or its old value in C holds NaN or infinity, or if its sum became infinite.
template <typename Kernel>
void tiled_product(const DotModel& model, const Kernel& kernel, const Product& p, int threads) {
  using T = typename Kernel::Element;
  const simd::TileShape shape = kernel.shape();
  const std::int64_t rows = shape.rows, columns = shape.columns;
  const std::int64_t chunk = model.chunk.value;
  const std::int64_t stretch = chunk * std::max<std::int64_t>(1, Kernel::kStretch / chunk);
  const std::int64_t stretches = (p.k + stretch - 1) / stretch;
  const std::int64_t panel_count = (p.n + columns - 1) / columns;
  const std::int64_t strips = (p.m + rows - 1) / rows;
  const std::int64_t padded_n = panel_count * columns;
  const int a_least = format_named(model.input).min_exponent();
  const int b_least = format_named(model.b_input()).min_exponent();
  constexpr bool kExponents = Kernel::kExponents;

  // B is packed once, as [panel][k][column].
  LargeArray<T> packed_b(at(padded_n * p.k));
  LargeArray<std::int16_t> exponents_b(kExponents ? packed_b.size() : 0);
  std::vector<std::uint8_t> bad_columns(at(padded_n));
  std::vector<Extent> b_extents(at(panel_count * stretches));
  parallel_for(panel_count, threads, [&](std::int64_t panel) {
    const std::int64_t j = panel * columns;
    for (std::int64_t s = 0; s < stretches; ++s) {
      const std::int64_t k0 = s * stretch, offset = (panel * p.k + k0) * columns;
      b_extents[at(panel * stretches + s)] = panels::pack<T, kExponents, Kernel::kRanges>(
          p.b + k0 * p.n + j, 1, p.n, std::min(columns, p.n - j), columns,
          std::min(stretch, p.k - k0), b_least, packed_b.data() + offset,
          kExponents ? exponents_b.data() + offset : nullptr, bad_columns.data() + j);
    }
  });

  const bool any_bad_column = contains(bad_columns, 1);

  const std::int64_t block = rows_of_block(p.m, rows, 96) / rows;  // strips
  parallel_for((strips + block - 1) / block, threads, [&](std::int64_t part) {
    const std::int64_t first_row = part * block * rows;
    const std::int64_t row_count = std::min(p.m - first_row, block * rows);
    const std::int64_t strip_count = (row_count + rows - 1) / rows;
    std::vector<T> packed_a(at(strip_count * rows * stretch));
    std::vector<std::int16_t> exponents_a(kExponents ? packed_a.size() : 0);
    std::vector<Extent> a_extents(at(strip_count));
    std::vector<std::uint8_t> bad_rows(at(strip_count * rows));
    // The last tiles are padded with 1, because a sum of 0 looks doubtful to the kernels.
    std::vector<float> sums(at(strip_count * rows * padded_n), 1.0f);
    std::vector<std::uint8_t> unsure(sums.size());
    std::vector<KnownSums> known(at(strip_count * panel_count));
    for (std::int64_t i = 0; i < row_count; ++i) {
      const float* from = p.c + (first_row + i) * p.n;
      float* to = sums.data() + i * padded_n;
      float poison = 0;
      // NaN if the row of C holds NaN or infinity.
      for (std::int64_t j = 0; j < p.n; ++j) poison += from[j] * 0;
      std::copy(from, from + p.n, to);
      for (std::int64_t j = 0; poison != 0 && j < p.n; ++j) {
        if (std::isfinite(from[j])) continue;
        to[j] = 0;
        unsure[at(i * padded_n + j)] = 1;
      }
    }
    for (std::int64_t s = 0; s < stretches; ++s) {
      const std::int64_t k0 = s * stretch, depth = std::min(stretch, p.k - k0);
      for (std::int64_t strip = 0; strip < strip_count; ++strip) {
        const std::int64_t i = strip * rows, offset = i * stretch;
        a_extents[at(strip)] = panels::pack<T, kExponents, Kernel::kRanges>(
            p.a + (first_row + i) * p.a_stride + k0, p.a_stride, 1, std::min(rows, row_count - i),
            rows, depth, a_least, packed_a.data() + offset,
            kExponents ? exponents_a.data() + offset : nullptr, bad_rows.data() + i);
      }
      for (std::int64_t panel = 0; panel < panel_count; ++panel) {
        const std::int64_t b_offset = (panel * p.k + k0) * columns;
        for (std::int64_t strip = 0; strip < strip_count; ++strip) {
          const std::int64_t a_offset = strip * rows * stretch;
          const std::int64_t corner = strip * rows * padded_n + panel * columns;
          const bool done = kernel.run(Tile<T>{
              depth, shape.rows, shape.columns, packed_a.data() + a_offset,
              packed_b.data() + b_offset, kExponents ? exponents_a.data() + a_offset : nullptr,
              kExponents ? exponents_b.data() + b_offset : nullptr, a_extents[at(strip)],
              b_extents[at(panel * stretches + s)], sums.data() + corner, padded_n,
              known[at(strip * panel_count + panel)]});
          for (std::int64_t r = 0; !done && r < rows; ++r) {
            std::fill_n(unsure.data() + corner + r * padded_n, columns, std::uint8_t{1});
          }
        }
      }
    }
    for (std::int64_t i = 0; i < row_count; ++i) {
      const std::int64_t row = first_row + i;
      const float* of_row = sums.data() + i * padded_n;
      const std::uint8_t* unsure_row = unsure.data() + i * padded_n;
      float poison = 0;
      // NaN if one of the row's sums is NaN or infinite.
      for (std::int64_t j = 0; j < p.n; ++j) poison += of_row[j] * 0;
      if (poison == 0 && bad_rows[at(i)] == 0 && !any_bad_column &&
          std::find(unsure_row, unsure_row + p.n, 1) == unsure_row + p.n) {
        std::copy(of_row, of_row + p.n, p.c + row * p.n);
        continue;
      }
      for (std::int64_t j = 0; j < p.n; ++j) {
        float& out = p.c[row * p.n + j];
        const float sum = sums[at(i * padded_n + j)];
        if (std::isfinite(sum) && unsure[at(i * padded_n + j)] == 0 && bad_rows[at(i)] == 0 &&
            bad_columns[at(j)] == 0) {
          out = sum;
        } else {
          out = static_cast<float>(dot_part_oracle(model, p.k, p.a + row * p.a_stride, 1, p.b + j,
                                                   p.n, static_cast<double>(out)));
        }
      }
    }
  });
}

}  // namespace assay
