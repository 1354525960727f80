#include "assay/abft/operands.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/format/convert.h"
#include "assay/simd/checksum.h"
#include "assay/simd/packed_product.h"

namespace assay::inline v0_2::abft {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr std::int64_t kOperandRows = simd::kProductRows;

// Calls body(first, count) for blocks of rows, on several threads.
template <typename Body>
void each_block(std::int64_t rows, int threads, const Body& body) {
  parallel_for(ceil_div(rows, kOperandRows), threads, [&](std::int64_t block) {
    const std::int64_t first = block * kOperandRows;
    body(first, std::min(kOperandRows, rows - first));
  });
}

// Like each_block(), but with long blocks, for kernels that reorder vectors once for each block.
template <typename Body>
void each_long_block(std::int64_t rows, int threads, const Body& body) {
  constexpr std::int64_t kLong = 1024;
  parallel_for(ceil_div(rows, kLong), threads, [&](std::int64_t block) {
    const std::int64_t first = block * kLong;
    body(first, std::min(kLong, rows - first));
  });
}

// Computes the checksums of whole rows and their sizes, in one pass over each operand.
void take_sizes(const Operands& o, bool products, int threads, Checksums& to) {
  const std::int64_t k = o.a.columns(), n = o.b.columns();
  std::vector<double> sums(at(k)), largest(at(k)), absolute_sums(products ? at(k) : 0);
  each_block(k, threads, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t kk = first; kk < first + count; ++kk) {
      simd::OutputSizes row{};
      simd::output_sizes(o.b.storage(), o.b.row(kk), at(n), at(n), false, &row);
      sums[at(kk)] = row.sum;
      largest[at(kk)] = row.largest;
      // The sum may have overflowed although all elements are finite. Then the largest element is
      // read again.
      if (!std::isfinite(row.sum)) {
        const simd::RowExtremes e = simd::row_extremes(o.b.storage(), o.b.row(kk), at(n));
        largest[at(kk)] = std::max(std::abs(e.low), std::abs(e.high));
      }
      // The size is kept finite, so that its product with 0 is 0.
      if (products) {
        absolute_sums[at(kk)] = std::min(std::abs(row.sum), std::numeric_limits<double>::max());
      }
    }
  });
  for (const double b : largest) {
    // A NaN of any row remains the largest value.
    to.largest_b = b != b ? b : std::max(to.largest_b, b);
  }
  to.sizes.resize(at(o.a.rows()));
  each_long_block(o.a.rows(), threads, [&](std::int64_t first, std::int64_t count) {
    simd::row_sizes(o.a.storage(), o.a.row(first), o.a.row_bytes(), at(count), at(k),
                    largest.data(), products ? absolute_sums.data() : nullptr, &to.sizes[at(first)],
                    sums.data(), &to.sums[at(first)]);
  });
}

}  // namespace

bool checksum_storage(const Format& f, simd::Storage& storage) {
  if (!f.is_float()) return false;
  if (f.storage_bytes == 8)
    storage = simd::Storage::kF64;
  else if (f.storage_bytes == 4)
    storage = simd::Storage::kF32;
  else if (f.name == "float16")
    storage = simd::Storage::kF16;
  else if (f.name == "bfloat16")
    storage = simd::Storage::kBf16;
  else
    return false;
  return true;
}

MatrixRows::MatrixRows(const TensorView& matrix) : view_(matrix) {
  if (!checksum_storage(*matrix.format, storage_)) {
    kept_ = Tensor(format_named("float64"), matrix.shape);
    matrix.read(0, matrix.size(), reinterpret_cast<double*>(kept_.bytes()));
    view_ = kept_.view();
    storage_ = simd::Storage::kF64;
  } else if (matrix.shape[1] > 1 && matrix.strides[1] != 1) {
    kept_ = copy_of(matrix);
    view_ = kept_.view();
  }
}

void MatrixRows::read(std::int64_t i, std::int64_t begin, std::int64_t count, double* to) const {
  const auto* from = static_cast<const std::byte*>(row(i)) + begin * view_.format->storage_bytes;
  decode_array(*view_.format, from, at(count), to);
}

double Operands::bias_at(std::int64_t i, std::int64_t j) const {
  return (bias.empty() ? 0.0 : bias[at(j)]) + (row_bias.empty() ? 0.0 : row_bias[at(i)]);
}

double Checksums::square(std::int64_t i, std::int64_t g, std::int64_t rows) const {
  if (squares.empty()) return 0;
  return squares.size() == at(rows) ? squares[at(i)] : squares[at(i * groups + g)];
}

Checksums operand_checksums(const Operands& o, std::int64_t width, Beside beside, int threads) {
  const std::int64_t m = o.a.rows(), k = o.a.columns(), n = o.b.columns();
  Checksums result{.groups = ceil_div(n, width)};
  const std::int64_t groups = result.groups;
  if (groups == 0) return result;
  // Computes the sums and square sums of row kk of B by groups of its columns. They are the right
  // factors of the checksums.
  const auto b_groups = [&](std::int64_t kk, double* sums, double* squares) {
    simd::group_sums(o.b.storage(), o.b.row(kk), at(n), at(width), sums, squares);
  };
  result.sums.resize(at(m * groups));
  const bool with_squares = beside == Beside::kSquareBounds || beside == Beside::kSquares;
  if (beside == Beside::kSizes || beside == Beside::kSizesAndProducts) {
    take_sizes(o, beside == Beside::kSizesAndProducts, threads, result);
  } else if (groups == 1) {
    std::vector<double> sums(at(k)), squares(with_squares ? at(k) : 0);
    each_block(k, threads, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t kk = first; kk < first + count; ++kk) {
        b_groups(kk, &sums[at(kk)], with_squares ? &squares[at(kk)] : nullptr);
      }
    });
    if (with_squares) result.squares.resize(at(m));
    each_long_block(m, threads, [&](std::int64_t first, std::int64_t count) {
      simd::row_products(o.a.storage(), o.a.row(first), o.a.row_bytes(), at(count), at(k),
                         sums.data(), with_squares ? squares.data() : nullptr,
                         &result.sums[at(first)],
                         with_squares ? &result.squares[at(first)] : nullptr);
    });
  } else {
    std::vector<double> packed(simd::packed_size(k, groups)), packed_squares;
    // The smallest and the largest square sum over the groups of columns, for each row of B.
    std::vector<double> smallest(at(k)), largest(at(k));
    // Calls use(kk, sums, squares) for every row of B.
    const auto each_row_of_b = [&](const auto& use) {
      each_block(k, threads, [&](std::int64_t first, std::int64_t count) {
        std::vector<double> sums(at(groups)), squares(with_squares ? at(groups) : 0);
        for (std::int64_t kk = first; kk < first + count; ++kk) {
          b_groups(kk, sums.data(), with_squares ? squares.data() : nullptr);
          use(kk, sums, squares);
        }
      });
    };
    each_row_of_b([&](std::int64_t kk, const auto& sums, const auto& squares) {
      simd::pack_row(k, groups, kk, sums.data(), packed.data());
      if (!with_squares) return;
      double low = squares[0], high = squares[0];
      for (const double square : squares) {
        low = std::min(low, square);
        high = std::max(high, square);
      }
      smallest[at(kk)] = low;
      largest[at(kk)] = high;
    });
    // The largest square bounds all groups. If the groups of B differ much, that would loosen the
    // thresholds of the others, so exact squares are computed.
    const double low = std::accumulate(smallest.begin(), smallest.end(), 0.0);
    const double high = std::accumulate(largest.begin(), largest.end(), 0.0);
    const bool exact_squares = beside == Beside::kSquares || (with_squares && !(high <= 64 * low));
    if (exact_squares) {
      packed_squares.resize(packed.size());
      each_row_of_b([&](std::int64_t kk, const auto&, const auto& squares) {
        simd::pack_row(k, groups, kk, squares.data(), packed_squares.data());
      });
    }
    if (with_squares) result.squares.resize(at(exact_squares ? m * groups : m));
    each_block(m, threads, [&](std::int64_t first, std::int64_t count) {
      const auto multiply = [&](bool squared, const std::vector<double>& by, double* to) {
        simd::multiply_packed(o.a.storage(), o.a.row(first), o.a.row_bytes(), count, groups, k,
                              squared, by.data(), to + first * groups);
      };
      multiply(false, packed, result.sums.data());
      if (exact_squares) multiply(true, packed_squares, result.squares.data());
      if (!with_squares || exact_squares) return;
      std::vector<double> unused(at(count));
      simd::row_products(o.a.storage(), o.a.row(first), o.a.row_bytes(), at(count), at(k),
                         largest.data(), largest.data(), unused.data(), &result.squares[at(first)]);
    });
  }
  for (std::int64_t i = 0; i < m && !(o.bias.empty() && o.row_bias.empty()); ++i) {
    for (std::int64_t j = 0; j < n; ++j) result.sums[at(i * groups + j / width)] += o.bias_at(i, j);
  }
  return result;
}

Checksums golden_checksums(const MatrixRows& golden, std::int64_t width, int threads) {
  Checksums result{.groups = ceil_div(golden.columns(), width)};
  result.sums.resize(at(golden.rows() * result.groups));
  each_block(golden.rows(), threads, [&](std::int64_t first, std::int64_t count) {
    std::vector<double> squares(at(result.groups));
    for (std::int64_t i = first; i < first + count; ++i) {
      simd::group_sums(golden.storage(), golden.row(i), at(golden.columns()), at(width),
                       result.sums.data() + i * result.groups, squares.data());
    }
  });
  return result;
}

std::vector<double> grouped_products(const MatrixRows& a, std::int64_t groups, bool sign,
                                     const std::function<void(std::int64_t, double*)>& fill,
                                     int threads) {
  const std::int64_t m = a.rows(), k = a.columns();
  std::vector<double> packed(simd::packed_size(k, groups));
  each_block(k, threads, [&](std::int64_t first, std::int64_t count) {
    std::vector<double> row(at(groups));
    for (std::int64_t kk = first; kk < first + count; ++kk) {
      fill(kk, row.data());
      simd::pack_row(k, groups, kk, row.data(), packed.data());
    }
  });
  std::vector<double> products(at(m * groups));
  each_block(m, threads, [&](std::int64_t first, std::int64_t count) {
    double* to = products.data() + first * groups;
    if (!sign) {
      simd::multiply_packed(a.storage(), a.row(first), a.row_bytes(), count, groups, k, false,
                            packed.data(), to);
      return;
    }
    std::vector<double> signs(at(count * k));
    for (std::int64_t i = 0; i < count; ++i) {
      double* row = signs.data() + i * k;
      a.read(first + i, 0, k, row);
      for (std::int64_t kk = 0; kk < k; ++kk) {
        row[kk] = static_cast<double>((row[kk] > 0) - (row[kk] < 0));
      }
    }
    simd::multiply_packed(simd::Storage::kF64, signs.data(), 8 * k, count, groups, k, false,
                          packed.data(), to);
  });
  return products;
}

}  // namespace assay::abft
