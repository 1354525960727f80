// A device returns bytes. Here they are 16-bit patterns, and the test names their format.
#include <assay/matchers.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

namespace {

// Replaces a copy from the device: 2 x 3 elements of bfloat16.
const std::uint16_t* device_result() {
  static constexpr std::uint16_t kBits[] = {0x3f80, 0x4000, 0x4040, 0xbf80, 0x3e80, 0x0000};
  return kBits;
}

TEST(DeviceBuffer, MatchesTheGoldenResult) {
  const std::vector<float> golden = {1, 2, 3, -1, 0.25, 0};

  const std::uint16_t* out = device_result();
  const auto y = assay::view_bits(std::span(out, 6), assay::format_named("bfloat16"), {2, 3});
  EXPECT_THAT(y, assay::CloseTo(assay::view(golden, {2, 3})));
}

}  // namespace
