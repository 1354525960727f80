// What the three ways of a norm operator share: emulation, reference, bounds.
#pragma once

#include <vector>

#include "assay/op/order.h"
#include "assay/op/rows.h"

namespace assay {

struct Norm {
  const Case& test_case;
  const Format& input;
  AxisExtent e;
  double eps;
  bool has_weight, has_bias;

  bool is_softmax() const { return test_case.op == "softmax"; }
  bool subtracts_mean() const { return test_case.op == "layernorm"; }
  // weight or bias as T; empty where the case has none.
  template <typename T>
  std::vector<T> vector(const char* name, bool has) const {
    std::vector<T> values(static_cast<std::size_t>(has ? e.n : 0));
    if (has) read_values(test_case.input(name), 0, e.n, values.data());
    return values;
  }
};

// Throws std::invalid_argument that names the case and what does not fit.
Norm norm_of(const Case& test_case, const Format& output);

// The golden result, in the call's output format.
Tensor norm_reference(const Call& call, const Norm& norm);

}  // namespace assay
