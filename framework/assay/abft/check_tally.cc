#include "assay/abft/check_tally.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "assay/base/text.h"

namespace assay::inline v0_2::abft {

bool CheckTally::count(const Reading& r, bool is_float) {
  ++checks;
  if (!r.checkable) {
    ++not_checkable;
    return false;
  }
  // Most ratios are below the largest one so far. Comparing with a product is faster than computing
  // each quotient. An infinite difference may have an infinite threshold, and its ratio is
  // infinite.
  if (!(r.difference <= worst_ratio * r.threshold) || std::isinf(r.difference)) {
    worst_ratio = std::max(worst_ratio, ratio_of(r));
  }
  uninformative += is_float && r.difference == 0 && r.threshold == 0 ? 1 : 0;
  z.add(r);
  return r.flagged();
}

void CheckTally::settle_worst(
    const std::function<Reading(const LooseReading&, double ratio)>& closer) {
  const auto less = [](const LooseReading* x, const LooseReading* y) {
    return std::tuple(x->most, y->row, y->group) < std::tuple(y->most, x->row, x->group);
  };
  std::vector<const LooseReading*> heap;
  const auto reached = [&] { return std::max(worst_ratio, loose.known); };
  for (const LooseReading& r : loose.kept) {
    if (r.most > reached()) heap.push_back(&r);
  }
  std::ranges::make_heap(heap, less);
  while (!heap.empty() && heap.front()->most > reached()) {
    worst_ratio = std::max(worst_ratio, ratio_of(closer(*heap.front(), reached())));
    std::ranges::pop_heap(heap, less);
    heap.pop_back();
  }
  loose.kept = {};
}

void CheckCounts::add(const CheckCounts& s) {
  checks += s.checks;
  flagged += s.flagged;
  not_checkable += s.not_checkable;
  uninformative += s.uninformative;
  confirmed_clean += s.confirmed_clean;
  narrow += s.narrow;
  blind += s.blind;
  right_specials += s.right_specials;
  special_checks += s.special_checks;
  worst_ratio = std::max(worst_ratio, s.worst_ratio);
  all_looked_at = all_looked_at && s.all_looked_at;
  flags.insert(flags.end(), s.flags.begin(), s.flags.end());
}

void CheckTally::add(const CheckTally& s) {
  CheckCounts::add(s);
  z.add(s.z);
  loose.kept.insert(loose.kept.end(), s.loose.kept.begin(), s.loose.kept.end());
}

bool larger(const AbftFlag& x, const AbftFlag& y) {
  const double rx = ratio_of(x.reading), ry = ratio_of(y.reading);
  if (rx != ry) return rx > ry;
  return std::tuple(x.batch, x.index, x.first) < std::tuple(y.batch, y.index, y.first);
}

void set_counts(AbftVerdict& v, CheckTally& t) {
  static_cast<CheckCounts&>(v) = std::move(static_cast<CheckCounts&>(t));
  v.measured = t.z.measured;
  v.rms_z = t.z.rms();
  v.mean_z = t.z.mean();
}

void add_counts(AbftVerdict& all, const AbftVerdict& v) {
  ZTally z = ZTally::of_means(all.measured, all.rms_z, all.mean_z);
  z.add(ZTally::of_means(v.measured, v.rms_z, v.mean_z));
  all.add(v);
  all.columns_are_off = all.columns_are_off || v.columns_are_off;
  all.from_golden = all.from_golden || v.from_golden;
  all.calibrated = all.calibrated && v.calibrated;
  all.measured = z.measured;
  all.rms_z = z.rms();
  all.mean_z = z.mean();
}

std::string calibration_note(std::int64_t measured, double rms_z, double mean_z) {
  constexpr std::int64_t kFewest = 30;
  // The quantile that a normally distributed number exceeds with a probability of one in a million.
  constexpr double kQuantile = 4.75;
  if (measured < kFewest) return "";
  const auto n = static_cast<double>(measured);
  const double cube = 1 - 2 / (9 * n) + kQuantile * std::sqrt(2 / (9 * n));
  const double limit = std::sqrt(cube * cube * cube);
  if (rms_z > limit) {
    return formatted(
        "rms z {} over {} checks is above {}: the reason may be truncating casts, accumulators of "
        "less precision or correlated errors; check the elements, too, because these thresholds "
        "are too small",
        short_number(rms_z), grouped(measured), short_number(limit));
  }
  const double most = kQuantile / std::sqrt(n);
  if (std::abs(mean_z) > most) {
    return formatted(
        "mean z {} over {} checks differs from 0 by more than {}: the reason may be casts or "
        "accumulators that err to one side",
        short_number(mean_z), grouped(measured), short_number(most));
  }
  return "";
}

std::string checks_text(const ThresholdSpec& spec, std::int64_t columns) {
  const bool whole = spec.groups_of(columns) == 1;
  return formatted("{}{}",
                   whole ? "row checks" : formatted("checks of {} columns", spec.width_of(columns)),
                   spec.columns ? " and of columns" : "");
}

void summarize(AbftVerdict& v, const Threshold& threshold, const std::string& what) {
  std::ranges::stable_sort(v.flags, larger);
  if (v.flags.size() > AbftVerdict::kListed) v.flags.resize(AbftVerdict::kListed);
  v.notes.clear();
  v.outcome = Outcome::kUntrusted;
  const std::int64_t made = v.checks - v.not_checkable - v.blind;
  if (v.checks == 0) {
    v.because = "there are no elements to check";
  } else if (v.flagged > 0) {
    v.outcome = Outcome::kFail;
    v.because = formatted("{} of {} {} {} above {}", grouped(v.flagged), grouped(v.checks), what,
                          v.flagged == 1 ? "is" : "are", threshold.name);
    if (v.columns_are_off)
      v.notes.push_back("each column differs by a constant; was a bias added or left out?");
    if (!v.all_looked_at) {
      v.notes.push_back(
          "too many checks are above the threshold to look at the elements of each of them");
    }
  } else if (v.special_checks == v.checks) {
    v.because = "no check could be made, because each of them sums infinite or NaN elements";
  } else if (v.not_checkable == v.checks) {
    v.because =
        "no check shows anything, because the operands or their checksums hold NaN or infinity";
  } else if (v.not_checkable + v.uninformative == v.checks) {
    v.because = "no check shows anything, because every difference and every threshold is 0";
  } else if (2 * made < v.checks) {
    v.because = formatted("only {} of {} {} say anything", grouped(made), grouped(v.checks), what);
  } else {
    v.outcome = Outcome::kPass;
    v.because = formatted("none of {} {} above {} (largest difference / threshold {})",
                          grouped(v.checks), what, threshold.name, short_number(v.worst_ratio));
  }
  if (v.confirmed_clean > 0) {
    v.notes.push_back(formatted("the elements of {} above the threshold are right",
                                counted(v.confirmed_clean, "check")));
  }
  if (v.right_specials > 0) {
    v.notes.push_back(
        formatted("{} infinite or NaN element{} right, because the rounded reference is so, too; "
                  "{} could not be made because of {}",
                  grouped(v.right_specials), v.right_specials == 1 ? " is" : "s are",
                  counted(v.special_checks, "check"), v.right_specials == 1 ? "it" : "them"));
  }
  const std::int64_t others = v.not_checkable - v.special_checks;
  if (others > 0 && v.not_checkable < v.checks) {
    v.notes.push_back(
        formatted("{} could not be made, because operands or checksums hold NaN or infinity",
                  counted(others, "check")));
  }
  if (v.blind > 0) {
    v.notes.push_back(formatted(
        "{} would accept zeros, because {} larger than the elements", counted(v.blind, "check"),
        v.from_golden ? "the case's own bound is" : "the roundings of the weights may be"));
  }
  if (v.narrow > 0) {
    v.notes.push_back(
        formatted("{} may be wrong, because the elements span fewer than 3 ulps, where rounding "
                  "errors are not independent; give the operands, which confirm such checks",
                  counted(v.narrow, "check")));
  }
  // If there is a fault, z includes it and says nothing about the calibration.
  if (v.outcome == Outcome::kPass && v.calibrated) {
    const std::string note = calibration_note(v.measured, v.rms_z, v.mean_z);
    if (!note.empty()) v.notes.push_back(note);
  }
}

}  // namespace assay::abft
