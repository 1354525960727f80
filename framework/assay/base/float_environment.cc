#include "assay/base/float_environment.h"

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// CMakeLists.txt turns these flags off for every file of assay. If it fails to, this reports it.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "assay itself cannot be compiled with -ffast-math or its kind; programs that use it can"
#endif

namespace assay {
namespace {

#if defined(__x86_64__)
// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1: 8.1.5 (the x87 control
// word, which long double goes by) and 10.2.3 (MXCSR, the low six bits of which are flags).
constexpr std::uint32_t kMxcsr = 0x1f80, kMxcsrFlags = 0x3f;
constexpr std::uint16_t kX87 = 0x037f;

bool is_set() {
  std::uint16_t x87 = 0;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return x87 == kX87 && (_mm_getcsr() & ~kMxcsrFlags) == kMxcsr;
}
void set() {
  std::fesetenv(FE_DFL_ENV);
  _mm_setcsr(kMxcsr);  // fesetenv leaves flushing to zero as it is in some libraries
}
#elif defined(__aarch64__)
// Arm Architecture Reference Manual for A-profile, FPCR: 0 means to nearest, gradual underflow,
// without traps.
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
bool is_set() { return false; }  // not known, so it is always set
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
