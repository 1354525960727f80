// Binary128 of IEEE 754, with 113 bits of precision and the exponent range of x87's 80-bit format.
// It computes the same bits on every processor, and is used if double-double arithmetic
// (base/double_double.h) has too small a range. It is long double on 64-bit ARM and __float128 on
// x86-64. Its arithmetic is that of the compiler's library and is correctly rounded. Its functions
// are the C library's.
#pragma once

#include <cfloat>

namespace assay::inline v0_2 {

#if LDBL_MANT_DIG == 113
using Quad = long double;
#elif defined(__SIZEOF_FLOAT128__)
using Quad = __float128;
#else
#error "assay needs a floating-point type of 128 bits"
#endif

namespace quad {

Quad sqrt(Quad x);
Quad exp(Quad x);
Quad log(Quad x);
Quad log10(Quad x);
Quad tanh(Quad x);
Quad erfc(Quad x);

inline Quad abs(Quad x) { return x < 0 ? -x : x; }
inline bool is_finite(Quad x) { return x - x == 0; }

}  // namespace quad
}  // namespace assay
