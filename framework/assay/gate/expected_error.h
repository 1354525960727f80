// The standard `expected_error`: what the theory of right results' errors (op/expected_error.h)
// says of a case's elements and of all of them together, fixed before an output is looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/judge/limit.h"
#include "assay/machine/machine.h"
#include "assay/op/expected_error.h"
#include "assay/op/operator.h"
#include "assay/tensor/case.h"

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
// float64.
ErrorTest error_test(const ExpectedErrors& errors, const Tensor& golden, const Format& output);

// The root mean square of those errors of right results.
double expected_rms(const ExpectedErrors& errors, const Tensor& golden, const Format& output);

// Returns the mean of (round(e + x) - e)^2 of each element, as theory expects it.
std::vector<double> expected_squares(const ExpectedErrors& errors,
                                     const std::vector<double>& expected);

// How many times the error that chance leaves in right float32 results of a case on a machine a
// bound is, both as root mean squares; `allowed` gives the bound at a row-major index, of an
// element with that exact value. Of a product it is that of a sample, 16 x 16 elements spread over
// its first matrix. Empty where theory says nothing, the output is no float32, or the inputs of
// another operator have more than 2^18 elements.
std::optional<double> times_expected(
    const Case& test_case, const Machine& machine,
    const std::function<double(std::int64_t index, double exact)>& allowed);
// "3 200": such a factor as texts say it.
std::string times_text(double times);

// derived_tolerance(), whose `why` says of float32 results how many times the expected error it is.
DerivedTolerance explained_tolerance(const Case& test_case);

}  // namespace assay
