#include "assay/identify/quick_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "assay/base/int128.h"

namespace assay::inline v0_2::identify {
namespace {

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }
double of_bits(std::uint64_t bits) { return std::bit_cast<double>(bits); }

// Returns floor(log2 |value|) of a normal float64.
int exponent_of(double value) { return static_cast<int>(bits_of(value) >> 52 & 0x7ff) - 1023; }

// Returns 2^exponent, which must be a normal float64.
double power(int exponent) { return of_bits(static_cast<std::uint64_t>(exponent + 1023) << 52); }

// Returns x + y, rounded to odd with 53 bits.
double odd_sum(double x, double y) {
  const double sum = x + y;
  if (!std::isfinite(sum)) return sum;
  const double of_y = sum - x;
  const double error = (x - (sum - of_y)) + (y - of_y);
  if (error == 0 || (bits_of(sum) & 1) != 0) return sum;
  return of_bits((error > 0) == (sum > 0) ? bits_of(sum) + 1 : bits_of(sum) - 1);
}

// Returns sum * 2^unit, rounded to odd with 53 bits.
double odd_of(Int128 sum, int unit) {
  const bool negative = sum < 0;
  const auto size = static_cast<UInt128>(negative ? -sum : sum);
  const auto high = static_cast<std::uint64_t>(size >> 64), low = static_cast<std::uint64_t>(size);
  const int length = high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(low);
  const int cut = std::max(0, length - 53);
  auto kept = static_cast<std::uint64_t>(size >> cut);
  if (static_cast<UInt128>(kept) << cut != size) kept |= 1;
  const double value = std::ldexp(static_cast<double>(kept), unit + cut);
  return negative ? -value : value;
}

simd::ToInteger to_integer(Rounding rounding) {
  using enum simd::ToInteger;
  constexpr simd::ToInteger kInOrder[] = {kNearestEven, kNearestAway, kTowardZero, kUp,
                                          kDown,        kToOdd,       kTowardZero};
  return kInOrder[static_cast<std::size_t>(rounding)];
}

}  // namespace

Rounder::Rounder(const DotModel& model)
    : format_(accumulator_format(model)),
      rounding_(model.rounding.value),
      flush_(model.flush_sums.value) {
  to_.low = min_normal(format_);
  // Numbers below the last binade are not rounded beyond the largest finite value.
  to_.high = std::ldexp(1.0, std::ilogb(max_finite(format_)));
  to_.shift = 53 - format_.precision;
  to_.rest = (std::uint64_t{1} << to_.shift) - 1;
  to_.added[0] = to_.added[1] = to_.to_even = to_.to_odd = 0;
  const std::uint64_t half = (to_.rest + 1) / 2;
  switch (rounding_) {
    case Rounding::kNearestEven:
      to_.added[0] = to_.added[1] = half - 1;
      to_.to_even = 1;
      break;
    case Rounding::kNearestAway:
      to_.added[0] = to_.added[1] = half;
      break;
    case Rounding::kUp:
      to_.added[0] = to_.rest;
      break;
    case Rounding::kDown:
      to_.added[1] = to_.rest;
      break;
    case Rounding::kToOdd:
      to_.to_odd = to_.rest + 1;
      break;
    default:
      break;
  }
}

double Rounder::at_an_end(double odd) const {
  if (odd == 0) return odd;
  const double sum = round_to(format_, odd, rounding_);
  return flush_ && std::abs(sum) < to_.low ? std::copysign(0.0, sum) : sum;
}

QuickSum::QuickSum(const DotModel& model)
    : model_(model),
      round_(model),
      least_a_(min_normal(format_named(model.input))),
      least_b_(min_normal(format_named(model.b_input()))) {
  const Format accumulator = accumulator_format(model);
  least_c_ = min_normal(accumulator);
  infinite_ = 2 * std::ldexp(1.0, std::ilogb(max_finite(accumulator)));
}

double QuickSum::add(double x, double y) const { return round_(odd_sum(x, y)); }

// Sums a chunk exactly and rounds the sum once. Returns nothing if 128 bits are too few.
std::optional<double> QuickSum::exact_chunk(int n, const double* terms, double c) const {
  int largest = -1100;
  if (c != 0) largest = exponent_of(c);
  for (int k = 0; k < n; ++k) {
    if (terms[k] != 0) largest = std::max(largest, exponent_of(terms[k]));
  }
  if (largest == -1100) {
    if (std::signbit(c)) return std::nullopt;
    return 0.0;
  }
  // No term may have bits below 2^unit. The sum of 128 terms of at most 2^(largest + 1) then stays
  // below 2^127 units.
  const int unit = largest - 116;
  Int128 sum = 0;
  const auto take = [&](double term) {
    if (term == 0) return true;
    const std::uint64_t bits = bits_of(term);
    auto size =
        static_cast<std::int64_t>((bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52);
    const int shift = exponent_of(term) - 52 - unit;
    if (shift < 0) {
      if (shift < -63) return false;
      const std::int64_t cut = size >> -shift;
      if (cut << -shift != size) return false;
      size = cut;
    }
    const Int128 value = static_cast<Int128>(size) << std::max(shift, 0);
    sum += std::signbit(term) ? -value : value;
    return true;
  };
  if (!take(c)) return std::nullopt;
  for (int k = 0; k < n; ++k) {
    if (!take(terms[k])) return std::nullopt;
  }
  return sum == 0 ? 0.0 : round_(odd_of(sum, unit));
}

namespace {

// The following loops have no branches and no chains of additions, so that compilers can vectorise
// them.

// Returns the largest power of two that is at most |v|, but at least `least`. Returns 0 if v is 0.
inline double power_below(double v, double least) {
  const double p = std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) & 0x7ff0000000000000u);
  return p > 0 ? (p < least ? least : p) : 0.0;
}

inline double flushed(double v, double least) {
  return std::abs(v) < least ? std::copysign(0.0, v) : v;
}

// largest_of() returns the largest of n values. sum_of() returns their sum, which must be exact in
// any order.
inline double largest_of(int n, const double* values) {
  double most[4] = {};
  const auto take = [&](int k, int lane) {
    most[lane] = values[k] > most[lane] ? values[k] : most[lane];
  };
  int k = 0;
  for (; k + 4 <= n; k += 4) take(k, 0), take(k + 1, 1), take(k + 2, 2), take(k + 3, 3);
  for (; k < n; ++k) take(k, 0);
  return std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
}
inline double sum_of(int n, const double* values) {
  double sums[4] = {};
  int k = 0;
  for (; k + 4 <= n; k += 4) {
    for (int lane = 0; lane < 4; ++lane) sums[lane] += values[k + lane];
  }
  for (; k < n; ++k) sums[0] += values[k];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Rounds x to the nearest integer, for |x| < 2^51: the sum with 1.5 2^52 has no bits below 1.
inline double nearest_integer(double x) { return (x + 0x1.8p52) - 0x1.8p52; }
template <Rounding kRounding>
inline double integer_of(double x) {
  const double near = nearest_integer(x);
  if constexpr (kRounding == Rounding::kNearestEven) return near;
  if constexpr (kRounding == Rounding::kDown) return near - (near > x ? 1.0 : 0.0);
  if constexpr (kRounding == Rounding::kUp) return near + (near < x ? 1.0 : 0.0);
  const double cut = near - std::copysign(std::abs(near) > std::abs(x) ? 1.0 : 0.0, x);
  if constexpr (kRounding == Rounding::kTowardZero) return cut;
  if constexpr (kRounding == Rounding::kNearestAway) {
    return cut + std::copysign(std::abs(x - cut) >= 0.5 ? 1.0 : 0.0, x);
  }
  // Rounds to odd: of the two neighbouring integers, one is odd.
  const double even = 2 * nearest_integer(cut * 0.5) - cut, left = x - cut;
  return cut + std::copysign((even == 0 ? 1.0 : 0.0) * (left != 0 ? 1.0 : 0.0), x);
}

// Returns the sum of n values that are rounded to integers. The sum is exact, because the integers
// are small enough.
template <Rounding kRounding>
double sum_of_integers(int n, double* values) {
  for (int k = 0; k < n; ++k) values[k] = integer_of<kRounding>(values[k]);
  return sum_of(n, values);
}

double sum_of_integers(Rounding rounding, int n, double* values) {
  using enum Rounding;
  constexpr double (*kInOrder[])(int, double*) = {
      sum_of_integers<kNearestEven>, sum_of_integers<kNearestAway>, sum_of_integers<kTowardZero>,
      sum_of_integers<kUp>,          sum_of_integers<kDown>,        sum_of_integers<kToOdd>,
      sum_of_integers<kTowardZero>};
  return kInOrder[static_cast<std::size_t>(rounding)](n, values);
}

}  // namespace

std::optional<double> QuickSum::aligned_chunk(int n, const double* a, const double* b,
                                              double c) const {
  double powers[kMostChunk];
  for (int k = 0; k < n; ++k) {
    powers[k] = power_below(a[k], least_a_) * power_below(b[k], least_b_);
  }
  const double largest = std::max(power_below(c, least_c_), largest_of(n, powers));
  int emax = model_.emax_floor.value;
  if (largest > 0) emax = std::max(emax, exponent_of(largest));
  if (emax == DotModel::kNoFloor) return 0.0;
  const int kept = model_.kept_bits.value;
  const double scale = power(kept - emax);
  double values[kMostChunk + 1];
  for (int k = 0; k < n; ++k) values[k] = a[k] * b[k] * scale;
  values[n] = c * scale;
  const double sum = sum_of_integers(model_.alignment.value, n + 1, values);
  const double value = sum * power(emax - kept);
  if (std::abs(value) >= infinite_) return std::nullopt;
  return round_(value) + 0.0;
}

// Adds the accumulator to the finished sum of the products. The products whose k are equal modulo
// `interleave` are aligned together.
std::optional<double> QuickSum::joined_chunk(int n, const double* a, const double* b,
                                             double c) const {
  const int kept = model_.kept_bits.value, bits = model_.sum_bits.value,
            lanes = model_.interleave.value;
  double powers[kMostChunk], integers[kMostChunk];
  for (int k = 0; k < n; ++k) {
    powers[k] = power_below(a[k], least_a_) * power_below(b[k], least_b_);
  }
  const double most = largest_of(n, powers);
  if (most >= 0x1p126) return std::nullopt;  // the product of two finite factors may be infinite
  const int floor = model_.emax_floor.value;
  const int largest = most > 0 ? std::max(floor, exponent_of(most)) : floor;
  const int of_c = c == 0 ? DotModel::kNoFloor : exponent_of(power_below(c, least_c_));
  const int joined = std::max(largest, of_c);
  if (joined == DotModel::kNoFloor) return 0.0;
  double products = 0;  // sum of the products in units of 2^(joined - bits)
  if (largest != DotModel::kNoFloor) {
    for (int lane = 0; lane < std::min(lanes, n); ++lane) {
      double most_here = 0;
      for (int k = lane; k < n; k += lanes) most_here = std::max(most_here, powers[k]);
      const int emax = most_here > 0 ? std::max(floor, exponent_of(most_here)) : floor;
      if (emax == DotModel::kNoFloor) continue;
      const double scale = power(kept - emax);
      int count = 0;
      for (int k = lane; k < n; k += lanes) integers[count++] = a[k] * b[k] * scale;
      products += std::floor(sum_of_integers(model_.alignment.value, count, integers) *
                             power(std::max(emax - largest, -1000)));
    }
    products = std::floor(products * power(bits - kept + std::max(largest - joined, -900)));
  }
  const bool reached = model_.reach.value == 0 || c == 0 || of_c >= joined - model_.reach.value;
  const double start = reached ? std::floor(c * power(kept - joined)) : 0.0;
  const double sum = odd_sum(products * power(joined - bits), start * power(joined - kept));
  if (std::abs(sum) >= infinite_) return std::nullopt;
  return round_(sum) + 0.0;
}

std::optional<simd::LaneModel> QuickSum::lane_model() const {
  const DotModel& m = model_;
  const bool is_aligned = m.kept_bits.value > 0;
  const bool is_exact = !is_aligned && m.order.value == ChunkOrder::kFused && m.chunk.value > 1;
  if (m.chunk.value > kMostChunk || m.kept_bits.value > kMostKept || m.sum_bits.value > 0 ||
      is_exact) {
    return std::nullopt;
  }
  const int floor = m.emax_floor.value;
  return simd::LaneModel{
      .chunk = m.chunk.value,
      .order = is_aligned                               ? simd::LaneOrder::kAligned
               : m.order.value == ChunkOrder::kPairwise ? simd::LaneOrder::kTree
                                                        : simd::LaneOrder::kOneByOne,
      // In sequential order, the sum of a chunk that has only one product is rounded, too.
      .rounds_products =
          m.rounds_products() || (m.order.value == ChunkOrder::kSequential && m.chunk.value == 1),
      .rounding = round_.bits(),
      .alignment = to_integer(m.alignment.value),
      .least = least_c_,
      .floor = floor == DotModel::kNoFloor ? 0.0 : power(floor)};
}

void QuickSum::set_products(std::int64_t n, std::span<const Factors> rows, double* products,
                            double* powers) const {
  const bool flushes = model_.flush_inputs.value;
  const std::int64_t lanes = std::ssize(rows);
  // The rows of products are interleaved in memory, so that each row writes a part of every cache
  // line. A tile is so small that its lines stay in the first-level cache until all rows have
  // written to them.
  constexpr std::int64_t kTile = 64;
  for (std::int64_t begin = 0; begin < n; begin += kTile) {
    const std::int64_t count = std::min(kTile, n - begin);
    double* const to_products = products + begin * lanes;
    double* const to_powers = powers == nullptr ? nullptr : powers + begin * lanes;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      double a[kTile], b[kTile], values[kTile];
      std::copy_n(rows[static_cast<std::size_t>(lane)].a + begin, count, a);
      std::copy_n(rows[static_cast<std::size_t>(lane)].b + begin, count, b);
      if (flushes) {
        for (std::int64_t k = 0; k < count; ++k) {
          a[k] = flushed(a[k], least_a_);
          b[k] = flushed(b[k], least_b_);
        }
      }
      for (std::int64_t k = 0; k < count; ++k) values[k] = a[k] * b[k];
      for (std::int64_t k = 0; k < count; ++k) to_products[k * lanes + lane] = values[k];
      if (to_powers == nullptr) continue;
      for (std::int64_t k = 0; k < count; ++k) {
        values[k] = power_below(a[k], least_a_) * power_below(b[k], least_b_);
      }
      for (std::int64_t k = 0; k < count; ++k) to_powers[k * lanes + lane] = values[k];
    }
  }
}

// Adds the products of a chunk one by one or by a tree. They may have been rounded before.
std::optional<double> QuickSum::chunk_by_steps(int n, double* terms, double c) const {
  if (model_.order.value == ChunkOrder::kSequential) {
    double sum = model_.rounds_products() ? terms[0] : round_(terms[0]);
    for (int k = 1; k < n; ++k) sum = add(sum, terms[k]);
    return add(c, sum);
  }
  for (int left = n; left > 1; left = (left + 1) / 2) {
    for (int k = 0; k < left; k += 2) {
      terms[k / 2] = k + 1 < left ? add(terms[k], terms[k + 1]) : terms[k];
    }
  }
  return add(c, terms[0]);
}

std::optional<double> QuickSum::part(std::int64_t n, const double* a, const double* b,
                                     double c) const {
  const int chunk = model_.chunk.value;
  const bool is_aligned = model_.kept_bits.value > 0;
  if (chunk > kMostChunk || !std::isfinite(c) || model_.kept_bits.value > kMostKept ||
      model_.sum_bits.value > kMostKept) {
    return std::nullopt;
  }
  const bool is_fused = model_.order.value == ChunkOrder::kFused;
  double terms[kMostChunk], flushed_a[kMostChunk], flushed_b[kMostChunk];
  for (std::int64_t begin = 0; begin < n; begin += chunk) {
    const int count = static_cast<int>(std::min<std::int64_t>(chunk, n - begin));
    const double *as = a + begin, *bs = b + begin;
    if (model_.flush_inputs.value) {
      for (int k = 0; k < count; ++k) {
        flushed_a[k] = flushed(as[k], least_a_);
        flushed_b[k] = flushed(bs[k], least_b_);
      }
      as = flushed_a;
      bs = flushed_b;
    }
    std::optional<double> sum;
    if (model_.sum_bits.value > 0) {
      sum = joined_chunk(count, as, bs, c);
    } else if (is_aligned) {
      sum = aligned_chunk(count, as, bs, c);
    } else {
      for (int k = 0; k < count; ++k) terms[k] = as[k] * bs[k];
      if (model_.rounds_products()) {
        for (int k = 0; k < count; ++k) terms[k] = round_(terms[k]);
      }
      if (!is_fused) {
        sum = chunk_by_steps(count, terms, c);
      } else if (count == 1) {
        sum = add(c, terms[0]);
      } else {
        sum = exact_chunk(count, terms, c);
      }
    }
    if (!sum || !std::isfinite(*sum)) return std::nullopt;
    c = *sum;
  }
  return c;
}

}  // namespace assay::identify
