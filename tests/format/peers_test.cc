// Compares with peers that round by code of their own: Eigen's half and bfloat16, and the
// processor's float32.
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "assay/base/random.h"
#include "assay/format/format.h"

namespace assay {
namespace {

template <typename T>
std::uint16_t bits_of(T v) {
  return std::bit_cast<std::uint16_t>(v);
}

template <typename T>
struct Peer;
template <>
struct Peer<Eigen::half> {
  static constexpr const char* kName = "float16";
};
template <>
struct Peer<Eigen::bfloat16> {
  static constexpr const char* kName = "bfloat16";
};

template <typename T>
class EigenTest : public testing::Test {
 protected:
  const Format& format = format_named(Peer<T>::kName);

  void check(float v) {
    const std::uint64_t ours = encode(format, static_cast<double>(v));
    const auto theirs = bits_of(T(v));
    if (std::isnan(v)) {
      ASSERT_TRUE(is_nan(format, ours) && is_nan(format, theirs));
    } else {
      ASSERT_EQ(ours, theirs) << std::hexfloat << v;
    }
  }
};

struct Names {
  template <typename T>
  static std::string GetName(int) {
    return Peer<T>::kName;
  }
};
using Peers = testing::Types<Eigen::half, Eigen::bfloat16>;
TYPED_TEST_SUITE(EigenTest, Peers, Names);

TYPED_TEST(EigenTest, DecodesEveryCode) {
  for (int code = 0; code < 65536; ++code) {
    const auto value =
        static_cast<float>(std::bit_cast<TypeParam>(static_cast<std::uint16_t>(code)));
    const double ours = decode(this->format, static_cast<std::uint64_t>(code));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(ours)) << code;
    } else {
      ASSERT_EQ(ours, static_cast<double>(value)) << code;
      ASSERT_EQ(std::signbit(ours), std::signbit(value)) << code;
    }
  }
}

TYPED_TEST(EigenTest, EncodesMidpointsAndTheirNeighbours) {
  for (std::uint64_t code = 0; code < 0x7fff; ++code) {
    const double low = decode(this->format, code), high = decode(this->format, code + 1);
    if (!std::isfinite(high)) break;
    const auto middle = static_cast<float>(low + (high - low) / 2);  // exact
    for (const float v : {middle, std::nextafterf(middle, 0), std::nextafterf(middle, 1e38f)}) {
      ASSERT_NO_FATAL_FAILURE(this->check(v));
      ASSERT_NO_FATAL_FAILURE(this->check(-v));
    }
  }
}

TYPED_TEST(EigenTest, EncodesRandomPatterns) {
  Random random(4, 1);
  for (int i = 0; i < 300000; ++i) {
    ASSERT_NO_FATAL_FAILURE(
        this->check(std::bit_cast<float>(static_cast<std::uint32_t>(random.next64()))));
  }
  for (const float v : {65519.0f, 65520.0f, 65536.0f, 0x1.fefffep127f, 0x1.ffp127f,
                        std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN()}) {
    ASSERT_NO_FATAL_FAILURE(this->check(v));
    ASSERT_NO_FATAL_FAILURE(this->check(-v));
  }
}

// Returns v rounded to float32 by the processor in one of its rounding modes.
float hardware_float32(double v, int mode) {
  std::fesetround(mode);
  volatile double from = v;
  volatile float to = static_cast<float>(from);
  std::fesetround(FE_TONEAREST);
  return to;
}

TEST(HardwareTest, Float32InItsFourModes) {
  const Format& f = format_named("float32");
  const struct {
    int theirs;
    Rounding ours;
  } modes[] = {{FE_TONEAREST, Rounding::kNearestEven},
               {FE_TOWARDZERO, Rounding::kTowardZero},
               {FE_UPWARD, Rounding::kUp},
               {FE_DOWNWARD, Rounding::kDown}};
  Random random(4, 2);
  std::vector<double> values = {
      0.0,      -0.0,       0x1.fffffefffffffp127,  0x1.ffffffp127, 0x1p128, 0x1p-149,
      0x1p-150, 0x1.8p-149, 0x1.0000000000001p-150, 1e300,          1e-300,  5e-324};
  for (int i = 0; i < 50000; ++i) {
    values.push_back(std::ldexp(random.uniform() + 0.5, static_cast<int>(random.below(290)) - 155));
    // Close to ties.
    const auto code = static_cast<std::uint32_t>(random.below(0x7f7fffff));
    const double low = static_cast<double>(std::bit_cast<float>(code));
    const double high = static_cast<double>(std::bit_cast<float>(code + 1));
    const double middle = low + (high - low) / 2;
    for (const double v : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300)}) {
      values.push_back(v);
    }
  }
  for (const double size : values) {
    for (const double v : {size, -size}) {
      for (const auto& mode : modes) {
        ASSERT_EQ(encode(f, v, mode.ours),
                  std::bit_cast<std::uint32_t>(hardware_float32(v, mode.theirs)))
            << std::hexfloat << v << " " << rounding_name(mode.ours);
      }
    }
  }
}

}  // namespace
}  // namespace assay
