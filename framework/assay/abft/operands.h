// The operands' side of the checksums: what each row of C must sum to, and the statistics that the
// thresholds are made of. Computed once a product.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "assay/simd/checksum.h"
#include "assay/simd/convert_kernel.h"
#include "assay/tensor/tensor.h"

namespace assay::abft {

// Rows of a matrix as gapless elements that the kernels read: the tensor's own where it lies so,
// else a copy (of formats without a kernel: as float64).
class MatrixRows {
 public:
  MatrixRows() = default;
  explicit MatrixRows(const TensorView& matrix);

  std::int64_t rows() const { return view_.shape[0]; }
  std::int64_t columns() const { return view_.shape[1]; }
  simd::Storage storage() const { return storage_; }
  const void* row(std::int64_t i) const {
    return view_.data + i * view_.strides[0] * view_.format->storage_bytes;
  }
  // The format of the stored elements; float64 where a copy had to be made.
  const Format& format() const { return *view_.format; }
  std::ptrdiff_t row_bytes() const {  // from one row to the next
    return view_.strides[0] * view_.format->storage_bytes;
  }
  // Elements [begin, begin + count) of a row as float64.
  void read(std::int64_t row, std::int64_t begin, std::int64_t count, double* to) const;

 private:
  Tensor kept_;
  TensorView view_;
  simd::Storage storage_ = simd::Storage::kF64;
};

// How stored elements of a format are read by the checksum kernels; false where none reads them.
bool checksum_storage(const Format& format, simd::Storage& storage);

// C = A B + bias_j (+ row_bias_i for a transposed product).
struct Operands {
  MatrixRows a, b;
  std::vector<double> bias, row_bias;  // empty, or N and M values

  double bias_at(std::int64_t i, std::int64_t j) const;
};

// checksum(i, g) = sum over k of a_ik (sum of group g of row k of B), with the biases added, and
// square(i, g) = sum over k of a_ik^2 sum over j in g of b_kj^2, or a bound of it.
struct Checksums {
  std::int64_t groups = 0;
  std::vector<double> sums;
  std::vector<double> squares;  // rows x groups, or one a row, or none
  // Of each row sum_k |a_ik| max_j |b_kj|, max_k |a_ik| and max_k |a_ik (sum_j b_kj)|, or none; and
  // max |b| over all of B.
  std::vector<simd::RowSizes> sizes;
  double largest_b = 0;

  double square(std::int64_t i, std::int64_t g, std::int64_t rows) const;
};

// products(i, g) = sum over k of a_ik b(k, g), for B given row by row: fill(k, to) writes the
// `groups` values of row k. Of each element of A `sign` takes -1, 0 or 1.
std::vector<double> grouped_products(const MatrixRows& a, std::int64_t groups, bool sign,
                                     const std::function<void(std::int64_t, double*)>& fill,
                                     int threads);
// What is taken of the operands beside the checksums.
enum class Beside : std::uint8_t {
  kNothing,
  kSquareBounds,  // equal to the squares where there is one group
  kSquares,
  kSizes,             // of one group, but for max_k |a_ik (sum_j b_kj)|, which is 0
  kSizesAndProducts,  // of one group
};
Checksums operand_checksums(const Operands& operands, std::int64_t width, Beside beside,
                            int threads);

// Row sums by groups of a golden result.
Checksums golden_checksums(const MatrixRows& golden, std::int64_t width, int threads);

}  // namespace assay::abft
