#include "assay/abft/confirm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/format/convert.h"
#include "assay/machine/accumulation.h"
#include "assay/machine/dot.h"
#include "assay/simd/elements.h"

namespace assay::abft {
namespace {

constexpr std::int64_t kBatch = 64;  // flags looked at between two looks at the budget

// Columns first to last of a row.
struct Span {
  std::int64_t row, first, last;
  std::int64_t count() const { return last - first + 1; }
};
Span span_of(const AbftFlag& flag) { return {flag.index, flag.first, flag.last}; }

// The factors of an element's products.
struct Factors {
  std::vector<double> a, b;
};
Factors factors_of(const Operands& o, std::int64_t row, std::int64_t column) {
  const std::int64_t k = o.a.columns();
  Factors f{std::vector<double>(at(k)), std::vector<double>(at(k))};
  o.a.read(row, 0, k, f.a.data());
  for (std::int64_t kk = 0; kk < k; ++kk) o.b.read(kk, column, 1, &f.b[at(kk)]);
  return f;
}

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

// What accumulation may have added to an element's rounding error; `group`: the check that it
// belongs to.
ElementError accumulation_error(const Sources& from, std::int64_t row, std::int64_t column,
                                const simd::ElementSums& sums, const SpanSums& group) {
  if (from.operands == nullptr) {
    double error;
    if (from.tolerance != nullptr) {
      error = (*from.tolerance)(sums.reference);
    } else {
      double square = 0;
      for (const simd::ElementSums& r : group) square += r.reference * r.reference;
      error = 0x1p-16 * std::sqrt(square / static_cast<double>(group.size()));
    }
    return {error, error};
  }
  const std::int64_t k = from.operands->a.columns();
  const Accumulation accumulation(from.model, k);
  if (accumulation.is_chain()) return accumulation.chain_bound(sums);
  const Factors f = factors_of(*from.operands, row, column);
  return accumulation.element_bound(from.operands->bias_at(row, column), sums.reference, f.a.data(),
                                    f.b.data());
}

// Whether the rounding errors of an element's sum add up to what chance does not explain, as those
// of equal products do: the sum is made, by the model or one by one in float32.
bool errors_add_up(const Sources& from, std::int64_t row, std::int64_t column, double reference,
                   double chance) {
  if (from.operands == nullptr) return false;
  static const DotModel& plain = dot_model(machine_named("cpu_fma"), format_named("float32"));
  const Factors f = factors_of(*from.operands, row, column);
  // A third of `chance` is some five deviations.
  double sum = from.operands->bias_at(row, column);
  dot_rows(from.model != nullptr ? *from.model : plain, 1, static_cast<std::int64_t>(f.a.size()),
           f.a.data(), f.b.data(), &sum);
  return std::abs(sum - reference) > chance / 3;
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
  if (std::isfinite(error) && error <= ulp_of(f, expected) / 2) return 0;
  const ElementError slack = std::isfinite(expected)
                                 ? accumulation_error(from, span.row, column, sums, group)
                                 : ElementError{};
  if (!std::isfinite(error)) {
    return special_is_right(f, actual, expected, slack.chance) ? 0 : INFINITY;
  }
  const double outside = error / bound_with(f, expected, slack.chance);
  const double worst = bound_with(f, expected, slack.worst);
  if (outside > 1 && error <= worst &&
      errors_add_up(from, span.row, column, expected, slack.chance)) {
    return error / worst;
  }
  return outside;
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
  double closest = INFINITY;
  for (int bit = f.padding; bit < f.padding + f.bits; ++bit) {
    const std::uint64_t bits = flag.element->bits ^ (std::uint64_t{1} << bit);
    if (is_nan(f, bits) || is_inf(f, bits)) continue;
    const double value = decode(f, bits);
    if (!(excess(from, f, span, column, value, sums) <= 1)) continue;
    const double distance = std::abs(value - flag.element->reference);
    if (distance < closest || !flag.element->flipped_bit) {
      closest = distance;
      flag.element->flipped_bit = bit;
      flag.element->repaired_bits = bits;
    }
  }
  return worst;
}

}  // namespace

bool special_is_right(const Format& f, double actual, double reference, double accumulation) {
  const auto becomes_it = [&](double value) {
    const double rounded = round_to(f, value);
    return std::isnan(actual) ? std::isnan(rounded) : rounded == actual;
  };
  return !std::isfinite(actual) &&
         (becomes_it(reference) ||
          (std::isfinite(reference) &&
           (becomes_it(reference + accumulation) || becomes_it(reference - accumulation))));
}

namespace {

ElementBound bound_of(const Sources& from, const Format& f, std::int64_t row, std::int64_t column,
                      const simd::ElementSums& sums, const SpanSums& group) {
  ElementBound result;
  result.reference = sums.reference;
  if (!f.is_float()) return result;
  const ElementError slack = accumulation_error(from, row, column, sums, group);
  result.accumulation = slack.chance;
  result.bound = bound_with(f, sums.reference, slack.chance);
  result.worst_bound = bound_with(f, sums.reference, slack.worst);
  return result;
}

}  // namespace

ElementBound bound_of_element(const Sources& from, const Format& f, std::int64_t row,
                              std::int64_t first, std::int64_t last, std::int64_t column,
                              double value) {
  // Of operands the element's own reference is enough.
  const Span span = from.operands != nullptr ? Span{row, column, column} : Span{row, first, last};
  const SpanSums group = sums_of(from, span);
  ElementBound result = bound_of(from, f, row, column, group[at(column - span.first)], group);
  result.outside = !(excess(from, f, span, column, value, group) <= 1);
  return result;
}

void bounds_of_elements(const Sources& from, const Format& f, std::int64_t row, std::int64_t first,
                        std::int64_t last, ElementBound* to) {
  const SpanSums group = sums_of(from, {row, first, last});
  for (std::int64_t column = first; column <= last; ++column) {
    *to++ = bound_of(from, f, row, column, group[at(column - first)], group);
  }
}

Specials specials_of(const Sources& from, const TensorView& c, std::int64_t row, std::int64_t first,
                     std::int64_t last, bool others) {
  const Format& f = *c.format;
  const Span span{row, first, last};
  std::vector<double> elements(at(span.count()));
  for (std::int64_t j = 0; j < span.count(); ++j) {
    elements[at(j)] = decode(f, c.bits_at(row * c.shape[1] + first + j));
  }
  if (std::all_of(elements.begin(), elements.end(), [](double v) { return std::isfinite(v); })) {
    return {};
  }
  const SpanSums sums = sums_of(from, span);
  return specials_among(
      span.count(), others, [&](std::int64_t j) { return !std::isfinite(elements[at(j)]); },
      [&](std::int64_t j) { return std::isfinite(sums[at(j)].reference); },
      [&](std::int64_t j) {
        return !(excess(from, f, span, first + j, elements[at(j)], sums) <= 1);
      });
}

double worst_sum_error(const Sources& from, std::int64_t row, std::int64_t first,
                       std::int64_t last) {
  const SpanSums sums = sums_of(from, {row, first, last});
  double worst = 0;
  for (std::int64_t column = first; column <= last; ++column) {
    worst += accumulation_error(from, row, column, sums[at(column - first)], sums).worst;
  }
  return worst;
}

bool columns_are_off(const Sources& from, const TensorView& c) {
  constexpr std::int64_t kRows = 8, kFewestRows = 3, kMostProducts = 1 << 19;  // of a row
  const Format& f = *c.format;
  const std::int64_t rows = std::min(kRows, c.shape[0]);
  const std::int64_t depth = from.operands != nullptr ? from.operands->a.columns() : 1;
  const std::int64_t widest =
      std::max<std::int64_t>(kMostProducts / std::max<std::int64_t>(depth, 1), 16);
  const Span columns{0, 0, std::min(widest, c.shape[1]) - 1};
  if (rows < kFewestRows || !f.is_float()) return false;
  struct Element {
    double error, reference, bound;
  };
  std::vector<std::vector<Element>> by_column(at(columns.count()));
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t row = r * c.shape[0] / rows;
    const SpanSums sums = sums_of(from, {row, columns.first, columns.last});
    for (std::int64_t j = 0; j < columns.count(); ++j) {
      const simd::ElementSums& s = sums[at(j)];
      const double actual = decode(f, c.bits_at(row * c.shape[1] + j));
      if (!std::isfinite(actual) || !std::isfinite(s.reference)) return false;
      const double slack = accumulation_error(from, row, j, s, sums).chance;
      by_column[at(j)].push_back(
          {actual - s.reference, s.reference,
           bound_with(f, std::max(std::abs(actual), std::abs(s.reference)), slack)});
    }
  }
  // Most columns are off by more than two elements may be apart, each by one number, and their
  // elements differ by more than that.
  std::int64_t off = 0;
  for (std::vector<Element>& column : by_column) {
    const auto range = [&](double Element::*part) {
      const auto [least, most] =
          std::minmax_element(column.begin(), column.end(),
                              [&](const auto& x, const auto& y) { return x.*part < y.*part; });
      return std::pair((*least).*part, (*most).*part);
    };
    const double apart = 2 * range(&Element::bound).second;
    const auto error = range(&Element::error), reference = range(&Element::reference);
    off += error.second - error.first <= apart && reference.second - reference.first > 2 * apart &&
                   std::min(std::abs(error.first), std::abs(error.second)) > apart
               ? 1
               : 0;
  }
  return 2 * off > columns.count();
}

void locate(const Sources& from, const TensorView& c, AbftFlag& flag) { look_at(from, c, flag); }

Confirmation confirm_flags(const Sources& from, const TensorView& c, std::vector<AbftFlag>& flags,
                           double most_work, int threads) {
  Confirmation done;
  std::vector<AbftFlag> faults;
  double work = 0;
  const double depth =
      from.operands != nullptr ? static_cast<double>(from.operands->a.columns()) : 1;
  const auto total = static_cast<std::int64_t>(flags.size());
  std::int64_t next = 0;
  for (; next < total && !(work > most_work && !faults.empty()); next += kBatch) {
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
