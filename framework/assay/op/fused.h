// Whether a case's multiply-adds round once.
#pragma once

#include "assay/machine/vector.h"
#include "assay/tensor/case.h"

namespace assay {

// By the attribute `fused`, else as the machine's vector unit does; where it has none, yes: CUDA's
// compiler contracts a * b + c by default.
inline bool fused_of(const Case& c, const Machine& machine) {
  if (const auto fused = c.flag("fused")) return *fused;
  const VectorModel* unit = find_vector_model(machine.family());
  return unit == nullptr || unit->fused.value;
}

}  // namespace assay
