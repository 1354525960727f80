// quantize, dequantize: numbers as small codes and the scales that they share.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay {

// Largest magnitudes below this count as this, so that a scale is never 0 (as DeepGEMM does). A
// kernel has it in float32.
inline constexpr double kSmallestAmax = 1e-4;

// The row of quantize: x (...), a float format of at most 24 bits of precision. For each block of
// `scaling` (tensor, row, 1x128, 128x128, any RxC; default tensor):
//   amax = max(max |x|, 1e-4);  scale = amax / largest;  code = x / scale, rounded to nearest even
// with `largest` the largest finite value of the codes' format (448 for float8_e4m3fn, 127 for
// int8). `scales`: free (default) or power_of_two, then the next power of two at or above amax /
// largest. `method`: divide (default), or multiply by largest / amax. All in float32, 1e-4 too (a
// machine's unit does no other here), the code rounded once more. A case holds one result: `result`
// is values (default; `output_dtype` is their format), or scales
// (`quantized_dtype` is the format of the values, `output_dtype` that of the scales: float32,
// float8_e8m0fnu for powers of two).
// NaN in a block makes its scale NaN and its values NaN; an infinity makes the scale infinite, what
// is finite 0, and the infinity NaN. Formats without NaN refuse both.
//
// Tolerance: what float32's two roundings, and the rounding to the codes' format, can do.
//
// The row of dequantize: x (...) of codes, scale by `scaling` as above: x scale, rounded to
// float32, then to the output's format (default: float32). `scales` = power_of_two: others are
// refused.
std::vector<Operator> quantize_operators();

// What every machine makes of a case of quantize.
Tensor quantize_in_float32(const Case& test_case, const Format& output, int threads);

// Whether values are quantized to this format: int8, or a float of at most 16 bits.
bool is_code_format(const Format& format);

}  // namespace assay
