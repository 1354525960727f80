// quantize, dequantize: numbers as small codes and the scales that they share.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// The smallest amax, which is the largest magnitude of a block. A block with smaller magnitudes
// uses this value, so that a scale is never 0 (as in DeepGEMM). A kernel rounds it to float32.
inline constexpr double kSmallestAmax = 1e-4;

// Returns the operators quantize and dequantize.
//
// quantize: x (...), a float format of at most 24 bits of precision. Each block of `scaling`
// (tensor, row, 1x128, 128x128, any RxC; default tensor) is quantized separately:
//   amax = max(max |x|, 1e-4);  scale = amax / largest;  code = x / scale, rounded to nearest even
// `largest` is the largest finite value of the codes' format: 448 for float8_e4m3fn, 127 for int8.
// `scales` is free (default), or power_of_two for the next power of two at or above amax / largest.
// `method` is divide (default), or multiply by largest / amax. All arithmetic is float32, the value
// 1e-4 too, on every machine. The quotient is rounded to `quotient_dtype` if it is given, and for
// int8 to the format from which the machine converts to int8. Then it is rounded to the code.
//
// A case holds one result. `result` is values (default) or scales. For values, `output_dtype` is
// their format. For scales, `quantized_dtype` is the format of the values, and `output_dtype` is
// that of the scales: a float format, float8_e8m0fnu only for powers of two.
//
// NaN in a block makes its scale NaN and its values NaN. An infinity makes the scale infinite,
// finite values 0, and the infinity NaN. Formats without NaN refuse both.
//
// The tolerance covers up to three float32 roundings (the scale, its inverse and the product), the
// rounding of the quotient to a narrower format if there is one, and the rounding to the codes'
// format.
//
// dequantize: x (...) of codes, and scale by `scaling` as above. The result is x scale, rounded to
// float32, then to the output's format (default: float32). If `scales` is power_of_two, other
// scales are refused.
std::vector<Operator> quantize_operators();

// Returns the result of a case of quantize on a machine, in float32, or that of an unknown kernel
// if `machine` is null. A machine that converts only float16 to int8 may give other codes than an
// unknown kernel.
Tensor quantize_in_float32(const Case& test_case, const Format& output, const Machine* machine,
                           int threads);

// True if values can be quantized to this format: int8, or a float of at most 16 bits.
bool is_code_format(const Format& format);

}  // namespace assay
