#include "assay/format/convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "assay/simd/convert.h"

namespace assay {
namespace {

using simd::Storage;

// The value of every code of a format of at most 16 bits, made once.
const double* value_table(const Format& f) {
  static std::array<std::once_flag, 64> made;
  static std::array<std::vector<double>, 64> tables;
  const auto row = static_cast<std::size_t>(&f - formats().data());
  std::call_once(made[row], [&] {
    const std::size_t codes = f.storage_bytes == 1 ? 256 : 65536;
    for (std::size_t code = 0; code < codes; ++code) tables[row].push_back(decode(f, code));
  });
  return tables[row].data();
}

Storage storage_of(const Format& f) {
  if (f.is_float()) {
    if (f.storage_bytes == 1) return Storage::kTable8;
    if (f.storage_bytes == 8) return Storage::kF64;
    if (f.storage_bytes == 4) return Storage::kF32;  // tfloat32, hfloat32 lie in float32 as well
    if (f.bits < 16) return Storage::kTable16;
    return f.exponent_bits == 8 ? Storage::kBf16 : Storage::kF16;
  }
  if (f.kind == Kind::kBool) return Storage::kTable8;
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

// Formats that the rounding kernel and the code arithmetic below cover: sign, exponent, mantissa.
bool is_plain(const Format& f) {
  return f.is_float() && f.specials != Specials::kTapered && f.specials != Specials::kScale;
}

}  // namespace

void decode_array(const Format& f, const std::byte* from, std::size_t n, double* to) {
  if (f.padding > 0) {  // bits below the format are no part of the value
    for (std::size_t i = 0; i < n; ++i) to[i] = decode(f, load_element(f, from + i * 4));
    return;
  }
  const Storage storage = storage_of(f);
  const bool by_table = storage == Storage::kTable8 || storage == Storage::kTable16;
  simd::to_float64(storage, from, n, to, by_table ? value_table(f) : nullptr);
}

void round_array(const Format& f, double* values, std::size_t n) {
  if (f.precision == 53) return;
  if (!is_plain(f) || !f.has_infinity()) {
    const bool finite_only = f.specials == Specials::kFinite;  // integers as well
    for (std::size_t i = 0; i < n; ++i) {
      if (!finite_only || std::isfinite(values[i])) values[i] = round_to(f, values[i]);
    }
    return;
  }
  const simd::RoundSpec spec{53 - f.precision, min_normal(f), min_subnormal(f), max_finite(f)};
  simd::round_float64(spec, values, n);
}

void encode_array(const Format& f, const double* from, std::size_t n, std::byte* to) {
  if (n == 0) return;
  if (f.precision == 53) {
    std::memcpy(to, from, n * sizeof(double));
    // NaN payloads are no part of the value: one canonical NaN, as encode() gives.
    for (std::size_t i = 0; i < n; ++i) {
      if (std::isnan(from[i])) store_element(f, to + i * 8, encode(f, from[i]));
    }
    return;
  }
  if (!is_plain(f) || !f.has_infinity()) {
    const auto width = static_cast<std::size_t>(f.storage_bytes);
    for (std::size_t i = 0; i < n; ++i) store_element(f, to + i * width, encode(f, from[i]));
    return;
  }
  const int shift = 52 - f.mantissa_bits();
  const std::uint64_t rebias = static_cast<std::uint64_t>(1023 - f.bias) << f.mantissa_bits();
  const double smallest_normal = min_normal(f), quanta = 1 / min_subnormal(f);
  // In two exact steps where 1 / min_subnormal is no float64 -- it is one for every row.
  constexpr std::size_t kBlock = 1024;
  double block[kBlock];
  const auto width = static_cast<std::size_t>(f.storage_bytes);
  for (std::size_t start = 0; start < n; start += kBlock) {
    const std::size_t count = std::min(kBlock, n - start);
    std::memcpy(block, from + start, count * sizeof(double));
    round_array(f, block, count);
    for (std::size_t i = 0; i < count; ++i) {
      const double value = block[i];
      const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
      const double size = std::abs(value);
      std::uint64_t code;
      if (size > max_finite(f) || size != size) {
        code = encode(f, value);
      } else {
        code = size < smallest_normal ? static_cast<std::uint64_t>(size * quanta)
                                      : ((bits & ~(std::uint64_t{1} << 63)) >> shift) - rebias;
        code = (code | ((bits >> 63) << (f.bits - 1))) << f.padding;
      }
      store_element(f, to + (start + i) * width, code);
    }
  }
}

}  // namespace assay
