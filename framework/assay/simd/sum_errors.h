// The means and variances of the errors of sums of products on a matrix unit, for eight sums side
// by side (machine/uncertain.h has the theory).
#pragma once

#include <cstdint>

#include "assay/simd/factors.h"

namespace assay::inline v0_2::simd {

// The statistics that a rounding to multiples of U adds to the error of a number that is a multiple
// of G < U. Variances are in twelfths: U^2 / 12 is 1 here.
struct RoundingMoments {
  // Factors of G or G^2: `any` for a number that may be any multiple of G, `odd` for a number that
  // is known to be an odd multiple, and `tie` for an odd multiple of G = U / 2.
  struct ByGrid {
    double any = 0, odd = 0, tie = 0;
  };
  // The variance that a rounding adds: unit_variance U^2 + grid_variance G^2, in twelfths.
  double unit_variance = 1;
  ByGrid grid_variance = {};
  // The mean that a rounding adds: unit_mean U + grid_mean G. With `has_sign`, this is multiplied
  // by the sign of the number.
  double unit_mean = 0;
  ByGrid grid_mean = {};
  bool has_sign = false;
  // A number below lost_below U becomes 0, or U if it is positive and `lost_rises` is set, or -U if
  // it is negative and `lost_falls` is set.
  double lost_below = 1;
  bool lost_rises = false, lost_falls = false;

  bool is_to_nearest_even() const { return grid_variance.tie > 0; }
  bool is_toward_zero() const { return has_sign && unit_mean < 0; }
  bool has_mean() const {
    return unit_mean != 0 || grid_mean.any != 0 || grid_mean.odd != 0 || grid_mean.tie != 0;
  }
};
inline constexpr RoundingMoments kNearestEvenMoments = {.grid_variance = {2, -4, 8},
                                                        .lost_below = 0.5};
inline constexpr RoundingMoments kNearestAwayMoments = {
    .grid_variance = {-1, -4, -4}, .grid_mean = {0.5, 0, 1}, .has_sign = true, .lost_below = 0.5};
inline constexpr RoundingMoments kTowardZeroMoments = {
    .grid_variance = {-1, -4, -4}, .unit_mean = -0.5, .grid_mean = {0.5, 0, 0}, .has_sign = true};
inline constexpr RoundingMoments kUpMoments = {
    .grid_variance = {-1, -4, -4}, .unit_mean = 0.5, .grid_mean = {-0.5, 0, 0}, .lost_rises = true};
inline constexpr RoundingMoments kDownMoments = {
    .grid_variance = {-1, -4, -4}, .unit_mean = -0.5, .grid_mean = {0.5, 0, 0}, .lost_falls = true};
// Rounding to odd: the error is within one unit on both sides.
inline constexpr RoundingMoments kToOddMoments = {
    .unit_variance = 2, .lost_rises = true, .lost_falls = true};
inline constexpr RoundingMoments kStochasticMoments = {.unit_variance = 2};

// A rounding to a floating-point format.
struct RoundingToFormat {
  RoundingMoments moments;
  double epsilon;  // an ulp of 1
  double least;    // the smallest subnormal
};

// The order in which products of a chunk are added.
enum class SumOrder : std::uint8_t { kFused, kSequential, kPairwise };

// A matrix unit as DotModel of machine/machine.h describes it. Exponents are powers of two here.
struct SumUnit {
  std::int64_t chunk;
  SumOrder order;
  bool rounds_products;
  RoundingToFormat accumulator;
  // Number of products between promotions, or 0 if sums are not promoted.
  std::int64_t promotion_interval;
  RoundingToFormat promoted;

  // Terms of an aligned chunk keep digits down to `kept` times the largest exponent. A value
  // of 0 means that terms are not aligned. At most 40 digits are kept.
  double kept;
  RoundingMoments alignment;
  double emax_floor;
  double least_exponent;  // smallest exponent of an accumulator other than 0
  double sum_kept;        // 2^-sum_bits, or 0 if the accumulator is a term of the aligned sum
  std::int64_t interleave;
  double reach;  // 2^-reach, or 0 if every accumulator is within reach

  // An accumulator smaller than this counts as 0. A value of 0 keeps all accumulators.
  double flush_below;
  bool start_is_added_last, without_last;
};

// The start values of sums, by column. machine/uncertain.h explains their fields.
struct SumStarts {
  // A grid is a power of two, or infinity for 0.
  double value[kFactorColumns], grid[kFactorColumns];
  double mean[kFactorColumns], variance[kFactorColumns];
  double known[kFactorColumns], odd[kFactorColumns];  // each is 1 if true, and 0 if not
};

// Writes the mean and variance of the errors of rows x kFactorColumns sums of k products. `a` has
// `rows` rows of k factors, and `b` has k rows of kFactorColumns factors. `starts` is null if sums
// start at 0. Returns true if an accumulator was smaller than SumUnit::flush_below and not 0. Every
// SIMD target gives the same bits.
bool sum_errors(const SumUnit& unit, std::int64_t rows, std::int64_t k, const SumFactors& a,
                const SumFactors& b, const SumStarts* starts, double* mean, double* variance);

}  // namespace assay::simd
