// Limits on the size of a dataset.
#pragma once

#include <cstdint>

namespace assay::inline v0_2 {

// Returns the limit in bytes: the environment variable ASSAY_MAX_DATASET_GIB, or 8 GiB if it is not
// set. Throws Refusal if the variable is not a whole number of at least 1.
std::int64_t dataset_size_cap();

// Returns the most bytes that a dataset may declare in a file of `file_size` bytes. It is 1100
// times the file's size, because deflate makes data at most about 1000 times shorter. It is at
// least 256 MiB, because parts of a dataset that were never written take no space in the file.
double most_declared(std::uint64_t file_size);

}  // namespace assay
