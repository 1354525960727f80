// How large a dataset may be.
#pragma once

#include <cstdint>

namespace assay {

// Bytes: the environment's ASSAY_MAX_DATASET_GIB, else 8 GiB. Throws std::invalid_argument where
// that is no whole number of at least 1.
std::int64_t dataset_size_cap();

// The most bytes that a dataset may declare in a file of so many. Deflate makes data at most some
// thousand times shorter, and what has never been written is no data.
double most_declared(std::uint64_t file_size);

}  // namespace assay
