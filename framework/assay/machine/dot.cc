#include "assay/machine/dot.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/machine/exact_sum.h"
#include "assay/simd/gemm.h"

namespace assay {

double dot_oracle(const DotModel& model, std::int64_t n, const double* a, std::int64_t a_stride,
                  const double* b, std::int64_t b_stride, double c) {
  const Format& accumulator = format_named(model.accumulator.value);
  for (std::int64_t begin = 0; begin < n; begin += model.chunk.value) {
    const std::int64_t end = std::min<std::int64_t>(begin + model.chunk.value, n);
    ExactSum sum;
    // Specials first: float64 arithmetic settles them, for no finite product overflows there.
    double specials = c;
    bool all_negative_zero = c == 0 && std::signbit(c);
    for (std::int64_t k = begin; k < end; ++k) {
      const double product = a[k * a_stride] * b[k * b_stride];
      specials += std::isfinite(product) ? 0.0 : product;
      all_negative_zero = all_negative_zero && product == 0 && std::signbit(product);
    }
    if (!std::isfinite(specials)) {
      c = specials;
      continue;
    }
    sum.add(c);
    for (std::int64_t k = begin; k < end; ++k) sum.add_product(a[k * a_stride], b[k * b_stride]);
    c = all_negative_zero ? -0.0 : round_to(accumulator, sum.to_odd(), model.rounding.value);
  }
  return c;
}

namespace {

// What decides whether a row of A (a column of B) can take the fast path.
struct Extent {
  double norm = 0;     // 2-norm, rounded up
  int lowest = 10000;  // exponent of the lowest set bit of any element; 10000 where all are zero
  int width = 0;       // most significant bits that an element has
  bool finite = true;

  void include(const Extent& other) {
    norm = std::max(norm, other.norm);
    lowest = std::min(lowest, other.lowest);
    width = std::max(width, other.width);
  }
};

void include_value(Extent& extent, double value) {
  if (!std::isfinite(value)) {
    extent.finite = false;
  } else if (value != 0) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const auto field = static_cast<int>((bits >> 52) & 0x7ff);  // no input is a subnormal float64
    const std::uint64_t mantissa = (bits & 0xfffffffffffffu) | (std::uint64_t{1} << 52);
    const int zeros = __builtin_ctzll(mantissa);
    extent.lowest = std::min(extent.lowest, field - 1075 + zeros);
    extent.width = std::max(extent.width, 53 - zeros);
    extent.norm += value * value;  // the square, until finish()
  }
}

void finish(Extent& extent) { extent.norm = std::sqrt(extent.norm) * (1 + 0x1p-20); }

constexpr std::int64_t kDepth = 256;  // of a panel in k; a multiple of every chunk length

}  // namespace

void dot_matmul(const DotModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                const double* a, const double* b, float* c, int threads) {
  const int chunk = model.chunk.value;
  if (kDepth % chunk != 0 || model.accumulator.value != "float32" ||
      model.rounding.value != Rounding::kNearestEven) {
    throw std::invalid_argument("dot_matmul has no path for this dot model");
  }
  if (m == 0 || n == 0) return;
  const simd::TileShape tile = simd::chunk_tile_shape();
  const std::int64_t tile_rows = tile.rows, tile_columns = tile.columns;
  const std::int64_t panels = (n + tile_columns - 1) / tile_columns;
  const std::int64_t strips = (m + tile_rows - 1) / tile_rows;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };

  std::vector<Extent> rows(at(m)), columns(at(n));
  std::vector<Extent> strip_extent(at(strips)), panel_extent(at(panels));
  parallel_for(strips, threads, [&](std::int64_t s) {
    for (std::int64_t i = s * tile_rows; i < std::min(m, (s + 1) * tile_rows); ++i) {
      for (std::int64_t kk = 0; kk < k; ++kk) include_value(rows[at(i)], a[i * k + kk]);
      finish(rows[at(i)]);
      if (rows[at(i)].finite) strip_extent[at(s)].include(rows[at(i)]);
    }
  });

  // B once, packed in panels [panel][k][column]; a column that holds NaN or infinity is packed as
  // zeros, and its elements are left to the oracle. The same for rows of A below.
  std::vector<double> packed_b(at(panels * k * tile_columns));
  parallel_for(panels, threads, [&](std::int64_t p) {
    const std::int64_t first = p * tile_columns;
    const std::int64_t count = std::min<std::int64_t>(tile_columns, n - first);
    double* to = packed_b.data() + p * k * tile_columns;
    for (std::int64_t kk = 0; kk < k; ++kk) {
      for (std::int64_t j = 0; j < count; ++j) {
        to[kk * tile_columns + j] = b[kk * n + first + j];
        include_value(columns[at(first + j)], b[kk * n + first + j]);
      }
      std::fill(to + kk * tile_columns + count, to + (kk + 1) * tile_columns, 0.0);
    }
    for (std::int64_t j = 0; j < count; ++j) {
      Extent& column = columns[at(first + j)];
      finish(column);
      if (column.finite) {
        panel_extent[at(p)].include(column);
      } else {
        for (std::int64_t kk = 0; kk < k; ++kk) to[kk * tile_columns + j] = 0;
      }
    }
  });

  // Blocks of strips: a block's packed A stays in the second-level cache.
  const std::int64_t block = std::max<std::int64_t>(1, 96 / tile_rows);
  const std::int64_t blocks = (strips + block - 1) / block;
  parallel_for(blocks, threads, [&](std::int64_t blk) {
    const std::int64_t first_strip = blk * block;
    const std::int64_t strip_count = std::min(block, strips - first_strip);
    const std::int64_t width = panels * tile_columns;
    const std::int64_t first_row = first_strip * tile_rows;
    const std::int64_t row_count = std::min(m - first_row, strip_count * tile_rows);
    std::vector<double> packed_a(at(strip_count * tile_rows * kDepth));
    std::vector<float> tile_c(at(strip_count * tile_rows * width), 0.0f);
    std::vector<std::uint32_t> unsure(at(strip_count * tile_rows * width), 0);
    for (std::int64_t i = 0; i < row_count; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        // A C that is not finite is the oracle's as well.
        const float start = c[(first_row + i) * n + j];
        tile_c[at(i * width + j)] = std::isfinite(start) ? start : 0.0f;
        if (!std::isfinite(start)) unsure[at(i * width + j)] = 1;
      }
    }
    // Largest |C| at the start, for it bounds the partial sums too.
    double start_bound = 0;
    int start_lowest = 10000;
    {
      Extent start;
      for (const float v : tile_c) {
        include_value(start, static_cast<double>(v));
        start_bound = std::max(start_bound, std::abs(static_cast<double>(v)));
      }
      start_lowest = start.lowest;
    }
    // Low parts of a chunk and the accumulator add up to (chunk + 1) / 2 quanta of 2^(span - 51).
    const int split_span =
        104 - (static_cast<int>(std::bit_width(static_cast<unsigned>(chunk))) - 1);
    bool split_used = false;
    for (std::int64_t k0 = 0; k0 < k; k0 += kDepth) {
      const std::int64_t depth = std::min(kDepth, k - k0);
      for (std::int64_t s = 0; s < strip_count; ++s) {
        double* to = packed_a.data() + s * tile_rows * kDepth;
        for (std::int64_t r = 0; r < tile_rows; ++r) {
          const std::int64_t i = (first_strip + s) * tile_rows + r;
          const bool used = i < m && rows[at(i)].finite;
          const double* from = a + i * k + k0;
          for (std::int64_t kk = 0; kk < depth; ++kk) to[kk * tile_rows + r] = used ? from[kk] : 0;
        }
      }
      for (std::int64_t p = 0; p < panels; ++p) {
        const double* from_b = packed_b.data() + p * k * tile_columns + k0 * tile_columns;
        for (std::int64_t s = 0; s < strip_count; ++s) {
          const Extent& strip = strip_extent[at(first_strip + s)];
          const Extent& panel = panel_extent[at(p)];
          const double* from_a = packed_a.data() + s * tile_rows * kDepth;
          const std::int64_t corner = s * tile_rows * width + p * tile_columns;
          float* to = tile_c.data() + corner;
          // Every partial sum is at most `bound` (Cauchy-Schwarz for any subset of the terms, and
          // 2^-24 a rounding of the accumulator) and a multiple of 2^lowest: with `span` up to 53
          // float64 is exact.
          const double roundings = static_cast<double>(k / chunk + 1) * 0x1p-23;
          // (Below float32's normal range a rounding may add half of 2^-149 instead.)
          const double bound = (1 + roundings) * (strip.norm * panel.norm + start_bound) +
                               static_cast<double>(k / chunk + 1) * 0x1p-149;
          const int lowest = std::min(strip.lowest + panel.lowest, start_lowest);
          const int span = bound > 0 ? std::ilogb(bound) + 1 - lowest : 0;
          if (!(bound < 0x1p127)) {
            // Beyond float32's range, sums could overflow on the way: the oracle's again.
            for (std::int64_t r = 0; r < tile_rows; ++r) {
              std::fill_n(unsure.data() + corner + r * width, tile_columns, 1u);
            }
          } else if (span <= 53) {
            simd::chunk_tile(chunk, depth, from_a, from_b, to, width);
          } else if (span <= split_span && strip.width + panel.width < 40) {
            // Products of few bits meet exact ties often, which the guarded path cannot settle.
            const double quantum = std::ldexp(1.0, std::ilogb(bound) + 1 - 51);
            simd::chunk_tile_split(chunk, depth, from_a, from_b, to, width, quantum);
            split_used = true;
          } else {
            const double guard = (chunk + 2) * 0x1p-53 * bound;
            simd::chunk_tile_guarded(chunk, depth, from_a, from_b, to, width, guard,
                                     unsure.data() + corner);
          }
        }
      }
    }
    for (std::int64_t i = 0; i < row_count; ++i) {
      const std::int64_t row = first_row + i;
      for (std::int64_t j = 0; j < n; ++j) {
        float& out = c[row * n + j];
        // Splitting loses the sign of a zero, which only a negative zero to begin with can have, or
        // one that a tiny negative sum was rounded to.
        const bool zero_sign =
            split_used && tile_c[at(i * width + j)] == 0 &&
            (std::signbit(out) || rows[at(row)].lowest + columns[at(j)].lowest < -149);
        if (unsure[at(i * width + j)] == 0 && !zero_sign && rows[at(row)].finite &&
            columns[at(j)].finite) {
          out = tile_c[at(i * width + j)];
        } else {
          out = static_cast<float>(
              dot_oracle(model, k, a + row * k, 1, b + j, n, static_cast<double>(out)));
        }
      }
    }
  });
}

void exact_matmul(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b,
                  double* c, int threads) {
  constexpr std::int64_t kColumns = 512;  // of B at a time: c and error stay in the first cache
  const std::int64_t parts = (n + kColumns - 1) / kColumns;
  parallel_for(m * parts, threads, [&](std::int64_t part) {
    const std::int64_t i = part / parts, first = part % parts * kColumns;
    const std::int64_t count = std::min(kColumns, n - first);
    double error[kColumns] = {};
    double* out = c + i * n + first;
    for (std::int64_t kk = 0; kk < k; ++kk) {
      simd::axpy_compensated(count, a[i * k + kk], b + kk * n + first, out, error);
    }
    for (std::int64_t j = 0; j < count; ++j) {
      // Where the sum is infinite the collected error is NaN and says nothing.
      if (std::isfinite(out[j]) && error[j] != 0) out[j] += error[j];
    }
  });
}

}  // namespace assay
