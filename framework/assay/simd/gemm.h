// Register tiles of matrix products: a machine's sums for a few rows and columns at a time.
#pragma once

#include <cstdint>

namespace assay::inline v0_2::simd {

// Shape of one register tile. It depends on the target.
struct TileShape {
  int rows, columns;
};

// Computes a chunk of one element that a tile cannot compute safely. It gets the accumulator before
// the products [begin, end) of the tile's depth, and returns the accumulator after them.
struct ChunkSettler {
  float (*call)(const void* context, int row, int column, std::int64_t begin, std::int64_t end,
                float accumulator);
  const void* context;
};

// Computes C += A B for one tile. a is [k][rows] and b is [k][columns], of float64 values whose
// products are exact in float64. c is rows x columns in float32, with rows c_stride elements apart.
// Each chunk of `chunk` products is added to the accumulator exactly, which is then rounded to
// float32, to nearest even.
//   chunk_tile: every partial sum must be exact in float64.
//   chunk_tile_guarded: the error of every chunk's sum in float64 is below `guard`. If this error
//   could decide how the sum is rounded to float32, `settle` computes the chunk.
TileShape chunk_tile_shape();
void chunk_tile(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                std::int64_t c_stride);
void chunk_tile_guarded(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                        std::int64_t c_stride, double guard, const ChunkSettler& settle);

// True if every element of a tile of C is a multiple of 2^lowest. `largest` gets the largest |c|.
bool tile_is_multiple(const float* c, std::int64_t c_stride, int lowest, double& largest);

// Computes C += A B in float32, one product after the other. With `fused`, a product and the sum
// are rounded together. Without it, the product is rounded first. Only targets with a fused
// multiply-add support `fused` (has_fused_chain()).
TileShape chain_tile_shape();
bool has_fused_chain();
void chain_tile(bool fused, std::int64_t k, const float* a, const float* b, float* c,
                std::int64_t c_stride);

// Sums in float64, the digits that they lost, and a measure of what is lost besides. The exact sum
// lies within 2^-51 `spread` of sum + error, if no product's error is below float64's range.
// Functions add their results to all three. They add to `spread` the size of `error` after each
// addition to it, because each was rounded once.
struct CompensatedSums {
  double *sum, *error, *spread;
};

// Computes sum += A B for one tile of chunk_tile_shape(), packed as for chunk_tile. Rows of sums
// are `stride` apart. The errors of the sums' roundings are added to `error` (TwoSum).
//   exact_tile: every partial sum of the products must be exact in float64.
//   exact_sums: partial sums that begin with `sum` must be exact too. `sum` then has no error.
//   tile_in_two: every partial sum must be smaller than a third of `middle`, which is 1.5 times a
//   power of two. Each product is split at an ulp of `middle`, and the low parts are summed
//   separately. If `lost` is 0, each product and these sums must be exact in float64. If it is not
//   0, it is added to `spread`.
void exact_tile(std::int64_t k, const double* a, const double* b, CompensatedSums to,
                std::int64_t stride);
void exact_sums(std::int64_t k, const double* a, const double* b, double* sum, std::int64_t stride);
void tile_in_two(std::int64_t k, const double* a, const double* b, double middle, double lost,
                 CompensatedSums to, std::int64_t stride);

// Adds the k products a[0] * b[j] + a[1] * b[stride + j] + ... to sum[j] for j < n. The rounding
// errors of each product and sum are added to error[j] (TwoProd and TwoSum), so that sum[j] +
// error[j] is the sum to twice the precision.
void columns_compensated(std::int64_t n, std::int64_t k, const double* a, const double* b,
                         std::int64_t stride, CompensatedSums to);

// Adds a[0] * b[0] + ... + a[k - 1] * b[k - 1] to sum[0], with the same kinds of errors as
// columns_compensated(). The order of additions differs, because several partial sums are computed
// at a time.
void dot_compensated(std::int64_t k, const double* a, const double* b, CompensatedSums to);

}  // namespace assay::simd
