#include "assay/base/parallel.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "assay/base/interruptible.h"
#include "assay/base/sanitized.h"

namespace assay {
namespace {

TEST(ParallelForTest, CallsEveryPartOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    for (const std::int64_t parts : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(parts));
      parallel_for(parts, threads, [&](std::int64_t p) { ++calls[static_cast<std::size_t>(p)]; });
      for (const auto& count : calls) ASSERT_EQ(count, 1) << threads << " " << parts;
    }
  }
}

TEST(ParallelForTest, UsesAsManyThreadsAsAsked) {
  std::mutex mutex;
  std::set<std::thread::id> ids;
  std::atomic<int> waiting{0};
  // Every part waits for the others, so that it takes three threads to end.
  parallel_for(3, 3, [&](std::int64_t) {
    {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    }
    ++waiting;
    while (waiting < 3) std::this_thread::yield();
  });
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_EQ(ids.count(std::this_thread::get_id()), 1u);
}

// A process under a limit of memory or of processes has no room for threads.
TEST(ParallelForTest, DoesTheWorkAloneWhereNoThreadCanBeHad) {
  if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "its thread creation aborts";
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 47), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  EXPECT_THROW(std::thread([] {}).join(), std::system_error);
  std::set<std::thread::id> ids;
  int calls = 0;
  parallel_for(100, 4, [&](std::int64_t) {
    ids.insert(std::this_thread::get_id());
    ++calls;
  });
  EXPECT_EQ(calls, 100);
  EXPECT_EQ(ids, std::set{std::this_thread::get_id()});
  EXPECT_THROW(parallel_for(100, 4, [](std::int64_t) { throw std::runtime_error("part"); }),
               std::runtime_error);
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  pthread_attr_destroy(&usual);
  pthread_attr_destroy(&huge);
}

TEST(ParallelForTest, StopsWhereItIsAskedTo) {
  using Clock = std::chrono::steady_clock;
  const auto part = [](std::int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  for (const int threads : {1, 2}) {
    int outer = 0, inner = 0;
    const Interruptible never([&] { ++outer; });
    {
      const Interruptible at_once([&] {
        ++inner;
        throw std::runtime_error("stop");
      });
      const auto begin = Clock::now();
      EXPECT_THROW(parallel_for(10000, threads, part), std::runtime_error);
      EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));  // of 10 and more
    }
    EXPECT_EQ(inner, 1);
    EXPECT_EQ(outer, 0);
    std::thread([&] { parallel_for(100, threads, part); }).join();
    EXPECT_EQ(outer, 0);  // of another thread
    const auto begin = Clock::now();
    parallel_for(100 * threads, threads, part);
    EXPECT_GE(outer, 1);
    EXPECT_LE(outer, (Clock::now() - begin) / std::chrono::milliseconds(100) + 1);
  }
}

TEST(ParallelForTest, OneThreadIsTheCallersInOrder) {
  std::vector<std::int64_t> order;
  const auto caller = std::this_thread::get_id();
  parallel_for(5, 1, [&](std::int64_t part) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    order.push_back(part);
  });
  EXPECT_EQ(order, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(ParallelForTest, RethrowsAfterAllHaveStopped) {
  for (const int threads : {1, 2, 4}) {
    std::atomic<int> running{0};
    try {
      parallel_for(100, threads, [&](std::int64_t part) {
        ++running;
        const bool bad = part == 10;
        --running;
        if (bad) throw std::runtime_error("part ten");
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "part ten");
    }
    EXPECT_EQ(running, 0);
  }
}

// The error that a run ends with does not depend on the number of threads.
TEST(ParallelForTest, OfSeveralErrorsTheFirstPartsIsRethrown) {
  for (const int threads : {1, 2, 4}) {
    for (int round = 0; round < 50; ++round) {
      std::atomic<bool> later_failed{false};
      try {
        parallel_for(100, threads, [&](std::int64_t part) {
          if (part == 10) {
            // If other threads can run a later part, part 10 fails only after that part.
            while (threads > 1 && !later_failed) std::this_thread::yield();
            throw std::runtime_error("part 10");
          }
          if (part < 11) return;
          later_failed = true;
          throw std::runtime_error("a later part");
        });
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(std::string(error.what()), "part 10");
      }
    }
  }
}

TEST(ParallelForTest, AnErrorEndsTheLoopEarly) {
  std::atomic<std::int64_t> calls{0};
  EXPECT_THROW(parallel_for(1000000, 2,
                            [&](std::int64_t) {
                              ++calls;
                              throw std::runtime_error("at once");
                            }),
               std::runtime_error);
  EXPECT_LT(calls, 1000);
}

TEST(ParallelRanges, TakeEveryElementOnce) {
  for (const std::int64_t count : {0, 1, 65536, 65537, 200000}) {
    std::vector<std::atomic<int>> times(static_cast<std::size_t>(count));
    parallel_ranges(count, 3, [&](std::int64_t begin, std::int64_t n) {
      for (std::int64_t i = begin; i < begin + n; ++i) ++times[static_cast<std::size_t>(i)];
    });
    for (const auto& once : times) ASSERT_EQ(once, 1) << count;
  }
}

TEST(ParallelSort, IsSort) {
  std::uint64_t state = 1;
  for (const std::size_t size : {0U, 1U, 1025U, 5000U, 70001U}) {
    std::vector<std::uint64_t> all;
    for (std::size_t i = 0; i < size; ++i) {
      all.push_back(state = state * 6364136223846793005U + 1442695040888963407U);
    }
    std::vector<std::uint64_t> sorted = all;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (const int threads : {1, 2, 3, 16}) {
      std::vector<std::uint64_t> mine = all;
      parallel_sort(mine, threads, std::greater<>());
      EXPECT_EQ(mine, sorted) << size << " by " << threads;
    }
  }
}

TEST(DefaultThreadsTest, FollowsTheEnvironment) {
  const char* before = std::getenv("ASSAY_THREADS");
  const std::string saved = before != nullptr ? before : "";
  setenv("ASSAY_THREADS", "3", 1);
  EXPECT_EQ(default_threads(), 3);
  for (const char* nonsense : {"0", "-2", "many", ""}) {
    setenv("ASSAY_THREADS", nonsense, 1);
    EXPECT_EQ(default_threads(),
              static_cast<int>(std::max(1u, std::thread::hardware_concurrency())))
        << nonsense;
  }
  unsetenv("ASSAY_THREADS");
  EXPECT_GE(default_threads(), 1);
  if (before != nullptr) setenv("ASSAY_THREADS", saved.c_str(), 1);
}

}  // namespace
}  // namespace assay
