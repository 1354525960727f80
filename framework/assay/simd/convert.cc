#include "assay/simd/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/convert.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>
#include <limits>

#include "assay/simd/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Widens one vector of `Narrow` values at a time through `promote`.
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
      if (i < n) {  // the rest through one padded vector
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

bool round_float64_impl(const RoundSpec& spec, double* values, std::size_t n) {
  const hn::ScalableTag<double> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const std::size_t lanes = hn::Lanes(d);
  // Normal range: add just under half of the last kept bit (half when that bit is odd) to the bits,
  // then clear what is dropped. Below: adding 1.5 * 2^52 quanta makes the hardware round to a
  // multiple of the quantum.
  const auto one = hn::Set(du, std::uint64_t{1});
  const auto almost_half = hn::Set(du, (std::uint64_t{1} << (spec.drop - 1)) - 1);
  const auto keep = hn::Set(du, ~((std::uint64_t{1} << spec.drop) - 1));
  const auto min_normal = hn::Set(d, spec.min_normal);
  const auto magic = hn::Set(d, spec.min_subnormal * 0x1.8p52);
  const auto largest = hn::Set(d, spec.max_finite);
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  auto overflowed = hn::MaskFromVec(hn::Zero(d));
  const auto round = [&](auto x) HWY_ATTR {
    const auto size = hn::Abs(x);
    const auto bits = hn::BitCast(du, size);
    const auto odd = hn::And(hn::ShiftRightSame(bits, spec.drop), one);
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
  for (; i + lanes <= n; i += lanes) hn::StoreU(round(hn::LoadU(d, values + i)), d, values + i);
  if (i < n) {
    double rest[hn::MaxLanes(d)] = {};
    std::memcpy(rest, values + i, (n - i) * sizeof(double));
    hn::StoreU(round(hn::LoadU(d, rest)), d, rest);
    std::memcpy(values + i, rest, (n - i) * sizeof(double));
  }
  return !hn::AllFalse(d, overflowed);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {

HWY_EXPORT(to_float64_impl);
HWY_EXPORT(round_float64_impl);

void to_float64(Storage storage, const void* from, std::size_t n, double* to, const double* table) {
  HWY_DYNAMIC_DISPATCH(to_float64_impl)(storage, from, n, to, table);
}

bool round_float64(const RoundSpec& spec, double* values, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(round_float64_impl)(spec, values, n);
}

}  // namespace assay::simd
#endif
