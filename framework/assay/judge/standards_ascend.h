// Rows of the table of standards (judge/standards.h): those of Ascend's projects and of Cambricon.
#pragma once

#include <span>

#include "assay/judge/standards.h"

namespace assay::inline v0_2 {

std::span<const Standard> ascend_standards();

}  // namespace assay
