// The operands of a case whose operator is attention: softmax(scale q k^T) v.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "assay/cases/case.h"

namespace assay::inline v0_2 {

// The shape of an attention: q (..., L, D), k (..., S, D) and v (..., S, E) give (..., L, E).
struct AttentionShape {
  // Queries = L, keys = S, depth = D, width = E.
  std::int64_t batch = 1, queries = 0, keys = 0, depth = 0, width = 0;
  Shape output = {};
  double scale = 1;  // factor of the scores: the case's `scale`, or else 1 / sqrt(D)
  bool causal = false;
  // The position of each query of each batch, if the case has the input `positions` with shape
  // (..., L) or (L).
  std::vector<std::int64_t> positions = {};

  // Returns how many keys query i of a batch sees. It sees all keys, unless the attention is
  // causal. Then it sees the keys up to its position, which is i if the case has no positions.
  std::int64_t seen(std::int64_t in_batch, std::int64_t i) const {
    if (!causal) return keys;
    const std::int64_t last =
        positions.empty() ? i : positions[static_cast<std::size_t>(in_batch * queries + i)];
    return std::min(keys, last + 1);
  }
};

// Reads the shape from the inputs of the case. Throws CaseError if the inputs do not fit or hold no
// elements, if the positions are not signed integers of at least 0, or if there are positions
// although the attention is not causal.
AttentionShape attention_shape(const Case& test_case);

}  // namespace assay
