// Published detection and false-alarm rates, from a table of comma-separated values.
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/published_campaigns.h"

namespace assay::wire {

// Columns by their names, in any order: distribution, direction, bit and rate_percent, algorithm or
// method; dtype, M, K and N (of any where there are none), threshold_variant, trials or n_injected,
// and remark where they are there; others are not read. Throws std::invalid_argument that names
// file and line, std::runtime_error where it cannot be read.
std::vector<campaign::PublishedRate> read_published(const std::string& path);

}  // namespace assay::wire
