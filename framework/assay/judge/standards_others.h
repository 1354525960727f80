// Rows of the table of standards (judge/standards.h): those of all other projects.
#pragma once

#include <span>

#include "assay/judge/standards.h"

namespace assay::inline v0_2 {

std::span<const Standard> other_standards();

}  // namespace assay
