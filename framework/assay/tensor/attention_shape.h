// The operands of a case whose operator is attention: softmax(scale q k^T) v.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "assay/tensor/case.h"

namespace assay {

// q (..., L, D), k (..., S, D), v (..., S, E) -> (..., L, E).
struct AttentionShape {
  std::int64_t batch = 1, queries = 0, keys = 0, depth = 0, width = 0;  // of q, of v
  Shape output = {};
  double scale = 1;  // of scores: the case's `scale`, else 1 / sqrt(D)
  bool causal = false;
  // Of each query of each batch, where the case has the input `positions` (..., L) or (L).
  std::vector<std::int64_t> positions = {};

  // Keys that query i of a batch sees: all; if causal the first i + 1, or those up to its position.
  std::int64_t seen(std::int64_t in_batch, std::int64_t i) const {
    if (!causal) return keys;
    const std::int64_t last =
        positions.empty() ? i : positions[static_cast<std::size_t>(in_batch * queries + i)];
    return std::min(keys, last + 1);
  }
};

// Throws CaseError where the case's inputs do not fit, hold no elements, or where its positions are
// no signed integers of at least 0, or say something though nothing is causal.
AttentionShape attention_shape(const Case& test_case);

}  // namespace assay
