#include "assay/abft/confirm.h"

#include <algorithm>
#include <cmath>

#include "assay/base/parallel.h"
#include "assay/format/convert.h"
#include "assay/machine/accumulation.h"
#include "assay/simd/elements.h"

namespace assay::abft {
namespace {

constexpr std::int64_t kBatch = 64;  // flags looked at between two looks at the budget
// Multiply-adds after which, with a fault found, the rest of the flags is believed.
constexpr double kBudget = 4e9;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Columns first to last of a row.
struct Span {
  std::int64_t row, first, last;
  std::int64_t count() const { return last - first + 1; }
};
Span span_of(const AbftFlag& flag) { return {flag.index, flag.first, flag.last}; }

// The sums of the elements of a span; of a golden result the references alone.
using SpanSums = std::vector<simd::ElementSums>;
SpanSums sums_of(const Sources& from, const Span& span) {
  const std::int64_t count = span.count();
  SpanSums sums(at(count));
  std::vector<double> values(at(count));
  if (from.operands == nullptr) {
    from.golden->read(span.row, span.first, count, values.data());
    for (std::int64_t j = 0; j < count; ++j) sums[at(j)].reference = values[at(j)];
    return sums;
  }
  const Operands& o = *from.operands;
  const std::int64_t k = o.a.columns();
  std::vector<double> a(at(k)), b;
  o.a.read(span.row, 0, k, a.data());
  for (std::int64_t j = 0; j < count; ++j) values[at(j)] = o.bias_at(span.row, span.first + j);
  const double* columns = from.b_values;
  std::ptrdiff_t stride = o.b.columns();
  if (columns != nullptr) {
    columns += span.first;
  } else {
    b.resize(at(k * count));
    for (std::int64_t kk = 0; kk < k; ++kk) {
      o.b.read(kk, span.first, count, b.data() + kk * count);
    }
    columns = b.data();
    stride = count;
  }
  simd::element_sums(k, count, Accumulation(from.model, k).chunk(), a.data(), columns, stride,
                     values.data(), sums.data());
  return sums;
}

// The bound of what accumulation may have added to an element's rounding error; `group`: the check
// that it belongs to.
double accumulation_bound(const Sources& from, std::int64_t row, std::int64_t column,
                          const simd::ElementSums& sums, const SpanSums& group) {
  if (from.operands == nullptr) {
    double square = 0;
    for (const simd::ElementSums& r : group) square += r.reference * r.reference;
    return 0x1p-16 * std::sqrt(square / static_cast<double>(group.size()));
  }
  const std::int64_t k = from.operands->a.columns();
  const Accumulation accumulation(from.model, k);
  if (accumulation.is_chain()) return accumulation.chain_bound(sums);
  const Operands& o = *from.operands;
  std::vector<double> a(at(k)), b(at(k));
  o.a.read(row, 0, k, a.data());
  for (std::int64_t kk = 0; kk < k; ++kk) o.b.read(kk, column, 1, &b[at(kk)]);
  return accumulation.element_bound(o.bias_at(row, column), sums.reference, a.data(), b.data());
}

double bound_with(const Format& f, double expected, double slack) {
  return ulp_of(f, std::abs(expected) + slack) / 2 + slack;
}

// How far outside its bound an element is: 1 and below is inside.
double excess(const Sources& from, const Format& f, const Span& span, std::int64_t column,
              double actual, const SpanSums& group) {
  const simd::ElementSums& sums = group[at(column - span.first)];
  const double expected = sums.reference;
  const double error = std::abs(actual - expected);
  if (!f.is_float()) return error == 0 ? 0 : INFINITY;
  if (error <= ulp_of(f, expected) / 2) return 0;
  if (!std::isfinite(error)) {
    // An overflow that the reference shares is no fault.
    return actual == round_to(f, expected) ? 0 : INFINITY;
  }
  return error / bound_with(f, expected, accumulation_bound(from, span.row, column, sums, group));
}

// The element furthest outside, and by how much.
double look_at(const Sources& from, const TensorView& c, AbftFlag& flag) {
  const Span span = span_of(flag);
  const SpanSums sums = sums_of(from, span);
  const Format& f = *c.format;
  double worst = -1;
  for (std::int64_t column = flag.first; column <= flag.last; ++column) {
    const std::uint64_t bits = c.bits_at(flag.index * c.shape[1] + column);
    const double actual = decode(f, bits);
    const double outside = excess(from, f, span, column, actual, sums);
    if (outside <= worst) continue;
    worst = outside;
    AbftFlag::Element element;
    element.row = flag.is_column ? column : flag.index;
    element.column = flag.is_column ? flag.index : column;
    element.bits = bits;
    element.actual = actual;
    element.reference = sums[at(column - span.first)].reference;
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
    const double outside = excess(from, f, span, column, decode(f, bits), sums);
    if (outside <= best && (outside < best || !flag.element->flipped_bit)) {
      best = outside;
      flag.element->flipped_bit = bit;
      flag.element->repaired_bits = bits;
    }
  }
  return worst;
}

}  // namespace

ElementBound bound_of_element(const Sources& from, const Format& f, std::int64_t row,
                              std::int64_t first, std::int64_t last, std::int64_t column,
                              double value) {
  // Of operands the element's own reference is enough.
  const Span span = from.operands != nullptr ? Span{row, column, column} : Span{row, first, last};
  const SpanSums group = sums_of(from, span);
  const simd::ElementSums& sums = group[at(column - span.first)];
  ElementBound result;
  result.reference = sums.reference;
  result.outside = !(excess(from, f, span, column, value, group) <= 1);
  if (!f.is_float()) return result;
  result.bound =
      bound_with(f, sums.reference, accumulation_bound(from, span.row, column, sums, group));
  return result;
}

void bounds_of_elements(const Sources& from, const Format& f, std::int64_t row, std::int64_t first,
                        std::int64_t last, ElementBound* to) {
  const Span span{row, first, last};
  const SpanSums group = sums_of(from, span);
  for (std::int64_t column = first; column <= last; ++column) {
    const simd::ElementSums& sums = group[at(column - first)];
    const double bound =
        f.is_float()
            ? bound_with(f, sums.reference, accumulation_bound(from, row, column, sums, group))
            : 0;
    *to++ = {sums.reference, bound, false};
  }
}

void locate(const Sources& from, const TensorView& c, AbftFlag& flag) { look_at(from, c, flag); }

Confirmation confirm_flags(const Sources& from, const TensorView& c, std::vector<AbftFlag>& flags,
                           int threads) {
  Confirmation done;
  std::vector<AbftFlag> faults;
  double work = 0;
  const double depth =
      from.operands != nullptr ? static_cast<double>(from.operands->a.columns()) : 1;
  const auto total = static_cast<std::int64_t>(flags.size());
  std::int64_t next = 0;
  for (; next < total && !(work > kBudget && !faults.empty()); next += kBatch) {
    const std::int64_t count = std::min(kBatch, total - next);
    std::vector<double> outside(at(count));
    parallel_for(count, threads,
                 [&](std::int64_t i) { outside[at(i)] = look_at(from, c, flags[at(next + i)]); });
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

}  // namespace assay::abft
