// Expected errors: the mean and variance of each element's error if an operator computes correctly.
// The standard `expected_error` judges results by them (docs/expected_error.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// The expected errors of a result before its last rounding. The last rounding is to nearest even,
// and the exact value tells its error: see gate/error_test.h. Arrays are row-major over the result.
struct ExpectedErrors {
  std::vector<double> mean = {}, variance = {};
  // The largest distance of the true mean from `mean`, on both sides.
  std::vector<double> drift = {};
  // `shared` is the part of an element's variance that all elements of a line share, and `line` is
  // the number of the element's line. Both are empty if no two elements share an error.
  std::vector<double> shared = {};
  std::vector<std::int32_t> line = {};
  // For each line, the variance of sum sign ulp x / mean_square(), if it is known. Here x is the
  // error that an element shares with others, `sign` is the sign of the result, and `ulp` is that
  // of the result's format. If the variance is not known, all shared errors may have the same sign.
  std::vector<double> pull = {};
  // The format of the last rounding. If nullptr, `mean` and `variance` include the last rounding.
  const Format* last = nullptr;
  // True if correct results may have smaller errors, because they may be summed in any order.
  bool at_most = false;
  void resize(std::size_t n);
  // Adds elements at the end. `last` and `at_most` become those of `more`.
  void append(const ExpectedErrors& more);
};

// Returns an upper bound of the mean square of an element's error, including its last rounding.
// `deviation` is the standard deviation of the error before that rounding. `ulp` is an ulp of the
// format of the last rounding, or 0 if there is no such rounding.
double mean_square(const ExpectedErrors& errors, std::size_t i, double deviation, double ulp);

// Returns the expected errors of a case's elements by the operator's rule. A variance is infinite
// if a sum in some order may overflow. Operand values that are NaN or infinite count as 0, because
// the elements that they reach are not finite and are not tested. Throws Refusal with the reason if
// theory does not cover the case: operators without a rule, and units that flush subnormal numbers
// that the case has.
ExpectedErrors expected_errors(const Case& test_case, const Machine& machine, int threads = 0);

}  // namespace assay
