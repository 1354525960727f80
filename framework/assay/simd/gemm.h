// Register tiles of matrix products: a machine's sums for a few rows and columns at a time.
#pragma once

#include <cstdint>

namespace assay::simd {

// Shape of one register tile; depends on the target.
struct TileShape {
  int rows, columns;
};

// Computes a chunk of one element that a tile cannot be sure of: it is given the accumulator before
// the products [begin, end) of the tile's depth, and returns the accumulator after them.
struct ChunkSettler {
  float (*call)(const void* context, int row, int column, std::int64_t begin, std::int64_t end,
                float accumulator);
  const void* context;
};

// C += A B for one tile. a is [k][rows] and b is [k][columns], of float64 values whose products are
// exact in float64; c is rows x columns in float32, its rows c_stride elements apart. Each chunk of
// `chunk` products is added to the accumulator exactly, which is then rounded to float32, to
// nearest even.
//   chunk_tile: every partial sum must be exact in float64.
//   chunk_tile_guarded: the error of every chunk's sum in float64 is below `guard`. Where it could
//   decide how the sum is rounded to float32, `settle` computes the chunk.
TileShape chunk_tile_shape();
void chunk_tile(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                std::int64_t c_stride);
void chunk_tile_guarded(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                        std::int64_t c_stride, double guard, const ChunkSettler& settle);

// Whether every element of a tile of C is a multiple of 2^lowest; `largest` gets the largest |c|.
bool tile_is_multiple(const float* c, std::int64_t c_stride, int lowest, double& largest);

// C += A B in float32, one product after the other. With `fused` a product and the sum are rounded
// together, else the product is rounded first. Only targets with a fused multiply-add can do the
// former (has_fused_chain()).
TileShape chain_tile_shape();
bool has_fused_chain();
void chain_tile(bool fused, std::int64_t k, const float* a, const float* b, float* c,
                std::int64_t c_stride);

// Sums in float64 and what they have lost: the exact sum lies within 2^-51 `spread` of sum + error,
// where no product's error is below float64's range. All three are added to; what `spread` gains
// are sizes of `error` on the way, each of which was rounded once.
struct CompensatedSums {
  double *sum, *error, *spread;
};

// sum += A B for one tile of chunk_tile_shape(), packed as chunk_tile's; rows of sums are `stride`
// apart. What is left of the sums' rounding is added to `error` (TwoSum).
//   exact_tile: every partial sum of the products must be exact in float64.
//   exact_sums: so must be those that begin with `sum`, which has no error then.
//   tile_in_two: every partial sum must be smaller than a third of `middle`, which is 1.5 times a
//   power of two. What sums of multiples of middle's ulp leave of the products is summed apart.
//   With `lost` 0 each product and those sums must be exact in float64, else it is added to
//   `spread`.
void exact_tile(std::int64_t k, const double* a, const double* b, CompensatedSums to,
                std::int64_t stride);
void exact_sums(std::int64_t k, const double* a, const double* b, double* sum, std::int64_t stride);
void tile_in_two(std::int64_t k, const double* a, const double* b, double middle, double lost,
                 CompensatedSums to, std::int64_t stride);

// sum[j] += a[0] * b[j] + a[1] * b[stride + j] + ..., k products, for j < n. The rounding errors of
// each product and sum are added to error[j] (TwoProd and TwoSum), so that sum[j] + error[j] is the
// sum to twice the precision.
void columns_compensated(std::int64_t n, std::int64_t k, const double* a, const double* b,
                         std::int64_t stride, CompensatedSums to);

// sum[0] += a[0] * b[0] + ... + a[k - 1] * b[k - 1], in the same way but in an order of its own, by
// several sums at a time.
void dot_compensated(std::int64_t k, const double* a, const double* b, CompensatedSums to);

}  // namespace assay::simd
