#include "assay/simd/square_moments_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/square_moments_kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;
using Bits = hn::RebindToUnsigned<D>;

struct Moments {
  V mean, variance, jump, mean_error;
};

// The arithmetic of a last rounding, in vectors. format/nearest.h has the same arithmetic for
// single numbers.
class Rounding {
 public:
  HWY_INLINE explicit Rounding(const LastDigits& last)
      : dropped_(last.dropped),
        step_(hn::Set(Bits(), std::uint64_t{1} << last.dropped)),
        half_(hn::Set(Bits(), (std::uint64_t{1} << (last.dropped - 1)) - 1)),
        kept_(hn::Set(Bits(), ~((std::uint64_t{1} << last.dropped) - 1))),
        ulp_of_one_(hn::Set(D(), last.ulp_of_one)),
        least_(hn::Set(D(), last.least)),
        most_(hn::Set(D(), last.most)),
        tiny_(hn::Set(D(), last.tiny)),
        magic_(hn::Set(D(), last.magic)) {}

  HWY_INLINE M holds(V x) const { return hn::Lt(hn::Abs(x), most_); }
  HWY_INLINE V ulp(V size) const {
    const auto exponent = hn::Set(Bits(), std::uint64_t{0x7ff} << 52);
    const auto octave = hn::BitCast(D(), hn::And(hn::BitCast(Bits(), size), exponent));
    return hn::Max(hn::Mul(octave, ulp_of_one_), tiny_);
  }
  HWY_INLINE V rounded(V x) const {
    const auto bits = hn::BitCast(Bits(), x);
    const auto odd = hn::And(hn::ShiftRightSame(bits, dropped_), hn::Set(Bits(), 1));
    const auto normal = hn::BitCast(D(), hn::And(hn::Add(bits, hn::Add(half_, odd)), kept_));
    const auto small = hn::Sub(hn::Add(x, magic_), magic_);
    return hn::IfThenElse(hn::Lt(hn::Abs(x), least_), small, normal);
  }
  // Returns the format's next number above x, which is a number of the format.
  HWY_INLINE V next(V x) const {
    const auto bits = hn::BitCast(Bits(), x);
    const auto normal =
        hn::IfThenElse(hn::Gt(x, hn::Zero(D())), hn::BitCast(D(), hn::Add(bits, step_)),
                       hn::BitCast(D(), hn::Sub(bits, step_)));
    return hn::IfThenElse(hn::Le(hn::Abs(x), least_), hn::Add(x, tiny_), normal);
  }

 private:
  int dropped_;
  hn::Vec<Bits> step_, half_, kept_;
  V ulp_of_one_, least_, most_, tiny_, magic_;
};

// NormalTable::below()
HWY_INLINE V normal_below(const NormalTable& table, V z) {
  const D d;
  const hn::RebindToSigned<D> places;
  const auto zero = hn::Zero(d), certain = hn::Set(d, NormalTable::kCertain);
  const auto inside = hn::Lt(hn::Abs(z), certain);
  const auto place = hn::Round(
      hn::IfThenElseZero(inside, hn::Mul(hn::Add(z, certain), hn::Set(d, NormalTable::kPerUnit))));
  const auto at = hn::ConvertTo(places, place);
  const auto from = hn::Sub(hn::Mul(place, hn::Set(d, 1.0 / NormalTable::kPerUnit)), certain);
  const auto t = hn::Sub(z, from);
  const auto slope = hn::GatherIndex(d, table.density, at);
  const auto third = hn::Mul(hn::Sub(hn::Mul(from, from), hn::Set(d, 1)), hn::Set(d, 1.0 / 6));
  const auto second = hn::Sub(hn::Mul(t, third), hn::Mul(from, hn::Set(d, 0.5)));
  const auto rise = hn::Mul(hn::Mul(slope, t), hn::Add(hn::Mul(t, second), hn::Set(d, 1)));
  const auto below = hn::Add(hn::GatherIndex(d, table.probability, at), rise);
  return hn::IfThenElse(inside, below, hn::IfThenElseZero(hn::Gt(z, zero), hn::Set(d, 1)));
}

// Returns the moments of elements as sums over all values that they may have. The deviation must
// not be 0.
HWY_INLINE Moments sum_values(const Rounding& last, const NormalTable& table, V e, V mean,
                              V deviation) {
  const D d;
  const auto one = hn::Set(d, 1), zero = hn::Zero(d), two = hn::Set(d, 2);
  const V centre = hn::Add(e, mean), ulp = last.ulp(hn::Abs(centre));
  const V summed = hn::Mul(hn::Set(d, kSummed), deviation), scale = hn::Div(one, deviation);
  const V end = last.rounded(hn::Add(centre, summed));
  V value = last.rounded(hn::Sub(centre, summed));
  Moments to{zero, zero, zero, zero};
  V fourth = zero, below = zero;
  M is_last;
  do {
    is_last = hn::Eq(value, end);
    const V next = hn::IfThenElse(is_last, value, last.next(value));
    V up_to = one;
    if (!hn::AllTrue(d, is_last)) {
      const V middle = hn::Mul(hn::Add(value, next), hn::Set(d, 0.5));
      const V z = hn::Mul(hn::Sub(middle, centre), scale);
      up_to = hn::IfThenElse(is_last, one, normal_below(table, z));
    }
    const V chance = hn::Sub(up_to, below);  // the value's probability, 0 beyond the last value
    const V error = hn::Sub(value, e), square = hn::Mul(error, error);
    const V part = hn::Mul(chance, square);
    to.mean = hn::Add(to.mean, part);
    to.mean_error = hn::Add(to.mean_error, hn::Mul(chance, error));
    fourth = hn::Add(fourth, hn::Mul(part, square));
    below = up_to;
    value = next;
  } while (!hn::AllTrue(d, is_last));
  to.variance = hn::Max(hn::Sub(fourth, hn::Mul(to.mean, to.mean)), zero);
  const V most = hn::Min(hn::Mul(hn::Set(d, kReach), deviation), ulp);
  to.jump = hn::Mul(hn::Mul(two, most), ulp);
  return to;
}

// Returns the moments of elements that have one value, or that have enough values to count as a
// continuous range. Returns NaN for other elements, and marks those of them that sum_values() can
// compute in `several`.
HWY_INLINE Moments moments_of(const Rounding& last, V smooth_from, V e, V mean, V deviation,
                              M& several) {
  const D d;
  const auto zero = hn::Zero(d), two = hn::Set(d, 2), four = hn::Set(d, 4);
  const auto nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  const V centre = hn::Add(e, mean), ulp = last.ulp(hn::Abs(centre));
  const M known = last.holds(centre);
  const M smooth = hn::And(known, hn::Gt(deviation, hn::Mul(smooth_from, ulp)));
  const V variance =
      hn::Add(hn::Mul(deviation, deviation), hn::Mul(hn::Mul(ulp, ulp), hn::Set(d, 1.0 / 12)));
  const V of_both = hn::Mul(hn::Mul(hn::Mul(four, mean), mean), variance);
  const V of_square = hn::Add(hn::Mul(hn::Mul(two, variance), variance), of_both);
  if (hn::AllTrue(d, smooth)) {
    several = hn::Lt(zero, zero);
    return {hn::Add(hn::Mul(mean, mean), variance), of_square, zero, mean};
  }
  const V reach = hn::Mul(hn::Set(d, kReach), deviation);
  const V low = hn::Sub(centre, reach), high = hn::Add(centre, reach);
  const M stepped = hn::AndNot(smooth, hn::And(known, hn::And(last.holds(low), last.holds(high))));
  const V least = last.rounded(low), error = hn::Sub(least, e);
  const M same = hn::And(stepped, hn::Eq(least, last.rounded(high)));
  several = hn::AndNot(same, stepped);
  const auto choose = [&](V of_same, V of_smooth) HWY_ATTR {
    return hn::IfThenElse(same, of_same, hn::IfThenElse(smooth, of_smooth, nan));
  };
  return {choose(hn::Mul(error, error), hn::Add(hn::Mul(mean, mean), variance)),
          choose(zero, of_square), choose(zero, zero), choose(error, mean)};
}

HWY_INLINE void store(const Moments& m, double* mean, double* variance, double* jump,
                      double* mean_error) {
  const D d;
  hn::StoreU(m.mean, d, mean);
  hn::StoreU(m.variance, d, variance);
  hn::StoreU(m.jump, d, jump);
  hn::StoreU(m.mean_error, d, mean_error);
}

// Collects the elements that sum_values() has to compute, so that a vector of them has no idle
// lanes.
struct Several {
  static constexpr std::size_t kMost = hn::MaxLanes(D());

  std::size_t n = 0;
  std::size_t index[kMost];
  double e[kMost], mean[kMost], deviation[kMost];
};

HWY_INLINE void compute(const Rounding& last, const NormalTable& table, Several& several,
                        const SquareMomentArrays& to) {
  const D d;
  if (several.n == 0) return;
  for (std::size_t j = several.n; j < Several::kMost; ++j) {
    several.e[j] = several.e[0];
    several.mean[j] = several.mean[0];
    several.deviation[j] = several.deviation[0];
  }
  double out[4][Several::kMost];
  for (std::size_t j = 0; j < several.n; j += hn::Lanes(d)) {
    store(sum_values(last, table, hn::LoadU(d, several.e + j), hn::LoadU(d, several.mean + j),
                     hn::LoadU(d, several.deviation + j)),
          out[0] + j, out[1] + j, out[2] + j, out[3] + j);
  }
  for (std::size_t j = 0; j < several.n; ++j) {
    const std::size_t i = several.index[j];
    to.mean[i] = out[0][j];
    to.variance[i] = out[1][j];
    to.jump[i] = out[2][j];
    to.mean_error[i] = out[3][j];
  }
  several.n = 0;
}

void square_moments_impl(const LastDigits& digits, double smooth, const NormalTable& table,
                         std::size_t n, const double* e, const double* mean,
                         const double* deviation, const SquareMomentArrays& to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kMost = Several::kMost;
  const Rounding last(digits);
  const V smooth_from = hn::Set(d, smooth);
  Several several;
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t count = std::min(lanes, n - i);
    M summed;
    if (count == lanes) {
      store(moments_of(last, smooth_from, hn::LoadU(d, e + i), hn::LoadU(d, mean + i),
                       hn::LoadU(d, deviation + i), summed),
            to.mean + i, to.variance + i, to.jump + i, to.mean_error + i);
    } else {
      double in[3][kMost] = {}, out[4][kMost];
      std::copy_n(e + i, count, in[0]);
      std::copy_n(mean + i, count, in[1]);
      std::copy_n(deviation + i, count, in[2]);
      store(moments_of(last, smooth_from, hn::LoadU(d, in[0]), hn::LoadU(d, in[1]),
                       hn::LoadU(d, in[2]), summed),
            out[0], out[1], out[2], out[3]);
      std::copy_n(out[0], count, to.mean + i);
      std::copy_n(out[1], count, to.variance + i);
      std::copy_n(out[2], count, to.jump + i);
      std::copy_n(out[3], count, to.mean_error + i);
    }
    if (hn::AllFalse(d, summed)) continue;
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, summed, bytes);
    for (std::size_t j = 0; j < count; ++j) {
      if ((bytes[j / 8] >> (j % 8) & 1) == 0) continue;
      several.index[several.n] = i + j;
      several.e[several.n] = e[i + j];
      several.mean[several.n] = mean[i + j];
      several.deviation[several.n] = deviation[i + j];
      if (++several.n == kMost) compute(last, table, several, to);
    }
  }
  compute(last, table, several, to);
}

void error_bounds_impl(const LastDigits& digits, double golden_error, double reach, std::size_t n,
                       const ErrorsBefore& errors, const ErrorBounds& to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const Rounding last(digits);
  const auto nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  const auto bound_at = [&](const ErrorsBefore& from, const ErrorBounds& at,
                            std::size_t i) HWY_ATTR {
    const V e = hn::LoadU(d, from.e + i), mean = hn::LoadU(d, from.mean + i),
            drift = hn::LoadU(d, from.drift + i);
    const V own = hn::Mul(hn::Set(d, golden_error), e);
    const V deviation = hn::Sqrt(hn::Add(hn::LoadU(d, from.variance + i), hn::Mul(own, own)));
    const V far = hn::Add(drift, hn::Mul(hn::Set(d, reach), deviation));
    const V low = hn::Add(e, hn::Sub(mean, far)), high = hn::Add(e, hn::Add(mean, far));
    const V bound =
        hn::Max(hn::Abs(hn::Sub(last.rounded(low), e)), hn::Abs(hn::Sub(last.rounded(high), e)));
    const V ulp = last.ulp(hn::Abs(e)), most = hn::Add(hn::Abs(mean), drift);
    const V square =
        hn::Add(hn::Add(hn::Mul(hn::Mul(ulp, ulp), hn::Set(d, 1.0 / 12)), hn::Mul(most, most)),
                hn::Mul(deviation, deviation));
    const M held = hn::And(last.holds(e), hn::And(last.holds(low), last.holds(high)));
    hn::StoreU(hn::IfThenElse(held, deviation, nan), d, at.deviation + i);
    hn::StoreU(hn::IfThenElse(held, bound, nan), d, at.bound + i);
    hn::StoreU(hn::IfThenElse(held, square, nan), d, at.square + i);
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) bound_at(errors, to, i);
  if (i == n) return;
  constexpr std::size_t kMost = hn::MaxLanes(d);
  double in[4][kMost] = {}, out[3][kMost];
  const double* const from[] = {errors.e, errors.mean, errors.variance, errors.drift};
  for (std::size_t a = 0; a < 4; ++a) std::copy(from[a] + i, from[a] + n, in[a]);
  bound_at({in[0], in[1], in[2], in[3]}, {out[0], out[1], out[2]}, 0);
  std::copy_n(out[0], n - i, to.deviation + i);
  std::copy_n(out[1], n - i, to.bound + i);
  std::copy_n(out[2], n - i, to.square + i);
}

void scaled_roots_impl(std::size_t n, const double* scale, const double* square, double* to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V root = hn::Sqrt(hn::Max(hn::LoadU(d, square + i), hn::Zero(d)));
    hn::StoreU(hn::Mul(hn::Abs(hn::LoadU(d, scale + i)), root), d, to + i);
  }
  for (; i < n; ++i) to[i] = std::abs(scale[i]) * std::sqrt(std::max(square[i], 0.0));
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(square_moments_impl);
HWY_EXPORT(error_bounds_impl);
HWY_EXPORT(scaled_roots_impl);

NormalTable::NormalTable() {
  for (int i = 0; i <= kPlaces; ++i) {
    const double z = static_cast<double>(i) / kPerUnit - kCertain;
    probability[i] = std::erfc(-z / std::sqrt(2.0)) / 2;
    density[i] = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
  }
}

double NormalTable::below(double z) const {
  if (!(std::abs(z) < kCertain)) return z > 0 ? 1 : 0;
  const double place = std::nearbyint((z + kCertain) * kPerUnit);
  const double from = place * (1.0 / kPerUnit) - kCertain, t = z - from;
  const double third = (from * from - 1) * (1.0 / 6), second = t * third - from * 0.5;
  const auto i = static_cast<std::size_t>(place);
  return probability[i] + density[i] * t * (t * second + 1);
}

const NormalTable& normal_table() {
  static const NormalTable table;
  return table;
}

void square_moments(const LastDigits& last, double smooth, std::size_t n, const double* e,
                    const double* mean, const double* deviation, const SquareMomentArrays& to) {
  HWY_DYNAMIC_DISPATCH(square_moments_impl)
  (last, smooth, normal_table(), n, e, mean, deviation, to);
}

void error_bounds(const LastDigits& last, double golden_error, double reach, std::size_t n,
                  const ErrorsBefore& errors, const ErrorBounds& to) {
  HWY_DYNAMIC_DISPATCH(error_bounds_impl)(last, golden_error, reach, n, errors, to);
}

void scaled_roots(std::size_t n, const double* scale, const double* square, double* to) {
  HWY_DYNAMIC_DISPATCH(scaled_roots_impl)(n, scale, square, to);
}

}  // namespace assay::simd
#endif
