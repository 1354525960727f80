// Threads for loops whose parts are independent. Parts are fixed by the work, not by the number of
// threads, so that results are the same bits whatever runs them.
#pragma once

#include <cstdint>
#include <functional>

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

}  // namespace assay
