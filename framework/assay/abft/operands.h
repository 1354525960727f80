// The predictions of the operands: the expected sums of the rows of C, and the statistics that the
// thresholds need. Computed once for each product.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "assay/simd/checksum.h"
#include "assay/simd/convert_kernel.h"
#include "assay/tensor/tensor.h"

namespace assay::inline v0_2::abft {

// Rows of a matrix as elements without gaps that the kernels read. These are the tensor's own
// elements if it stores them so, or a copy. Formats without a kernel are copied as float64.
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
  // The format of the stored elements. It is float64 if no kernel reads the matrix's own format.
  const Format& format() const { return *view_.format; }
  std::ptrdiff_t row_bytes() const {  // bytes from one row to the next
    return view_.strides[0] * view_.format->storage_bytes;
  }
  // Writes elements [begin, begin + count) of a row as float64.
  void read(std::int64_t row, std::int64_t begin, std::int64_t count, double* to) const;

 private:
  Tensor kept_;
  TensorView view_;
  simd::Storage storage_ = simd::Storage::kF64;
};

// Sets `storage` to the way in which the checksum kernels read stored elements of a format. Returns
// false if no kernel reads the format.
bool checksum_storage(const Format& format, simd::Storage& storage);

// The operands of C = A B + bias_j (+ row_bias_i for a transposed product).
struct Operands {
  MatrixRows a, b;
  std::vector<double> bias, row_bias;  // each is empty, or has N and M values respectively

  double bias_at(std::int64_t i, std::int64_t j) const;
};

// For row i of A and group g of the columns of B: the checksum is the sum over k of a_ik (sum of
// group g of row k of B), plus the biases. The square is the sum over k of a_ik^2 (sum over j in g
// of b_kj^2), or an upper bound of it.
struct Checksums {
  std::int64_t groups = 0;
  std::vector<double> sums = {};
  std::vector<double> squares = {};  // rows x groups, one per row, or empty
  // For each row sum_k |a_ik| max_j |b_kj|, max_k |a_ik| and max_k |a_ik (sum_j b_kj)|, or empty.
  // largest_b is max |b| over all of B.
  std::vector<simd::RowSizes> sizes = {};
  double largest_b = 0;

  double square(std::int64_t i, std::int64_t g, std::int64_t rows) const;
};

// Returns products(i, g) = sum over k of a_ik b(k, g). B is given row by row: fill(k, to) writes
// the `groups` values of row k. If `sign` is set, uses -1, 0 or 1, the sign of a_ik, in place of
// a_ik.
std::vector<double> grouped_products(const MatrixRows& a, std::int64_t groups, bool sign,
                                     const std::function<void(std::int64_t, double*)>& fill,
                                     int threads);
// The statistics of the operands that operand_checksums() computes together with the checksums.
enum class Beside : std::uint8_t {
  kNothing,
  kSquareBounds,  // upper bounds, which equal the squares if there is one group
  kSquares,
  // Checksums::sizes for one group, without max_k |a_ik (sum_j b_kj)|, which is then 0.
  kSizes,
  kSizesAndProducts,  // all of Checksums::sizes, for one group
};
Checksums operand_checksums(const Operands& operands, std::int64_t width, Beside beside,
                            int threads);

// Returns the sums of a golden result's rows by groups of columns as checksums.
Checksums golden_checksums(const MatrixRows& golden, std::int64_t width, int threads);

}  // namespace assay::abft
