#include "assay/fault/mutation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/cases/product.h"
#include "assay/fault/site.h"
#include "assay/format/convert.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2::fault {
namespace {

constexpr std::int64_t kTile = kTileSide;
constexpr std::int64_t kChunk = 16;

using Mutated = std::optional<Tensor>;

// Copies an element of another tensor of the same format to a position.
void copy_element(Tensor& to, std::int64_t at, const Tensor& from, std::int64_t source) {
  const std::int64_t width = to.format().storage_bytes;
  std::memcpy(to.bytes() + at * width, from.bytes() + source * width,
              static_cast<std::size_t>(width));
}

// Returns a tensor of another format and shape that has the same bytes.
Tensor read_as(const Tensor& tensor, const Format& format, const Shape& shape) {
  Tensor t(format, shape);
  std::memcpy(t.bytes(), tensor.bytes(), tensor.byte_count());
  return t;
}

// Applies `change` to the real and imaginary parts of complex numbers, as a tensor of real numbers.
template <typename Change>
Mutated by_parts(const Tensor& output, const Change& change) {
  const TensorView parts = parts_of(output.view());
  const Mutated changed = change(read_as(output, *parts.format, parts.shape));
  if (!changed) return std::nullopt;
  return read_as(*changed, output.format(), output.shape());
}

Mutated sign(const Case& c, const Tensor& output) {
  const Format& f = output.format();
  if (f.is_complex()) return by_parts(output, [&](const Tensor& parts) { return sign(c, parts); });
  if (!f.is_signed()) return std::nullopt;
  return with_elements(output, [&](std::int64_t i) {
    const std::uint64_t bits = output.bits_at(i);
    if (f.is_float() && is_nan(f, bits)) return bits;
    return encode(f, -decode(f, bits));
  });
}

Mutated zero(const Case& c, const Tensor& output) {
  const Format& f = output.format();
  if (f.is_complex()) return by_parts(output, [&](const Tensor& parts) { return zero(c, parts); });
  if (f.is_float() && f.specials == Specials::kScale) return std::nullopt;  // has no zero
  return with_elements(output, [&](std::int64_t) { return encode(f, 0); });
}

Mutated one_ulp(const Case&, const Tensor& output) {
  const Format& f = output.format();
  // Bool and complex values have no next larger value.
  if (f.kind == Kind::kBool || f.is_complex()) return std::nullopt;
  return with_elements(output, [&](std::int64_t i) {
    const std::uint64_t bits = output.bits_at(i), up = next_up(f, bits);
    return f.is_float() && !std::isfinite(decode(f, up)) ? bits : up;
  });
}

Mutated swapped_rows(const Case&, const Tensor& output) {
  const Matrices m = matrices_of(output);
  if (m.rows < 2) return std::nullopt;
  // Exchanges the two rows in the middle of the first matrix.
  const std::int64_t first = (m.rows - 1) / 2;
  Tensor t = output;
  for (std::int64_t j = 0; j < m.columns; ++j) {
    copy_element(t, first * m.columns + j, output, (first + 1) * m.columns + j);
    copy_element(t, (first + 1) * m.columns + j, output, first * m.columns + j);
  }
  return t;
}

Mutated transposed_tile(const Case&, const Tensor& output) {
  const Matrices m = matrices_of(output);
  const std::int64_t tile = std::min({kTile, m.rows, m.columns});
  if (tile < 2) return std::nullopt;
  Tensor t = output;
  for (std::int64_t i = 0; i < tile; ++i) {
    for (std::int64_t j = 0; j < tile; ++j) {
      copy_element(t, i * m.columns + j, output, j * m.columns + i);
    }
  }
  return t;
}

// The last tile of the first matrix still holds the values of the tile before it. That is the tile
// to its left, or the tile above if there is no tile on the left.
Mutated stale_tile(const Case&, const Tensor& output) {
  const Matrices m = matrices_of(output);
  if (m.count == 0) return std::nullopt;
  const std::int64_t rows = std::min(kTile, m.rows), columns = std::min(kTile, m.columns);
  const bool left = m.columns >= 2 * columns;
  if (!left && m.rows < 2 * rows) return std::nullopt;
  const std::int64_t offset = left ? columns : rows * m.columns;
  Tensor t = output;
  for (std::int64_t i = m.rows - rows; i < m.rows; ++i) {
    for (std::int64_t j = m.columns - columns; j < m.columns; ++j) {
      const std::int64_t at = i * m.columns + j;
      copy_element(t, at, output, at - offset);
    }
  }
  return t;
}

Mutated off_by_one(const Case&, const Tensor& output) {
  if (output.size() < 2) return std::nullopt;
  const std::int64_t last = output.size() - 1;
  Tensor t = output;
  for (std::int64_t i = 0; i < last; ++i) copy_element(t, i, output, i + 1);
  return t;
}

// Returns the shape of the case's matrix product. Empty if the case is not a product, or if the
// output is not a float or does not have the product's shape.
std::optional<MatmulShape> product_of(const Case& c, const Tensor& output) {
  if (!is_product(c) || !output.format().is_float()) return std::nullopt;
  MatmulShape s = matmul_shape(c);
  if (s.output != output.shape() || s.k == 0) return std::nullopt;
  return s;
}

// Calls change(values, a, b) for each row of the output of a product of A and B. `values` is the
// row as float64, and is changed in place. `a` is the row of A, and `b` is the matrix B.
template <typename Change>
Mutated rows_of_product(const Case& c, const MatmulShape& s, const Tensor& output,
                        const Change& change) {
  Tensor t = output;
  const auto n = static_cast<std::size_t>(s.n);
  const auto bytes = static_cast<std::int64_t>(output.format().storage_bytes);
  std::vector<double> row(n);
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    const std::vector<double> a = matmul_matrix(c, "a", batch).values();
    const std::vector<double> b = matmul_matrix(c, "b", batch).values();
    for (std::int64_t i = 0; i < s.m; ++i) {
      const std::int64_t first = (batch * s.m + i) * s.n;
      output.view().read(first, s.n, row.data());
      change(row, a.data() + i * s.k, b.data());
      encode_array(output.format(), row.data(), n, t.bytes() + first * bytes);
    }
  }
  return t;
}

// Adds factor times the sum of the products [first, last) of the row `a` and each column of `b` to
// `row`.
void add_products(std::vector<double>& row, const double* a, const double* b, std::int64_t first,
                  std::int64_t last, double factor) {
  const std::size_t n = row.size();
  for (std::int64_t k = first; k < last; ++k) {
    const double* line = b + static_cast<std::size_t>(k) * n;
    for (std::size_t j = 0; j < n; ++j) row[j] += factor * a[k] * line[j];
  }
}

Mutated dropped_chunk(const Case& c, const Tensor& output) {
  const auto s = product_of(c, output);
  if (!s) return std::nullopt;
  const std::int64_t first = (s->k - 1) / kChunk * kChunk;
  return rows_of_product(c, *s, output,
                         [&](std::vector<double>& row, const double* a, const double* b) {
                           add_products(row, a, b, first, s->k, -1);
                         });
}

// Rounds the golden result toward zero. Empty if its format has no more precision than the output.
Mutated truncation(const Case& c, const Tensor& output) {
  const Format& f = output.format();
  if (!c.output().golden || !f.is_float() || c.output().golden->shape() != output.shape() ||
      !c.output().golden->format().is_float() ||
      c.output().golden->format().precision <= f.precision) {
    return std::nullopt;
  }
  return with_elements(output, [&](std::int64_t i) {
    const double value = decode(c.output().golden->format(), c.output().golden->bits_at(i));
    return std::isfinite(value) ? encode(f, value, Rounding::kTowardZero) : output.bits_at(i);
  });
}

// Returns the output of a product whose accumulator is rounded to float16 after every chunk of
// products.
Mutated fp16_accumulation(const Case& c, const Tensor& output) {
  const auto s = product_of(c, output);
  if (!s) return std::nullopt;
  const Format& half = format_named("float16");
  const std::vector<double> bias = matmul_bias(c);
  return rows_of_product(c, *s, output,
                         [&](std::vector<double>& row, const double* a, const double* b) {
                           if (bias.empty())
                             std::ranges::fill(row, 0.0);
                           else
                             row = bias;
                           for (std::int64_t k = 0; k < s->k; k += kChunk) {
                             add_products(row, a, b, k, std::min(s->k, k + kChunk), 1);
                             round_array(half, row.data(), row.size());
                           }
                         });
}

constexpr Mutation kMutations[] = {
    {.name = "sign", .summary = "every element negated", .apply = sign},
    {.name = "zero", .summary = "every element 0", .apply = zero},
    {.name = "one_ulp", .summary = "every element one representable value up", .apply = one_ulp},
    {.name = "swapped_rows", .summary = "two neighbouring rows exchanged", .apply = swapped_rows},
    {.name = "transposed_tile", .summary = "the first tile transposed", .apply = transposed_tile},
    {.name = "stale_tile",
     .summary = "the last tile holds its neighbour's values",
     .apply = stale_tile},
    {.name = "off_by_one", .summary = "every element is its successor", .apply = off_by_one},
    {.name = "dropped_k_chunk",
     .summary = "the last chunk of products is missing from every sum",
     .apply = dropped_chunk},
    {.name = "truncation",
     .summary = "the golden result cut off instead of rounded",
     .apply = truncation},
    {.name = "fp16_accumulation", .summary = "sums kept in float16", .apply = fp16_accumulation},
};

}  // namespace

std::span<const Mutation> mutations() { return kMutations; }

Matrices matrices_of(const Tensor& t) {
  const Shape& s = t.shape();
  if (s.size() < 2 || t.size() == 0) return {};
  const std::int64_t rows = s[s.size() - 2], columns = s.back();
  return {t.size() / (rows * columns), rows, columns};
}

Mutated mutate(const Mutation& mutation, const Case& c, const Tensor& output) {
  const FloatEnvironment environment;
  Mutated changed = mutation.apply(c, output);
  if (changed && std::memcmp(changed->bytes(), output.bytes(), output.byte_count()) == 0) {
    return std::nullopt;
  }
  return changed;
}

}  // namespace assay::fault
