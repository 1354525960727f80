// Checks a product with a threshold that is given as text, such as "rounding_variance,groups=16".
#pragma once

#include <string>

#include "abft/oracle.h"
#include "assay/abft.h"

namespace assay::testing_checks {

inline AbftOptions options_of(const std::string& spec, int threads = 1) {
  AbftOptions options;
  options.spec = parse_threshold(spec);
  options.threads = threads;
  return options;
}

inline AbftVerdict checked(const Tensor& a, const Tensor& b, const TensorView& c,
                           const std::string& spec = "rounding_variance") {
  return AbftChecker::of_product(a, b, options_of(spec)).check(c);
}
inline AbftVerdict checked(const testing_oracle::Made& made,
                           const std::string& spec = "rounding_variance") {
  return checked(made.a, made.b, made.c, spec);
}

}  // namespace assay::testing_checks
