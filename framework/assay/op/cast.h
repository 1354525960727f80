// cast: one conversion from any dtype to any other, in a rounding mode.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay {

// The row of cast: x (...), any dtype. `output_dtype` is needed; `rounding` is a mode (nearest_even
// by default; a float's conversion to an integer takes it too). Integers always saturate at their
// range. Every conversion is exact but for that one rounding, from int64 and float64 too. NaN
// becomes 0 where it saturates; a dtype without NaN refuses it otherwise. The golden result takes
// an independent path in long double.
//
// Tolerance: zero, because the golden result of a cast is what the cast must give.
std::vector<Operator> cast_operators();

}  // namespace assay
