#include "assay/judge/elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "assay/base/constants.h"
#include "assay/base/int128.h"
#include "assay/format/convert.h"
#include "assay/judge/block_rule.h"
#include "assay/judge/complex.h"
#include "assay/judge/exact.h"
#include "assay/judge/parts.h"
#include "assay/judge/rule_table.h"
#include "assay/simd/compare.h"

namespace assay::inline v0_2 {
namespace {

class ElementJudge {
 public:
  ElementJudge(const TensorView& actual, const TensorView& expected, const Bound& bound,
               const JudgeOptions& options, const MetricsRequest& wanted, std::int64_t offset)
      : actual_(actual),
        expected_(expected),
        bound_(bound),
        options_(options),
        out_(*actual.format),
        offset_(offset),
        wanted_(wanted) {
    rounds_ = rounds_expected(bound, out_, *expected.format);
    const bool as_stored = expected.format == actual.format || rounds_;
    vanishing_ = as_stored ? 0 : vanishing_size(out_);
    of_exact_ =
        !bound.round_expected && (bound.rule == Rule::kTolerance || rule_.by_element_bounds);
    integers_ = !out_.is_float();
    blocks_ = block_rule(bound, out_);
    limits_alone_ = bound.rule == Rule::kStatistics && !integers_ && wanted.parts != 0 &&
                    bound.infinity != Infinity::kSaturating;
    float32_ = floats_in_place(actual) != nullptr && floats_in_place(expected) != nullptr;
    const bool fit = float32_holds(actual) && (rounds_ ? out_.has_infinity() && has_floats(expected)
                                                       : float32_holds(expected));
    // Ulps are computed from rounded values.
    const bool has_ulps = rounds_ || expected.format == actual.format;
    unsigned& parts = wanted_.parts;
    if (parts != 0 && !(fit && (has_ulps || (parts & simd::kPartUlps) == 0))) {
      parts = simd::kAllParts;
    }
    as_floats_ = fit && parts != simd::kAllParts &&
                 (parts != 0 || (blocks_ != BlockRule::kNone && !rule_.by_element_bounds));
    if (blocks_ == BlockRule::kUlps || blocks_ == BlockRule::kBits) ordinals_ = ordinals_of(out_);
    tolerance_ = {.form = rule_.form,
                  .rtol = bound.rtol,
                  .atol = bound.atol,
                  .floor = bound.floor,
                  .small_value = bound.small_value,
                  .small_atol = bound.small_atol};
  }

  ElementFindings run(std::int64_t begin, std::int64_t end) const {
    ElementFindings found;
    if (integers_ && expected_.format->is_float()) found.floats_for_integers = expected_.format;
    if (wanted_.parts != 0) found.metrics.emplace(out_, bound_, wanted_);
    if (options_.mismatch_map) found.mismatch_map.emplace(actual_.shape);
    if (as_floats_) {
      double worst = 0;
      const std::int64_t stretch = float32_ ? kStretchInPlace : kStretch;
      for (std::int64_t first = begin; first < end; first += stretch) {
        judge_floats(found, first, std::min(stretch, end - first), worst);
      }
      note_worst(found, worst);
    } else {
      for (std::int64_t first = begin; first < end; first += kMetricsBlock) {
        judge_block(found, first, std::min(kMetricsBlock, end - first));
      }
    }
    if (found.metrics) found.metrics->finish();
    return found;
  }

 private:
  // The number of float32 elements that are judged together: in the tensors' memory, or in copies,
  // which must stay in cache.
  static constexpr std::int64_t kStretchInPlace = 16 * kMetricsBlock, kStretch = 4 * kMetricsBlock;

  void judge_block(ElementFindings& found, std::int64_t first, std::int64_t count) const {
    const auto n = static_cast<std::size_t>(count);
    MetricsPass* const metrics = found.metrics ? &*found.metrics : nullptr;
    // Reads float32 straight from the tensors. Decodes only blocks that may have a mismatch.
    const bool direct = float32_ && metrics != nullptr;
    if (direct) {
      const auto* fe = floats_in_place(expected_) + first;
      metrics->add(floats_in_place(actual_) + first, fe, n, offset_ + first);
      if (blocks_ == BlockRule::kPlain && !metrics->may_mismatch()) {
        all_close(found, first, fe, fe, n);
        return;
      }
      if (limits_alone_ && !metrics->met_special()) return;
    }
    judge_doubles(found, first, n, metrics, direct);
  }

  // Judges values that float32 can hold, as judge_block() does, but without metrics or only with
  // those that limits are read from. Only blocks with a mismatch are copied to float64. `worst` is
  // the largest error so far, in the unit of the rule's kernel.
  void judge_floats(ElementFindings& found, std::int64_t first, std::int64_t count,
                    double& worst) const {
    const auto n = static_cast<std::size_t>(count);
    float room_a[kStretch], room_e[kStretch];
    const float* const a = floats_of(actual_, first, n, room_a);
    const float* const e =
        rounds_ ? rounded_floats(first, n, room_e) : floats_of(expected_, first, n, room_e);
    bool met_special = false;
    const auto for_blocks = [&](const auto& take) {
      for (std::int64_t at = 0; at < count; at += kMetricsBlock) {
        take(at, static_cast<std::size_t>(std::min(kMetricsBlock, count - at)));
      }
    };
    if (found.metrics) {
      for_blocks([&](std::int64_t at, std::size_t block) {
        found.metrics->add(a + at, e + at, block, offset_ + first + at);
        met_special |= found.metrics->met_special();
      });
      if (limits_alone_ && !met_special) return;
    }
    if (no_float_mismatches(found, first, a, e, n, worst)) return;
    for_blocks([&](std::int64_t at, std::size_t block) {
      judge_doubles(found, first + at, block, nullptr, false);
    });
  }

  // `taken` is true if `metrics`, which may be null, already has these elements.
  void judge_doubles(ElementFindings& found, std::int64_t first, std::size_t n,
                     MetricsPass* metrics, bool taken) const {
    const auto count = static_cast<std::int64_t>(n);
    double a[kMetricsBlock], e[kMetricsBlock], room[kMetricsBlock];
    actual_.read(first, count, a);
    const bool measures = metrics != nullptr;
    if (measures) expected_.read(first, count, room);
    const double* const raw = measures ? room : doubles_of(expected_, first, count, room);
    double* rounded = room;  // as the metrics read it
    if (expected_.format != &out_ && (rounds_ || measures)) {
      rounded = e;
      std::memcpy(e, raw, n * sizeof(double));
      round_expected(out_, e, n);
    }
    if (metrics != nullptr) {
      if (!taken) {
        IntegerErrors errors;
        const bool exact = exact_errors(actual_, expected_, first, n, errors);
        metrics->add(a, room, rounded, n, offset_ + first, exact ? &errors : nullptr);
      }
      compare_nan_bits(*metrics, actual_, expected_, first, n, a, rounded);
      if (limits_alone_ && !metrics->met_special()) return;
    }
    const double* judged = rounds_ ? e : raw;
    if (none_mismatches(found, first, a, judged, n)) return;
    // Some elements are mismatches. Judge each element, but only in strips that have a mismatch.
    constexpr std::size_t kStrip = 16;
    for (std::size_t begin = 0; begin < n; begin += kStrip) {
      const std::size_t end = std::min(n, begin + kStrip);
      if (none_mismatches(found, first + static_cast<std::int64_t>(begin), a + begin,
                          judged + begin, end - begin)) {
        continue;
      }
      for (std::size_t i = begin; i < end; ++i) {
        judge_element(found, first + static_cast<std::int64_t>(i), a[i], judged[i], raw[i]);
      }
    }
  }

  // True if the kernels find no mismatch among the n elements from `first` on. Then it also counts
  // the mismatches that zeros would have, and records the ratios of errors to bounds. The kernels
  // count NaN and infinity as mismatches.
  bool none_mismatches(ElementFindings& found, std::int64_t first, const double* a, const double* e,
                       std::size_t n) const {
    switch (blocks_) {
      case BlockRule::kNone:
        return false;
      case BlockRule::kPlain:
        return all_close(found, first, a, e, n);
      case BlockRule::kTolerance:
        return all_within(found, first, a, e, n);
      case BlockRule::kUlps:
        return all_near(found, first, a, e, n);
      case BlockRule::kBits:
        return all_equal(found, a, e, n);
    }
    return false;
  }

  // True if the view's elements are contiguous and float32 can hold every value of their format.
  static bool float32_holds(const TensorView& v) {
    const Format& f = *v.format;
    if (floats_in_place(v) != nullptr) return true;
    return v.is_contiguous() && f.is_float() && f.storage_bytes <= 2 &&
           max_finite(f) <= static_cast<double>(std::numeric_limits<float>::max()) &&
           min_subnormal(f) >= static_cast<double>(std::numeric_limits<float>::denorm_min());
  }

  static bool has_floats(const TensorView& v) {
    return float32_holds(v) || doubles_in_place(v) != nullptr;
  }

  // Returns elements as float32: in place, or decoded to `room`.
  static const float* floats_of(const TensorView& v, std::int64_t first, std::size_t n,
                                float* room) {
    if (const float* const in_place = floats_in_place(v)) return in_place + first;
    decode_array(*v.format, v.data + first * v.format->storage_bytes, n, room);
    return room;
  }

  // Returns expected values, rounded to the output's format.
  const float* rounded_floats(std::int64_t first, std::size_t n, float* room) const {
    if (const double* const doubles = doubles_in_place(expected_)) {
      round_array(out_, doubles + first, n, room);
    } else {
      round_array(out_, floats_of(expected_, first, n, room), n, room);
    }
    return room;
  }

  // Does the same as none_mismatches() for float32 values.
  bool no_float_mismatches(ElementFindings& found, std::int64_t first, const float* a,
                           const float* e, std::size_t n, double& worst) const {
    const auto met = [&](const auto& c, double worst_of_these) {
      if (!count(found, first, e, n, c)) return false;
      worst = worst_of_these;
      return true;
    };
    switch (blocks_) {
      case BlockRule::kNone:
        return false;
      case BlockRule::kPlain:
        return all_close(found, first, a, e, n);
      case BlockRule::kTolerance: {
        if (rule_.by_element_bounds) return false;
        const auto c = simd::compare(a, e, n, tolerance_, worst);
        return met(c, c.worst_ratio);
      }
      case BlockRule::kUlps: {
        const auto c = near(a, e, n, worst);
        return met(c, c.worst_error);
      }
      case BlockRule::kBits:
        return all_equal(found, a, e, n);
    }
    return false;
  }

  // `worst` is in the kernel's unit: a multiple of the tolerance, or a number of spacings.
  void note_worst(ElementFindings& found, double worst) const {
    if (blocks_ == BlockRule::kUlps) {
      if (bound_.ulps == 0) return;
      worst /= static_cast<double>(bound_.ulps);
    }
    found.worst_ratio = std::max(found.worst_ratio, worst);
  }

  // Adds what a kernel counted over n elements from `first` on. Returns false, and adds nothing, if
  // one is a mismatch.
  template <typename T>
  bool count(ElementFindings& found, std::int64_t first, const T* e, std::size_t n,
             const simd::Comparison& c) const {
    if (c.mismatches > 0) return false;
    std::int64_t zeros = c.zero, zeros_within = c.zero_within;
    // The kernel compares with 0 itself. An expected value that rounds to 0 must not count as
    // blind.
    for (std::size_t i = 0; vanishing_ > 0 && i < n; ++i) {
      const double value = e[i];
      if (value == 0 || std::abs(value) > vanishing_) continue;
      ++zeros;
      if (zero_mismatches(first + static_cast<std::int64_t>(i), value)) ++zeros_within;
    }
    found.mismatches_of_zeros += static_cast<std::int64_t>(n) - c.zero_within;
    found.nonzero += static_cast<std::int64_t>(n) - zeros;
    found.blind += zeros_within - zeros;
    return true;
  }

  template <typename T>
  bool all_close(ElementFindings& found, std::int64_t first, const T* a, const T* e,
                 std::size_t n) const {
    return count(found, first, e, n, simd::compare(a, e, n, bound_.atol, bound_.rtol));
  }

  bool all_within(ElementFindings& found, std::int64_t first, const double* a, const double* e,
                  std::size_t n) const {
    double room[kMetricsBlock];
    const double* own = nullptr;
    if (rule_.by_element_bounds) {
      // A result beyond the output's range must be infinity, whatever its bound.
      const double most = max_finite(out_);
      for (std::size_t i = 0; i < n; ++i) {
        if (!(std::abs(e[i]) <= most)) return false;
      }
      own = doubles_of(*options_.element_bounds, first, static_cast<std::int64_t>(n), room);
    }
    const simd::ToleranceComparison c = simd::compare(a, e, own, n, tolerance_);
    if (!count(found, first, e, n, c)) return false;
    note_worst(found, c.worst_ratio);
    return true;
  }

  bool all_near(ElementFindings& found, std::int64_t first, const double* a, const double* e,
                std::size_t n) const {
    const simd::UlpComparison c = near(a, e, n, 0);
    if (!count(found, first, e, n, c)) return false;
    note_worst(found, c.worst_error);
    return true;
  }

  // Compares values. Each value has one code, except zero, which has one for each sign.
  template <typename T>
  bool all_equal(ElementFindings& found, const T* a, const T* e, std::size_t n) const {
    if (std::memcmp(a, e, n * sizeof(T)) != 0) return false;
    simd::Comparison c = near(a, e, n, 0);
    if (c.mismatches > 0) return false;
    if (c.zero > 0) {
      // If -0 is expected, 0 is a mismatch.
      c.zero_within = std::count_if(e, e + n, [](T x) { return x == 0 && !std::signbit(x); });
    }
    found.mismatches_of_zeros += static_cast<std::int64_t>(n) - c.zero_within;
    found.nonzero += static_cast<std::int64_t>(n) - c.zero;
    return true;
  }

  simd::UlpComparison near(const double* a, const double* e, std::size_t n, double) const {
    return simd::compare(a, e, n, ordinals_, bound_.ulps);
  }
  simd::UlpComparison near(const float* a, const float* e, std::size_t n, double worst) const {
    return simd::compare(a, e, n, ordinals_, bound_.ulps, worst);
  }

  // True if an element outside its tolerance is within or_ulps. `e` is finite.
  bool is_near(std::uint64_t actual_bits, std::int64_t position, double e) const {
    if (bound_.or_ulps == 0) return false;
    const auto distance =
        ulp_distance(out_, actual_bits, expected_bits(out_, expected_, position, e));
    return distance && *distance <= bound_.or_ulps;
  }

  // Returns the bound of an element, including its own if the rule is by element bounds.
  double limit_at(std::int64_t position, double expected, double actual) const {
    const double own = rule_.by_element_bounds ? options_.element_bounds->value_at(position) : 0;
    return std::min(largest_error(bound_, out_, expected, actual) + own,
                    std::numeric_limits<double>::max());
  }
  bool outside(std::int64_t position, double a, double e) const {
    const double error = std::abs(a - e), limit = limit_at(position, e, a);
    if (bound_.rule == Rule::kSymmetric) return !(a == e || error < limit);
    return !(error <= limit);
  }

  // `e` is the expected value as the rule compares it, `raw` the value as it is stored.
  void judge_element(ElementFindings& found, std::int64_t position, double a, double e,
                     double raw) const {
    const Finding finding =
        integers_ ? judge_integer(position, a, raw) : judge_float(position, a, e, raw);
    found.count(finding, std::isnan(a), bound_.rule != Rule::kStatistics);
    if (finding.fraction) found.fractions.add(offset_ + position, raw);
    if (!finding.missed) return;
    if (found.within_one_ulp) found.within_one_ulp = is_within_one_ulp(finding, position, e);
    if (!rounds_ && out_.is_float() && std::isfinite(raw) && !finding.special && !rule_.by_codes &&
        bound_.or_ulps == 0) {
      const double nearest = round_to(out_, raw);
      if (std::isfinite(nearest) && outside(position, nearest, raw) &&
          std::abs(a - raw) <= std::abs(nearest - raw)) {
        ++found.unmeetable;
      }
    }
    Mismatch mismatch{.linear = offset_ + position, .error = finding.error, .bound = finding.bound};
    found.count_mismatch(mismatch, finding.special);
    if (!found.lists(mismatch, options_.worst)) return;
    mismatch.actual = a;
    mismatch.expected = integers_ ? raw : e;
    mismatch.actual_bits = actual_.bits_at(position);
    mismatch.expected_bits = expected_bits(out_, expected_, position, e);
    if (const auto whole = expected_integer(out_, expected_, position, raw)) {
      mismatch.ulps = integer_distance(integer_at(actual_, position), *whole);
      mismatch.expected_is_beyond = !holds_integer(out_, *whole);
    } else if (!std::isnan(a) && !std::isnan(e)) {
      mismatch.ulps = ulp_distance(out_, mismatch.actual_bits, mismatch.expected_bits);
    }
    found.list(std::move(mismatch), options_.worst);
  }

  bool is_within_one_ulp(const Finding& finding, std::int64_t position, double e) const {
    if (finding.special || !out_.is_float()) return false;
    const auto distance =
        ulp_distance(out_, actual_.bits_at(position), expected_bits(out_, expected_, position, e));
    return distance && *distance <= 1;
  }

  // Judges integers and bool exactly. The difference of two int64 needs more than 64 bits.
  Finding judge_integer(std::int64_t position, double a, double raw) const {
    Finding finding;
    const auto ia = integer_at(actual_, position);
    const auto ie = expected_integer(out_, expected_, position, raw);
    if (!ie) {
      finding.special = !std::isfinite(raw);
      finding.expects_nan = std::isnan(raw);
      finding.error = std::isnan(raw) ? raw : kInfinity;
      finding.missed = finding.missed_by_zero_for_good = true;
      return finding;
    }
    const bool is_whole = !expected_.format->is_float() || raw == std::nearbyint(raw);
    finding.fraction = !is_whole && (rounds_ || rule_.by_codes);
    // An expected value that the standard does not round is compared as a real number.
    const bool fraction = !is_whole && !finding.fraction;
    const Int128 difference = ia > *ie ? ia - *ie : *ie - ia;
    const Int128 size = *ie < 0 ? -*ie : *ie;
    finding.error = fraction ? std::abs(a - raw) : static_cast<double>(difference);
    finding.bound = limit_at(position, raw, a);
    const bool is_open = bound_.rule == Rule::kSymmetric;  // the error must be below its limit
    const auto within = [&](double value, Int128 distance, double error) {
      if (bound_.or_ulps > 0 && distance <= static_cast<Int128>(bound_.or_ulps)) return true;
      if (bound_.rule == Rule::kUlps) return distance <= static_cast<Int128>(bound_.ulps);
      const double limit = limit_at(position, raw, value);
      if (fraction) return is_open ? error < limit : error <= limit;
      if (distance == 0 || limit >= 0x1p120) return true;
      return distance <=
             static_cast<Int128>(is_open ? std::ceil(limit) : limit) - (is_open ? 1 : 0);
    };
    finding.nonzero = fraction || size != 0;
    finding.missed_by_zero = !within(0, size, std::abs(raw));
    finding.missed = !within(a, difference, finding.error);
    if (!finding.missed) finding.bound = std::max(finding.bound, finding.error);
    return finding;
  }

  // Returns infinity of the value's sign if the value counts as infinity. In the saturating policy,
  // the largest finite value does.
  double as_infinity(double value) const {
    const bool counts =
        bound_.infinity == Infinity::kSaturating && std::abs(value) >= max_finite(out_);
    return counts ? std::copysign(kInfinity, value) : value;
  }

  // NaN and infinity are compared first. Arithmetic is done only on other values.
  Finding judge_float(std::int64_t position, double a, double e, double raw) const {
    Finding finding;
    finding.expects_nan = std::isnan(e);
    finding.error = std::abs(a - e);
    const bool can_hold = !(std::isnan(e) && out_.specials == Specials::kFinite);
    if (bound_.rule == Rule::kBits) {
      const std::uint64_t bits_a = actual_.bits_at(position),
                          bits_e = expected_bits(out_, expected_, position, e);
      finding.special = !std::isfinite(a) || !std::isfinite(e);
      finding.nonzero = std::isfinite(e) && e != 0;
      finding.missed_by_zero = bits_e != 0 || !can_hold;
      if (std::isnan(a) && std::isnan(e)) finding.error = 0;
      const bool both_nan = bound_.nan_equal && std::isnan(a) && std::isnan(e);
      finding.missed =
          !can_hold || (bits_a != bits_e && !both_nan) || (std::isinf(e) && !std::isinf(a));
      return finding;
    }
    // For saturating hardware, a value that overflows to NaN because the format has no infinity
    // counts as infinity.
    const bool saturates = bound_.infinity == Infinity::kSaturating;
    if (saturates && std::isnan(e) && !std::isnan(raw)) e = raw;
    finding.expects_nan = std::isnan(e);
    finding.special =
        !std::isfinite(a) || !std::isfinite(e) || (saturates && std::abs(e) > max_finite(out_));
    if (finding.special && of_exact_ && !std::isnan(raw)) {
      // The bound limits the distance from the exact result, which may lie beyond the output's
      // range.
      const double most = max_finite(out_), size = std::abs(raw);
      if (saturates) {
        if (std::isnan(a) && !out_.has_infinity() && size > most) a = std::copysign(most, raw);
        a = std::isnan(a) ? a : std::clamp(a, -most, most);
        e = std::clamp(raw, -most, most);
      } else if (rule_.by_element_bounds) {
        e = round_to(out_, raw);
      }
      finding.error = std::abs(a - e);
    }
    finding.nonzero = std::isfinite(e) && std::abs(e) > vanishing_;
    if (std::isfinite(e)) finding.missed_by_zero = zero_mismatches(position, e);
    if (finding.special && !(of_exact_ && saturates && !std::isnan(a) && !std::isnan(e))) {
      if (std::isnan(e) && bound_.nan_accepts) {
        finding.error = 0;
        return finding;
      }
      const bool fewer = bound_.infinity == Infinity::kFewer && std::isinf(e);
      finding.missed_by_zero_for_good = !std::isfinite(e) && !fewer;
      if (std::isnan(a) || std::isnan(e)) {
        const bool equal = std::isnan(a) && std::isnan(e) && bound_.nan_equal;
        finding.error = equal ? 0 : std::numeric_limits<double>::quiet_NaN();
        finding.missed = !equal;
        return finding;
      }
      const bool equal = as_infinity(a) == as_infinity(e) || (fewer && std::isfinite(a));
      finding.error = equal ? 0 : kInfinity;
      finding.missed = !equal;
      return finding;
    }
    if (bound_.rule == Rule::kUlps) {
      finding.bound = largest_error(bound_, out_, e, a);
      finding.missed =
          !ulps_ok(actual_.bits_at(position), expected_bits(out_, expected_, position, e));
      return finding;
    }
    finding.bound = limit_at(position, e, a);
    finding.missed = outside(position, a, e);
    if (finding.missed && is_near(actual_.bits_at(position), position, e)) {
      finding.missed = false;
      finding.bound = finding.error;
    }
    return finding;
  }

  // True if 0 would be a mismatch for this finite expected value.
  bool zero_mismatches(std::int64_t position, double e) const {
    if (std::abs(e) > max_finite(out_)) return true;  // counts as infinity for saturating hardware
    if (bound_.rule == Rule::kUlps) {
      return !ulps_ok(0, expected_bits(out_, expected_, position, e));
    }
    return outside(position, 0, e) && !is_near(0, position, e);
  }

  bool ulps_ok(std::uint64_t a, std::uint64_t e) const {
    const auto distance = ulp_distance(out_, a, e);
    return distance && *distance <= bound_.ulps;
  }

  const TensorView& actual_;
  const TensorView& expected_;
  const Bound& bound_;
  const RuleRow& rule_ = row_of(bound_.rule);
  const JudgeOptions& options_;
  const Format& out_;
  const std::int64_t offset_;
  MetricsRequest wanted_;
  bool rounds_, integers_;
  // The largest expected value that rounds to 0. It is 0 if no value does, or if all values are
  // compared as rounded.
  double vanishing_;
  bool of_exact_;  // the bound limits the distance from the exact result
  BlockRule blocks_;
  bool float32_;    // both tensors are float32, in memory that the kernels can read
  bool as_floats_;  // judge_floats() judges the elements
  simd::Tolerance tolerance_ = {};
  simd::Ordinals ordinals_ = {};
  // Only statistics are limited, so finite elements need no judgement.
  bool limits_alone_;
};

}  // namespace

void judge_elements(const TensorView& actual, const TensorView& expected, const Bound& bound,
                    const JudgeOptions& options, const MetricsRequest& wanted, std::int64_t offset,
                    ElementFindings& found) {
  const auto judge_by = [&](const auto& run) {
    for_parts(actual.size(), options.threads, run,
              [&](ElementFindings& part) { found.merge(std::move(part), options.worst); });
  };
  if (actual.format->is_complex()) {
    return judge_by([&](std::int64_t begin, std::int64_t end) {
      return judge_complex(actual, expected, bound, options, wanted.parts != 0, offset, begin, end);
    });
  }
  const ElementJudge elements(actual, expected, bound, options, wanted, offset);
  judge_by([&](std::int64_t begin, std::int64_t end) { return elements.run(begin, end); });
}

}  // namespace assay
