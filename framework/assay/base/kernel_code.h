// Functions for code that is compiled twice: with the framework for the host, and from its own text
// for a device when a program needs it (device/). Such code includes only other headers of that
// kind, and uses no library.
#pragma once

#ifdef __CUDACC_RTC__
#define ASSAY_HERE __device__ __forceinline__
#define ASSAY_RARE __device__ __noinline__
#define ASSAY_IN __device__
#define ASSAY_UNROLL _Pragma("unroll")
#define ASSAY_NO_UNROLL _Pragma("unroll 1")
#else
#define ASSAY_HERE inline
#define ASSAY_RARE inline
#define ASSAY_IN
#define ASSAY_UNROLL
#define ASSAY_NO_UNROLL
#include "assay/base/constants.h"
#include "assay/base/elementary.h"
#endif

namespace assay {
inline namespace v0_2 {

#ifdef __CUDACC_RTC__
constexpr double kInfinity = __builtin_bit_cast(double, 0x7ff0000000000000ull);
constexpr double kNan = __builtin_bit_cast(double, 0x7ff8000000000000ull);
#endif

namespace device {

using U32 = unsigned int;
using U64 = unsigned long long;
using I64 = long long;

constexpr double kMostFinite = 0x1.fffffffffffffp+1023;

#ifdef __CUDACC_RTC__
ASSAY_HERE double as_double(U64 bits) { return __longlong_as_double(static_cast<long long>(bits)); }
ASSAY_HERE U64 bits_of(double x) { return static_cast<U64>(__double_as_longlong(x)); }
ASSAY_HERE float as_float(U32 bits) { return __uint_as_float(bits); }
ASSAY_HERE U32 bits_of(float x) { return __float_as_uint(x); }
ASSAY_HERE double size_of(double x) { return fabs(x); }
ASSAY_HERE float size_of(float x) { return fabsf(x); }
ASSAY_HERE U32 high_of(double x) { return static_cast<U32>(__double2hiint(x)); }
ASSAY_HERE double from_high(U32 bits) { return __hiloint2double(static_cast<int>(bits), 0); }
ASSAY_HERE double root_of(double x) { return sqrt(x); }
// exp, log and expm1 of the device's library, and of base/elementary.h on the host.
ASSAY_HERE double exp_of(double x) { return exp(x); }
ASSAY_HERE double log_of(double x) { return log(x); }
ASSAY_HERE double expm1_of(double x) { return expm1(x); }
ASSAY_HERE double scaled(double x, int exponent) { return ldexp(x, exponent); }
#else
ASSAY_HERE double as_double(U64 bits) { return __builtin_bit_cast(double, bits); }
ASSAY_HERE U64 bits_of(double x) { return __builtin_bit_cast(U64, x); }
ASSAY_HERE float as_float(U32 bits) { return __builtin_bit_cast(float, bits); }
ASSAY_HERE U32 bits_of(float x) { return __builtin_bit_cast(U32, x); }
ASSAY_HERE double size_of(double x) { return __builtin_fabs(x); }
ASSAY_HERE float size_of(float x) { return __builtin_fabsf(x); }
ASSAY_HERE U32 high_of(double x) { return static_cast<U32>(bits_of(x) >> 32); }
ASSAY_HERE double from_high(U32 bits) { return as_double(U64{bits} << 32); }
ASSAY_HERE double root_of(double x) { return __builtin_sqrt(x); }
ASSAY_HERE double exp_of(double x) { return portable::exp(x); }
ASSAY_HERE double log_of(double x) { return portable::log(x); }
ASSAY_HERE double expm1_of(double x) { return portable::expm1(x); }
ASSAY_HERE double scaled(double x, int exponent) { return __builtin_ldexp(x, exponent); }
#endif

// As std::min() and std::max() do, with NaN too.
ASSAY_HERE double lesser(double x, double y) { return y < x ? y : x; }
ASSAY_HERE double greater(double x, double y) { return x < y ? y : x; }
ASSAY_HERE U32 greater(U32 x, U32 y) { return x < y ? y : x; }
ASSAY_HERE bool is_finite(double x) { return size_of(x) <= kMostFinite; }

}  // namespace device
}  // namespace v0_2
}  // namespace assay
