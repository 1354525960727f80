// Complex elements are judged by magnitudes: |actual - expected| against a bound of |expected|, as
// NumPy's allclose and PyTorch's assert_close do. An element is NaN where a part is NaN, else
// infinite where a part is; infinite elements are equal only where both parts are equal.
#pragma once

#include <cstdint>
#include <string>

#include "assay/judge/bound.h"
#include "assay/judge/elements.h"
#include "assay/judge/verdict.h"

namespace assay {

// |element| at a row-major position, of real and complex tensors; NaN of NaN.
double magnitude_at(const TensorView& view, std::int64_t linear);

// "1.5-2j", with so many digits of each part.
std::string complex_number(double real, double imaginary, int digits);
// The value of an element, of real and complex tensors.
std::string value_text(const TensorView& view, std::int64_t linear, int digits);

// Why a bound says nothing of complex elements: it needs an order of the values, or another tensor
// of real numbers; empty where it does.
std::string why_not_complex(const Bound& bound);

// Judges the elements [begin, end), as ElementJudge does real ones. Both tensors are complex.
ElementFindings judge_complex(const TensorView& actual, const TensorView& expected,
                              const Bound& bound, const JudgeOptions& options, bool metrics,
                              std::int64_t offset, std::int64_t begin, std::int64_t end);

}  // namespace assay
