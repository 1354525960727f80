// Tests whether the errors of an output are as large as the theory of right results expects
// (op/expected_errors.h). It tests each element's error and those of all elements together. The
// limits are fixed before an output is read.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "assay/judge/limit.h"
#include "assay/op/chance_unit.h"
#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

// The probability that a right result fails, by any of its elements or by the sums over all
// elements.
inline constexpr double kErrorBudget = 1e-9;

struct ErrorTest {
  // For each element, in float64: the largest |output - golden| that chance explains, and the
  // weight of its square. The weighted squares of right results sum up to 1 if theory is exact.
  std::shared_ptr<const Tensor> bounds = {}, weights = {};
  // The largest weighted sum of squares, and in Limit::parameter the smallest one that chance
  // leaves (0 if that is not known). Empty if right results have no error that chance decides.
  std::optional<Limit> squares = {};
  // The largest mean error towards or away from zero, in ulps of the output. Results that are
  // rounded to nearest have a mean of about 0, and truncated ones of a half. Empty if it is not
  // known.
  std::optional<Limit> bias = {};
};

// Returns the test for the expected errors `errors`. Given the golden result e, an element is
// round(e + x), where x is normal with the mean and variance of the errors before the last
// rounding. So e decides the last rounding, except near ties. Elements that have identical or exact
// values do not make the variance wrong. `golden` is float64. `threads` may be 0, which means
// default_threads(). The result does not depend on it.
ErrorTest error_test(const ExpectedErrors& errors, const Tensor& golden, const Format& output,
                     int threads = 0);

// Returns the root mean square of the expected errors, over the elements that the output can hold.
double expected_rms(const ExpectedErrors& errors, const Tensor& golden, const Format& output);

// Returns the mean of (round(e + x) - e)^2 of each element, as theory expects it.
std::vector<double> expected_squares(const ExpectedErrors& errors,
                                     const std::vector<double>& expected);

}  // namespace assay
