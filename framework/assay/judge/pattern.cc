#include "assay/judge/pattern.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/judge/elements.h"
#include "assay/judge/exact.h"
#include "assay/judge/statistics.h"

namespace assay {
namespace {

using Positions = std::vector<std::int64_t>;

// Elements that are looked at in all; misses that a change is tried on, first and then.
constexpr std::int64_t kLooked = std::int64_t{1} << 20;
constexpr std::size_t kMissesLooked = 65536, kFirst = 256, kTried = 4096;
// The share of the misses that a change must explain, and of the first that it is worth trying.
constexpr double kExplains = 0.9, kPromises = 0.8;
// How likely a change may explain the misses by chance.
constexpr double kChance = 1e-3, kChanceOfFlip = 0.1;
// Fewer misses than this form no pattern but that of a flipped bit.
constexpr std::size_t kFewest = 4;

// At most `most` of them, evenly spread, the first among them.
Positions evenly(const Positions& all, std::size_t most) {
  if (all.size() <= most) return all;
  Positions some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

// A row is one of the last dimension; those of all matrices are counted through.
std::int64_t columns_of(const Shape& shape) { return shape.empty() ? 1 : shape.back(); }

// A change of the output.
struct Change {
  std::string says;  // "the transpose of the output"
  // The bits of the changed output at a position, and what they are bits of.
  std::function<std::uint64_t(std::int64_t)> bits;
  const Format* format;
  // Of a change that moves elements: where the one at a position came from.
  std::function<std::int64_t(std::int64_t)> source = {};
  bool is_flip = false;     // of a bit
  bool is_factor = false;   // one for all elements
  bool is_fitted = false;   // to the misses: no power of two
  bool is_reading = false;  // of the bits, as another dtype's
  bool alters_all = true;   // false: made where the output misses alone
};

// The bits of elements of a tensor, without a division for each where it lies in memory in order.
class Bits {
 public:
  explicit Bits(const TensorView& view) : view_(view), in_order_(view.is_contiguous()) {}
  std::uint64_t operator[](std::int64_t position) const {
    return in_order_
               ? load_element(*view_.format, view_.data + position * view_.format->storage_bytes)
               : view_.bits_at(position);
  }

 private:
  const TensorView& view_;
  bool in_order_;
};

// A copy of the elements at these positions.
Tensor gathered(const TensorView& view, const Positions& positions) {
  const Bits bits(view);
  Tensor some(*view.format, {static_cast<std::int64_t>(positions.size())});
  for (std::size_t i = 0; i < positions.size(); ++i) {
    some.set_bits(static_cast<std::int64_t>(i), bits[positions[i]]);
  }
  return some;
}

// Elements at some positions, to be judged with other values in the output.
class Sample {
 public:
  Sample(const TensorView& expected, const JudgeOptions& options, const Bound& bound,
         Positions positions)
      : positions_(std::move(positions)), expected_(gathered(expected, positions_)) {
    if (bound.rule == Rule::kGiven) bounds_ = gathered(*options.element_bounds, positions_);
    if (bound.needs_benchmark()) benchmark_ = gathered(*options.benchmark, positions_);
    // A sum of some elements alone is not the limited one.
    const bool all = static_cast<std::int64_t>(positions_.size()) == expected.size();
    if (all && options.error_weights) weights_ = gathered(*options.error_weights, positions_);
  }

  const Positions& positions() const { return positions_; }
  std::size_t size() const { return positions_.size(); }
  TensorView expected() const { return expected_; }

  // An output that has bits(position) at each position.
  template <typename BitsAt>
  Tensor output(const Format& format, const BitsAt& bits) const {
    Tensor made(format, {static_cast<std::int64_t>(size())});
    for (std::size_t i = 0; i < size(); ++i) {
      made.set_bits(static_cast<std::int64_t>(i), bits(positions_[i]));
    }
    return made;
  }

  // Which elements of such an output miss: their places in the sample. `worst`, where it is given,
  // gets the worst of them.
  std::vector<std::int64_t> misses(const Tensor& output, const Bound& bound,
                                   std::vector<Miss>* worst = nullptr) const {
    constexpr std::int64_t kPiece = 65536;  // of which every miss is told
    std::vector<std::int64_t> places;
    for (std::int64_t begin = 0; begin < output.size(); begin += kPiece) {
      const std::int64_t count = std::min(kPiece, output.size() - begin);
      JudgeOptions options{.metrics = false, .worst = worst != nullptr ? 5u : 0u, .threads = 1};
      if (bounds_) options.element_bounds = bounds_->view().slice(begin, count);
      ElementFindings found;
      judge_elements(output.view().slice(begin, count), expected().slice(begin, count), bound,
                     options, {.parts = 0}, begin, found);
      places.insert(places.end(), found.positions.begin(), found.positions.end());
      if (worst != nullptr && begin == 0) *worst = std::move(found.worst);
    }
    return places;
  }
  // How many elements pass.
  std::size_t passes(const Tensor& output, const Bound& bound) const {
    return size() - misses(output, bound).size();
  }

  // Whether the output meets the bound's limits.
  bool meets_limits(const Tensor& output, const Bound& bound) const {
    if (bound.limits.empty()) return true;
    const std::optional<TensorView> benchmark =
        benchmark_ ? std::optional(benchmark_->view()) : std::nullopt;
    const std::optional<TensorView> weights =
        weights_ ? std::optional(weights_->view()) : std::nullopt;
    const StatisticsResult result = judge_statistics(
        output, expected_, benchmark ? &*benchmark : nullptr, bound.round_expected, bound.limits,
        {.trivial = false,
         .blindness = false,
         .threads = 1,
         .error_weights = weights ? &*weights : nullptr});
    return result.why_not.empty() && result.met;
  }

 private:
  Positions positions_;
  Tensor expected_;
  std::optional<Tensor> bounds_, benchmark_, weights_;
};

// Looks for the pattern of one failure.
class Search {
 public:
  Search(const TensorView& actual, const TensorView& expected, const JudgeOptions& options,
         const Verdict& verdict, const Positions& misses)
      : actual_(actual),
        expected_(expected),
        options_(options),
        verdict_(verdict),
        out_(*actual.format),
        bits_(actual_),
        by_limits_(verdict.misses <= verdict.forgiven || verdict.bound.rule == Rule::kStatistics),
        bound_(verdict.bound),
        looked_(expected, options, verdict.bound, looked_at(misses)) {
    if (by_limits_) bound_ = far_off();
    const bool known = !by_limits_ && static_cast<std::int64_t>(misses.size()) == verdict.misses;
    if (known && looks_at_all()) {
      misses_ = misses;
      return;
    }
    for (const std::int64_t place : looked_.misses(unchanged(looked_), bound_)) {
      misses_.push_back(looked_.positions()[at(place)]);
    }
  }

  // Whether what find() says tells where the misses are, too.
  bool says_where() const { return says_where_; }

  std::string find() {
    if (misses_.empty()) return "";
    if (std::string text = never_written(); !text.empty()) return text;
    first_.emplace(expected_, options_, bound_, evenly(misses_, kFirst));
    tried_.emplace(expected_, options_, bound_, evenly(misses_, kTried));
    chance_ = chance_of_any_element();
    std::vector<Change> best;
    std::size_t most = 0;
    for (Change& change : changes()) {
      const std::size_t passes = explained(change);
      if (passes == 0 || passes < most) continue;
      // Of changes that explain as much, the first; but a factor may be another dtype's bits.
      if (passes > most) best.clear();
      const bool either = best.size() == 1 && best[0].is_factor && change.is_reading;
      if (best.empty() || either) best.push_back(std::move(change));
      most = passes;
    }
    std::string text;
    for (const Change& change : best) {
      const std::string says = said(change);
      if (says.empty()) continue;
      text += (text.empty() ? "" : "; or ") + says;
    }
    return text;
  }

 private:
  bool looks_at_all() const { return static_cast<std::int64_t>(looked_.size()) == actual_.size(); }

  // All positions, or so many evenly spread ones and the known misses.
  Positions looked_at(const Positions& misses) const {
    const std::int64_t size = actual_.size();
    Positions positions(at(std::min(size, kLooked)));
    for (std::size_t i = 0; i < positions.size(); ++i) {
      positions[i] = size <= kLooked
                         ? static_cast<std::int64_t>(i)
                         : static_cast<std::int64_t>(static_cast<__int128>(i) * size / kLooked);
    }
    if (size <= kLooked) return positions;
    const Positions known = evenly(misses, kMissesLooked);
    Positions all;
    std::set_union(positions.begin(), positions.end(), known.begin(), known.end(),
                   std::back_inserter(all));
    return all;
  }

  Tensor unchanged(const Sample& sample) const {
    return sample.output(out_, [&](std::int64_t p) { return bits_[p]; });
  }

  // Where no element failed by itself: what is far off for the output's dtype.
  Bound far_off() const {
    double squares = 0, finite = 0;
    for (std::int64_t i = 0; i < looked_.expected().size(); ++i) {
      const double e = looked_.expected().value_at(i);
      if (!std::isfinite(e)) continue;
      squares += e * e;
      ++finite;
    }
    Bound bound = verdict_.bound;
    bound.rule = Rule::kTolerance;
    bound.rtol = std::max(0x1p-5, 2 * unit_roundoff(out_));
    bound.atol = finite > 0 ? bound.rtol * std::sqrt(squares / finite) : 0;
    bound.floor = bound.small_value = bound.small_atol = 0;
    bound.limits.clear();
    return bound;
  }

  // The expected element in the output's format.
  std::uint64_t expected_at(std::int64_t position) const {
    const double e = expected_.value_at(position);
    return expected_bits(out_, expected_, position,
                         expected_.format == &out_ ? e : round_to_output(e));
  }
  double round_to_output(double e) const {
    round_array(out_, &e, 1);
    return e;
  }

  // ------------------------------------------------------------------ elements of one value

  // Zeros of both signs are one value.
  std::uint64_t value_bits(std::int64_t position) const {
    const std::uint64_t bits = bits_[position];
    return decode(out_, bits) == 0 ? 0 : bits;
  }

  // What is said where nearly all misses have the same bits, and the expected values differ.
  std::string never_written() {
    const Positions some = evenly(misses_, kTried);
    std::map<std::uint64_t, std::size_t> counts;
    std::set<std::uint64_t> wanted;
    for (const std::int64_t p : some) {
      ++counts[value_bits(p)];
      if (wanted.size() < 2) wanted.insert(expected_.bits_at(p));
    }
    const auto most =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::uint64_t value = most->first;
    const auto share = [](std::size_t part, std::size_t whole) {
      return static_cast<double>(part) / static_cast<double>(whole);
    };
    if (most->second < kFewest || wanted.size() < 2) return "";
    if (share(most->second, some.size()) < kExplains) return "";
    const auto count = std::count_if(misses_.begin(), misses_.end(),
                                     [&](std::int64_t p) { return value_bits(p) == value; });
    if (by_limits_) {
      const Tensor without = looked_.output(
          out_, [&](std::int64_t p) { return value_bits(p) == value ? expected_at(p) : bits_[p]; });
      if (!looked_.meets_limits(without, verdict_.bound)) return "";
    }
    // From where on the output has nothing else.
    const std::int64_t size = actual_.size();
    std::int64_t begin = size;
    while (begin > 0 && value_bits(begin - 1) == value) --begin;
    const std::string is = value == 0 ? "0" : element_text(out_, value);
    if (begin == 0) {
      says_where_ = true;
      return formatted("every element of the output is {}{}", is,
                       question(value, some, "was it", true));
    }
    const auto in_tail = misses_.end() - std::lower_bound(misses_.begin(), misses_.end(), begin);
    if (in_tail >= static_cast<std::ptrdiff_t>(kFewest) &&
        share(static_cast<std::size_t>(in_tail), misses_.size()) >= kExplains) {
      says_where_ = true;
      begin = *std::lower_bound(misses_.begin(), misses_.end(), begin);
      return formatted("from position {} on, every element of the output is {} ({}){}",
                       grouped(begin), is, explains(static_cast<std::size_t>(in_tail)),
                       question(value, some, "was the tail", true));
    }
    return formatted("the output is {} at {} of {}{}", is, grouped(count), misses_text(),
                     question(value, some, "were they", false));
  }

  // What such a value may come from. `throughout`: all elements, or those from one on, have it.
  std::string question(std::uint64_t value, const Positions& some, std::string_view what,
                       bool throughout) const {
    const double v = decode(out_, value);
    if (std::isnan(v)) return "";
    if (std::isinf(v)) return ": does it overflow?";
    // The largest value of this dtype, or of another one that the result may have passed through.
    if (std::abs(v) == max_finite(out_)) return ": does it saturate?";
    for (const Format& f : formats()) {
      if (f.bits >= 8 && f.kind != Kind::kBool && std::abs(v) == max_finite(f)) {
        return formatted(": does it saturate as {} does?", f.name);
      }
    }
    const auto all_expected = [&](const auto& is) {
      return std::all_of(some.begin(), some.end(),
                         [&](std::int64_t p) { return is(expected_.value_at(p)); });
    };
    if (v == 0 && out_.is_float() &&
        all_expected([&](double e) { return std::abs(e) < min_normal(out_); })) {
      return ": are subnormal numbers flushed to zero?";
    }
    if (v == 0 && !throughout && all_expected([](double e) { return e < 0; })) {
      return ": are negative values cut to zero?";
    }
    return formatted(": {} ever written?", what);
  }

  bool is_miss(std::int64_t position) const {
    return std::binary_search(misses_.begin(), misses_.end(), position);
  }

  // ------------------------------------------------------------------ the changes

  std::vector<Change> changes() const {
    std::vector<Change> all;
    add_exchanged_dimensions(all);
    add_exchanged_rows(all);
    add_shifts(all);
    add_factors(all);
    add_readings(all);
    add_flips(all);
    return all;
  }

  void add_move(std::vector<Change>& all, std::string says,
                std::function<std::int64_t(std::int64_t)> source, bool alters_all = true) const {
    Change change{.says = std::move(says), .bits = {}, .format = &out_};
    change.source = std::move(source);
    change.bits = [this, from = change.source](std::int64_t p) { return bits_[from(p)]; };
    change.alters_all = alters_all;
    all.push_back(std::move(change));
  }

  // Two dimensions: the memory as that of the shape with the two exchanged.
  void add_exchanged_dimensions(std::vector<Change>& all) const {
    const Shape& shape = actual_.shape;
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

  // Two rows, or two columns, where all misses lie in two.
  void add_exchanged_rows(std::vector<Change>& all) const {
    const std::int64_t columns = columns_of(actual_.shape);
    if (actual_.rank() < 2 || columns < 1) return;
    std::set<std::int64_t> in_rows, in_columns;
    for (const std::int64_t p : misses_) {
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

  // By one along a dimension, or in memory; what falls off one end comes in at the other.
  void add_shifts(std::vector<Change>& all) const {
    const Shape& shape = actual_.shape;
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
    const std::int64_t size = actual_.size();
    for (const int step : {1, -1}) {
      add_move(all,
               formatted("the output moved by one element towards its {}",
                         step > 0 ? "beginning" : "end"),
               [size, step](std::int64_t p) { return (p + step + size) % size; });
    }
  }

  // The middle of expected / actual, and rounder numbers near it.
  void add_factors(std::vector<Change>& all) const {
    std::vector<double> ratios;
    double smallest = std::numeric_limits<double>::infinity(), largest = 0;
    for (const std::int64_t p : first_->positions()) {
      const double a = decode(out_, bits_[p]), e = expected_.value_at(p);
      if (!std::isfinite(a) || !std::isfinite(e) || a == 0 || e == 0) continue;
      ratios.push_back(e / a);
      smallest = std::min(smallest, std::abs(e));
      largest = std::max(largest, std::abs(e));
    }
    // Of values of one size a factor cannot be told from a difference.
    if (ratios.size() < kFewest || largest < 1.5 * smallest) return;
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
      // Near 1 only many misses tell a factor from rounding.
      const bool many = 10 * misses_.size() >= looked_.size() && misses_.size() >= 32;
      if (!std::isfinite(by) || by == 0 || by == 1 || std::abs(std::abs(by) / size - 1) > 0.05 ||
          (std::abs(by - 1) < 0.02 && !many) || !known.insert(text).second) {
        continue;
      }
      Change change{.says = formatted("the output times {}", text), .bits = {}, .format = &out_};
      change.is_factor = true;
      change.is_fitted = std::abs(by) != std::exp2(std::round(std::log2(std::abs(by))));
      change.bits = [this, by](std::int64_t p) {
        const std::uint64_t bits = bits_[p];
        const double scaled = by * decode(out_, bits);
        return std::isfinite(scaled) ? encode(out_, scaled) : bits;
      };
      all.push_back(std::move(change));
    }
  }

  // The bits as those of another dtype, or with the bytes of each element reversed.
  void add_readings(std::vector<Change>& all) const {
    const auto holds_codes_alone = [&](const Format& f, const auto& bits) {
      return std::all_of(tried_->positions().begin(), tried_->positions().end(),
                         [&](std::int64_t p) { return is_valid_code(f, bits(p)); });
    };
    const auto as_stored = [this](std::int64_t p) { return bits_[p]; };
    for (const Format& f : formats()) {
      const bool same_width = &f != &out_ && f.storage_bytes == out_.storage_bytes;
      const bool numbers =
          f.kind != Kind::kBool && f.specials != Specials::kScale && f.padding == out_.padding;
      const bool comparable = !f.is_float() || expected_.format->is_float();
      if (!same_width || !numbers || !comparable || !holds_codes_alone(f, as_stored)) continue;
      const bool coarser = f.is_float() && f.precision < out_.precision;
      Change change{.says = formatted("the output read as {}{}", f.name,
                                      coarser ? ", and judged to that precision," : ""),
                    .bits = as_stored,
                    .format = &f};
      change.is_reading = true;
      all.push_back(std::move(change));
    }
    const int width = out_.storage_bytes;
    const auto reversed = [this, width](std::int64_t p) {
      return __builtin_bswap64(bits_[p]) >> (64 - 8 * width);
    };
    if (width < 2 || !holds_codes_alone(out_, reversed)) return;
    all.push_back({.says = "the output with the bytes of each element reversed",
                   .bits = reversed,
                   .format = &out_});
  }

  void add_flips(std::vector<Change>& all) const {
    if (chance_of_flip() > kChanceOfFlip) return;
    for (int bit = out_.padding; bit < out_.padding + out_.bits; ++bit) {
      Change change{
          .says = formatted("the output with bit {} flipped back", bit),
          .bits = [this, bit](std::int64_t p) { return bits_[p] ^ std::uint64_t{1} << bit; },
          .format = &out_};
      change.is_flip = true;
      change.alters_all = false;
      all.push_back(std::move(change));
    }
  }

  // ------------------------------------------------------------------ what they explain

  // The bound under which a changed output is judged.
  Bound bound_of(const Change& change) const {
    Bound bound = bound_;
    if (!change.is_reading) return bound;
    // Values of another dtype are the expected ones as it rounds them.
    bound.round_expected = true;
    const Format& f = *change.format;
    if (f.is_float() && f.precision < out_.precision) {
      bound.rtol = std::max(bound.rtol, 2 * unit_roundoff(f));
    }
    return bound;
  }

  // How likely one miss passes with the value of any other element.
  double chance_of_any_element() const {
    const Positions& all = looked_.positions();
    std::uint64_t state = 0x9e3779b97f4a7c15u;
    const Tensor drawn = first_->output(out_, [&](std::int64_t) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return bits_[all[static_cast<std::size_t>((state >> 20) % all.size())]];
    });
    return (static_cast<double>(first_->passes(drawn, bound_)) + 0.5) /
           static_cast<double>(first_->size() + 1);
  }

  // How likely some flip of a bit makes the worst misses pass: of errors of r bounds, or of r
  // values that the output may have, about four in r. Where low bits of all elements are zero, as
  // those of small whole numbers are, so many fewer values count.
  double chance_of_flip() const {
    std::vector<Miss> worst;
    (void)first_->misses(unchanged(*first_), bound_, &worst);
    std::uint64_t used = 0;
    for (const std::int64_t p : looked_.positions()) used |= bits_[p];
    const int unused = used == 0 ? 0 : std::countr_zero(used);
    double chance = 1;
    for (const Miss& miss : worst) {
      const std::uint64_t ulps = miss.ulps.value_or(std::uint64_t{1} << std::max(out_.bits - 2, 0));
      const double values = static_cast<double>(ulps >> unused);
      const bool finite = std::isfinite(miss.error) && miss.bound > 0;
      chance *= std::min(1.0, 4 / (finite ? std::min(values, miss.error / miss.bound) : values));
    }
    return chance;
  }

  // How many of the misses that it is tried on pass after the change; 0 where they are too few, or
  // where it may be chance.
  std::size_t explained(const Change& change) const {
    const Bound bound = bound_of(change);
    const auto share = [&](const Sample& sample, std::size_t& passes) {
      passes = sample.passes(sample.output(*change.format, change.bits), bound);
      return static_cast<double>(passes) / static_cast<double>(sample.size());
    };
    std::size_t passes = 0;
    if (share(*first_, passes) < kPromises || share(*tried_, passes) < kExplains) return 0;
    if (change.is_flip) return passes;
    if (passes < kFewest) return 0;
    if (change.is_factor) return passes;
    if (static_cast<double>(passes) * std::log(chance_) > std::log(kChance)) return 0;
    if (!change.source) return passes;
    // The expected values, moved in the same way, must miss as well.
    const Tensor moved =
        tried_->output(out_, [&](std::int64_t p) { return expected_at(change.source(p)); });
    return 2 * tried_->passes(moved, bound_) < tried_->size() ? passes : 0;
  }

  std::string misses_text() const {
    const std::string_view word = by_limits_ ? "elements that are far off" : "misses";
    return formatted("{} {}{}", grouped(static_cast<std::int64_t>(misses_.size())),
                     misses_.size() == 1 && !by_limits_ ? "miss" : word,
                     looks_at_all()
                         ? ""
                         : formatted(" among {} elements that were looked at",
                                     grouped(static_cast<std::int64_t>(looked_.size()))));
  }
  std::string explains(std::size_t passes) const {
    return formatted("explains {} of {}", grouped(static_cast<std::int64_t>(passes)),
                     misses_text());
  }

  // What a change does to all elements; "" where it explains too few misses after all.
  std::string said(const Change& change) const {
    std::vector<std::int64_t> missed_after;
    const auto attempt = [&](bool everywhere) {
      const Tensor changed = looked_.output(*change.format, [&](std::int64_t p) {
        return everywhere || is_miss(p) ? change.bits(p) : bits_[p];
      });
      missed_after.clear();
      for (const std::int64_t place : looked_.misses(changed, bound_of(change))) {
        missed_after.push_back(looked_.positions()[at(place)]);
      }
      Bound limits = verdict_.bound;
      limits.round_expected = bound_of(change).round_expected;
      return looked_.meets_limits(changed, limits);
    };
    const bool meets = attempt(change.alters_all);
    const auto left = static_cast<std::size_t>(std::count_if(
        missed_after.begin(), missed_after.end(), [&](std::int64_t p) { return is_miss(p); }));
    const std::size_t passes = misses_.size() - left, broken = missed_after.size() - left;
    if (static_cast<double>(passes) < kExplains * static_cast<double>(misses_.size())) return "";
    // A number that was fitted to a few misses, and is wrong for more elements, is chance.
    if (change.is_fitted && broken > passes) return "";
    if (by_limits_) {
      if (!meets) return "";
      return formatted("{} would pass", change.says);
    }
    if (broken == 0 && left == 0 && meets && looks_at_all()) {
      return formatted("{} would pass ({})", change.says, explains(passes));
    }
    return formatted("{} {}{}", change.says, explains(passes),
                     broken == 0 ? ""
                                 : formatted(", but would miss at {} other{}",
                                             grouped(static_cast<std::int64_t>(broken)),
                                             broken == 1 ? "" : "s"));
  }

  const TensorView& actual_;
  const TensorView& expected_;
  const JudgeOptions& options_;
  const Verdict& verdict_;
  const Format& out_;
  const Bits bits_;
  const bool by_limits_;  // no finite element failed by itself
  Bound bound_;           // what an element misses by
  const Sample looked_;
  Positions misses_;                     // of the elements that are looked at
  std::optional<Sample> first_, tried_;  // some of them
  double chance_ = 1;
  bool says_where_ = false;
};

}  // namespace

std::string failure_pattern(const TensorView& actual, const TensorView& expected,
                            const JudgeOptions& options, const Verdict& verdict,
                            const std::vector<std::int64_t>& misses) {
  Search search(actual, expected, options, verdict, misses);
  std::string text = search.find();
  if (text.empty()) return verdict.where;
  if (verdict.where.empty() || search.says_where()) return text;
  return verdict.where + "; " + text;
}

}  // namespace assay
