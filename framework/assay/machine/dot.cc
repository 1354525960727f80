#include "assay/machine/dot.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/machine/factor_panels.h"
#include "assay/machine/panels.h"
#include "assay/machine/settle.h"
#include "assay/simd/aligned.h"
#include "assay/simd/gemm.h"
#include "assay/simd/joined_sums.h"
#include "assay/simd/rows.h"

namespace assay::inline v0_2 {
namespace {

bool is_nearest_float32(const DotModel& m) {
  return m.kept_bits.value == 0 && m.order.value == ChunkOrder::kFused &&
         m.accumulator.value == "float32" && accumulator_format(m).precision == 24 &&
         m.rounding.value == Rounding::kNearestEven && !m.flush_sums.value && !m.flush_inputs.value;
}

// Kernel for models that round the exact sum of each chunk once to float32, to nearest even.
struct FusedTiles {
  using Element = double;
  static constexpr bool kExponents = false;
  static constexpr bool kRanges = true;
  // A stretch of k is short, because float64 then holds more of its sums exactly.
  static constexpr std::int64_t kStretch = 64;

  explicit FusedTiles(const DotModel& m)
      : model(m), a_format(format_named(m.input)), b_format(format_named(m.b_input())) {}
  simd::TileShape shape() const { return simd::chunk_tile_shape(); }

  bool run(const Tile<double>& t) const {
    const int chunk = model.chunk.value;
    // The lowest bit that a product can have, from the formats' precision.
    const int lowest = t.a_extent.lowest(a_format) + t.b_extent.lowest(b_format);
    const bool all_zero = t.a_extent.largest == 0 || t.b_extent.largest == 0;
    // Returns a bound of all partial sums that start from a sum of at most `largest`.
    // Cauchy-Schwarz bounds the sum of any subset of the products. Each rounding of the accumulator
    // adds at most 2^-24 of the sum, or half of 2^-149 below float32's normal range.
    const auto bound_from = [&](double largest) {
      const auto roundings = static_cast<double>(t.depth / chunk + 1);
      return (1 + roundings * 0x1p-23) * (t.a_extent.norm * t.b_extent.norm + largest) +
             roundings * 0x1p-149;
    };
    if (t.known.any()) {
      const int both = std::min(lowest, t.known.lowest);
      const double bound = bound_from(t.known.reach);
      if (bound < 0x1p127 && std::ilogb(bound) + 1 - both <= 53) {
        simd::chunk_tile(chunk, t.depth, t.a, t.b, t.c, t.c_stride);
        t.known = {both, bound};
        return true;
      }
      t.known = {};
    }
    double largest;
    const bool is_multiple =
        simd::tile_is_multiple(t.c, t.c_stride, all_zero ? 0 : lowest, largest) || all_zero;
    const double bound = bound_from(largest);
    if (!(bound < 0x1p127)) return false;  // a partial sum could overflow float32
    const int span = bound > 0 && !all_zero ? std::ilogb(bound) + 1 - lowest : 0;
    if (span <= 53 && is_multiple) {
      simd::chunk_tile(chunk, t.depth, t.a, t.b, t.c, t.c_stride);
      if (!all_zero) t.known = {lowest, bound};
    } else {
      const PackedChunk<double> context{&model, t.a, t.rows, t.b, t.columns, lowest};
      const double guard = (chunk + 2) * 0x1p-53 * bound;
      simd::chunk_tile_guarded(chunk, t.depth, t.a, t.b, t.c, t.c_stride, guard,
                               {settle_fused, &context});
    }
    return true;
  }

  const DotModel& model;
  const Format& a_format;
  const Format& b_format;
};

// Kernel for plain float32 arithmetic: it adds one product after the other, as a multiply-add with
// one rounding if `fused` is true.
struct ChainTiles {
  using Element = float;
  static constexpr std::int64_t kStretch = 256;
  static constexpr bool kExponents = false;
  // This kernel ignores NaN and infinity: elements that depend on them are not finite, and the
  // oracle computes these elements.
  static constexpr bool kRanges = false;

  explicit ChainTiles(const DotModel& m) : fused(!m.rounds_products()) {}
  simd::TileShape shape() const { return simd::chain_tile_shape(); }
  bool run(const Tile<float>& t) const {
    simd::chain_tile(fused, t.depth, t.a, t.b, t.c, t.c_stride);
    return true;
  }

  bool fused;
};

// Kernel for models that align the terms of a chunk and truncate their sum.
struct AlignedTiles {
  using Element = float;
  static constexpr std::int64_t kStretch = 256;
  static constexpr bool kExponents = true;
  static constexpr bool kRanges = true;

  explicit AlignedTiles(const DotModel& m)
      : model(m), a_format(format_named(m.input)), b_format(format_named(m.b_input())) {}
  static simd::AlignedSpec spec(const DotModel& m) {
    const int bits = m.mantissa_bits.value;
    return {m.chunk.value, m.kept_bits.value, bits == 0 ? 0 : 23 - bits};
  }
  static bool fits(const DotModel& m) {
    return m.kept_bits.value > 0 && m.sum_bits.value == 0 && m.order.value == ChunkOrder::kFused &&
           m.accumulator.value == "float32" && m.rounding.value == Rounding::kTowardZero &&
           m.alignment.value == Rounding::kTowardZero && !m.flush_sums.value &&
           !m.flush_inputs.value && m.emax_floor.value <= m.kept_bits.value - 126 &&
           format_named(m.input).precision + format_named(m.b_input()).precision <= 24 &&
           simd::has_aligned_tile(spec(m));
  }
  simd::TileShape shape() const { return simd::aligned_tile_shape(); }

  bool run(const Tile<float>& t) const {
    // Truncation does not increase a magnitude. So the bound of the products and the largest old
    // sum together bound all sums.
    const double products = t.a_extent.norm * t.b_extent.norm;
    double bound = products + t.known.reach;
    t.known = {};
    if (!(bound < 0x1p118)) bound = products + largest_of(t);
    if (!(bound < 0x1p118)) return false;
    if (t.a_extent.exponent(a_format) + t.b_extent.exponent(b_format) <
            model.kept_bits.value - 126 ||
        t.a_extent.top() + t.b_extent.top() > 100) {
      return false;
    }
    const PackedChunk<float> context{&model, t.a, t.rows, t.b, t.columns, 0};
    simd::aligned_tile(spec(model), t.depth, t.a, t.a_exponents, t.b, t.b_exponents, t.c,
                       t.c_stride, {settle_aligned, &context});
    t.known.reach = bound;
    return true;
  }

  static double largest_of(const Tile<float>& t) {
    float largest = 0;
    for (int r = 0; r < t.rows; ++r) {
      for (int j = 0; j < t.columns; ++j) {
        largest = std::max(largest, std::abs(t.c[r * t.c_stride + j]));
      }
    }
    return static_cast<double>(largest);
  }

  const DotModel& model;
  const Format& a_format;
  const Format& b_format;
};

// True if simd::joined_sums() supports the model. It aligns and truncates the products of a chunk
// before it adds the accumulator to their sum.
bool has_joined_sums(const DotModel& m) {
  return m.sum_bits.value > 0 && m.kept_bits.value <= simd::kMostJoinedBits &&
         m.sum_bits.value <= simd::kMostJoinedBits && m.chunk.value <= simd::kMostJoined &&
         m.accumulator.value == "float32" && accumulator_format(m).precision == 24 &&
         m.rounding.value == Rounding::kNearestEven && m.alignment.value == Rounding::kTowardZero &&
         !m.flush_sums.value && !m.flush_inputs.value &&
         format_named(m.input).precision + format_named(m.b_input()).precision <= 48;
}
void add_joined_sums(const DotModel& model, const Product& p, int threads) {
  const int floor = model.emax_floor.value, reach = model.reach.value;
  const simd::JoinedUnit unit = {
      .chunk = model.chunk.value,
      .interleave = model.interleave.value,
      .kept = std::ldexp(1.0, -model.kept_bits.value),
      .sum_kept = std::ldexp(1.0, -model.sum_bits.value),
      .emax_floor = floor > DotModel::kNoFloor ? std::ldexp(1.0, floor) : 0,
      .reach = reach > 0 ? std::ldexp(1.0, -reach) : 0};
  const FactorMatrices matrices = {p.m, p.n, p.k, p.a, p.a_stride, p.b};
  for_factor_panels(model, matrices, threads, [&](const FactorPanel& panel) {
    constexpr std::int64_t kWidth = simd::kFactorColumns;
    double sums[FactorPanel::kMostRows * kWidth] = {};
    const auto for_each = [&](const auto& body) {
      for (std::int64_t i = 0; i < panel.rows; ++i) {
        for (std::int64_t j = 0; j < panel.columns; ++j) {
          body(sums[i * kWidth + j], panel.row + i, panel.column + j);
        }
      }
    };
    for_each([&](double& sum, std::int64_t i, std::int64_t j) {
      sum = static_cast<double>(p.c[i * p.n + j]);
    });
    simd::joined_sums(unit, panel.rows, p.k, panel.a, panel.b, sums);
    for_each([&](double sum, std::int64_t i, std::int64_t j) {
      float& out = p.c[i * p.n + j];
      if (std::isnan(sum)) {
        sum = dot_part_oracle(model, p.k, p.a + i * p.a_stride, 1, p.b + j, p.n,
                              static_cast<double>(out));
      }
      out = static_cast<float>(sum);
    });
  });
}

// Computes one element at a time by the scalar oracle. This is for models that no faster path
// takes, for example models with one of these properties:
// - The accumulator is float16.
// - Products are rounded before a chunk of them is summed.
// - The products of a chunk are added one by one or by a tree.
void by_oracle(const DotModel& model, const Product& p, int threads) {
  parallel_for(p.m, threads, [&](std::int64_t i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      float& out = p.c[i * p.n + j];
      const double* b = p.k > 0 ? p.b + j : p.b;  // an empty array has no element j
      out = static_cast<float>(
          dot_part_oracle(model, p.k, p.a + i * p.a_stride, 1, b, p.n, static_cast<double>(out)));
    }
  });
}

// Adds the products of a range of k to C, without promotion of partial sums.
void add_part(const DotModel& model, const Product& p, int threads) {
  const bool chain = is_nearest_float32(model) && model.chunk.value == 1;
  if (chain && (model.rounds_products() || simd::has_fused_chain())) {
    tiled_product(model, ChainTiles(model), p, threads);
  } else if (is_nearest_float32(model) && !model.rounds_products()) {
    tiled_product(model, FusedTiles(model), p, threads);
  } else if (AlignedTiles::fits(model)) {
    tiled_product(model, AlignedTiles(model), p, threads);
  } else if (has_joined_sums(model)) {
    // K is cut into stretches of about this number of products. The factors of a stretch fit into
    // the cache.
    constexpr std::int64_t kStretch = 4096;
    const std::int64_t chunk = model.chunk.value, stretch = chunk * (kStretch / chunk);
    for (std::int64_t k = 0; k < p.k; k += stretch) {
      const Product part = {p.m,           p.n, std::min(stretch, p.k - k), p.a + k, p.a_stride,
                            p.b + k * p.n, p.c};
      add_joined_sums(model, part, threads);
    }
  } else {
    by_oracle(model, p, threads);
  }
}

// Cuts K into parts of `depth` terms. `sum` computes each part from 0, and the parts are added to C
// in ascending order in float32.
template <typename Sum>
void add_in_parts(std::int64_t depth, const Product& p, const Sum& sum) {
  std::vector<float> part(at(p.m * p.n));
  for (std::int64_t begin = 0; begin < p.k; begin += depth) {
    std::ranges::fill(part, 0.0f);
    sum(Product{p.m, p.n, std::min(depth, p.k - begin), p.a + begin, p.a_stride, p.b + begin * p.n,
                part.data()});
    for (std::size_t i = 0; i < part.size(); ++i) p.c[i] += part[i];
  }
}

Extent extent_of(std::int64_t n, const double* row) {
  const simd::RowRange range = simd::row_range(n, row);
  return {std::sqrt(range.square) * (1 + 0x1p-20), range.smallest, range.largest};
}

// Returns one sum, computed as FusedTiles does. If float64 holds every partial sum of a stretch,
// the products of the stretch may be added in any order, and each chunk is rounded once. The oracle
// computes the other stretches.
double fused_row(const DotModel& model, std::int64_t k, const double* a, const double* b,
                 double start) {
  const Format &a_format = format_named(model.input), &b_format = format_named(model.b_input());
  const int chunk = model.chunk.value;
  auto sum = static_cast<float>(start);
  if (chunk == 1) {  // plain float32
    for (std::int64_t i = 0; i < k; ++i) {
      sum = std::fma(static_cast<float>(a[i]), static_cast<float>(b[i]), sum);
    }
    return static_cast<double>(sum);
  }
  const std::int64_t stretch = chunk * std::max<std::int64_t>(1, 256 / chunk);
  for (std::int64_t begin = 0; begin < k; begin += stretch) {
    const std::int64_t depth = std::min(stretch, k - begin);
    const Extent of_a = extent_of(depth, a + begin), of_b = extent_of(depth, b + begin);
    int lowest = of_a.lowest(a_format) + of_b.lowest(b_format);
    if (sum != 0 && std::isfinite(sum)) lowest = std::min(lowest, std::ilogb(sum) - 23);
    const double bound = 1.001 * (of_a.norm * of_b.norm + std::abs(static_cast<double>(sum)));
    // These comparisons are false if a value is NaN or infinite. The oracle then computes the
    // stretch.
    const bool exact = bound > 0 && bound < 0x1p127 && of_a.largest > 0 && of_b.largest > 0 &&
                       std::ilogb(bound) + 1 - lowest <= 53;
    for (std::int64_t done = 0; done < depth;) {
      if (exact) {
        done += simd::chunk_row(chunk, depth - done, a + begin + done, b + begin + done, sum);
      }
      if (done == depth) break;
      const std::int64_t rest = exact ? std::min<std::int64_t>(chunk, depth - done) : depth;
      sum = static_cast<float>(dot_part_oracle(model, rest, a + begin + done, 1, b + begin + done,
                                               1, static_cast<double>(sum)));
      done += rest;
    }
  }
  return static_cast<double>(sum);
}

// Computes n sums, each group of 8 as the diagonal of an 8 x 8 product, because the engine's
// registers hold that many sums.
void diagonal(const DotModel& model, std::int64_t n, std::int64_t k, const double* a,
              const double* b, double* sums) {
  constexpr std::int64_t kSide = 8;
  for (std::int64_t first = 0; first < n; first += kSide) {
    const std::int64_t side = std::min(kSide, n - first);
    std::vector<double> columns(at(side * k));  // k x side
    for (std::int64_t j = 0; j < side; ++j) {
      for (std::int64_t i = 0; i < k; ++i) columns[at(i * side + j)] = b[(first + j) * k + i];
    }
    float c[kSide * kSide];
    for (std::int64_t i = 0; i < side * side; ++i) {
      c[i] = static_cast<float>(sums[first + i / side]);
    }
    dot_matmul(model, side, side, k, a + first * k, columns.data(), c, 1);
    for (std::int64_t i = 0; i < side; ++i) sums[first + i] = static_cast<double>(c[i * side + i]);
  }
}

}  // namespace

void dot_rows(const DotModel& model, std::int64_t n, std::int64_t k, const double* a,
              const double* b, double* c) {
  const FloatEnvironment environment;
  const std::int64_t interval = model.promotion_interval.value;
  const bool fused = is_nearest_float32(model) && !model.rounds_products();
  // Sums of wide products are seldom exact in float64. diagonal() computes them by the matrix
  // engine, which settles single chunks and not whole stretches in the slow way.
  const bool wide = format_named(model.input).precision > 16 && model.chunk.value > 1;
  if (k >= 64 && (fused ? wide : AlignedTiles::fits(model))) return diagonal(model, n, k, a, b, c);
  for (std::int64_t i = 0; i < n; ++i) {
    const double *row = a + i * k, *by = b + i * k;
    if (!fused) {
      c[i] = dot_oracle(model, k, row, 1, by, 1, c[i]);
    } else if (interval == 0) {
      c[i] = fused_row(model, k, row, by, c[i]);
    } else {
      auto total = static_cast<float>(c[i]);
      for (std::int64_t begin = 0; begin < k; begin += interval) {
        const std::int64_t depth = std::min(interval, k - begin);
        total += static_cast<float>(fused_row(model, depth, row + begin, by + begin, 0));
      }
      c[i] = static_cast<double>(total);
    }
  }
}

void dot_matmul(const DotModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                const double* a, const double* b, float* c, int threads, const KParts& parts) {
  const FloatEnvironment environment;
  if (m == 0 || n == 0) return;
  const auto plain = [&](const Product& p) { add_part(model, p, threads); };
  const auto promoted = [&](const Product& p) {
    const std::int64_t interval = model.promotion_interval.value;
    if (interval == 0) {
      plain(p);
    } else {
      add_in_parts(interval, p, plain);
    }
  };
  const Product whole{m, n, k, a, k, b, c};
  if (!parts.is_split()) {
    promoted(whole);
    return;
  }
  std::vector<float> total(c, c + m * n);
  add_parts(
      parts, total,
      [&](std::size_t part) {
        const std::int64_t begin = parts.begin(part);
        std::vector<float> sums(at(m * n), 0.0f);
        promoted(Product{m, n, parts.ends[part] - begin, a + begin, k, b + begin * n, sums.data()});
        if (parts.part != nullptr) {
          for (float& sum : sums) sum = stored_part(parts, sum);
        }
        return sums;
      },
      [&](std::vector<float>& to, const std::vector<float>& sums) {
        for (std::size_t i = 0; i < sums.size(); ++i) {
          to[i] = parts.sum == nullptr ? to[i] + sums[i] : add_part_sums(parts, to[i], sums[i]);
        }
      });
  std::ranges::copy(total, c);
}

}  // namespace assay
