// Binary128 of IEEE 754, which has the range of x87's 80 bits and 113 bits of precision: the type
// that computes the same bits on every processor where double-double arithmetic
// (base/double_double.h) has no room. It is long double on 64-bit ARM and __float128 on x86-64; its
// arithmetic is that of the compiler's library and correctly rounded, its functions are the C
// library's.
#pragma once

#include <cfloat>

namespace assay {

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
