// Judges complex elements by magnitude: |actual - expected| against a bound of |expected|, as
// NumPy's allclose and PyTorch's assert_close do. An element is NaN if a part is NaN, and infinite
// if a part is infinite and neither is NaN. Infinite elements are equal only if both parts are
// equal.
#pragma once

#include <cstdint>
#include <string>

#include "assay/judge/bound.h"
#include "assay/judge/findings.h"
#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

// Returns |element| at a row-major position of a real or complex tensor. The magnitude of NaN is
// NaN.
double magnitude_at(const TensorView& view, std::int64_t linear);

// Returns a complex number as text such as "1.5-2j", with `digits` digits for each part.
std::string complex_number(double real, double imaginary, int digits);
// Returns the value of an element of a real or complex tensor as text.
std::string value_text(const TensorView& view, std::int64_t linear, int digits);

// Returns why a bound cannot judge complex elements, or an empty string if it can. It
// cannot if it needs an order of the values, or another tensor of real numbers.
std::string why_not_complex(const Bound& bound);

// Judges the elements [begin, end) of two complex tensors, as ElementJudge does for real ones.
ElementFindings judge_complex(const TensorView& actual, const TensorView& expected,
                              const Bound& bound, const JudgeOptions& options, bool metrics,
                              std::int64_t offset, std::int64_t begin, std::int64_t end);

}  // namespace assay
