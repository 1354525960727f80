#include "assay/judge/output_values.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

// A tail of fewer mismatches than this may be chance.
constexpr std::size_t kTailMismatches = 6;

double share_of(std::size_t part, std::size_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

// Returns text such as " in rows 3 and 9", or an empty string if the positions do not fill whole
// rows or columns.
std::string in_lines(const FailedElements& failed, const Positions& positions) {
  const std::string lines = failed.whole_lines(positions);
  return lines.empty() ? "" : " in " + lines;
}

// True if flipping one and the same bit turns each of these NaN into its expected value, to about 5
// bits of the mantissa. By chance, at most one bit pattern in 64 is that close.
bool is_flip_of_expected(const FailedElements& failed, const Positions& nans) {
  const Format& out = failed.format();
  const int mantissa = out.precision - 1;
  if (!out.is_float() || mantissa < 6) return false;
  const std::uint64_t quiet = std::uint64_t{1} << (mantissa - 1 + out.padding);
  for (int bit = out.padding; bit < out.padding + out.bits; ++bit) {
    const bool all = std::ranges::all_of(nans, [&](std::int64_t p) {
      const std::uint64_t bits = failed.bits()[p];
      // A NaN from arithmetic has only the quiet bit, or all bits of the mantissa set. A flipped
      // bit does not explain such a NaN.
      if ((bits & (2 * quiet - 1)) == quiet || (bits & (2 * quiet - 1)) == 2 * quiet - 1) {
        return false;
      }
      const std::uint64_t flipped = bits ^ std::uint64_t{1} << bit, wanted = failed.expected_at(p);
      const std::uint64_t apart = flipped > wanted ? flipped - wanted : wanted - flipped;
      return (apart >> out.padding) <= (std::uint64_t{1} << (mantissa - 6)) / 2;
    });
    if (all) return true;
  }
  return false;
}

// Returns a question that suggests why all mismatches have one value. `throughout` is
// true if all elements, or all from one position on, have this value.
std::string question(const FailedElements& failed, std::uint64_t value, const Positions& some,
                     std::string_view what, bool throughout) {
  const Format& out = failed.format();
  const double v = decode(out, value);
  // Results saturate at the largest value of this dtype, or of another dtype to which they may have
  // been converted on the way.
  if (std::abs(v) == max_finite(out)) return ": does it saturate?";
  for (const Format& f : formats()) {
    if (f.bits >= 8 && f.kind != Kind::kBool && std::abs(v) == max_finite(f)) {
      return formatted(": does it saturate as {} does?", f.name);
    }
  }
  const auto all_expected = [&](const auto& is) {
    return std::ranges::all_of(some,
                               [&](std::int64_t p) { return is(failed.expected().value_at(p)); });
  };
  if (v == 0 && out.is_float() &&
      all_expected([&](double e) { return std::abs(e) < min_normal(out); })) {
    return ": are subnormal numbers flushed to zero?";
  }
  if (v == 0 && !throughout && all_expected([](double e) { return e < 0; })) {
    return ": are negative values cut to zero?";
  }
  return formatted(": {} ever written?", what);
}

// Returns the bits of an element. Zeros of both signs have the same bits.
std::uint64_t value_bits(const FailedElements& failed, std::int64_t position) {
  const std::uint64_t bits = failed.bits()[position];
  return decode(failed.format(), bits) == 0 ? 0 : bits;
}

// Returns the neighbour of a value other than 0 that is nearer to zero.
double next_toward_zero(const Format& format, double value) {
  const std::uint64_t bits = encode(format, value);
  return decode(format, value > 0 ? next_down(format, bits) : next_up(format, bits));
}

// A neighbour whose value an element may repeat.
struct Neighbour {
  std::int64_t rows, columns;  // the distance from the element to its neighbour
  std::string words;
};

std::vector<Neighbour> neighbours() {
  std::vector<Neighbour> all = {{-1, 0, "the row above"},
                                {0, -1, "the column to the left"},
                                {1, 0, "the row below"},
                                {0, 1, "the column to the right"}};
  for (std::int64_t side = 8; side <= 128; side *= 2) {
    all.push_back({-side, 0, formatted("what stands {} rows above", side)});
    all.push_back({0, -side, formatted("what stands {} columns to the left", side)});
  }
  return all;
}

}  // namespace

CauseText special_values(const FailedElements& failed) {
  const Format& out = failed.format();
  if (!out.is_float() || failed.by_limits()) return {};
  Positions nans, infinities, beyond;
  for (const std::int64_t p : failed.mismatches()) {
    const double a = failed.value(p), e = failed.expected().value_at(p);
    if (!std::isfinite(e)) continue;
    if (std::isnan(a)) nans.push_back(p);
    if (std::isinf(a)) infinities.push_back(p);
    if (std::isfinite(a) && std::isnan(failed.rounded(e))) beyond.push_back(p);
  }
  const std::size_t all = failed.mismatches().size();
  const auto count = [](const Positions& of) { return grouped(std::ssize(of)); };
  const bool is_whole = all == failed.looked().size();
  if (!beyond.empty() && FailedElements::is_most(beyond.size(), all)) {
    const double e = failed.expected().value_at(beyond[0]);
    return {
        formatted("{} rounds to NaN in {}, whose largest value is {}: NaN is expected at {} of {}. "
                  "If the output is to saturate, judge it with infinity saturating",
                  short_number(e, 6), out.name, short_number(max_finite(out), 6), count(beyond),
                  failed.mismatches_text())};
  }
  if (!nans.empty() && FailedElements::is_most(nans.size(), all)) {
    if (is_flip_of_expected(failed, nans)) return {};
    const bool is_large = std::ranges::all_of(nans, [&](std::int64_t p) {
      return std::abs(failed.expected().value_at(p)) >= max_finite(out) / 2;
    });
    const bool is_zero = std::ranges::all_of(
        nans, [&](std::int64_t p) { return failed.expected().value_at(p) == 0; });
    const std::string_view hint = is_large  ? ": does it overflow instead of saturating?"
                                  : is_zero ? ": is 0 divided by 0, or multiplied by infinity?"
                                            : "";
    if (is_whole && nans.size() == all) {
      return {
          formatted("every element of the output is NaN, where finite values are expected{}", hint),
          true};
    }
    const std::string lines = in_lines(failed, nans);
    return {formatted("the output is NaN at {} of {}{}, where finite values are expected{}",
                      count(nans), failed.mismatches_text(), lines, hint),
            !lines.empty()};
  }
  if (infinities.size() >= FailedElements::kFewest &&
      FailedElements::is_most(infinities.size(), all)) {
    if (is_whole && infinities.size() == all) {
      return {
          "every element of the output is infinite, where finite values are expected: does it "
          "overflow?",
          true};
    }
    return {formatted(
        "the output is infinite at {} of {}{}, where finite values are expected: does it overflow?",
        count(infinities), failed.mismatches_text(), in_lines(failed, infinities))};
  }
  return {};
}

CauseText one_value(const FailedElements& failed) {
  const Positions& some = failed.tried().positions();
  std::map<std::uint64_t, std::size_t> counts;
  std::set<std::uint64_t> wanted;
  for (const std::int64_t p : some) {
    ++counts[value_bits(failed, p)];
    if (wanted.size() < 2) wanted.insert(failed.expected().bits_at(p));
  }
  if (counts.empty()) return {};
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& pair) { return pair.second; });
  const std::uint64_t value = most->first;
  const Format& out = failed.format();
  if (most->second < FailedElements::kFewest || wanted.size() < 2) return {};
  if (!FailedElements::is_most(most->second, some.size()) || std::isnan(decode(out, value))) {
    return {};
  }
  Positions alike;
  for (const std::int64_t p : failed.mismatches()) {
    if (value_bits(failed, p) == value) alike.push_back(p);
  }
  if (failed.by_limits()) {
    const Tensor without = failed.looked().output(out, [&](std::int64_t p) {
      return value_bits(failed, p) == value ? failed.expected_at(p) : failed.bits()[p];
    });
    if (!failed.looked().meets_limits(without, failed.verdict().bound)) return {};
  }
  // Finds the position from which on all elements have this value.
  const Positions& mismatches = failed.mismatches();
  const std::int64_t size = failed.actual().size();
  std::int64_t begin = size;
  while (begin > 0 && value_bits(failed, begin - 1) == value) --begin;
  const std::string is = value == 0 ? "0" : element_text(out, value);
  if (begin == 0) {
    return {formatted("every element of the output is {}{}", is,
                      question(failed, value, some, "was it", true)),
            true};
  }
  const auto in_tail = static_cast<std::size_t>(
      mismatches.end() - std::lower_bound(mismatches.begin(), mismatches.end(), begin));
  if (in_tail >= FailedElements::kFewest && FailedElements::is_most(in_tail, mismatches.size())) {
    begin = *std::lower_bound(mismatches.begin(), mismatches.end(), begin);
    return {formatted("from position {} on, every element of the output is {} ({}){}",
                      grouped(begin), is, failed.explains(in_tail),
                      question(failed, value, some, "was the tail", true)),
            true};
  }
  return {formatted("the output is {} at {} of {}{}{}", is, grouped(std::ssize(alike)),
                    failed.mismatches_text(), in_lines(failed, alike),
                    question(failed, value, some, "were they", false))};
}

CauseText repeats(const FailedElements& failed) {
  const std::int64_t columns = failed.columns();
  if (failed.actual().rank() < 2 || columns < 1) return {};
  const std::int64_t rows = failed.actual().size() / columns;
  const Positions& tried = failed.tried().positions();
  // Returns the position that is `by_rows` and `by_columns` away, or -1 if it is outside the
  // output.
  const auto place = [&](std::int64_t p, std::int64_t by_rows, std::int64_t by_columns) {
    const std::int64_t row = p / columns + by_rows, column = p % columns + by_columns;
    const bool is_inside = row >= 0 && row < rows && column >= 0 && column < columns;
    return is_inside ? row * columns + column : -1;
  };
  const auto repeating = [&](const Positions& of, std::int64_t by_rows, std::int64_t by_columns) {
    Positions found;
    for (const std::int64_t p : of) {
      const std::int64_t from = place(p, by_rows, by_columns);
      if (from >= 0 && failed.bits()[p] == failed.bits()[from]) found.push_back(p);
    }
    return found;
  };
  const Neighbour* best = nullptr;
  std::size_t most = 0;
  const std::vector<Neighbour> all = neighbours();
  for (const Neighbour& n : all) {
    const std::size_t found = repeating(tried, n.rows, n.columns).size();
    if (found > most) most = found, best = &n;
  }
  if (best == nullptr || most < FailedElements::kFewest) return {};
  if (!FailedElements::is_most(most, tried.size())) return {};
  // Counts how often right elements equal the same neighbour, which shows how likely chance is.
  const std::size_t alike = repeating(failed.right().positions(), best->rows, best->columns).size();
  // In an output of few different values, mismatches may also equal an unrelated neighbour. Counts
  // these, too.
  const std::size_t other =
      repeating(tried, best->columns == 0 ? best->rows : 1, best->columns == 0 ? 1 : best->columns)
          .size();
  const double chance =
      std::max((static_cast<double>(alike) + 0.5) / static_cast<double>(failed.right().size() + 1),
               (static_cast<double>(other) + 0.5) / static_cast<double>(tried.size() + 1));
  if (!FailedElements::beats_chance(most, chance)) return {};
  // The expected values must differ from those of their neighbours. Otherwise a right output would
  // repeat them as well.
  const Tensor alike_expected = failed.tried().output(failed.format(), [&](std::int64_t p) {
    const std::int64_t from = place(p, best->rows, best->columns);
    return failed.expected_at(from < 0 ? p : from);
  });
  if (2 * failed.tried().passes(alike_expected, failed.bound()) >= tried.size()) return {};
  const Positions found = repeating(failed.mismatches(), best->rows, best->columns);
  const std::string lines = failed.whole_lines(found);
  if (lines.empty()) {
    return {formatted("elements repeat {} ({})", best->words, failed.explains(found.size()))};
  }
  const bool is_one = lines.starts_with("row ") || lines.starts_with("column ");
  return {formatted("{} {} {} ({})", lines, is_one ? "repeats" : "repeat", best->words,
                    failed.explains(found.size())),
          true};
}

CauseText cut_off(const FailedElements& failed) {
  const Format& out = failed.format();
  const Format& golden = *failed.expected().format;
  if (!out.is_float() || !golden.is_float() || golden.precision < out.precision + 4) return {};
  // Counts the elements for which cutting off and rounding clearly differ, and those of them that
  // are cut off.
  std::size_t cut = 0, differ = 0;
  const auto count = [&](const Positions& positions) {
    for (const std::int64_t p : positions) {
      const double a = failed.value(p), e = failed.expected().value_at(p);
      if (!std::isfinite(a) || !std::isfinite(e) || e == 0 || std::abs(e) > max_finite(out) / 2) {
        continue;
      }
      const double nearest = failed.rounded(e);
      if (std::abs(nearest) <= std::abs(e)) continue;
      const double lower = next_toward_zero(out, nearest);
      // Skips results next to a tie or next to a value of the format, because errors before the
      // rounding decide there.
      const double place = (e - lower) / (nearest - lower);
      if (!(place > 0.6 && place < 0.95)) continue;
      ++differ;
      if (a == lower) ++cut;
    }
  };
  count(failed.tried().positions());
  count(failed.right().positions());
  constexpr std::size_t kNeeded = 16;
  if (differ < kNeeded || share_of(cut, differ) < 0.9) return {};
  // Results that are too small by more than one rounding have another cause than cutting off.
  std::size_t within = 0;
  for (const std::int64_t p : failed.tried().positions()) {
    const double a = failed.value(p), e = failed.expected().value_at(p);
    const double nearest = failed.rounded(e);
    within += nearest != 0 && (a == nearest || a == next_toward_zero(out, nearest)) ? 1 : 0;
  }
  if (!FailedElements::is_most(within, failed.tried().size())) return {};
  return {formatted(
      "the output is cut off: it is rounded toward zero at {} of {} elements where the nearest "
      "value is larger",
      grouped(static_cast<std::int64_t>(cut)), grouped(static_cast<std::int64_t>(differ)))};
}

CauseText wrong_tail(const FailedElements& failed) {
  const Positions& mismatches = failed.mismatches();
  const std::int64_t size = failed.actual().size(), columns = failed.columns();
  if (!failed.looks_at_all() || failed.by_limits() || mismatches.size() < kTailMismatches)
    return {};
  // Find the longest tail of which three quarters are mismatches. It begins with a row if there are
  // rows.
  std::int64_t begin = size;
  std::size_t in_tail = 0;
  for (std::size_t i = mismatches.size(); i-- > 0;) {
    const std::int64_t p = mismatches[i];
    if (columns > 1 && failed.actual().rank() > 1 && p / columns * columns != p) {
      // Inside a row, only the first mismatch of the row may begin the tail.
      const bool is_first_of_row = i == 0 || mismatches[i - 1] / columns != p / columns;
      if (!is_first_of_row) continue;
    }
    const std::int64_t from = columns > 1 && failed.actual().rank() > 1 ? p / columns * columns : p;
    const std::size_t held = mismatches.size() - i;
    if (4 * static_cast<std::int64_t>(held) < 3 * (size - from)) break;
    begin = from;
    in_tail = held;
  }
  if (in_tail < kTailMismatches || !FailedElements::is_most(in_tail, mismatches.size())) return {};
  if (2 * (size - begin) > size) return {};
  const bool by_row = columns > 1 && failed.actual().rank() > 1;
  // If the tail is a single row, the location of the mismatches describes it better.
  if (by_row && (size - begin) / columns < 2) return {};
  return {formatted("the tail, from {} on, is wrong ({}): was it ever written, or is it stale?",
                    by_row ? formatted("row {}", grouped(begin / columns))
                           : formatted("position {}", grouped(begin)),
                    failed.explains(in_tail)),
          true};
}

}  // namespace assay
