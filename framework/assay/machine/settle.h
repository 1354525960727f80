// Computes one chunk of one element with the bits of the scalar oracle, if a register tile cannot
// compute it safely.
#pragma once

#include <cstdint>

#include "assay/machine/machine.h"

namespace assay::inline v0_2 {

// The packed operands of a tile: the layout of a is [k][rows], and that of b is [k][columns].
template <typename T>
struct PackedChunk {
  const DotModel* model;
  const T* a;
  std::int64_t a_stride;
  const T* b;
  std::int64_t b_stride;
  int lowest;  // every product that is not 0 is a multiple of 2^lowest
};

// The two functions for simd::ChunkSettler::call: settle_fused for sums of exact products, with a
// PackedChunk<double> as `context`, and settle_aligned for aligned sums, with a PackedChunk<float>.
float settle_fused(const void* context, int row, int column, std::int64_t begin, std::int64_t end,
                   float accumulator);
float settle_aligned(const void* context, int row, int column, std::int64_t begin, std::int64_t end,
                     float accumulator);

}  // namespace assay
