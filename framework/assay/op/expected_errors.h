// Expected errors: the mean and variance of each element's error if an operator computes correctly.
// The standard `expected_error` judges results by them (docs/expected_error.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/machine/uncertain.h"
#include "assay/op/operator.h"
#include "assay/op/order.h"

namespace assay {

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
  void set(std::size_t i, const Uncertain& value);
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

// Returns the values, with 0 for each NaN and infinity.
std::vector<double> finite_or_zero(std::vector<double> values);

// Returns the expected errors of m x n sums of products on a machine, or in any order if the
// machine is any_machine() (see machine/any_order.h). All values are finite. `output` is the format
// that the sums are rounded to.
ExpectedErrors expected_sums(const Case& test_case, const Machine& machine, const DotModel& model,
                             const Format& output, std::int64_t m, std::int64_t n, std::int64_t k,
                             const std::vector<double>& a, const std::vector<double>& b,
                             const std::vector<double>& start, int threads);

// The vector unit that computes an operator. It is the machine's unit. If no machine is named, it
// is float32 (float64 for float64 operands), with sums in any order.
struct ChanceUnit {
  const Format* unit;
  // The format of sums of blocks, and of the steps that follow them.
  const Format* after;
  SumOrder order;
  bool any_order = false;
  bool fused = true, tanh_by_exp = false;

  // Returns the sum of numbers, each with its own errors. `output` is set if the sum is the result
  // in that format: the last rounding is then left to ExpectedErrors::last.
  Uncertain sum(std::span<const Uncertain> terms, const Format* output = nullptr) const;
  // Like sum(), but the numbers that are added have no errors of their own.
  Uncertain sum_of_exact(std::span<const double> values, const Format* output = nullptr) const;
  // Like sum(), if any_order is set. Uses any_order_errors(), and counts its squared drift as
  // variance.
  Uncertain sum_in_any_order(std::span<const Uncertain> terms) const;
};
// Throws Refusal if the case or its machine flushes subnormals.
ChanceUnit chance_unit(const Case& test_case, const Machine& machine, const Format& input);

}  // namespace assay
