// Threads for loops with independent parts. The parts depend on the work, not on the number of
// threads, so that results are the same bits in every case.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <vector>

namespace assay::inline v0_2 {

// Returns the number of threads that 0 stands for. This is the environment variable ASSAY_THREADS
// or, without it, the number of the machine's cores.
int default_threads();

// Calls body(part) for each part in [0, parts) on `threads` threads. 0 means default_threads(). If
// parts throw, rethrows the exception of the first of these parts, whatever the number of threads,
// after all threads have stopped. Later parts may not have run.
void parallel_for(std::int64_t parts, int threads, const std::function<void(std::int64_t)>& body);

// Calls body(begin, number of elements) for ranges of at most `range` of the `count` elements, like
// parallel_for(). Use it if each element takes little time.
void parallel_ranges(std::int64_t count, int threads,
                     const std::function<void(std::int64_t, std::int64_t)>& body,
                     std::int64_t range = 1 << 16);

// Sorts like std::sort(), but with several threads. `less` must order any two elements that differ,
// so that the result does not depend on the threads.
template <typename T, typename Less>
void parallel_sort(std::vector<T>& all, int threads, const Less& less) {
  constexpr std::int64_t kFew = 1024;  // elements
  std::int64_t parts = 1;
  while (parts < (threads > 0 ? threads : default_threads()) && std::ssize(all) / parts > kFew) {
    parts *= 2;
  }
  const auto place = [&](std::int64_t part) {
    return all.begin() + std::ssize(all) * part / parts;
  };
  parallel_for(parts, threads,
               [&](std::int64_t part) { std::sort(place(part), place(part + 1), less); });
  for (std::int64_t merged = 2; merged <= parts; merged *= 2) {
    parallel_for(parts / merged, threads, [&](std::int64_t i) {
      const std::int64_t first = i * merged;
      std::inplace_merge(place(first), place(first + merged / 2), place(first + merged), less);
    });
  }
}

}  // namespace assay
