// Inputs of deform_roi_pool: images, and regions at whole numbers.
#pragma once

#include "assay/op/generate.h"

namespace assay {

// Makes the inputs of a case. Sizes are N, C, H, W and n, the number of regions. Region i belongs
// to image i modulo N. Its corners are whole numbers inside the image, in units of 1 /
// spatial_scale pixels, because there a rounding of a coordinate moves it across a pixel. Drawn
// corners are put in order. An offset is made only if it is named.
void generate_deform_roi_pool(const Recipe& recipe, Case& to);

}  // namespace assay
