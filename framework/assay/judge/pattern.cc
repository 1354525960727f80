#include "assay/judge/pattern.h"

#include <algorithm>
#include <optional>

#include "assay/base/text.h"
#include "assay/judge/failed_elements.h"
#include "assay/judge/output_changes.h"
#include "assay/judge/output_values.h"

namespace assay::inline v0_2 {
namespace {

// The share of the first mismatches that a change must explain before it is tried on more.
constexpr double kPromises = 0.7;

// Returns the bound by which a changed output is judged.
Bound bound_after(const FailedElements& failed, const OutputChange& change) {
  Bound bound = failed.bound();
  if (change.rescales) bound.rtol += 2 * unit_roundoff(failed.format());
  if (!change.is_reading) return bound;
  // Values of another dtype are compared with the expected values as rounded to that dtype.
  bound.round_expected = true;
  const Format& f = *change.format;
  if (f.is_float() && f.precision < failed.format().precision) {
    bound.rtol = std::max(bound.rtol, 2 * unit_roundoff(f));
  }
  return bound;
}

// Returns the probability that a mismatch passes with what the change makes of another mismatch.
double chance_of(const FailedElements& failed, const OutputChange& change) {
  const Positions& all = failed.tried().positions();
  std::uint64_t state = 0x9e3779b97f4a7c15u;
  const Tensor drawn = failed.first().output(*change.format, [&](std::int64_t p) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto place = static_cast<std::size_t>((state >> 20) % all.size());
    // Takes an element other than the one at position p.
    return change.bits(all[all[place] == p ? (place + 1) % all.size() : place]);
  });
  return (static_cast<double>(failed.first().passes(drawn, bound_after(failed, change))) + 0.5) /
         static_cast<double>(failed.first().size() + 1);
}

// A change's success.
struct Rating {
  double explained = 0;  // share of the tried mismatches that pass
  // estimated number of mismatches that pass, minus that of right elements that fail
  double net = 0;
};

// Returns nothing if the change explains too few mismatches, or may explain them by chance.
std::optional<Rating> rating_of(const FailedElements& failed, const OutputChange& change) {
  const Bound bound = bound_after(failed, change);
  const auto passes = [&](const ElementSample& sample) {
    return sample.passes(sample.output(*change.format, change.bits), bound);
  };
  const double first = static_cast<double>(passes(failed.first()));
  if (first < kPromises * static_cast<double>(failed.first().size())) return {};
  const std::size_t explained = passes(failed.tried());
  if (!FailedElements::is_most(explained, failed.tried().size())) return {};
  Rating rating;
  rating.explained = static_cast<double>(explained) / static_cast<double>(failed.tried().size());
  rating.net = rating.explained * static_cast<double>(failed.mismatches().size());
  if (change.is_flip) return rating;
  const std::size_t all = failed.tried().size();
  if (explained < FailedElements::kFewest) return {};
  // If there are few mismatches, a number that was fitted to them must explain all of them.
  constexpr std::size_t kMany = 20;
  if (change.is_fitted && explained < all && all < kMany) return {};
  if (!FailedElements::beats_chance(explained, chance_of(failed, change))) return {};
  if (change.source) {
    // Moves the expected values in the same way. If most of them still pass, the values are too
    // alike to show that elements were moved.
    const ElementSample& tried = failed.tried();
    const Tensor moved = tried.output(
        failed.format(), [&](std::int64_t p) { return failed.expected_at(change.source(p)); });
    if (2 * tried.passes(moved, failed.bound()) >= tried.size()) return {};
  }
  if (change.alters_all && failed.right().size() > 0) {
    const double broken = 1 - static_cast<double>(passes(failed.right())) /
                                  static_cast<double>(failed.right().size());
    rating.net -= broken * static_cast<double>(failed.looked().size() - failed.mismatches().size());
    // A fitted number may explain elements by chance. It then breaks other elements.
    if (change.is_fitted && 2 * rating.net < static_cast<double>(failed.mismatches().size()))
      return {};
  }
  return rating;
}

// Returns in words what a change does to all elements. Empty if it explains too few mismatches
// after all.
std::string words_of(const FailedElements& failed, const OutputChange& change) {
  const ElementSample& looked = failed.looked();
  const Bound bound = bound_after(failed, change);
  const Tensor changed = looked.output(*change.format, [&](std::int64_t p) {
    return change.alters_all || failed.is_mismatch(p) ? change.bits(p) : failed.bits()[p];
  });
  std::size_t left = 0, broken = 0;
  for (const std::int64_t place : looked.mismatches(changed, bound)) {
    ++(failed.is_mismatch(looked.positions()[at(place)]) ? left : broken);
  }
  Bound limits = failed.verdict().bound;
  limits.round_expected = bound.round_expected;
  const bool meets = looked.meets_limits(changed, limits);
  const std::size_t all = failed.mismatches().size(), passes = all - left;
  if (!FailedElements::is_most(passes, all)) return "";
  // A fitted number that breaks more than half as many elements as it explains may explain them by
  // chance.
  if (change.is_fitted && 2 * broken > passes) return "";
  if (failed.by_limits()) {
    return meets ? formatted("{} would pass{}", change.says, change.adds) : "";
  }
  const auto passes_by_verdict = [&] {
    return !change.rescales || looked.mismatches(changed, failed.bound()).empty();
  };
  if (broken == 0 && left == 0 && meets && failed.looks_at_all() && passes_by_verdict()) {
    return formatted("{} would pass ({}){}", change.says, failed.explains(passes), change.adds);
  }
  return formatted(
      "{} {}{}{}", change.says, failed.explains(passes),
      broken == 0 ? ""
                  : formatted(", but would miss at {} other{}",
                              grouped(static_cast<std::int64_t>(broken)), broken == 1 ? "" : "s"),
      change.adds);
}

// Returns the change that explains most and breaks least, in words.
CauseText best_change(const FailedElements& failed) {
  const std::vector<OutputChange> changes = possible_changes(failed);
  std::vector<const OutputChange*> best;
  Rating most;
  for (const OutputChange& change : changes) {
    const std::optional<Rating> rating = rating_of(failed, change);
    if (!rating || (!best.empty() && rating->net < most.net)) continue;
    // If several changes explain as much, the first is taken. If that is a factor, the bits of
    // another dtype are named as well, because either may be the cause.
    if (best.empty() || rating->net > most.net) best.clear();
    const bool either = best.size() == 1 && best[0]->is_factor && change.is_reading;
    if (best.empty() || either) best.push_back(&change);
    most = *rating;
  }
  CauseText found;
  for (const OutputChange* change : best) {
    const std::string words = words_of(failed, *change);
    if (words.empty()) continue;
    found.text += (found.text.empty() ? "" : "; or ") + words;
  }
  return found;
}

}  // namespace

FailurePattern failure_pattern(const TensorView& actual, const TensorView& expected,
                               const JudgeOptions& options, const Verdict& verdict,
                               const std::vector<std::int64_t>& mismatches) {
  const FailedElements failed(actual, expected, options, verdict, mismatches);
  if (failed.mismatches().empty()) return {verdict.where, false};
  const auto composed = [&](const CauseText& cause, bool explained) {
    if (verdict.where.empty() || cause.says_where) return FailurePattern{cause.text, explained};
    return FailurePattern{verdict.where + "; " + cause.text, explained};
  };
  for (const auto& cause : {special_values, one_value, cut_off, best_change, repeats}) {
    if (const CauseText found = cause(failed); !found.text.empty()) return composed(found, true);
  }
  if (const CauseText tail = wrong_tail(failed); !tail.text.empty()) return composed(tail, false);
  return {verdict.where, false};
}

}  // namespace assay
