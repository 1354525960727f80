// Sums that were made in a known order, and random members of the families of orders.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/identify/sum_order_search.h"
#include "sum_oracles.h"

namespace assay::identify {

inline const Format& kFloat32 = format_named("float32");
inline const Format& kFloat16 = format_named("float16");

// Returns `rows` sums computed by `sum`. The terms are normal numbers times powers of two from 2^(4
// - spread) to 2^4. If `spread` is 0, the normal numbers are not scaled.
template <typename Sum>
RecordedSums sums_by(const Format& input, const Format& output, std::int64_t n, std::int64_t rows,
                     std::uint64_t stream, const Sum& sum, std::uint64_t spread = 0) {
  Random random(60, stream);
  RecordedSums r{&input, &output, n, {}, {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<double> x;
    for (std::int64_t i = 0; i < n; ++i) {
      x.push_back(round_to(
          input, std::ldexp(random.normal(),
                            spread == 0 ? 0 : 4 - static_cast<int>(random.below(spread + 1)))));
    }
    r.sums.push_back(round_to(output, sum(x)));
    r.x.insert(r.x.end(), x.begin(), x.end());
  }
  return r;
}

// Returns the finding as a few lines of text.
inline std::string sum_order_report(const SumOrderFinding& found) {
  constexpr std::size_t kShown = 4;
  std::string text;
  switch (found.outcome) {
    case SumOrderOutcome::kFound:
      text = formatted("found: {}\n", sum_order_text(found.nearest));
      break;
    case SumOrderOutcome::kUndecided:
      text = formatted("undecided: {}{} {} every sum, with partial sums in {}\n",
                       found.has_more ? "at least " : "", found.fits.size(),
                       found.fits.size() == 1 ? "tree gives" : "trees give",
                       joined(found.formats, " or "));
      for (std::size_t i = 0; i < std::min(kShown, found.fits.size()); ++i) {
        text += formatted("  {}\n", sum_order_text(found.fits[i]));
      }
      if (found.fits.size() > kShown) {
        text += formatted("  and {} more\n", found.fits.size() - kShown);
      }
      break;
    case SumOrderOutcome::kNone:
      text = formatted("nothing fits; the nearest gives {} of {} sums: {}\n", found.agree,
                       found.sums, sum_order_text(found.nearest));
      break;
  }
  text += formatted("  {} sums, {} models tried; by chance {} wrong ones would give every sum\n",
                    found.sums, found.tried, short_number(found.by_chance, 2));
  for (const SumOrderEvidence& e : found.evidence) {
    text += e.rival.empty()
                ? formatted("  {} {}: no other value makes another tree\n", e.parameter, e.value)
                : formatted("  {} {}: {} of {} sums would differ with {}\n", e.parameter, e.value,
                            e.differ, found.sums, e.rival);
  }
  return text;
}

inline double by_model(const SumOrderModel& model, const std::vector<double>& x) {
  return plan_oracle({model.sums}, {model.second}, model.plan, static_cast<std::int64_t>(x.size()),
                     x.data());
}

// Returns a random member of the families.
inline SumOrderModel any_model(Random& random, const Format& input, std::int64_t n) {
  const auto power = [&](std::uint64_t most) { return std::int64_t{1} << random.below(most + 1); };
  const MeetOrder meets[] = {MeetOrder::kDescending, MeetOrder::kAscending, MeetOrder::kSequential};
  const auto any_lanes = [&](std::uint64_t most) {
    SumStage s{.family = SumFamily::kLanes, .lanes = power(most)};
    s.vector = power(3);
    s.lane_order = meets[random.below(3)];
    return s;
  };
  SumOrderModel m;
  m.sums = m.second = random.below(2) != 0 ? &input : &kFloat32;
  SumStage& first = m.plan.first;
  first = any_lanes(9);
  first.accumulators = power(3);
  switch (random.below(4)) {
    case 0:  // two stages
      if (n < 64) break;
      first.vector = power(2);
      m.plan.block = 32 * power(2);
      if (m.plan.block >= n) m.plan.block = 32;
      m.plan.second = any_lanes(6);
      m.plan.second.vector = random.below(2) != 0 ? 4 : 1;
      m.second = &kFloat32;
      break;
    case 1:  // halves
      first.family = SumFamily::kHalves;
      first.lanes = power(4);
      first.vector = 1;
      first.accumulators = power(1);
      first.leaf = 16 * power(4);
      first.round = first.lanes * first.accumulators;
      first.accumulator_order = meets[random.below(3)];
      break;
    case 2:  // warps
      first.lanes = 64 * power(3);
      first.warp = 32;
      first.warps_first = random.below(2) != 0;
      break;
    default:
      first.accumulator_order = meets[random.below(3)];
      break;
  }
  return m;
}

struct BlindTrials {
  // The number of trials in which the model that made the sums is found, another model is found,
  // several models fit including the right one, or the right one is not among those that fit.
  std::int64_t found = 0, wrong = 0, undecided = 0, excluded = 0;
  std::string first;  // the first trial that was not found
};

// Tries random models, each of which gives 32 sums.
inline BlindTrials try_random_models(std::uint64_t from, std::uint64_t count) {
  BlindTrials t;
  for (std::uint64_t trial = from; trial < from + count; ++trial) {
    Random random(61, trial);
    const std::int64_t lengths[] = {40, 64, 100, 256, 500, 1024};
    const std::int64_t n = lengths[random.below(6)];
    const Format& input = random.below(2) != 0 ? kFloat16 : kFloat32;
    const SumOrderModel model = any_model(random, input, n);
    const SumOrderFinding f = find_sum_order({sums_by(
        input, kFloat32, n, 32, trial, [&](const auto& x) { return by_model(model, x); }, 22)});
    const std::uint64_t tree = sum_order_tree(model, n);
    const bool fits = std::any_of(f.fits.begin(), f.fits.end(), [&](const SumOrderModel& fit) {
      return sum_order_tree(fit, n) == tree;
    });
    const bool found = f.outcome == SumOrderOutcome::kFound;
    if (found)
      (fits ? t.found : t.wrong) += 1;
    else
      (fits || f.has_more ? t.undecided : t.excluded) += 1;
    if ((!found || !fits) && t.first.empty()) {
      t.first = formatted("trial {}, {} of {}: {}\n{}", trial, n, input.name, sum_order_text(model),
                          sum_order_report(f));
    }
  }
  return t;
}

}  // namespace assay::identify
