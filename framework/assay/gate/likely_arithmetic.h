// Finds known wrong arithmetic that explains the errors of an output. It looks for causes that only
// the operands of a case can reveal.
#pragma once

#include <string>

#include "assay/cases/case.h"
#include "assay/gate/error_test.h"
#include "assay/machine/machine.h"

namespace assay::inline v0_2 {

// Returns the cause of an output's errors in words, or an empty string.
//
// "errors like those of ..." names a cause whose result can be computed:
// - a missing bias, one that was added twice, or one that was added by row;
// - a missing weight;
// - terms of the sum that are missing or were added twice;
// - operands that were rounded to a format of fewer bits;
// - parts of K that were rounded to such a format, and sums that were kept in one.
//
// At most a quarter of the squared errors may be left if the output is compared with that result.
// The 4 largest of them do not count, or 5 percent of the elements if that is less. The probability
// that as many errors by chance leave that little must be below 0.001.
//
// "errors as large as those of ..." names sums that are kept in fewer bits in an unknown order. The
// sizes of the errors must follow that theory from element to element. They must follow it clearly
// better than one size for all elements, a share of each golden result, or the errors of right
// arithmetic. They must agree with it within a factor of 1.25.
//
// For a product of more than 32 x 32 elements, a sample of 32 x 32 is examined.
std::string likely_arithmetic(const Case& test_case, const Machine& machine,
                              const TensorView& output, const Tensor& golden, const ErrorTest& test,
                              int threads);

}  // namespace assay
