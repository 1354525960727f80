// The operands of a case whose operator is attention: softmax(scale q k^T) v.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "assay/cases/case.h"

namespace assay {

// q (..., L, D), k (..., S, D), v (..., S, E) -> (..., L, E).
struct AttentionShape {
  std::int64_t batch = 1, queries = 0, keys = 0, depth = 0, width = 0;  // of q, of v
  Shape output = {};
  double scale = 1;  // of scores: the case's `scale`, else 1 / sqrt(D)
  bool causal = false;
  // One for each query of each batch, if the case has the input `positions` (..., L) or (L).
  std::vector<std::int64_t> positions = {};

  // Keys that query i of a batch sees: all; if causal the first i + 1, or those up to its position.
  std::int64_t seen(std::int64_t in_batch, std::int64_t i) const {
    if (!causal) return keys;
    const std::int64_t last =
        positions.empty() ? i : positions[static_cast<std::size_t>(in_batch * queries + i)];
    return std::min(keys, last + 1);
  }
};

// Throws CaseError if the inputs of the case do not fit or hold no elements, if its positions are
// not signed integers of at least 0, or if it has positions although it is not causal.
AttentionShape attention_shape(const Case& test_case);

}  // namespace assay
