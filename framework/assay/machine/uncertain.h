// The statistics of rounding errors: the mean and variance of the error of a number that has been
// rounded several times, and of a matrix unit's sums of products.
//
// A number is a multiple of G and is rounded to multiples of U > G, where U / G = r is a power of
// two. If each of the r possible remainders is equally likely, the error of this rounding has
//
//   to nearest    mean 0, variance U^2 / 12 (1 + 2 / r^2) (ties to even)
//   toward zero   mean -sign U / 2 (1 - 1 / r), variance U^2 / 12 (1 - 1 / r^2)
//
// The exact sum of a chunk is an odd multiple of its lowest bit. If the number is known to be an
// odd multiple of G, the error has
//
//   to nearest    mean 0, variance U^2 / 12 (1 - 4 / r^2), or U^2 / 4 for a tie (r = 2)
//   toward zero   mean -sign U / 2, variance U^2 / 12 (1 - 4 / r^2)
//
// A number that is already a multiple of U has no error. So inputs with few bits, whose sums are
// exact at first, have no errors there, and the larger errors of ties are included.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/machine/machine.h"

namespace assay::inline v0_2 {

// Returns the exponent of a number other than 0.
inline int exponent_of(double value) {
  const auto field = static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7ff);
  return field == 0 ? std::ilogb(value) : field - 1023;
}

// The precision, range and mode of one rounding step.
struct RoundingStep {
  explicit RoundingStep(const Format& format, Rounding rounding = Rounding::kNearestEven);

  // The precision in bits, and the exponent of the smallest subnormal.
  int precision, least;
  Rounding rounding;

  // Returns the exponent of an ulp at a value other than 0.
  int ulp_exponent(double value) const {
    const int e = exponent_of(value) - (precision - 1);
    return e > least ? e : least;
  }
};

// A number whose exact value is known, and the statistics of its error.
struct Uncertain {
  static constexpr int kAnyGrid = 1 << 20;  // grid of the number 0

  double value = 0;
  int grid = kAnyGrid;  // the number is a multiple of 2^grid
  double mean = 0, variance = 0;
  bool known = true;  // the number was never rounded, and float64 holds it exactly
  bool odd = false;   // the number is an odd multiple of 2^grid

  static Uncertain exact(double number) {
    return {.value = number, .grid = lowest_bit(number), .odd = number != 0};
  }
  // A number without a known grid, such as a quotient or the value of a function.
  static Uncertain inexact(double number) {
    return {.value = number, .grid = -kAnyGrid, .known = false};
  }
  // Returns the product of two exact numbers.
  static Uncertain product(const Uncertain& a, const Uncertain& b) {
    const double value = a.value * b.value;
    return {.value = value,
            .grid = value == 0 ? kAnyGrid : a.grid + b.grid,
            .known = a.known && b.known,
            .odd = value != 0 && a.odd && b.odd};
  }
  // Returns e if the number is 2^e times an odd number, or kAnyGrid if it is 0.
  static int lowest_bit(double number) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    const int field = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t fraction = bits & 0xfffffffffffffu;
    const std::uint64_t digits = field == 0 ? fraction : fraction | std::uint64_t{1} << 52;
    return digits == 0 ? kAnyGrid : std::max(field, 1) - 1075 + std::countr_zero(digits);
  }

  // Adds another number exactly. Always inlined, because it is called once for each product and a
  // call would cost as much as the addition.
  [[gnu::always_inline]] void add(const Uncertain& other) {
    const int low = std::min(grid, other.grid);
    value += other.value;
    mean += other.mean;
    variance += other.variance;
    known = known && other.known && (value == 0 || exponent_of(value) - low <= 52);
    odd = known || (grid == other.grid ? false : grid < other.grid ? odd : other.odd);
    grid = known ? lowest_bit(value) : low;
    odd = odd && grid != kAnyGrid;
  }
  // Divides by an exact number, without rounding.
  void divide_by(double divisor);
  void round(const RoundingStep& step) {
    if (value != 0) round_to_grid(step.ulp_exponent(value), step.rounding);
  }
  // Rounds to a multiple of 2^unit.
  void round_to_grid(int unit, Rounding rounding) {
    if (value != 0 && unit > grid) lose_digits(unit, rounding);
  }

 private:
  // Rounds a number that has digits below 2^unit.
  void lose_digits(int unit, Rounding rounding);
};

// The mean and variance of the error of each sum of products.
struct SumErrors {
  std::vector<double> mean, variance;
  // True if the unit flushed a number to 0. The theory does not cover such an error.
  bool flushes = false;
};

// The time at which the start value of a sum, a bias, is added: before all products, or after them
// in float32.
enum class StartOfSum : std::uint8_t { kFirst, kAddedLast };

// Returns the mean and variance of the errors of m x n sums of k products on a unit. The parameters
// are those of sum_bounds() in machine/unit_bound.h. Each sum goes through the model's roundings in
// order. The ulp of each rounding is taken from the exact partial sum, as if no earlier rounding
// had changed it. `without_last` leaves out the last rounding of each sum. The result does not
// depend on `threads`.
SumErrors sum_errors(const DotModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                     const std::vector<double>& a, const std::vector<double>& b,
                     const std::vector<double>& start, StartOfSum starts, bool without_last,
                     int threads = 0);

}  // namespace assay
