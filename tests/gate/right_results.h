// Data that are hard for theories of rounding errors, and float32 sums of them in many orders. The
// tests compare the standard expected_error with results that no machine's model made.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/gate/gate.h"
#include "assay/op/operator.h"

namespace assay::right {

// Returns how many times the tests draw: 1, or the value of the environment variable
// ASSAY_RIGHT_RESULTS, which serves for larger counts offline.
inline std::uint64_t times() {
  const char* word = std::getenv("ASSAY_RIGHT_RESULTS");
  return word == nullptr ? 1 : std::strtoull(word, nullptr, 10);
}

inline const std::vector<std::string>& kinds() {
  static const std::vector<std::string> all = {
      "normal",     "mean 1",      "near 1",     "constant",  "near constant",
      "two values", "lognormal",   "heavy tail", "outlier",   "outliers cancel",
      "sorted",     "alternating", "channels",   "subnormal", "powers of 2",
      "cancelling", "integers",    "mostly 0",   "steps"};
  return all;
}

// Returns n values of a kind, rounded to a format.
inline std::vector<double> hard_values(const std::string& kind, std::int64_t n, const Format& f,
                                       Random& random) {
  const double c = 0.1 + 3 * random.uniform(), d = random.normal(), largest = max_finite(f);
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) {
    const double g = random.normal(), t = static_cast<double>(i) / static_cast<double>(n);
    double v = g;
    if (kind == "mean 1") v = 1 + g;
    if (kind == "near 1") v = 0.9 + 0.2 * random.uniform();
    if (kind == "constant") v = c;
    if (kind == "near constant") v = c * (1 + 1e-5 * g);
    if (kind == "two values") v = random.uniform() < 0.5 ? c : d;
    if (kind == "lognormal") v = std::exp(2 * g);
    if (kind == "heavy tail") v = g / std::max(std::abs(random.normal()), 1e-3);
    if (kind == "outlier") v = i == n / 3 ? std::min(largest / 2, 3e5) : 0.01 * std::abs(g);
    if (kind == "outliers cancel") v = i == n / 3 ? 400 : i == 2 * n / 3 ? -400 : 0.05 + 0.01 * g;
    if (kind == "sorted") v = 4 * t - 2 + 1e-3 * g;
    if (kind == "alternating") v = (i % 2 == 0 ? c : -c) * (1 + 1e-4 * g);
    if (kind == "channels") v = static_cast<double>(i % 16) - 7.5 + 0.01 * g;
    if (kind == "subnormal") v = g * 4 * min_subnormal(f);
    if (kind == "powers of 2")
      v = std::ldexp(g > 0 ? 1 : -1, static_cast<int>(8 * random.uniform()) - 4);
    if (kind == "cancelling")
      v = i % 2 == 1 ? -values.back() * (1 + 0.01 * random.uniform()) : 10 * g;
    if (kind == "integers") v = std::round(5 * g);
    if (kind == "mostly 0") v = random.uniform() < 0.9 ? 0 : g;
    if (kind == "steps") v = t < 0.5 ? c : -d;
    values.push_back(round_to(f, std::clamp(v, -largest, largest)));
  }
  return values;
}

inline constexpr const char* kOrders[] = {"ascending",  "reversed", "permuted", "pairwise",
                                          "four parts", "strided",  "blocks"};

// Returns the sum of float32 numbers in an order.
inline float sum_in(const std::string& order, std::vector<float> terms, std::uint64_t seed = 1) {
  const auto chain = [](const float* first, const float* last, std::ptrdiff_t stride) {
    float sum = 0;
    for (; first < last; first += stride) sum += *first;
    return sum;
  };
  const float *begin = terms.data(), *end = begin + terms.size();
  if (order == "reversed") std::reverse(terms.begin(), terms.end());
  if (order == "permuted") {
    Random random(seed, 0);
    for (std::size_t k = terms.size(); k > 1; --k) {
      std::swap(terms[k - 1], terms[static_cast<std::size_t>(random.below(k))]);
    }
  }
  if (order == "pairwise") {
    while (terms.size() > 1) {
      std::vector<float> next;
      for (std::size_t k = 0; k < terms.size(); k += 2) {
        next.push_back(k + 1 < terms.size() ? terms[k] + terms[k + 1] : terms[k]);
      }
      terms = next;
    }
    return terms.empty() ? 0.0f : terms[0];
  }
  if (order == "four parts") {
    const std::ptrdiff_t n = end - begin;
    float sum = 0;
    for (std::ptrdiff_t part = 0; part < 4; ++part) {
      sum += chain(begin + n * part / 4, begin + n * (part + 1) / 4, 1);
    }
    return sum;
  }
  if (order == "strided") {
    std::vector<float> lanes;
    for (std::ptrdiff_t lane = 0; lane < std::min<std::ptrdiff_t>(8, end - begin); ++lane) {
      lanes.push_back(chain(begin + lane, end, 8));
    }
    return sum_in("pairwise", lanes);
  }
  if (order == "blocks") {
    float sum = 0;
    for (const float* first = begin; first < end;
         first += std::min<std::ptrdiff_t>(16, end - first)) {
      sum += chain(first, first + std::min<std::ptrdiff_t>(16, end - first), 1);
    }
    return sum;
  }
  return chain(begin, end, 1);
}

// Counts the outcomes of right results, by expected_error and by the default gate. `fell_back`
// results were judged by the operator's own bound, with a note. `own_failed` of them did not pass
// that bound, which shows nothing about expected_error. If even the default gate does not pass a
// result, because it is below the output's range, expected_error may also call it untrusted:
// `blind` counts these.
struct Outcomes {
  int judged = 0, fell_back = 0, own_failed = 0, blind = 0, untrusted = 0, failed = 0;
  int failed_by_default = 0, untrusted_by_default = 0;
  std::string first, first_by_default;  // of the failures

  void judge(const Case& c, const Tensor& output, const std::string& what) {
    ++judged;
    const Outcome by_default = judge_by_default(c, output, what);
    const Verdict v =
        gate_case(c, output, {.bounds = {.standards = {"expected_error"}}, .patterns = false})
            .verdicts.at(0);
    const bool is_own = std::any_of(v.notes.begin(), v.notes.end(), [](const std::string& note) {
      return note.starts_with("judged by the operator's own bound");
    });
    fell_back += is_own ? 1 : 0;
    if (v.outcome == Outcome::kPass) return;
    if (is_own) {
      ++own_failed;
      return;
    }
    const bool is_untrusted = v.outcome == Outcome::kUntrusted;
    if (is_untrusted && by_default != Outcome::kPass) {
      ++blind;
      return;
    }
    (is_untrusted ? untrusted : failed) += 1;
    if (first.empty()) first = what + ": " + v.because;
  }

  // Prints in one line how many right results were judged, and how.
  void print(const std::string& words) const {
    std::printf(
        "%s: %d right results, %d judged by the own bound, %d of these not passed, %d untrusted; "
        "by default %d failed, %d untrusted\n",
        words.c_str(), judged, fell_back, own_failed, untrusted, failed_by_default,
        untrusted_by_default);
  }

 private:
  Outcome judge_by_default(const Case& c, const Tensor& output, const std::string& what) {
    const CaseReport report = gate_case(c, output, {.patterns = false});
    const Outcome outcome = report.outcome();
    if (outcome == Outcome::kUntrusted) ++untrusted_by_default;
    if (outcome != Outcome::kPass && outcome != Outcome::kUntrusted) {
      ++failed_by_default;
      if (first_by_default.empty()) first_by_default = what + ": " + report.because();
    }
    return outcome;
  }
};

}  // namespace assay::right
