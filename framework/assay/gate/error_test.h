// What the theory of right results' errors (op/expected_error.h) says of a case's elements and of
// all of them together, fixed before an output is looked at.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "assay/judge/limit.h"
#include "assay/op/expected_error.h"
#include "assay/tensor/tensor.h"

namespace assay {

// The probability that a right result fails, of all its elements and their sum together.
inline constexpr double kErrorBudget = 1e-9;

struct ErrorTest {
  // Of each element, float64: the largest |output - golden| that chance explains, and the weight of
  // its square. The weighted squares of right results sum up to 1 where theory is exact.
  std::shared_ptr<const Tensor> bounds, weights;
  // What the weighted sum may be at most, and (Limit::parameter, 0 where that is not known) what
  // chance leaves at least. Empty where right results have no error that chance decides.
  std::optional<Limit> squares;
  // What the mean error towards or away from zero may be at most, in ulps of the output: of results
  // that are rounded to nearest it is about 0, of truncated ones a half. Empty where that is not
  // known.
  std::optional<Limit> bias;
};

// Given the golden result e, an element is round(e + x), x being normal with the mean and variance
// of the errors before the last rounding: so the last rounding, which e decides, has no chance in
// it but next to ties, and neither identical values nor exact ones upset its variance. `golden` is
// float64. The result does not depend on `threads` (0: default_threads()).
ErrorTest error_test(const ExpectedErrors& errors, const Tensor& golden, const Format& output,
                     int threads = 0);

// The root mean square of those errors of right results.
double expected_rms(const ExpectedErrors& errors, const Tensor& golden, const Format& output);

// Returns the mean of (round(e + x) - e)^2 of each element, as theory expects it.
std::vector<double> expected_squares(const ExpectedErrors& errors,
                                     const std::vector<double>& expected);

}  // namespace assay
