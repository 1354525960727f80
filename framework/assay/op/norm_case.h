// A case of softmax, layernorm or rmsnorm, checked: what emulation, reference and bounds share.
#pragma once

#include <vector>

#include "assay/op/along_axis.h"

namespace assay::inline v0_2 {

enum class NormKind : std::uint8_t { kSoftmax, kLayernorm, kRmsnorm };

struct Norm {
  const Case& test_case;
  NormKind kind;
  const Format& input;
  AxisExtent e;
  double eps;  // the case's eps, or 0 for softmax, which does not use it
  bool has_weight, has_bias;

  bool is_softmax() const { return kind == NormKind::kSoftmax; }
  bool subtracts_mean() const { return kind == NormKind::kLayernorm; }
  // Returns weight or bias as T. Empty if the case has none.
  template <typename T>
  std::vector<T> vector(const char* name, bool has) const {
    std::vector<T> values(static_cast<std::size_t>(has ? e.n : 0));
    if (has) read_values(test_case.input(name), 0, e.n, values.data());
    return values;
  }
};

// Returns the checked case. Throws Refusal, which names the case and what does not fit.
Norm norm_of(const Case& test_case, NormKind kind, const Format& output);

}  // namespace assay
