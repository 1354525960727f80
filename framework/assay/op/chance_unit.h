// Sums of numbers that have errors, on a matrix or vector unit. The expected errors of operators
// are computed from them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/machine/uncertain.h"
#include "assay/op/expected_errors.h"
#include "assay/op/operator.h"
#include "assay/op/order.h"

namespace assay::inline v0_2 {

// Sets the mean and variance of an element's error.
void set_error(ExpectedErrors& errors, std::size_t i, const Uncertain& value);

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
