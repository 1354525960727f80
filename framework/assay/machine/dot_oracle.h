// The scalar oracle of the dot engine: one sum of products as a machine's matrix unit computes it.
#pragma once

#include <cstdint>

#include "assay/machine/machine.h"

namespace assay::inline v0_2 {

// Returns c + sum over k < n of a[k * a_stride] * b[k * b_stride] as the model computes it, with
// every sum in integers. The values must be representable in the model's input format, and c in its
// accumulator (in float32 if partial sums are promoted). The result is NaN if a value is NaN, if
// infinity is multiplied by zero, or if there are infinities of both signs. Otherwise an infinite
// term gives infinity. A sum that is exactly zero is +0, unless every term is -0 (a sum of aligned
// terms is always +0).
double dot_oracle(const DotModel& model, std::int64_t n, const double* a, std::int64_t a_stride,
                  const double* b, std::int64_t b_stride, double c);

// Returns the same sum as dot_oracle(), but never promotes partial sums.
double dot_part_oracle(const DotModel& model, std::int64_t n, const double* a,
                       std::int64_t a_stride, const double* b, std::int64_t b_stride, double c);

}  // namespace assay
