// cast: one conversion from any dtype to any other, in a rounding mode.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// Returns the operator cast: x (...), of any dtype. `output_dtype` is required. `rounding` is a
// mode, nearest_even by default, and also applies to the conversion of a float to an integer.
// Integers always saturate at their range. Every conversion, from int64 and float64 too, is exact
// except for that one rounding. NaN becomes 0 if the conversion saturates. If it does not, a case
// with NaN is refused for an output dtype without NaN. The golden result takes an independent path
// in float64 or long double, unless the output's format is tapered or a scale.
//
// The tolerance is zero, because the golden result of a cast is the only right result.
std::vector<Operator> cast_operators();

}  // namespace assay
