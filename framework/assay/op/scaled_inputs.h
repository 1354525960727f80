// Inputs of dequantize and scaled_matmul: numbers are drawn, then quantized as quantize does it.
#pragma once

#include "assay/op/generate.h"

namespace assay {

// Sizes are those of x. Its distribution is that of numbers before they are quantized: codes and
// scales are what quantize makes of them by the case's `scaling` and `scales`. Where `scale` has a
// distribution, both are drawn as they are, the scales in float32.
void generate_dequantize(const Recipe& recipe, Case& to);
// Sizes are M, K, N, batch dimensions before them; a and scale_a, b and scale_b as in dequantize.
void generate_scaled_matmul(const Recipe& recipe, Case& to);

}  // namespace assay
