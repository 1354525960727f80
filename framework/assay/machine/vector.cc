#include "assay/machine/vector.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/format/convert.h"

namespace assay {
namespace {

constexpr auto kDocumented = Provenance::kDocumented;
constexpr auto kAssumed = Provenance::kAssumed;

// A repeat is 256 bytes: 128 half, 64 float. bfloat16 has no arithmetic of its own on the unit: it
// is converted to float and back.
constexpr VectorFormat kAscend910bFormats[] = {
    {"float16", {"float16", kDocumented}, {128, kDocumented}},
    {"bfloat16", {"float32", kAssumed}, {64, kAssumed}},
    {"float32", {"float32", kDocumented}, {64, kDocumented}},
};

// What C++ on a CPU does: 16-bit formats are computed in float.
constexpr VectorFormat kCpuFormats[] = {
    {"float16", {"float32", kAssumed}, {0, kAssumed}},
    {"bfloat16", {"float32", kAssumed}, {0, kAssumed}},
    {"float32", {"float32", kDocumented}, {0, kAssumed}},
    {"float64", {"float64", kDocumented}, {0, kAssumed}},
};

constexpr VectorModel kModels[] = {
    {"ascend910b",
     kAscend910bFormats,
     {Overflow::kSaturate, kDocumented},
     {Subnormals::kGradual, kAssumed},
     {true, kAssumed},
     "the vendor's documents: saturating with CTRL[48] = 0, IEEE with 1; they disagree about "
     "subnormals, and do not say how often a multiply-add rounds"},
    {"cpu_fma",
     kCpuFormats,
     {Overflow::kIeee, kDocumented},
     {Subnormals::kGradual, kDocumented},
     {true, kDocumented},
     "IEEE 754; multiply-add by the fused instruction"},
    {"cpu_mul_add",
     kCpuFormats,
     {Overflow::kIeee, kDocumented},
     {Subnormals::kGradual, kDocumented},
     {false, kDocumented},
     "IEEE 754; multiply-add as a multiplication and an addition"},
};

bool is_float64(const Format& f) { return f.precision == 53; }

// The exact sum a + b rounded to odd: what is inexact gets an odd last bit, and a following
// rounding to at most 51 bits is that of the exact sum (Boldo and Melquiond, IEEE TC 57(4), 2008).
// The error is Knuth's TwoSum; it is NaN where the sum is not finite, which then stays.
double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  const bool inexact = error > 0 || error < 0;
  // The neighbour of an even sum on the error's side: away from zero where the signs agree.
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

// A float64 (exact, to odd, or a float64 operation's own result) as the unit writes it.
double written(const VectorArithmetic& unit, double value) {
  const double rounded = round_to(*unit.format, value, Rounding::kNearestEven, unit.overflow);
  const bool saturate = unit.overflow == Overflow::kSaturate;  // round_to keeps float64 as it is
  return flushed(unit, saturate ? saturated(*unit.format, rounded) : rounded);
}

// The same for an array, in place.
void write_array(const VectorArithmetic& unit, double* values, std::int64_t n) {
  round_array(*unit.format, values, static_cast<std::size_t>(n));
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

// written() of one value after another, where each waits for the one before.
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
      // The sum's last bit weighs min_subnormal.
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
  int drop_;  // bits of a float64 that the format has not
  std::uint64_t half_, mask_;
  double least_, most_, magic_;
  bool saturate_, flush_;
};

// A tree over x[0], x[stride], ...: its left part is the largest power of two below n.
double tree_oracle(const VectorArithmetic& unit, std::int64_t n, const double* x,
                   std::int64_t stride) {
  if (n == 1) return flushed(unit, *x);
  const auto left = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n - 1)));
  return vector_oracle(unit, VectorOp::kAdd, tree_oracle(unit, left, x, stride),
                       tree_oracle(unit, n - left, x + left * stride, stride));
}

double chain_oracle(const VectorArithmetic& unit, std::int64_t n, const double* x,
                    std::int64_t stride) {
  double sum = flushed(unit, *x);
  for (std::int64_t i = 1; i < n; ++i) {
    sum = vector_oracle(unit, VectorOp::kAdd, sum, x[i * stride]);
  }
  return sum;
}

// One level of the tree over the rows of an n x w matrix; returns the rows that are left.
std::int64_t tree_level(const VectorArithmetic& unit, std::int64_t n, std::int64_t w, double* x) {
  const std::int64_t pairs = n / 2;
  // Rows are written below those that are still to be read.
  for (std::int64_t i = 0; i < pairs; ++i) {
    const double *left = x + 2 * i * w, *right = left + w;
    double* to = x + i * w;
    for (std::int64_t j = 0; j < w; ++j) to[j] = left[j] + right[j];
  }
  write_array(unit, x, pairs * w);
  if (n % 2 != 0) std::copy_n(x + (n - 1) * w, w, x + pairs * w);
  return n - pairs;
}

// Levels until a row holds the sum of `chunk` (a power of two) or of all.
std::int64_t tree_levels(const VectorArithmetic& unit, std::int64_t chunk, std::int64_t n,
                         std::int64_t w, double* x) {
  for (std::int64_t size = 1; size < chunk && n > 1; size *= 2) n = tree_level(unit, n, w, x);
  return n;
}

// A tree a chunk of any length; returns how many.
std::int64_t chunk_trees(const VectorArithmetic& unit, std::int64_t chunk, std::int64_t n,
                         std::int64_t w, double* x) {
  if (std::has_single_bit(static_cast<std::uint64_t>(chunk))) {
    return tree_levels(unit, chunk, n, w, x);
  }
  std::int64_t chunks = 0;
  for (std::int64_t start = 0; start < n; start += chunk, ++chunks) {
    double* rows = x + start * w;
    tree_levels(unit, std::numeric_limits<std::int64_t>::max(), std::min(chunk, n - start), w,
                rows);
    std::copy_n(rows, w, x + chunks * w);
  }
  return chunks;
}

void chain(const VectorArithmetic& unit, std::int64_t n, std::int64_t w, const double* x,
           double* sums) {
  const QuickWrite write(unit);
  std::copy_n(x, w, sums);
  for (std::int64_t i = 1; i < n; ++i) {
    for (std::int64_t j = 0; j < w; ++j) sums[j] = write(sums[j] + x[i * w + j]);
  }
}

}  // namespace

std::string_view subnormals_word(Subnormals subnormals) {
  return subnormals == Subnormals::kGradual ? "gradual" : "flush";
}

std::span<const VectorModel> vector_models() { return kModels; }

const VectorModel* find_vector_model(std::string_view machine) {
  for (const VectorModel& model : kModels) {
    if (model.machine == machine) return &model;
  }
  return nullptr;
}

const VectorModel& vector_model(const Machine& machine) {
  if (const VectorModel* found = find_vector_model(machine.family())) return *found;
  std::vector<std::string> names;
  for (const VectorModel& model : kModels) names.emplace_back(model.machine);
  throw std::invalid_argument(
      format("assay has no vector unit of the machine {}; it has those of {}", machine.name,
             joined(names)));
}

VectorArithmetic block_arithmetic(const VectorArithmetic& unit) {
  VectorArithmetic wide = unit;
  if (!is_float64(*unit.format)) wide.format = &format_named("float32");
  return wide;
}

const VectorFormat& vector_format(const VectorModel& model, const Format& input) {
  std::vector<std::string> names;
  for (const VectorFormat& row : model.formats) {
    if (row.input == input.name) return row;
    names.emplace_back(row.input);
  }
  throw std::invalid_argument(
      format("the vector unit of {} takes {}, not {}", model.machine, joined(names), input.name));
}

double vector_oracle(const VectorArithmetic& unit, VectorOp op, double a, double b, double c) {
  a = flushed(unit, a), b = flushed(unit, b), c = flushed(unit, c);
  // Of operands of p <= 24 bits, float64's sum and quotient rounded again to p bits are those
  // rounded once (Figueroa, SIGNUM Newsletter 30(3), 1995: 53 >= 2 p + 2), and its product is
  // exact.
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
  }
  if (!unit.fused) return written(unit, written(unit, a * b) + c);
  if (is_float64(*unit.format)) return written(unit, std::fma(a, b, c));
  return written(unit, add_to_odd(a * b, c));
}

void vector_apply(const VectorArithmetic& unit, VectorOp op, std::int64_t n, const double* a,
                  const double* b, const double* c, double* to) {
  constexpr std::int64_t kBlock = 1024;
  double flushed_a[kBlock], flushed_b[kBlock], flushed_c[kBlock];
  const auto copy_flushed = [&](const double* from, std::int64_t count, double* block) {
    for (std::int64_t i = 0; i < count; ++i) block[i] = flushed(unit, from[i]);
  };
  for (std::int64_t start = 0; start < n; start += kBlock) {
    const std::int64_t count = std::min(kBlock, n - start);
    const double *x = a + start, *y = b + start, *z = op == VectorOp::kFma ? c + start : nullptr;
    double* out = to + start;
    if (unit.subnormals == Subnormals::kFlush) {
      copy_flushed(x, count, flushed_a), x = flushed_a;
      copy_flushed(y, count, flushed_b), y = flushed_b;
      if (z != nullptr) copy_flushed(z, count, flushed_c), z = flushed_c;
    }
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
    }
    write_array(unit, out, count);
  }
}

double reduce_oracle(const VectorArithmetic& unit, ReduceOrder order, std::int64_t chunk,
                     std::int64_t n, const double* x, std::int64_t stride) {
  if (n == 0) return 0;
  if (order == ReduceOrder::kSequential) return chain_oracle(unit, n, x, stride);
  if (order == ReduceOrder::kPairwise) return tree_oracle(unit, n, x, stride);
  std::vector<double> sums;
  for (std::int64_t start = 0; start < n; start += chunk) {
    sums.push_back(tree_oracle(unit, std::min(chunk, n - start), x + start * stride, stride));
  }
  const auto count = static_cast<std::int64_t>(sums.size());
  if (order == ReduceOrder::kHighDim) return tree_oracle(unit, count, sums.data(), 1);
  return chain_oracle(order == ReduceOrder::kBlock ? block_arithmetic(unit) : unit, count,
                      sums.data(), 1);
}

void reduce_sum(const VectorArithmetic& unit, ReduceOrder order, std::int64_t chunk, std::int64_t n,
                std::int64_t w, double* x, double* sums) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  if (n == 0) {
    std::fill_n(sums, w, 0.0);
    return;
  }
  if (unit.subnormals == Subnormals::kFlush) {
    for (std::int64_t i = 0; i < n * w; ++i) x[i] = flushed(unit, x[i]);
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

}  // namespace assay
