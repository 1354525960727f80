// Makes inputs of dequantize and scaled_matmul: numbers are drawn, then quantized as quantize does
// it.
#pragma once

#include "assay/op/generate.h"

namespace assay::inline v0_2 {

// Makes the inputs of a case. Sizes are those of x. Its distribution is that of the numbers before
// they are quantized. Codes and scales are the results of quantize, with the case's `scaling` and
// `scales`. If `scale` has a distribution, both are drawn directly, the scales in float32.
void generate_dequantize(const Recipe& recipe, Case& to);
// Sizes are batch dimensions, then M, K, N. a and scale_a, b and scale_b are made as in dequantize.
void generate_scaled_matmul(const Recipe& recipe, Case& to);

}  // namespace assay
