// Makes inputs of deform_roi_pool: images, and regions whose corners are whole numbers.
#pragma once

#include "assay/op/generate.h"

namespace assay::inline v0_2 {

// Makes the inputs of a case. Sizes are N, C, H, W and n, the number of regions. Region i belongs
// to image i modulo N. Its corners are whole numbers in units of 1 / spatial_scale pixels and lie
// inside the image. The samples then lie near whole pixels, where a rounding can move a coordinate
// to the next pixel. If corners are drawn, they are put in order. An offset is made only if it is
// named.
void generate_deform_roi_pool(const Recipe& recipe, Case& to);

}  // namespace assay
