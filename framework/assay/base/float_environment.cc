#include "assay/base/float_environment.h"

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// assay must not be compiled with -ffast-math. CMakeLists.txt turns it off for every file of assay.
// If that fails, the compilation stops here.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "assay itself cannot be compiled with -ffast-math or its kind; programs that use it can"
#endif

namespace assay::inline v0_2 {
namespace {

#if defined(__x86_64__)
// The values of MXCSR and of the x87 control word that assay computes with. MXCSR controls SSE and
// AVX, and its low six bits are flags. The control word applies to long double. Source: Intel 64
// and IA-32 Architectures Software Developer's Manual, volume 1, 10.2.3 and 8.1.5.
constexpr std::uint32_t kMxcsr = 0x1f80, kMxcsrFlags = 0x3f;
constexpr std::uint16_t kX87 = 0x037f;

bool is_set() {
  std::uint16_t x87 = 0;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return x87 == kX87 && (_mm_getcsr() & ~kMxcsrFlags) == kMxcsr;
}
void set() {
  std::fesetenv(FE_DFL_ENV);
  // In some libraries, fesetenv() does not turn off flushing to zero.
  _mm_setcsr(kMxcsr);
}
#elif defined(__aarch64__)
// If FPCR is 0, the processor rounds to nearest, keeps subnormal numbers and has no traps (Arm
// Architecture Reference Manual for A-profile).
bool is_set() {
  std::uint64_t control = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return control == 0;
}
void set() {
  std::fesetenv(FE_DFL_ENV);
  __asm__ volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}) : "memory");
}
#else
bool is_set() { return false; }  // the state cannot be read, so the environment is always set
void set() { std::fesetenv(FE_DFL_ENV); }
#endif

}  // namespace

FloatEnvironment::FloatEnvironment() : changed_(!is_set()) {
  if (!changed_) return;
  std::fegetenv(&callers_);
  set();
}
FloatEnvironment::~FloatEnvironment() {
  if (changed_) std::fesetenv(&callers_);
}

CallersFloatEnvironment::CallersFloatEnvironment(const FloatEnvironment& within)
    : changed_(within.changed_) {
  if (changed_) std::fesetenv(&within.callers_);
}
CallersFloatEnvironment::~CallersFloatEnvironment() {
  if (changed_) set();
}

}  // namespace assay
