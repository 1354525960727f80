// Converts float32 to every format of at most 16 bits: all values, all midpoints, the float32 next
// to each, the edges and the special values, in every mode. The scalar path is compared with MPFR,
// and the vector path with both.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/format/convert.h"
#include "assay/format/format.h"
#include "oracle.h"

namespace assay {
namespace {

constexpr float kInfinity32 = std::numeric_limits<float>::infinity();

// Not negative.
std::vector<float> inputs_of(const oracle::Spec& row) {
  std::vector<float> inputs = {0.0f, 0x1p-149f,       0x1.fffffcp-127f, 0x1p-126f,
                               1.0f, 0x1.fffffep127f, kInfinity32};
  const auto add = [&](double at) {
    const auto v = static_cast<float>(at);
    for (const float x : {v, std::nextafterf(v, 0.0f), std::nextafterf(v, kInfinity32)}) {
      inputs.push_back(x);
    }
  };
  const auto table = oracle::points(row);
  for (std::size_t i = 0; i < table.size(); ++i) {
    add(table[i].value);
    // Also adds the middle between this value and the next one. After the largest value, that is
    // the number half a step beyond it, where rounding decides on overflow: the most important
    // case.
    const double low = table[i].value, below = i > 0 ? table[i - 1].value : 0.0;
    add(i + 1 < table.size() ? (low + table[i + 1].value) / 2 : low + (low - below) / 2);
  }
  add(row.max + (row.max - table[table.size() - 2].value));
  add(row.max * 1.25);
  add(row.min_subnormal / 2);
  Random random(51, 1);
  for (int i = 0; i < 2000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.below(0x7f800000u));
    inputs.push_back(std::bit_cast<float>(bits));
  }
  return inputs;
}

class Float32Test : public testing::TestWithParam<std::string> {
 protected:
  const Format& format = format_named(GetParam());
  const oracle::Reference reference{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(UpTo16Bits, Float32Test, testing::ValuesIn(oracle::names(16)),
                         oracle::name_of);

TEST_P(Float32Test, EveryModeAsMpfr) {
  for (const float size : inputs_of(reference.row)) {
    for (const float input : {size, -size}) {
      const auto v = static_cast<double>(input);
      for (const Rounding mode : oracle::kRoundings) {
        for (const Overflow overflow : oracle::kOverflows) {
          const double expected = reference.rounded(v, mode, overflow);
          const double got = oracle::value(GetParam(), encode(format, v, mode, overflow));
          ASSERT_TRUE(oracle::same(got, expected))
              << std::hexfloat << v << " became " << got << ", not " << expected << ": "
              << rounding_name(mode);
        }
      }
    }
  }
}

TEST_P(Float32Test, VectorPathAsTheScalar) {
  std::vector<float> inputs = inputs_of(reference.row);
  const std::size_t half = inputs.size();
  for (std::size_t i = 0; i < half; ++i) inputs.push_back(-inputs[i]);
  if (reference.row.nan) {
    for (const std::uint32_t nan :
         {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u, 0xffc00000u, 0xffffffffu}) {
      inputs.push_back(std::bit_cast<float>(nan));
    }
  }
  const auto width = static_cast<std::size_t>(format.storage_bytes);
  std::vector<std::byte> codes(inputs.size() * width);
  for (const Overflow overflow : oracle::kOverflows) {
    encode_array(format, inputs.data(), inputs.size(), codes.data(), overflow);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto v = static_cast<double>(inputs[i]);
      ASSERT_EQ(load_element(format, codes.data() + i * width),
                encode(format, v, Rounding::kNearestEven, overflow))
          << std::hexfloat << v;
    }
  }
}

}  // namespace
}  // namespace assay
