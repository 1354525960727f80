#include "assay/abft/check_tally.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "assay/base/text.h"

namespace assay::abft {

bool CheckTally::count(const Reading& r, bool is_float) {
  ++checks;
  if (!r.checkable) {
    ++not_checkable;
    return false;
  }
  // Most ratios are below the largest one so far. Comparing with a product is faster than computing
  // each quotient.
  if (!(r.difference <= worst_ratio * r.threshold)) {
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
  std::make_heap(heap.begin(), heap.end(), less);
  while (!heap.empty() && heap.front()->most > reached()) {
    worst_ratio = std::max(worst_ratio, ratio_of(closer(*heap.front(), reached())));
    std::pop_heap(heap.begin(), heap.end(), less);
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
  static_cast<CheckCounts&>(v) = std::move(t);
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
        "rms z {} over {} checks is above {}: truncating casts, accumulators of less "
        "precision or correlated errors; its thresholds are not to be trusted alone",
        short_number(rms_z), grouped(measured), short_number(limit));
  }
  const double most = kQuantile / std::sqrt(n);
  if (std::abs(mean_z) > most) {
    return formatted(
        "mean z {} over {} checks is off 0 by more than {}: casts or accumulators "
        "that err to one side",
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
  std::stable_sort(v.flags.begin(), v.flags.end(), larger);
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
    if (v.columns_are_off) v.notes.push_back("each column is off by a constant: a bias?");
    if (!v.all_looked_at) {
      v.notes.push_back("so many are above it that not each was looked at by its elements");
    }
  } else if (v.special_checks == v.checks) {
    v.because = "no check could be made: each sums infinite or NaN elements";
  } else if (v.not_checkable == v.checks) {
    v.because = "no check says anything: the operands or their checksums hold NaN or infinity";
  } else if (v.not_checkable + v.uninformative == v.checks) {
    v.because = "no check says anything: every difference and every threshold is 0";
  } else if (2 * made < v.checks) {
    v.because = formatted("only {} of {} {} say anything", grouped(made), grouped(v.checks), what);
  } else {
    v.outcome = Outcome::kPass;
    v.because = formatted("none of {} {} above {} (largest D/T {})", grouped(v.checks), what,
                          threshold.name, short_number(v.worst_ratio));
  }
  if (v.confirmed_clean > 0) {
    v.notes.push_back(formatted("{} above the threshold, and clean element by element",
                                grouped(v.confirmed_clean)));
  }
  if (v.right_specials > 0) {
    v.notes.push_back(formatted(
        "{} infinite or NaN element{} right, for the reference, rounded, is so too; {} not "
        "checkable for {}",
        grouped(v.right_specials), v.right_specials == 1 ? " is" : "s are",
        grouped(v.special_checks), v.right_specials == 1 ? "it" : "them"));
  }
  const std::int64_t others = v.not_checkable - v.special_checks;
  if (others > 0 && v.not_checkable < v.checks) {
    v.notes.push_back(formatted(
        "{} not checkable: their operands or checksums hold NaN or infinity", grouped(others)));
  }
  if (v.blind > 0) {
    v.notes.push_back(formatted("{} see nothing: what {} is above the largest of them",
                                grouped(v.blind),
                                v.from_golden ? "the case's own bound allows their elements"
                                              : "the roundings of the weights may add"));
  }
  if (v.narrow > 0) {
    v.notes.push_back(formatted(
        "{} checks span fewer than 3 ulps, where rounding errors are not independent, and there "
        "are no operands to confirm from",
        grouped(v.narrow)));
  }
  // If there is a fault, z includes it and says nothing about the calibration.
  if (v.outcome == Outcome::kPass && v.calibrated) {
    const std::string note = calibration_note(v.measured, v.rms_z, v.mean_z);
    if (!note.empty()) v.notes.push_back(note);
  }
}

}  // namespace assay::abft
