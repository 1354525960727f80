// Register tiles of aligned, truncated sums: matrix products as tensor cores add them.
#pragma once

#include <cstdint>

#include "assay/simd/gemm.h"

namespace assay::inline v0_2::simd {

struct AlignedSpec {
  int chunk;      // number of products that one sum takes
  int kept_bits;  // F, where terms are truncated to multiples of 2^(emax - F)
  int drop_bits;  // number of mantissa bits by which float32 exceeds the accumulator
};

// True if a kernel supports these parameters: every sum of the products of a chunk fits its 32-bit
// integers.
bool has_aligned_tile(const AlignedSpec& spec);

// The exponent of a factor that is 0, and of the elements that fill up a tile.
inline constexpr std::int16_t kNoExponent = -8192;

// Computes C += A B for one tile. The sum is truncated to the accumulator's format after every
// chunk. a is [k][rows] and b is [k][columns], of float32 values whose products are exact in
// float32. a_exponents and b_exponents have the same shapes and hold each factor's exponent
// (kNoExponent for 0). c is rows x columns float32, with the row stride c_stride. If two factors
// are not 0, the sum of their exponents must lie in [kept_bits - 126, 100]. |c| and all partial
// sums must be below 2^120. `settle` computes the chunks that the integers cannot hold.
TileShape aligned_tile_shape();
void aligned_tile(const AlignedSpec& spec, std::int64_t k, const float* a,
                  const std::int16_t* a_exponents, const float* b, const std::int16_t* b_exponents,
                  float* c, std::int64_t c_stride, const ChunkSettler& settle);

}  // namespace assay::simd
