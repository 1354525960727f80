#include "assay/judge/output_changes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

// Returns the bits of an element times a factor, or its own bits if the product is not finite.
std::uint64_t scaled_bits(const FailedElements& failed, std::int64_t position, double factor) {
  const std::uint64_t bits = failed.bits()[position];
  const double scaled = factor * decode(failed.format(), bits);
  return std::isfinite(scaled) ? encode(failed.format(), scaled) : bits;
}

// Collects the changes of one failure.
class ChangeList {
 public:
  explicit ChangeList(const FailedElements& failed) : failed_(failed), out_(failed.format()) {}

  std::vector<OutputChange> all() const {
    std::vector<OutputChange> all;
    add_exchanged_dimensions(all);
    add_exchanged_rows(all);
    add_shifts(all);
    add_factors(all);
    add_readings(all);
    add_flips(all);
    add_line_factors(all);
    add_other_rows(all);
    return all;
  }

 private:
  void add_move(std::vector<OutputChange>& all, std::string says,
                std::function<std::int64_t(std::int64_t)> source, bool alters_all = true) const {
    OutputChange change{.says = std::move(says), .bits = {}, .format = &out_};
    change.source = std::move(source);
    change.bits = [&failed = failed_, from = change.source](std::int64_t p) {
      return failed.bits()[from(p)];
    };
    change.alters_all = alters_all;
    all.push_back(std::move(change));
  }

  // Exchanges two dimensions: reads the memory as that of the shape with these two exchanged.
  void add_exchanged_dimensions(std::vector<OutputChange>& all) const {
    const Shape& shape = failed_.shape();
    const std::size_t rank = shape.size();
    if (rank > 5) return;
    for (std::size_t high = rank; high-- > 1;) {
      for (std::size_t low = high; low-- > 0;) {
        if (shape[low] == 1 || shape[high] == 1) continue;
        Shape stored = shape;
        std::swap(stored[low], stored[high]);
        Strides strides = contiguous_strides(stored);
        std::swap(strides[low], strides[high]);
        std::string says = "the transpose of the output";
        if (shape[low] != shape[high]) {
          says = formatted("the output read as {} {}", shape_text(stored),
                           rank == 2 ? std::string("and transposed")
                                     : formatted("with dimensions {} and {} exchanged", low, high));
        } else if (rank > 2) {
          says = formatted("the output with dimensions {} and {} exchanged", low, high);
        }
        add_move(all, std::move(says), [shape, strides](std::int64_t p) {
          std::int64_t from = 0;
          for (std::size_t d = shape.size(); d-- > 0;) {
            from += p % shape[d] * strides[d];
            p /= shape[d];
          }
          return from;
        });
      }
    }
  }

  // Exchanges two rows or two columns, if all mismatches lie in two of them.
  void add_exchanged_rows(std::vector<OutputChange>& all) const {
    const std::int64_t columns = failed_.columns();
    if (failed_.actual().rank() < 2 || columns < 1) return;
    std::set<std::int64_t> in_rows, in_columns;
    for (const std::int64_t p : failed_.mismatches()) {
      if (in_rows.size() < 3) in_rows.insert(p / columns);
      if (in_columns.size() < 3) in_columns.insert(p % columns);
    }
    const auto other = [](std::int64_t i, std::int64_t one, std::int64_t two) {
      return i == one ? two : i == two ? one : i;
    };
    if (in_rows.size() == 2) {
      const std::int64_t one = *in_rows.begin(), two = *in_rows.rbegin();
      add_move(
          all, formatted("the output with rows {} and {} exchanged", one, two),
          [=](std::int64_t p) { return other(p / columns, one, two) * columns + p % columns; });
    }
    if (in_columns.size() == 2) {
      const std::int64_t one = *in_columns.begin(), two = *in_columns.rbegin();
      add_move(all, formatted("the output with columns {} and {} exchanged", one, two),
               [=](std::int64_t p) { return p - p % columns + other(p % columns, one, two); });
    }
  }

  // Moves all elements by one along a dimension, or in memory. Elements that leave at one end come
  // in at the other.
  void add_shifts(std::vector<OutputChange>& all) const {
    const Shape& shape = failed_.shape();
    const Strides strides = contiguous_strides(shape);
    const std::size_t rank = shape.size();
    for (std::size_t d = rank; rank > 1 && d-- > 0;) {
      if (shape[d] == 1) continue;
      const bool column = d + 1 == rank, row = d + 2 == rank;
      for (const int step : {1, -1}) {
        const std::string says =
            column ? formatted("the output moved one column to the {}", step > 0 ? "left" : "right")
            : row  ? formatted("the output moved one row {}", step > 0 ? "up" : "down")
                   : formatted("the output moved by {} along dimension {}", -step, d);
        add_move(all, says, [extent = shape[d], stride = strides[d], step](std::int64_t p) {
          const std::int64_t i = p / stride % extent;
          return p + ((i + step + extent) % extent - i) * stride;
        });
      }
    }
    const std::int64_t size = failed_.actual().size();
    for (const int step : {1, -1}) {
      add_move(all,
               formatted("the output moved by one element towards its {}",
                         step > 0 ? "beginning" : "end"),
               [size, step](std::int64_t p) { return (p + step + size) % size; });
    }
  }

  // Multiplies by the median of expected / actual, and by rounder numbers near it.
  void add_factors(std::vector<OutputChange>& all) const {
    std::vector<double> ratios;
    double smallest = std::numeric_limits<double>::infinity(), largest = 0;
    for (const std::int64_t p : failed_.first().positions()) {
      const double a = decode(out_, failed_.bits()[p]), e = failed_.expected().value_at(p);
      if (!std::isfinite(a) || !std::isfinite(e) || a == 0 || e == 0) continue;
      ratios.push_back(e / a);
      smallest = std::min(smallest, std::abs(e));
      largest = std::max(largest, std::abs(e));
    }
    // If all expected values have nearly one size, no factor is tried, because it cannot be
    // distinguished from an added number.
    if (ratios.size() < FailedElements::kFewest || largest < 1.5 * smallest) return;
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::nth_element(ratios.begin(), middle, ratios.end());
    if (!std::isfinite(*middle)) return;
    const double sign = *middle < 0 ? -1 : 1, size = std::abs(*middle);
    std::vector<double> factors = {std::exp2(std::round(std::log2(size))), std::round(size),
                                   1 / std::round(1 / size), size};
    std::set<std::string> known;
    for (const double factor : factors) {
      const std::string text = short_number(sign * factor, 6);
      const double by = std::strtod(text.c_str(), nullptr);
      // A factor near 1 is tried only if there are many mismatches. Otherwise it cannot be
      // distinguished from rounding.
      const bool many = 10 * failed_.mismatches().size() >= failed_.looked().size() &&
                        failed_.mismatches().size() >= 32;
      if (!std::isfinite(by) || by == 0 || by == 1 || std::abs(std::abs(by) / size - 1) > 0.05 ||
          (std::abs(by - 1) < 0.02 && !many) || !known.insert(text).second) {
        continue;
      }
      OutputChange change{
          .says = formatted("the output times {}", text), .bits = {}, .format = &out_};
      change.is_factor = true;
      change.is_fitted = std::abs(by) != std::exp2(std::round(std::log2(std::abs(by))));
      change.rescales = change.is_fitted || out_.specials == Specials::kTapered;
      // Skips a factor that is not clearly larger than the rounding that it causes.
      if (change.is_fitted && std::abs(std::abs(by) - 1) < 4 * unit_roundoff(out_) && by > 0)
        continue;
      change.bits = [&failed = failed_, by](std::int64_t p) { return scaled_bits(failed, p, by); };
      all.push_back(change);
      // Tries the same factor only on values of the sign that all mismatches have, if the values of
      // the other sign are right.
      if (const int side = sign_of_mismatches(); side != 0 && by > 0) {
        change.says = formatted("the output with its {} values times {}",
                                side < 0 ? "negative" : "positive", text);
        change.is_factor = false;
        change.bits = [&failed = failed_, by, side](std::int64_t p) {
          const std::uint64_t bits = failed.bits()[p];
          return decode(failed.format(), bits) * side > 0 ? scaled_bits(failed, p, by) : bits;
        };
        all.push_back(std::move(change));
      }
    }
  }

  // Returns -1 or 1 if nearly all mismatches have this sign, both as expected and in the output,
  // and right elements do not. Returns 0 if there is no such sign.
  int sign_of_mismatches() const {
    const auto count = [&](const ElementSample& sample, int side) {
      std::size_t found = 0;
      for (const std::int64_t p : sample.positions()) {
        found += side * failed_.expected().value_at(p) > 0 && side * failed_.value(p) > 0 ? 1 : 0;
      }
      return found;
    };
    for (const int side : {-1, 1}) {
      if (FailedElements::is_most(count(failed_.tried(), side), failed_.tried().size()) &&
          failed_.right().size() >= FailedElements::kFewest &&
          2 * count(failed_.right(), side) < failed_.right().size()) {
        return side;
      }
    }
    return 0;
  }

  // Reads the bits as those of another dtype, or with the bytes or the halves of each element
  // exchanged.
  void add_readings(std::vector<OutputChange>& all) const {
    const auto holds_codes_alone = [&](const Format& f, const auto& bits) {
      return std::ranges::all_of(failed_.tried().positions(),
                                 [&](std::int64_t p) { return is_valid_code(f, bits(p)); });
    };
    const auto as_stored = [&failed = failed_](std::int64_t p) { return failed.bits()[p]; };
    for (const Format& f : formats()) {
      const bool same_width = &f != &out_ && f.storage_bytes == out_.storage_bytes;
      const bool numbers =
          f.kind != Kind::kBool && f.specials != Specials::kScale && f.padding == out_.padding;
      const bool comparable = !f.is_float() || failed_.expected().format->is_float();
      if (!same_width || !numbers || !comparable || !holds_codes_alone(f, as_stored)) continue;
      const bool coarser = f.is_float() && f.precision < out_.precision;
      OutputChange change{.says = formatted("the output read as {}{}", f.name,
                                            coarser ? ", and judged to that precision," : ""),
                          .bits = as_stored,
                          .format = &f};
      change.is_reading = true;
      all.push_back(std::move(change));
    }
    const int width = out_.storage_bytes;
    const auto reversed = [&failed = failed_, width](std::int64_t p) {
      return __builtin_bswap64(failed.bits()[p]) >> (64 - 8 * width);
    };
    if (width < 2 || !holds_codes_alone(out_, reversed)) return;
    all.push_back({.says = "the output with the bytes of each element reversed",
                   .bits = reversed,
                   .format = &out_});
    if (width != 4 && width != 8) return;
    const auto swapped = [&failed = failed_, width](std::int64_t p) {
      const std::uint64_t bits = failed.bits()[p];
      const int half = 4 * width;
      return bits >> half | (bits & ((std::uint64_t{1} << half) - 1)) << half;
    };
    all.push_back({.says = "the output with the halves of each element exchanged",
                   .bits = swapped,
                   .format = &out_});
  }

  // Flips one bit at the mismatches.
  void add_flips(std::vector<OutputChange>& all) const {
    if (!tells_flips()) return;
    // `ones` and `zeros` get the bits that are 1, and that are 0, in every element of the output.
    std::uint64_t ones = ~std::uint64_t{0}, zeros = ~std::uint64_t{0};
    for (const std::int64_t p : failed_.looked().positions()) {
      ones &= failed_.bits()[p];
      zeros &= ~failed_.bits()[p];
    }
    const bool is_one = failed_.actual().size() == 1;
    for (int bit = out_.padding; bit < out_.padding + out_.bits; ++bit) {
      const std::uint64_t mask = std::uint64_t{1} << bit;
      OutputChange change{
          .says = formatted("the output with bit {} flipped back", bit),
          .bits = [&failed = failed_, mask](std::int64_t p) { return failed.bits()[p] ^ mask; },
          .format = &out_};
      change.is_flip = true;
      change.alters_all = false;
      if (!is_one && ((ones | zeros) & mask) != 0 && failed_.mismatches().size() >= kStuck) {
        change.adds = formatted(": it is {} in every element", (ones & mask) != 0 ? 1 : 0);
      }
      all.push_back(std::move(change));
    }
  }

  // True if a flip that lets the worst mismatches pass is unlikely to be chance. An error of r
  // bounds, or of r values that the output may have, is near a power of two with a probability of
  // about 4 / r. If the low bits of all elements are zero, as for small whole numbers, there are
  // fewer such values. The flipped values of a mismatch are also compared with the expected values
  // of other elements, because a loose bound or an infinite error is no evidence.
  bool tells_flips() const {
    std::vector<Mismatch> worst;
    (void)failed_.first().mismatches(failed_.unchanged(failed_.first()), failed_.bound(), &worst);
    std::uint64_t used = 0;
    for (const std::int64_t p : failed_.looked().positions()) used |= failed_.bits()[p];
    const int unused = used == 0 ? 0 : std::countr_zero(used);
    const ElementSample& others =
        failed_.right().size() >= failed_.tried().size() ? failed_.right() : failed_.tried();
    double by_size = 1;
    std::vector<double> by_bit(at(out_.padding + out_.bits), 1.0);
    bool has_others = false;
    for (const Mismatch& mismatch : worst) {
      const std::uint64_t ulps =
          mismatch.ulps.value_or(std::uint64_t{1} << std::max(out_.bits - 2, 0));
      const double values = static_cast<double>(ulps >> unused);
      const bool finite = std::isfinite(mismatch.error) && mismatch.bound > 0;
      by_size *=
          std::min(1.0, 4 / (finite ? std::min(values, mismatch.error / mismatch.bound) : values));
      // Marks the elements whose expected value differs from that of the mismatch.
      std::vector<bool> is_other;
      for (const std::int64_t p : others.positions()) {
        is_other.push_back(failed_.expected_at(p) != mismatch.expected_bits);
      }
      const auto count = std::ranges::count(is_other, true);
      if (count < kOthers) continue;
      has_others = true;
      for (int bit = out_.padding; bit < out_.padding + out_.bits; ++bit) {
        const std::uint64_t flipped = mismatch.actual_bits ^ std::uint64_t{1} << bit;
        std::vector<bool> passes = is_other;
        for (const std::int64_t place : others.mismatches(
                 others.output(out_, [&](std::int64_t) { return flipped; }), failed_.bound())) {
          passes[at(place)] = false;
        }
        const auto reached = std::ranges::count(passes, true);
        by_bit[at(bit)] *= (static_cast<double>(reached) + 0.5) / static_cast<double>(count + 1);
      }
    }
    double by_others = 0;
    for (int bit = out_.padding; has_others && bit < out_.padding + out_.bits; ++bit) {
      by_others += by_bit[at(bit)];
    }
    return by_size <= kChanceBySize && by_others <= kChanceByOthers;
  }

  // Multiplies each row, or each column, that has mismatches by its own factor. Such a failure
  // comes from a stale sum or maximum of a row, or from a scale that was taken from another row.
  void add_line_factors(std::vector<OutputChange>& all) const {
    const std::int64_t columns = failed_.columns();
    if (failed_.actual().rank() < 2 || columns < 2 || !out_.is_float()) return;
    if (!failed_.looks_at_all()) return;
    for (const bool by_row : {true, false}) {
      std::map<std::int64_t, std::vector<double>> ratios;
      for (const std::int64_t p : failed_.mismatches()) {
        const double a = failed_.value(p), e = failed_.expected().value_at(p);
        if (!std::isfinite(a) || !std::isfinite(e) || a == 0 || e == 0) continue;
        ratios[by_row ? p / columns : p % columns].push_back(e / a);
      }
      std::map<std::int64_t, double> factors;
      for (auto& [line, found] : ratios) {
        if (found.size() < kLineMismatches) continue;
        const auto middle = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
        std::nth_element(found.begin(), middle, found.end());
        // Skips a factor near 1, which cannot be distinguished from rounding.
        const double least = std::max(0.02, 4 * unit_roundoff(out_));
        if (std::isfinite(*middle) && std::abs(*middle - 1) >= least) factors[line] = *middle;
      }
      if (factors.empty()) continue;
      const std::string_view word = by_row ? "row" : "column";
      const auto& [line, factor] = *factors.begin();
      OutputChange change{
          .says =
              factors.size() == 1
                  ? formatted("the output with {} {} times {}", word, line, short_number(factor, 6))
                  : formatted("the output with a factor for each of {} {}s ({} {} times {})",
                              factors.size(), word, word, line, short_number(factor, 6)),
          .bits = {},
          .format = &out_};
      change.rescales = change.is_fitted = true;
      change.bits = [&failed = failed_, columns, by_row, factors](std::int64_t p) {
        const auto found = factors.find(by_row ? p / columns : p % columns);
        return found == factors.end() ? failed.bits()[p] : scaled_bits(failed, p, found->second);
      };
      all.push_back(std::move(change));
    }
  }

  // Reorders rows that hold the expected values of other rows.
  void add_other_rows(std::vector<OutputChange>& all) const {
    const std::int64_t columns = failed_.columns();
    if (failed_.actual().rank() < 2 || columns < kFewestColumns || !failed_.looks_at_all()) return;
    const std::int64_t rows = failed_.actual().size() / columns;
    if (rows < 3 || rows > kMostRows) return;
    const std::vector<double> expected = failed_.looked().expected().values();
    const std::int64_t step = std::max<std::int64_t>(1, columns / kProbes);
    // True if the distance of an output's row from an expected one is a small share of the latter.
    // Returns early if the first elements differ.
    const auto is_alike = [&](const std::vector<double>& row, std::int64_t other) {
      double apart = 0, size = 0;
      for (std::int64_t i = 0, c = 0; c < columns; ++i, c += step) {
        const double e = expected[at(other * columns + c)], a = row[at(i)];
        if (!std::isfinite(a) || !std::isfinite(e)) return false;
        apart += (a - e) * (a - e);
        size += e * e;
        if (i == 3 && apart > size) return false;
      }
      return size > 0 && apart <= kAlike * kAlike * size;
    };
    // For an expected row, the row of the output that holds it.
    std::map<std::int64_t, std::int64_t> holder;
    std::set<std::int64_t> wrong;
    for (const std::int64_t p : failed_.mismatches()) wrong.insert(p / columns);
    std::size_t found = 0;
    std::int64_t first = -1, first_holds = -1;
    for (const std::int64_t r : wrong) {
      std::vector<double> row;
      for (std::int64_t c = 0; c < columns; c += step)
        row.push_back(failed_.value(r * columns + c));
      if (is_alike(row, r)) continue;
      for (std::int64_t other = 0; other < rows; ++other) {
        if (other == r || !is_alike(row, other)) continue;
        holder.emplace(other, r);
        if (found++ == 0) first = r, first_holds = other;
        break;
      }
    }
    if (found < 2) return;
    add_move(all,
             formatted("the output with its rows in another order (row {} holds row {}, ...)",
                       first, first_holds),
             [holder, columns](std::int64_t p) {
               const auto from = holder.find(p / columns);
               return from == holder.end() ? p : from->second * columns + p % columns;
             });
  }

  // A flip explains the mismatches only if chance would do so with at most these probabilities. The
  // first is computed from the size of the errors, and the second from the comparison with other
  // elements. In a format of 16 bits, about 8 flips of a mismatch give values like those of other
  // elements.
  static constexpr double kChanceBySize = 0.1, kChanceByOthers = 0.25;
  // kOthers is the number of elements with other values with which the flips are compared. kStuck
  // is the number of mismatches from which on a bit may be called stuck.
  static constexpr std::ptrdiff_t kOthers = 32;
  static constexpr std::size_t kStuck = 8;
  // The fewest mismatches of a row or column from which its factor is computed.
  static constexpr std::size_t kLineMismatches = 6;
  // kMostRows is the largest number of rows that are compared with each other, kProbes the number
  // of their columns that are read, and kFewestColumns the number of columns that a row needs. Two
  // rows are alike if they differ by at most the share kAlike of their size.
  static constexpr std::int64_t kMostRows = 4096, kProbes = 16, kFewestColumns = 6;
  static constexpr double kAlike = 0.05;

  const FailedElements& failed_;
  const Format& out_;
};

}  // namespace

std::vector<OutputChange> possible_changes(const FailedElements& failed) {
  return ChangeList(failed).all();
}

}  // namespace assay
