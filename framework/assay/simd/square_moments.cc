#include "assay/simd/square_moments.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/square_moments.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;
using Bits = hn::RebindToUnsigned<D>;

struct Moments {
  V mean, variance, jump, mean_error;
};

// The arithmetic of a last rounding. format/nearest.h has the same of single numbers.
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
  // The next number above x, which is one of the format's.
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

HWY_INLINE V normal_below(const NormalTable& table, V z) {
  const D d;
  const hn::RebindToSigned<D> places;
  const auto inside = hn::Lt(hn::Abs(z), hn::Set(d, NormalTable::kCertain));
  const auto per_unit = hn::Set(d, NormalTable::kPerUnit);
  const auto place =
      hn::IfThenElseZero(inside, hn::Mul(hn::Add(z, hn::Set(d, NormalTable::kCertain)), per_unit));
  // 7 less an ulp is rounded up.
  const auto floor = hn::Min(hn::Floor(place), hn::Set(d, NormalTable::kPlaces - 1));
  const auto i = hn::ConvertTo(places, floor);
  const auto t = hn::Sub(place, floor);
  V sum = hn::GatherIndex(d, table.terms[3], i);
  sum = hn::Add(hn::GatherIndex(d, table.terms[2], i), hn::Mul(t, sum));
  sum = hn::Add(hn::GatherIndex(d, table.terms[1], i), hn::Mul(t, sum));
  sum = hn::Add(hn::GatherIndex(d, table.terms[0], i), hn::Mul(t, sum));
  const auto certain = hn::IfThenElseZero(hn::Gt(z, hn::Zero(d)), hn::Set(d, 1));
  return hn::IfThenElse(inside, sum, certain);
}

// The sums over all values that the elements of the mask may have.
HWY_INLINE void sum_values(const Rounding& last, const NormalTable& table, M mask, V e, V centre,
                           V deviation, V ulp, Moments& to) {
  const D d;
  const auto one = hn::Set(d, 1), zero = hn::Zero(d), two = hn::Set(d, 2);
  const auto summed = hn::Mul(hn::Set(d, kSummed), deviation);
  V value = hn::IfThenElse(mask, last.rounded(hn::Sub(centre, summed)), centre);
  const V end = hn::IfThenElse(mask, last.rounded(hn::Add(centre, summed)), centre);
  V mean = zero, mean_error = zero, fourth = zero, below = zero;
  M left = mask;
  while (!hn::AllFalse(d, left)) {
    const M is_last = hn::Eq(value, end);
    const V next = hn::IfThenElse(is_last, value, last.next(value));
    const V middle = hn::Mul(hn::Add(value, next), hn::Set(d, 0.5));
    const V z = hn::Div(hn::Sub(middle, centre), deviation);
    const V up_to = hn::IfThenElse(is_last, one, normal_below(table, z));
    const V chance = hn::IfThenElseZero(left, hn::Sub(up_to, below));
    const V error = hn::Sub(value, e), square = hn::Mul(error, error);
    const V part = hn::Mul(chance, square);
    mean = hn::Add(mean, part);
    mean_error = hn::Add(mean_error, hn::Mul(chance, error));
    fourth = hn::Add(fourth, hn::Mul(part, square));
    below = up_to;
    left = hn::AndNot(is_last, left);
    value = next;
  }
  const V variance = hn::Max(hn::Sub(fourth, hn::Mul(mean, mean)), zero);
  const V most = hn::Min(hn::Mul(hn::Set(d, kReach), deviation), ulp);
  to.mean = hn::IfThenElse(mask, mean, to.mean);
  to.variance = hn::IfThenElse(mask, variance, to.variance);
  to.jump = hn::IfThenElse(mask, hn::Mul(hn::Mul(two, most), ulp), to.jump);
  to.mean_error = hn::IfThenElse(mask, mean_error, to.mean_error);
}

HWY_INLINE Moments moments_of(const Rounding& last, const NormalTable& table, V smooth_from, V e,
                              V mean, V deviation) {
  const D d;
  const auto zero = hn::Zero(d), two = hn::Set(d, 2), four = hn::Set(d, 4);
  const auto nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  const V centre = hn::Add(e, mean), size = hn::Abs(centre), ulp = last.ulp(size);
  const M known = last.holds(size);
  const M smooth = hn::And(known, hn::Gt(deviation, hn::Mul(smooth_from, ulp)));
  const V variance =
      hn::Add(hn::Mul(deviation, deviation), hn::Div(hn::Mul(ulp, ulp), hn::Set(d, 12)));
  Moments to;
  to.mean = hn::IfThenElse(smooth, hn::Add(hn::Mul(mean, mean), variance), nan);
  to.variance = hn::IfThenElse(smooth,
                               hn::Add(hn::Mul(hn::Mul(two, variance), variance),
                                       hn::Mul(hn::Mul(hn::Mul(four, mean), mean), variance)),
                               nan);
  to.jump = hn::IfThenElse(smooth, zero, nan);
  to.mean_error = hn::IfThenElse(smooth, mean, nan);
  if (hn::AllTrue(d, smooth)) return to;
  const V reach = hn::Mul(hn::Set(d, kReach), deviation);
  const V low = hn::Sub(centre, reach), high = hn::Add(centre, reach);
  const M held = hn::And(last.holds(low), last.holds(high));
  const M stepped = hn::AndNot(smooth, hn::And(known, held));
  const V least = last.rounded(low), error = hn::Sub(least, e);
  const M same = hn::And(stepped, hn::Eq(least, last.rounded(high)));
  to.mean = hn::IfThenElse(same, hn::Mul(error, error), to.mean);
  to.variance = hn::IfThenElse(same, zero, to.variance);
  to.jump = hn::IfThenElse(same, zero, to.jump);
  to.mean_error = hn::IfThenElse(same, error, to.mean_error);
  const M several = hn::AndNot(same, stepped);
  if (!hn::AllFalse(d, several)) {
    sum_values(last, table, several, e, centre, deviation, ulp, to);
  }
  return to;
}

void square_moments_impl(const LastDigits& digits, double smooth_from, const NormalTable& table,
                         std::size_t n, const double* e, const double* mean,
                         const double* deviation, const SquareMomentArrays& to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const Rounding last(digits);
  const V smooth = hn::Set(d, smooth_from);
  const auto vector_at = [&](const double* of_e, const double* of_mean, const double* of_deviation,
                             const SquareMomentArrays& at, std::size_t i) HWY_ATTR {
    const Moments m = moments_of(last, table, smooth, hn::LoadU(d, of_e + i),
                                 hn::LoadU(d, of_mean + i), hn::LoadU(d, of_deviation + i));
    hn::StoreU(m.mean, d, at.mean + i);
    hn::StoreU(m.variance, d, at.variance + i);
    hn::StoreU(m.jump, d, at.jump + i);
    hn::StoreU(m.mean_error, d, at.mean_error + i);
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) vector_at(e, mean, deviation, to, i);
  if (i == n) return;
  constexpr std::size_t kMost = hn::MaxLanes(d);
  double in[3][kMost] = {}, out[4][kMost];
  std::copy(e + i, e + n, in[0]);
  std::copy(mean + i, mean + n, in[1]);
  std::copy(deviation + i, deviation + n, in[2]);
  vector_at(in[0], in[1], in[2], {out[0], out[1], out[2], out[3]}, 0);
  std::copy_n(out[0], n - i, to.mean + i);
  std::copy_n(out[1], n - i, to.variance + i);
  std::copy_n(out[2], n - i, to.jump + i);
  std::copy_n(out[3], n - i, to.mean_error + i);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {

HWY_EXPORT(square_moments_impl);

NormalTable::NormalTable() {
  const auto below_place = [](int i) {
    return std::erfc(-(static_cast<double>(i) / kPerUnit - kCertain) / std::sqrt(2.0)) / 2;
  };
  const auto slope = [](int i) {
    const double z = static_cast<double>(i) / kPerUnit - kCertain;
    return std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0)) / kPerUnit;
  };
  for (int i = 0; i < kPlaces; ++i) {
    const double rise = below_place(i + 1) - below_place(i);
    terms[0][i] = below_place(i);
    terms[1][i] = slope(i);
    terms[2][i] = 3 * rise - 2 * slope(i) - slope(i + 1);
    terms[3][i] = slope(i) + slope(i + 1) - 2 * rise;
  }
}

double NormalTable::below(double z) const {
  if (!(std::abs(z) < kCertain)) return z > 0 ? 1 : 0;
  const double place = (z + kCertain) * kPerUnit;
  const int i = std::min(static_cast<int>(place), kPlaces - 1);  // 7 less an ulp is rounded up
  const double t = place - i;
  return terms[0][i] + t * (terms[1][i] + t * (terms[2][i] + t * terms[3][i]));
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

}  // namespace assay::simd
#endif
