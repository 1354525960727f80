#include "assay/judge/complex.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "assay/base/constants.h"
#include "assay/base/double_double.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/judge/exact.h"
#include "assay/judge/rule_table.h"

namespace assay::inline v0_2 {
namespace {

struct Complex {
  double real, imaginary;

  bool is_nan() const { return std::isnan(real) || std::isnan(imaginary); }
  bool is_finite() const { return std::isfinite(real) && std::isfinite(imaginary); }
  double size() const { return is_nan() ? kNan : hypot(real, imaginary); }
  Complex times(double factor) const { return {factor * real, factor * imaginary}; }
  bool operator==(const Complex& o) const { return real == o.real && imaginary == o.imaginary; }
  Complex operator-(const Complex& o) const { return {real - o.real, imaginary - o.imaginary}; }
};

// Returns the i-th complex element of a block, which stores the real part before the imaginary
// part.
Complex element(const double* parts, std::size_t i) { return {parts[2 * i], parts[2 * i + 1]}; }

// Magnitudes of finite elements can exceed the range of float64, where a bound computed from them
// would accept any error. Such elements and their bounds are multiplied by this power of two before
// they are compared.
constexpr double kScale = 0x1p-4;

Bound scaled(Bound bound) {
  for (double* size : {&bound.atol, &bound.floor, &bound.small_value, &bound.small_atol}) {
    *size *= kScale;
  }
  return bound;
}

class ComplexJudge {
 public:
  ComplexJudge(const TensorView& actual, const TensorView& expected, const Bound& bound,
               const JudgeOptions& options, std::int64_t offset)
      : actual_(parts_of(actual)),
        expected_(parts_of(expected)),
        bound_(bound),
        scaled_(scaled(bound)),
        listed_(options.worst),
        part_(*actual_.format),
        offset_(offset),
        rounds_(expected_.format != actual_.format &&
                (bound.round_expected || row_of(bound.rule).by_codes)) {}

  void judge_block(ElementFindings& found, std::int64_t first, std::int64_t count) const {
    const auto n = static_cast<std::size_t>(count);
    double a[2 * kMetricsBlock], raw[2 * kMetricsBlock], rounded[2 * kMetricsBlock];
    actual_.read(2 * first, 2 * count, a);
    expected_.read(2 * first, 2 * count, raw);
    std::memcpy(rounded, raw, 2 * n * sizeof(double));
    if (expected_.format != actual_.format) round_array(part_, rounded, 2 * n);
    if (found.metrics) {
      found.metrics->add_complex(a, raw, rounded, n, offset_ + first);
      for (std::size_t i = 0; i < n; ++i) {
        if (!same_bits(first + static_cast<std::int64_t>(i), element(a, i), element(rounded, i))) {
          found.metrics->bits_differ();
        }
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      judge_element(found, first + static_cast<std::int64_t>(i), element(a, i),
                    element(rounds_ ? rounded : raw, i), element(raw, i));
    }
  }

 private:
  // True if the output's element `a` has the bits of the expected element `e`, which is already
  // rounded to the output's format.
  bool same_bits(std::int64_t position, const Complex& a, const Complex& e) const {
    const auto same = [&](std::int64_t at, double x, double y) {
      if (std::isnan(x) && std::isnan(y)) {
        return actual_.bits_at(at) == expected_bits(part_, expected_, at, y);
      }
      return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
    };
    return same(2 * position, a.real, e.real) && same(2 * position + 1, a.imaginary, e.imaginary);
  }

  // True if the element `a` is outside the bound of the expected element `e`. Both must be finite.
  bool outside(const Complex& a, const Complex& e) const {
    const double error = (a - e).size(), size_a = a.size(), size_e = e.size();
    const auto exceeds = [&](const Bound& bound, double off, double of_a, double of_e) {
      const double limit = tolerance_at(bound, of_e, of_a);
      return bound.rule == Rule::kSymmetric ? !(off == 0 || off < limit) : !(off <= limit);
    };
    if (std::isfinite(error) && std::isfinite(size_a) && std::isfinite(size_e)) {
      return exceeds(bound_, error, size_a, size_e);
    }
    const Complex small_a = a.times(kScale), small_e = e.times(kScale);
    return exceeds(scaled_, (small_a - small_e).size(), small_a.size(), small_e.size());
  }

  Finding judge(std::int64_t position, const Complex& a, const Complex& e) const {
    constexpr Complex kZero = {0, 0};
    Finding finding;
    finding.error = (a - e).size();
    finding.special = !a.is_finite() || !e.is_finite();
    finding.nonzero = e.is_finite() && !vanishes(e);
    finding.expects_nan = e.is_nan();
    if (bound_.rule == Rule::kBits) {
      const bool both_nan = a.is_nan() && e.is_nan();
      if (both_nan) finding.error = 0;
      // Bits are compared, so an expected -0 also differs from the 0 of an output of zeros.
      finding.missed_by_zero = std::bit_cast<std::uint64_t>(e.real) != 0 ||
                               std::bit_cast<std::uint64_t>(e.imaginary) != 0;
      finding.missed = !same_bits(position, a, e) && !(bound_.nan_equal && both_nan);
      return finding;
    }
    if (e.is_finite()) finding.missed_by_zero = outside(kZero, e);
    if (!finding.special) {
      finding.bound = tolerance_at(bound_, e.size(), a.size());
      finding.missed = outside(a, e);
      return finding;
    }
    if (e.is_nan() && bound_.nan_accepts) {
      finding.error = 0;
      return finding;
    }
    const bool fewer = bound_.infinity == Infinity::kFewer && !e.is_nan() && !e.is_finite();
    finding.missed_by_zero_for_good = !e.is_finite() && !fewer;
    if (a.is_nan() || e.is_nan()) {
      finding.missed = !(a.is_nan() && e.is_nan() && bound_.nan_equal);
      finding.error = finding.missed ? kNan : 0;
      return finding;
    }
    finding.missed = !(a == e || (fewer && a.is_finite()));
    finding.error = finding.missed ? kInfinity : 0;
    return finding;
  }

  // True if both parts are 0 in the output's format.
  bool vanishes(const Complex& e) const {
    const bool is_small = e.size() <= min_subnormal(part_);
    return is_small && round_to(part_, e.real) == 0 && round_to(part_, e.imaginary) == 0;
  }

  // True if the correctly rounded result would also be a mismatch and the output is no farther off.
  bool is_unmeetable(const Finding& finding, const Complex& a, const Complex& raw) const {
    if (rounds_ || finding.special || bound_.rule == Rule::kBits) return false;
    const Complex nearest = {round_to(part_, raw.real), round_to(part_, raw.imaginary)};
    return nearest.is_finite() && outside(nearest, raw) &&
           (a - raw).size() <= (nearest - raw).size();
  }

  void judge_element(ElementFindings& found, std::int64_t position, const Complex& a,
                     const Complex& e, const Complex& raw) const {
    const Finding finding = judge(position, a, e);
    found.count(finding, a.is_nan(), true);
    if (!finding.missed) return;
    found.within_one_ulp = false;  // complex numbers have no order, so they have no ulps
    found.unmeetable += is_unmeetable(finding, a, raw) ? 1 : 0;
    Mismatch mismatch{.linear = offset_ + position, .error = finding.error, .bound = finding.bound};
    found.count_mismatch(mismatch, finding.special);
    if (!found.lists(mismatch, listed_)) return;
    Mismatch::Part imaginary;
    const auto fill = [&](auto& to, std::int64_t at, double of_a, double of_e) {
      to.actual = of_a;
      to.expected = of_e;
      to.actual_bits = actual_.bits_at(at);
      to.expected_bits = expected_bits(part_, expected_, at, of_e);
    };
    fill(mismatch, 2 * position, a.real, e.real);
    fill(imaginary, 2 * position + 1, a.imaginary, e.imaginary);
    mismatch.imaginary = imaginary;
    found.list(std::move(mismatch), listed_);
  }

  const TensorView actual_, expected_;  // their parts
  const Bound& bound_;
  const Bound scaled_;
  const std::size_t listed_;
  const Format& part_;
  const std::int64_t offset_;
  const bool rounds_;
};

}  // namespace

double magnitude_at(const TensorView& view, std::int64_t linear) {
  if (!view.format->is_complex()) return std::abs(view.value_at(linear));
  const TensorView parts = parts_of(view);
  return Complex{parts.value_at(2 * linear), parts.value_at(2 * linear + 1)}.size();
}

std::string complex_number(double real, double imaginary, int digits) {
  const std::string other = short_number(imaginary, digits);
  return formatted("{}{}{}j", short_number(real, digits), other.starts_with('-') ? "" : "+", other);
}

std::string value_text(const TensorView& view, std::int64_t linear, int digits) {
  if (!view.format->is_complex()) return short_number(view.value_at(linear), digits);
  const TensorView parts = parts_of(view);
  return complex_number(parts.value_at(2 * linear), parts.value_at(2 * linear + 1), digits);
}

std::string why_not_complex(const Bound& bound) {
  const auto needs = [&](std::string_view what) {
    return formatted("standard {} takes real numbers, and the output is complex: {}",
                     bound.standard, what);
  };
  if (const auto why = row_of(bound.rule).why_not_complex; !why.empty()) return needs(why);
  if (bound.or_ulps > 0) return needs("complex numbers have no order, and so no ulps");
  if (!bound.limits.empty()) return needs("its limits are on statistics of real numbers");
  if (bound.infinity == Infinity::kSaturating) {
    return needs("of complex numbers no largest one stands for infinity (infinity=saturating)");
  }
  return "";
}

ElementFindings judge_complex(const TensorView& actual, const TensorView& expected,
                              const Bound& bound, const JudgeOptions& options, bool metrics,
                              std::int64_t offset, std::int64_t begin, std::int64_t end) {
  const ComplexJudge judge(actual, expected, bound, options, offset);
  ElementFindings found;
  if (metrics) found.metrics.emplace(*actual.format, bound);
  if (options.mismatch_map) found.mismatch_map.emplace(actual.shape);
  for (std::int64_t first = begin; first < end; first += kMetricsBlock) {
    judge.judge_block(found, first, std::min(kMetricsBlock, end - first));
  }
  if (found.metrics) found.metrics->finish();
  return found;
}

}  // namespace assay
