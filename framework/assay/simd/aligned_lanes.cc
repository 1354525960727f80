#include "assay/simd/aligned_lanes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/aligned_lanes.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, kLanes>;
using DU = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
using VU = hn::Vec<DU>;
constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;  // 1.0

template <ToInteger kRounding>
HWY_INLINE V integer_of(V x) {
  const D d;
  if constexpr (kRounding == ToInteger::kNearestEven) {
    return hn::Round(x);
  } else if constexpr (kRounding == ToInteger::kDown) {
    return hn::Floor(x);
  } else if constexpr (kRounding == ToInteger::kUp) {
    return hn::Ceil(x);
  } else if constexpr (kRounding == ToInteger::kTowardZero) {
    return hn::Trunc(x);
  } else {
    const V cut = hn::Trunc(x), left = hn::Sub(x, cut);
    const V one = hn::CopySign(hn::Set(d, 1.0), x);
    if constexpr (kRounding == ToInteger::kNearestAway) {
      return hn::Add(cut, hn::IfThenElseZero(hn::Ge(hn::Abs(left), hn::Set(d, 0.5)), one));
    } else {
      const V half = hn::Mul(cut, hn::Set(d, 0.5));
      const auto moves = hn::And(hn::Eq(hn::Trunc(half), half), hn::Ne(left, hn::Zero(d)));
      return hn::Add(cut, hn::IfThenElseZero(moves, one));
    }
  }
}

// So many vectors at once: a chunk waits for the one before it.
template <ToInteger kAlignment, bool kShared, int kVectors>
HWY_INLINE void add_to_vectors(const AlignedModel& model, std::int64_t n, const AlignedTerms& terms,
                               const double* kept, double* c, bool* doubtful) {
  const D d;
  const double *products = terms.products, *powers = terms.powers;
  const auto load = [&](const double* values, std::int64_t k, int v) HWY_ATTR {
    return hn::LoadU(d, values + k * terms.stride +
                            static_cast<std::int64_t>(v) * static_cast<std::int64_t>(hn::Lanes(d)));
  };
  const DU du;
  constexpr std::size_t kStep = hn::MaxLanes(D());
  const BitRounding& to = model.rounding;
  const V zero = hn::Zero(d), one = hn::Set(d, 1.0), least = hn::Set(d, model.least);
  const V low = hn::Set(d, to.low), high = hn::Set(d, to.high);
  const VU exponent = hn::Set(du, std::uint64_t{0x7ff} << 52), rest = hn::Set(du, to.rest);
  const VU up = hn::Set(du, to.added[0]), down = hn::Set(du, to.added[1]);
  const VU to_even = hn::Set(du, to.to_even), to_odd = hn::Set(du, to.to_odd);
  V sum[kVectors];
  VU bits[kVectors];  // that are kept, in the place of a float64's exponent
  hn::Mask<D> bad[kVectors];
  ASSAY_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    sum[v] = hn::LoadU(d, c + static_cast<std::size_t>(v) * kStep);
    bits[v] = hn::Sub(hn::BitCast(du, hn::LoadU(d, kept + static_cast<std::size_t>(v) * kStep)),
                      hn::Set(du, kOne));
    bad[v] = hn::Ne(sum[v], sum[v]);
  }
  for (std::int64_t begin = 0; begin < n; begin += model.chunk) {
    const std::int64_t end = std::min<std::int64_t>(begin + model.chunk, n);
    V of_products[kVectors];
    if constexpr (kShared) {
      double most = model.floor;
      for (std::int64_t k = begin; k < end; ++k) most = std::max(most, powers[k]);
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) of_products[v] = hn::Set(d, most);
    } else {
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        of_products[v] = hn::Set(d, model.floor);
        for (std::int64_t k = begin; k < end; ++k) {
          of_products[v] = hn::Max(of_products[v], load(powers, k, v));
        }
      }
    }
    V scale[kVectors], back[kVectors], total[kVectors];
    ASSAY_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const V power = hn::BitCast(d, hn::And(hn::BitCast(du, sum[v]), exponent));
      const V of_sum = hn::IfThenElseZero(hn::Gt(power, zero), hn::Max(power, least));
      const V largest = hn::Max(of_sum, of_products[v]);
      // Of zeros alone: any will do.
      const VU e = hn::BitCast(du, hn::IfThenElse(hn::Eq(largest, zero), one, largest));
      scale[v] = hn::BitCast(d, hn::Sub(hn::Add(bits[v], hn::Set(du, 2 * kOne)), e));
      back[v] = hn::BitCast(d, hn::Sub(e, bits[v]));
      total[v] = integer_of<kAlignment>(hn::Mul(sum[v], scale[v]));
    }
    for (std::int64_t k = begin; k < end; ++k) {
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const V product = kShared ? hn::Set(d, products[k]) : load(products, k, v);
        total[v] = hn::Add(total[v], integer_of<kAlignment>(hn::Mul(product, scale[v])));
      }
    }
    ASSAY_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const V exact = hn::Mul(total[v], back[v]), size = hn::Abs(exact);
      const auto is_zero = hn::Eq(exact, zero);
      const auto in_range = hn::And(hn::Ge(size, low), hn::Lt(size, high));
      bad[v] = hn::Or(bad[v], hn::Not(hn::Or(in_range, is_zero)));
      const VU of_exact = hn::BitCast(du, exact);
      const VU added = hn::IfThenElse(hn::RebindMask(du, hn::Lt(exact, zero)), down, up);
      const VU last = hn::And(hn::ShiftRightSame(of_exact, to.shift), to_even);
      const VU carried = hn::AndNot(rest, hn::Add(hn::Add(of_exact, added), last));
      const auto is_whole = hn::Eq(hn::And(of_exact, rest), hn::Zero(du));
      const VU rounded = hn::Or(carried, hn::IfThenZeroElse(is_whole, to_odd));
      sum[v] = hn::IfThenZeroElse(is_zero, hn::BitCast(d, rounded));
    }
  }
  ASSAY_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(sum[v], d, c + static_cast<std::size_t>(v) * kStep);
    HWY_ALIGN double flags[kStep];
    hn::Store(hn::IfThenElseZero(bad[v], one), d, flags);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      doubtful[static_cast<std::size_t>(v) * kStep + i] = flags[i] != 0;
    }
  }
}

template <ToInteger kAlignment, bool kShared>
void add_by(const AlignedModel& model, std::int64_t n, AlignedTerms terms, std::int64_t lanes,
            const double* kept, double* c, bool* doubtful) {
  const auto step = static_cast<std::int64_t>(hn::Lanes(D()));
  const auto on = [&](std::int64_t by) {
    kept += by;
    c += by;
    doubtful += by;
    lanes -= by;
    if (kShared) return;
    terms.products += by;
    terms.powers += by;
  };
  while (lanes >= 4 * step) {
    add_to_vectors<kAlignment, kShared, 4>(model, n, terms, kept, c, doubtful);
    on(4 * step);
  }
  while (lanes > 0) {
    add_to_vectors<kAlignment, kShared, 1>(model, n, terms, kept, c, doubtful);
    on(step);
  }
}

void add_aligned_impl(const AlignedModel& model, std::int64_t n, const AlignedTerms& terms,
                      std::int64_t lanes, const double* kept, double* c, bool* doubtful) {
  const auto run = [&]<ToInteger kAlignment>() {
    terms.stride == 0 ? add_by<kAlignment, true>(model, n, terms, lanes, kept, c, doubtful)
                      : add_by<kAlignment, false>(model, n, terms, lanes, kept, c, doubtful);
  };
  switch (model.alignment) {
    case ToInteger::kNearestEven:
      return run.template operator()<ToInteger::kNearestEven>();
    case ToInteger::kNearestAway:
      return run.template operator()<ToInteger::kNearestAway>();
    case ToInteger::kTowardZero:
      return run.template operator()<ToInteger::kTowardZero>();
    case ToInteger::kUp:
      return run.template operator()<ToInteger::kUp>();
    case ToInteger::kDown:
      return run.template operator()<ToInteger::kDown>();
    case ToInteger::kToOdd:
      return run.template operator()<ToInteger::kToOdd>();
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {

HWY_EXPORT(add_aligned_impl);

void add_aligned(const AlignedModel& model, std::int64_t n, const AlignedTerms& terms,
                 std::int64_t lanes, const double* kept, double* c, bool* doubtful) {
  HWY_DYNAMIC_DISPATCH(add_aligned_impl)(model, n, terms, lanes, kept, c, doubtful);
}

}  // namespace assay::simd
#endif
