#include "assay/base/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "assay/base/parallel.h"

namespace assay {
namespace {

TEST(PoolTest, TheLastThatCameBackGoesOutFirst) {
  int made = 0;
  Pool<int> pool([&] { return std::make_unique<int>(++made); });
  {
    const auto one = pool.take(), two = pool.take();
    EXPECT_EQ(*one, 1);
    EXPECT_EQ(*two, 2);
  }  // `two` is destroyed before `one`, so that `one` came back last
  EXPECT_EQ(*pool.take(), 1);
  EXPECT_EQ(made, 2);
  pool.close();
  EXPECT_EQ(*pool.take(), 3);
}

TEST(PoolTest, WhatCannotBeMadeIsNotThere) {
  bool fails = true;
  Pool<int> pool([&] {
    if (fails) throw std::runtime_error("none");
    return std::make_unique<int>(7);
  });
  EXPECT_THROW((void)pool.take(), std::runtime_error);
  fails = false;
  EXPECT_EQ(*pool.take(), 7);
}

TEST(PoolTest, ThreadsHaveOneEach) {
  std::atomic<int> made = 0;
  Pool<int> pool([&] {
    ++made;
    return std::make_unique<int>(0);
  });
  parallel_for(1000, 4, [&](std::int64_t) { ++*pool.take(); });
  EXPECT_LE(made, 4);
  int all = 0;
  std::vector<Pool<int>::Taken> taken;
  for (int i = 0; i < made; ++i) {
    taken.push_back(pool.take());
    all += *taken.back();
  }
  EXPECT_EQ(all, 1000);
}

}  // namespace
}  // namespace assay
