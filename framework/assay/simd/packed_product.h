// Products of stored rows by a float64 matrix that was packed for them, used for checksums. An
// element's sum does not depend on the width of a vector.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/simd/convert_kernel.h"

namespace assay::inline v0_2::simd {

// Computes c = a b, where c is count x n in row-major float64. a has `count` rows, at most
// kProductRows, of k elements each, `stride` bytes apart. With `squared`, the square of each
// element is used instead. b is k x n in float64 and was packed row by row: pack_row() packs its
// row kk into a buffer of packed_size() elements.
inline constexpr std::int64_t kProductRows = 192;
std::size_t packed_size(std::int64_t k, std::int64_t n);
void pack_row(std::int64_t k, std::int64_t n, std::int64_t kk, const double* row, double* packed);
void multiply_packed(Storage storage, const void* rows, std::ptrdiff_t stride, std::int64_t count,
                     std::int64_t n, std::int64_t k, bool squared, const double* packed, double* c);

}  // namespace assay::simd
