#include "assay/format/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/float_environment.h"
#include "assay/simd/convert_kernel.h"

namespace assay::inline v0_2 {
namespace {

using simd::Storage;

bool is_float32(const Format& f) {
  return f.precision == 24 && f.exponent_bits == 8 && f.bias == 127 &&
         f.specials == Specials::kInfNan;
}

// Returns the value of every code of a format of at most 16 bits. The table is made once. Its key
// is the meaning of the format's codes, not the address of its row.
const double* value_table(const Format& f) {
  using Meaning = std::tuple<Kind, Specials, int, int, int, int>;
  static std::mutex mutex;
  // Adding a table does not move the values of other tables.
  static std::map<Meaning, std::vector<double>> tables;
  const std::lock_guard lock(mutex);
  auto& table = tables[{f.kind, f.specials, f.bits, f.exponent_bits, f.precision, f.bias}];
  if (table.empty()) {
    const std::size_t codes = f.storage_bytes == 1 ? 256 : 65536;
    for (std::size_t code = 0; code < codes; ++code) table.push_back(decode(f, code));
  }
  return table.data();
}

// Returns the storage by which a kernel reads elements of a format. Empty if decode() reads them
// one by one.
std::optional<Storage> storage_of(const Format& f) {
  if (f.is_complex()) return std::nullopt;  // decode() refuses it
  if (f.is_float()) {
    if (f.is_float64()) return Storage::kF64;
    if (is_float32(f)) return Storage::kF32;
    if (f.storage_bytes > 2) return std::nullopt;
    if (f.storage_bytes == 1) return Storage::kTable8;
    if (f.specials == Specials::kInfNan && f.bits == 16) {
      if (f.exponent_bits == 8 && f.bias == 127) return Storage::kBf16;
      if (f.exponent_bits == 5 && f.bias == 15) return Storage::kF16;
    }
    return Storage::kTable16;
  }
  if (f.kind == Kind::kBool || f.bits < 8) return Storage::kTable8;
  if (f.kind == Kind::kUnsigned && f.storage_bytes > 1) {
    return f.storage_bytes == 2 ? std::optional(Storage::kTable16) : std::nullopt;
  }
  if (f.kind == Kind::kUnsigned) return Storage::kU8;
  switch (f.storage_bytes) {
    case 1:
      return Storage::kI8;
    case 2:
      return Storage::kI16;
    case 4:
      return Storage::kI32;
    default:
      return Storage::kI64;
  }
}

// True if the rounding kernel of float64 covers the format. Such formats have a sign, exponent,
// mantissa and infinity, and the inverse of their smallest value is a float64.
bool is_plain(const Format& f) {
  return f.is_float() && f.specials == Specials::kInfNan && f.precision < 53 &&
         min_subnormal(f) >= 0x1p-1022;
}

simd::RoundSpec round_spec(const Format& f) {
  return {53 - f.precision, min_normal(f), min_subnormal(f), max_finite(f)};
}

// Returns the description of the format for the float32 kernels. Empty if they do not cover the
// format.
std::optional<simd::SmallFloat> small_float(const Format& f, Overflow overflow) {
  const bool covered = f.is_float() && f.specials != Specials::kTapered &&
                       f.specials != Specials::kScale && f.storage_bytes <= 2 &&
                       f.mantissa_bits() >= 1 && f.bias >= 0 && f.bias <= 127 &&
                       max_finite(f) < 0x1p128;
  if (!covered) return std::nullopt;
  const bool saturate = overflow == Overflow::kSaturate;
  const bool fnuz = f.specials == Specials::kFnuz, finite = f.specials == Specials::kFinite;
  const auto size_bits = static_cast<std::int32_t>((1u << (f.bits - 1)) - 1);
  const auto code = [&](double value) {
    return static_cast<std::int32_t>(encode(f, value)) & (fnuz ? ~0 : size_bits);
  };
  simd::SmallFloat small{};
  small.bits = f.bits;
  small.mantissa_bits = f.mantissa_bits();
  small.bias = f.bias;
  small.max_code = code(max_finite(f));
  small.infinity_code = f.has_infinity() ? code(kInfinity) : small.max_code;
  small.nan_bits = fnuz ? size_bits + 1 : -1;
  small.overflow_code = saturate ? small.max_code : code(kInfinity);
  small.nan_code = saturate || finite ? 0 : code(std::numeric_limits<double>::quiet_NaN());
  small.signed_zero = !fnuz;
  small.signed_nan = !saturate;
  return small;
}

// Number of elements whose values stay in the first-level cache.
constexpr std::size_t kBlock = 1024;

// Calls each(start, count) for every block of kBlock elements.
template <typename Each>
void by_blocks(std::size_t n, Each each) {
  for (std::size_t start = 0; start < n; start += kBlock) each(start, std::min(kBlock, n - start));
}

// Converts values as the processor does, to nearest even. NaN becomes the canonical NaN.
template <typename To, typename From>
void cast_array(const From* from, std::size_t n, std::byte* to) {
  for (std::size_t i = 0; i < n; ++i) {
    auto value = static_cast<To>(from[i]);
    if (std::isnan(value)) value = std::copysign(std::numeric_limits<To>::quiet_NaN(), value);
    std::memcpy(to + i * sizeof(To), &value, sizeof(To));
  }
}

void encode_small(const Format& f, const simd::SmallFloat& small, Overflow overflow,
                  const float* from, std::size_t n, std::byte* to) {
  const bool has_nan = simd::float32_to_small(small, from, n, to);
  if (has_nan && f.specials == Specials::kFinite) {
    encode(f, std::numeric_limits<double>::quiet_NaN(), Rounding::kNearestEven,
           overflow);  // throws
  }
}

}  // namespace

void decode_array(const Format& f, const std::byte* from, std::size_t n, double* to) {
  const FloatEnvironment environment;
  const auto storage = storage_of(f);
  if (!storage) {
    const auto width = static_cast<std::size_t>(f.storage_bytes);
    for (std::size_t i = 0; i < n; ++i) to[i] = decode(f, load_element(f, from + i * width));
    return;
  }
  const bool by_table = *storage == Storage::kTable8 || *storage == Storage::kTable16;
  simd::to_float64(*storage, from, n, to, by_table ? value_table(f) : nullptr);
}

void decode_array(const Format& f, const std::byte* from, std::size_t n, float* to) {
  const FloatEnvironment environment;
  if (const auto small = small_float(f, Overflow::kIeee)) {
    simd::small_to_float32(*small, from, n, to);
    return;
  }
  const auto width = static_cast<std::size_t>(f.storage_bytes);
  double block[kBlock];
  by_blocks(n, [&](std::size_t start, std::size_t count) {
    decode_array(f, from + start * width, count, block);
    cast_array<float>(block, count, reinterpret_cast<std::byte*>(to + start));
  });
}

void round_array(const Format& f, double* values, std::size_t n) {
  const FloatEnvironment environment;
  if (f.is_float64()) return;
  if (f.specials == Specials::kFinite) {  // integers as well
    for (std::size_t i = 0; i < n; ++i) {
      if (std::isfinite(values[i])) values[i] = round_to(f, values[i]);
    }
    return;
  }
  if (!is_plain(f)) {
    std::byte codes[kBlock * sizeof(double)];
    by_blocks(n, [&](std::size_t start, std::size_t count) {
      encode_array(f, values + start, count, codes);
      decode_array(f, codes, count, values + start);
    });
    return;
  }
  simd::round_float64(round_spec(f), values, n);
}

void round_array(const Format& f, const float* from, std::size_t n, float* to) {
  const FloatEnvironment environment;
  if (is_float32(f)) {
    if (n > 0) std::memmove(to, from, n * sizeof(float));
  } else if (is_plain(f)) {
    simd::round_float32(round_spec(f), from, n, to);
  } else {
    std::byte codes[kBlock * sizeof(float)];
    by_blocks(n, [&](std::size_t start, std::size_t count) {
      encode_array(f, from + start, count, codes);
      decode_array(f, codes, count, to + start);
    });
  }
}

void round_array(const Format& f, const double* from, std::size_t n, float* to) {
  const FloatEnvironment environment;
  if (is_float32(f)) return cast_array<float>(from, n, reinterpret_cast<std::byte*>(to));
  by_blocks(n, [&](std::size_t start, std::size_t count) {
    simd::round_to_odd_float32(from + start, count, to + start);
    round_array(f, to + start, count, to + start);
  });
}

void encode_array(const Format& f, const float* from, std::size_t n, std::byte* to,
                  Overflow overflow) {
  const FloatEnvironment environment;
  if (is_float32(f) && overflow == Overflow::kIeee) return cast_array<float>(from, n, to);
  if (const auto small = small_float(f, overflow)) {
    encode_small(f, *small, overflow, from, n, to);
    return;
  }
  const auto width = static_cast<std::size_t>(f.storage_bytes);
  double block[kBlock];
  by_blocks(n, [&](std::size_t start, std::size_t count) {
    simd::to_float64(Storage::kF32, from + start, count, block, nullptr);
    encode_array(f, block, count, to + start * width, overflow);
  });
}

void encode_array(const Format& f, const double* from, std::size_t n, std::byte* to,
                  Overflow overflow) {
  const FloatEnvironment environment;
  if (overflow == Overflow::kIeee) {
    if (f.is_float64()) return cast_array<double>(from, n, to);
    if (is_float32(f)) return cast_array<float>(from, n, to);
  }
  const auto width = static_cast<std::size_t>(f.storage_bytes);
  if (const auto small = small_float(f, overflow)) {
    float block[kBlock];
    by_blocks(n, [&](std::size_t start, std::size_t count) {
      simd::round_to_odd_float32(from + start, count, block);
      encode_small(f, *small, overflow, block, count, to + start * width);
    });
    return;
  }
  if (!is_plain(f) || overflow == Overflow::kSaturate) {
    for (std::size_t i = 0; i < n; ++i) {
      store_element(f, to + i * width, encode(f, from[i], Rounding::kNearestEven, overflow));
    }
    return;
  }
  const int shift = 52 - f.mantissa_bits();
  const std::uint64_t rebias = static_cast<std::uint64_t>(1023 - f.bias) << f.mantissa_bits();
  const double smallest_normal = min_normal(f), quanta = 1 / min_subnormal(f);
  const double largest = max_finite(f);
  double block[kBlock];
  by_blocks(n, [&](std::size_t start, std::size_t count) {
    std::memcpy(block, from + start, count * sizeof(double));
    round_array(f, block, count);
    for (std::size_t i = 0; i < count; ++i) {
      const double value = block[i];
      const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
      const double size = std::abs(value);
      std::uint64_t code;
      if (size > largest || size != size) {
        code = encode(f, value);
      } else {
        code = size < smallest_normal ? static_cast<std::uint64_t>(size * quanta)
                                      : ((bits & ~(std::uint64_t{1} << 63)) >> shift) - rebias;
        code = (code | ((bits >> 63) << (f.bits - 1))) << f.padding;
      }
      store_element(f, to + (start + i) * width, code);
    }
  });
}

}  // namespace assay
