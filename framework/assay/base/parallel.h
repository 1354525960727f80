// Threads for loops whose parts are independent. Parts are fixed by the work, not by the number of
// threads, so that results are the same bits whatever runs them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <vector>

namespace assay {

// Threads used where the caller gives 0: the environment's ASSAY_THREADS, else the machine's cores.
int default_threads();

// Calls body(part) for part in [0, parts) on `threads` threads (0: default_threads()). Where parts
// throw, the exception of the first of them is rethrown here, whatever the number of threads, after
// all threads have stopped; later parts may not have run.
void parallel_for(std::int64_t parts, int threads, const std::function<void(std::int64_t)>& body);

// The same for `count` elements, each of which takes little: body(begin, count of these) for
// ranges.
void parallel_ranges(std::int64_t count, int threads,
                     const std::function<void(std::int64_t, std::int64_t)>& body);

// std::sort() by several threads. `less` must tell any two elements apart.
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
