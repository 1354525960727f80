#include "assay/simd/convert_kernel.h"

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/convert_kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "assay/simd/half-inl.h"
#include "assay/simd/read_ahead.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

// Converts values of the type Narrow to float64, one vector at a time, through `promote`.
template <typename Narrow, typename Promote>
HWY_INLINE std::size_t widen(const void* from, std::size_t n, double* to, Promote promote) {
  const hn::ScalableTag<double> d64;
  const std::size_t lanes = hn::Lanes(d64);
  const auto* source = static_cast<const Narrow*>(from);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(promote(source + i), d64, to + i);
  return i;
}

void to_float64_impl(Storage storage, const void* from, std::size_t n, double* to,
                     const double* table) {
  const hn::ScalableTag<double> d64;
  const hn::Rebind<float, decltype(d64)> d32;
  const hn::Rebind<std::int32_t, decltype(d64)> di32;
  const hn::Rebind<std::uint32_t, decltype(d64)> du32;
  const hn::Rebind<std::uint16_t, decltype(d64)> du16;
  std::size_t i = 0;
  const auto tail = [&](auto element) {
    using T = decltype(element);
    for (; i < n; ++i) {
      T value;
      std::memcpy(&value, static_cast<const char*>(from) + i * sizeof(T), sizeof(T));
      to[i] = static_cast<double>(value);
    }
  };
  switch (storage) {
    case Storage::kF64:
      if (n > 0) std::memcpy(to, from, n * sizeof(double));
      return;
    case Storage::kF32:
      i = widen<float>(from, n, to, [&](const float* p) HWY_ATTR {
        return hn::PromoteTo(d64, hn::LoadU(d32, p));
      });
      return tail(float{});
    case Storage::kBf16:
      i = widen<std::uint16_t>(from, n, to, [&](const std::uint16_t* p) HWY_ATTR {
        const auto bits = hn::ShiftLeft<16>(hn::PromoteTo(du32, hn::LoadU(du16, p)));
        return hn::PromoteTo(d64, hn::BitCast(d32, bits));
      });
      for (; i < n; ++i) {
        const std::uint32_t bits = std::uint32_t{static_cast<const std::uint16_t*>(from)[i]} << 16;
        float value;
        std::memcpy(&value, &bits, sizeof value);
        to[i] = static_cast<double>(value);
      }
      return;
    case Storage::kF16:
      i = widen<std::uint16_t>(from, n, to, [&](const std::uint16_t* p) HWY_ATTR {
        return hn::PromoteTo(d64, half_to_float(d32, hn::PromoteTo(du32, hn::LoadU(du16, p))));
      });
      // The last values, fewer than a vector has, are padded with zeros.
      if (i < n) {
        std::uint16_t rest[hn::MaxLanes(d64)] = {};
        double wide[hn::MaxLanes(d64)];
        std::memcpy(rest, static_cast<const std::uint16_t*>(from) + i, (n - i) * 2);
        const auto half = hn::PromoteTo(du32, hn::LoadU(du16, rest));
        hn::StoreU(hn::PromoteTo(d64, half_to_float(d32, half)), d64, wide);
        std::memcpy(to + i, wide, (n - i) * sizeof(double));
      }
      return;
    case Storage::kI32:
      i = widen<std::int32_t>(from, n, to, [&](const std::int32_t* p) HWY_ATTR {
        return hn::PromoteTo(d64, hn::LoadU(di32, p));
      });
      return tail(std::int32_t{});
    case Storage::kI8:
      return tail(std::int8_t{});
    case Storage::kU8:
      return tail(std::uint8_t{});
    case Storage::kI16:
      return tail(std::int16_t{});
    case Storage::kI64:
      return tail(std::int64_t{});
    case Storage::kTable8:
      for (; i < n; ++i) to[i] = table[static_cast<const std::uint8_t*>(from)[i]];
      return;
    case Storage::kTable16:
      for (; i < n; ++i) to[i] = table[static_cast<const std::uint16_t*>(from)[i]];
      return;
  }
}

// Rounds n values. T is float64, or float32 if it holds the format's values.
template <typename T>
HWY_INLINE bool round_all(const RoundSpec& spec, const T* from, std::size_t n, T* to) {
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  using Bits = hn::TFromD<decltype(du)>;
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  const int drop = spec.drop - (52 - kMantissa);
  const std::size_t lanes = hn::Lanes(d);
  // In the normal range, adds just under half of the last kept bit (half if that bit is odd) to the
  // bits, then clears the bits that are dropped. Below the normal range, adding 1.5 * 2^52 quanta
  // (1.5 * 2^23 for float32) makes the hardware round to a multiple of the quantum.
  const auto one = hn::Set(du, Bits{1});
  const auto almost_half = hn::Set(du, (Bits{1} << (drop - 1)) - 1);
  const auto keep = hn::Set(du, ~((Bits{1} << drop) - 1));
  const auto min_normal = hn::Set(d, static_cast<T>(spec.min_normal));
  const auto magic = hn::Set(d, static_cast<T>(spec.min_subnormal * std::ldexp(1.5, kMantissa)));
  const auto largest = hn::Set(d, static_cast<T>(spec.max_finite));
  const auto infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  auto overflowed = hn::MaskFromVec(hn::Zero(d));
  const auto round = [&](auto x) HWY_ATTR {
    const auto size = hn::Abs(x);
    const auto bits = hn::BitCast(du, size);
    const auto odd = hn::And(hn::ShiftRightSame(bits, drop), one);
    const auto rounded = hn::BitCast(d, hn::And(hn::Add(bits, hn::Add(almost_half, odd)), keep));
    const auto small = hn::Sub(hn::Add(size, magic), magic);
    auto result = hn::IfThenElse(hn::Lt(size, min_normal), small, rounded);
    const auto too_large = hn::Gt(result, largest);
    overflowed = hn::Or(overflowed, hn::And(too_large, hn::Lt(size, infinity)));
    result = hn::IfThenElse(too_large, infinity, result);
    result = hn::CopySign(result, x);
    return hn::IfThenElse(hn::IsNaN(x), x, result);
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(round(hn::LoadU(d, from + i)), d, to + i);
  if (i < n) {
    T rest[hn::MaxLanes(d)] = {};
    std::memcpy(rest, from + i, (n - i) * sizeof(T));
    hn::StoreU(round(hn::LoadU(d, rest)), d, rest);
    std::memcpy(to + i, rest, (n - i) * sizeof(T));
  }
  return !hn::AllFalse(d, overflowed);
}

bool round_float64_impl(const RoundSpec& spec, double* values, std::size_t n) {
  return round_all(spec, values, n, values);
}
bool round_float32_impl(const RoundSpec& spec, const float* from, std::size_t n, float* to) {
  return round_all(spec, from, n, to);
}

// Sets to[i] = convert(from[i]) for n elements, a vector at a time. A result larger than the caches
// is written to memory without them, because a line that is written to the cache is read first.
// These writes are whole vectors at multiples of their size. With prefetching of the input, they
// take two thirds of the time on a Xeon.
template <typename DFrom, typename DTo, typename Convert>
HWY_INLINE void convert_by_vectors(DFrom from_tag, DTo to_tag, std::size_t n,
                                   const hn::TFromD<DFrom>* from, hn::TFromD<DTo>* to,
                                   const Convert& convert) {
  using From = hn::TFromD<DFrom>;
  using To = hn::TFromD<DTo>;
  constexpr std::size_t kBeyondCaches = std::size_t{32} << 20;
  // Highway's writes that bypass the caches have at least 16 bytes, even for shorter vectors.
  constexpr bool kIsWhole = hn::MaxLanes(DTo()) * sizeof(To) >= 16;
  const std::size_t lanes = hn::Lanes(to_tag), width = lanes * sizeof(To);
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(to) % width;
  // Converts fewer elements than a vector has. If this function or `convert` were not inlined, the
  // loops' vectors would be kept in memory.
  const auto convert_part = [&](std::size_t i, std::size_t count) HWY_ATTR
      __attribute__((always_inline)) {
    From padded[hn::MaxLanes(DFrom())] = {};
    To result[hn::MaxLanes(DTo())];
    std::memcpy(padded, from + i, count * sizeof(From));
    hn::StoreU(convert(hn::LoadU(from_tag, padded)), to_tag, result);
    std::memcpy(to + i, result, count * sizeof(To));
  };
  std::size_t i = 0;
  if (kIsWhole && n * sizeof(To) >= kBeyondCaches && beyond % sizeof(To) == 0) {
    i = (width - beyond) % width / sizeof(To);
    if (i > 0) convert_part(0, i);
    for (; i + lanes <= n; i += lanes) {
      read_ahead(from + i, lanes * sizeof(From));
      hn::Stream(convert(hn::LoadU(from_tag, from + i)), to_tag, to + i);
    }
    hwy::FlushStream();
  }
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(convert(hn::LoadU(from_tag, from + i)), to_tag, to + i);
  }
  if (i < n) convert_part(i, n - i);
}

// Decodes a small format. kInPlace is true if the format's exponent bias is that of float32.
template <bool kInPlace, typename Narrow>
HWY_INLINE void decode_small(const SmallFloat& f, const Narrow* from, std::size_t n, float* to) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<Narrow, decltype(df)> dn;
  const auto sign_bit = hn::Set(di, 1 << (f.bits - 1));
  const auto size_bits = hn::Set(di, (1 << (f.bits - 1)) - 1);
  const auto code_bits = hn::Or(sign_bit, size_bits);
  const auto max_code = hn::Set(di, f.max_code), infinity_code = hn::Set(di, f.infinity_code);
  const auto nan_bits = hn::Set(di, f.nan_bits);
  const auto infinity = hn::Set(di, 0x7f800000), nan = hn::Set(di, 0x7fc00000);
  // Moves exponent and mantissa into place, and adds the difference of the biases. Subnormals are
  // computed as multiples of the smallest one, because operations on float32's subnormals would
  // cost a hundred times as much.
  const auto rebias = hn::Set(di, (127 - f.bias) << 23);
  const auto min_normal = hn::Set(di, 1 << f.mantissa_bits);
  const auto quantum = hn::Set(df, std::ldexp(1.0f, 1 - f.bias - f.mantissa_bits));
  const int to_place = 23 - f.mantissa_bits, to_sign = 32 - f.bits;
  const auto value = [&](auto narrow) HWY_ATTR __attribute__((always_inline)) {
    const auto bits = hn::And(hn::PromoteTo(di, narrow), code_bits);
    const auto size = hn::And(bits, size_bits);
    auto result = hn::ShiftLeftSame(size, to_place);
    if constexpr (!kInPlace) {
      const auto small = hn::BitCast(di, hn::Mul(hn::ConvertTo(df, size), quantum));
      result = hn::IfThenElse(hn::Lt(size, min_normal), small, hn::Add(result, rebias));
    }
    const auto is_nan = hn::Or(hn::Gt(size, infinity_code), hn::Eq(bits, nan_bits));
    result = hn::IfThenElse(hn::Gt(size, max_code), infinity, result);
    result = hn::IfThenElse(is_nan, nan, result);
    const auto sign = hn::ShiftLeftSame(hn::And(bits, sign_bit), to_sign);
    return hn::BitCast(df, hn::Or(result, sign));
  };
  convert_by_vectors(dn, df, n, from, to, value);
}

template <typename Narrow>
HWY_INLINE void decode_in_place_or_not(const SmallFloat& f, const Narrow* from, std::size_t n,
                                       float* to) {
  f.bias == 127 ? decode_small<true>(f, from, n, to) : decode_small<false>(f, from, n, to);
}

void small_to_float32_impl(const SmallFloat& f, const void* from, std::size_t n, float* to) {
  if (f.bits <= 8) {
    decode_in_place_or_not(f, static_cast<const std::uint8_t*>(from), n, to);
  } else {
    decode_in_place_or_not(f, static_cast<const std::uint16_t*>(from), n, to);
  }
}

// True if a format's numbers are the upper bits of float32's, as those of bfloat16 are.
bool is_upper_half(const SmallFloat& f) {
  return f.bits == 16 && f.mantissa_bits == 7 && f.bias == 127;
}

// Encodes a small format. kUpperHalf is is_upper_half(f). kSigned is true if zeros and NaN keep
// their sign.
template <bool kUpperHalf, bool kSigned, typename Narrow>
HWY_INLINE bool encode_small(const SmallFloat& f, const float* from, std::size_t n, Narrow* to) {
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::RebindToUnsigned<decltype(df)> du;
  const hn::Rebind<Narrow, decltype(df)> dn;
  // In the normal range, adds just under half of the last kept bit (half if that bit is odd) to the
  // bits, drops the bits below and moves the exponent. Below the normal range, adding 2^23 quanta
  // makes the hardware round to a multiple of the quantum and leaves that multiple in the low bits.
  const int drop = 23 - f.mantissa_bits, to_sign = 32 - f.bits;
  const auto one = hn::Set(di, 1), zero = hn::Zero(di);
  const auto almost_half = hn::Set(di, (1 << (drop - 1)) - 1);
  const auto rebias = hn::Set(di, (127 - f.bias) << f.mantissa_bits);
  const auto min_normal = hn::Set(di, (128 - f.bias) << 23);
  const auto magic = hn::Set(di, (151 - f.bias - f.mantissa_bits) << 23);
  const auto size_bits = hn::Set(di, 0x7fffffff), infinity = hn::Set(di, 0x7f800000);
  const auto max_code = hn::Set(di, f.max_code), overflow = hn::Set(di, f.overflow_code);
  const auto nan_code = hn::Set(di, f.nan_code);
  const auto sign_bit = hn::Set(di, 1 << (f.bits - 1));
  const auto unsigned_zero = hn::Set(di, f.signed_zero ? 0 : -1);
  const auto unsigned_nan = hn::Set(di, f.signed_nan ? 0 : -1);
  auto nans = zero;
  const auto code_of = [&](auto x) HWY_ATTR __attribute__((always_inline)) {
    const auto bits = hn::BitCast(di, x);
    const auto size = hn::And(bits, size_bits);
    const auto dropped = [&](auto v) HWY_ATTR {
      return kUpperHalf ? hn::ShiftRight<16>(v) : hn::ShiftRightSame(v, drop);
    };
    const auto odd = hn::And(dropped(size), one);
    auto code = dropped(hn::Add(size, hn::Add(almost_half, odd)));
    if constexpr (!kUpperHalf) {
      const auto moved = hn::Add(hn::BitCast(df, size), hn::BitCast(df, magic));
      const auto small = hn::Sub(hn::BitCast(di, moved), magic);
      code = hn::IfThenElse(hn::Lt(size, min_normal), small, hn::Sub(code, rebias));
    }
    code = hn::IfThenElse(hn::Gt(code, max_code), overflow, code);
    const auto is_nan = hn::Gt(size, infinity);
    const auto nan_lanes = hn::VecFromMask(di, is_nan);
    nans = hn::Or(nans, nan_lanes);
    code = hn::IfThenElse(is_nan, nan_code, code);
    auto sign = hn::And(kUpperHalf ? hn::ShiftRight<16>(bits) : hn::ShiftRightSame(bits, to_sign),
                        sign_bit);
    if constexpr (!kSigned) {
      const auto zero_lanes = hn::VecFromMask(di, hn::Eq(code, zero));
      const auto no_sign =
          hn::Or(hn::And(zero_lanes, unsigned_zero), hn::And(nan_lanes, unsigned_nan));
      sign = hn::AndNot(no_sign, sign);
    }
    return hn::TruncateTo(dn, hn::BitCast(du, hn::Or(code, sign)));
  };
  convert_by_vectors(df, dn, n, from, to, code_of);
  return !hn::AllTrue(di, hn::Eq(nans, zero));
}

template <typename Narrow>
HWY_INLINE bool encode_signed_or_not(const SmallFloat& f, const float* from, std::size_t n,
                                     Narrow* to) {
  return f.signed_zero && f.signed_nan ? encode_small<false, true>(f, from, n, to)
                                       : encode_small<false, false>(f, from, n, to);
}

bool float32_to_small_impl(const SmallFloat& f, const float* from, std::size_t n, void* to) {
  if (f.bits <= 8) return encode_signed_or_not(f, from, n, static_cast<std::uint8_t*>(to));
  auto* const codes = static_cast<std::uint16_t*>(to);
  if (is_upper_half(f) && f.signed_zero && f.signed_nan) {
    return encode_small<true, true>(f, from, n, codes);
  }
  return encode_signed_or_not(f, from, n, codes);
}

void round_to_odd_float32_impl(const double* from, std::size_t n, float* to) {
  const hn::ScalableTag<double> d64;
  const hn::Rebind<float, decltype(d64)> d32;
  const hn::Rebind<std::uint32_t, decltype(d64)> du32;
  const hn::RebindToUnsigned<decltype(d64)> du64;
  const auto infinity = hn::Set(d64, std::numeric_limits<double>::infinity());
  const auto round = [&](auto x) HWY_ATTR {
    // Rounds to odd: takes the nearest float32 or, if that is inexact and even, its neighbour on
    // the side of x.
    const auto nearest = hn::DemoteTo(d32, x);
    const auto back = hn::PromoteTo(d64, nearest);
    const auto size = hn::Abs(x), near = hn::Abs(back);
    const auto below = hn::BitCast(du64, hn::VecFromMask(d64, hn::Lt(size, near)));
    const auto above = hn::BitCast(du64, hn::VecFromMask(d64, hn::Gt(size, near)));
    // 1 if |x| is above |nearest|, -1 if it is below, and 0 if the result is exact or NaN.
    const auto step = hn::TruncateTo(du32, hn::Sub(below, above));
    // Highway's scalar target converts infinity to the largest float32. That is one below
    // infinity's bits, so `to_infinity` corrects it.
    const auto infinite = hn::BitCast(du64, hn::VecFromMask(d64, hn::Eq(size, infinity)));
    const auto to_infinity = hn::TruncateTo(du32, hn::And(infinite, above));
    const auto bits = hn::BitCast(du32, nearest);
    const auto even = hn::Eq(hn::And(bits, hn::Set(du32, 1u)), hn::Zero(du32));
    return hn::BitCast(d32, hn::Sub(hn::Add(bits, hn::IfThenElseZero(even, step)), to_infinity));
  };
  const std::size_t lanes = hn::Lanes(d64);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(round(hn::LoadU(d64, from + i)), d32, to + i);
  if (i < n) {
    double rest[hn::MaxLanes(d64)] = {};
    float narrow[hn::MaxLanes(d64)];
    std::memcpy(rest, from + i, (n - i) * sizeof(double));
    hn::StoreU(round(hn::LoadU(d64, rest)), d32, narrow);
    std::memcpy(to + i, narrow, (n - i) * sizeof(float));
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(to_float64_impl);
HWY_EXPORT(round_float64_impl);
HWY_EXPORT(round_float32_impl);
HWY_EXPORT(small_to_float32_impl);
HWY_EXPORT(float32_to_small_impl);
HWY_EXPORT(round_to_odd_float32_impl);

void to_float64(Storage storage, const void* from, std::size_t n, double* to, const double* table) {
  HWY_DYNAMIC_DISPATCH(to_float64_impl)(storage, from, n, to, table);
}

bool round_float64(const RoundSpec& spec, double* values, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(round_float64_impl)(spec, values, n);
}

bool round_float32(const RoundSpec& spec, const float* from, std::size_t n, float* to) {
  return HWY_DYNAMIC_DISPATCH(round_float32_impl)(spec, from, n, to);
}

void small_to_float32(const SmallFloat& format, const void* from, std::size_t n, float* to) {
  HWY_DYNAMIC_DISPATCH(small_to_float32_impl)(format, from, n, to);
}

bool float32_to_small(const SmallFloat& format, const float* from, std::size_t n, void* to) {
  return HWY_DYNAMIC_DISPATCH(float32_to_small_impl)(format, from, n, to);
}

void round_to_odd_float32(const double* from, std::size_t n, float* to) {
  HWY_DYNAMIC_DISPATCH(round_to_odd_float32_impl)(from, n, to);
}

}  // namespace assay::simd
#endif
