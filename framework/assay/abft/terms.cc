#include "assay/abft/terms.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "assay/base/constants.h"
#include "assay/base/elementary.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/simd/checksum.h"

namespace assay::inline v0_2::abft {
namespace {

std::vector<double> row_of(const MatrixRows& matrix, std::int64_t i) {
  std::vector<double> row(at(matrix.columns()));
  matrix.read(i, 0, matrix.columns(), row.data());
  return row;
}

simd::RowExtremes extremes_of(const MatrixRows& matrix, std::int64_t i) {
  if (matrix.columns() == 0) return {0, 0, 0};
  return simd::row_extremes(matrix.storage(), matrix.row(i), at(matrix.columns()));
}

double largest_of(const simd::RowExtremes& e) {
  return std::max(std::abs(e.low), std::abs(e.high));
}

// Returns sum_k |a_ik| x_k of each row.
std::vector<double> weighted_sums(const MatrixRows& a, const double* x, int threads) {
  constexpr std::int64_t kTogether = 64;
  std::vector<double> sums(at(a.rows()));
  parallel_for((a.rows() + kTogether - 1) / kTogether, threads, [&](std::int64_t part) {
    const std::int64_t begin = part * kTogether, count = std::min(kTogether, a.rows() - begin);
    simd::RowSizes sizes[kTogether];
    simd::row_sizes(a.storage(), a.row(begin), a.row_bytes(), at(count), at(a.columns()), x, sizes);
    for (std::int64_t i = 0; i < count; ++i) sums[at(begin + i)] = sizes[i].weighted;
  });
  return sums;
}

using device::GroupMoments;
using device::Moments;
using device::VAbftSums;

// Returns mean and variance of a part of a row. Spread has three rules for the variance.
Moments moments_of(const simd::RowExtremes& e, double count, double square, Spread spread) {
  if (spread == Spread::kBound) return device::bounded_moments(e.sum, e.low, e.high, count);
  const double mean = e.sum / count;
  if (spread == Spread::kDeviation) return {mean, square / count};
  const double s = count > 1 ? (e.high - mean) / std::sqrt(2 * portable::log(count)) : 0;
  return {mean, s * s};
}

// Returns the moments of columns [begin, end) of row i. Only sampled columns count: those whose
// index modulo `period` is below `width`.
Moments moments(const MatrixRows& matrix, std::int64_t i, std::int64_t begin, std::int64_t end,
                Spread spread, const Sampling& sampling) {
  if (begin == end) return {};
  if (sampling.all() && spread != Spread::kDeviation) {
    const auto* row =
        static_cast<const std::byte*>(matrix.row(i)) + begin * matrix.format().storage_bytes;
    const simd::RowExtremes e = simd::row_extremes(matrix.storage(), row, at(end - begin));
    return moments_of(e, static_cast<double>(end - begin), 0, spread);
  }
  std::vector<double> values(at(end - begin));
  matrix.read(i, begin, end - begin, values.data());
  simd::RowExtremes e{0, kInfinity, -kInfinity};
  double count = 0, square = 0;
  const auto sampled = [&](std::int64_t j) {
    return (begin + j) % sampling.period < sampling.width;
  };
  for (std::int64_t j = 0; j < end - begin; ++j) {
    if (!sampled(j)) continue;
    const double x = values[at(j)];
    e.sum += x;
    e.low = std::min(e.low, x);
    e.high = std::max(e.high, x);
    ++count;
  }
  if (count == 0) return {};
  if (e.sum != e.sum) e.low = e.high = e.sum;
  for (std::int64_t j = 0; j < end - begin; ++j) {
    if (sampled(j)) square += (values[at(j)] - e.sum / count) * (values[at(j)] - e.sum / count);
  }
  return moments_of(e, count, square, spread);
}

}  // namespace

std::vector<VAbftSums> v_abft_terms(const Operands& o, const VAbftHow& how, int threads) {
  const std::int64_t m = o.a.rows(), k = o.a.columns(), n = o.b.columns();
  const std::int64_t groups = (n + how.width - 1) / how.width;
  std::vector<Moments> of_b(at(k * groups));
  parallel_for(k, threads, [&](std::int64_t kk) {
    for (std::int64_t g = 0; g < groups; ++g) {
      of_b[at(kk * groups + g)] =
          moments(o.b, kk, g * how.width, std::min(n, (g + 1) * how.width), how.sigma, how.b);
    }
  });
  std::vector<GroupMoments> sums(at(groups));
  for (std::int64_t kk = 0; kk < k; ++kk) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const Moments& b = of_b[at(kk * groups + g)];
      GroupMoments& s = sums[at(g)];
      s.mean += std::abs(b.mean);
      s.square += b.mean * b.mean;
      s.variance += b.variance;
    }
  }
  std::vector<VAbftSums> terms(at(m * groups));
  parallel_for(m, threads, [&](std::int64_t i) {
    const Moments a = moments(o.a, i, 0, k, how.sigma, how.a);
    for (std::int64_t g = 0; g < groups; ++g) {
      const GroupMoments& s = sums[at(g)];
      const auto width = static_cast<double>(std::min(n, (g + 1) * how.width) - g * how.width);
      terms[at(i * groups + g)] = device::v_abft_sums(a, s, width);
    }
  });
  return terms;
}

std::vector<double> product_bounds(const Operands& o, int top, bool matrix, int threads) {
  const std::int64_t m = o.a.rows(), k = o.a.columns();
  std::vector<double> sums(at(k)), bounds(at(m), 0.0);
  if (k == 0) return bounds;
  parallel_for(k, threads,
               [&](std::int64_t kk) { sums[at(kk)] = std::abs(extremes_of(o.b, kk).sum); });
  if (matrix) {
    double a = 0;
    for (std::int64_t i = 0; i < m; ++i) a = std::max(a, largest_of(extremes_of(o.a, i)));
    std::ranges::fill(bounds, a * *std::ranges::max_element(sums));
    return bounds;
  }
  const std::int64_t count = top == 0 ? k : std::min<std::int64_t>(top, k);
  // Marks the `count` largest values, and keeps the smallest of them. No other value exceeds it.
  struct Top {
    std::vector<char> listed;
    double least = 0;
  };
  const auto top_of = [&](const std::vector<double>& values) {
    std::vector<std::int64_t> order(at(k));
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + count, order.end(),
                      [&](std::int64_t x, std::int64_t y) {
                        if (values[at(x)] != values[at(y)]) return values[at(x)] > values[at(y)];
                        return x < y;
                      });
    Top t{std::vector<char>(at(k), 0), values[at(order[at(count - 1)])]};
    for (std::int64_t r = 0; r < count; ++r) t.listed[at(order[at(r)])] = 1;
    return t;
  };
  const Top of_b = top_of(sums);
  parallel_for(m, threads, [&](std::int64_t i) {
    std::vector<double> a = row_of(o.a, i);
    for (double& v : a) v = std::abs(v);
    const Top of_a = top_of(a);
    double y = count < k ? of_a.least * of_b.least : 0;
    for (std::int64_t kk = 0; kk < k; ++kk) {
      const bool in_a = of_a.listed[at(kk)] != 0, in_b = of_b.listed[at(kk)] != 0;
      if (in_a || in_b) {
        y = std::max(y, (in_a ? a[at(kk)] : of_a.least) * (in_b ? sums[at(kk)] : of_b.least));
      }
    }
    bounds[at(i)] = y;
  });
  return bounds;
}

Norms norms(const Operands& o, int threads) {
  const std::int64_t m = o.a.rows(), k = o.a.columns(), n = o.b.columns();
  Norms result;
  result.rows_of_a.resize(at(m));
  parallel_for(m, threads, [&](std::int64_t i) {
    double square = 0;
    for (const double a : row_of(o.a, i)) square += a * a;
    result.rows_of_a[at(i)] = std::sqrt(square);
  });
  std::vector<double> columns(at(n), 0.0);
  double sums = 0;
  for (std::int64_t kk = 0; kk < k; ++kk) {
    const std::vector<double> row = row_of(o.b, kk);
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      columns[at(j)] += row[at(j)] * row[at(j)];
      sum += row[at(j)];
    }
    sums += sum * sum;
  }
  for (const double square : columns) result.columns_of_b += std::sqrt(square);
  result.row_sums_of_b = std::sqrt(sums);
  return result;
}

std::vector<double> absolute_products(const Operands& o, int threads) {
  const std::int64_t k = o.a.columns(), n = o.b.columns();
  std::vector<double> of_b(at(k));
  parallel_for(k, threads, [&](std::int64_t kk) {
    simd::OutputSizes row{};
    if (n > 0) simd::output_sizes(o.b.storage(), o.b.row(kk), at(n), at(n), true, &row);
    of_b[at(kk)] = row.absolute;
  });
  std::vector<double> products = weighted_sums(o.a, of_b.data(), threads);
  const std::vector<double> biases = absolute_biases(o, std::max<std::int64_t>(n, 1));
  for (std::size_t i = 0; i < biases.size(); ++i) products[i] += biases[i];
  return products;
}

std::vector<double> absolute_biases(const Operands& o, std::int64_t width) {
  if (o.bias.empty() && o.row_bias.empty()) return {};
  const std::int64_t m = o.a.rows(), n = o.b.columns(), groups = (n + width - 1) / width;
  std::vector<double> sums(at(m * groups), 0.0);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      sums[at(i * groups + j / width)] += std::abs(o.bias_at(i, j));
    }
  }
  return sums;
}

}  // namespace assay::abft
