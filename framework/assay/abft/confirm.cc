#include "assay/abft/confirm.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/machine/dot.h"
#include "assay/machine/unit_bound.h"
#include "assay/simd/elements_kernel.h"

namespace assay::inline v0_2::abft {
namespace {

constexpr std::int64_t kBatch = 64;  // number of flags between two checks of the budget

// The elements of a row from column `first` to column `last`, inclusive.
struct Span {
  std::int64_t row, first, last;
  std::int64_t count() const { return last - first + 1; }
};
Span span_of(const AbftFlag& flag) { return {flag.index, flag.first, flag.last}; }

// Computes the elements of a span from the operands: their sums, and on demand the error that
// accumulation may add to the rounding error of each element.
class SpanElements {
 public:
  SpanElements(const Sources& from, const Span& span)
      : from_(from), span_(span), sums_(at(span.count())), errors_(at(span.count())) {
    const std::int64_t count = span.count();
    std::vector<double> values(at(count));
    if (from.operands == nullptr) {
      from.golden->read(span.row, span.first, count, values.data());
      double square = 0;
      for (std::int64_t j = 0; j < count; ++j) {
        sums_[at(j)].reference = values[at(j)];
        square += values[at(j)] * values[at(j)];
      }
      golden_error_ = 0x1p-16 * std::sqrt(square / static_cast<double>(count));
      return;
    }
    const Operands& o = *from.operands;
    const std::int64_t k = o.a.columns();
    a_.resize(at(k));
    o.a.read(span.row, 0, k, a_.data());
    for (std::int64_t j = 0; j < count; ++j) values[at(j)] = o.bias_at(span.row, span.first + j);
    if (from.b_values != nullptr) {
      columns_ = from.b_values + span.first;
      stride_ = o.b.columns();
    } else {
      b_.resize(at(k * count));
      for (std::int64_t kk = 0; kk < k; ++kk) {
        o.b.read(kk, span.first, count, b_.data() + kk * count);
      }
      columns_ = b_.data();
      stride_ = count;
    }
    accumulation_.emplace(from.model, k);
    simd::element_sums(k, count, accumulation_->chunk(), a_.data(), columns_, stride_,
                       values.data(), sums_.data());
  }

  // Returns the sums of the element in this column of the matrix. For a golden result, the
  // reference is its element.
  const simd::ElementSums& sums(std::int64_t column) const {
    return sums_[at(column - span_.first)];
  }

  ElementError error(std::int64_t column) {
    std::optional<ElementError>& error = errors_[at(column - span_.first)];
    if (!error) error = computed_error(column);
    return *error;
  }

  // True if the rounding errors of an element's sum add up beyond chance, as those of equal
  // products do. To find out, computes the sum with the model, or one by one in float32.
  bool errors_add_up(std::int64_t column) {
    if (from_.operands == nullptr) return false;
    static const DotModel& plain = dot_model(machine_named("cpu_fma"), format_named("float32"));
    const double* const b = factors(column);
    // A third of `chance`, which is 16 deviations, is about five deviations.
    double sum = from_.operands->bias_at(span_.row, column);
    dot_rows(from_.model != nullptr ? *from_.model : plain, 1, std::ssize(a_), a_.data(), b, &sum);
    return std::abs(sum - sums(column).reference) > error(column).chance / 3;
  }

 private:
  // Returns the right factors of an element's products, a column of B. Gathers 8 neighbouring
  // columns at once, because they lie in the same cache lines of B's rows.
  const double* factors(std::int64_t column) {
    constexpr std::int64_t kTogether = 8;
    const std::int64_t j = column - span_.first, first = j / kTogether * kTogether;
    const std::size_t k = a_.size();
    if (first != gathered_) {
      const std::int64_t count = std::min(kTogether, span_.count() - first);
      factors_.resize(at(kTogether) * k);
      for (std::size_t kk = 0; kk < k; ++kk) {
        const double* const row = columns_ + static_cast<std::ptrdiff_t>(kk) * stride_ + first;
        for (std::int64_t i = 0; i < count; ++i) factors_[at(i) * k + kk] = row[i];
      }
      gathered_ = first;
    }
    return factors_.data() + at(j - first) * k;
  }

  ElementError computed_error(std::int64_t column) {
    const simd::ElementSums& s = sums(column);
    if (from_.operands == nullptr) {
      const double error =
          from_.tolerance != nullptr ? (*from_.tolerance)(s.reference) : golden_error_;
      return {error, error};
    }
    if (accumulation_->is_chain()) return accumulation_->chain_bound(s);
    return accumulation_->element_bound(from_.operands->bias_at(span_.row, column), s.reference,
                                        a_.data(), factors(column));
  }

  const Sources& from_;
  const Span span_;
  std::vector<simd::ElementSums> sums_;
  std::vector<std::optional<ElementError>> errors_;
  double golden_error_ = 0;  // error of a golden result without a known tolerance
  std::optional<Accumulation> accumulation_;
  // The row of A, and the columns of B if the caller has not decoded B.
  std::vector<double> a_, b_;
  const double* columns_ = nullptr;  // the first column of the span, in B's first row
  std::ptrdiff_t stride_ = 0;
  std::vector<double> factors_;  // B's columns of the span from `gathered_` on
  std::int64_t gathered_ = -1;
};

double bound_with(const Format& f, double expected, double slack) {
  return ulp_of(f, std::abs(expected) + slack) / 2 + slack;
}

// Returns the difference of an element from its reference, divided by its bound. At most 1 means
// that the element is inside.
double excess(SpanElements& elements, const Format& f, std::int64_t column, double actual) {
  const double expected = elements.sums(column).reference;
  const double error = std::abs(actual - expected);
  if (!f.is_float()) return error == 0 ? 0 : INFINITY;
  if (std::isfinite(error) && error <= ulp_of(f, expected) / 2) return 0;
  const ElementError slack = std::isfinite(expected) ? elements.error(column) : ElementError{};
  if (!std::isfinite(error)) {
    return special_is_right(f, actual, expected, slack.chance) ? 0 : INFINITY;
  }
  const double outside = error / bound_with(f, expected, slack.chance);
  const double worst = bound_with(f, expected, slack.worst);
  if (outside > 1 && error <= worst && elements.errors_add_up(column)) return error / worst;
  return outside;
}

// Finds the element of a flagged check that is furthest outside its bound. Returns its difference
// divided by the bound.
double look_at(const Sources& from, const TensorView& c, AbftFlag& flag) {
  const Span span = span_of(flag);
  SpanElements elements(from, span);
  const Format& f = *c.format;
  double worst = -1;
  for (std::int64_t column = flag.first; column <= flag.last; ++column) {
    const std::uint64_t bits = c.bits_at(flag.index * c.shape[1] + column);
    const double actual = decode(f, bits);
    const double outside = excess(elements, f, column, actual);
    if (outside <= worst) continue;
    worst = outside;
    flag.element = {.row = flag.is_column ? column : flag.index,
                    .column = flag.is_column ? flag.index : column,
                    .bits = bits,
                    .actual = actual,
                    .reference = elements.sums(column).reference};
  }
  if (worst <= 1) {
    flag.element.reset();
    return worst;
  }
  // Find the bit flip that brings the element back within its bound. If several do, take the
  // closest.
  const std::int64_t column = flag.is_column ? flag.element->row : flag.element->column;
  double closest = INFINITY;
  for (int bit = f.padding; bit < f.padding + f.bits; ++bit) {
    const std::uint64_t bits = flag.element->bits ^ (std::uint64_t{1} << bit);
    if (is_nan(f, bits) || is_inf(f, bits)) continue;
    const double value = decode(f, bits);
    if (!(excess(elements, f, column, value) <= 1)) continue;
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

ElementBound bound_of(SpanElements& elements, const Format& f, std::int64_t column) {
  ElementBound result{.reference = elements.sums(column).reference};
  if (!f.is_float()) return result;
  const ElementError slack = elements.error(column);
  result.accumulation = slack.chance;
  result.bound = bound_with(f, result.reference, slack.chance);
  result.worst_bound = bound_with(f, result.reference, slack.worst);
  return result;
}

}  // namespace

ElementBound bound_of_element(const Sources& from, const Format& f, std::int64_t row,
                              std::int64_t first, std::int64_t last, std::int64_t column,
                              double value) {
  // With operands, only this element is computed. A golden result needs all elements of the check
  // for the bound.
  const Span span = from.operands != nullptr ? Span{row, column, column} : Span{row, first, last};
  SpanElements elements(from, span);
  ElementBound result = bound_of(elements, f, column);
  result.outside = is_outside(f, result, value, [&] { return elements.errors_add_up(column); });
  return result;
}

void bounds_of_elements(const Sources& from, const Format& f, std::int64_t row, std::int64_t first,
                        std::int64_t last, ElementBound* to) {
  SpanElements elements(from, {row, first, last});
  for (std::int64_t column = first; column <= last; ++column) {
    *to++ = bound_of(elements, f, column);
  }
}

Specials specials_of(const Sources& from, const TensorView& c, std::int64_t row, std::int64_t first,
                     std::int64_t last, bool others) {
  const Format& f = *c.format;
  const Span span{row, first, last};
  std::vector<double> values(at(span.count()));
  for (std::int64_t j = 0; j < span.count(); ++j) {
    values[at(j)] = decode(f, c.bits_at(row * c.shape[1] + first + j));
  }
  if (std::ranges::all_of(values, [](double v) { return std::isfinite(v); })) {
    return {};
  }
  SpanElements elements(from, span);
  return specials_among(
      span.count(), others, [&](std::int64_t j) { return !std::isfinite(values[at(j)]); },
      [&](std::int64_t j) { return std::isfinite(elements.sums(first + j).reference); },
      [&](std::int64_t j) { return !(excess(elements, f, first + j, values[at(j)]) <= 1); });
}

double worst_sum_error(const Sources& from, std::int64_t row, std::int64_t first,
                       std::int64_t last) {
  SpanElements elements(from, {row, first, last});
  double worst = 0;
  for (std::int64_t column = first; column <= last; ++column) {
    worst += elements.error(column).worst;
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
    SpanElements elements(from, {row, columns.first, columns.last});
    for (std::int64_t j = 0; j < columns.count(); ++j) {
      const simd::ElementSums& s = elements.sums(j);
      const double actual = decode(f, c.bits_at(row * c.shape[1] + j));
      if (!std::isfinite(actual) || !std::isfinite(s.reference)) return false;
      const double slack = elements.error(j).chance;
      by_column[at(j)].push_back(
          {actual - s.reference, s.reference,
           bound_with(f, std::max(std::abs(actual), std::abs(s.reference)), slack)});
    }
  }
  // A column counts if its elements are off by one number, larger than two elements may differ, and
  // if its references differ by more than that. Most columns must count.
  std::int64_t off = 0;
  for (std::vector<Element>& column : by_column) {
    const auto range = [&](double Element::*part) {
      const auto [least, most] = std::ranges::minmax_element(column, {}, part);
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
  const auto total = std::ssize(flags);
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
