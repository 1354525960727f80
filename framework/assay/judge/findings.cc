#include "assay/judge/findings.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "assay/base/text.h"
#include "assay/judge/blindness.h"
#include "assay/judge/exact.h"
#include "assay/judge/rule_table.h"

namespace assay::inline v0_2 {
namespace {

// location_pattern() gets the positions of at most this many mismatches: of one part, and of the
// whole output.
constexpr std::size_t kPositionsOfPart = 65536, kPositionsOfAll = 1 << 20;

// Returns the limits that do not hold, such as "MERE < 0.000977 is 0.002".
std::string broken_limits(const std::vector<LimitReading>& readings) {
  std::string text;
  for (const LimitReading& r : readings) {
    if (holds(readings, r)) continue;
    const bool in_group = r.limit.group != 0;
    text += formatted("{}{} is {}",
                      text.empty() ? ""
                      : in_group   ? ", and "
                                   : "; ",
                      r.limit.text(), short_number(r.value, 4));
  }
  return text;
}

// Returns the words for the case that all mismatches are within one ulp. A right result whose last
// rounding differs would then have them too. Returns an empty string in other cases.
std::string one_ulp_words(const Verdict& verdict, const ElementFindings& found) {
  const Bound& bound = verdict.bound;
  // A mismatch within one ulp is not mentioned if the standard is expected_error: its bounds
  // already count roundings, and an element has only one right rounding, except at a tie.
  if (!found.within_one_ulp || bound.rule == Rule::kExpectedError || row_of(bound.rule).by_codes) {
    return "";
  }
  return formatted("; {} within one {} ulp: the bound asks for less than that",
                   verdict.mismatches == 1 ? "it is" : "all of them are", verdict.format->name);
}

// Sets the number of blind elements of a verdict. The rule for single elements gives one number, to
// which the mismatches that the budget forgives are added. The trial of the limits gives another
// number. The verdict gets the smaller one.
void set_blind(Verdict& verdict, const ElementFindings& found,
               const std::optional<StatisticsResult>& statistics) {
  const bool of_elements = verdict.bound.rule != Rule::kStatistics;
  if (of_elements) {
    verdict.nonzero = found.nonzero;
    verdict.blind = std::min(found.nonzero, found.blind + verdict.bound.forgiven(verdict.sites));
  }
  if (!statistics) return;
  const std::optional<double>& tried = statistics->blind_share;
  if (!of_elements) verdict.nonzero = statistics->nonzero;
  if (tried && !(of_elements && verdict.blind_share() <= *tried)) {
    verdict.blind = std::llround(*tried * static_cast<double>(verdict.nonzero));
  }
}

// Returns why an output of integers cannot be compared with float values, some of which are not
// whole numbers.
std::string fraction_words(const Verdict& verdict, const Format& expected,
                           const RoundedFractions& fractions, const TensorView& whole) {
  const char* const are =
      fractions.count == 1 ? "is not a whole number:" : "are not whole numbers, the first is";
  return formatted(
      "the output is {}, but {} of {} expected values ({}) {} {} at {}; return an output of a "
      "float dtype, or round the expected result if integers are right",
      verdict.format->name, grouped(fractions.count), grouped(verdict.sites), expected.name, are,
      number_text(fractions.value), shape_text(whole.multi_index(fractions.first)));
}

std::string difference_words(const Bound& bound, std::int64_t mismatches) {
  std::string verb = mismatches == 1 ? "differs" : "differ";
  if (bound.rule == Rule::kBits)
    return verb + (mismatches == 1 ? " in its bits" : " in their bits");
  if (bound.rule == Rule::kStatistics) return verb + " as NaN and infinity do";
  if (bound.rule == Rule::kExpectedError)
    return formatted("{} by more than the expected error", verb);
  if (bound.is_plain() && bound.rtol == 0 && bound.atol == 0) return verb;
  return formatted("{} by more than {}", verb, bound.text());
}

}  // namespace

void ElementFindings::count(const Finding& finding, bool is_nan, bool has_ratio) {
  mismatches_of_zeros += finding.missed_by_zero ? 1 : 0;
  nonzero += finding.nonzero ? 1 : 0;
  blind += finding.nonzero && !finding.missed_by_zero ? 1 : 0;
  zeros_would_mismatch |= finding.missed_by_zero_for_good;
  expected_nans += finding.expects_nan ? 1 : 0;
  if (finding.missed) return;
  equal_nans += finding.expects_nan && is_nan ? 1 : 0;
  if (finding.error > 0 && finding.bound > 0 && has_ratio) {
    worst_ratio = std::max(worst_ratio, finding.error / finding.bound);
  }
}

void ElementFindings::count_mismatch(const Mismatch& mismatch, bool is_special) {
  if (mismatch_map) mismatch_map->add(mismatch.linear);
  ++mismatches;
  special_mismatches += is_special ? 1 : 0;
  if (positions.size() < kPositionsOfPart) positions.push_back(mismatch.linear);
  worst_ratio = std::max(worst_ratio, ratio_of(mismatch));
}

bool ElementFindings::lists(const Mismatch& mismatch, std::size_t listed) const {
  return worst.size() < listed || (!worst.empty() && worse_mismatch(mismatch, worst.back()));
}

void ElementFindings::list(Mismatch mismatch, std::size_t listed) {
  const auto place = std::upper_bound(worst.begin(), worst.end(), mismatch, worse_mismatch);
  worst.insert(place, std::move(mismatch));
  if (worst.size() > listed) worst.pop_back();
}

void ElementFindings::merge(ElementFindings later, std::size_t listed) {
  mismatches += later.mismatches;
  special_mismatches += later.special_mismatches;
  unmeetable += later.unmeetable;
  worst_ratio = std::max(worst_ratio, later.worst_ratio);
  within_one_ulp &= later.within_one_ulp;
  zeros_would_mismatch |= later.zeros_would_mismatch;
  mismatches_of_zeros += later.mismatches_of_zeros;
  nonzero += later.nonzero;
  blind += later.blind;
  if (fractions.count == 0) {
    fractions = later.fractions;
  } else {
    fractions.count += later.fractions.count;
  }
  if (floats_for_integers == nullptr) floats_for_integers = later.floats_for_integers;
  expected_nans += later.expected_nans;
  equal_nans += later.equal_nans;
  worst.insert(worst.end(), std::make_move_iterator(later.worst.begin()),
               std::make_move_iterator(later.worst.end()));
  std::ranges::stable_sort(worst, worse_mismatch);
  if (worst.size() > listed) worst.resize(listed);
  const std::size_t room = std::min(kPositionsOfAll - positions.size(), later.positions.size());
  positions.insert(positions.end(), later.positions.begin(),
                   later.positions.begin() + static_cast<std::ptrdiff_t>(room));
  if (later.metrics && metrics)
    metrics->merge(*later.metrics);
  else if (later.metrics)
    metrics = std::move(later.metrics);
  if (later.mismatch_map && mismatch_map)
    mismatch_map->merge(*later.mismatch_map);
  else if (later.mismatch_map)
    mismatch_map = std::move(later.mismatch_map);
}

bool ElementFindings::zeros_mismatch(const Bound& bound, std::int64_t sites) const {
  return zeros_would_mismatch || mismatches_of_zeros > bound.forgiven(sites);
}

std::int64_t ElementFindings::forgiven(const Bound& bound, std::int64_t sites) const {
  return special_mismatches == 0 && mismatches <= bound.forgiven(sites) ? mismatches : 0;
}

void settle_nans(Verdict& verdict, std::int64_t expected, std::int64_t accepted) {
  if (verdict.outcome == Outcome::kPass && 2 * expected > verdict.sites) {
    verdict.decide(Outcome::kUntrusted,
                   formatted("{} of {} expected elements are NaN, which is more than half: check "
                             "how the golden result was made",
                             grouped(expected), grouped(verdict.sites)));
  }
  if (accepted == 0) return;
  verdict.notes.push_back(formatted("{} of {} elements {} NaN where NaN is expected",
                                    grouped(accepted), grouped(verdict.sites),
                                    accepted == 1 ? "is" : "are"));
}

void settle(Verdict& verdict, ElementFindings found,
            const std::optional<StatisticsResult>& statistics, bool metrics,
            const std::function<std::vector<double>()>& sizes) {
  const Bound& bound = verdict.bound;
  const TensorView whole{nullptr, verdict.format, verdict.shape, contiguous_strides(verdict.shape)};
  if (bound.whole_numbers && found.fractions.count > 0) {
    Verdict refused =
        not_comparable(fraction_words(verdict, *found.floats_for_integers, found.fractions, whole));
    refused.bound = bound;
    verdict = std::move(refused);
    return;
  }
  verdict.mismatches = found.mismatches;
  verdict.special_mismatches = found.special_mismatches;
  verdict.worst_ratio = found.worst_ratio;
  verdict.worst = std::move(found.worst);
  if (verdict.mismatches > 0) verdict.mismatch_map = std::move(found.mismatch_map);
  for (Mismatch& mismatch : verdict.worst) mismatch.index = whole.multi_index(mismatch.linear);
  if (metrics) {
    verdict.metrics = found.metrics->result();
    // The metrics do not count a result beyond the output's range as infinity, so their worst ratio
    // is not used if there are such results.
    const bool beyond = bound.infinity == Infinity::kSaturating &&
                        verdict.metrics->max_abs_expected > max_finite(*verdict.format);
    if (bound.is_plain() && !beyond) {
      verdict.worst_ratio = std::max(verdict.worst_ratio, found.metrics->worst_ratio());
    }
  }
  verdict.forgiven = found.forgiven(bound, verdict.sites);
  if (statistics) {
    verdict.readings = statistics->readings;
    verdict.worst_ratio = std::max(verdict.worst_ratio, statistics->worst_ratio);
  }
  set_blind(verdict, found, statistics);
  const std::string counts =
      formatted("{} of {} elements ({})", grouped(verdict.mismatches), grouped(verdict.sites),
                percent_text(verdict.mismatches, verdict.sites));
  const bool mismatches = verdict.mismatches > verdict.forgiven;
  const std::string budget =
      bound.max_mismatches || bound.max_mismatch_fraction
          ? formatted("; {} are allowed", grouped(bound.forgiven(verdict.sites)))
          : "";
  if (mismatches && found.unmeetable == verdict.mismatches) {
    verdict.decide(Outcome::kUntrusted, formatted("{} miss {}, which is below half a {} ulp there: "
                                                  "the correctly rounded result misses it too",
                                                  counts, bound.text(), verdict.format->name));
  } else if (mismatches) {
    verdict.decide(Outcome::kFail,
                   formatted("{} {}{}{}", counts, difference_words(bound, verdict.mismatches),
                             budget, one_ulp_words(verdict, found)));
    if (found.positions.size() == static_cast<std::size_t>(verdict.mismatches)) {
      verdict.where = location_pattern(found.positions, verdict.shape);
    }
  } else if (statistics && !statistics->met) {
    verdict.decide(Outcome::kFail, broken_limits(statistics->readings));
  } else if (!found.zeros_mismatch(bound, verdict.sites) &&
             (!statistics || statistics->trivial_met)) {
    verdict.decide(
        Outcome::kUntrusted,
        bound.limits.empty()
            ? formatted("an output of zeros would pass too: the expected result is within {} "
                        "everywhere{}{}",
                        bound.text(), budget, tolerance_that_sees(verdict, sizes))
            : formatted("an output of zeros, or the negated one, would pass too: {} holds for it",
                        bound.text()));
  } else if (bound.rule == Rule::kTolerance &&
             !(std::isfinite(bound.atol) && std::isfinite(bound.rtol))) {
    verdict.decide(Outcome::kUntrusted, "the tolerance is infinite: any finite output would pass");
  } else if (verdict.blind_share() > bound.max_blind) {
    verdict.decide(Outcome::kUntrusted, blind_words(verdict) + tolerance_that_sees(verdict, sizes));
  } else if (verdict.mismatches > 0) {
    verdict.because =
        formatted("{} {}{}", counts, difference_words(bound, verdict.mismatches), budget);
  } else {
    verdict.because =
        bound.rule == Rule::kStatistics
            ? formatted("{} over {} elements", bound.text(), grouped(verdict.sites))
            : formatted("all {} elements within {}", grouped(verdict.sites), bound.text());
  }
  settle_nans(verdict, found.expected_nans, found.equal_nans);
  if (bound.whole_numbers && found.floats_for_integers != nullptr &&
      verdict.outcome == Outcome::kPass) {
    verdict.notes.push_back(
        formatted("the output is {} and the expected result is {}, but all expected values are "
                  "whole numbers",
                  verdict.format->name, found.floats_for_integers->name));
  }
}

}  // namespace assay
