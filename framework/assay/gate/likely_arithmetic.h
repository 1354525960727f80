// Which known wrong arithmetic explains the errors of an output: causes that only the operands of a
// case can tell.
#pragma once

#include <string>

#include "assay/cases/case.h"
#include "assay/gate/bound_width.h"
#include "assay/machine/machine.h"

namespace assay {

// Returns the cause of an output's errors in words, or an empty string.
//
// "errors like those of ..." is said of a cause whose result is known: a missing bias, one that was
// added twice or by row, a missing weight, terms of the sum that are missing or were added twice,
// operands that were rounded to a format of fewer bits, parts of K that were rounded to one, and
// sums that were kept in one. At most a quarter of the squared errors may be left when the output
// is held against that result. The largest 4 of them, 5 percent of the elements, do not count. As
// many errors by chance must leave that little with a probability below 0.001.
//
// "errors as large as those of ..." is said of sums that are kept in fewer bits in an unknown
// order. The sizes of the errors must follow that theory from element to element, clearly better
// than one size for all or a share of each golden result does, and be as large within a factor
// of 1.25.
//
// A product of more than 32 x 32 elements is asked about by a sample of so many.
std::string likely_arithmetic(const Case& test_case, const Machine& machine,
                              const TensorView& output, const Tensor& golden, const ErrorTest& test,
                              int threads);

}  // namespace assay
