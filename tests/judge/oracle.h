// An independent judge: the rule written out by hand, one element at a time, without vectors,
// blocks or threads. It uses only conversions between bits and numbers. It follows docs/judging.md
// and judge/bound.h, and knows every rule that judges single elements.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "assay/base/int128.h"
#include "assay/format/format.h"
#include "assay/judge/bound.h"
#include "assay/judge/verdict.h"
#include "assay/report.h"
#include "assay/tensor/tensor.h"

namespace assay {
inline void PrintTo(Outcome outcome, std::ostream* os) { *os << outcome_word(outcome); }
}  // namespace assay

namespace assay::oracle {

constexpr double kMax = std::numeric_limits<double>::max();

// The generator splitmix64. The tests have their own, so that they do not depend on the code under
// test.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

inline Bound tolerance(double atol, double rtol, bool round_expected = true,
                       bool nan_equal = false) {
  Bound bound;
  bound.atol = atol;
  bound.rtol = rtol;
  bound.round_expected = round_expected;
  bound.nan_equal = nan_equal;
  bound.standard = "custom";
  return bound;
}
inline Bound within_ulps(std::uint64_t ulps) {
  Bound bound;
  bound.rule = Rule::kUlps;
  bound.ulps = ulps;
  return bound;
}
inline Bound same_bits() {
  Bound bound;
  bound.rule = Rule::kBits;
  return bound;
}

// Returns the bound of a standard for outputs of a dtype. Throws std::bad_optional_access if the
// standard has no rule for the dtype.
inline Bound bound_of(std::string_view standard, std::string_view dtype,
                      std::int64_t accumulations = 0) {
  return standard_bound(standard, format_named(dtype), accumulations).value();
}

inline Tensor tensor(std::string_view dtype, Shape shape, const std::vector<double>& values) {
  return Tensor::from_values(format_named(dtype), std::move(shape), values);
}
inline Tensor vector_of(std::string_view dtype, const std::vector<double>& values) {
  return tensor(dtype, {static_cast<std::int64_t>(values.size())}, values);
}

inline Int128 as_integer(const Format& f, std::uint64_t bits) {
  if (!f.is_signed()) return bits;
  if (f.name == "int4") return static_cast<int>(bits) - (bits < 8 ? 0 : 16);
  if (f.name == "int8") return static_cast<std::int8_t>(bits);
  if (f.name == "int16") return static_cast<std::int16_t>(bits);
  if (f.name == "int32") return static_cast<std::int32_t>(bits);
  return static_cast<std::int64_t>(bits);
}

// Returns the number of representable values between two patterns. For formats of up to 16 bits it
// counts through the sorted list of all values. For float32 and float64 it uses sign-magnitude
// arithmetic.
inline std::uint64_t steps_apart(const Format& f, std::uint64_t a, std::uint64_t b) {
  if (f.storage_bytes <= 2) {
    static std::map<std::string_view, std::vector<double>> lists;
    std::vector<double>& all = lists[f.name];
    if (all.empty()) {
      for (std::uint64_t code = 0; code < (1u << (8 * f.storage_bytes)); ++code) {
        if (!is_valid_code(f, code)) continue;
        const double value = decode(f, code);
        if (!std::isnan(value)) all.push_back(value + 0.0);  // -0 becomes +0
      }
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
    }
    const auto at = [&](std::uint64_t bits) {
      return std::lower_bound(all.begin(), all.end(), decode(f, bits)) - all.begin();
    };
    return static_cast<std::uint64_t>(std::abs(at(a) - at(b)));
  }
  const std::uint64_t sign = std::uint64_t{1} << (f.storage_bytes * 8 - 1);
  const auto place = [&](std::uint64_t bits) {
    const auto size = static_cast<Int128>((bits & (sign - 1)) >> f.padding);
    return (bits & sign) != 0 ? -size : size;
  };
  const Int128 distance = place(a) - place(b);
  return static_cast<std::uint64_t>(distance < 0 ? -distance : distance);
}

// Returns the largest error that a rule allows for an element, with steps that T rounds. `own` is
// the element's own bound. Infinity times zero counts as zero.
template <typename T>
T limit_of(const Bound& bound, T expected, T actual, T own = 0) {
  const T size = std::abs(expected);
  const auto relative = [&](T of) { return of == 0 ? T{0} : bound.rtol * of; };
  T limit = bound.atol + relative(size);
  if (bound.rule == Rule::kEither) limit = std::max<T>(bound.atol, relative(size));
  if (bound.rule == Rule::kLargest) limit = relative(std::max<T>(bound.floor, size));
  if (bound.rule == Rule::kSymmetric) {
    limit = relative(std::max<T>(bound.floor, std::abs(actual) + size));
  }
  if (size < bound.small_value) limit = bound.small_atol;
  return std::min<T>(limit + own, kMax);
}
template <typename T>
bool exceeds(const Bound& bound, T error, T limit) {
  return bound.rule == Rule::kSymmetric ? !(error == 0 || error < limit) : !(error <= limit);
}

// One element, judged.
struct Element {
  std::int64_t position = 0;
  bool mismatches = false;
  bool special = false;  // a value is NaN or infinite
  double error = 0, limit = 0;
  bool unmeetable = false;  // the correctly rounded result would also be a mismatch
  bool nonzero = false;     // a finite value is expected that does not round to 0
  bool expects_nan = false;
  // Zero would be a mismatch. If NaN or infinity is expected, no budget forgives it.
  bool zero_mismatches = false, zero_never_passes = false;

  double ratio() const {
    if (!mismatches) return error > 0 && limit > 0 ? error / limit : 0;
    return std::isfinite(error) && limit > 0 ? error / limit
                                             : std::numeric_limits<double>::infinity();
  }
  // The largest ratio comes first, then the largest error, then the first element.
  bool is_worse_than(const Element& other) const {
    if (ratio() != other.ratio()) return ratio() > other.ratio();
    const auto size = [](double x) {
      return std::isfinite(x) ? x : std::numeric_limits<double>::infinity();
    };
    if (size(error) != size(other.error)) return size(error) > size(other.error);
    return position < other.position;
  }
};

// A format without NaN and infinity cannot hold them, and an output does not match them.
inline double rounded(const Format& f, double x) {
  return f.specials == Specials::kFinite && !std::isfinite(x) ? x : round_to(f, x);
}

// Settles an element with NaN or infinity by the policies. `same` says whether the infinite or
// finite values count as the same.
inline void settle_special(Element& r, const Bound& bound, bool a_is_nan, bool e_is_nan,
                           bool a_is_finite, bool e_is_finite, bool same) {
  r.error = 0;
  if (e_is_nan && bound.nan_accepts) return;
  const bool fewer = bound.infinity == Infinity::kFewer && !e_is_nan && !e_is_finite;
  r.zero_never_passes = !e_is_finite && !fewer;
  if (a_is_nan || e_is_nan) {
    r.mismatches = !(a_is_nan && e_is_nan && bound.nan_equal);
  } else {
    r.mismatches = !(same || (fewer && a_is_finite));
  }
  if (r.mismatches) r.error = std::numeric_limits<double>::infinity();
}

inline Element judge_float(const TensorView& actual, const TensorView& expected, std::int64_t i,
                           const Bound& bound, double own) {
  const Format &out = *actual.format, &golden = *expected.format;
  const bool by_codes = bound.rule == Rule::kUlps || bound.rule == Rule::kBits;
  const bool by_element_bounds =
      bound.rule == Rule::kAccumulation || bound.rule == Rule::kExpectedError;
  const bool rounds = &out != &golden && (bound.round_expected || by_codes);
  const std::uint64_t a_bits = actual.bits_at(i);
  const double raw = expected.value_at(i), most = max_finite(out);
  double a = decode(out, a_bits), e = rounds ? rounded(out, raw) : raw;
  Element r;
  if (bound.rule == Rule::kBits) {
    const bool can_hold = !(std::isnan(e) && out.specials == Specials::kFinite);
    const std::uint64_t wanted = &out == &golden ? expected.bits_at(i)
                                 : can_hold      ? encode(out, raw)
                                                 : 0;
    const bool both_nan = std::isnan(a) && std::isnan(e);
    r.special = !std::isfinite(a) || !std::isfinite(e);
    r.expects_nan = std::isnan(e);
    r.nonzero = std::isfinite(e) && e != 0;
    r.zero_mismatches = !can_hold || wanted != 0;
    r.mismatches = !can_hold || (a_bits != wanted && !(bound.nan_equal && both_nan)) ||
                   (std::isinf(e) && !std::isinf(a));  // no infinity in the output's format
    r.error = both_nan ? 0 : std::abs(a - e);
    return r;
  }
  // If the hardware saturates, a format without infinity overflows to NaN, which counts as
  // infinity.
  const bool saturates = bound.infinity == Infinity::kSaturating;
  if (saturates && std::isnan(e)) e = raw;
  r.expects_nan = std::isnan(e);
  r.special = !std::isfinite(a) || !std::isfinite(e) || (saturates && std::abs(e) > most);
  bool is_clamped = false;
  if (r.special && !bound.round_expected && !std::isnan(raw) &&
      (bound.rule == Rule::kTolerance || by_element_bounds)) {
    // The bound limits the distance from the exact result. Hardware that saturates gives the end
    // of the range. Other hardware gives the infinity to which the exact result rounds.
    if (saturates) {
      if (std::isnan(a) && !out.has_infinity() && std::abs(raw) > most)
        a = std::copysign(most, raw);
      is_clamped = !std::isnan(a);
      if (is_clamped) a = std::clamp(a, -most, most);
      e = std::clamp(raw, -most, most);
    } else if (by_element_bounds) {
      e = round_to(out, raw);
    }
  }
  const auto outside = [&](double value, std::uint64_t bits) {
    if (bound.rule == Rule::kUlps) return steps_apart(out, bits, encode(out, e)) > bound.ulps;
    // Volatile makes the compiler round each operation to float64 separately.
    volatile double difference = value - e;
    return exceeds(bound, std::abs(difference), limit_of(bound, e, value, own)) &&
           !(bound.or_ulps > 0 && steps_apart(out, bits, encode(out, e)) <= bound.or_ulps);
  };
  if (std::isfinite(e)) {
    r.nonzero = e != 0 && round_to(out, e) != 0;
    r.zero_mismatches = std::abs(e) > most || outside(0, encode(out, 0));
  }
  if (r.special && !is_clamped) {
    const auto counted = [&](double x) {
      const bool is_end = saturates && std::abs(x) >= most;
      return is_end ? std::copysign(std::numeric_limits<double>::infinity(), x) : x;
    };
    settle_special(r, bound, std::isnan(a), std::isnan(e), std::isfinite(a), std::isfinite(e),
                   counted(a) == counted(e));
    return r;
  }
  r.error = std::abs(a - e);
  r.limit = bound.rule == Rule::kUlps ? static_cast<double>(bound.ulps) * ulp_of(out, e)
                                      : limit_of(bound, e, a, own);
  r.mismatches = outside(a, a_bits);
  if (!r.mismatches && bound.or_ulps > 0) r.limit = std::max(r.limit, r.error);
  const double nearest = rounded(out, raw);
  r.unmeetable = !r.special && !by_codes && !rounds && std::isfinite(nearest) &&
                 outside(nearest, encode(out, nearest)) &&
                 std::abs(a - raw) <= std::abs(nearest - raw);
  return r;
}

// Neither the output nor the golden result is a float.
inline Element judge_integer(const TensorView& actual, const TensorView& expected, std::int64_t i,
                             const Bound& bound) {
  const Int128 a = as_integer(*actual.format, actual.bits_at(i)),
               e = as_integer(*expected.format, expected.bits_at(i));
  Element r;
  const auto limit = [&](Int128 value) {
    if (bound.rule == Rule::kUlps) return static_cast<double>(bound.ulps);
    if (bound.rule == Rule::kBits) return 0.0;
    return limit_of(bound, static_cast<double>(e), static_cast<double>(value));
  };
  r.limit = limit(a);
  const auto outside = [&](Int128 value) {
    const Int128 error = value > e ? value - e : e - value;
    if (error <= static_cast<Int128>(bound.or_ulps)) return false;
    if (bound.rule == Rule::kUlps) return error > static_cast<Int128>(bound.ulps);
    if (limit(value) >= 0x1p100) return false;
    // The error is a whole number, so only an error that equals the limit's whole part is close.
    const double whole = std::floor(limit(value));
    if (error != static_cast<Int128>(whole)) return error > static_cast<Int128>(whole);
    return bound.rule == Rule::kSymmetric && error != 0 && limit(value) == whole;
  };
  r.error = static_cast<double>(a > e ? a - e : e - a);
  if (!outside(a) && bound.or_ulps > 0) r.limit = std::max(r.limit, r.error);
  r.nonzero = e != 0;
  r.zero_mismatches = outside(0);
  r.mismatches = outside(a);
  return r;
}

// The sizes of complex numbers are compared, in long double.
inline Element judge_complex(const TensorView& actual, const TensorView& expected, std::int64_t i,
                             const Bound& bound) {
  struct Complex {
    long double real, imaginary;
    bool is_nan() const { return std::isnan(real) || std::isnan(imaginary); }
    bool is_finite() const { return std::isfinite(real) && std::isfinite(imaginary); }
    long double size() const { return std::sqrt(real * real + imaginary * imaginary); }
    long double from(const Complex& o) const {
      return Complex{real - o.real, imaginary - o.imaginary}.size();
    }
  };
  const TensorView as = parts_of(actual), es = parts_of(expected);
  const Format& part = *as.format;
  const bool rounds = es.format != as.format && (bound.round_expected || bound.rule == Rule::kBits);
  const auto in_part = [&](std::int64_t at) { return round_to(part, es.value_at(at)); };
  const Complex a = {as.value_at(2 * i), as.value_at(2 * i + 1)},
                raw = {es.value_at(2 * i), es.value_at(2 * i + 1)},
                nearest = {in_part(2 * i), in_part(2 * i + 1)}, e = rounds ? nearest : raw;
  Element r;
  r.special = !a.is_finite() || !e.is_finite();
  r.expects_nan = e.is_nan();
  r.nonzero = e.is_finite() && (nearest.real != 0 || nearest.imaginary != 0);
  r.error = static_cast<double>(a.from(e));
  if (bound.rule == Rule::kBits) {
    const auto wanted = [&](std::int64_t at) {
      return es.format == as.format ? es.bits_at(at) : encode(part, es.value_at(at));
    };
    const bool same =
        as.bits_at(2 * i) == wanted(2 * i) && as.bits_at(2 * i + 1) == wanted(2 * i + 1);
    const bool both_nan = a.is_nan() && e.is_nan();
    r.mismatches = !same && !(bound.nan_equal && both_nan);
    r.zero_mismatches = wanted(2 * i) != 0 || wanted(2 * i + 1) != 0;
    if (both_nan) r.error = 0;
    return r;
  }
  const auto outside = [&](const Complex& value) {
    return exceeds(bound, value.from(e), limit_of(bound, e.size(), value.size()));
  };
  if (e.is_finite()) r.zero_mismatches = outside({0, 0});
  if (r.special) {
    settle_special(r, bound, a.is_nan(), e.is_nan(), a.is_finite(), e.is_finite(),
                   a.real == e.real && a.imaginary == e.imaginary);
    return r;
  }
  r.limit = static_cast<double>(limit_of(bound, e.size(), a.size()));
  r.mismatches = outside(a);
  r.unmeetable =
      !rounds && nearest.is_finite() && outside(nearest) && a.from(raw) <= nearest.from(raw);
  return r;
}

struct Expectation {
  std::vector<std::int64_t> mismatches;
  std::int64_t special_mismatches = 0, forgiven = 0, nonzero = 0, blind = 0;
  double worst_ratio = 0;
  std::int64_t worst = -1;  // the position of the worst mismatch
  Outcome outcome = Outcome::kPass;
};

// The number of mismatches that a bound's budget allows.
inline std::int64_t budget_of(const Bound& bound, std::int64_t elements) {
  std::int64_t budget = bound.max_mismatches || bound.max_mismatch_fraction ? elements : 0;
  if (bound.max_mismatches) budget = *bound.max_mismatches;
  if (bound.max_mismatch_fraction) {
    const double share = std::floor(*bound.max_mismatch_fraction * static_cast<double>(elements));
    if (share < static_cast<double>(budget)) budget = static_cast<std::int64_t>(share);
  }
  return budget;
}

// `element_bounds` are the elements' own bounds, if the rule has them.
inline Expectation expect(const TensorView& actual, const TensorView& expected, const Bound& bound,
                          const TensorView* element_bounds = nullptr) {
  Expectation result;
  const std::int64_t budget = budget_of(bound, actual.size());
  std::int64_t expected_nans = 0, mismatches_of_zeros = 0;
  bool zeros_never_pass = false, all_unmeetable = true;
  Element worst;
  for (std::int64_t i = 0; i < actual.size(); ++i) {
    const double own = element_bounds != nullptr ? element_bounds->value_at(i) : 0;
    Element one = actual.format->is_complex() ? judge_complex(actual, expected, i, bound)
                  : actual.format->is_float() ? judge_float(actual, expected, i, bound, own)
                                              : judge_integer(actual, expected, i, bound);
    one.position = i;
    mismatches_of_zeros += one.zero_mismatches ? 1 : 0;
    zeros_never_pass |= one.zero_never_passes;
    result.nonzero += one.nonzero ? 1 : 0;
    result.blind += one.nonzero && !one.zero_mismatches ? 1 : 0;
    expected_nans += one.expects_nan ? 1 : 0;
    result.worst_ratio = std::max(result.worst_ratio, one.ratio());
    if (!one.mismatches) continue;
    if (result.mismatches.empty() || one.is_worse_than(worst)) worst = one;
    result.mismatches.push_back(i);
    result.special_mismatches += one.special ? 1 : 0;
    all_unmeetable &= one.unmeetable;
  }
  const std::int64_t count = std::ssize(result.mismatches);
  result.blind = std::min(result.nonzero, result.blind + budget);
  if (count > 0) result.worst = worst.position;
  if (result.special_mismatches == 0 && count <= budget) result.forgiven = count;
  const bool is_infinite =
      bound.rule == Rule::kTolerance && !(std::isfinite(bound.atol) && std::isfinite(bound.rtol));
  if (count > result.forgiven) {
    result.outcome = all_unmeetable ? Outcome::kUntrusted : Outcome::kFail;
  } else if (!(zeros_never_pass || mismatches_of_zeros > budget) || is_infinite ||
             static_cast<double>(result.blind) >
                 bound.max_blind * static_cast<double>(result.nonzero) ||
             2 * expected_nans > actual.size()) {
    result.outcome = Outcome::kUntrusted;
  }
  return result;
}

// Judges in every way (with and without metrics, with one thread and with two), and compares each
// verdict with the oracle. Returns what the oracle expects.
inline Expectation check(const TensorView& actual, const TensorView& expected, const Bound& bound,
                         const TensorView* element_bounds = nullptr) {
  const Expectation wanted = expect(actual, expected, bound, element_bounds);
  const bool is_complex = actual.format->is_complex();
  for (const bool metrics : {true, false}) {
    std::string one_thread;
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(std::string(actual.format->name) + " against " +
                   std::string(expected.format->name) + ", " + bound.text() +
                   (bound.round_expected ? "" : ", not rounded") +
                   (metrics ? ", metrics" : ", no metrics"));
      JudgeOptions options;
      options.metrics = metrics;
      options.threads = threads;
      options.patterns = false;  // they have tests of their own
      options.worst = wanted.mismatches.size() < 10000 ? wanted.mismatches.size() + 1 : 5;
      if (element_bounds != nullptr) options.element_bounds = *element_bounds;
      const Verdict verdict = judge(actual, expected, bound, options);
      EXPECT_EQ(verdict.outcome, wanted.outcome) << verdict.because;
      EXPECT_EQ(verdict.sites, actual.size()) << verdict.because;
      if (verdict.sites != actual.size()) return wanted;
      EXPECT_EQ(verdict.mismatches, static_cast<std::int64_t>(wanted.mismatches.size()));
      EXPECT_EQ(verdict.special_mismatches, wanted.special_mismatches);
      EXPECT_EQ(verdict.forgiven, wanted.forgiven);
      EXPECT_EQ(verdict.nonzero, wanted.nonzero);
      EXPECT_EQ(verdict.blind, wanted.blind);
      // Without metrics, the ratios of a plain tolerance that is met are not computed.
      if (metrics || !bound.is_plain() || !wanted.mismatches.empty()) {
        if (std::isinf(wanted.worst_ratio)) {
          EXPECT_EQ(verdict.worst_ratio, wanted.worst_ratio);
        } else {
          EXPECT_NEAR(verdict.worst_ratio, wanted.worst_ratio, 1e-12 * wanted.worst_ratio);
        }
      }
      const std::int64_t worst = verdict.worst.empty() ? -1 : verdict.worst.front().linear;
      if (is_complex && worst >= 0) {  // long double may order two ratios otherwise
        const double ratio = judge_complex(actual, expected, worst, bound).ratio();
        EXPECT_TRUE(ratio >= wanted.worst_ratio * (1 - 1e-12)) << worst << " " << wanted.worst;
      } else {
        EXPECT_EQ(worst, wanted.worst);
      }
      if (options.worst > 5 || wanted.mismatches.size() < 5) {
        std::vector<std::int64_t> found;
        for (const Mismatch& mismatch : verdict.worst) {
          found.push_back(mismatch.linear);
          if (!is_complex) {
            EXPECT_EQ(mismatch.actual_bits, actual.bits_at(mismatch.linear));
          }
          EXPECT_EQ(mismatch.index, actual.multi_index(mismatch.linear));
        }
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, wanted.mismatches);
      }
      const std::string all = verdict_json(verdict);
      if (threads == 1) one_thread = all;
      EXPECT_TRUE(all == one_thread) << "threads change the verdict";
    }
  }
  return wanted;
}

}  // namespace assay::oracle
