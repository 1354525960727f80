// The functions by which kernels read elements, and add to numbers that blocks of threads share.
#pragma once

#include "assay/base/kernel_code.h"

namespace assay {
inline namespace v0_2 {
namespace device {

// A float format whose values are sign and magnitude, at most float64's, or integers of at most 32
// bits.
struct ElementFormat {
  enum class Kind : int { kFloat, kSigned, kUnsigned };
  Kind kind;      // the members from `mantissa` on are for floats
  int bytes;      // of an element in memory
  int bits;       // that carry the value
  int mantissa;   // bits of the mantissa
  bool fnuz;      // the code of negative zero is NaN
  bool as_float;  // the first bits of a float32, with its infinity and NaN
  U64 special;    // the magnitude of the first code that is infinity or NaN
  double scale;   // 2^(1023 - bias), and for float32 2^(127 - bias)
  float float_scale;
  double least, min_normal, most;  // the smallest numbers, and the largest
};

#ifdef __CUDACC_RTC__
ASSAY_HERE void add_to(U32* sum, U32 x) {
  if (x != 0) atomicAdd(sum, x);
}
ASSAY_HERE void add_to(U64* sum, U64 x) {
  if (x != 0) atomicAdd(sum, x);
}
ASSAY_HERE U64 current(const U64* x) { return *static_cast<const volatile U64*>(x); }
ASSAY_HERE void raise_to(U64* most, U64 x) {
  if (x > current(most)) atomicMax(most, x);
}
#else
// The host runs the threads of a block one after the other, and blocks beside each other.
ASSAY_HERE void add_to(U32* sum, U32 x) { *sum += x; }
ASSAY_HERE void add_to(U64* sum, U64 x) { *sum += x; }
ASSAY_HERE U64 current(const U64* x) { return __atomic_load_n(x, __ATOMIC_RELAXED); }
ASSAY_HERE void raise_to(U64* most, U64 x) {
  U64 now = current(most);
  while (x > now &&
         !__atomic_compare_exchange_n(most, &now, x, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
#endif

ASSAY_HERE U64 magnitude(const ElementFormat& f, U64 code) {
  return code & ((U64{1} << (f.bits - 1)) - 1);
}
// True if a code is infinity, NaN, or not a code of the format.
ASSAY_HERE bool is_special(const ElementFormat& f, U64 code) {
  return magnitude(f, code) >= f.special || (f.fnuz && code == U64{1} << (f.bits - 1)) ||
         (f.bits < 8 * f.bytes && code >> f.bits != 0);
}
// Returns the value of a code that is not special, divided by ElementFormat::scale. The magnitude
// is that of a float64 with another bias, which is subnormal if the format's number is.
constexpr int kHighMantissa = 20;  // bits of the mantissa in the high half of a float64
ASSAY_HERE double unscaled(const ElementFormat& f, U64 code) {
  const U64 sign = (code >> (f.bits - 1) & 1) << 63;
  return as_double((magnitude(f, code) << (52 - f.mantissa)) | sign);
}
// Returns the value of a code that is not special. The product is exact.
ASSAY_HERE double value_of(const ElementFormat& f, U64 code) { return unscaled(f, code) * f.scale; }
// The same as value_of() for formats whose values float32 holds.
ASSAY_HERE float float_of(const ElementFormat& f, U32 code) {
  if (f.as_float) return as_float(code << (23 - f.mantissa));
  const U32 size = static_cast<U32>(magnitude(f, code)) << (23 - f.mantissa);
  const float value = as_float(size) * f.float_scale;
  return (code >> (f.bits - 1) & 1) != 0 ? -value : value;
}

// Returns the value of a code of any kind, divided by scale_of(). `largest` becomes the largest
// magnitude so far, or all ones if the code is no number. If has_special() is true for it, one of
// the codes was infinity or NaN. Formats that are the first bits of a float32 have their own
// infinity and NaN instead.
ASSAY_HERE double unscaled_number(const ElementFormat& f, U64 code, U32& largest) {
  const U32 low = static_cast<U32>(code);
  if (f.kind == ElementFormat::Kind::kFloat) {
    if (f.as_float) return static_cast<double>(float_of(f, low));
    if (f.bits > 16 || f.fnuz || f.bits != 8 * f.bytes) {
      if (is_special(f, code)) largest = ~U32{0};
      return unscaled(f, code);
    }
    const U32 size = low & ((U32{1} << (f.bits - 1)) - 1),
              sign = low << (32 - f.bits) & U32{1} << 31;
    largest = greater(largest, size);
    return from_high(size << (kHighMantissa - f.mantissa) | sign);
  }
  const U32 up = low << (32 - f.bits);
  if (f.kind == ElementFormat::Kind::kUnsigned) return static_cast<double>(up >> (32 - f.bits));
  return static_cast<double>(static_cast<int>(up) >> (32 - f.bits));
}
ASSAY_HERE bool has_special(const ElementFormat& f, U32 largest) {
  return f.kind == ElementFormat::Kind::kFloat && !f.as_float && largest >= f.special;
}
ASSAY_HERE double scale_of(const ElementFormat& f) {
  return f.kind == ElementFormat::Kind::kFloat && !f.as_float ? f.scale : 1;
}
// Up to 16 bytes of elements, which a thread loads at once.
struct alignas(16) Pack {
  U32 words[4];
};
ASSAY_HERE Pack load(const void* memory, U64 byte, int bytes) {
  const char* const at = static_cast<const char*>(memory) + byte;
  Pack pack = {{0, 0, 0, 0}};
#ifdef __CUDACC_RTC__
  if (bytes == 16) {
    const uint4 all = __ldcs(reinterpret_cast<const uint4*>(at));
    pack.words[0] = all.x, pack.words[1] = all.y, pack.words[2] = all.z, pack.words[3] = all.w;
  } else if (bytes == 8) {
    const uint2 all = __ldcs(reinterpret_cast<const uint2*>(at));
    pack.words[0] = all.x, pack.words[1] = all.y;
  } else if (bytes == 4) {
    pack.words[0] = __ldcs(reinterpret_cast<const U32*>(at));
  } else {
    pack.words[0] = __ldcs(reinterpret_cast<const unsigned short*>(at));
  }
#else
  __builtin_memcpy(&pack, at, static_cast<U64>(bytes));
#endif
  return pack;
}
ASSAY_HERE U64 code_in(const Pack& pack, int bytes, int k) {
  if (bytes == 8) {
    const U32* const word = k == 0 ? pack.words : pack.words + 2;  // two elements fill a pack
    return word[0] | static_cast<U64>(word[1]) << 32;
  }
  const int bit = 8 * bytes * k;
  const U32 word = pack.words[bit / 32] >> (bit % 32);
  return bytes == 4 ? word : word & ((U32{1} << (8 * bytes)) - 1);
}
ASSAY_HERE U64 code_at(const void* memory, int bytes, U64 index) {
  const unsigned char* const at =
      static_cast<const unsigned char*>(memory) + index * static_cast<U64>(bytes);
  U64 code = 0;
  for (int b = 0; b < bytes; ++b) code |= static_cast<U64>(at[b]) << (8 * b);
  return code;
}

}  // namespace device
}  // namespace v0_2
}  // namespace assay
