// The thresholds of every check, computed from the formulas, one element at a time in long double.
// They share no code with the room under test.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "assay/base/index.h"
#include "assay/base/random.h"
#include "assay/tensor/tensor.h"

namespace assay::testing_oracle {

using Real = long double;

struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values;

  double operator()(std::int64_t i, std::int64_t j) const { return values[at(i * columns + j)]; }
  double& operator()(std::int64_t i, std::int64_t j) { return values[at(i * columns + j)]; }
  Matrix transposed() const {
    Matrix t{columns, rows, std::vector<double>(values.size())};
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) t(j, i) = (*this)(i, j);
    }
    return t;
  }
};

inline Matrix matrix_of(const Tensor& t) { return {t.shape()[0], t.shape()[1], t.view().values()}; }
inline Tensor tensor_of(const Format& f, const Matrix& m) {
  return Tensor::from_values(f, {m.rows, m.columns}, m.values);
}
inline Tensor tensor_of(const char* dtype, const Matrix& m) {
  return tensor_of(format_named(dtype), m);
}

// A binary format, described by its precision and its smallest exponent.
struct Grid {
  int precision, min_exponent;
  Real roundoff() const { return std::ldexp(Real(1), -precision); }
  Real ulp(Real v) const {
    const int exponent = v == 0 ? min_exponent : std::max(std::ilogb(v), min_exponent);
    return std::ldexp(Real(1), exponent - precision + 1);
  }
  Real rounded(Real v) const { return v == 0 ? v : std::nearbyint(v / ulp(v)) * ulp(v); }
};
inline Grid grid_of(const std::string& dtype) {
  if (dtype == "bfloat16") return {8, -126};
  if (dtype == "float16") return {11, -14};
  if (dtype == "float8_e4m3fn") return {4, -6};
  if (dtype == "float8_e5m2") return {3, -14};
  return {24, -126};  // float32
}

// The product C = A B + bias_j + row_bias_i. An empty bias means 0.
struct Problem {
  Matrix a, b, c;
  std::vector<double> bias, row_bias;
  Grid grid{24, -126};

  std::int64_t m() const { return c.rows; }
  std::int64_t n() const { return c.columns; }
  std::int64_t k() const { return a.columns; }
  Real bias_at(std::int64_t i, std::int64_t j) const {
    return (bias.empty() ? Real(0) : Real(bias[at(j)])) +
           (row_bias.empty() ? Real(0) : Real(row_bias[at(i)]));
  }
  Problem transposed() const {
    return {b.transposed(), a.transposed(), c.transposed(), row_bias, bias, grid};
  }
};

// The difference D between the row sum of C and the checksum, over columns [first, last) of a row.
// `noise` is the largest error that float64 sums of the checker may have.
struct Difference {
  Real value = 0, noise = 0;
};
inline Difference difference(const Problem& p, std::int64_t i, std::int64_t first,
                             std::int64_t last, bool in_output_format = false) {
  Real row = 0, checksum = 0, size = 0;
  for (std::int64_t j = first; j < last; ++j) {
    row += p.c(i, j);
    checksum += p.bias_at(i, j);
    size += std::abs(Real(p.c(i, j))) + std::abs(p.bias_at(i, j));
  }
  for (std::int64_t kk = 0; kk < p.k(); ++kk) {
    Real be = 0, absolute = 0;
    for (std::int64_t j = first; j < last; ++j) {
      be += p.b(kk, j);
      absolute += std::abs(Real(p.b(kk, j)));
    }
    checksum += Real(p.a(i, kk)) * be;
    size += std::abs(Real(p.a(i, kk))) * absolute;
  }
  const Real noise = size * Real(static_cast<double>(p.k() + p.n() + 8)) * 0x1p-53L;
  if (in_output_format) return {std::abs(p.grid.rounded(row) - p.grid.rounded(checksum)), noise};
  return {std::abs(row - checksum), noise};
}

struct Limit {
  Real threshold = 0, sigma = 0;
  // `bound` replaces the threshold if D is at most `from` times `bound`.
  Real bound = 0, from = 0;
  Real threshold_of(Real difference) const {
    return bound > 0 && difference <= from * bound ? bound : threshold;
  }
};

// Returns the value that the sum of uniform errors within these half ulps exceeds with probability
// exp(-kappa^2 / 2). It solves the saddlepoint's equation by bisection. For coarse errors it uses
// Chernoff's bound.
inline Real rounding_tail(const std::vector<Real>& half_ulps, Real kappa, bool coarse) {
  std::map<Real, Real> counts;
  Real most = 0;
  for (const Real h : half_ulps) {
    counts[h] += 1;
    most += h;
  }
  Real low = 1e-9L / most, high = 1e15L / most, tail = most;
  for (int step = 0; step < 60; ++step) {
    const Real s = std::sqrt(low * high);
    Real value = 0, mean = 0, variance = 0;
    for (const auto& [h, count] : counts) {
      const Real x = s * h;
      if (coarse) {
        value += count * 2 * (x / 2 + std::log1p(std::exp(-x)) - std::log(2.0L));
        mean += count * h * std::tanh(x / 2);
      } else if (x < 1e-3L) {
        value += count * x * x / 6;
        mean += count * h * x / 3;
        variance += count * h * h / 3;
      } else {
        const Real e = std::exp(-2 * x), d = -std::expm1(-2 * x);
        value += count * (x + std::log(d / (2 * x)));
        mean += count * h * ((1 + e) / d - 1 / x);
        variance += count * h * h * (1 / (x * x) - 4 * e / (d * d));
      }
    }
    const Real divisor = s * std::sqrt(2 * std::numbers::pi_v<Real> * variance);
    const Real whole = kappa * kappa / 2;
    const Real budget =
        coarse ? whole : std::max(whole - std::log(std::max(divisor, Real(2))), whole / 2);
    tail = (value + budget) / s;
    (s * mean - value < budget ? low : high) = s;
  }
  return std::min(tail, most);
}

// Options of the rounding_variance threshold. If `loose` is set, both sums of squares in the term
// of the accumulation are the upper bounds that a checker may use for outputs of 16 bits and fewer.
// In these bounds, twice the power of two at or below |c| replaces |c|, and for each k the largest
// group of B replaces all groups.
struct Variance {
  Real kappa;
  int chunk = 1;
  std::int64_t width = 0;  // the number of columns of a group, or 0 for whole rows
  bool coarse = false, loose = false;
};
inline Limit rounding_variance(const Problem& p, std::int64_t i, std::int64_t first,
                               std::int64_t last, const Variance& how) {
  Real s = 0, v = 0, ulp_square = 0, ulp_half = 0;
  std::vector<Real> half_ulps;
  for (std::int64_t j = first; j < last; ++j) {
    const Real c = p.c(i, j), ulp = p.grid.ulp(c);
    const Real power = std::ldexp(ulp, p.grid.precision - 1);
    s += how.loose ? std::max(c * c, 4 * power * power) : c * c;
    ulp_square += ulp * ulp;
    ulp_half += ulp / 2;
    half_ulps.push_back(ulp / 2);
  }
  const std::int64_t width = how.width == 0 ? p.n() : how.width;
  for (std::int64_t kk = 0; kk < p.k(); ++kk) {
    Real mine = 0, most = 0;
    for (std::int64_t j = first; j < last; ++j) mine += Real(p.b(kk, j)) * p.b(kk, j);
    for (std::int64_t begin = 0; how.loose && begin < p.n(); begin += width) {
      Real sum = 0;
      for (std::int64_t j = begin; j < std::min(begin + width, p.n()); ++j) {
        sum += Real(p.b(kk, j)) * p.b(kk, j);
      }
      most = std::max(most, sum);
    }
    v += Real(p.a(i, kk)) * p.a(i, kk) * std::max(mine, most);
  }
  const std::int64_t roundings = (p.k() + how.chunk - 1) / how.chunk;
  Real start = 0;  // the sum of squared biases, with which the accumulators start
  for (std::int64_t j = first; j < last; ++j) start += p.bias_at(i, j) * p.bias_at(i, j);
  const Real q = static_cast<Real>(roundings) * (s / 3 + v / 6 + start);
  // T uses the factor 1/3, which is derived. Sigma uses 1/5, which is fitted.
  const Real accumulation = 0x1p-24L * std::sqrt(q / 3), fitted = 0x1p-24L * std::sqrt(q / 5);
  if (p.grid.precision == 24) return {how.kappa * accumulation, fitted};
  const Real variance = ulp_square / (how.coarse ? 8 : 12);
  const Real bound = std::min(how.kappa * std::sqrt(variance), ulp_half);
  const Real tail = how.kappa < 4 ? bound : rounding_tail(half_ulps, how.kappa, how.coarse);
  return {tail + how.kappa * accumulation, std::sqrt(variance + fitted * fitted),
          bound + how.kappa * accumulation,
          last - first <= 32 ? Real(1) / 3 : std::min(1.7L / how.kappa, Real(1) / 3)};
}

// Returns the threshold of residual_compensated. Its variance is that of the accumulation, with
// exact squares, plus that of the float32 sum of R. R is the sum of the w residuals of the cast, so
// that none of its partial sums exceeds sum ulp / 2.
inline Limit residual_compensated(const Problem& p, std::int64_t i, std::int64_t first,
                                  std::int64_t last, Real kappa) {
  Problem exact = p;
  // With the grid of float32, only the accumulation has errors, and not the cast.
  exact.grid = {24, -126};
  Variance how{kappa};
  const Limit alone = rounding_variance(exact, i, first, last, how);
  Real ulp_square = 0;
  for (std::int64_t j = first; j < last; ++j) {
    ulp_square += p.grid.ulp(p.c(i, j)) * p.grid.ulp(p.c(i, j));
  }
  const auto w = static_cast<Real>(last - first);
  const Real squares = 0x1p-48L * w * w * ulp_square / 4, rigorous = alone.threshold / kappa;
  return {kappa * std::sqrt(rigorous * rigorous + squares / 3),
          std::sqrt(alone.sigma * alone.sigma + squares / 5)};
}

// The mean and the square of sigma over the sampled columns of [first, last). The sample has the
// first `width` columns of every `period`.
enum class Sigma { kBound, kExtreme, kDeviation };
struct Sample {
  std::int64_t width = 1, period = 1;
};
struct Moments {
  Real mean, square;
};
inline Moments moments(const Matrix& matrix, std::int64_t i, std::int64_t first, std::int64_t last,
                       Sigma sigma = Sigma::kBound, Sample sample = {}) {
  std::vector<Real> values;
  for (std::int64_t j = first; j < last; ++j) {
    if ((j - first) % sample.period < sample.width) values.push_back(matrix(i, j));
  }
  Real sum = 0, low = values[0], high = low, square = 0;
  for (const Real v : values) {
    sum += v;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  const Real mean = sum / static_cast<Real>(values.size());
  for (const Real v : values) square += (v - mean) * (v - mean);
  if (sigma == Sigma::kBound) return {mean, (high - mean) * (mean - low)};
  if (sigma == Sigma::kDeviation) return {mean, square / static_cast<Real>(values.size())};
  if (values.size() == 1) return {mean, 0};
  const Real extreme = (high - mean) / std::sqrt(2 * std::log(static_cast<Real>(values.size())));
  return {mean, extreme * extreme};
}

// Parameters of V-ABFT's threshold over columns [first, last). With the means mu and the deviations
// s of the row of A and of the rows of B, N columns, and sums over k, it is
//   e_max (N |mu_A| sum |mu_B| + c sqrt(N mu_A^2 sum s_B^2 + N^2 s_A^2 sum mu_B^2)
//          + c sqrt(N) s_A sqrt(sum s_B^2)), plus e_max times the sum of |bias|.
struct VAbft {
  Real e_max, c;
  Sigma sigma = Sigma::kBound;
  Sample a, b;
};
inline Real v_abft(const Problem& p, std::int64_t i, std::int64_t first, std::int64_t last,
                   const VAbft& how) {
  const auto n = static_cast<Real>(last - first);
  const Moments a = moments(p.a, i, 0, p.k(), how.sigma, how.a);
  Real means = 0, mean_squares = 0, squares = 0, biases = 0;
  for (std::int64_t kk = 0; kk < p.k(); ++kk) {
    const Moments b = moments(p.b, kk, first, last, how.sigma, how.b);
    means += std::abs(b.mean);
    mean_squares += b.mean * b.mean;
    squares += b.square;
  }
  for (std::int64_t j = first; j < last; ++j) biases += std::abs(p.bias_at(i, j));
  const Real c = how.c;
  return how.e_max *
         (n * std::abs(a.mean) * means +
          c * std::sqrt(n * a.mean * a.mean * squares + n * n * a.square * mean_squares) +
          c * std::sqrt(n) * std::sqrt(a.square) * std::sqrt(squares) + biases);
}
inline Real v_abft(const Problem& p, std::int64_t i, Real e_max, Real c) {
  return v_abft(p, i, 0, p.n(), {e_max, c, Sigma::kBound, {}, {}});
}

inline Real row_sum_of_b(const Problem& p, std::int64_t kk) {
  Real sum = 0;
  for (std::int64_t j = 0; j < p.n(); ++j) sum += p.b(kk, j);
  return sum;
}
inline Real squares_to(std::int64_t n) {
  Real sum = 0;
  for (std::int64_t i = 1; i <= n; ++i) sum += static_cast<Real>(i) * static_cast<Real>(i);
  return sum;
}

// Returns the threshold of A-ABFT with four components, for operands and outputs of one precision
// with eps = 2 u. The component of max|C| has a second term, with 2^-23.
inline Real a_abft_components(const Problem& p, std::int64_t i) {
  Real c = 0, weighted = 0, product = 0;
  for (std::int64_t j = 0; j < p.n(); ++j) c = std::max<Real>(c, std::abs(p.c(i, j)));
  for (std::int64_t kk = 0; kk < p.k(); ++kk) {
    Real b = 0;
    for (std::int64_t j = 0; j < p.n(); ++j) b = std::max<Real>(b, std::abs(p.b(kk, j)));
    weighted += std::abs(Real(p.a(i, kk))) * b;
    product = std::max(product, std::abs(Real(p.a(i, kk)) * row_sum_of_b(p, kk)));
  }
  const Real eps = 2 * p.grid.roundoff(), k = static_cast<Real>(p.k());
  const Real half = std::sqrt(squares_to(p.n()) / 8);
  return eps * half * c + 0x1p-23L * std::sqrt(squares_to(p.n())) * c + eps * half * weighted +
         eps * std::sqrt((k * (k + 1) * (k + 0.5L) + 2 * k) / 24) * product;
}

// Returns the threshold of the original A-ABFT, 3 sqrt((K(K+1)(K+1/2) + 2K) / 24) 2^-t y, where
// 2^-t is twice the unit roundoff and y bounds the products.
inline Real a_abft_original(const Problem& p, Real y) {
  const Real k = static_cast<Real>(p.k());
  return 3 * std::sqrt((k * (k + 1) * (k + 0.5L) + 2 * k) / 24) * 2 * p.grid.roundoff() * y;
}
// Returns the largest |a_ik sum_j b_kj| over k. If `matrix` is set, returns its bound for all rows:
// the largest |a| times the largest |sum_j b_kj|.
inline Real largest_product(const Problem& p, std::int64_t i, bool matrix = false) {
  Real y = 0, a = 0, b = 0;
  for (std::int64_t kk = 0; kk < p.k(); ++kk) {
    y = std::max(y, std::abs(Real(p.a(i, kk)) * row_sum_of_b(p, kk)));
    b = std::max(b, std::abs(row_sum_of_b(p, kk)));
    for (std::int64_t r = 0; r < p.m(); ++r) a = std::max<Real>(a, std::abs(p.a(r, kk)));
  }
  return matrix ? a * b : y;
}

// Returns the threshold of SEA-ABFT, ((K + 2N - 2) ||A_i|| sum_j ||B_j|| + K ||b|| ||A_i||) 2u. A_i
// is a row of A, B_j a column of B, and b has the row sums of B.
inline Real sea_abft(const Problem& p, std::int64_t i) {
  Real a = 0, columns = 0, sums = 0;
  for (std::int64_t kk = 0; kk < p.k(); ++kk) {
    a += Real(p.a(i, kk)) * p.a(i, kk);
    sums += row_sum_of_b(p, kk) * row_sum_of_b(p, kk);
  }
  for (std::int64_t j = 0; j < p.n(); ++j) {
    Real square = 0;
    for (std::int64_t kk = 0; kk < p.k(); ++kk) square += Real(p.b(kk, j)) * p.b(kk, j);
    columns += std::sqrt(square);
  }
  const auto k = static_cast<Real>(p.k()), n = static_cast<Real>(p.n());
  return ((k + 2 * n - 2) * std::sqrt(a) * columns + k * std::sqrt(sums) * std::sqrt(a)) * 2 *
         p.grid.roundoff();
}

// Returns the analytic threshold gamma_K sum_k |a_ik| sum_j |b_kj| with gamma_K = K u / (1 - K u).
// If lambda > 0, gamma is that of Higham and Mary.
inline Real analytic(const Problem& p, std::int64_t i, Real lambda) {
  const Real u = p.grid.roundoff(), k = static_cast<Real>(p.k());
  Real size = 0;
  for (std::int64_t kk = 0; kk < p.k(); ++kk) {
    Real b = 0;
    for (std::int64_t j = 0; j < p.n(); ++j) b += std::abs(Real(p.b(kk, j)));
    size += std::abs(Real(p.a(i, kk))) * b;
  }
  const Real gamma = lambda > 0  ? std::exp(lambda * std::sqrt(k) * u + k * u * u / (1 - u)) - 1
                     : k * u < 1 ? k * u / (1 - k * u)
                                 : std::numeric_limits<Real>::infinity();
  return gamma * size;
}

// Returns `times` e. If the smallest max|c| / mean|c| of all rows is above 5, e is 2^-8 sqrt(N)
// max|c|. Otherwise e is 2^-8 N mean|c|.
inline Real mean_or_max(const Problem& p, std::int64_t i, Real times) {
  Real least = std::numeric_limits<Real>::infinity(), mean = 0, most = 0;
  bool zeros = false;
  for (std::int64_t r = 0; r < p.m(); ++r) {
    Real sum = 0, largest = 0;
    for (std::int64_t j = 0; j < p.n(); ++j) {
      sum += std::abs(Real(p.c(r, j)));
      largest = std::max<Real>(largest, std::abs(p.c(r, j)));
    }
    // The peak of a row of zeros is 0/0, which is never above 5.
    if (sum == 0) zeros = true;
    if (sum > 0) least = std::min(least, largest / (sum / static_cast<Real>(p.n())));
    if (r == i) mean = sum / static_cast<Real>(p.n());
    if (r == i) most = largest;
  }
  const auto n = static_cast<Real>(p.n());
  const Real e = !zeros && least > 5 ? 0x1p-8L * std::sqrt(n) * most : 0x1p-8L * n * mean;
  return times * (e + 1e-20L);
}

// Returns the threshold of A-ABFT:
//   sqrt(sum i^2 / 8) max|C_m| e_high + e_low sqrt(N) max|C_m|
//   + sum_k |a_mk| e_high sqrt(sum i^2 / 8) max|B_k| + e_high sqrt(sum k^2 / 8 + K / 12) max|B|
//   max|A_m|
inline Real a_abft(const Problem& p, std::int64_t i, Real e_low) {
  Real rows = 0, depths = 0, c = 0, a = 0, b = 0, weighted = 0;
  for (std::int64_t j = 1; j <= p.n(); ++j) rows += static_cast<Real>(j) * static_cast<Real>(j);
  for (std::int64_t kk = 1; kk <= p.k(); ++kk) {
    depths += static_cast<Real>(kk) * static_cast<Real>(kk);
  }
  for (std::int64_t j = 0; j < p.n(); ++j) c = std::max<Real>(c, std::abs(p.c(i, j)));
  for (std::int64_t kk = 0; kk < p.k(); ++kk) {
    Real row = 0;
    for (std::int64_t j = 0; j < p.n(); ++j) row = std::max<Real>(row, std::abs(p.b(kk, j)));
    weighted += std::abs(Real(p.a(i, kk))) * row;
    a = std::max<Real>(a, std::abs(p.a(i, kk)));
    b = std::max(b, row);
  }
  const Real spread = std::sqrt(rows / 8), high = 0x1p-23L;
  return spread * c * high + e_low * std::sqrt(static_cast<Real>(p.n())) * c +
         weighted * high * spread +
         high * std::sqrt(depths / 8 + static_cast<Real>(p.k()) / 12) * b * a;
}

inline Real kappa_for(Real checks, Real delta) {
  return std::sqrt(2 * std::log(2 * checks / delta));
}

// Random operands of a format, and C by float32 sums rounded to the output's format.
struct Made {
  Problem problem;
  Tensor a, b, c;
};
inline Made random_product(std::int64_t m, std::int64_t n, std::int64_t k, const char* in,
                           const char* out, int octaves, std::uint64_t stream,
                           std::vector<double> bias = {}) {
  Random random(4711, stream);
  const auto draw = [&](std::int64_t rows, std::int64_t columns) {
    Matrix matrix{rows, columns, std::vector<double>(at(rows * columns))};
    for (double& v : matrix.values) {
      const int exponent =
          octaves == 0 ? 0 : static_cast<int>(random.below(at(octaves))) - octaves / 2;
      v = random.below(16) == 0 ? 0 : std::ldexp(random.normal() + 0.25, exponent);
    }
    return matrix;
  };
  Made made;
  made.a = tensor_of(in, draw(m, k));
  made.b = tensor_of(in, draw(k, n));
  Problem& p = made.problem;
  p.a = matrix_of(made.a);
  p.b = matrix_of(made.b);
  p.bias = std::move(bias);
  p.grid = grid_of(out);
  p.c = {m, n, std::vector<double>(at(m * n))};
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      auto sum = static_cast<float>(p.bias_at(i, j));
      for (std::int64_t kk = 0; kk < k; ++kk) {
        sum = static_cast<float>(static_cast<double>(sum) + p.a(i, kk) * p.b(kk, j));
      }
      p.c(i, j) = static_cast<double>(sum);
    }
  }
  made.c = tensor_of(out, p.c);
  p.c = matrix_of(made.c);
  return made;
}

}  // namespace assay::testing_oracle
