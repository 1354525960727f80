#include "assay/base/float_environment.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cstdint>
#include <mutex>
#include <vector>

#include "assay/base/parallel.h"
#include "hostile_environment.h"

namespace assay {
namespace {

// Results that depend on the floating-point environment of the moment.
struct Arithmetic {
  double third, halved;
  int rounding;
  friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
};
Arithmetic compute() {
  volatile double one = 1, three = 3, half = 0.5;
  volatile double smallest = 0x1p-1022;
  return {one / three, smallest * half, std::fegetround()};
}
const Arithmetic kPlain = {0x1.5555555555555p-2, 0x1p-1023, FE_TONEAREST};

TEST(FloatEnvironmentTest, SetsNearestAndGradualAndGivesBackWhatWasThere) {
  const Arithmetic before = compute();
  EXPECT_EQ(before, kPlain);
  {
    const HostileEnvironment hostile;
    const Arithmetic outside = compute();
    EXPECT_EQ(outside.rounding, FE_UPWARD);
    EXPECT_EQ(outside.third, 0x1.5555555555556p-2);
    if (HostileEnvironment::flushes()) {
      EXPECT_EQ(outside.halved, 0);
    }
    {
      const FloatEnvironment environment;
      EXPECT_EQ(compute(), kPlain);
      {
        const CallersFloatEnvironment callers(environment);
        EXPECT_EQ(compute(), outside);
        {
          const FloatEnvironment again;
          EXPECT_EQ(compute(), kPlain);
        }
        EXPECT_EQ(compute(), outside);
      }
      EXPECT_EQ(compute(), kPlain);
    }
    EXPECT_EQ(compute(), outside);
  }
  EXPECT_EQ(compute(), kPlain);
}

TEST(FloatEnvironmentTest, LeavesAPlainEnvironmentAndItsFlagsAlone) {
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_INVALID);
  {
    const FloatEnvironment environment;
    const CallersFloatEnvironment callers(environment);
    EXPECT_EQ(compute(), kPlain);
  }
  EXPECT_NE(std::fetestexcept(FE_INVALID), 0);
  std::feclearexcept(FE_ALL_EXCEPT);
}

// A debug build may trap on invalid operations. For assay, NaN is not an error.
TEST(FloatEnvironmentTest, DoesNotTrap) {
  const HostileEnvironment hostile(/*traps=*/true);
  const FloatEnvironment environment;
  volatile double zero = 0;
  const double nan = zero / zero;
  EXPECT_EQ(std::bit_cast<std::uint64_t>(nan) << 1, std::uint64_t{0xfff} << 52);
}

TEST(FloatEnvironmentTest, WorkersOfALoopHaveIt) {
  for (const int threads : {2, 8}) {
    const HostileEnvironment hostile;
    std::mutex mutex;
    std::vector<Arithmetic> seen;
    {
      const FloatEnvironment environment;
      parallel_for(64, threads, [&](std::int64_t) {
        const Arithmetic here = compute();
        const std::lock_guard lock(mutex);
        seen.push_back(here);
      });
    }
    ASSERT_EQ(seen.size(), 64u);
    for (const Arithmetic& here : seen) EXPECT_EQ(here, kPlain);
  }
}

}  // namespace
}  // namespace assay
