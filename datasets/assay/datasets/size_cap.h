// How large a dataset may be.
#pragma once

#include <cstdint>

namespace assay {

// Bytes: the environment's ASSAY_MAX_DATASET_GIB, else 8 GiB. Throws std::invalid_argument where
// that is no whole number of at least 1.
std::int64_t dataset_size_cap();

}  // namespace assay
