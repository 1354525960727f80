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

namespace assay::inline v0_2 {

// Returns how many times wider a bound is than the error that chance leaves in right float32
// results of a case on a machine. Both are root mean squares over the elements. `allowed` returns
// the bound of the element at a row-major index. `exact` is the exact value of that element. For a
// product, the elements are a sample of 16 x 16, spread over its first matrix.
//
// Returns nothing in these cases:
// - The theory does not cover the case.
// - The output is not float32.
// - The operator is not a product, and its inputs have more than 2^18 elements.
std::optional<double> times_expected(
    const Case& test_case, const Machine& machine,
    const std::function<double(std::int64_t index, double exact)>& allowed);
// Returns the factor of times_expected() as text with two digits: "3 200".
std::string times_text(double times);

// Returns derived_tolerance() of the case. For float32 results, the member `why` also says how many
// times as large as the expected error the tolerance is.
DerivedTolerance explained_tolerance(const Case& test_case);

}  // namespace assay
