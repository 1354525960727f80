// Standards as JSON: rows of the table as a file of --standards says them (docs/judging.md), with
// where each is published.
#pragma once

#include <span>
#include <string>

#include "assay/judge/standards.h"

namespace assay::report {

std::string standards_json(std::span<const Standard> standards);

}  // namespace assay::report
