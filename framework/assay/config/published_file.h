// Published detection and false-alarm rates, from a table of comma-separated values.
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/published.h"

namespace assay::config {

// Throws std::invalid_argument that names file and line, std::runtime_error where it cannot be
// read.
std::vector<campaign::PublishedRate> read_published(const std::string& path);

}  // namespace assay::config
