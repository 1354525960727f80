#include "assay/simd/metrics_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/metrics_kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "assay/simd/ordinals-inl.h"
#include "assay/simd/read_ahead.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

using D = hn::CappedTag<double, kMetricsLanes>;
using DU = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
using VU = hn::Vec<DU>;

// Number of 16-bit fields of a lane. Three of them hold the counters of the absolute error, the
// relative error and the ulps.
constexpr std::size_t kFields = 4;

// The counters of a vector are read after kDelay more vectors. Narrow loads of data that a wide
// store has just written wait until the data is in the cache.
constexpr std::size_t kDelay = 4;

constexpr std::size_t kSlot = kMetricsLanes * kFields;  // of one vector

// Returns the place in `room` for the counters of kDelay vectors. Its position in its page must not
// be that of the table's bins of 0 and of a few ulps, because a load waits for an earlier store if
// the low 12 bits of their addresses agree.
constexpr std::size_t kAlign = 64;
constexpr std::size_t kPage = 4096 / sizeof(std::uint16_t);
HWY_INLINE std::uint16_t* away_from(const std::uint16_t* tables, std::uint16_t* room) {
  const auto apart =
      reinterpret_cast<std::uintptr_t>(room) - reinterpret_cast<std::uintptr_t>(tables);
  const std::size_t shift = (4096 + 2048 - apart % 4096) % 4096 / kAlign * kAlign;
  return room + shift / sizeof(std::uint16_t);
}

// Computes the indices of the counters of a vector's errors. The signs are clear, so that exponent
// and leading mantissa bits fit 16 bits. Errors below the first bin saturate to bin 0.
HWY_INLINE void counters_of(V abs, V rel, V ulps, std::uint16_t* to) {
  static_assert(kErrorBins * kMetricsLanes < 65536);
  constexpr std::uint64_t kErrorBase = ((1023 - kErrorExponent) << kErrorBinBits) - 1;
  constexpr std::uint64_t kUlpBase = (1023 << kUlpBinBits) - 1;
  const DU du;
  const auto abs_code = hn::ShiftRight<52 - kErrorBinBits>(hn::BitCast(du, abs));
  const auto rel_code = hn::ShiftRight<52 - kErrorBinBits>(hn::BitCast(du, rel));
  const auto ulp_code = hn::ShiftRight<52 - kUlpBinBits>(hn::BitCast(du, ulps));
#if HWY_TARGET == HWY_SCALAR
  const auto counter = [](auto code, std::uint64_t base, std::size_t bins) HWY_ATTR {
    const std::uint64_t value = hn::GetLane(code);
    const std::uint64_t bin = value > base ? value - base : 0;
    return static_cast<std::uint16_t>(std::min<std::uint64_t>(bin, bins - 1) * kMetricsLanes);
  };
  to[0] = counter(abs_code, kErrorBase, kErrorBins);
  to[1] = counter(rel_code, kErrorBase, kErrorBins);
  to[2] = counter(ulp_code, kUlpBase, kUlpBins);
#else
  const hn::Repartition<std::uint16_t, D> d16;
  const auto fields = [&](std::uint64_t errors, std::uint64_t of_ulps) HWY_ATTR {
    return hn::BitCast(d16, hn::Set(du, errors | errors << 16 | of_ulps << 32));
  };
  const auto code =
      hn::Or(abs_code, hn::Or(hn::ShiftLeft<16>(rel_code), hn::ShiftLeft<32>(ulp_code)));
  const auto bin = hn::Min(hn::SaturatedSub(hn::BitCast(d16, code), fields(kErrorBase, kUlpBase)),
                           fields(kErrorBins - 1, kUlpBins - 1));
  hn::Store(hn::ShiftLeft<3>(bin), d16, to);
  static_assert(kMetricsLanes == 8);
#endif
}

// Increments the counters of the lanes [first, first + lanes) in the tables.
HWY_INLINE void count_bins(const std::uint16_t* counters, std::size_t first, std::size_t lanes,
                           std::uint16_t* tables) {
  std::uint16_t* const abs = tables + first;
  std::uint16_t* const rel = abs + kErrorBins * kMetricsLanes;
  std::uint16_t* const ulps = rel + kErrorBins * kMetricsLanes;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::uint16_t* const of = counters + lane * kFields;
    ++abs[of[0] + lane];
    ++rel[of[1] + lane];
    ++ulps[of[2] + lane];
  }
}

HWY_INLINE V load(const double* p) { return hn::LoadU(D(), p); }
HWY_INLINE V load(const float* p) {
  return hn::PromoteTo(D(), hn::LoadU(hn::Rebind<float, D>(), p));
}

// The sums and maxima that each lane of a vector collects.
template <unsigned kParts>
struct Sums {
  V abs, signed_error, rel, floored, balance, noise, signal, actual, product, expected, ulps;
  V max_abs, max_rel, max_floored, max_balance, max_expected, max_ulps;

  static HWY_INLINE Sums none() {
    const V z = hn::Zero(D());
    return {z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z};
  }

  // Adds one vector of elements. `relative` is |error| / |e|, or 0 if e is 0. `divided` is the
  // same, but |error| if e is 0.
  HWY_INLINE void add(V a, V e, V error, V relative, V divided, V apart) {
    const V size = hn::Abs(error), size_e = hn::Abs(e);
    abs = hn::Add(abs, size);
    expected = hn::Add(expected, size_e);
    max_abs = hn::Max(max_abs, size);
    max_expected = hn::Max(max_expected, size_e);
    if constexpr ((kParts & kPartTables) != 0) signed_error = hn::Add(signed_error, error);
    if constexpr ((kParts & kPartRelative) != 0) {
      // |error| / max(1, |e|) is the smaller of |error| and `divided`.
      const V balanced = hn::Min(size, divided);
      rel = hn::Add(rel, relative);
      balance = hn::Add(balance, hn::CopySign(balanced, error));
      max_rel = hn::Max(max_rel, relative);
      max_balance = hn::Max(max_balance, balanced);
    }
    if constexpr ((kParts & kPartFloored) != 0) {
      const V over = hn::Div(size, hn::Add(size_e, hn::Set(D(), 1e-7)));
      floored = hn::Add(floored, over);
      max_floored = hn::Max(max_floored, over);
    }
    if constexpr ((kParts & kPartSquares) != 0) {
      noise = hn::Add(noise, hn::Mul(error, error));
      signal = hn::Add(signal, hn::Mul(e, e));
      actual = hn::Add(actual, hn::Mul(a, a));
      product = hn::Add(product, hn::Mul(a, e));
    }
    if constexpr ((kParts & kPartUlps) != 0) {
      ulps = hn::Add(ulps, apart);
      max_ulps = hn::Max(max_ulps, apart);
    }
  }

  HWY_INLINE void store(double (*sums)[kMetricsLanes], double (*maxima)[kMetricsLanes],
                        std::size_t first) const {
    const V all_sums[] = {abs,    signed_error, rel,     floored,  balance, noise,
                          signal, actual,       product, expected, ulps};
    for (std::size_t s = 0; s < kMetricsSums; ++s) hn::StoreU(all_sums[s], D(), sums[s] + first);
    const V all_maxima[] = {max_abs, max_rel, max_floored, max_balance, max_expected, max_ulps};
    for (std::size_t s = 0; s < kMetricsMaxima; ++s)
      hn::StoreU(all_maxima[s], D(), maxima[s] + first);
  }
};

// Reduces all lanes, in an order that does not depend on the width of a vector.
HWY_INLINE void sum_lanes(const double (*sums)[kMetricsLanes],
                          const double (*maxima)[kMetricsLanes], MetricsBlock& out) {
  for (std::size_t s = 0; s < kMetricsSums; ++s) {
    const double* v = sums[s];
    out.sums[s] = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
  }
  for (std::size_t s = 0; s < kMetricsMaxima; ++s) {
    out.maxima[s] = *std::max_element(maxima[s], maxima[s] + kMetricsLanes);
  }
}

HWY_INLINE std::int64_t count_true(hn::Mask<D> mask) {
  return static_cast<std::int64_t>(hn::CountTrue(D(), mask));
}

// Relative errors of at least these sizes are counted.
constexpr double kOver1e3 = 1e-3, kOver1e4 = 1e-4;

// Computes a block. kSeparate is true if the rounded expected values are another array than the
// expected values.
template <bool kSeparate, typename T>
HWY_INLINE void block_of(const MetricsSpec& spec, const MetricsRecords& records, const T* actual,
                         const T* expected, const T* rounded, const double* errors,
                         const double* given_ulps, std::size_t n, std::uint16_t* tables,
                         MetricsBlock& out) {
  const D d;
  const DU du;
  const hn::RebindToSigned<D> di;
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0);
  constexpr double kMost = std::numeric_limits<double>::max();
  const auto largest = hn::Set(d, kMost);
  const auto min_normal = hn::Set(d, spec.min_normal);
  // Limits above which an element may exceed a record. The caller computes such elements more
  // exactly, so these limits may be a little too low. Without a relative part they are exact. So
  // errors that tie with the largest one, as errors in ulps often do, are not records. Neither is a
  // ratio to the bound, which is then proportional to the error.
  constexpr double kBelow = 1 - 0x1p-40;
  const auto rtol = hn::Set(d, spec.rtol * kBelow);
  const bool exceeds = records.ratio <= kMost && spec.rtol > 0;
  const auto ratio_rtol = hn::Set(d, exceeds ? records.ratio * spec.rtol * kBelow : 0.0);
  const auto ratio_atol = hn::Set(d, exceeds ? records.ratio * spec.atol * kBelow : kMost);
  const auto needed_atol = hn::Set(d, spec.rtol > 0 ? records.atol * kBelow : records.atol);
  // If the expected value is 0, no rtol can cover an error. After such an error, the record for
  // rtol is infinite and no element can exceed it.
  const bool mends = records.rtol <= kMost;
  const auto needed_rtol = hn::Set(d, mends ? records.rtol * kBelow : 0.0);
  const auto atol = hn::Set(d, mends ? spec.atol * kBelow : kMost);
  const auto over_1e3 = hn::Set(d, kOver1e3);
  const auto below_1e4 = hn::Set(d, std::nextafter(kOver1e4, 0.0));
  const auto domain = hn::Set(d, spec.small_domain), domain_error = hn::Set(d, spec.small_error);
  const auto two52 = hn::Set(d, 0x1p52);
  const bool plain = spec.ulp_rule == UlpRule::kOrdinal && errors == nullptr;
  const bool wide = spec.drop < 12;
  // Adding this to the bits of a magnitude carries the exponent of infinity and NaN into the sign.
  const auto to_sign = hn::Set(di, std::int64_t{1} << 52);
  const auto normal_bits = hn::BitCast(di, min_normal);
  const auto none_negative = [&](auto x)
                                 HWY_ATTR { return hn::AllFalse(di, hn::Lt(x, hn::Zero(di))); };
  const auto is_zero = [&](V x) HWY_ATTR { return hn::Eq(x, zero); };
  const auto count = [](auto mask) HWY_ATTR { return count_true(mask); };

  std::memset(&out, 0, sizeof out);
  HWY_ALIGN std::uint16_t room[kPage + kDelay * kSlot];
  HWY_ALIGN double sums[kMetricsSums][kMetricsLanes];
  HWY_ALIGN double maxima[kMetricsMaxima][kMetricsLanes];
  auto differing = hn::Zero(du), inexact = hn::Zero(du);
  for (std::size_t first = 0; first < kMetricsLanes; first += lanes) {
    auto all = Sums<kAllParts>::none();
    std::uint16_t* const counters = away_from(tables, room);
    for (std::size_t i = first; i < n; i += kMetricsLanes) {
      if (sizeof(T) == sizeof(float) && first == 0) {
        read_ahead(actual + i, kMetricsLanes * sizeof(float));
        read_ahead(expected + i, kMetricsLanes * sizeof(float));
      }
      auto a = load(actual + i), e = load(expected + i);
      auto r = kSeparate ? load(rounded + i) : e;
      auto size_a = hn::Abs(a), size_e = hn::Abs(e);
      const auto differs = hn::Xor(hn::BitCast(du, a), hn::BitCast(du, r));
      auto error = hn::Sub(a, e);
      V rel, ulps;
      // The usual case is a vector of normal numbers without a change of sign. Every exception sets
      // a sign bit in `unusual`.
      const auto bits_a = hn::BitCast(di, size_a), bits_e = hn::BitCast(di, size_e);
      const auto bits_r = kSeparate ? hn::BitCast(di, hn::Abs(r)) : bits_e;
      const auto not_finite = hn::Or(hn::Add(bits_a, to_sign), hn::Add(bits_r, to_sign));
      const auto too_small = hn::Or(hn::Sub(bits_a, normal_bits), hn::Sub(bits_e, normal_bits));
      const auto unusual = hn::Or(hn::Or(not_finite, too_small), hn::BitCast(di, differs));
      V divided;
      if (HWY_LIKELY(plain && none_negative(unusual))) {
        differing = hn::Or(differing, differs);
        if (kSeparate) inexact = hn::Or(inexact, hn::Xor(hn::BitCast(du, e), hn::BitCast(du, r)));
        rel = divided = hn::Div(hn::Abs(error), size_e);
        if constexpr (sizeof(T) == sizeof(float)) {
          const hn::Rebind<std::int32_t, D> di32;
          const hn::Rebind<float, D> d32;
          const auto codes_a = hn::BitCast(di32, hn::LoadU(d32, actual + i));
          const auto codes_e = hn::BitCast(di32, hn::LoadU(d32, expected + i));
          ulps = hn::PromoteTo(d, hn::Abs(hn::Sub(codes_a, codes_e)));
        } else {
          const auto bits_apart =
              hn::Abs(hn::BitCast(di, hn::Sub(hn::BitCast(du, a), hn::BitCast(du, r))));
          const auto apart = hn::ShiftRightSame(hn::BitCast(du, bits_apart), spec.drop);
          ulps = wide ? to_float64(d, apart)
                      : hn::Sub(hn::BitCast(d, hn::Or(apart, hn::BitCast(du, two52))), two52);
        }
      } else {
        const auto finite_e = hn::Le(size_e, largest);
        const auto finite = hn::And(hn::Le(size_a, largest), finite_e);
        const auto comparable = kSeparate ? hn::And(finite, hn::Le(hn::Abs(r), largest)) : finite;
        // The caller compares lanes with NaN or infinity. Here they count as actual 0 and expected
        // 0.
        if (!hn::AllTrue(d, comparable)) {
          out.groups[i / kMetricsLanes] |= MetricsBlock::kNotFinite;
          out.not_finite += static_cast<std::int64_t>(lanes) - count(finite);
          out.no_ulps += static_cast<std::int64_t>(lanes) - count(comparable);
        }
        out.zero_actual += count(is_zero(a));
        out.zero_expected += count(is_zero(e));
        out.subnormal_actual += count(hn::And(hn::Lt(size_a, min_normal), hn::Ne(a, zero)));
        out.subnormal_expected += count(hn::And(hn::Lt(size_e, min_normal), hn::Ne(e, zero)));
        differing = hn::Or(differing, hn::IfThenElseZero(hn::RebindMask(du, comparable), differs));
        if (kSeparate) {
          const auto change = hn::Xor(hn::BitCast(du, e), hn::BitCast(du, r));
          inexact = hn::Or(inexact, hn::IfThenElseZero(hn::RebindMask(du, finite_e), change));
        }
        const auto ulps_a = hn::IfThenElseZero(comparable, a);
        r = hn::IfThenElseZero(comparable, r);
        a = hn::IfThenElseZero(finite, a);
        e = hn::IfThenElseZero(finite, e);
        size_e = hn::Abs(e);
        error = hn::Sub(a, e);
        if (errors != nullptr) error = hn::IfThenElseZero(finite, hn::LoadU(d, errors + i));
        const auto none = is_zero(e);
        out.no_relative += count(none);
        out.errors_at_zero += count(hn::And(none, hn::Ne(error, zero)));
        rel =
            hn::IfThenElse(none, zero, hn::Div(hn::Abs(error), hn::IfThenElse(none, one, size_e)));
        divided = hn::IfThenElse(none, hn::Abs(error), rel);
        if (spec.ulp_rule == UlpRule::kOrdinal) {
          ulps = ordinal_distance(d, spec, ulps_a, r);
        } else if (spec.ulp_rule == UlpRule::kDifference) {
          ulps = hn::Abs(hn::Sub(ulps_a, r));
        } else {
          ulps = hn::IfThenElseZero(comparable, hn::LoadU(d, given_ulps + i));
        }
      }
      const auto size = hn::Abs(error);
      all.add(a, e, error, rel, divided, ulps);

      const std::size_t group = i / kMetricsLanes;
      std::uint16_t* const slot = counters + group % kDelay * kSlot;
      if (HWY_LIKELY(group >= kDelay)) count_bins(slot, first, lanes, tables);
      counters_of(size, rel, ulps, slot);

      const auto judged = kSeparate && spec.judged_rounded ? hn::Abs(r) : size_e;
      const auto off = !kSeparate || !spec.judged_rounded ? size
                       : errors == nullptr                ? hn::Abs(hn::Sub(a, r))
                                                          : hn::Abs(hn::Add(error, hn::Sub(e, r)));
      // Each of these numbers is negative if the element has to be checked.
      const auto record = hn::Or(hn::MulAdd(ratio_rtol, judged, hn::Sub(ratio_atol, off)),
                                 hn::Or(hn::MulAdd(rtol, judged, hn::Sub(needed_atol, off)),
                                        hn::MulAdd(needed_rtol, judged, hn::Sub(atol, off))));
      const auto counted = hn::Or(hn::Sub(below_1e4, rel), hn::Sub(size_e, domain));
      if (HWY_UNLIKELY(!none_negative(hn::BitCast(di, hn::Or(record, counted))))) {
        if (!none_negative(hn::BitCast(di, record)))
          out.groups[i / kMetricsLanes] |= MetricsBlock::kRecord;
        const auto over = hn::Gt(rel, below_1e4), small = hn::Lt(size_e, domain);
        out.rel_over_1e4 += count(over);
        out.rel_over_1e3 += count(hn::Ge(rel, over_1e3));
        out.small += count(small);
        out.small_over += count(hn::And(small, hn::Gt(size, domain_error)));
      }
    }
    for (std::size_t last = 0; last < std::min(kDelay, n / kMetricsLanes); ++last) {
      count_bins(counters + last * kSlot, first, lanes, tables);
    }
    all.store(sums, maxima, first);
  }
  sum_lanes(sums, maxima, out);
  out.differs = !hn::AllTrue(du, hn::Eq(differing, hn::Zero(du)));
  out.rounds = !hn::AllTrue(du, hn::Eq(inexact, hn::Zero(du)));
}

// Computes only the sums of float32 values, without the tables and the records, for limits on
// statistics. Does not count zeros and subnormal numbers, and does not check if values differ in
// bits.
template <unsigned kParts>
HWY_INLINE void sums_of(const MetricsSpec& spec, const float* actual, const float* expected,
                        std::size_t n, MetricsBlock& out) {
  const D d;
  const DU du;
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0);
  const auto largest = hn::Set(d, std::numeric_limits<double>::max());
  const auto min_normal = hn::Set(d, spec.min_normal);
  const auto sign = hn::BitCast(du, hn::Set(d, -0.0));
  const auto over_1e3 = hn::Set(d, kOver1e3), over_1e4 = hn::Set(d, kOver1e4);
  // If |error| is below this times |expected|, the relative error is below 1e-4.
  const auto maybe_over = hn::Set(d, kOver1e4 * (1 - 0x1p-40));
  const auto domain = hn::Set(d, spec.small_domain), domain_error = hn::Set(d, spec.small_error);
  const bool counts = (spec.parts & kPartCounts) != 0;
  const bool has_order = spec.ulp_rule == UlpRule::kOrdinal;
  const int drop = has_order ? spec.drop - kDropOfFloat32 : 0;
  std::memset(&out, 0, sizeof out);
  HWY_ALIGN double sums[kMetricsSums][kMetricsLanes];
  HWY_ALIGN double maxima[kMetricsMaxima][kMetricsLanes];
  for (std::size_t first = 0; first < kMetricsLanes; first += lanes) {
    auto all = Sums<kParts>::none();
    for (std::size_t i = first; i < n; i += kMetricsLanes) {
      if (first == 0) {
        read_ahead(actual + i, kMetricsLanes * sizeof(float));
        read_ahead(expected + i, kMetricsLanes * sizeof(float));
      }
      V a = load(actual + i), e = load(expected + i);
      const auto finite = hn::And(hn::Le(hn::Abs(a), largest), hn::Le(hn::Abs(e), largest));
      if (HWY_UNLIKELY(!hn::AllTrue(d, finite))) {
        out.groups[i / kMetricsLanes] |= MetricsBlock::kNotFinite;
        const std::int64_t others = static_cast<std::int64_t>(lanes) - count_true(finite);
        out.not_finite += others;
        out.no_ulps += others;
        a = hn::IfThenElseZero(finite, a);
        e = hn::IfThenElseZero(finite, e);
      }
      const V error = hn::Sub(a, e), size = hn::Abs(error), size_e = hn::Abs(e);
      const auto none = hn::Eq(e, zero);
      if (HWY_UNLIKELY(!hn::AllFalse(d, none))) {
        out.no_relative += count_true(none);
        out.errors_at_zero += count_true(hn::And(none, hn::Ne(error, zero)));
      }
      V rel = zero, divided = zero, ulps = zero;
      const auto relative = [&]() HWY_ATTR {
        return hn::IfThenElse(none, zero, hn::Div(size, hn::IfThenElse(none, one, size_e)));
      };
      if constexpr ((kParts & kPartRelative) != 0) {
        rel = relative();
        divided = hn::IfThenElse(none, size, rel);
      }
      if constexpr ((kParts & kPartUlps) != 0) {
        const auto opposite = hn::And(hn::Xor(hn::BitCast(du, a), hn::BitCast(du, e)), sign);
        const auto usual = hn::And(hn::Ge(hn::Abs(a), min_normal), hn::Ge(size_e, min_normal));
        if (!has_order) {
          // Formats without ordinals have no ulps in this kernel, and no caller needs them.
        } else if (HWY_LIKELY(hn::AllTrue(d, usual) &&
                              hn::AllTrue(du, hn::Eq(opposite, hn::Zero(du))))) {
          const hn::Rebind<std::int32_t, D> di32;
          const hn::Rebind<float, D> d32;
          const auto codes_a = hn::BitCast(di32, hn::LoadU(d32, actual + i));
          const auto codes_e = hn::BitCast(di32, hn::LoadU(d32, expected + i));
          const auto apart = hn::Abs(hn::Sub(codes_a, codes_e));
          ulps = hn::PromoteTo(d, hn::ShiftRightSame(apart, drop));
        } else {
          ulps = ordinal_distance(d, spec, a, e);
        }
      }
      all.add(a, e, error, rel, divided, ulps);
      if constexpr ((kParts & kPartUlps) != 0) {
        out.ulps_over_1 += count_true(hn::Gt(ulps, one));
        out.ulps_over_32 += count_true(hn::Gt(ulps, hn::Set(d, 32.0)));
      }
      if (counts) {
        const auto maybe =
            hn::Or(hn::Gt(size, hn::Mul(maybe_over, size_e)), hn::Lt(size_e, domain));
        if (HWY_UNLIKELY(!hn::AllFalse(d, maybe))) {
          const V of = relative();
          out.rel_over_1e4 += count_true(hn::Ge(of, over_1e4));
          out.rel_over_1e3 += count_true(hn::Ge(of, over_1e3));
          const auto small = hn::Lt(size_e, domain);
          out.small += count_true(small);
          out.small_over += count_true(hn::And(small, hn::Gt(size, domain_error)));
        }
      }
    }
    all.store(sums, maxima, first);
  }
  sum_lanes(sums, maxima, out);
}

// Counts the properties of float32 values that need no float64 sums: values that are not finite,
// expected values of 0, and, with kUlps, distances in ulps. Sums of distances are integers and
// equal those of float64, which are exact.
template <bool kUlps>
HWY_INLINE void counts_of(const MetricsSpec& spec, const float* actual, const float* expected,
                          std::size_t n, MetricsBlock& out) {
  const hn::CappedTag<float, kMetricsLanes> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  const auto magnitude = hn::Set(du, 0x7fffffffu);
  const auto largest = hn::BitCast(di, hn::Set(d, std::numeric_limits<float>::max()));
  const auto min_normal = hn::BitCast(di, hn::Set(d, static_cast<float>(spec.min_normal)));
  const bool has_order = kUlps && spec.ulp_rule == UlpRule::kOrdinal;
  const int drop = has_order ? spec.drop - kDropOfFloat32 : 0;
  // Sums of the low and of the high 16 bits of distances. Those of a block fit 32 bits.
  auto low = hn::Zero(du), high = low, most = low, over_1 = low, over_32 = low, zeros = low;
  auto largest_e = hn::Zero(di);
  // Converts a mask to counts: a mask is -1 in each of its lanes.
  const auto counted = [&](auto mask) HWY_ATTR __attribute__((always_inline)) {
    return hn::VecFromMask(du, mask);
  };
  // Returns the distances in formats narrower than float32, if a value is subnormal or 0, or if the
  // signs differ.
  const auto narrow_apart = [&](auto a, auto e) HWY_ATTR {
    const D wide;
    const hn::Rebind<std::int32_t, D> narrow;
    float of[kMetricsLanes], from[kMetricsLanes];
    std::int32_t apart[kMetricsLanes];
    hn::StoreU(hn::BitCast(d, a), d, of);
    hn::StoreU(hn::BitCast(d, e), d, from);
    for (std::size_t j = 0; j < lanes; j += hn::Lanes(wide)) {
      const V ulps = ordinal_distance(wide, spec, load(of + j), load(from + j));
      hn::StoreU(hn::DemoteTo(narrow, ulps), narrow, apart + j);
    }
    return hn::BitCast(du, hn::LoadU(di, apart));
  };
  std::memset(&out, 0, sizeof out);
  for (std::size_t i = 0; i < n; i += lanes) {
    read_ahead(actual + i, lanes * sizeof(float));
    read_ahead(expected + i, lanes * sizeof(float));
    auto a = hn::BitCast(du, hn::LoadU(d, actual + i));
    auto e = hn::BitCast(du, hn::LoadU(d, expected + i));
    auto size_a = hn::BitCast(di, hn::And(a, magnitude));
    auto size_e = hn::BitCast(di, hn::And(e, magnitude));
    const auto special = hn::RebindMask(du, hn::Gt(hn::Max(size_a, size_e), largest));
    if (HWY_UNLIKELY(!hn::AllFalse(du, special))) {
      out.groups[i / kMetricsLanes] |= MetricsBlock::kNotFinite;
      const auto others = static_cast<std::int64_t>(hn::CountTrue(du, special));
      out.not_finite += others;
      out.no_ulps += others;
      a = hn::IfThenZeroElse(special, a);
      e = hn::IfThenZeroElse(special, e);
      size_a = hn::BitCast(di, hn::And(a, magnitude));
      size_e = hn::BitCast(di, hn::And(e, magnitude));
    }
    zeros = hn::Sub(zeros, counted(hn::RebindMask(du, hn::Eq(size_e, hn::Zero(di)))));
    largest_e = hn::Max(largest_e, size_e);
    if (!has_order) continue;
    auto apart = hn::Zero(du);
    if (drop == 0) {
      const auto sign_a = hn::ShiftRight<31>(hn::BitCast(di, a));
      const auto sign_e = hn::ShiftRight<31>(hn::BitCast(di, e));
      const auto rank_a = hn::Sub(hn::Xor(size_a, sign_a), sign_a);
      const auto rank_e = hn::Sub(hn::Xor(size_e, sign_e), sign_e);
      // A distance may be up to 2^32 - 2^25, so it is computed with unsigned numbers, which wrap
      // around.
      apart = hn::Sub(hn::BitCast(du, hn::Max(rank_a, rank_e)),
                      hn::BitCast(du, hn::Min(rank_a, rank_e)));
    } else {
      const auto opposite = hn::Lt(hn::BitCast(di, hn::Xor(a, e)), hn::Zero(di));
      const auto unusual = hn::Or(opposite, hn::Lt(hn::Min(size_a, size_e), min_normal));
      if (HWY_LIKELY(hn::AllFalse(di, unusual))) {
        apart = hn::ShiftRightSame(hn::BitCast(du, hn::Abs(hn::Sub(size_a, size_e))), drop);
      } else {
        apart = narrow_apart(a, e);
      }
    }
    low = hn::Add(low, hn::And(apart, hn::Set(du, 0xffffu)));
    high = hn::Add(high, hn::ShiftRight<16>(apart));
    most = hn::Max(most, apart);
    over_1 = hn::Sub(over_1, counted(hn::Gt(apart, hn::Set(du, 1u))));
    over_32 = hn::Sub(over_32, counted(hn::Gt(apart, hn::Set(du, 32u))));
  }
  const auto sum = [&](auto counts) HWY_ATTR __attribute__((always_inline)) {
    return static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(du, counts)));
  };
  out.no_relative = sum(zeros);  // also counts elements that are not finite
  out.sums[kSumUlps] = static_cast<double>(sum(low) + (sum(high) << 16));
  out.maxima[kMaxExpected] =
      static_cast<double>(hn::GetLane(hn::BitCast(d, hn::MaxOfLanes(di, largest_e))));
  out.maxima[kMaxUlps] = static_cast<double>(hn::GetLane(hn::MaxOfLanes(du, most)));
  out.ulps_over_1 = sum(over_1);
  out.ulps_over_32 = sum(over_32);
}

void metrics_f64(const MetricsSpec& spec, const MetricsRecords& records, const double* actual,
                 const double* expected, const double* rounded, const double* errors,
                 const double* ulps, std::size_t n, std::uint16_t* tables, MetricsBlock& block) {
  if (rounded == expected) {
    block_of<false>(spec, records, actual, expected, rounded, errors, ulps, n, tables, block);
  } else {
    block_of<true>(spec, records, actual, expected, rounded, errors, ulps, n, tables, block);
  }
}

void metrics_f32(const MetricsSpec& spec, const MetricsRecords& records, const float* actual,
                 const float* expected, std::size_t n, std::uint16_t* tables, MetricsBlock& block) {
  switch (spec.parts & ~unsigned{kPartNone}) {
    case 0:
      return counts_of<false>(spec, actual, expected, n, block);
    case kPartUlps:
      return counts_of<true>(spec, actual, expected, n, block);
    default:
      break;
  }
  switch (spec.parts & ~unsigned{kPartNone | kPartCounts}) {
    case kPartErrors:
      return sums_of<kPartErrors>(spec, actual, expected, n, block);
    case kPartErrors | kPartSquares:
      return sums_of<kPartErrors | kPartSquares>(spec, actual, expected, n, block);
    case kPartErrors | kPartFloored:
      return sums_of<kPartErrors | kPartFloored>(spec, actual, expected, n, block);
    case kPartErrors | kPartRelative:
      return sums_of<kPartErrors | kPartRelative>(spec, actual, expected, n, block);
    case kPartErrors | kPartUlps:
      return sums_of<kPartErrors | kPartUlps>(spec, actual, expected, n, block);
    default:
      break;
  }
  if ((spec.parts & kPartTables) == 0) {
    return sums_of<kAllSums>(spec, actual, expected, n, block);
  }
  block_of<false>(spec, records, actual, expected, expected, nullptr, nullptr, n, tables, block);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(metrics_f64);
HWY_EXPORT(metrics_f32);

void metrics_block(const MetricsSpec& spec, const MetricsRecords& records, const double* actual,
                   const double* expected, const double* rounded, const double* errors,
                   const double* ulps, std::size_t n, std::uint16_t* tables, MetricsBlock& block) {
  HWY_DYNAMIC_DISPATCH(metrics_f64)
  (spec, records, actual, expected, rounded, errors, ulps, n, tables, block);
}
void metrics_block(const MetricsSpec& spec, const MetricsRecords& records, const float* actual,
                   const float* expected, std::size_t n, std::uint16_t* tables,
                   MetricsBlock& block) {
  HWY_DYNAMIC_DISPATCH(metrics_f32)(spec, records, actual, expected, n, tables, block);
}

}  // namespace assay::simd
#endif
