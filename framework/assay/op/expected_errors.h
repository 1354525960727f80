// How far right results of an operator are from the exact ones by chance: the mean and variance of
// each element's error, as the standard `expected_error` judges them (docs/expected_error.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/machine/uncertain.h"
#include "assay/op/operator.h"
#include "assay/op/order.h"

namespace assay {

// What a result goes through before its last rounding, which is to nearest even and is known with
// the exact value: see gate/error_test.h. Row-major over the result.
struct ExpectedErrors {
  std::vector<double> mean, variance;
  // How far the mean may be from that, on both sides.
  std::vector<double> drift;
  // The part of the variance that all elements of a line have in common, and the line of each
  // element; empty where no two share anything.
  std::vector<double> shared;
  std::vector<std::int32_t> line;
  // By line, where it is known: the variance of sum sign ulp x / mean_square(), x being what an
  // element shares with others, `sign` the result's and `ulp` that of the result's format. Else all
  // that is shared may go one way.
  std::vector<double> pull;
  // What the result is rounded to last; nullptr: `mean` and `variance` are of the result itself.
  const Format* last = nullptr;
  // Right results may have less error: they may be summed in any order.
  bool at_most = false;
  void resize(std::size_t n);
  void set(std::size_t i, const Uncertain& value);
  // Adds elements at the end. `last` and `at_most` become those of `more`.
  void append(const ExpectedErrors& more);
};

// The mean square of an element's error with its last rounding, at most. `deviation`: of its error
// before that. `ulp`: of the format that is rounded to last; 0: none is.
double mean_square(const ExpectedErrors& errors, std::size_t i, double deviation, double ulp);

// The errors of a case's elements by the operator's rule. A variance is infinite if a sum in some
// order may overflow. Values of operands that are NaN or infinite count as 0: the elements that
// they reach are not finite, and nothing is expected of those. Throws std::invalid_argument with
// the reason if theory says nothing: operators without a rule, units that flush what is there.
ExpectedErrors expected_errors(const Case& test_case, const Machine& machine, int threads = 0);

// The values, with 0 for each NaN and infinity.
std::vector<double> finite_or_zero(std::vector<double> values);

// The errors of m x n sums of products on a machine, or in any order if it is any_machine() (see
// machine/any_order.h). All values are finite. `output` is what the sums are rounded to.
ExpectedErrors expected_sums(const Case& test_case, const Machine& machine, const DotModel& model,
                             const Format& output, std::int64_t m, std::int64_t n, std::int64_t k,
                             const std::vector<double>& a, const std::vector<double>& b,
                             const std::vector<double>& start, int threads);

// The vector unit that computes an operator: the machine's; where none is named float32 (float64 of
// float64 operands), whose sums may have any order.
struct ChanceUnit {
  const Format* unit;
  const Format* after;  // of sums in blocks, and of what follows them
  SumOrder order;
  bool any_order = false;
  bool fused = true, tanh_by_exp = false;

  // A sum of numbers, each with errors of its own. `output`: where the sum is the result in that
  // format, so that a last rounding to it is left to ExpectedErrors::last.
  Uncertain sum(std::span<const Uncertain> terms, const Format* output = nullptr) const;
  // The same of numbers that are exact.
  Uncertain sum_of_exact(std::span<const double> values, const Format* output = nullptr) const;
  // The same if any_order is set: by any_order_errors(), whose drift counts as variance, squared.
  Uncertain sum_in_any_order(std::span<const Uncertain> terms) const;
};
// Throws std::invalid_argument where the case or its machine flushes subnormals.
ChanceUnit chance_unit(const Case& test_case, const Machine& machine, const Format& input);

}  // namespace assay
