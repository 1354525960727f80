// What chance makes of rounding errors: the mean and variance of the error of a number that has
// been through roundings, and of a matrix unit's sums of products.
//
// A rounding to multiples of U of a number that is some multiple of G < U, U / G = r a power of
// two, whose remainder may be any of the r with the same chance, errs by
//
//   to nearest    0 in the mean, with variance U^2 / 12 (1 + 2 / r^2) (ties to even)
//   toward zero   -sign U / 2 (1 - 1 / r), with variance U^2 / 12 (1 - 1 / r^2)
//
// one that is known to be an odd multiple, as the exact sum of a chunk is of its lowest bit, by
//
//   to nearest    0, with variance U^2 / 12 (1 - 4 / r^2); of a tie (r = 2) U^2 / 4
//   toward zero   -sign U / 2, with variance U^2 / 12 (1 - 4 / r^2)
//
// and a number that is a multiple of U already by nothing. So inputs of few bits, which are summed
// exactly at first, have no errors there, and ties the half more that they cause.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/machine/machine.h"

namespace assay {

// The exponent of a number other than 0, and that of its lowest bit, 2^e times an odd number.
inline int exponent_of(double value) {
  const auto field = static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7ff);
  return field == 0 ? std::ilogb(value) : field - 1023;
}

// How a step rounds: to a format, or to a fixed grid.
struct RoundingStep {
  explicit RoundingStep(const Format& format, Rounding rounding = Rounding::kNearestEven);

  int precision, least;  // bits; exponent of the smallest subnormal
  Rounding rounding;

  // The exponent of an ulp at a value other than 0.
  int ulp_exponent(double value) const {
    const int e = exponent_of(value) - (precision - 1);
    return e > least ? e : least;
  }
};

// A number of which the exact value is known, and what chance makes of its error.
struct Uncertain {
  static constexpr int kAnyGrid = 1 << 20;  // of 0

  double value = 0;
  int grid = kAnyGrid;  // the number is a multiple of 2^grid
  double mean = 0, variance = 0;
  bool known = true;  // nothing was rounded yet
  bool odd = false;   // the number is an odd multiple

  static Uncertain exact(double number) {
    return {.value = number, .grid = lowest_bit(number), .odd = number != 0};
  }
  // A number that is a multiple of nothing: of a quotient, or a function.
  static Uncertain inexact(double number) {
    return {.value = number, .grid = -kAnyGrid, .known = false};
  }
  // Of exact numbers.
  static Uncertain product(const Uncertain& a, const Uncertain& b) {
    const double value = a.value * b.value;
    return {.value = value,
            .grid = value == 0 ? kAnyGrid : a.grid + b.grid,
            .known = a.known && b.known,
            .odd = value != 0 && a.odd && b.odd};
  }
  // The exponent of a number's lowest bit: it is 2^e times an odd number; kAnyGrid of 0.
  static int lowest_bit(double number) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    const int field = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t fraction = bits & 0xfffffffffffffu;
    const std::uint64_t digits = field == 0 ? fraction : fraction | std::uint64_t{1} << 52;
    return digits == 0 ? kAnyGrid : std::max(field, 1) - 1075 + std::countr_zero(digits);
  }

  // The exact sum. Theory adds once a product: a call would take as long as the sum does.
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
  // The exact quotient by an exact number.
  void divide_by(double divisor);
  void round(const RoundingStep& step) {
    if (value != 0) round_to_grid(step.ulp_exponent(value), step.rounding);
  }
  // To multiples of 2^unit.
  void round_to_grid(int unit, Rounding rounding) {
    if (value != 0 && unit > grid) lose_digits(unit, rounding);
  }

 private:
  // A rounding of a number that has digits below 2^unit.
  void lose_digits(int unit, Rounding rounding);
};

// The errors of sums of products.
struct SumErrors {
  std::vector<double> mean, variance;
  // A unit that flushes took something for 0: theory says nothing of that.
  bool flushes = false;
};

// Where the start of a sum, a bias, comes in: before all products, or added last, in float32.
enum class StartOfSum : std::uint8_t { kFirst, kAddedLast };

// The errors of m x n sums of k products on a unit, as sum_bounds() of machine/unit_bound.h takes
// them: each sum goes through the model's roundings in order, its partial sums taken as exact.
// `without_last`: the last rounding of each sum is left out. The result does not depend on
// `threads`.
SumErrors sum_errors(const DotModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                     const std::vector<double>& a, const std::vector<double>& b,
                     const std::vector<double>& start, StartOfSum starts, bool without_last,
                     int threads = 0);

}  // namespace assay
