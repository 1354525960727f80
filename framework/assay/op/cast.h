// cast: one conversion from any dtype to any other, in a rounding mode.
#pragma once

#include "assay/op/operator.h"

namespace assay {

// x (...), any dtype. `output_dtype` is needed; `rounding` as `assay list` writes the modes
// (nearest_even by default; a float's conversion to an integer takes it too), `saturate` (default:
// the machine's), `subnormals`. Integers always saturate at their range. Every conversion is exact
// but for that one rounding, from int64 and float64 too. NaN becomes 0 where it saturates; a dtype
// without NaN refuses it otherwise. On machine `exact` by an independent path in long double.
Tensor run_cast(const Call& call);

// Zero: the golden result of a cast is what the cast must give.
DerivedTolerance cast_tolerance(const Case& test_case);

}  // namespace assay
