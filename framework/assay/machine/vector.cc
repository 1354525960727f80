#include "assay/machine/vector.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "assay/base/float_environment.h"
#include "assay/base/index.h"
#include "assay/format/convert.h"
#include "assay/machine/functions.h"

namespace assay::inline v0_2 {
namespace {

bool is_float64(const Format& f) { return f.precision == 53; }

// Returns the exact sum a + b rounded to odd: an inexact sum gets an odd last bit. Rounding it
// again, to at most 51 bits, gives the same as rounding the exact sum (Boldo and Melquiond, IEEE TC
// 57(4), 2008). The error is Knuth's TwoSum. If the sum is not finite, the error is NaN and the sum
// stays.
double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  const bool inexact = error > 0 || error < 0;
  // Moves an even sum to its neighbour on the error's side, away from zero if the signs agree.
  const bool away = std::signbit(error) == std::signbit(sum);
  const std::uint64_t odd = (bits & 1) != 0 ? bits : away ? bits + 1 : bits - 1;
  return std::bit_cast<double>(inexact ? odd : bits);
}

double flushed(const VectorArithmetic& unit, double value) {
  if (unit.subnormals == Subnormals::kGradual || !(std::abs(value) < min_normal(*unit.format))) {
    return value;
  }
  return std::copysign(0.0, value);
}

double saturated(const Format& f, double value) {
  if (std::isnan(value)) return 0;
  return std::clamp(value, -max_finite(f), max_finite(f));
}

// Returns a value as the unit writes it, rounded to its format. The value given is exact, rounded
// to odd, or the result of a float64 operation.
double written(const VectorArithmetic& unit, double value) {
  const double rounded = round_to(*unit.format, value, Rounding::kNearestEven, unit.overflow);
  const bool saturate = unit.overflow == Overflow::kSaturate;  // as round_to() did already
  return flushed(unit, saturate ? saturated(*unit.format, rounded) : rounded);
}

// Rounds an array in place, each element as written() does.
void write_array(const VectorArithmetic& unit, double* values, std::int64_t n) {
  round_array(*unit.format, values, at(n));
  if (unit.overflow == Overflow::kSaturate) {
    const double most = max_finite(*unit.format);
    for (std::int64_t i = 0; i < n; ++i) {
      const double v = values[i];
      values[i] = v != v ? 0.0 : v > most ? most : v < -most ? -most : v;
    }
  }
  if (unit.subnormals == Subnormals::kFlush) {
    const double least = min_normal(*unit.format);
    for (std::int64_t i = 0; i < n; ++i) {
      values[i] = std::abs(values[i]) < least ? std::copysign(0.0, values[i]) : values[i];
    }
  }
}

// Returns the results of written(). It is the faster of the two if each value depends on the one
// before it, as in a chain of sums.
class QuickWrite {
 public:
  explicit QuickWrite(const VectorArithmetic& unit)
      : drop_(53 - unit.format->precision),
        half_((std::uint64_t{1} << drop_) >> 1),
        mask_((std::uint64_t{1} << drop_) - 1),
        least_(min_normal(*unit.format)),
        most_(max_finite(*unit.format)),
        magic_(0x1p52 * min_subnormal(*unit.format)),
        saturate_(unit.overflow == Overflow::kSaturate),
        flush_(unit.subnormals == Subnormals::kFlush) {}

  double operator()(double value) const {
    const double size = std::abs(value);
    if (!(size <= std::numeric_limits<double>::max())) {
      if (!saturate_) return value;
      return value != value ? 0.0 : std::copysign(most_, value);
    }
    double rounded = size;
    if (size < least_) {
      // The last bit of size + magic_ weighs min_subnormal, so this addition rounds to the format.
      if (drop_ > 0) rounded = (size + magic_) - magic_;
    } else if (drop_ > 0) {
      auto bits = std::bit_cast<std::uint64_t>(size);
      bits += half_ - 1 + ((bits >> drop_) & 1);
      rounded = std::bit_cast<double>(bits & ~mask_);
      if (rounded > most_) rounded = saturate_ ? most_ : std::numeric_limits<double>::infinity();
    }
    if (flush_ && rounded < least_) rounded = 0;
    return std::copysign(rounded, value);
  }

 private:
  int drop_;  // number of bits of a float64 that the format does not have
  std::uint64_t half_, mask_;
  double least_, most_, magic_;
  bool saturate_, flush_;
};

double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

double function_of(VectorOp op, double x) {
  switch (op) {
    case VectorOp::kExp:
      return exp_float64(x);
    case VectorOp::kLog:
      return log_float64(x);
    case VectorOp::kSqrt:
      return std::sqrt(x);
    case VectorOp::kRsqrt:
      return rsqrt_float64(x);
    case VectorOp::kTanh:
      return tanh_float64(x);
    default:
      return erf_float64(x);
  }
}

// The number of operands that an operation reads.
int operands_of(VectorOp op) { return op == VectorOp::kFma ? 3 : op >= VectorOp::kExp ? 1 : 2; }

simd::VectorUnit simd_unit(const VectorArithmetic& unit) {
  return {unit.format->precision == 11, unit.overflow == Overflow::kSaturate,
          unit.subnormals == Subnormals::kFlush, unit.fused};
}

// Writes left[i] + right[i] to to[i], as the unit rounds it.
void add_rows(const VectorArithmetic& unit, std::int64_t n, const double* left, const double* right,
              double* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = left[i] + right[i];
  write_array(unit, to, n);
}
void add_rows(const VectorArithmetic& unit, std::int64_t n, const float* left, const float* right,
              float* to) {
  simd::unit_apply(simd_unit(unit), VectorOp::kAdd, at(n), {left}, {right}, {}, to);
}

// Writes x[2 i] + x[2 i + 1] to x[i], as the unit rounds it.
void add_pairs(const VectorArithmetic& unit, std::int64_t pairs, double* x) {
  for (std::int64_t i = 0; i < pairs; ++i) x[i] = x[2 * i] + x[2 * i + 1];
  write_array(unit, x, pairs);
}
void add_pairs(const VectorArithmetic& unit, std::int64_t pairs, float* x) {
  simd::unit_pair_sums(simd_unit(unit), at(pairs), x, x);
}

void chain(const VectorArithmetic& unit, std::int64_t n, std::int64_t w, const double* x,
           double* sums) {
  const QuickWrite write(unit);
  std::copy_n(x, w, sums);
  for (std::int64_t i = 1; i < n; ++i) {
    for (std::int64_t j = 0; j < w; ++j) sums[j] = write(sums[j] + x[i * w + j]);
  }
}
void chain(const VectorArithmetic& unit, std::int64_t n, std::int64_t w, const float* x,
           float* sums) {
  simd::unit_chain(simd_unit(unit), at(n), at(w), x, sums);
}

// Replaces pairs of neighbouring rows of an n x w matrix by their sums, which is one level of the
// tree. Returns the number of rows left.
template <typename T>
std::int64_t tree_level(const VectorArithmetic& unit, std::int64_t n, std::int64_t w, T* x) {
  const std::int64_t pairs = n / 2;
  if (w == 1) {
    add_pairs(unit, pairs, x);
  } else {
    // Each sum is written to a row that was already read.
    for (std::int64_t i = 0; i < pairs; ++i) {
      add_rows(unit, w, x + 2 * i * w, x + (2 * i + 1) * w, x + i * w);
    }
  }
  if (n % 2 != 0) std::copy_n(x + (n - 1) * w, w, x + pairs * w);
  return n - pairs;
}

// Adds levels of the tree until each row holds the sum of `chunk` (a power of two) rows or of all
// rows. Returns the number of rows left.
template <typename T>
std::int64_t tree_levels(const VectorArithmetic& unit, std::int64_t chunk, std::int64_t n,
                         std::int64_t w, T* x) {
  for (std::int64_t size = 1; size < chunk && n > 1; size *= 2) n = tree_level(unit, n, w, x);
  return n;
}

// Sums each chunk of rows by a tree. A chunk may have any length. Returns the number of chunks.
template <typename T>
std::int64_t chunk_trees(const VectorArithmetic& unit, std::int64_t chunk, std::int64_t n,
                         std::int64_t w, T* x) {
  if (std::has_single_bit(static_cast<std::uint64_t>(chunk))) {
    return tree_levels(unit, chunk, n, w, x);
  }
  std::int64_t chunks = 0;
  for (std::int64_t start = 0; start < n; start += chunk, ++chunks) {
    T* rows = x + start * w;
    tree_levels(unit, std::numeric_limits<std::int64_t>::max(), std::min(chunk, n - start), w,
                rows);
    std::copy_n(rows, w, x + chunks * w);
  }
  return chunks;
}

template <typename T>
void sum_columns(const VectorArithmetic& unit, ReduceOrder order, std::int64_t chunk,
                 std::int64_t n, std::int64_t w, T* x, T* sums) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  if (n == 0) {
    std::fill_n(sums, w, T{0});
    return;
  }
  if (unit.subnormals == Subnormals::kFlush) {
    const auto least = static_cast<T>(min_normal(*unit.format));
    for (std::int64_t i = 0; i < n * w; ++i) {
      x[i] = std::abs(x[i]) < least ? std::copysign(T{0}, x[i]) : x[i];
    }
  }
  switch (order) {
    case ReduceOrder::kSequential:
      break;
    case ReduceOrder::kPairwise:
      n = tree_levels(unit, kAll, n, w, x);
      break;
    case ReduceOrder::kBlock:
    case ReduceOrder::kFirstN:
      n = chunk_trees(unit, chunk, n, w, x);
      break;
    case ReduceOrder::kHighDim:
      n = tree_levels(unit, kAll, chunk_trees(unit, chunk, n, w, x), w, x);
      break;
  }
  chain(order == ReduceOrder::kBlock ? block_arithmetic(unit) : unit, n, w, x, sums);
}

}  // namespace

VectorArithmetic block_arithmetic(const VectorArithmetic& unit) {
  VectorArithmetic wide = unit;
  if (!is_float64(*unit.format)) wide.format = &format_named("float32");
  return wide;
}

double vector_oracle(const VectorArithmetic& unit, VectorOp op, double a, double b, double c) {
  if (op == VectorOp::kMax) return larger(a, b);
  if (op == VectorOp::kMin) return -larger(-a, -b);
  a = flushed(unit, a), b = flushed(unit, b), c = flushed(unit, c);
  // If operands have p <= 24 bits, float64's sum and quotient may be rounded again to p bits: the
  // result is that of one rounding (Figueroa, SIGNUM Newsletter 30(3), 1995: 53 >= 2 p + 2). Their
  // product is exact.
  switch (op) {
    case VectorOp::kAdd:
      return written(unit, a + b);
    case VectorOp::kSub:
      return written(unit, a - b);
    case VectorOp::kMul:
      return written(unit, a * b);
    case VectorOp::kDiv:
      return written(unit, a / b);
    case VectorOp::kFma:
      break;
    default:
      return written(unit, function_of(op, a));
  }
  if (!unit.fused) return written(unit, written(unit, a * b) + c);
  if (is_float64(*unit.format)) return written(unit, std::fma(a, b, c));
  return written(unit, add_to_odd(a * b, c));
}

bool fits_float32(const VectorArithmetic& unit) {
  const Format& f = *unit.format;
  return f.specials == Specials::kInfNan && ((f.precision == 24 && f.exponent_bits == 8) ||
                                             (f.precision == 11 && f.exponent_bits == 5));
}

void vector_apply(const VectorArithmetic& unit, VectorOp op, std::int64_t n, VectorOperand<float> a,
                  VectorOperand<float> b, VectorOperand<float> c, float* to) {
  const FloatEnvironment environment;
  const simd::VectorUnit u = simd_unit(unit);
  const auto count = at(n);
  if (operands_of(op) > 1) {
    simd::unit_apply(u, op, count, {a.data, a.scalar}, {b.data, b.scalar}, {c.data, c.scalar}, to);
  } else if (a.scalar) {
    float value;
    simd::unit_function(u, op, 1, a.data, &value);
    std::fill_n(to, n, value);
  } else {
    simd::unit_function(u, op, count, a.data, to);
  }
}

void vector_apply(const VectorArithmetic& unit, VectorOp op, std::int64_t n,
                  VectorOperand<double> a, VectorOperand<double> b, VectorOperand<double> c,
                  double* to) {
  const FloatEnvironment environment;
  constexpr std::int64_t kBlock = 1024;
  const int operands = operands_of(op);
  const bool exact = op == VectorOp::kMax || op == VectorOp::kMin;
  const bool flush = unit.subnormals == Subnormals::kFlush && !exact;
  // Returns an operand's block. A scalar and values that are flushed are copied.
  const auto block = [&](const VectorOperand<double>& x, std::int64_t start, std::int64_t count,
                         double* copy) {
    if (x.scalar) {
      std::fill_n(copy, count, flush ? flushed(unit, *x.data) : *x.data);
    } else if (flush) {
      for (std::int64_t i = 0; i < count; ++i) copy[i] = flushed(unit, x.data[start + i]);
    } else {
      return x.data + start;
    }
    return static_cast<const double*>(copy);
  };
  double copies[3][kBlock];
  for (std::int64_t start = 0; start < n; start += kBlock) {
    const std::int64_t count = std::min(kBlock, n - start);
    const double* x = block(a, start, count, copies[0]);
    const double* y = operands > 1 ? block(b, start, count, copies[1]) : nullptr;
    const double* z = operands > 2 ? block(c, start, count, copies[2]) : nullptr;
    double* out = to + start;
    switch (op) {
      case VectorOp::kAdd:
        for (std::int64_t i = 0; i < count; ++i) out[i] = x[i] + y[i];
        break;
      case VectorOp::kSub:
        for (std::int64_t i = 0; i < count; ++i) out[i] = x[i] - y[i];
        break;
      case VectorOp::kMul:
        for (std::int64_t i = 0; i < count; ++i) out[i] = x[i] * y[i];
        break;
      case VectorOp::kDiv:
        for (std::int64_t i = 0; i < count; ++i) out[i] = x[i] / y[i];
        break;
      case VectorOp::kFma:
        if (!unit.fused) {
          double product[kBlock];
          for (std::int64_t i = 0; i < count; ++i) product[i] = x[i] * y[i];
          write_array(unit, product, count);
          for (std::int64_t i = 0; i < count; ++i) out[i] = product[i] + z[i];
        } else if (is_float64(*unit.format)) {
          for (std::int64_t i = 0; i < count; ++i) out[i] = std::fma(x[i], y[i], z[i]);
        } else {
          for (std::int64_t i = 0; i < count; ++i) out[i] = add_to_odd(x[i] * y[i], z[i]);
        }
        break;
      case VectorOp::kMax:
        for (std::int64_t i = 0; i < count; ++i) out[i] = larger(x[i], y[i]);
        break;
      case VectorOp::kMin:
        for (std::int64_t i = 0; i < count; ++i) out[i] = -larger(-x[i], -y[i]);
        break;
      default:
        simd::float64_function(op, at(count), x, out);
        break;
    }
    if (!exact) write_array(unit, out, count);
  }
}

void reduce_sum(const VectorArithmetic& unit, ReduceOrder order, std::int64_t chunk, std::int64_t n,
                std::int64_t w, double* x, double* sums) {
  const FloatEnvironment environment;
  sum_columns(unit, order, chunk, n, w, x, sums);
}
void reduce_sum(const VectorArithmetic& unit, ReduceOrder order, std::int64_t chunk, std::int64_t n,
                std::int64_t w, float* x, float* sums) {
  const FloatEnvironment environment;
  sum_columns(unit, order, chunk, n, w, x, sums);
}

double vector_maximum(std::int64_t n, const double* x) {
  double most = *x;
  for (std::int64_t i = 1; i < n; ++i) most = larger(most, x[i]);
  return most;
}
float vector_maximum(std::int64_t n, const float* x) { return simd::unit_maximum(at(n), x); }

}  // namespace assay
