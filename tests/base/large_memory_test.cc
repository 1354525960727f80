#include "assay/base/large_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace assay {
namespace {

TEST(LargeVector, HoldsWhatItIsGiven) {
  EXPECT_TRUE(large_vector<double>(0).empty());
  // Sizes below and above the one from which huge pages are requested, and not multiples of them.
  for (const std::size_t count : {1u, 1000u, 1u << 20, (3u << 20) + 5}) {
    const std::vector<double> zeros = large_vector<double>(count);
    EXPECT_EQ(zeros.size(), count);
    EXPECT_TRUE(std::all_of(zeros.begin(), zeros.end(), [](double v) { return v == 0; }));
    const std::vector<std::int16_t> sevens = large_vector(count, std::int16_t{7});
    EXPECT_EQ(std::count(sevens.begin(), sevens.end(), 7), static_cast<std::ptrdiff_t>(count));
  }
}

TEST(LargeArray, IsAnArrayWhoseElementsAreItsUsersToFill) {
  EXPECT_TRUE(LargeArray<double>().empty());
  for (const std::size_t count : {1u, 1000u, (3u << 20) + 5}) {
    LargeArray<double> all(count);
    ASSERT_EQ(all.size(), count);
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<double>(i);
    const LargeArray<double> copy = all;
    all.clear();
    EXPECT_EQ(copy.front(), 0);
    EXPECT_EQ(copy.back(), static_cast<double>(count - 1));
    const LargeArray<std::int16_t> sevens(count, std::int16_t{7});
    EXPECT_EQ(std::count(sevens.begin(), sevens.end(), 7), static_cast<std::ptrdiff_t>(count));
  }
}

}  // namespace
}  // namespace assay
