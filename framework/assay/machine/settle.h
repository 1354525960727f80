// One element's chunk, exactly: what the register tiles leave to be settled.
#pragma once

#include <cstdint>

#include "assay/machine/machine.h"

namespace assay {

// The packed operands of a tile, products [k][rows] and [k][columns].
template <typename T>
struct PackedChunk {
  const DotModel* model;
  const T* a;
  std::int64_t a_stride;
  const T* b;
  std::int64_t b_stride;
  int lowest;  // every product and the accumulator are multiples of 2^lowest, unless they are 0
};

// simd::ChunkSettler::call for both; `context` is a PackedChunk<double> and a PackedChunk<float>.
float settle_fused(const void* context, int row, int column, std::int64_t begin, std::int64_t end,
                   float accumulator);
float settle_aligned(const void* context, int row, int column, std::int64_t begin, std::int64_t end,
                     float accumulator);

}  // namespace assay
