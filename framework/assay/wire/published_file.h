// Published detection and false-alarm rates, from a table of comma-separated values.
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/published_campaigns.h"

namespace assay::inline v0_2::wire {

// Reads the columns by their names, in any order. distribution, direction, bit and rate_percent are
// required, and algorithm or method. dtype, M, K, N, threshold_variant, trials or n_injected, and
// remark are optional. Without dtype, M, K and N, a rate holds for any. Other columns are not read.
// Throws Refusal that names file and line, and std::runtime_error if the file cannot
// be read.
std::vector<campaign::PublishedRate> read_published(const std::string& path);

}  // namespace assay::wire
