#include "assay/abft/confirm.h"

#include <algorithm>
#include <cmath>

#include "assay/base/parallel.h"
#include "assay/format/convert.h"
#include "assay/simd/gemm.h"

namespace assay {
namespace {

constexpr std::int64_t kBatch = 64;  // flags looked at between two looks at the budget
// Multiply-adds after which, with a fault found, the rest of the flags is believed.
constexpr double kBudget = 4e9;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// References of the elements that a flag sums, in float64 with errors carried along.
std::vector<double> references(const Elements& e, const AbftFlag& flag) {
  const std::int64_t count = flag.last - flag.first + 1;
  std::vector<double> values(at(count), 0.0);
  if (e.operands == nullptr) {
    e.golden->read(flag.index, flag.first, count, values.data());
    return values;
  }
  const Operands& o = *e.operands;
  const std::int64_t k = o.a.columns();
  std::vector<double> a(at(k)), b(at(count)), error(at(count), 0.0);
  o.a.read(flag.index, 0, k, a.data());
  for (std::int64_t kk = 0; kk < k; ++kk) {
    o.b.read(kk, flag.first, count, b.data());
    simd::axpy_compensated(count, a[at(kk)], b.data(), values.data(), error.data());
  }
  for (std::int64_t j = 0; j < count; ++j) {
    if (std::isfinite(values[at(j)])) values[at(j)] += error[at(j)];
    values[at(j)] += o.bias_at(flag.index, flag.first + j);
  }
  return values;
}

// The bound of what accumulation may have added to an element's rounding error.
double accumulation_bound(const Elements& e, const AbftFlag& flag, std::int64_t column,
                          const std::vector<double>& reference) {
  if (e.operands == nullptr) {
    double square = 0;
    for (const double r : reference) square += r * r;
    return 0x1p-16 * std::sqrt(square / static_cast<double>(reference.size()));
  }
  const Operands& o = *e.operands;
  const std::int64_t k = o.a.columns();
  std::vector<double> a(at(k));
  o.a.read(flag.index, 0, k, a.data());
  const double bias = o.bias_at(flag.index, column);
  double absolute = std::abs(bias), squares = bias * bias, prefix = bias, prefix_squares = 0;
  for (std::int64_t kk = 0; kk < k; ++kk) {
    double b = 0;
    o.b.read(kk, column, 1, &b);
    const double product = a[at(kk)] * b;
    absolute += std::abs(product);
    squares += product * product;
    prefix += product;
    if ((kk + 1) % e.chunk == 0 || kk + 1 == k) prefix_squares += prefix * prefix;
  }
  // What the roundings can add at worst would hide whole products of less precision; what they add
  // at kDeviations is far beyond chance, whether k is summed in order or in any other.
  constexpr double kDeviations = 16;
  const double roundings = std::ceil(static_cast<double>(k) / e.chunk);
  const double expected = reference[at(column - flag.first)];
  const double any_order = roundings * (expected * expected / 3 + squares / 6);
  const double variance = std::max(prefix_squares, any_order) / 3;
  return 0x1p-24 * std::min(roundings * absolute, kDeviations * std::sqrt(variance)) +
         (absolute > 0 ? roundings * 0x1p-150 : 0);
}

// How far outside its bound an element is: 1 and below is inside.
double excess(const Elements& e, const AbftFlag& flag, std::int64_t column, double actual,
              const std::vector<double>& reference) {
  const Format& f = *e.c.format;
  const double expected = reference[at(column - flag.first)];
  const double error = std::abs(actual - expected);
  if (!f.is_float()) return error == 0 ? 0 : INFINITY;
  if (error <= ulp_of(f, expected) / 2) return 0;
  if (!std::isfinite(error)) {
    // An overflow that the reference shares is no fault.
    return actual == round_to(f, expected) ? 0 : INFINITY;
  }
  const double slack = accumulation_bound(e, flag, column, reference);
  return error / (ulp_of(f, std::abs(expected) + slack) / 2 + slack);
}

// The element furthest outside, and by how much.
double look_at(const Elements& e, AbftFlag& flag) {
  const std::vector<double> reference = references(e, flag);
  const Format& f = *e.c.format;
  double worst = -1;
  for (std::int64_t column = flag.first; column <= flag.last; ++column) {
    const std::uint64_t bits = e.c.bits_at(flag.index * e.c.shape[1] + column);
    const double actual = decode(f, bits);
    const double outside = excess(e, flag, column, actual, reference);
    if (outside <= worst) continue;
    worst = outside;
    AbftFlag::Element element;
    element.row = flag.is_column ? column : flag.index;
    element.column = flag.is_column ? flag.index : column;
    element.bits = bits;
    element.actual = actual;
    element.reference = reference[at(column - flag.first)];
    flag.element = element;
  }
  if (worst <= 1) {
    flag.element.reset();
    return worst;
  }
  // The one flip that brings it back within its bound, the closest where several do.
  const std::int64_t column = flag.is_column ? flag.element->row : flag.element->column;
  double best = 1;
  for (int bit = f.padding; bit < f.padding + f.bits; ++bit) {
    const std::uint64_t bits = flag.element->bits ^ (std::uint64_t{1} << bit);
    if (is_nan(f, bits) || is_inf(f, bits)) continue;
    const double outside = excess(e, flag, column, decode(f, bits), reference);
    if (outside <= best && (outside < best || !flag.element->flipped_bit)) {
      best = outside;
      flag.element->flipped_bit = bit;
      flag.element->repaired_bits = bits;
    }
  }
  return worst;
}

}  // namespace

void locate(const Elements& e, AbftFlag& flag) { look_at(e, flag); }

Confirmation confirm_flags(const Elements& e, std::vector<AbftFlag>& flags, int threads) {
  Confirmation done;
  std::vector<AbftFlag> faults;
  double work = 0;
  const double depth = e.operands != nullptr ? static_cast<double>(e.operands->a.columns()) : 1;
  const auto total = static_cast<std::int64_t>(flags.size());
  std::int64_t next = 0;
  for (; next < total && !(work > kBudget && !faults.empty()); next += kBatch) {
    const std::int64_t count = std::min(kBatch, total - next);
    std::vector<double> outside(at(count));
    parallel_for(count, threads,
                 [&](std::int64_t i) { outside[at(i)] = look_at(e, flags[at(next + i)]); });
    for (std::int64_t i = 0; i < count; ++i) {
      const AbftFlag& flag = flags[at(next + i)];
      work += depth * static_cast<double>(flag.last - flag.first + 1);
      if (outside[at(i)] <= 1)
        ++done.clean;
      else if (faults.size() < AbftVerdict::kListed)
        faults.push_back(flag);
    }
  }
  done.all_looked_at = next >= total;
  flags = std::move(faults);
  return done;
}

}  // namespace assay
