#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "assay/base/float_environment.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/judge/exact.h"
#include "assay/judge/metrics.h"
#include "assay/judge/verdict.h"
#include "assay/simd/compare.h"

namespace assay {
namespace {

constexpr std::int64_t kPart = MetricsPass::kPart;  // elements that one thread takes at a time
constexpr std::int64_t kBlock =
    MetricsPass::kBlock;  // decoded at a time; the buffers stay in cache
// Misses whose place is kept for location_pattern: of a part, of all.
constexpr std::size_t kPositions = 65536, kAllPositions = 1 << 20;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What one part of the tensors gave.
struct PartResult {
  std::int64_t misses = 0, special_misses = 0;
  std::int64_t unmeetable = 0;  // misses that the correctly rounded result would be as well
  double worst_ratio = 0;
  bool zeros_would_miss = false;  // some element at which an all-zero output would miss
  std::int64_t zero_misses = 0;   // how many, counted where misses are forgiven
  std::vector<Miss> worst;
  std::vector<std::int64_t> positions;
  std::optional<MetricsPass> metrics;
};

class Judging {
 public:
  Judging(const TensorView& actual, const TensorView& expected, const Bound& bound,
          const JudgeOptions& options)
      : actual_(actual),
        expected_(expected),
        bound_(bound),
        options_(options),
        out_(*actual.format) {
    rounds_ = expected.format != actual.format &&
              (bound.round_expected || bound.rule == Rule::kUlps || bound.rule == Rule::kBits);
    integers_ = !out_.is_float();
    // The kernel's arithmetic is the rule's, but for an infinite tolerance. What zeros would miss
    // is counted element by element where some misses are forgiven.
    forgives_ = bound.forgiven(actual.size()) > 0;
    kernel_ = bound.is_plain() && !integers_ && !forgives_ && std::isfinite(bound.rtol) &&
              std::isfinite(bound.atol);
    float32_ = kernel_ && is_float32(actual) && is_float32(expected);
    direct_ = float32_ && !options.metrics;
  }

  PartResult run(std::int64_t begin, std::int64_t end) {
    PartResult part;
    if (options_.metrics) part.metrics.emplace(out_, bound_);
    if (direct_) {
      // Straight from the tensors: no copy of either is made.
      const float *fa = floats(actual_) + begin, *fe = floats(expected_) + begin;
      const auto n = static_cast<std::size_t>(end - begin);
      if (simd::count_misses(fa, fe, n, bound_.atol, bound_.rtol) == 0 && zeros_miss(fe, n)) {
        part.zeros_would_miss = true;
        return part;
      }
    }
    double a[kBlock], e[kBlock], raw[kBlock], errors[kBlock];
    for (std::int64_t first = begin; first < end; first += kBlock) {
      const std::int64_t count = std::min(kBlock, end - first);
      const auto n = static_cast<std::size_t>(count);
      // Float32 straight from the tensors; decoded only where something may miss.
      const bool direct = float32_ && part.metrics && n % simd::kMetricsLanes == 0;
      if (direct) {
        const auto* fe = floats(expected_) + first;
        part.metrics->add(floats(actual_) + first, fe, n, first);
        if (!part.zeros_would_miss) part.zeros_would_miss = zeros_miss(fe, n);
        if (!part.metrics->may_miss()) continue;
      }
      actual_.read(first, count, a);
      expected_.read(first, count, raw);
      double* rounded = raw;
      if (expected_.format != &out_) {
        rounded = e;
        std::memcpy(e, raw, n * sizeof(double));
        if (rounds_ || options_.metrics) round_array(out_, e, n);
      }
      if (part.metrics) {
        if (!direct) {
          const bool exact = exact_errors(actual_, expected_, first, n, errors);
          part.metrics->add(a, raw, rounded, n, first, exact ? errors : nullptr);
        }
        compare_nan_bits(*part.metrics, actual_, expected_, first, n, a, rounded);
      }
      const double* judged = rounds_ ? e : raw;
      if (kernel_) {
        if (!part.zeros_would_miss) part.zeros_would_miss = zeros_miss(judged, n);
        if (part.metrics && !part.metrics->may_miss()) continue;
        if (simd::count_misses(a, judged, n, bound_.atol, bound_.rtol) == 0) continue;
      }
      for (std::size_t i = 0; i < n; ++i) {
        part.zero_misses +=
            judge_element(part, first + static_cast<std::int64_t>(i), a[i], judged[i], raw[i]) ? 1
                                                                                               : 0;
      }
    }
    if (part.metrics) part.metrics->finish();
    return part;
  }

 private:
  static bool is_float32(const TensorView& v) {
    return v.format->name == "float32" && v.is_contiguous() &&
           reinterpret_cast<std::uintptr_t>(v.data) % alignof(float) == 0;
  }
  static const float* floats(const TensorView& v) { return reinterpret_cast<const float*>(v.data); }

  // Whether an output of zeros would miss somewhere. Looks only until the first such element.
  template <typename T>
  bool zeros_miss(const T* expected, std::size_t n) const {
    return std::any_of(expected, expected + n,
                       [&](T value) { return zero_misses(static_cast<double>(value)); });
  }
  bool zero_misses(double expected) const {
    if (std::isnan(expected)) return !bound_.nan_accepts;
    if (std::isinf(expected)) return bound_.infinity != Infinity::kFewer;
    return !(std::abs(expected) <= tolerance_at(bound_, expected));
  }

  // The bound of an element, its own where the caller gave one.
  double limit_at(std::int64_t position, double expected, double actual) const {
    if (bound_.rule == Rule::kStatistics) return std::numeric_limits<double>::max();
    const double own =
        bound_.rule == Rule::kGiven ? options_.element_bounds->value_at(position) : 0;
    return std::min(tolerance_at(bound_, expected, actual) + own,
                    std::numeric_limits<double>::max());
  }
  bool outside(std::int64_t position, double a, double e) const {
    const double error = std::abs(a - e), limit = limit_at(position, e, a);
    if (bound_.rule == Rule::kSymmetric) return !(a == e || error < limit);
    return !(error <= limit);
  }

  // Whether zero in its place would miss, NaN and infinity aside (those set zeros_would_miss).
  bool judge_element(PartResult& part, std::int64_t position, double a, double e, double raw) {
    Miss miss;
    bool special = false, zero_misses = false;
    const bool missed = integers_
                            ? judge_integer(part, miss, special, zero_misses, position, a, raw)
                            : judge_float(part, miss, special, zero_misses, position, a, e, raw);
    if (!missed) {
      if (miss.error > 0 && miss.bound > 0 && bound_.rule != Rule::kStatistics) {
        part.worst_ratio = std::max(part.worst_ratio, miss.error / miss.bound);
      }
      return zero_misses;
    }
    ++part.misses;
    part.special_misses += special ? 1 : 0;
    miss.linear = position;
    if (part.positions.size() < kPositions) part.positions.push_back(position);
    if (!rounds_ && out_.is_float() && std::isfinite(raw) && !special &&
        bound_.rule != Rule::kUlps && bound_.rule != Rule::kBits) {
      const double nearest = round_to(out_, raw);
      if (std::isfinite(nearest) && outside(position, nearest, raw) &&
          std::abs(a - raw) <= std::abs(nearest - raw)) {
        ++part.unmeetable;
      }
    }
    part.worst_ratio = std::max(part.worst_ratio, ratio_of(miss));
    if (part.worst.size() >= options_.worst &&
        (part.worst.empty() || !worse_miss(miss, part.worst.back()))) {
      return zero_misses;
    }
    miss.actual = a;
    miss.expected = integers_ ? raw : e;
    miss.actual_bits = actual_.bits_at(position);
    miss.expected_bits = expected_bits(out_, expected_, position, e);
    if (!std::isnan(a) && !std::isnan(e)) {
      miss.ulps = ulp_distance(out_, miss.actual_bits, miss.expected_bits);
    }
    const auto place = std::upper_bound(part.worst.begin(), part.worst.end(), miss, worse_miss);
    part.worst.insert(place, std::move(miss));
    if (part.worst.size() > options_.worst) part.worst.pop_back();
    return zero_misses;
  }

  // Integers and bool, exactly: the difference of two int64 needs more than 64 bits.
  bool judge_integer(PartResult& part, Miss& miss, bool& special, bool& zero_misses,
                     std::int64_t position, double a, double raw) const {
    const auto ia = static_cast<__int128>(integer_at(actual_, position));
    const auto ie = expected_integer(out_, expected_, position, raw);
    if (!ie) {
      special = !std::isfinite(raw);
      miss.error = std::isnan(raw) ? raw : kInfinity;
      part.zeros_would_miss = true;
      return true;
    }
    // What the standard does not round is compared as the real number that it is.
    const bool fraction = !rounds_ && bound_.rule == Rule::kTolerance &&
                          raw != std::nearbyint(raw) && expected_.format->is_float();
    const __int128 difference = ia > *ie ? ia - *ie : *ie - ia;
    const __int128 size = *ie < 0 ? -*ie : *ie;
    miss.error = fraction ? std::abs(a - raw) : static_cast<double>(difference);
    const double limit = bound_.rule == Rule::kUlps   ? static_cast<double>(bound_.ulps)
                         : bound_.rule == Rule::kBits ? 0
                                                      : tolerance_at(bound_, raw);
    miss.bound = limit;
    const auto within = [&](__int128 distance) {
      if (bound_.rule == Rule::kUlps) return distance <= static_cast<__int128>(bound_.ulps);
      return limit >= 0x1p120 || distance <= static_cast<__int128>(limit);
    };
    zero_misses = !within(size);
    return fraction ? !(miss.error <= limit) : !within(difference);
  }

  // Infinity of its sign, by the policy: of saturating hardware the largest value is one.
  double as_infinity(double value) const {
    const bool counts =
        bound_.infinity == Infinity::kSaturating && std::abs(value) >= max_finite(out_);
    return counts ? std::copysign(kInfinity, value) : value;
  }

  // NaN and infinity are settled first; only then arithmetic is done.
  bool judge_float(PartResult& part, Miss& miss, bool& special, bool& zero_misses,
                   std::int64_t position, double a, double e, double raw) const {
    miss.error = std::abs(a - e);
    const bool can_hold = !(std::isnan(e) && out_.specials == Specials::kFinite);
    if (bound_.rule == Rule::kBits) {
      const std::uint64_t bits_a = actual_.bits_at(position),
                          bits_e = expected_bits(out_, expected_, position, e);
      special = !std::isfinite(a) || !std::isfinite(e);
      zero_misses = bits_e != 0 || !can_hold;
      if (std::isnan(a) && std::isnan(e)) miss.error = 0;
      return !can_hold || bits_a != bits_e || (std::isinf(e) && !std::isinf(a));
    }
    // What overflows to NaN in a format without infinity is an infinity to saturating hardware.
    const bool saturates = bound_.infinity == Infinity::kSaturating;
    if (saturates && std::isnan(e) && !std::isnan(raw)) e = raw;
    special =
        !std::isfinite(a) || !std::isfinite(e) || (saturates && std::abs(e) > max_finite(out_));
    if (special) {
      if (std::isnan(e) && bound_.nan_accepts) {
        miss.error = 0;
        return false;
      }
      const bool fewer = bound_.infinity == Infinity::kFewer && std::isinf(e);
      part.zeros_would_miss |= !std::isfinite(e) && !fewer;
      if (std::isnan(a) || std::isnan(e)) {
        const bool equal = std::isnan(a) && std::isnan(e) && bound_.nan_equal;
        miss.error = equal ? 0 : std::numeric_limits<double>::quiet_NaN();
        return !equal;
      }
      const bool equal = as_infinity(a) == as_infinity(e) || (fewer && std::isfinite(a));
      miss.error = equal ? 0 : kInfinity;
      return !equal;
    }
    if (bound_.rule == Rule::kUlps) {
      const std::uint64_t bits_e = expected_bits(out_, expected_, position, e);
      zero_misses = !ulps_ok(0, bits_e);
      miss.bound = static_cast<double>(bound_.ulps) * ulp_of(out_, e);
      return !ulps_ok(actual_.bits_at(position), bits_e);
    }
    zero_misses = outside(position, 0, e);
    miss.bound = limit_at(position, e, a);
    return outside(position, a, e);
  }

  bool ulps_ok(std::uint64_t a, std::uint64_t e) const {
    const auto distance = ulp_distance(out_, a, e);
    return distance && *distance <= bound_.ulps;
  }

  const TensorView& actual_;
  const TensorView& expected_;
  const Bound& bound_;
  const JudgeOptions& options_;
  const Format& out_;
  bool rounds_, integers_, forgives_, kernel_, float32_, direct_;
};

// "1.6 %"; never "100.0 %" or "0 %" of what is not all or none.
std::string percent_text(std::int64_t part, std::int64_t whole) {
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (part < whole && percent >= 99.95)
    return format("{:.{}g} %", percent, percent >= 99.9995 ? 8 : 5);
  return percent < 0.1 ? format("{:.2g} %", percent) : format("{:.1f} %", percent);
}

// "MERE 0.002, which must be < 0.000977".
std::string broken_limits(const std::vector<LimitReading>& readings) {
  std::string text;
  for (const LimitReading& r : readings) {
    if (holds(readings, r)) continue;
    const bool in_group = r.limit.group != 0;
    text += format("{}{} is {}",
                   text.empty() ? ""
                   : in_group   ? ", and "
                                : "; ",
                   r.limit.text(), short_number(r.value, 4));
  }
  return text;
}

std::string difference_words(const Bound& bound, std::int64_t misses) {
  const std::string verb = misses == 1 ? "differs" : "differ";
  switch (bound.rule) {
    case Rule::kUlps:
      return format("{} by more than {}", verb, bound.text());
    case Rule::kBits:
      return verb + " in " + (misses == 1 ? "its" : "their") + " bits";
    case Rule::kStatistics:
      return verb + " as NaN and infinity do";
    default:
      break;
  }
  if (bound.is_plain() && bound.rtol == 0 && bound.atol == 0) return verb;
  return format("{} by more than {}", verb, bound.text());
}

bool same_memory(const TensorView& a, const TensorView& b) {
  return a.data == b.data && a.format == b.format && a.strides == b.strides;
}

// The outcome and its words, from the counts.
void settle(Verdict& verdict, const StatisticsResult& statistics, bool zeros_would_miss,
            std::int64_t unmeetable, const std::vector<std::int64_t>& positions) {
  const Bound& bound = verdict.bound;
  const std::string counts =
      format("{} of {} elements ({})", grouped(verdict.misses), grouped(verdict.sites),
             percent_text(verdict.misses, verdict.sites));
  const bool misses = verdict.misses > verdict.forgiven;
  const std::string budget =
      bound.max_mismatches || bound.max_mismatch_fraction
          ? format("; {} are allowed", grouped(bound.forgiven(verdict.sites)))
          : "";
  if (misses && unmeetable == verdict.misses) {
    verdict.outcome = Outcome::kUntrusted;
    verdict.because = format(
        "{} miss {}, which is below half a {} ulp there: the correctly rounded "
        "result misses it too",
        counts, bound.text(), verdict.format->name);
  } else if (misses) {
    verdict.outcome = Outcome::kFail;
    verdict.because = format("{} {}{}", counts, difference_words(bound, verdict.misses), budget);
    if (positions.size() == static_cast<std::size_t>(verdict.misses)) {
      verdict.where = location_pattern(positions, verdict.shape);
    }
  } else if (!statistics.met) {
    verdict.outcome = Outcome::kFail;
    verdict.because = broken_limits(statistics.readings);
  } else if (!zeros_would_miss && statistics.trivial_met) {
    verdict.outcome = Outcome::kUntrusted;
    verdict.because =
        bound.limits.empty()
            ? format(
                  "an output of zeros would pass too: the expected result is within {} "
                  "everywhere{}",
                  bound.text(), budget)
            : format("an output of zeros, or the negated one, would pass too: {} holds for it",
                     bound.text());
  } else if (bound.rule == Rule::kTolerance &&
             !(std::isfinite(bound.atol) && std::isfinite(bound.rtol))) {
    verdict.outcome = Outcome::kUntrusted;
    verdict.because = "the tolerance is infinite: any finite output would pass";
  } else if (verdict.misses > 0) {
    verdict.because = format("{} {}{}", counts, difference_words(bound, verdict.misses), budget);
  } else {
    verdict.because =
        bound.rule == Rule::kStatistics
            ? format("{} over {} elements", bound.text(), grouped(verdict.sites))
            : format("all {} elements within {}", grouped(verdict.sites), bound.text());
  }
}

}  // namespace

std::string_view outcome_word(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "pass";
    case Outcome::kFail:
      return "fail";
    case Outcome::kUntrusted:
      return "untrusted";
    case Outcome::kNotComparable:
      return "not_comparable";
  }
  return "";
}

Verdict not_comparable(std::string because) {
  Verdict verdict;
  verdict.outcome = Outcome::kNotComparable;
  verdict.because = std::move(because);
  return verdict;
}

Verdict judge(const TensorView& actual, const TensorView& expected, const Bound& bound,
              const JudgeOptions& options) {
  const FloatEnvironment environment;
  if (actual.format == nullptr || expected.format == nullptr) {
    throw std::invalid_argument("judge: a view without data has no values to compare");
  }
  const auto refuse = [&](std::string because) {
    Verdict refused = not_comparable(std::move(because));
    refused.bound = bound;
    return refused;
  };
  if (actual.shape != expected.shape) {
    return refuse(
        format("the output's shape is {}, the expected one is {}; nothing is "
               "broadcast",
               shape_text(actual.shape), shape_text(expected.shape)));
  }
  if (actual.format->is_float() != expected.format->is_float() && !expected.format->is_float()) {
    return refuse(
        format("the output is {}, the expected result {}: integers are no "
               "golden result of a float output",
               actual.format->name, expected.format->name));
  }
  if (bound.rule == Rule::kGiven &&
      (!options.element_bounds || options.element_bounds->shape != actual.shape)) {
    return refuse(
        format("standard {} needs the bound of each element, computed from the case's operands and "
               "a machine (`assay gate`), and there is none",
               bound.standard));
  }
  Verdict verdict;
  verdict.bound = bound;
  verdict.format = actual.format;
  verdict.shape = actual.shape;
  verdict.sites = actual.size();
  if (verdict.sites == 0) {
    verdict.outcome = Outcome::kUntrusted;
    verdict.because = "there are no elements to compare";
    return verdict;
  }
  bool zeros_would_miss = false;
  std::int64_t unmeetable = 0, zero_misses = 0;
  std::vector<std::int64_t> positions;
  std::optional<MetricsPass> metrics;
  // Parts are merged in order, a few at a time: what is kept does not grow with the tensor.
  const std::int64_t parts = (verdict.sites + kPart - 1) / kPart;
  const std::int64_t threads = options.threads > 0 ? options.threads : default_threads();
  const std::int64_t at_once = std::max<std::int64_t>(64, 8 * threads);
  for (std::int64_t begin = 0; begin < parts; begin += at_once) {
    const std::int64_t count = std::min(at_once, parts - begin);
    std::vector<PartResult> results(static_cast<std::size_t>(count));
    parallel_for(count, options.threads, [&](std::int64_t p) {
      Judging judging(actual, expected, bound, options);
      const std::int64_t first = (begin + p) * kPart;
      results[static_cast<std::size_t>(p)] =
          judging.run(first, std::min(verdict.sites, first + kPart));
    });
    for (PartResult& part : results) {
      verdict.misses += part.misses;
      verdict.special_misses += part.special_misses;
      unmeetable += part.unmeetable;
      verdict.worst_ratio = std::max(verdict.worst_ratio, part.worst_ratio);
      zeros_would_miss |= part.zeros_would_miss;
      zero_misses += part.zero_misses;
      verdict.worst.insert(verdict.worst.end(), part.worst.begin(), part.worst.end());
      const std::size_t room = kAllPositions - positions.size();
      positions.insert(positions.end(), part.positions.begin(),
                       part.positions.begin() +
                           static_cast<std::ptrdiff_t>(std::min(room, part.positions.size())));
      if (part.metrics && metrics)
        metrics->merge(*part.metrics);
      else if (part.metrics)
        metrics = std::move(part.metrics);
    }
    std::stable_sort(verdict.worst.begin(), verdict.worst.end(), worse_miss);
    if (verdict.worst.size() > options.worst) verdict.worst.resize(options.worst);
  }
  for (Miss& miss : verdict.worst) miss.index = actual.multi_index(miss.linear);
  if (metrics) {
    verdict.metrics = metrics->result();
    if (bound.is_plain()) {
      verdict.worst_ratio = std::max(verdict.worst_ratio, metrics->worst_ratio());
    }
  }

  // The budget forgives finite misses alone.
  const std::int64_t budget = bound.forgiven(verdict.sites);
  zeros_would_miss |= zero_misses > budget;
  if (verdict.special_misses == 0 && verdict.misses <= budget) verdict.forgiven = verdict.misses;
  StatisticsResult statistics;
  statistics.met = statistics.trivial_met = true;
  if (!bound.limits.empty()) {
    const TensorView* benchmark = options.benchmark ? &*options.benchmark : nullptr;
    statistics = judge_statistics(actual, expected, benchmark, bound.round_expected, bound.limits);
    if (!statistics.why_not.empty()) return refuse(statistics.why_not);
    verdict.readings = statistics.readings;
    verdict.worst_ratio = std::max(verdict.worst_ratio, statistics.worst_ratio);
    if (bound.needs_benchmark() && same_memory(actual, *benchmark)) {
      verdict.outcome = Outcome::kUntrusted;
      verdict.because = "the benchmark is the output itself: the check could not have failed";
      return verdict;
    }
  }
  settle(verdict, statistics, zeros_would_miss, unmeetable, positions);
  return verdict;
}

Outcome worse(Outcome a, Outcome b) {
  for (const Outcome outcome : {Outcome::kFail, Outcome::kNotComparable, Outcome::kUntrusted}) {
    if (a == outcome || b == outcome) return outcome;
  }
  return Outcome::kPass;
}

Outcome worst_outcome(const std::vector<Verdict>& verdicts) {
  if (verdicts.empty()) return Outcome::kNotComparable;
  Outcome worst = Outcome::kPass;
  for (const Verdict& verdict : verdicts) worst = worse(worst, verdict.outcome);
  return worst;
}

std::string location_pattern(const std::vector<std::int64_t>& positions, const Shape& shape) {
  const std::int64_t size = element_count(shape);
  const auto count = static_cast<std::int64_t>(positions.size());
  if (count == size && count > 1) return "every element";
  if (count < 3) return "";
  const std::int64_t columns = shape.empty() ? 1 : shape.back();
  std::int64_t low_row = positions.front() / columns, high_row = positions.back() / columns;
  std::int64_t low_column = columns, high_column = -1;
  for (const std::int64_t p : positions) {
    low_column = std::min(low_column, p % columns);
    high_column = std::max(high_column, p % columns);
  }
  const std::int64_t rows = size / columns;
  if (shape.size() >= 2 && rows > 1 && columns > 1) {
    if (low_row == high_row) return format("all in row {}", low_row);
    if (low_column == high_column) return format("all in column {}", low_column);
  }
  const std::int64_t step = positions[1] - positions[0];
  bool regular = true;
  for (std::size_t i = 2; i < positions.size(); ++i) {
    regular = regular && positions[i] - positions[i - 1] == step;
  }
  if (regular && step == 1) {
    return positions.back() == size - 1
               ? format("the tail: every element from position {} on", grouped(positions[0]))
               : format("a run of {} elements from position {}", grouped(count),
                        grouped(positions[0]));
  }
  if (regular && step > 0 && positions.back() + step >= size && positions.front() < step) {
    return format("every {} elements, beginning with element {}", grouped(step), positions[0]);
  }
  const std::int64_t box = (high_row - low_row + 1) * (high_column - low_column + 1);
  if (shape.size() >= 2 && count * 2 >= box && box * 2 <= size) {
    // A power of two in each direction that begins at a multiple of it: a block of the kernel's.
    const auto aligned = [](std::int64_t low, std::int64_t high) {
      const std::int64_t extent = high - low + 1;
      return extent > 1 && (extent & (extent - 1)) == 0 && low % extent == 0;
    };
    const bool block = aligned(low_row, high_row) && aligned(low_column, high_column);
    return format("in {}tile: rows {} to {}, columns {} to {}", block ? "an aligned " : "a ",
                  low_row, high_row, low_column, high_column);
  }
  if (shape.size() == 2 && rows > 2 && columns > 2) {
    const bool edges = std::all_of(positions.begin(), positions.end(), [&](std::int64_t p) {
      const std::int64_t row = p / columns, column = p % columns;
      return row == 0 || row == rows - 1 || column == 0 || column == columns - 1;
    });
    const std::int64_t boundary = 2 * (rows + columns) - 4;
    if (edges && 2 * count >= boundary && 2 * boundary <= size) {
      return "on the boundary: first and last rows and columns";
    }
  }
  return "";
}

}  // namespace assay
