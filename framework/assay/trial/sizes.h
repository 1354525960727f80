// The sizes that a trial draws: next to powers of two and to the multiples that kernels are tiled
// by, primes, 1, 0, and long ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "assay/base/random.h"

namespace assay::inline v0_2::trial {

// Returns the class of a size, for the report: "a prime", "one more than a power of two", ...
std::string_view class_of_size(std::int64_t size);

// Returns a random size from 1 to `most`. Its class is drawn first, so that each class is frequent.
// Returns `most` if that is below 2.
std::int64_t draw_size(Random& random, std::int64_t most);

// Returns the sizes of the fixed list, for an operator with this text of sizes (Operator::sizes)
// and `count` sizes without the batch. The first one is small, and the second one has a long
// dimension.
std::vector<std::vector<std::int64_t>> revealing_sizes(std::string_view sizes, std::size_t count);

}  // namespace assay::trial
