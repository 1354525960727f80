#include "assay/machine/any_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "assay/machine/uncertain.h"

namespace assay {
namespace {

constexpr std::int64_t kMostLanes = 1024;
constexpr int kLevels = 3;  // grids that remainders are looked at on: an ulp of the sums, 1/2, 1/4
constexpr int kSegments = 4;  // of the terms, whose remainders are added apart
// Remainders that chance draws have segments whose sums come to 1.6 of their standard deviations;
// above so many they have a sign in common.
constexpr double kByChance = 2.2;

// The loops over terms are compiled for wider vectors as well, and chosen when the program starts.
// No operation is fused or reordered, so that all give the same bits.
// The thread sanitizer is not ready yet when the program starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__gnu_linux__) && \
    !defined(__SANITIZE_THREAD__)
#define ASSAY_WIDE __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define ASSAY_WIDE
#endif

// W sums side by side, which compilers vectorise: term k of sum w is terms[k * W + w].
template <int W>
class Sums {
 public:
  Sums(const AnyOrderUnit& unit, std::int64_t n, const double* terms)
      : unit_(unit), n_(n), terms_(terms) {
    add_up();
  }

  void errors(const double* grids, double* variance, double* drift) {
    bool all_exact = true;
    for (int w = 0; w < W; ++w) all_exact = all_exact && is_exact(w, grids[w]);
    std::fill_n(variance, W, 0.0);
    std::fill_n(drift, W, 0.0);
    if (all_exact) return;
    add_lanes();
    const auto n = static_cast<double>(n_);
    const double u = unit_.unit_roundoff();
    for (int w = 0; w < W; ++w) {
      const double range = high_[w] - low_[w];
      const double bridge = (n + 1) * (sum_[w] * sum_[w] + squares_[w]),
                   contiguous = n * range * range + squares_[w],
                   strided = strided_[w] + n * squares_[w] / 2;
      variance[w] = u * u / 3 * std::max({bridge, contiguous, strided});
      const double largest = std::max(range, largest_[w]);
      ulp_[w] =
          largest > 0 && std::isfinite(largest)
              ? std::max(std::ldexp(1.0, exponent_of(largest) - (unit_.precision - 1)), unit_.least)
              : unit_.least;
    }
    add_remainders(drift);
    if (unit_.truncated > 0) add_truncation(drift);
    for (int w = 0; w < W; ++w) {
      if (is_exact(w, grids[w])) {
        variance[w] = drift[w] = 0;
      } else if (!(sizes_[w] <= unit_.most)) {
        variance[w] = std::numeric_limits<double>::infinity();
        drift[w] = 0;
      } else if (grids[w] < unit_.least) {
        drift[w] += n * unit_.least / 2;  // products below the accumulator's range
      }
    }
  }

 private:
  bool is_exact(int w, double grid) const {
    return sizes_[w] <= std::ldexp(grid, unit_.precision) && grid >= unit_.least;
  }

  // The sum of the terms, of their sizes and squares, and the range of the partial sums.
  ASSAY_WIDE void add_up() {
    for (std::int64_t k = 0; k < n_; ++k) {
      const double* t = terms_ + k * W;
      for (int w = 0; w < W; ++w) {
        sizes_[w] += std::abs(t[w]);
        squares_[w] += t[w] * t[w];
        sum_[w] += t[w];
        low_[w] = std::min(low_[w], sum_[w]);
        high_[w] = std::max(high_[w], sum_[w]);
      }
    }
  }

  // max_L (n / L + L) Q_L, and the largest sum of a lane.
  ASSAY_WIDE void add_lanes() {
    if (n_ < 3) return;
    std::int64_t lanes = std::min<std::int64_t>(
        kMostLanes, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n_))) / 2);
    std::vector<double> sums(static_cast<std::size_t>(lanes * W), 0.0);
    for (std::int64_t first = 0; first < n_; first += lanes) {
      const std::int64_t count = std::min(lanes, n_ - first) * W;
      const double* t = terms_ + first * W;
      for (std::int64_t i = 0; i < count; ++i) sums[static_cast<std::size_t>(i)] += t[i];
    }
    for (;; lanes /= 2) {
      double squares[W] = {};
      for (std::int64_t l = 0; l < lanes; ++l) {
        const double* t = sums.data() + l * W;
        for (int w = 0; w < W; ++w) {
          squares[w] += t[w] * t[w];
          largest_[w] = std::max(largest_[w], std::abs(t[w]));
        }
      }
      const double roundings = static_cast<double>(n_ / lanes + lanes);
      for (int w = 0; w < W; ++w) strided_[w] = std::max(strided_[w], roundings * squares[w]);
      if (lanes <= 2) return;
      double* to = sums.data();
      for (std::int64_t i = 0; i < lanes / 2 * W; ++i) to[i] += to[i + lanes / 2 * W];
    }
  }

  // The sums of the remainders that the terms leave on the grids of the largest sums. A sum that
  // stays within a binade errs by those exactly.
  ASSAY_WIDE void add_remainders(double* drift) const {
    double magic[kLevels][W], total[kLevels][W] = {};
    for (int level = 0; level < kLevels; ++level) {
      for (int w = 0; w < W; ++w) magic[level][w] = 0x1.8p52 * std::ldexp(ulp_[w], -level);
    }
    for (int segment = 0; segment < kSegments; ++segment) {
      double sums[kLevels][W] = {};
      const std::int64_t end = n_ * (segment + 1) / kSegments;
      for (std::int64_t k = n_ * segment / kSegments; k < end; ++k) {
        const double* t = terms_ + k * W;
        for (int level = 0; level < kLevels; ++level) {
          for (int w = 0; w < W; ++w) {
            sums[level][w] += ((t[w] + magic[level][w]) - magic[level][w]) - t[w];
          }
        }
      }
      for (int level = 0; level < kLevels; ++level) {
        for (int w = 0; w < W; ++w) total[level][w] += std::abs(sums[level][w]);
      }
    }
    for (int w = 0; w < W; ++w) {
      const double worst = std::max({total[0][w], total[1][w], total[2][w]});
      const double by_chance = ulp_[w] * std::sqrt(static_cast<double>(n_) / 12);
      if (worst > kByChance * by_chance) drift[w] += worst;
    }
  }

  // What a unit that rounds toward zero cuts: half an ulp of each term that is aligned, by its
  // sign, and of each sum.
  ASSAY_WIDE void add_truncation(double* drift) const {
    double total[W] = {};
    for (int segment = 0; segment < kSegments; ++segment) {
      double sums[W] = {};
      const std::int64_t end = n_ * (segment + 1) / kSegments;
      for (std::int64_t k = n_ * segment / kSegments; k < end; ++k) {
        const double* t = terms_ + k * W;
        for (int w = 0; w < W; ++w) {
          sums[w] += std::min(std::max(t[w], -ulp_[w] / 2), ulp_[w] / 2);
        }
      }
      for (int w = 0; w < W; ++w) total[w] += std::abs(sums[w]);
    }
    const double sums = std::ceil(unit_.truncated * static_cast<double>(n_));
    for (int w = 0; w < W; ++w) drift[w] += total[w] + sums * ulp_[w] / 2;
  }

  const AnyOrderUnit& unit_;
  std::int64_t n_;
  const double* terms_;
  double sizes_[W] = {}, squares_[W] = {}, sum_[W] = {}, low_[W] = {}, high_[W] = {};
  double strided_[W] = {}, largest_[W] = {}, ulp_[W] = {};
};

}  // namespace

AnyOrderUnit::AnyOrderUnit(const Format& accumulator)
    : precision(accumulator.precision),
      least(min_subnormal(accumulator)),
      most(max_finite(accumulator)) {}

double AnyOrderUnit::unit_roundoff() const { return std::ldexp(1.0, -precision); }

ASSAY_WIDE void any_order_products(std::int64_t k, std::int64_t stride, const double* row,
                                   const double* row_grids, const double* columns,
                                   const double* column_grids, double* terms, double* grids) {
  double least[kAnyOrderColumns];
  std::fill_n(least, kAnyOrderColumns, std::numeric_limits<double>::infinity());
  for (std::int64_t kk = 0; kk < k; ++kk) {
    const double *column = columns + kk * stride, *its = column_grids + kk * stride;
    double* to = terms + kk * kAnyOrderColumns;
    for (int w = 0; w < kAnyOrderColumns; ++w) {
      const double grid = row_grids[kk] * its[w];
      to[w] = row[kk] * column[w];
      least[w] = grid < least[w] ? grid : least[w];
    }
  }
  std::copy_n(least, kAnyOrderColumns, grids);
}

void any_order_errors(const AnyOrderUnit& unit, std::int64_t n, std::int64_t columns,
                      const double* terms, const double* grids, double* variance, double* drift) {
  if (columns == 1) return Sums<1>(unit, n, terms).errors(grids, variance, drift);
  Sums<kAnyOrderColumns>(unit, n, terms).errors(grids, variance, drift);
}

}  // namespace assay
