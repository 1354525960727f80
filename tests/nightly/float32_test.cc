// Converts every float32 through the vector path to the four formats that matter most. The codes
// are those of the scalar encode(), NaN, infinity and subnormals included.
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/format/convert.h"
#include "assay/format/format.h"

namespace assay {
namespace {

class EveryFloat32Test : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, EveryFloat32Test,
                         testing::Values("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"),
                         [](const testing::TestParamInfo<const char*>& tested) {
                           return std::string(tested.param);
                         });

TEST_P(EveryFloat32Test, VectorAndScalarGiveTheSameCode) {
  const Format& f = format_named(GetParam());
  const auto width = static_cast<std::size_t>(f.storage_bytes);
  constexpr std::uint64_t kBlock = 1 << 16, kAll = std::uint64_t{1} << 32;
  std::vector<float> from(kBlock);
  std::vector<std::byte> to(kBlock * width);
  std::uint64_t compared = 0;
  for (std::uint64_t start = 0; start < kAll; start += kBlock) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      from[i] = std::bit_cast<float>(static_cast<std::uint32_t>(start + i));
    }
    encode_array(f, from.data(), kBlock, to.data());
    for (std::size_t i = 0; i < kBlock; ++i, ++compared) {
      ASSERT_EQ(load_element(f, to.data() + i * width), encode(f, static_cast<double>(from[i])))
          << std::hex << "float32 0x" << start + i;
    }
  }
  EXPECT_EQ(compared, kAll);
}

}  // namespace
}  // namespace assay
