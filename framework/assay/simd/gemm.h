// Register tiles of matrix products: chunked accumulation rounded to float32, and float64 with the
// errors carried along.
#pragma once

#include <cstdint>

namespace assay::simd {

// Shape of one register tile; depends on the target.
struct TileShape {
  int rows, columns;
};
TileShape chunk_tile_shape();

// C += A B for one tile. a: [k][rows], b: [k][columns], float64 values whose products are exact in
// float64; c: rows x columns with row stride c_stride. Each chunk of `chunk` products is added to
// the accumulator in float64, then rounded to float32, nearest even.
void chunk_tile(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                std::int64_t c_stride);  // every partial sum must be exact in float64

// The same where partial sums need more than 53 bits: every term is split at `quantum`, the parts
// above and below it are summed apart. Exact where all sums lie below 2^51 quantum, and the terms
// are multiples of 2^-49 quantum.
void chunk_tile_split(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                      std::int64_t c_stride, double quantum);

// The same where |computed - exact| of every chunk's sum is below `guard`: unsure[] (rows x
// columns, same stride as c) is set nonzero where the rounding to float32 could have gone either
// way.
void chunk_tile_guarded(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                        std::int64_t c_stride, double guard, std::uint32_t* unsure);

// c[j] + error[j] += a * b[j], the rounding errors of product and sum collected in error (TwoProd
// and TwoSum).
void axpy_compensated(std::int64_t n, double a, const double* b, double* c, double* error);

}  // namespace assay::simd
