#include "assay/machine/uncertain.h"

#include <algorithm>
#include <atomic>

#include "assay/base/constants.h"
#include "assay/machine/factor_panels.h"
#include "assay/machine/sum_errors_oracle.h"
#include "assay/simd/sum_errors.h"

namespace assay::inline v0_2 {
namespace {

// Returns 2^e, or 0 if that is below float64's normal numbers.
double power_of_two(int e) {
  return e < -1022
             ? 0
             : std::bit_cast<double>(static_cast<std::uint64_t>(std::min(e, 1023) + 1023) << 52);
}

// True if simd::sum_errors() supports the model. Float64 must hold products, and the squares of the
// powers of two that divide them. Panels of sums longer than kLongest would need too much memory.
bool has_kernel(const DotModel& model, std::int64_t k, const std::vector<double>& start) {
  constexpr std::int64_t kLongest = std::int64_t{1} << 18;
  if (k > kLongest) return false;
  constexpr double kLargestStart = 0x1p300;
  constexpr int kBits = 32, kDigits = 53;
  const Format &a = format_named(model.input), &b = format_named(model.b_input());
  const int widest = std::max({a.bits, b.bits, accumulator_format(model).bits});
  if (widest > kBits || a.precision + b.precision > kDigits) return false;
  // Float64 must hold sums of multiples of 2^(emax - F) exactly, to which the terms of a chunk are
  // aligned.
  const auto chunk = static_cast<unsigned>(model.chunk.value);
  const int kept = model.kept_bits.value;
  if (kept > 0 && kept + static_cast<int>(std::bit_width(chunk)) + 3 > kDigits) return false;
  return std::ranges::all_of(start, [](double v) { return std::abs(v) < kLargestStart; });
}

const simd::RoundingMoments& moments_of(Rounding rounding) {
  static constexpr simd::RoundingMoments kInOrder[] = {
      simd::kNearestEvenMoments, simd::kNearestAwayMoments, simd::kTowardZeroMoments,
      simd::kUpMoments,          simd::kDownMoments,        simd::kToOddMoments,
      simd::kStochasticMoments};
  return kInOrder[static_cast<std::size_t>(rounding)];
}

simd::RoundingToFormat rounding_to(const Format& format, Rounding rounding) {
  const RoundingStep step(format, rounding);
  return {moments_of(rounding), power_of_two(1 - step.precision), power_of_two(step.least)};
}

simd::SumOrder order_of(ChunkOrder order) {
  constexpr simd::SumOrder kInOrder[] = {simd::SumOrder::kFused, simd::SumOrder::kSequential,
                                         simd::SumOrder::kPairwise};
  return kInOrder[static_cast<std::size_t>(order)];
}

// Returns 2^-bits, or 0 if there are no bits.
double digits_below(int bits) { return bits > 0 ? power_of_two(-bits) : 0; }

simd::SumUnit unit_of(const DotModel& model, StartOfSum starts, bool without_last) {
  const Format accumulator = accumulator_format(model);
  return {.chunk = model.chunk.value,
          .order = order_of(model.order.value),
          .rounds_products = model.rounds_products(),
          .accumulator = rounding_to(accumulator, model.rounding.value),
          .promotion_interval = model.promotion_interval.value,
          .promoted = rounding_to(format_named("float32"), Rounding::kNearestEven),
          .kept = digits_below(model.kept_bits.value),
          .alignment = moments_of(model.alignment.value),
          .emax_floor = power_of_two(model.emax_floor.value),
          .least_exponent = power_of_two(accumulator.min_exponent()),
          .sum_kept = digits_below(model.sum_bits.value),
          .interleave = model.interleave.value,
          .reach = digits_below(model.reach.value),
          .flush_below = model.flush_sums.value ? min_normal(accumulator) : 0,
          .start_is_added_last = starts == StartOfSum::kAddedLast,
          .without_last = without_last};
}

// Returns the start values of the sums of the columns from `first` on, each rounded to float32.
simd::SumStarts starts_of(const std::vector<double>& start, std::int64_t first) {
  simd::SumStarts starts;
  for (std::int64_t i = 0; i < simd::kFactorColumns; ++i) {
    const std::int64_t column = std::min(first + i, std::ssize(start) - 1);
    Uncertain number = Uncertain::exact(start[static_cast<std::size_t>(column)]);
    number.round(RoundingStep(format_named("float32")));
    starts.value[i] = number.value;
    starts.grid[i] = number.grid == Uncertain::kAnyGrid ? kInfinity : power_of_two(number.grid);
    starts.mean[i] = number.mean;
    starts.variance[i] = number.variance;
    starts.known[i] = number.known ? 1 : 0;
    starts.odd[i] = number.odd ? 1 : 0;
  }
  return starts;
}

}  // namespace

RoundingStep::RoundingStep(const Format& format, Rounding how)
    : precision(format.precision), least(std::ilogb(min_subnormal(format))), rounding(how) {}

void Uncertain::divide_by(double divisor) {
  int e = 0;
  const bool shifts = std::abs(std::frexp(divisor, &e)) == 0.5;
  value /= divisor;
  mean /= divisor;
  variance /= divisor * divisor;
  if (value == 0) return;
  grid = shifts ? grid - (e - 1) : -kAnyGrid;
  known = known && shifts;
  odd = odd && shifts;
}

void Uncertain::lose_digits(int unit, Rounding rounding) {
  const double ulp = power_of_two(unit), part = power_of_two(grid - unit);
  const bool nearest = rounding == Rounding::kNearestEven || rounding == Rounding::kNearestAway;
  const bool is_odd = odd;
  grid = unit;
  known = odd = false;
  if (std::abs(value) < (nearest ? ulp / 2 : ulp)) {
    // The value becomes 0 or one unit of the grid, so its error is known.
    const bool up =
        rounding == Rounding::kToOdd || rounding == (value > 0 ? Rounding::kUp : Rounding::kDown);
    mean += (up ? std::copysign(ulp, value) : 0) - value;
    return;
  }
  const double square = ulp * ulp / 12, centre = is_odd ? ulp / 2 : ulp / 2 * (1 - part);
  const double directed = square * (1 - (is_odd ? 4 : 1) * part * part);
  const bool tie = is_odd && part == 0.5;
  switch (rounding) {
    case Rounding::kNearestEven:
      variance += tie ? 3 * square : is_odd ? directed : square * (1 + 2 * part * part);
      return;
    case Rounding::kNearestAway: {
      const double away = tie ? ulp / 2 : is_odd ? 0 : ulp * part / 2;
      mean += std::copysign(away, value);
      variance += tie ? 0 : is_odd ? directed : square * (1 + 2 * part * part) - away * away;
      return;
    }
    case Rounding::kTowardZero:
      mean -= std::copysign(centre, value);
      break;
    case Rounding::kUp:
      mean += centre;
      break;
    case Rounding::kDown:
      mean -= centre;
      break;
    case Rounding::kToOdd:
    case Rounding::kStochastic:
      variance += 2 * square;  // the error is less than one unit on either side
      return;
  }
  variance += directed;
}

SumErrors sum_errors(const DotModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                     const std::vector<double>& a, const std::vector<double>& b,
                     const std::vector<double>& start, StartOfSum starts, bool without_last,
                     int threads) {
  if (!has_kernel(model, k, start)) {
    return sum_errors_oracle(model, m, n, k, a, b, start, starts, without_last, threads);
  }
  const simd::SumUnit unit = unit_of(model, starts, without_last);
  SumErrors errors;
  errors.mean.resize(static_cast<std::size_t>(m * n));
  errors.variance.resize(errors.mean.size());
  std::atomic<bool> flushes = false;
  const auto follow = [&](const FactorPanel& panel) {
    double mean[FactorPanel::kMostRows * simd::kFactorColumns],
        variance[FactorPanel::kMostRows * simd::kFactorColumns];
    simd::SumStarts first;
    if (!start.empty()) first = starts_of(start, panel.column);
    const bool flushed = simd::sum_errors(unit, panel.rows, k, panel.a, panel.b,
                                          start.empty() ? nullptr : &first, mean, variance);
    if (flushed) flushes = true;
    for (std::int64_t i = 0; i < panel.rows; ++i) {
      const std::int64_t to = (panel.row + i) * n + panel.column;
      std::copy_n(mean + i * simd::kFactorColumns, panel.columns, errors.mean.begin() + to);
      std::copy_n(variance + i * simd::kFactorColumns, panel.columns, errors.variance.begin() + to);
    }
  };
  if (for_factor_panels(model, {m, n, k, a.data(), k, b.data()}, threads, follow)) flushes = true;
  errors.flushes = flushes;
  return errors;
}

}  // namespace assay
