#include "assay/judge/regate.h"

#include <cmath>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/judge/blindness.h"
#include "assay/judge/findings.h"
#include "assay/judge/rule_table.h"

namespace assay::inline v0_2 {
namespace {

// Returns the number of elements that are mismatches because of NaN or infinity under the bound's
// policy. Returns nothing if the metrics do not give it.
std::optional<std::int64_t> special_mismatches(const Metrics& m, const Bound& bound) {
  const std::int64_t one_sided = m.actual.nan + m.expected.nan - 2 * m.both_nan;
  const std::int64_t infinite = m.actual.positive_inf + m.actual.negative_inf +
                                m.expected.positive_inf + m.expected.negative_inf;
  // The saved metrics compared infinities with the rounded expected value. A bound that does not
  // round may count them differently.
  const bool rounded = bound.round_expected || row_of(bound.rule).by_codes;
  const bool moved = m.expected_rounds && !rounded && infinite + m.inf_mismatch > 0;
  if (one_sided < 0 || moved) return std::nullopt;
  return one_sided + (bound.nan_equal ? 0 : m.both_nan) + m.inf_mismatch;
}

// True if zeros in place of the output would be mismatches somewhere: at the largest expected
// value, or at NaN and infinity.
bool zeros_would_mismatch(const SavedResult& saved, const Metrics& m, const Bound& bound) {
  if (m.expected.nan + m.expected.positive_inf + m.expected.negative_inf > 0) return true;
  const double largest = m.max_abs_expected;
  if (bound.rule == Rule::kUlps) {
    const Format& f = *saved.format;
    return ulp_distance(f, encode(f, 0), encode(f, largest)).value_or(0) > bound.ulps;
  }
  return !(largest <= largest_error(bound, *saved.format, largest, 0));
}

struct Decision {
  Outcome outcome;  // kNotComparable: not decided
  std::string because;
};

Decision undecided(const std::string& because) {
  return {Outcome::kNotComparable, "cannot tell from the saved metrics: " + because};
}

Decision by_tolerance(const Metrics& m, const Bound& b) {
  const bool same_rounding = !m.expected_rounds || m.required_rounded == b.round_expected;
  const bool stored = !m.expected_rounds || !b.round_expected;
  // One of rtol and atol may be looser than the saved one, and the other stricter. The required
  // value was computed in float64, so it is exact except for rounding.
  const auto below = [](double given, double required) { return given < required * (1 - 1e-12); };
  const bool no_stricter_atol = b.atol >= m.required_at_atol;
  const bool no_looser_atol = b.atol <= m.required_at_atol;
  const bool no_stricter_rtol = b.rtol >= m.required_at_rtol;
  const bool no_looser_rtol = b.rtol <= m.required_at_rtol;
  const bool passes = (same_rounding && ((no_stricter_atol && b.rtol >= m.required_rtol) ||
                                         (no_stricter_rtol && b.atol >= m.required_atol))) ||
                      (stored && b.atol >= m.max_abs_error);
  if (passes) return {Outcome::kPass, formatted("all elements are within {}", b.text())};
  const bool fails = same_rounding && ((no_looser_atol && below(b.rtol, m.required_rtol)) ||
                                       (no_looser_rtol && below(b.atol, m.required_atol)));
  if (fails) return {Outcome::kFail, formatted("some elements differ by more than {}", b.text())};
  if (!same_rounding) {
    return undecided(formatted(
        "the expected values were judged {}, but {} they must be {}; judge the tensors again",
        m.required_rounded ? "as rounded to the output's dtype" : "as stored",
        b.standard.empty() ? "now" : "by " + b.standard,
        b.round_expected ? "rounded" : "as stored"));
  }
  return undecided(
      formatted("they say what would pass at atol {} (rtol {}) and at rtol {} (atol {}), which "
                "does not decide {}; judge the tensors again",
                short_number(m.required_at_atol), short_number(m.required_rtol),
                short_number(m.required_at_rtol), short_number(m.required_atol), b.text()));
}

Decision by_ulps(const SavedResult& saved, const Metrics& m, const Bound& b) {
  if (m.max_ulps <= b.ulps)
    return {Outcome::kPass, formatted("all elements are within {}", b.text())};
  const auto [fewest, most] = m.ulps.at_least(static_cast<double>(b.ulps) + 1);
  const std::string count =
      fewest == most && fewest > 0
          ? formatted("{} of {} elements", grouped(fewest), grouped(saved.sites))
          : std::string("some elements");
  return {Outcome::kFail, formatted("{} differ by more than {}; the largest distance is {} ulp",
                                    count, b.text(), m.max_ulps)};
}

// True if zeros, or the negated expected values, are known to meet every limit.
bool zeros_would_hold(const Metrics& m, const Bound& b) {
  if (m.expected.nan + m.expected.positive_inf + m.expected.negative_inf > 0) return false;
  const auto meets = [&](int times) {
    std::vector<LimitReading> readings;
    for (const Limit& limit : b.limits) {
      // The MERE of a trivial output is unknown. It is at most the MARE, so its limit holds if the
      // MARE is within it.
      const Statistic known =
          limit.statistic == Statistic::kMere ? Statistic::kMare : limit.statistic;
      const auto value =
          trivial_statistic({.output = &m}, times, known, limit.parameter, limit.second);
      readings.push_back({limit, value.value_or(0), value && limit.met(*value)});
    }
    return all_hold(readings);
  };
  return meets(1) || meets(2);
}

// Decides limits on statistics. Each limit must hold, but of a group only one has to.
Decision by_limits(const Metrics& m, const Bound& b) {
  if (b.round_expected && m.expected_rounds) {
    return undecided(
        formatted("{} rounds the expected values first, but the saved metrics are of values that "
                  "were not rounded; judge the tensors again",
                  b.standard));
  }
  std::vector<LimitReading> readings;
  for (const Limit& limit : b.limits) {
    if (limit.needs_reference()) {
      return undecided(
          formatted("{} compares with a reference implementation's output, which is not saved; "
                    "judge the tensors again",
                    b.standard));
    }
    const auto saved =
        read_statistic({.output = &m}, limit.statistic, limit.parameter, limit.second);
    if (!saved)
      return undecided(formatted("they lack what {} limits: {}", b.standard, limit.text()));
    const bool low = limit.met(saved->low), high = limit.met(saved->high);
    if (low != high) {
      return undecided(formatted("{} is between {} and {}", limit.text(),
                                 short_number(saved->low, 4), short_number(saved->high, 4)));
    }
    readings.push_back({limit, saved->low, low});
    if (limit.group == 0 && !low) {
      return {Outcome::kFail,
              formatted("{} does not hold: it is {}", limit.text(), short_number(saved->low, 4))};
    }
  }
  for (const LimitReading& r : readings) {
    if (holds(readings, r)) continue;
    return {Outcome::kFail, formatted("none of the alternatives of {} holds", b.standard)};
  }
  if (zeros_would_hold(m, b)) {
    return {Outcome::kUntrusted,
            formatted("an output of zeros, or the negated one, would pass too: {} holds for it",
                      b.text())};
  }
  return {Outcome::kPass, formatted("all limits of {} hold", b.standard)};
}

Decision decide(const SavedResult& saved, const Metrics& m, const Bound& b) {
  Decision decision;
  if (b.as_published) {
    return undecided(formatted(
        "{} judges the elements as the original does; judge the tensors again", b.standard));
  }
  const RuleRow& rule = row_of(b.rule);
  if (rule.judge != nullptr) {
    return undecided(formatted("{} {}", b.standard, rule.why_not_saved));
  }
  if (b.nan_accepts || b.infinity != Infinity::kSign || b.small_value != 0 ||
      b.forgiven(saved.sites) > 0) {
    return undecided(
        "policies for NaN and infinity, small values and budgets are about single elements; judge "
        "the tensors again");
  }
  if (b.rule != Rule::kStatistics && !b.limits.empty()) {
    return undecided(
        formatted("{} limits both elements and statistics; judge the tensors again", b.standard));
  }
  if (b.rule == Rule::kBits) {
    decision = m.bit_identical ? Decision{Outcome::kPass, "the bits are the same"}
                               : Decision{Outcome::kFail, "some elements differ in their bits"};
  } else {
    const auto special = special_mismatches(m, b);
    if (!special)
      return undecided(
          "a rounded expected value may have become infinite; judge the tensors again");
    if (*special > 0) {
      return {Outcome::kFail, formatted("{} of {} elements differ in NaN or infinity",
                                        grouped(*special), grouped(saved.sites))};
    }
    if (b.rule == Rule::kUlps)
      decision = by_ulps(saved, m, b);
    else if (b.rule == Rule::kTolerance)
      decision = by_tolerance(m, b);
    else if (b.rule == Rule::kStatistics)
      return by_limits(m, b);
    else
      return undecided(formatted("the rule of {} is about single elements; judge the tensors again",
                                 b.standard));
    // A tolerance below half an ulp may fail even the correctly rounded result. Then the failure is
    // not decided.
    const bool half_ulp = b.rule == Rule::kTolerance && !b.round_expected && m.expected_rounds &&
                          b.rtol < unit_roundoff(*saved.format);
    if (decision.outcome == Outcome::kFail && half_ulp) {
      return undecided(
          formatted("whether {} is met by the correctly rounded result, or by nothing", b.text()));
    }
  }
  if (decision.outcome != Outcome::kPass) return decision;
  if (!zeros_would_mismatch(saved, m, b)) {
    return {
        Outcome::kUntrusted,
        formatted("an output of zeros would pass too: the expected result is within {} everywhere",
                  b.text())};
  }
  if (b.rule == Rule::kTolerance && !(std::isfinite(b.atol) && std::isfinite(b.rtol))) {
    return {Outcome::kUntrusted, "the tolerance is infinite: any finite output would pass"};
  }
  return decision;
}

// The share of the elements other than 0 to which a bound is blind. It lies between `low` and
// `high`.
struct BlindShare {
  double low = 0, high = 1;
  const SavedCheck* of_low = nullptr;  // the saved check from which `low` follows
};

double blind_share(const SavedCheck& check) {
  return check.nonzero == 0 ? 0
                            : static_cast<double>(check.blind) / static_cast<double>(check.nonzero);
}

bool is_plain_tolerance(const SavedCheck& check) {
  if (!check.rtol || !check.atol) return false;
  Bound plain;
  plain.rtol = *check.rtol;
  plain.atol = *check.atol;
  return plain.text() == check.text;
}

BlindShare blind_share(const SavedResult& saved, const Bound& b) {
  const bool plain = b.is_plain();
  if (b.rule == Rule::kBits || (plain && b.atol == 0 && b.rtol < 1)) return {0, 0, nullptr};
  BlindShare known;
  for (const SavedCheck& check : saved.checks) {
    if (check.round_expected != b.round_expected) continue;
    const double share = blind_share(check);
    const bool tolerances = plain && is_plain_tolerance(check);
    const bool is_looser = tolerances && b.rtol >= *check.rtol && b.atol >= *check.atol;
    const bool is_stricter = tolerances && b.rtol <= *check.rtol && b.atol <= *check.atol;
    const bool is_same = tolerances ? is_looser && is_stricter : b.text() == check.text;
    if (is_same || (is_stricter && share < known.high)) known.high = share;
    if (is_same || (is_looser && share > known.low)) known.low = share, known.of_low = &check;
    if (is_same) break;
  }
  return known;
}

// A pass by a bound that is blind to most elements is not to be trusted.
void look_at_blindness(const SavedResult& saved, bool is_asked, Verdict& verdict) {
  const Bound& bound = verdict.bound;
  const BlindShare share = blind_share(saved, bound);
  if (share.low == share.high && share.of_low != nullptr) {
    verdict.nonzero = share.of_low->nonzero;
    verdict.blind = share.of_low->blind;
  }
  if (share.low > bound.max_blind) {
    const SavedCheck& check = *share.of_low;
    verdict.decide(Outcome::kUntrusted,
                   blind_words(check.blind, check.nonzero, false, bound.text()));
  } else if (share.high > bound.max_blind) {
    const std::string unknown =
        "saved metrics do not tell how many elements this bound is blind to; judge the tensors "
        "again to know";
    if (is_asked) {
      verdict.decide(Outcome::kNotComparable, unknown);
    } else {
      verdict.notes.push_back(unknown);
    }
  }
}

}  // namespace

Verdict regate(const SavedResult& saved, const Bound& bound, bool blindness_is_asked) {
  const FloatEnvironment environment;
  Verdict verdict{.sites = saved.sites, .bound = bound, .format = saved.format};
  if (saved.sites == 0 || saved.metrics.empty() || saved.format == nullptr) {
    verdict.decide(
        Outcome::kNotComparable,
        formatted(
            "no metrics were saved{}",
            saved.because.empty() ? "" : formatted(", because it was judged: {}", saved.because)));
    return verdict;
  }
  for (const Metrics& m : saved.metrics) {
    Decision decision = decide(saved, m, bound);
    verdict.decide(decision.outcome, std::move(decision.because));
    if (verdict.outcome != Outcome::kNotComparable) break;
  }
  if (verdict.outcome != Outcome::kPass) return verdict;
  if (saved.same_data) {
    verdict.outcome = Outcome::kUntrusted;
    verdict.same_data = true;
    verdict.because = saved.because;
  } else {
    look_at_blindness(saved, blindness_is_asked, verdict);
    const Metrics& m = saved.metrics.front();
    settle_nans(verdict, m.expected.nan, bound.nan_equal ? m.both_nan : 0);
  }
  return verdict;
}

}  // namespace assay
