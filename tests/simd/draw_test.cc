#include "assay/simd/draw.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "assay/base/random.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

class SimdDrawTest : public OnEveryTarget {};

INSTANTIATE_TEST_SUITE_P(OnTarget, SimdDrawTest, testing::ValuesIn(available_targets()), target_of);

constexpr std::uint64_t kSeeds[] = {0, 7, 0xffffffffu, ~std::uint64_t{0}, 0x123456789abcdef0u};

// Draws values by the scalar oracle, which is a Random that draws one after another.
template <typename T, typename Draw>
std::vector<T> one_by_one(std::uint64_t seed, std::uint64_t stream, std::size_t n, Draw draw) {
  Random random(seed, stream);
  std::vector<T> values(n);
  for (T& v : values) v = draw(random);
  return values;
}

TEST_P(SimdDrawTest, EveryKindIsItsScalarOracle) {
  constexpr std::size_t kDraws = 5000;
  for (const std::uint64_t seed : kSeeds) {
    for (const std::uint64_t stream : kSeeds) {
      std::vector<std::uint64_t> words(kDraws);
      draw_words(seed, stream, 0, kDraws, words.data());
      ASSERT_EQ(words, one_by_one<std::uint64_t>(seed, stream, kDraws,
                                                 [](Random& r) { return r.next64(); }));
      std::vector<double> values(kDraws);
      draw_uniforms(seed, stream, 0, kDraws, values.data());
      ASSERT_EQ(values,
                one_by_one<double>(seed, stream, kDraws, [](Random& r) { return r.uniform(); }));
      draw_normals(seed, stream, 0, kDraws, values.data());
      const auto normals =
          one_by_one<double>(seed, stream, kDraws, [](Random& r) { return r.normal(); });
      for (std::size_t i = 0; i < kDraws; ++i) {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(values[i]), std::bit_cast<std::uint64_t>(normals[i]))
            << i;
      }
    }
  }
}

TEST_P(SimdDrawTest, AnyPartIsThePartOfTheWhole) {
  constexpr std::size_t kDraws = 200;
  std::vector<double> whole(kDraws), uniforms(kDraws);
  std::vector<std::uint64_t> words(kDraws);
  draw_normals(3, 4, 0, kDraws, whole.data());
  draw_uniforms(3, 4, 0, kDraws, uniforms.data());
  draw_words(3, 4, 0, kDraws, words.data());
  for (std::size_t begin = 0; begin < 40; ++begin) {
    for (std::size_t n = 0; n < 45; ++n) {
      std::vector<double> part(n + 1, 7);
      const auto check = [&](const std::vector<double>& of) {
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(part[i], of[begin + i]) << begin << " " << n;
        ASSERT_EQ(part[n], 7) << "nothing is written beyond the end";
      };
      draw_normals(3, 4, begin, n, part.data());
      check(whole);
      draw_uniforms(3, 4, begin, n, part.data());
      check(uniforms);
      std::vector<std::uint64_t> some(n + 1, 7);
      draw_words(3, 4, begin, n, some.data());
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(some[i], words[begin + i]);
      ASSERT_EQ(some[n], 7u);
    }
  }
}

TEST_P(SimdDrawTest, StudentTIsItsScalarOracle) {
  // Few degrees of freedom take large powers, and many take tiny powers.
  for (const double nu : {0.5, 1.0, 2.5, 3.0, 30.0, 1e6, 1e9}) {
    for (const std::size_t n : {1u, 7u, 16u, 5001u}) {
      for (const std::uint64_t begin : {0u, 3u}) {
        std::vector<double> values(n + 1, 7);
        draw_student_t(nu, 8, 9, begin, n, values.data());
        Random random(8, 9);
        for (std::uint64_t i = 0; i < 2 * begin; ++i) random.uniform();
        for (std::size_t i = 0; i < n; ++i) {
          const double radius = random.uniform(),
                       expected = student_t(nu, radius, random.uniform());
          ASSERT_EQ(std::bit_cast<std::uint64_t>(values[i]), std::bit_cast<std::uint64_t>(expected))
              << nu << " " << i;
        }
        ASSERT_EQ(values[n], 7);
      }
    }
  }
}

// The number of a block uses all 64 bits of the counter.
TEST_P(SimdDrawTest, PositionsBeyond32Bits) {
  for (const std::uint64_t block :
       {std::uint64_t{0xfffffffe}, std::uint64_t{1} << 40, (std::uint64_t{1} << 63) - 20}) {
    std::vector<std::uint64_t> words(33);
    draw_words(5, 6, 2 * block + 1, words.size(), words.data());
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::uint64_t at = 2 * block + 1 + i;
      const auto expected = philox(5, 6, at / 2);
      const std::size_t half = at % 2 * 2;
      ASSERT_EQ(words[i], (std::uint64_t{expected[half + 1]} << 32) | expected[half]) << i;
    }
  }
}

TEST_P(SimdDrawTest, AffineRoundsTwice) {
  Random random(12, 1);
  for (std::size_t n = 0; n < 40; ++n) {
    std::vector<double> values(n + 1), expected(n);
    for (double& v : values) v = random.normal();
    const double shift = random.normal(), factor = random.normal(), beyond = values[n];
    for (std::size_t i = 0; i < n; ++i) {
      const volatile double product = factor * values[i];
      expected[i] = shift + product;
    }
    affine(shift, factor, n, values.data());
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(values[i], expected[i]);
    ASSERT_EQ(values[n], beyond);
  }
}

}  // namespace
}  // namespace assay::simd
