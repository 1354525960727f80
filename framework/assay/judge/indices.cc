#include "assay/judge/indices.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/call_text.h"
#include "assay/base/text.h"
#include "assay/judge/blindness.h"
#include "assay/judge/rule_table.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::string_view kIndices = "indices", kUnsorted = "unsorted", kFlattened = "flattened";

// Rows along the axis. There are `outer` times `inner` rows, each with `k` indices into `n` values.
struct Rows {
  std::int64_t outer = 1, k = 1, n = 1, inner = 1;
  std::string why_not = {};

  std::int64_t rows() const { return outer * inner; }
  // Return the row-major positions of the j-th index, and of the i-th value, of a row.
  std::int64_t index_at(std::int64_t row, std::int64_t j) const {
    return (row / inner * k + j) * inner + row % inner;
  }
  std::int64_t value_at(std::int64_t row, std::int64_t i) const {
    return (row / inner * n + i) * inner + row % inner;
  }
  std::int64_t row_of(std::int64_t linear) const {
    return linear / (k * inner) * inner + linear % inner;
  }
};

// Returns the rows for indices into the flattened input: all indices form one row, and so do all
// values.
Rows one_row(const Shape& output, const Shape& source) {
  return {.k = element_count(output), .n = element_count(source)};
}

Rows rows_of(const Shape& output, const Shape& source, std::int64_t axis) {
  Rows rows;
  const auto rank = static_cast<std::int64_t>(source.size());
  const std::int64_t along = axis < 0 ? axis + rank : axis;
  if (along < 0 || along >= rank) {
    rows.why_not = formatted("axis {} is none of an input of shape {}", axis, shape_text(source));
    return rows;
  }
  const auto at = static_cast<std::size_t>(along);
  Shape wanted = source, reduced = source;
  reduced.erase(reduced.begin() + along);
  if (output.size() == source.size()) wanted[at] = output[at];
  if (output != wanted && output != reduced) {
    rows.why_not = formatted(
        "indices of shape {} along axis {} do not fit an input of shape {}: all other extents "
        "agree, or the axis is left out",
        shape_text(output), along, shape_text(source));
    return rows;
  }
  for (std::size_t d = 0; d < source.size(); ++d) {
    if (d < at) rows.outer *= source[d];
    if (d > at) rows.inner *= source[d];
  }
  rows.n = source[at];
  rows.k = output.size() == source.size() ? output[at] : 1;
  return rows;
}

// Returns the index at a position if it is one of 0 to n - 1, and nothing if not.
std::optional<std::int64_t> index_of(const TensorView& view, std::int64_t linear, std::int64_t n) {
  const auto index = ordinal(*view.format, view.bits_at(linear));
  if (!index || *index < 0 || *index >= n) return std::nullopt;
  return index;
}

enum class Flaw : std::uint8_t { kNone, kRange, kTwice };

// Returns what is wrong with each index: it is out of range, or it occurs twice in its row.
std::vector<Flaw> flaws_of(const TensorView& view, const Rows& rows) {
  std::vector<Flaw> flaws(static_cast<std::size_t>(view.size()), Flaw::kNone);
  std::vector<std::int64_t> last_row(static_cast<std::size_t>(rows.n), -1);
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    for (std::int64_t j = 0; j < rows.k; ++j) {
      const std::int64_t linear = rows.index_at(row, j);
      const auto index = index_of(view, linear, rows.n);
      Flaw& flaw = flaws[static_cast<std::size_t>(linear)];
      if (!index) {
        flaw = Flaw::kRange;
      } else if (std::exchange(last_row[static_cast<std::size_t>(*index)], row) == row) {
        flaw = Flaw::kTwice;
      }
    }
  }
  return flaws;
}

// Returns the bound for the values, with the input's dtype.
Bound value_bound(const Bound& bound, const Format& source) {
  Bound values;
  if (const auto inner = values_of_indices(bound.standard); inner && !inner->empty()) {
    if (bound.rtol == 0 && bound.atol == 0) values = *standard_bound(*inner, source);
  }
  if (bound.rtol != 0 || bound.atol != 0) {
    values.rtol = bound.rtol;
    values.atol = bound.atol;
  }
  // Both values come from the same tensor, so they have the same dtype.
  values.round_expected = false;
  values.nan_equal = bound.nan_equal;
  values.nan_accepts = bound.nan_accepts;
  values.infinity = bound.infinity;
  return values;
}

// Returns the share of the indices that could be any other index of their row. It is estimated from
// a sample, by the smallest and the largest value in each row.
double blind_share(const TensorView& expected, const TensorView& source, const Rows& rows,
                   const Bound& values) {
  const std::vector<std::int64_t> positions = sampled_positions(expected.size());
  const Shape shape = {static_cast<std::int64_t>(positions.size())};
  Tensor least(*source.format, shape), most(*source.format, shape), right(*source.format, shape);
  std::vector<bool> sees(positions.size(), false);
  std::int64_t known_row = -1, low = 0, high = 0;
  bool mixed = false;
  for (std::size_t p = 0; p < positions.size(); ++p) {
    const std::int64_t row = rows.row_of(positions[p]);
    if (row != known_row) {
      known_row = row;
      low = high = rows.value_at(row, 0);
      std::int64_t nans = 0;
      for (std::int64_t i = 0; i < rows.n; ++i) {
        const std::int64_t at = rows.value_at(row, i);
        const double value = source.value_at(at);
        nans += std::isnan(value) ? 1 : 0;
        if (std::isnan(source.value_at(low)) || value < source.value_at(low)) low = at;
        if (std::isnan(source.value_at(high)) || value > source.value_at(high)) high = at;
      }
      mixed = nans > 0 && nans < rows.n;
    }
    const auto to = static_cast<std::int64_t>(p);
    const std::int64_t index = *index_of(expected, positions[p], rows.n);
    right.set_bits(to, source.bits_at(rows.value_at(row, index)));
    least.set_bits(to, source.bits_at(low));
    most.set_bits(to, source.bits_at(high));
    sees[p] = mixed;
  }
  const JudgeOptions all{
      .metrics = false, .worst = positions.size(), .blindness = false, .patterns = false};
  for (const Tensor* other : {&least, &most}) {
    const Verdict tried = judge(*other, right, values, all);
    for (const Mismatch& mismatch : tried.worst)
      sees[static_cast<std::size_t>(mismatch.linear)] = true;
  }
  const auto blind = std::ranges::count(sees, false);
  return static_cast<double>(blind) / static_cast<double>(positions.size());
}

// Fills `got` and `right` with the values that both sides lead to, sorted within each row, because
// any order is right. The j-th smallest values of both sides are stored where the output has the
// index of its j-th smallest value. A row with a flaw fails already, so both sides get its expected
// values. Returns how many indices are not in the golden row.
std::int64_t put_sorted_values(const TensorView& actual, const TensorView& expected,
                               const TensorView& source, const Rows& rows,
                               const std::vector<Flaw>& flaws, Tensor& got, Tensor& right) {
  struct Place {
    double value;
    std::int64_t at, linear;  // `at` is a position in the input, `linear` one in the output
  };
  const auto before = [](const Place& a, const Place& b) {
    if (std::isnan(a.value) || std::isnan(b.value))
      return std::isnan(b.value) && !std::isnan(a.value);
    return a.value < b.value;
  };
  std::int64_t others = 0;
  std::vector<Place> theirs, ours;
  std::vector<std::int64_t> golden_row(static_cast<std::size_t>(rows.n), -1);
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    theirs.clear();
    ours.clear();
    bool flawed = false;
    for (std::int64_t j = 0; j < rows.k; ++j) {
      const std::int64_t linear = rows.index_at(row, j);
      const std::int64_t index = *index_of(expected, linear, rows.n);
      const std::int64_t at = rows.value_at(row, index);
      golden_row[static_cast<std::size_t>(index)] = row;
      ours.push_back({source.value_at(at), at, linear});
      flawed = flawed || flaws[static_cast<std::size_t>(linear)] != Flaw::kNone;
    }
    for (std::int64_t j = 0; j < rows.k && !flawed; ++j) {
      const std::int64_t linear = rows.index_at(row, j);
      const std::int64_t index = *index_of(actual, linear, rows.n);
      const std::int64_t at = rows.value_at(row, index);
      theirs.push_back({source.value_at(at), at, linear});
      others += golden_row[static_cast<std::size_t>(index)] == row ? 0 : 1;
    }
    if (flawed) theirs = ours;
    std::ranges::stable_sort(theirs, before);
    std::ranges::stable_sort(ours, before);
    for (std::size_t j = 0; j < ours.size(); ++j) {
      got.set_bits(theirs[j].linear, source.bits_at(theirs[j].at));
      right.set_bits(theirs[j].linear, source.bits_at(ours[j].at));
    }
  }
  return others;
}

Mismatch mismatch_at(const TensorView& actual, const TensorView& expected, std::int64_t linear) {
  Mismatch mismatch;
  const Format& f = *actual.format;
  mismatch.linear = linear;
  mismatch.index = actual.multi_index(linear);
  mismatch.actual_bits = actual.bits_at(linear);
  mismatch.actual = decode(f, mismatch.actual_bits);
  mismatch.expected = expected.value_at(linear);
  mismatch.expected_bits = encode(f, mismatch.expected);
  mismatch.error = std::numeric_limits<double>::infinity();
  return mismatch;
}

}  // namespace

std::optional<IndexRule> index_rule(std::string_view standard) {
  if (standard == kIndices) return IndexRule{};
  const auto words = argument_of(standard, kIndices);
  if (!words) return std::nullopt;
  IndexRule rule;
  for (const std::string& word : standard_words(*words)) {
    bool* const flag = word == kUnsorted    ? &rule.unsorted
                       : word == kFlattened ? &rule.flattened
                                            : nullptr;
    if (flag != nullptr ? std::exchange(*flag, true) : !rule.values.empty()) {
      refuse(
          "standard '{}': indices(...) takes one standard of single elements, and the words {} and "
          "{}, each once",
          standard, kUnsorted, kFlattened);
    }
    if (flag == nullptr) rule.values = word;
  }
  return rule;
}

std::optional<std::string> values_of_indices(std::string_view standard) {
  auto rule = index_rule(standard);
  if (!rule) return std::nullopt;
  return std::move(rule->values);
}

std::string with_values(const IndexRule& rule, std::string_view values) {
  std::string words(values);
  for (const auto& [is_set, word] :
       {std::pair(rule.unsorted, kUnsorted), std::pair(rule.flattened, kFlattened)}) {
    if (is_set) words += formatted("{}{}", words.empty() ? "" : ",", word);
  }
  return words.empty() ? std::string(kIndices) : formatted("{}({})", kIndices, words);
}

bool judges_single_elements(const Bound& bound) {
  return bound.limits.empty() && !bound.as_published && row_of(bound.rule).by_value;
}

Verdict judge_indices(const TensorView& actual, const TensorView& expected, const Bound& bound,
                      const JudgeOptions& options) {
  Verdict verdict{.bound = bound, .format = actual.format, .shape = actual.shape};
  const auto refuse = [&](std::string because) {
    return verdict.decide(Outcome::kNotComparable, std::move(because));
  };
  if (!options.index_source) {
    return refuse(
        formatted("standard {} needs the input that the indices point into; name it in the case's "
                  "attribute 'of'",
                  bound.standard));
  }
  if (std::string why = why_not_comparable(actual, expected); !why.empty()) {
    return refuse(std::move(why));
  }
  for (const TensorView* side : {&actual, &expected}) {
    if (!side->format->is_float() && side->format->kind != Kind::kBool) continue;
    return refuse(formatted("the {} is {}, but indices must be integers",
                            side == &actual ? "output" : "golden result", side->format->name));
  }
  const TensorView& source = *options.index_source;
  if (source.format->is_complex()) {
    return refuse(
        formatted("the indices point into {}, and values at them are compared as real numbers",
                  source.format->name));
  }
  const IndexRule rule = index_rule(bound.standard).value_or(IndexRule{});
  const Rows rows = rule.flattened ? one_row(actual.shape, source.shape)
                                   : rows_of(actual.shape, source.shape, options.index_axis);
  if (!rows.why_not.empty()) return refuse(rows.why_not);
  if (actual.size() == 0) return decide_without_elements(verdict);
  const std::vector<Flaw> golden_flaws = flaws_of(expected, rows);
  for (std::size_t i = 0; i < golden_flaws.size(); ++i) {
    if (golden_flaws[i] == Flaw::kNone) continue;
    const auto linear = static_cast<std::int64_t>(i);
    return refuse(formatted(
        "the golden result's index {} at {} {}", short_number(expected.value_at(linear), 17),
        shape_text(expected.multi_index(linear)),
        golden_flaws[i] == Flaw::kRange ? formatted("is none of 0 to {}", rows.n - 1)
                                        : "stands twice in its row"));
  }
  verdict.sites = actual.size();

  // Both tensors hold the values that the indices lead to: `got` those of the output's indices, and
  // `right` those of the expected indices. If an index is flawed, both hold the expected value.
  const std::vector<Flaw> flaws = flaws_of(actual, rows);
  const Bound values = value_bound(bound, *source.format);
  Tensor got(*source.format, actual.shape), right(*source.format, actual.shape);
  std::int64_t out_of_range = 0, twice = 0, others = 0;
  if (rule.unsorted) others = put_sorted_values(actual, expected, source, rows, flaws, got, right);
  for (std::int64_t i = 0; i < actual.size(); ++i) {
    const Flaw flaw = flaws[static_cast<std::size_t>(i)];
    if (!rule.unsorted) {
      const std::int64_t row = rows.row_of(i), wanted = *index_of(expected, i, rows.n);
      const std::int64_t index = flaw == Flaw::kNone ? *index_of(actual, i, rows.n) : wanted;
      right.set_bits(i, source.bits_at(rows.value_at(row, wanted)));
      got.set_bits(i, source.bits_at(rows.value_at(row, index)));
      others += index != wanted ? 1 : 0;
    }
    out_of_range += flaw == Flaw::kRange ? 1 : 0;
    twice += flaw == Flaw::kTwice ? 1 : 0;
    if (flaw != Flaw::kNone && verdict.worst.size() < options.worst) {
      verdict.worst.push_back(mismatch_at(actual, expected, i));
    }
  }
  const Verdict of_values = judge(got, right, values,
                                  {.metrics = false,
                                   .worst = options.worst - verdict.worst.size(),
                                   .threads = options.threads,
                                   .blindness = false,
                                   .patterns = false});
  for (const Mismatch& at_values : of_values.worst) {
    Mismatch mismatch = mismatch_at(actual, expected, at_values.linear);
    mismatch.error = at_values.error;
    mismatch.bound = at_values.bound;
    verdict.worst.push_back(std::move(mismatch));
  }
  verdict.special_mismatches = out_of_range + twice;
  verdict.mismatches = verdict.special_mismatches + of_values.mismatches;
  verdict.worst_ratio = verdict.special_mismatches > 0 ? HUGE_VAL : of_values.worst_ratio;
  const std::int64_t budget = bound.forgiven(verdict.sites);
  if (verdict.special_mismatches > 0 || of_values.mismatches > budget) {
    std::vector<std::string> parts;
    if (out_of_range > 0) {
      parts.push_back(formatted("{} out of range (0 to {})", grouped(out_of_range), rows.n - 1));
    }
    if (twice > 0) parts.push_back(formatted("{} a second time in the row", grouped(twice)));
    if (of_values.mismatches > 0) {
      parts.push_back(formatted("{} at a value that differs{} ({})", grouped(of_values.mismatches),
                                rule.unsorted ? " from that of the same rank" : "", values.text()));
    }
    return verdict.decide(Outcome::kFail,
                          formatted("{} of {} indices are wrong: {}", grouped(verdict.mismatches),
                                    grouped(verdict.sites), joined(parts)));
  }
  verdict.forgiven = of_values.mismatches;
  const double blind = blind_share(expected, source, rows, values);
  if (blind > bound.max_blind) {
    return verdict.decide(
        Outcome::kUntrusted,
        formatted("the check could not have failed: {:.3g} % of the indices could be any other of "
                  "their row, where all values are within the bound ({})",
                  100 * blind, values.text()));
  }
  if (blind >= kNotedBlindness) {
    verdict.notes.push_back(
        formatted("{:.3g} % of the indices could be any other of their row, where all values are "
                  "within the bound",
                  100 * blind));
  }
  return verdict.decide(
      Outcome::kPass,
      formatted("the values at all {} indices are right ({}{}); {} of the indices differ from the "
                "golden ones",
                grouped(verdict.sites), values.text(),
                verdict.forgiven > 0 ? formatted(", {} forgiven", verdict.forgiven) : "",
                others == 0 ? "none" : grouped(others)));
}

}  // namespace assay
