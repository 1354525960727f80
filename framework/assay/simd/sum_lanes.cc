#include "assay/simd/sum_lanes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/sum_lanes.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, kLanes>;
using DU = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
using VU = hn::Vec<DU>;
constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;  // 1.0
constexpr int kMostChunk = 128;

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

using M = hn::Mask<D>;

HWY_INLINE V load_lanes(const LaneTerms& terms, const double* values, std::int64_t k, int v) {
  const D d;
  return hn::LoadU(d, values + k * terms.stride +
                          static_cast<std::int64_t>(v) * static_cast<std::int64_t>(hn::Lanes(d)));
}

// Rounds sums, which are exact or were rounded to odd, and marks those that are beyond the range of
// the integer arithmetic.
struct Rounder {
  V low, high;
  VU rest, up, down, to_even, to_odd;
  int shift;

  explicit HWY_INLINE Rounder(const BitRounding& to)
      : low(hn::Set(D(), to.low)),
        high(hn::Set(D(), to.high)),
        rest(hn::Set(DU(), to.rest)),
        up(hn::Set(DU(), to.added[0])),
        down(hn::Set(DU(), to.added[1])),
        to_even(hn::Set(DU(), to.to_even)),
        to_odd(hn::Set(DU(), to.to_odd)),
        shift(to.shift) {}

  HWY_INLINE V operator()(V sum, M& bad) const {
    const D d;
    const DU du;
    const V zero = hn::Zero(d), size = hn::Abs(sum);
    const M is_zero = hn::Eq(sum, zero);
    const M in_range = hn::And(hn::Ge(size, low), hn::Lt(size, high));
    bad = hn::Or(bad, hn::Not(hn::Or(in_range, is_zero)));
    const VU bits = hn::BitCast(du, sum);
    const VU added = hn::IfThenElse(hn::RebindMask(du, hn::Lt(sum, zero)), down, up);
    const VU last = hn::And(hn::ShiftRightSame(bits, shift), to_even);
    const VU carried = hn::AndNot(rest, hn::Add(hn::Add(bits, added), last));
    const auto is_whole = hn::Eq(hn::And(bits, rest), hn::Zero(du));
    const VU rounded = hn::Or(carried, hn::IfThenZeroElse(is_whole, to_odd));
    return hn::IfThenElse(is_zero, sum, hn::BitCast(d, rounded));
  }
};

// Returns x + y, rounded to odd with 53 bits.
HWY_INLINE V odd_sum(V x, V y) {
  const D d;
  const DU du;
  const V zero = hn::Zero(d), sum = hn::Add(x, y), of_y = hn::Sub(sum, x);
  const V error = hn::Add(hn::Sub(x, hn::Sub(sum, of_y)), hn::Sub(y, of_y));
  const VU bits = hn::BitCast(du, sum), one = hn::Set(du, 1);
  const auto stays =
      hn::Or(hn::RebindMask(du, hn::Eq(error, zero)), hn::Ne(hn::And(bits, one), hn::Zero(du)));
  const auto grows = hn::RebindMask(
      du, hn::Gt(hn::Mul(hn::CopySign(hn::Set(d, 1.0), error), hn::CopySign(hn::Set(d, 1.0), sum)),
                 zero));
  const VU moved = hn::IfThenElse(grows, hn::Add(bits, one), hn::Sub(bits, one));
  return hn::BitCast(d, hn::IfThenElse(stays, bits, moved));
}

template <int kVectors>
HWY_INLINE void store_lanes(const V* sum, const M* bad, double* c, unsigned char* doubtful) {
  const D d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(sum[v], d, c + v * step);
    HWY_ALIGN double flags[hn::MaxLanes(D())];
    hn::Store(hn::IfThenElseZero(bad[v], hn::Set(d, 1.0)), d, flags);
    for (std::int64_t i = 0; i < step; ++i) {
      if (flags[i] != 0) doubtful[v * step + i] = 1;
    }
  }
}

// Adds the products of kVectors vectors of lanes, for one model. Each lane has its own terms.
template <bool kTree, int kVectors>
HWY_INLINE void add_by_steps(const LaneModel& model, std::int64_t n, const LaneTerms& terms,
                             double* c, unsigned char* doubtful) {
  const D d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const Rounder round(model.rounding);
  V sum[kVectors];
  M bad[kVectors];
  ASSAY_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    sum[v] = hn::LoadU(d, c + v * step);
    bad[v] = hn::Ne(sum[v], sum[v]);
  }
  for (std::int64_t begin = 0; begin < n; begin += model.chunk) {
    const auto count = static_cast<int>(std::min<std::int64_t>(model.chunk, n - begin));
    V of_chunk[kVectors], values[kTree ? kMostChunk : 1][kVectors];
    const auto term = [&](int k, int v) HWY_ATTR {
      const V product = load_lanes(terms, terms.products, begin + k, v);
      return model.rounds_products ? round(product, bad[v]) : product;
    };
    if constexpr (kTree) {
      for (int k = 0; k < count; ++k) {
        ASSAY_UNROLL
        for (int v = 0; v < kVectors; ++v) values[k][v] = term(k, v);
      }
      for (int left = count; left > 1; left = (left + 1) / 2) {
        for (int k = 0; k < left; k += 2) {
          ASSAY_UNROLL
          for (int v = 0; v < kVectors; ++v) {
            values[k / 2][v] = k + 1 < left ? round(odd_sum(values[k][v], values[k + 1][v]), bad[v])
                                            : values[k][v];
          }
        }
      }
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) of_chunk[v] = values[0][v];
    } else {
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        of_chunk[v] = term(0, v);
        // If a chunk has a single product, it is added to the accumulator without this rounding.
        if (model.chunk > 1) of_chunk[v] = round(of_chunk[v], bad[v]);
      }
      for (int k = 1; k < count; ++k) {
        ASSAY_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          of_chunk[v] = round(odd_sum(of_chunk[v], term(k, v)), bad[v]);
        }
      }
    }
    ASSAY_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      sum[v] = round(odd_sum(sum[v], of_chunk[v]), bad[v]);
    }
  }
  store_lanes<kVectors>(sum, bad, c, doubtful);
}

// Adds the products of kVectors vectors of lanes at once, because each chunk of a lane waits for
// the chunk before it.
template <ToInteger kAlignment, bool kShared, int kVectors>
HWY_INLINE void add_to_vectors(const LaneModel& model, std::int64_t n, const LaneTerms& terms,
                               const double* kept, double* c, unsigned char* doubtful) {
  const D d;
  const DU du;
  const double *products = terms.products, *powers = terms.powers;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const Rounder round(model.rounding);
  const V zero = hn::Zero(d), one = hn::Set(d, 1.0), least = hn::Set(d, model.least);
  const VU exponent = hn::Set(du, std::uint64_t{0x7ff} << 52);
  V sum[kVectors];
  // The number of kept bits, in the place of a float64's exponent.
  VU bits[kVectors];
  M bad[kVectors];
  ASSAY_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    sum[v] = hn::LoadU(d, c + v * step);
    bits[v] = hn::Sub(hn::BitCast(du, hn::LoadU(d, kept + v * step)), hn::Set(du, kOne));
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
          of_products[v] = hn::Max(of_products[v], load_lanes(terms, powers, k, v));
        }
      }
    }
    V scale[kVectors], back[kVectors], total[kVectors];
    ASSAY_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const V power = hn::BitCast(d, hn::And(hn::BitCast(du, sum[v]), exponent));
      const V of_sum = hn::IfThenElseZero(hn::Gt(power, zero), hn::Max(power, least));
      const V largest = hn::Max(of_sum, of_products[v]);
      // If all terms are 0, any exponent gives the sum 0.
      const VU e = hn::BitCast(du, hn::IfThenElse(hn::Eq(largest, zero), one, largest));
      scale[v] = hn::BitCast(d, hn::Sub(hn::Add(bits[v], hn::Set(du, 2 * kOne)), e));
      back[v] = hn::BitCast(d, hn::Sub(e, bits[v]));
      total[v] = integer_of<kAlignment>(hn::Mul(sum[v], scale[v]));
    }
    for (std::int64_t k = begin; k < end; ++k) {
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const V product = kShared ? hn::Set(d, products[k]) : load_lanes(terms, products, k, v);
        total[v] = hn::Add(total[v], integer_of<kAlignment>(hn::Mul(product, scale[v])));
      }
    }
    ASSAY_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      // Adding +0 removes the sign of a sum that is cut to 0, as the unit does.
      sum[v] = hn::Add(round(hn::Mul(total[v], back[v]), bad[v]), zero);
    }
  }
  store_lanes<kVectors>(sum, bad, c, doubtful);
}

template <ToInteger kAlignment, bool kShared>
void add_by(const LaneModel& model, std::int64_t n, LaneTerms terms, std::int64_t lanes,
            const double* kept, double* c, unsigned char* doubtful) {
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

template <ToInteger kAlignment>
void add_aligned(const LaneModel& model, std::int64_t n, const LaneTerms& terms, std::int64_t lanes,
                 const double* kept, double* c, unsigned char* doubtful) {
  terms.stride == 0 ? add_by<kAlignment, true>(model, n, terms, lanes, kept, c, doubtful)
                    : add_by<kAlignment, false>(model, n, terms, lanes, kept, c, doubtful);
}

template <bool kTree>
void add_all_by_steps(const LaneModel& model, std::int64_t n, const LaneTerms& terms,
                      std::int64_t lanes, double* c, unsigned char* doubtful) {
  constexpr int kVectors = kLanes / static_cast<int>(hn::MaxLanes(D()));
  for (std::int64_t i = 0; i < lanes; i += kLanes) {
    const LaneTerms from{terms.products + i, terms.powers, terms.stride};
    add_by_steps<kTree, kVectors>(model, n, from, c + i, doubtful + i);
  }
}

void add_lanes_impl(const LaneModel& model, std::int64_t n, const LaneTerms& terms,
                    std::int64_t lanes, const double* kept, double* c, unsigned char* doubtful) {
  if (model.order == LaneOrder::kTree) {
    return add_all_by_steps<true>(model, n, terms, lanes, c, doubtful);
  }
  if (model.order == LaneOrder::kOneByOne) {
    return add_all_by_steps<false>(model, n, terms, lanes, c, doubtful);
  }
  switch (model.alignment) {
    case ToInteger::kNearestEven:
      return add_aligned<ToInteger::kNearestEven>(model, n, terms, lanes, kept, c, doubtful);
    case ToInteger::kNearestAway:
      return add_aligned<ToInteger::kNearestAway>(model, n, terms, lanes, kept, c, doubtful);
    case ToInteger::kTowardZero:
      return add_aligned<ToInteger::kTowardZero>(model, n, terms, lanes, kept, c, doubtful);
    case ToInteger::kUp:
      return add_aligned<ToInteger::kUp>(model, n, terms, lanes, kept, c, doubtful);
    case ToInteger::kDown:
      return add_aligned<ToInteger::kDown>(model, n, terms, lanes, kept, c, doubtful);
    case ToInteger::kToOdd:
      return add_aligned<ToInteger::kToOdd>(model, n, terms, lanes, kept, c, doubtful);
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(add_lanes_impl);

void add_lanes(const LaneModel& model, std::int64_t n, const LaneTerms& terms, std::int64_t lanes,
               const double* kept, double* c, unsigned char* doubtful) {
  HWY_DYNAMIC_DISPATCH(add_lanes_impl)(model, n, terms, lanes, kept, c, doubtful);
}

}  // namespace assay::simd
#endif
