#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/judge/metrics.h"
#include "assay/judge/verdict.h"
#include "assay/simd/compare.h"

namespace assay {
namespace {

constexpr std::int64_t kPart = 1 << 18;    // elements that one thread takes at a time
constexpr std::int64_t kBlock = 2048;      // elements decoded at a time; the buffers stay in cache
constexpr std::size_t kPositions = 65536;  // misses whose place is kept for location_pattern
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What one part of the tensors gave.
struct PartResult {
  std::int64_t misses = 0;
  std::int64_t unmeetable = 0;  // misses that the correctly rounded result would be as well
  double worst_ratio = 0;
  bool zeros_would_miss = false;  // some element at which an all-zero output would miss
  std::vector<Miss> worst;
  std::vector<std::int64_t> positions;
  std::optional<MetricsPass> metrics;
};

double ratio_of(const Miss& miss) {
  if (!std::isfinite(miss.error)) return kInfinity;
  return miss.error == 0 ? 0 : miss.error / miss.bound;
}

bool worse_miss(const Miss& a, const Miss& b) {
  const double ra = ratio_of(a), rb = ratio_of(b);
  if (ra != rb) return ra > rb;
  const auto size = [](const Miss& m) { return std::isfinite(m.error) ? m.error : kInfinity; };
  if (size(a) != size(b)) return size(a) > size(b);
  return a.linear < b.linear;
}

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
              (bound.round_expected || bound.rule != Rule::kTolerance);
    integers_ = !out_.is_float() && !expected.format->is_float();
    const std::string_view f32 = "float32";
    direct_ = !options.metrics && bound.rule == Rule::kTolerance && out_.name == f32 &&
              expected.format->name == f32 && actual.is_contiguous() && expected.is_contiguous();
  }

  PartResult run(std::int64_t begin, std::int64_t end) {
    PartResult part;
    if (options_.metrics) part.metrics.emplace(out_, bound_);
    double a[kBlock], e[kBlock], raw[kBlock];
    if (direct_) {
      // Straight from the tensors: no copy of either is made.
      const auto* fa = reinterpret_cast<const float*>(actual_.data) + begin;
      const auto* fe = reinterpret_cast<const float*>(expected_.data) + begin;
      const auto n = static_cast<std::size_t>(end - begin);
      if (simd::count_misses(fa, fe, n, bound_.atol, bound_.rtol) == 0 && zeros_miss(fe, n)) {
        part.zeros_would_miss = true;
        return part;
      }
    }
    for (std::int64_t first = begin; first < end; first += kBlock) {
      const std::int64_t count = std::min(kBlock, end - first);
      const auto n = static_cast<std::size_t>(count);
      actual_.read(first, count, a);
      expected_.read(first, count, raw);
      std::memcpy(e, raw, n * sizeof(double));
      const bool need_rounded = rounds_ || (options_.metrics && expected_.format != &out_);
      if (need_rounded && (out_.is_float() || !has_nan(raw, n))) round_array(out_, e, n);
      if (part.metrics) part.metrics->add(a, raw, e, n, first);
      const double* judged = rounds_ ? e : raw;
      if (bound_.rule == Rule::kTolerance && !integers_) {
        if (!part.zeros_would_miss) part.zeros_would_miss = zeros_miss(judged, n);
        if (simd::count_misses(a, judged, n, bound_.atol, bound_.rtol) == 0) continue;
      }
      for (std::size_t i = 0; i < n; ++i) {
        judge_element(part, first + static_cast<std::int64_t>(i), a[i], judged[i], raw[i]);
      }
    }
    return part;
  }

 private:
  static bool has_nan(const double* values, std::size_t n) {
    return std::any_of(values, values + n, [](double v) { return std::isnan(v); });
  }

  // Whether an output of zeros would miss somewhere. Looks only until the first such element.
  template <typename T>
  bool zeros_miss(const T* expected, std::size_t n) const {
    return std::any_of(expected, expected + n, [&](T value) {
      const double size = std::abs(static_cast<double>(value));
      return !(size <=
               std::min(bound_.atol + bound_.rtol * size, std::numeric_limits<double>::max()));
    });
  }

  std::uint64_t expected_bits(std::int64_t position, double expected) const {
    if (expected_.format == &out_) return expected_.bits_at(position);
    if (std::isnan(expected) && !out_.is_float()) return 0;
    return encode(out_, expected);
  }

  void judge_element(PartResult& part, std::int64_t position, double a, double e, double raw) {
    Miss miss;
    bool missed = false;
    if (integers_) {
      // int64 and its kind exactly: the difference of two needs more than 64 bits.
      const auto ia = static_cast<__int128>(integer_at(actual_, position));
      const auto ie = static_cast<__int128>(integer_at(expected_, position));
      miss.error = static_cast<double>(ia > ie ? ia - ie : ie - ia);
      miss.bound = tolerance_bound(static_cast<double>(ie));
      missed = bound_.rule == Rule::kUlps ? !(miss.error <= static_cast<double>(bound_.ulps))
                                          : ia != ie && !(miss.error <= miss.bound);
      if (bound_.rule != Rule::kTolerance) {
        miss.bound = bound_.rule == Rule::kUlps ? static_cast<double>(bound_.ulps) : 0;
      }
      part.zeros_would_miss |= ie != 0;
    } else {
      missed = judge_float(part, miss, position, a, e);
    }
    if (!missed) {
      part.worst_ratio = std::max(part.worst_ratio, ratio_of(miss));
      return;
    }
    ++part.misses;
    miss.linear = position;
    if (part.positions.size() < kPositions) part.positions.push_back(position);
    if (bound_.rule == Rule::kTolerance && !rounds_ && out_.is_float() && std::isfinite(raw)) {
      const double nearest = round_to(out_, raw);
      if (std::abs(nearest - raw) > miss.bound && std::abs(a - raw) <= std::abs(nearest - raw)) {
        ++part.unmeetable;
      }
    }
    part.worst_ratio = std::max(part.worst_ratio, ratio_of(miss));
    if (part.worst.size() >= options_.worst &&
        (part.worst.empty() || !worse_miss(miss, part.worst.back()))) {
      return;
    }
    miss.actual = a;
    miss.expected = e;
    miss.actual_bits = actual_.bits_at(position);
    miss.expected_bits = expected_bits(position, e);
    if (!std::isnan(a) && !std::isnan(e)) {
      miss.ulps = ulp_distance(out_, miss.actual_bits, miss.expected_bits);
    }
    const auto place = std::upper_bound(part.worst.begin(), part.worst.end(), miss, worse_miss);
    part.worst.insert(place, std::move(miss));
    if (part.worst.size() > options_.worst) part.worst.pop_back();
  }

  // NaN and infinity are settled first; only then arithmetic is done.
  bool judge_float(PartResult& part, Miss& miss, std::int64_t position, double a, double e) const {
    miss.error = std::abs(a - e);
    miss.bound = tolerance_bound(e);
    if (bound_.rule == Rule::kBits) {
      const std::uint64_t bits_a = actual_.bits_at(position), bits_e = expected_bits(position, e);
      miss.bound = 0;
      part.zeros_would_miss |= bits_e != 0;
      if (std::isnan(a) && std::isnan(e)) miss.error = 0;
      return bits_a != bits_e;
    }
    if (bound_.rule == Rule::kUlps) part.zeros_would_miss |= !ulps_ok(0, encode(out_, e));
    if (std::isnan(a) || std::isnan(e)) {
      miss.error = std::numeric_limits<double>::quiet_NaN();
      if (std::isnan(a) && std::isnan(e) && bound_.nan_equal) {
        miss.error = 0;
        return false;
      }
      return true;
    }
    if (std::isinf(a) || std::isinf(e)) {
      miss.error = a == e ? 0 : kInfinity;
      return a != e;
    }
    if (bound_.rule == Rule::kUlps) {
      miss.bound = static_cast<double>(bound_.ulps) * ulp_of(out_, e);
      return !ulps_ok(actual_.bits_at(position), expected_bits(position, e));
    }
    return !(miss.error <= miss.bound);
  }

  bool ulps_ok(std::uint64_t a, std::uint64_t e) const {
    const auto distance = ulp_distance(out_, a, e);
    return distance && *distance <= bound_.ulps;
  }

  double tolerance_bound(double e) const {
    return std::min(bound_.atol + bound_.rtol * std::abs(e), std::numeric_limits<double>::max());
  }

  static std::int64_t integer_at(const TensorView& v, std::int64_t position) {
    return *ordinal(*v.format, v.bits_at(position));
  }

  const TensorView& actual_;
  const TensorView& expected_;
  const Bound& bound_;
  const JudgeOptions& options_;
  const Format& out_;
  bool rounds_, integers_, direct_;
};

std::string percent_text(std::int64_t part, std::int64_t whole) {
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return percent < 0.1 ? format("{:.2g} %", percent) : format("{:.1f} %", percent);
}

std::string difference_words(const Bound& bound, std::int64_t misses) {
  const std::string verb = misses == 1 ? "differs" : "differ";
  switch (bound.rule) {
    case Rule::kUlps:
      return format("{} by more than {}", verb, bound.text());
    case Rule::kBits:
      return verb + " in " + (misses == 1 ? "its" : "their") + " bits";
    case Rule::kTolerance:
      break;
  }
  if (bound.rtol == 0 && bound.atol == 0) return verb;
  return format("{} by more than {}", verb, bound.text());
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
  if (actual.shape != expected.shape) {
    return not_comparable(
        format("the output's shape is {}, the expected one is {}; nothing is "
               "broadcast",
               shape_text(actual.shape), shape_text(expected.shape)));
  }
  if (actual.format->is_float() != expected.format->is_float() && !expected.format->is_float()) {
    return not_comparable(
        format("the output is {}, the expected result {}: integers are no "
               "golden result of a float output",
               actual.format->name, expected.format->name));
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
  const std::int64_t parts = (verdict.sites + kPart - 1) / kPart;
  std::vector<PartResult> results(static_cast<std::size_t>(parts));
  parallel_for(parts, options.threads, [&](std::int64_t p) {
    Judging judging(actual, expected, bound, options);
    results[static_cast<std::size_t>(p)] =
        judging.run(p * kPart, std::min(verdict.sites, (p + 1) * kPart));
  });

  bool zeros_would_miss = false;
  std::int64_t unmeetable = 0;
  std::vector<std::int64_t> positions;
  std::optional<MetricsPass> metrics;
  for (PartResult& part : results) {
    verdict.misses += part.misses;
    unmeetable += part.unmeetable;
    verdict.worst_ratio = std::max(verdict.worst_ratio, part.worst_ratio);
    zeros_would_miss |= part.zeros_would_miss;
    verdict.worst.insert(verdict.worst.end(), part.worst.begin(), part.worst.end());
    positions.insert(positions.end(), part.positions.begin(), part.positions.end());
    if (part.metrics && metrics)
      metrics->merge(*part.metrics);
    else if (part.metrics)
      metrics = part.metrics;
  }
  std::stable_sort(verdict.worst.begin(), verdict.worst.end(), worse_miss);
  if (verdict.worst.size() > options.worst) verdict.worst.resize(options.worst);
  for (Miss& miss : verdict.worst) miss.index = actual.multi_index(miss.linear);
  if (metrics) {
    verdict.metrics = metrics->result();
    if (bound.rule == Rule::kTolerance) {
      verdict.worst_ratio = std::max(verdict.worst_ratio, metrics->worst_ratio());
    }
  }

  const std::string counts =
      format("{} of {} elements ({})", grouped(verdict.misses), grouped(verdict.sites),
             percent_text(verdict.misses, verdict.sites));
  if (verdict.misses > 0 && unmeetable == verdict.misses) {
    verdict.outcome = Outcome::kUntrusted;
    verdict.because = format(
        "{} miss {}, which is below half a {} ulp there: the correctly rounded "
        "result misses it too",
        counts, bound.text(), actual.format->name);
  } else if (verdict.misses > 0) {
    verdict.outcome = Outcome::kFail;
    verdict.because = format("{} {}", counts, difference_words(bound, verdict.misses));
    if (positions.size() == static_cast<std::size_t>(verdict.misses)) {
      verdict.where = location_pattern(positions, verdict.shape);
    }
  } else if (!zeros_would_miss) {
    verdict.outcome = Outcome::kUntrusted;
    verdict.because = format("an output of zeros would pass too: {} is within {} everywhere",
                             "the expected result", bound.text());
  } else {
    verdict.because = format("all {} elements within {}", grouped(verdict.sites), bound.text());
  }
  return verdict;
}

std::vector<Verdict> judge_case(const Case& c, const TensorView& actual,
                                const BoundRequest& request, const JudgeOptions& options) {
  if (!c.golden) {
    return {not_comparable(format(
        "case {} has no golden result; `assay golden` computes one from the inputs", c.name))};
  }
  const Format& wanted = c.output_format();
  if (&wanted != actual.format) {
    return {not_comparable(format("the output is {}, the case's output dtype is {}",
                                  actual.format->name, wanted.name))};
  }
  std::vector<Verdict> verdicts;
  for (const ChosenBound& chosen : choose_bounds(c, wanted, request)) {
    if (chosen.bound) {
      verdicts.push_back(judge(actual, c.golden->view(), *chosen.bound, options));
    } else {
      verdicts.push_back(not_comparable(chosen.why_not));
      verdicts.back().bound.standard = chosen.standard;
    }
  }
  return verdicts;
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
  if (regular && count * step > size / 2) {
    return format("every {} elements, beginning with element {}", grouped(step), positions[0]);
  }
  const std::int64_t box = (high_row - low_row + 1) * (high_column - low_column + 1);
  if (shape.size() >= 2 && count * 2 >= box && box * 2 <= size) {
    return format("in a tile: rows {} to {}, columns {} to {}", low_row, high_row, low_column,
                  high_column);
  }
  return "";
}

}  // namespace assay
