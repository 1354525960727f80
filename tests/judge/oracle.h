// An independent judge: the rule written out by hand, one element at a time, without vectors,
// blocks or threads. It uses only decode() and round_to().
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

#include "assay/format/format.h"
#include "assay/judge/bound.h"
#include "assay/judge/verdict.h"
#include "assay/report/report.h"
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

inline __int128 as_integer(const Format& f, std::uint64_t bits) {
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
    const auto size = static_cast<__int128>((bits & (sign - 1)) >> f.padding);
    return (bits & sign) != 0 ? -size : size;
  };
  const __int128 distance = place(a) - place(b);
  return static_cast<std::uint64_t>(distance < 0 ? -distance : distance);
}

inline bool float_mismatches(const Format& out, std::uint64_t a_bits, double e,
                             const Bound& bound) {
  const double a = decode(out, a_bits);
  if (std::isnan(a) || std::isnan(e)) return !(std::isnan(a) && std::isnan(e) && bound.nan_equal);
  if (std::isinf(a) || std::isinf(e)) return !(a == e);
  if (bound.rule == Rule::kUlps) return steps_apart(out, a_bits, encode(out, e)) > bound.ulps;
  const double limit = bound.atol + bound.rtol * std::abs(e);
  // Volatile makes the compiler round each operation to float64 separately.
  volatile double difference = a - e;
  return std::abs(difference) > std::min(limit, kMax);
}

struct Expectation {
  std::vector<std::int64_t> mismatches;
  std::int64_t nonzero = 0, blind = 0;
  Outcome outcome = Outcome::kPass;
};

inline Expectation expect(const TensorView& actual, const TensorView& expected,
                          const Bound& bound) {
  Expectation result;
  std::int64_t expected_nans = 0;
  const Format& out = *actual.format;
  const Format& golden = *expected.format;
  bool zeros_mismatch = false, all_unmeetable = true;
  for (std::int64_t i = 0; i < actual.size(); ++i) {
    const std::uint64_t a_bits = actual.bits_at(i), e_bits = expected.bits_at(i);
    bool mismatches, unmeetable = false;
    if (!out.is_float() && !golden.is_float()) {
      const auto e = static_cast<__int128>(as_integer(golden, e_bits));
      const auto missed_by = [&](__int128 a) {
        const __int128 error = a > e ? a - e : e - a;
        if (bound.rule == Rule::kBits) return error != 0;
        if (bound.rule == Rule::kUlps) return error > static_cast<__int128>(bound.ulps);
        const double limit = bound.atol + bound.rtol * std::abs(static_cast<double>(e));
        return error != 0 && !(limit >= 0x1p100 || error <= static_cast<__int128>(limit));
      };
      mismatches = missed_by(as_integer(out, a_bits));
      zeros_mismatch |= missed_by(0);
      result.nonzero += e != 0 ? 1 : 0;
      result.blind += e != 0 && !missed_by(0) ? 1 : 0;
    } else {
      const double raw = decode(golden, e_bits);
      const bool rounds =
          &out != &golden && (bound.round_expected || bound.rule != Rule::kTolerance);
      const double e = rounds ? round_to(out, raw) : raw;
      bool zero_mismatches;
      if (bound.rule == Rule::kBits) {
        const std::uint64_t wanted = &out == &golden ? e_bits : encode(out, raw);
        mismatches = a_bits != wanted;
        zero_mismatches = wanted != 0;
      } else {
        mismatches = float_mismatches(out, a_bits, e, bound);
        zero_mismatches = float_mismatches(out, encode(out, 0), e, bound);
        const double a = decode(out, a_bits), nearest = out.is_float() ? round_to(out, raw) : raw;
        unmeetable = bound.rule == Rule::kTolerance && !rounds && std::isfinite(nearest) &&
                     float_mismatches(out, encode(out, nearest), e, bound) &&
                     std::abs(a - raw) <= std::abs(nearest - raw);
      }
      zeros_mismatch |= zero_mismatches;
      const bool is_value = std::isfinite(e) && (out.is_float() ? round_to(out, e) : e) != 0;
      result.nonzero += is_value ? 1 : 0;
      result.blind += is_value && !zero_mismatches ? 1 : 0;
      expected_nans += std::isnan(e) ? 1 : 0;
    }
    if (!mismatches) continue;
    result.mismatches.push_back(i);
    all_unmeetable &= unmeetable;
  }
  if (!result.mismatches.empty()) {
    result.outcome = all_unmeetable ? Outcome::kUntrusted : Outcome::kFail;
  } else if (!zeros_mismatch || 2 * result.blind > result.nonzero ||
             2 * expected_nans > actual.size()) {
    result.outcome = Outcome::kUntrusted;
  }
  return result;
}

// Judges in every way (with and without metrics, with one thread and with two), and compares each
// verdict with the oracle.
inline void check(const TensorView& actual, const TensorView& expected, const Bound& bound) {
  const Expectation wanted = expect(actual, expected, bound);
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
      options.worst = wanted.mismatches.size() < 10000 ? wanted.mismatches.size() + 1 : 5;
      const Verdict verdict = judge(actual, expected, bound, options);
      ASSERT_EQ(verdict.sites, actual.size());
      EXPECT_EQ(verdict.mismatches, static_cast<std::int64_t>(wanted.mismatches.size()));
      EXPECT_EQ(verdict.outcome, wanted.outcome) << verdict.because;
      EXPECT_EQ(verdict.nonzero, wanted.nonzero);
      EXPECT_EQ(verdict.blind, wanted.blind);
      if (options.worst > 5 || wanted.mismatches.size() < 5) {
        std::vector<std::int64_t> found;
        for (const Mismatch& mismatch : verdict.worst) {
          found.push_back(mismatch.linear);
          EXPECT_EQ(mismatch.actual_bits, actual.bits_at(mismatch.linear));
          EXPECT_EQ(mismatch.index, actual.multi_index(mismatch.linear));
        }
        std::sort(found.begin(), found.end());
        ASSERT_EQ(found, wanted.mismatches);
      }
      const std::string all = verdict_json(verdict);
      if (threads == 1) one_thread = all;
      EXPECT_TRUE(all == one_thread) << "threads change the verdict";
    }
  }
}

}  // namespace assay::oracle
