// Measures how wide a bound is, in units of the errors that the theory of right results expects
// (gate/error_test.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "assay/cases/case.h"
#include "assay/gate/error_test.h"
#include "assay/machine/machine.h"
#include "assay/op/operator.h"

namespace assay {

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
