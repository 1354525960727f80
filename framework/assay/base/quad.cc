#include "assay/base/quad.h"

#include <cmath>

#if LDBL_MANT_DIG != 113
// glibc's functions of binary128, which its headers declare to some compilers alone.
extern "C" {
__float128 sqrtf128(__float128) noexcept;
__float128 expf128(__float128) noexcept;
__float128 logf128(__float128) noexcept;
__float128 log10f128(__float128) noexcept;
__float128 tanhf128(__float128) noexcept;
__float128 erfcf128(__float128) noexcept;
}
#endif

namespace assay::quad {

#if LDBL_MANT_DIG == 113
Quad sqrt(Quad x) { return std::sqrt(x); }
Quad exp(Quad x) { return std::exp(x); }
Quad log(Quad x) { return std::log(x); }
Quad log10(Quad x) { return std::log10(x); }
Quad tanh(Quad x) { return std::tanh(x); }
Quad erfc(Quad x) { return std::erfc(x); }
#else
Quad sqrt(Quad x) { return sqrtf128(x); }
Quad exp(Quad x) { return expf128(x); }
Quad log(Quad x) { return logf128(x); }
Quad log10(Quad x) { return log10f128(x); }
Quad tanh(Quad x) { return tanhf128(x); }
Quad erfc(Quad x) { return erfcf128(x); }
#endif

}  // namespace assay::quad
