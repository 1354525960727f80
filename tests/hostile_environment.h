// Sets a floating-point environment that no verdict should depend on, for the life of an object:
// rounding upward, and subnormal numbers flushed to zero as in a program of -Ofast.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

class HostileEnvironment {
 public:
  // With `traps`, an invalid operation kills the program, if the library can do that.
  explicit HostileEnvironment(bool traps = false) {
    std::fegetenv(&before_);
    std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);  // FTZ and DAZ
#elif defined(__aarch64__)
    std::uint64_t control = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | (std::uint64_t{1} << 24)));  // FZ
#endif
#if defined(__GLIBC__)
    if (traps) feenableexcept(FE_INVALID);
#else
    (void)traps;
#endif
  }
  ~HostileEnvironment() { std::fesetenv(&before_); }
  HostileEnvironment(const HostileEnvironment&) = delete;
  HostileEnvironment& operator=(const HostileEnvironment&) = delete;

  static constexpr bool flushes() {
#if defined(__x86_64__) || defined(__aarch64__)
    return true;
#else
    return false;
#endif
  }

 private:
  std::fenv_t before_;
};
