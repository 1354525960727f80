#include "assay/machine/exact_matmul.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/float_environment.h"
#include "assay/base/index.h"
#include "assay/base/large_memory.h"
#include "assay/base/parallel.h"
#include "assay/machine/exact_sum.h"
#include "assay/machine/panels.h"
#include "assay/machine/uncertain.h"
#include "assay/simd/digits.h"
#include "assay/simd/gemm.h"

namespace assay::inline v0_2 {
namespace {

using simd::Digits;

// Number of products in a stretch of k. The shorter a stretch is, the more often float64 holds
// every sum of a tile's products exactly.
constexpr std::int64_t kStretch = 128;

// Packs `count` lanes (rows of A or columns of B) of `depth` elements each: to[k][lanes]. Lanes
// beyond `count` become 0, and so do NaN and infinity, whose lanes are marked in `bad`.
Digits pack(const double* from, std::int64_t lane_stride, std::int64_t k_stride, std::int64_t count,
            std::int64_t lanes, std::int64_t depth, double* to, std::uint8_t* bad) {
  for (std::int64_t k = 0; k < depth; ++k) {
    const double* row = from + k * k_stride;
    double* out = to + k * lanes;
    for (std::int64_t lane = 0; lane < count; ++lane) out[lane] = row[lane * lane_stride];
    std::fill(out + count, out + lanes, 0.0);
  }
  return simd::take_digits(to, depth, lanes, bad);
}

// A part of the product: the rows [first, first + rows) and the columns [column, column + columns).
struct Part {
  std::int64_t first, rows, column, columns;
};
struct Factors {
  std::int64_t n, k;
  const double *a, *b;
};

// Returns element (i, j) of C, whose old value is `start`. Only the final result is rounded.
double exact_element(const Factors& p, std::int64_t i, std::int64_t j, double start) {
  ExactSum sum;
  bool is_finite = std::isfinite(start), all_negative = std::signbit(start);
  double plain = start;
  if (is_finite) sum.add(start);
  for (std::int64_t k = 0; k < p.k; ++k) {
    const double a = p.a[i * p.k + k], b = p.b[k * p.n + j];
    is_finite = is_finite && std::isfinite(a) && std::isfinite(b);
    plain += a * b;
    all_negative = all_negative && std::signbit(a) != std::signbit(b);
    if (is_finite && a != 0 && b != 0) sum.add_product(a, b);
  }
  if (!is_finite) return plain;
  const double nearest = sum.nearest();
  return nearest == 0 && all_negative ? -0.0 : nearest;
}

// Known properties of the sums of a tile. All their terms are multiples of 2^lowest. `in_range` is
// true if the rounding error of each product is a float64 without loss. No partial sum exceeds
// `reach`, which is infinity if a partial sum may have been rounded or the sums did not start at 0.
struct Grid {
  int lowest = Digits::kNone;
  bool in_range = true;
  double reach = 0;
};

// True if no rounding changed the sum, which is the usual case. rounded_once() then returns the sum
// as it is.
bool is_exact(double sum, double error, double spread, const Grid& grid) {
  return error == 0 && spread == 0 && grid.in_range && std::isfinite(sum);
}

// Returns the exact sum rounded once, or NaN if the bounds do not decide the rounding. A product's
// rounding error that is too small for float64 is off by less than 2^-1074. 2^44 such errors
// together are off by less than `kBelow`.
double rounded_once(double sum, double error, double spread, const Grid& grid) {
  constexpr double kBelow = 0x1p-1030;
  if (!std::isfinite(sum)) return kNan;
  // Each addition to `error` has two roundings. Each of them loses at most 2^-53 of the size of
  // `error` before or after the addition, together 3 * 2^-53 `spread`. A fourth 2^-53 covers the
  // roundings of `spread` and of the operations below. Nothing is lost while `error` has fewer than
  // 53 bits.
  const bool exact = grid.in_range && spread <= std::ldexp(1.0, grid.lowest + 51);
  if (exact && error == 0) return sum;  // which may be -0
  const double off = exact ? 0 : 0x1p-51 * spread + (grid.in_range ? 0 : kBelow);
  const double low = sum + (error - off), high = sum + (error + off);
  return low == high ? low : kNan;
}

// Adds the products of k in [begin, end) to the sums of a part, and the rounding errors of these
// additions to the sums' errors. Rows of sums are `stride` apart.
void add_compensated(const Factors& p, const Part& part, std::int64_t begin, std::int64_t end,
                     const simd::CompensatedSums& to, std::int64_t stride) {
  for (std::int64_t i = 0; i < part.rows; ++i) {
    const simd::CompensatedSums row = {to.sum + i * stride, to.error + i * stride,
                                       to.spread + i * stride};
    const double* a = p.a + (part.first + i) * p.k + begin;
    if (p.n == 1) {
      simd::dot_compensated(end - begin, a, p.b + begin, row);
    } else {
      simd::columns_compensated(part.columns, end - begin, a, p.b + begin * p.n + part.column, p.n,
                                row);
    }
  }
}

// Computes a part of C by compensated sums, which start from the old elements of C. It takes 512
// columns at a time, so that their sums and errors stay in the first-level cache.
void compensated(const Factors& p, const Part& part, double* c) {
  constexpr std::int64_t kColumns = 512;
  for (std::int64_t i = part.first; i < part.first + part.rows; ++i) {
    for (std::int64_t j = part.column; j < part.column + part.columns; j += kColumns) {
      const std::int64_t count = std::min(kColumns, part.column + part.columns - j);
      double sums[kColumns], error[kColumns], spread[kColumns];
      double* out = c + i * p.n + j;
      std::copy_n(out, count, sums);
      std::fill_n(error, count, 0.0);
      std::fill_n(spread, count, 0.0);
      // B is read one stretch of k at a time, because each row of a wide B may be on another page.
      const std::int64_t step = p.n == 1 ? p.k : kStretch;
      for (std::int64_t k = 0; k < p.k; k += step) {
        add_compensated(p, {i, 1, j, count}, k, std::min(k + step, p.k), {sums, error, spread}, 0);
      }
      for (std::int64_t e = 0; e < count; ++e) {
        const double nearest = rounded_once(sums[e], error[e], spread[e], {Digits::kNone, false});
        out[e] = std::isnan(nearest) ? exact_element(p, i, j + e, out[e]) : nearest;
      }
    }
  }
}

// The compensated sums of a tile: `count` sums, in rows that are `stride` apart.
struct TileSums {
  simd::CompensatedSums to;
  std::int64_t count, stride;
};

// Adds the products of one tile and one stretch to the tile's sums. If float64 holds every sum, it
// adds them directly, otherwise in two parts. Returns false, without changing the sums, if neither
// way is safe. Updates `grid` for these products.
bool add_tile(std::int64_t depth, const double* a, const Digits& of_a, const double* b,
              const Digits& of_b, const TileSums& sums, Grid& grid) {
  const bool zeros = of_a.lowest == Digits::kNone || of_b.lowest == Digits::kNone;
  const int lowest = of_a.lowest + of_b.lowest;  // 2^lowest divides every product
  // No sum of some of these products exceeds `bound` (Cauchy-Schwarz).
  const double bound = of_a.norm * of_b.norm;
  const double reach = std::exchange(grid.reach, kInfinity) + bound;
  if (!zeros) grid.lowest = std::min(grid.lowest, lowest);
  // If two factors are multiples of 2^-450, neither their squares nor the rounding error of their
  // product underflow.
  if (!zeros && (of_a.lowest < -450 || of_b.lowest < -450)) {
    grid.in_range = false;
    return false;
  }
  if (!(bound < 0x1p1000)) return false;
  const int top = zeros ? lowest : std::ilogb(bound) + 1;  // bound < 2^top
  if (top - lowest <= 53) {
    if (reach < kInfinity && reach <= std::ldexp(1.0, grid.lowest + 53)) {
      simd::exact_sums(depth, a, b, sums.to.sum, sums.stride);
      grid.reach = reach;
    } else {
      simd::exact_tile(depth, a, b, sums.to, sums.stride);
    }
    return true;
  }
  // Adding in two parts loses the sign of a sum that is 0. The sign matters only if the sum starts
  // at -0.
  for (std::int64_t i = 0; i < sums.count; ++i) {
    if (sums.to.sum[i] == 0 && std::signbit(sums.to.sum[i])) return false;
  }
  // First, multiples of 2^(top - 51) are taken from each product. The rest of a product is at most
  // half of that unit and is rounded to 53 bits. So is each sum of these rests, and no such sum
  // exceeds 2^(top - 45). All these roundings together lose less than 2^(top - 90). They lose
  // nothing if the rests are multiples of 2^lowest that fit into 53 bits.
  static_assert(kStretch <= 1 << 7);
  const bool fits = of_a.bits + of_b.bits <= 53 && top - 45 - lowest <= 53;
  const double lost = fits ? 0 : std::ldexp(1.0, top - 90 + 51);
  simd::tile_in_two(depth, a, b, std::ldexp(1.5, top + 1), lost, sums.to, sums.stride);
  return true;
}

}  // namespace

void exact_matmul(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b,
                  double* c, int threads) {
  const FloatEnvironment environment;
  const Factors p{n, k, a, b};
  const simd::TileShape shape = simd::chunk_tile_shape();
  const std::int64_t rows = shape.rows, columns = shape.columns;
  // For a small product, packing the operands would take longer than it saves.
  if (m < rows || n < columns / 2 || k < 4) {
    constexpr std::int64_t kColumns = 512;
    const std::int64_t parts = (n + kColumns - 1) / kColumns;
    parallel_for(m * parts, threads, [&](std::int64_t part) {
      const std::int64_t column = part % parts * kColumns;
      compensated(p, {part / parts, 1, column, std::min(kColumns, n - column)}, c);
    });
    return;
  }
  const std::int64_t panels = (n + columns - 1) / columns, width = panels * columns;
  const std::int64_t stretches = (k + kStretch - 1) / kStretch;

  LargeArray<double> packed_b(at(width * k));  // [panel][k][column]
  std::vector<Digits> of_b(at(panels * stretches));
  std::vector<std::uint8_t> bad_in_stretch(at(stretches * width));
  // Number of panels that one task packs. Their parts of a row of B lie next to each other.
  constexpr std::int64_t kTogether = 8;
  parallel_for((panels + kTogether - 1) / kTogether * stretches, threads, [&](std::int64_t part) {
    const std::int64_t s = part % stretches, begin = s * kStretch;
    const std::int64_t first = part / stretches * kTogether;
    for (std::int64_t panel = first; panel < std::min(first + kTogether, panels); ++panel) {
      const std::int64_t column = panel * columns;
      of_b[at(panel * stretches + s)] =
          pack(b + begin * n + column, 1, n, std::min(columns, n - column), columns,
               std::min(kStretch, k - begin), packed_b.data() + (panel * k + begin) * columns,
               bad_in_stretch.data() + s * width + column);
    }
  });
  std::vector<std::uint8_t> bad_columns(at(width));
  for (std::size_t i = 0; i < bad_in_stretch.size(); ++i) {
    bad_columns[i % at(width)] |= bad_in_stretch[i];
  }
  std::vector<std::int64_t> bad;  // columns
  for (std::int64_t j = 0; j < n; ++j) {
    if (bad_columns[at(j)] != 0) bad.push_back(j);
  }

  const std::int64_t block = rows_of_block(m, rows, 48);
  parallel_for((m + block - 1) / block, threads, [&](std::int64_t number) {
    const std::int64_t top = number * block, count = std::min(block, m - top);
    const std::int64_t strips = (count + rows - 1) / rows, padded = strips * rows;
    std::vector<double> packed_a(at(padded * k));  // layout of packed_a: [stretch][strip][k][row]
    std::vector<Digits> of_a(at(strips * stretches));
    std::vector<std::uint8_t> bad_rows(at(padded));
    for (std::int64_t s = 0; s < stretches; ++s) {
      const std::int64_t begin = s * kStretch, depth = std::min(kStretch, k - begin);
      for (std::int64_t strip = 0; strip < strips; ++strip) {
        const std::int64_t i = strip * rows;
        of_a[at(s * strips + strip)] =
            pack(a + (top + i) * k + begin, k, 1, std::min(rows, count - i), rows, depth,
                 packed_a.data() + padded * begin + i * depth, bad_rows.data() + i);
      }
    }
    std::vector<double> sums(at(padded * columns)), errors(sums.size()), spreads(sums.size());
    std::vector<Grid> grids(at(strips));
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      const std::int64_t j = panel * columns, wide = std::min(columns, n - j);
      std::ranges::fill(errors, 0.0);
      std::ranges::fill(spreads, 0.0);
      std::ranges::fill(grids, Grid{});
      for (std::int64_t i = 0; i < count; ++i) {
        const double* start = c + (top + i) * n + j;
        std::copy_n(start, wide, sums.data() + i * columns);
        const bool is_zero = std::all_of(start, start + wide, [](double x) { return x == 0; });
        if (!is_zero) grids[at(i / rows)].reach = kInfinity;
      }
      for (std::int64_t s = 0; s < stretches; ++s) {
        const std::int64_t begin = s * kStretch, depth = std::min(kStretch, k - begin);
        for (std::int64_t strip = 0; strip < strips; ++strip) {
          const std::int64_t i = strip * rows;
          const std::int64_t from = i * columns;
          const simd::CompensatedSums to = {sums.data() + from, errors.data() + from,
                                            spreads.data() + from};
          if (!add_tile(
                  depth, packed_a.data() + padded * begin + i * depth, of_a[at(s * strips + strip)],
                  packed_b.data() + (panel * k + begin) * columns, of_b[at(panel * stretches + s)],
                  {to, rows * columns, columns}, grids[at(strip)])) {
            add_compensated(p, {top + i, std::min(rows, count - i), j, wide}, begin, begin + depth,
                            to, columns);
          }
        }
      }
      for (std::int64_t i = 0; i < count; ++i) {
        if (bad_rows[at(i)] != 0) continue;
        const Grid& grid = grids[at(i / rows)];
        double* out = c + (top + i) * n + j;
        for (std::int64_t e = 0; e < wide; ++e) {
          if (bad_columns[at(j + e)] != 0) continue;
          const auto from = at(i * columns + e);
          if (grid.reach < kInfinity || is_exact(sums[from], errors[from], spreads[from], grid)) {
            out[e] = sums[from];
            continue;
          }
          Grid all = grid;
          all.lowest = std::min(all.lowest, Uncertain::lowest_bit(out[e]));
          const double nearest = rounded_once(sums[from], errors[from], spreads[from], all);
          out[e] = std::isnan(nearest) ? exact_element(p, top + i, j + e, out[e]) : nearest;
        }
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (bad_rows[at(i)] != 0) {
        compensated(p, {top + i, 1, 0, n}, c);
      } else {
        for (const std::int64_t j : bad) compensated(p, {top + i, 1, j, 1}, c);
      }
    }
  });
}

}  // namespace assay
