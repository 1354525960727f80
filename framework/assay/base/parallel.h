// Threads for loops whose parts are independent. Parts are fixed by the work, not by the number of
// threads, so that results are the same bits whatever runs them.
#pragma once

#include <cstdint>
#include <functional>

namespace assay {

// Threads used where the caller gives 0: the environment's ASSAY_THREADS, else the machine's cores.
int default_threads();

// Calls body(part) for part in [0, parts) on `threads` threads (0: default_threads()). The first
// exception that a part throws is rethrown here, after all threads have stopped.
void parallel_for(std::int64_t parts, int threads, const std::function<void(std::int64_t)>& body);

// The same for `count` elements, each of which takes little: body(begin, count of these) for
// ranges.
void parallel_ranges(std::int64_t count, int threads,
                     const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace assay
