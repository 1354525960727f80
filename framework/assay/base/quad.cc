#include "assay/base/quad.h"

#include <cmath>

#if LDBL_MANT_DIG != 113
// glibc's functions for binary128. Its headers declare them only to some compilers, and to others
// with a type of their own. So they are declared here under other names.
extern "C" {
__float128 binary128_sqrt(__float128) noexcept __asm__("sqrtf128");
__float128 binary128_exp(__float128) noexcept __asm__("expf128");
__float128 binary128_log(__float128) noexcept __asm__("logf128");
__float128 binary128_log10(__float128) noexcept __asm__("log10f128");
__float128 binary128_tanh(__float128) noexcept __asm__("tanhf128");
__float128 binary128_erfc(__float128) noexcept __asm__("erfcf128");
}
#endif

namespace assay::inline v0_2::quad {

#if LDBL_MANT_DIG == 113
Quad sqrt(Quad x) { return std::sqrt(x); }
Quad exp(Quad x) { return std::exp(x); }
Quad log(Quad x) { return std::log(x); }
Quad log10(Quad x) { return std::log10(x); }
Quad tanh(Quad x) { return std::tanh(x); }
Quad erfc(Quad x) { return std::erfc(x); }
#else
Quad sqrt(Quad x) { return binary128_sqrt(x); }
Quad exp(Quad x) { return binary128_exp(x); }
Quad log(Quad x) { return binary128_log(x); }
Quad log10(Quad x) { return binary128_log10(x); }
Quad tanh(Quad x) { return binary128_tanh(x); }
Quad erfc(Quad x) { return binary128_erfc(x); }
#endif

}  // namespace assay::quad
