// Elements of the formats that matrix units read and write, loaded as eight float64 or float32
// lanes (eight-inl.h). Compiled once a target.
#if defined(ASSAY_SIMD_STORED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_SIMD_STORED_INL_H_
#undef ASSAY_SIMD_STORED_INL_H_
#else
#define ASSAY_SIMD_STORED_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>
#include <type_traits>

#include "assay/simd/convert_kernel.h"
#include "assay/simd/eight-inl.h"
#include "assay/simd/half-inl.h"
#include "assay/simd/read_ahead.h"
#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

// Sums are taken in eight lanes on every target: see eight-inl.h.
using Doubles = Eight<double>;
using Floats = Eight<float>;
constexpr std::size_t kLanes = Doubles::kLanes;

// Loads eight float64 from an array of stored elements. If `count` is below eight, the rest is
// filled with zeros.
template <Storage kStorage>
struct Loader {
  static constexpr std::size_t kBytes = kStorage == Storage::kF64   ? 8
                                        : kStorage == Storage::kF32 ? 4
                                                                    : 2;
  static HWY_INLINE Doubles load(const unsigned char* p) {
    Doubles x;
    ASSAY_UNROLL_PARTS
    for (std::size_t part = 0; part < Doubles::kParts; ++part) {
      x.part[part] = load_vector(p + part * Doubles::kPart * kBytes);
    }
    return x;
  }
  static HWY_INLINE Doubles::Part load_vector(const unsigned char* p) {
    const Doubles::Tag d;
    const hn::Rebind<float, Doubles::Tag> df;
    const hn::Rebind<std::uint32_t, Doubles::Tag> du32;
    const hn::Rebind<std::uint16_t, Doubles::Tag> du16;
    if constexpr (kStorage == Storage::kF64) {
      return hn::LoadU(d, reinterpret_cast<const double*>(p));
    } else if constexpr (kStorage == Storage::kF32) {
      return hn::PromoteTo(d, hn::LoadU(df, reinterpret_cast<const float*>(p)));
    } else if constexpr (kStorage == Storage::kBf16) {
      const auto bits = hn::LoadU(du16, reinterpret_cast<const std::uint16_t*>(p));
      return hn::PromoteTo(d, hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(du32, bits))));
    } else {
      const auto bits = hn::LoadU(du16, reinterpret_cast<const std::uint16_t*>(p));
      return hn::PromoteTo(d, half_to_float(df, hn::PromoteTo(du32, bits)));
    }
  }
  static HWY_INLINE Doubles load_part(const unsigned char* p, std::size_t count) {
    unsigned char padded[kLanes * 8] = {};
    std::memcpy(padded, p, count * kBytes);
    return load(padded);
  }
  static HWY_INLINE double load_one(const unsigned char* p) {
    unsigned char padded[Doubles::kPart * 8] = {};
    std::memcpy(padded, p, kBytes);
    return hn::GetLane(load_vector(padded));
  }
};

// load_floats() loads sixteen stored elements of 16 bits as float32, in an order that depends on
// the storage: bfloat16 gives the even elements, then the odd ones, which costs least.
// arrange_for() puts other values in the same order.
template <Storage kStorage>
inline constexpr bool kShort = kStorage == Storage::kBf16 || kStorage == Storage::kF16;
template <Storage kStorage>
HWY_INLINE void load_floats(const unsigned char* p, Floats& first, Floats& second) {
  const Floats::Tag df;
  const hn::Rebind<std::uint32_t, Floats::Tag> du32;
  if constexpr (kStorage == Storage::kBf16) {
    ASSAY_UNROLL_PARTS
    for (std::size_t part = 0; part < Floats::kParts; ++part) {
      const auto both =
          hn::LoadU(du32, reinterpret_cast<const std::uint32_t*>(p) + part * Floats::kPart);
      first.part[part] = hn::BitCast(df, hn::ShiftLeft<16>(both));
      second.part[part] = hn::BitCast(df, hn::And(both, hn::Set(du32, 0xffff0000u)));
    }
  } else {
    const hn::Rebind<std::uint16_t, Floats::Tag> du16;
    ASSAY_UNROLL_PARTS
    for (std::size_t part = 0; part < Floats::kParts; ++part) {
      const auto* bits = reinterpret_cast<const std::uint16_t*>(p) + part * Floats::kPart;
      first.part[part] = half_to_float(df, hn::PromoteTo(du32, hn::LoadU(du16, bits)));
      second.part[part] = half_to_float(df, hn::PromoteTo(du32, hn::LoadU(du16, bits + kLanes)));
    }
  }
}

// Loads sixteen elements in the order of load_floats() as float64, from any storage.
template <Storage kStorage>
HWY_INLINE void load_pair(const unsigned char* p, Doubles& first, Doubles& second) {
  using L = Loader<kStorage>;
  if constexpr (kShort<kStorage>) {
    Floats a, b;
    load_floats<kStorage>(p, a, b);
    first = promote(a);
    second = promote(b);
  } else {
    first = L::load(p);
    second = L::load(p + kLanes * L::kBytes);
  }
}

// Calls visit(a) for each eight elements of [begin, end). The last eight are filled up with zeros.
template <Storage kStorage, class Visit>
HWY_INLINE void each_of_rest(const void* row, std::size_t begin, std::size_t end, Visit visit) {
  using L = Loader<kStorage>;
  const auto* bytes = static_cast<const unsigned char*>(row);
  std::size_t i = begin;
  for (; i + kLanes <= end; i += kLanes) visit(L::load(bytes + i * L::kBytes));
  if (i < end) visit(L::load_part(bytes + i * L::kBytes, end - i));
}

// Calls visit(a, b) for each sixteen elements of [begin, end), then visit_rest(a) for the rest by
// eight.
template <Storage kStorage, class Visit, class VisitRest>
HWY_INLINE void each_pair(const void* row, std::size_t begin, std::size_t end, Visit visit,
                          VisitRest visit_rest) {
  using L = Loader<kStorage>;
  const auto* bytes = static_cast<const unsigned char*>(row);
  std::size_t i = begin;
  for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
    Doubles first, second;
    load_pair<kStorage>(bytes + i * L::kBytes, first, second);
    read_ahead(bytes + i * L::kBytes, 2 * kLanes * L::kBytes);
    visit(first, second);
  }
  each_of_rest<kStorage>(row, i, end, visit_rest);
}

// Puts n values in the order in which load_pair() loads elements.
template <Storage kStorage>
HWY_INLINE void arrange_for(const double* from, std::size_t n, double* to) {
  std::size_t i = 0;
  if constexpr (kStorage == Storage::kBf16) {
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        to[i + lane] = from[i + 2 * lane];
        to[i + kLanes + lane] = from[i + 2 * lane + 1];
      }
    }
  }
  for (; i < n; ++i) to[i] = from[i];
}

// Returns call(storage), with the storage as a constant, for the four storages that the kernels
// read.
template <class Call>
HWY_INLINE auto by_storage(Storage storage, const Call& call) {
  switch (storage) {
    case Storage::kF64:
      return call(std::integral_constant<Storage, Storage::kF64>());
    case Storage::kF32:
      return call(std::integral_constant<Storage, Storage::kF32>());
    case Storage::kF16:
      return call(std::integral_constant<Storage, Storage::kF16>());
    default:
      return call(std::integral_constant<Storage, Storage::kBf16>());
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_SIMD_STORED_INL_H_
