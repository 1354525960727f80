#include "assay/op/expected_errors.h"

#include <cmath>

#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2 {

void ExpectedErrors::resize(std::size_t n) {
  for (auto* values : {&mean, &variance, &drift}) values->assign(n, 0.0);
}

void ExpectedErrors::append(const ExpectedErrors& more) {
  mean.insert(mean.end(), more.mean.begin(), more.mean.end());
  variance.insert(variance.end(), more.variance.begin(), more.variance.end());
  drift.insert(drift.end(), more.drift.begin(), more.drift.end());
  last = more.last;
  at_most = more.at_most;
}

double mean_square(const ExpectedErrors& errors, std::size_t i, double deviation, double ulp) {
  const double mean = std::abs(errors.mean[i]) + errors.drift[i];
  return ulp * ulp / 12 + mean * mean + deviation * deviation;
}

ExpectedErrors expected_errors(const Case& c, const Machine& machine, int threads) {
  const Operator* op = find_operator(c.op);
  if (op == nullptr || op->expected_errors == nullptr) {
    const auto known = names_with(operators(), &Operator::expected_errors);
    refuse_case(c.name, "the expected error is known for {}, not {}", joined(known),
                c.op.empty() ? "a case without an operator" : c.op);
  }
  check_parameters(c, *op);
  return op->expected_errors(c, machine, threads);
}

}  // namespace assay
