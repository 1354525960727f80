#include "assay/identify/model_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <tuple>

#include "assay/base/float_environment.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/base/random.h"
#include "assay/base/words.h"
#include "assay/identify/candidate_text.h"
#include "assay/identify/divisions.h"
#include "assay/identify/lanes.h"
#include "assay/identify/space_parameters.h"

namespace assay::inline v0_2::identify {
namespace {

// The number of products that a stage of the search may compute for each element.
constexpr double kBudget = 2e9;
constexpr std::int64_t kElementsOfEvidence = 1024;
// Number of the most informative elements, on which every candidate is tried first.
constexpr std::size_t kTelling = 256;

// Returns divisions of K into parts of one length, for each of these lengths.
std::vector<KSplit> splits_of(const std::vector<std::int64_t>& intervals) {
  std::vector<KSplit> splits;
  for (const std::int64_t interval : intervals) splits.push_back({.terms = interval});
  return splits;
}

class ModelSearch {
 public:
  ModelSearch(const Sums& sums, int threads)
      : sums_(sums),
        operands_(sums),
        threads_(threads),
        most_fits_(static_cast<std::size_t>(std::clamp(
            kBudget / 2 / (static_cast<double>(sums.count) * static_cast<double>(sums.k) + 1), 8.0,
            static_cast<double>(SearchResult::kMostFits)))) {}

  // Tries candidates, a few at a time, and adds those that fit to the result. Stops if many fit,
  // because the data then decide little.
  void try_all(std::span<const Candidate> candidates) {
    constexpr std::size_t kAtATime = 256, kBlock = 64;
    const std::span<const std::int64_t> order(sums_.order);
    const auto telling = order.first(std::min(kTelling, order.size())),
               rest = order.subspan(telling.size());
    for (std::size_t at = 0; at < candidates.size() && !is_full(); at += kAtATime) {
      const auto some = candidates.subspan(at, std::min(kAtATime, candidates.size() - at));
      result_.tried += std::ssize(some);
      const std::vector<Candidate> left = those_that_agree(some, telling);
      for (std::size_t first = 0; first < left.size() && !is_full(); first += kBlock) {
        const auto few = std::span(left).subspan(first, std::min(kBlock, left.size() - first));
        for (const Candidate& c : those_that_agree(few, rest)) add(c);
      }
    }
  }

  // Tries models with each of these divisions of K, a few divisions at a time. Stops if too many
  // fit, because the data then decide little.
  void try_split(const std::vector<Candidate>& models, std::span<const KSplit> splits) {
    const std::size_t at_a_time =
        std::max<std::size_t>(1, 256 / std::max<std::size_t>(1, models.size()));
    for (std::size_t first = 0; first < splits.size() && !is_full(); first += at_a_time) {
      std::vector<Candidate> candidates;
      for (const KSplit& split :
           splits.subspan(first, std::min(at_a_time, splits.size() - first))) {
        for (Candidate c : models) {
          c.split = split;
          candidates.push_back(plain(c));
        }
      }
      try_all(candidates);
    }
  }
  void try_divided(const std::vector<Candidate>& models,
                   const std::vector<std::int64_t>& intervals) {
    try_split(models, splits_of(intervals));
  }

  void add(const Candidate& c) {
    if (is_full()) return;
    const Candidate form = canonical(sums_, c);
    const bool is_there =
        std::ranges::any_of(forms_, [&](const Candidate& other) { return same(form, other); });
    if (is_there) return;
    result_.fits.push_back(c);
    forms_.push_back(form);
  }

  // Tries the models that differ in one parameter from those that fit. Does so twice, which covers
  // pairs of parameters.
  void try_neighbours() {
    std::size_t done = 0;
    for (int round = 0; round < 2; ++round) {
      const std::size_t end = std::min<std::size_t>(result_.fits.size(), done + 6);
      const std::vector<Candidate> from(result_.fits.begin() + static_cast<std::ptrdiff_t>(done),
                                        result_.fits.begin() + static_cast<std::ptrdiff_t>(end));
      done = end;
      for (const Candidate& c : from) {
        if (is_full()) return;
        try_all(neighbours(sums_, c, round == 0));
      }
    }
  }

  // Tries other divisions of K with the models that fit.
  void try_other_divisions() {
    const std::vector<KSplit> splits = rare_splits(sums_);
    const double cost = static_cast<double>(splits.size()) * static_cast<double>(sums_.k);
    const auto most = static_cast<std::size_t>(std::clamp(kBudget / 20 / (cost + 1), 1.0, 4.0));
    std::vector<Candidate> models, near;
    for (const Candidate& fit : result_.fits) {
      if (models.size() >= most) break;
      Candidate model = fit;
      model.split = {};
      model = plain(model);
      const bool is_there =
          std::ranges::any_of(models, [&](const Candidate& c) { return same(c, model); });
      if (is_there) continue;
      models.push_back(model);
      for (const SpaceParameter& row : space_parameters()) {
        if (!row.name.starts_with("split_") || !row.matters(sums_, fit)) continue;
        for (const Candidate& other : row.others(sums_, fit)) near.push_back(other);
      }
    }
    try_all(near);
    try_split(models, splits);
  }

  // Returns the models that do not fit with any of the divisions tried so far.
  std::vector<Candidate> without_fit(const std::vector<Candidate>& models) const {
    const auto whole = [](Candidate c) {
      c.split = {};
      return plain(c);
    };
    std::vector<Candidate> fitting;
    for (const Candidate& fit : result_.fits) fitting.push_back(whole(fit));
    fitting = each_once(fitting);
    std::vector<Candidate> left;
    for (const Candidate& model : models) {
      const Candidate asked = whole(model);
      if (std::ranges::none_of(fitting, [&](const Candidate& c) { return same(c, asked); })) {
        left.push_back(model);
      }
    }
    return left;
  }

  bool is_full() const { return result_.fits.size() >= most_fits_; }
  bool has_fits() const { return !result_.fits.empty(); }
  // True if the time allows trying `candidates` models with `intervals` divisions of K each.
  bool is_affordable(std::size_t candidates, std::size_t intervals) const {
    return static_cast<double>(candidates) * static_cast<double>(intervals) *
               static_cast<double>(sums_.k) <
           kBudget;
  }

  // Returns the first of the models, as many as the time allows to try with these divisions.
  std::vector<Candidate> affordable(const std::vector<Candidate>& models,
                                    const std::vector<KSplit>& splits) const {
    const double cost = static_cast<double>(splits.size()) * static_cast<double>(sums_.k) + 1;
    const auto most = static_cast<std::size_t>(std::max(kBudget / 8 / cost, 4.0));
    return {models.begin(),
            models.begin() + static_cast<std::ptrdiff_t>(std::min(most, models.size()))};
  }

  SearchResult finish() {
    // Sorts the fits: first those nearest to a machine's row, with K undivided or in likely parts.
    const std::vector<std::int64_t> likely = likely_intervals(sums_);
    struct Ranked {
      CandidateText text;
      const Candidate* candidate;
    };
    std::vector<Ranked> ranked;
    for (Candidate& c : result_.fits) {
      CandidateText text = text_of(sums_, c);
      if (!text.is_row) {
        // If several candidates compute the same, one stands for all of them. It may not be the
        // machine's row, which is then taken in its place.
        const std::vector<MachineRow> rows = rows_like(sums_, c);
        if (!rows.empty()) {
          c = rows.front().candidate;
          text = text_of(sums_, c);
        }
      }
      ranked.push_back({std::move(text), &c});
    }
    const auto rank = [&](const Ranked& r) {
      const bool is_likely = contains(likely, r.candidate->split.terms);
      return std::tuple(r.text.changes + (r.candidate->split.terms > 0 ? 1 : 0) +
                            (r.candidate->inner_interval > 0 ? 1 : 0),
                        !is_likely, r.candidate->split.terms, r.candidate->inner_interval,
                        r.text.place);
    };
    std::ranges::stable_sort(ranked, {}, rank);
    SearchResult result{.tried = result_.tried, .has_more = is_full()};
    for (const Ranked& r : ranked) result.fits.push_back(*r.candidate);
    return result;
  }

 private:
  // Returns the candidates that give the recorded values of the elements.
  std::vector<Candidate> those_that_agree(std::span<const Candidate> candidates,
                                          std::span<const std::int64_t> elements) {
    const std::vector<char> agree = agreeing(sums_, operands_, candidates, elements, threads_);
    std::vector<Candidate> left;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (agree[i] != 0) left.push_back(candidates[i]);
    }
    return left;
  }

  const Sums& sums_;
  AllOperands operands_;
  int threads_;
  std::size_t most_fits_;
  SearchResult result_;
  std::vector<Candidate> forms_;  // canonical forms of the fits
};

void append(std::vector<Candidate>& to, std::vector<Candidate> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<Candidate> rarer(const Sums& s, const std::vector<Candidate>& models) {
  std::vector<Candidate> all;
  for (const Candidate& c : models) append(all, with_rare_parameters(s, c));
  return all;
}

// Returns the models with the bias added first or last, and with scales applied in either way.
std::vector<Candidate> at_both_ends(const Sums& s, const std::vector<Candidate>& models) {
  std::vector<Candidate> all;
  for (const Candidate& c : models) {
    all.push_back(c);
    for (const SpaceParameter& row : space_parameters()) {
      static constexpr std::string_view kEnds[] = {"bias_first", "round_before_bias", "fused",
                                                   "scale_order"};
      if (contains(kEnds, row.name) && row.matters(s, c)) {
        append(all, row.others(s, c));
      }
    }
  }
  return all;
}

std::vector<Candidate> with_other_rounding(const Sums& s, const std::vector<Candidate>& models) {
  std::vector<Candidate> all;
  for (const Candidate& c : models) {
    for (const SpaceParameter& row : space_parameters()) {
      if (row.name == "output_rounding" && row.matters(s, c)) append(all, row.others(s, c));
    }
  }
  return all;
}

std::vector<Candidate> promoted_inside(const Sums& s, const std::vector<Candidate>& models) {
  std::vector<Candidate> all;
  for (const Candidate& model : models) {
    for (const std::int64_t inner : {32, 64, 128, 256, 512}) {
      for (std::int64_t interval = 2 * inner; interval < s.k; interval += inner) {
        Candidate c = model;
        c.split.terms = interval;
        c.inner_interval = inner;
        all.push_back(c);
      }
    }
  }
  return all;
}

}  // namespace

std::vector<Rival> rivals_of(const Sums& s, const SearchResult& result, int threads) {
  const std::vector<Candidate>& fits = result.fits;
  if (fits.size() < 2 || s.count == 0 || s.k == 0) return {};
  // The number of pairings depends on the number of candidates, because time is limited. Models
  // that differ only in few sums still count as different.
  const double affordable = kBudget / (result.has_more ? 1024 : 16) /
                            (static_cast<double>(fits.size()) * static_cast<double>(s.k));
  const int count = static_cast<int>(std::clamp(affordable, 128.0, 8192.0));
  std::vector<Pairing> pairings;
  Random random(1, stream_of("identify"));
  const auto below = [&](std::int64_t n) { return random.index_below(n); };
  const auto a_rows = std::ssize(s.a) / s.k, b_rows = std::ssize(s.b) / s.k;
  for (int i = 0; i < count; ++i) {
    const std::int64_t element = below(s.count);
    // If there are scales, which belong to their rows, the rows of an element stay together. If one
    // row is rotated by one place, terms that cancel stay near each other.
    pairings.push_back({s.is_scaled() ? s.a_row[at(element)] : below(a_rows),
                        s.is_scaled() ? s.b_row[at(element)] : below(b_rows),
                        i % 2 == 0 ? 1 : below(s.k), element});
  }
  AllOperands operands(s);
  // Sums are compared before they are rounded to the output's format, unless the candidates differ
  // in that rounding.
  const bool same_rounding = std::ranges::all_of(
      fits, [&](const Candidate& c) { return c.output_rounding == fits[0].output_rounding; });
  const auto compared = [&](const Candidate& c, double sum) {
    return same_rounding ? sum : round_to(*s.output, sum, c.output_rounding);
  };
  std::vector<double> of_first(pairings.size());
  each_block_of_sums(s, operands, std::span(fits).first(1), pairings, 1,
                     [&](std::size_t, std::size_t begin, std::span<const double> sums) {
                       for (std::size_t p = 0; p < sums.size(); ++p) {
                         of_first[begin + p] = compared(fits[0], sums[p]);
                       }
                       return true;
                     });
  // Counts the sums in which a candidate differs from the first one, until there are many.
  std::vector<std::int64_t> differ(fits.size(), 0);
  const auto many_differ = std::ssize(pairings) / Rival::kSeldom + 1;
  each_block_of_sums(s, operands, std::span(fits).subspan(1), pairings, threads,
                     [&](std::size_t i, std::size_t begin, std::span<const double> sums) {
                       for (std::size_t p = 0; p < sums.size(); ++p) {
                         const double x = compared(fits[i + 1], sums[p]), y = of_first[begin + p];
                         if (x != y && !(std::isnan(x) && std::isnan(y))) ++differ[i + 1];
                       }
                       return differ[i + 1] < many_differ;
                     });
  std::vector<Rival> rivals;
  for (std::size_t i = 1; i < fits.size(); ++i) {
    if (differ[i] != 0) rivals.push_back({fits[i], differ[i] < many_differ});
  }
  return rivals;
}

SearchResult search(const Sums& s, Effort effort, int threads) {
  ModelSearch search(s, threads);
  if (s.count == 0 || s.k == 0) return search.finish();
  const std::vector<std::int64_t> likely = likely_intervals(s), every = all_intervals(s);
  std::vector<Candidate> rows, small, rare_rows;
  for (const Conversion& conversion : conversions_of(s)) {
    append(conversion.is_rare ? rare_rows : rows, row_candidates(s, conversion));
    if (!conversion.is_rare) append(small, grid(s, conversion, true));
  }
  rows = at_both_ends(s, rows);
  search.try_divided(rows, {0});
  if (!search.has_fits()) search.try_divided(rows, likely);
  if (effort == Effort::kRows) {
    if (!search.has_fits() && search.is_affordable(rows.size(), every.size())) {
      search.try_divided(rows, every);
    }
    if (!search.has_fits()) return search.finish();
  }
  if (!search.has_fits()) search.try_divided(rows, every);
  if (!search.has_fits()) search.try_divided(at_both_ends(s, rare_rows), likely);
  if (!search.has_fits()) search.try_split(rows, rare_splits(s));
  if (!search.has_fits()) search.try_divided(with_other_rounding(s, rows), likely);
  search.try_divided(small, {0});
  if (!search.has_fits()) search.try_divided(small, likely);
  if (!search.has_fits()) {
    std::vector<Candidate> near;
    for (const Candidate& c : rows) append(near, neighbours(s, c, false));
    near = rarer(s, near);
    search.try_divided(near, search.is_affordable(near.size(), every.size()) ? every : likely);
  }
  std::vector<Candidate> large;
  if (!search.has_fits()) {
    large = whole_grid(s);
    search.try_divided(large, {0});
  }
  if (!search.has_fits() && effort == Effort::kAll) {
    search.try_all(rarer(s, small));
    search.try_all(promoted_inside(s, rows));
    if (search.is_affordable(large.size(), likely.size())) search.try_divided(large, likely);
    if (!search.has_fits() && search.is_affordable(small.size(), every.size())) {
      search.try_divided(small, every);
    }
  }
  if (search.has_fits() && !search.is_full()) {
    search.try_neighbours();
    search.try_other_divisions();
  }
  return search.finish();
}

SearchResult search_among(const Sums& s, const std::vector<Candidate>& models, bool widen,
                          int threads) {
  ModelSearch search(s, threads);
  if (s.count == 0 || s.k == 0) return search.finish();
  std::vector<Candidate> all = at_both_ends(s, models);
  if (widen) all = rarer(s, all);
  all = each_once(s, all);
  const std::vector<std::int64_t> likely = likely_intervals(s), every = all_intervals(s);
  search.try_divided(all, {0});
  constexpr std::size_t kFew = 8;
  const bool is_few = models.size() <= kFew && search.is_affordable(all.size(), every.size());
  search.try_divided(all, is_few ? every : likely);
  // A model that fits with a likely division must not hide models that fit only with another
  // division.
  const std::vector<KSplit> rare = rare_splits(s);
  search.try_split(search.affordable(search.without_fit(all), rare), rare);
  if (!search.has_fits() && models.size() <= kFew) {
    search.try_all(promoted_inside(s, models));
    if (!search.has_fits()) search.try_divided(with_other_rounding(s, models), likely);
  }
  if (search.has_fits()) search.try_other_divisions();
  return search.finish();
}

SearchResult search_exactly(const Sums& s, const std::vector<Candidate>& candidates, int threads) {
  ModelSearch search(s, threads);
  if (s.count > 0 && s.k > 0) search.try_all(candidates);
  return search.finish();
}

namespace {

std::vector<Candidate> explaining_by(const Sums& s, const std::vector<Candidate>& models,
                                     const std::vector<KSplit>& splits, int threads) {
  // Tries only the most informative elements, and so few of them that the time would suffice if all
  // models fitted.
  const double cost = static_cast<double>(models.size()) * static_cast<double>(s.k) + 1;
  const auto most =
      static_cast<std::size_t>(std::clamp(kBudget / 4 / cost, 16.0, static_cast<double>(kTelling)));
  const auto telling = std::span(s.order).first(std::min(most, s.order.size()));
  AllOperands operands(s);
  std::vector<char> explains(models.size(), 0);
  for (const KSplit& split : splits) {
    std::vector<std::size_t> places;
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < models.size(); ++i) {
      if (explains[i] != 0) continue;
      Candidate c = models[i];
      c.split = split;
      candidates.push_back(plain(c));
      places.push_back(i);
    }
    const std::vector<char> agree = agreeing(s, operands, candidates, telling, threads);
    for (std::size_t i = 0; i < places.size(); ++i) explains[places[i]] = agree[i];
  }
  std::vector<Candidate> left;
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (explains[i] != 0) left.push_back(models[i]);
  }
  return left;
}

}  // namespace

std::vector<Candidate> explaining(const Sums& s, const std::vector<Candidate>& models,
                                  int threads) {
  const std::vector<Candidate> all = rarer(s, at_both_ends(s, models));
  std::vector<KSplit> splits = splits_of(likely_intervals(s));
  const std::vector<KSplit> rare = rare_splits(s);
  const double cost =
      static_cast<double>(all.size()) * static_cast<double>(rare.size()) * static_cast<double>(s.k);
  if (cost < kBudget) splits.insert(splits.end(), rare.begin(), rare.end());
  return explaining_by(s, all, splits, threads);
}

std::optional<std::vector<Candidate>> explaining_all(std::span<const Sums* const> outputs,
                                                     const std::vector<Candidate>& models,
                                                     std::size_t most, int threads) {
  // Neighbouring models in the list are similar. So blocks of models are tried in an order that
  // jumps through the list, which soon shows if many models explain all outputs.
  constexpr std::size_t kBlock = 256, kStride = 4099;  // a prime
  const std::size_t blocks = (models.size() + kBlock - 1) / kBlock;
  if (blocks % kStride == 0 && blocks > 0) return std::nullopt;
  std::vector<std::vector<KSplit>> splits;
  for (const Sums* s : outputs) splits.push_back(splits_of(likely_intervals(*s)));
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t first = i * kStride % blocks * kBlock;
    std::vector<Candidate> left(
        models.begin() + static_cast<std::ptrdiff_t>(first),
        models.begin() + static_cast<std::ptrdiff_t>(std::min(first + kBlock, models.size())));
    for (std::size_t output = 0; output < outputs.size() && !left.empty(); ++output) {
      left = explaining_by(*outputs[output], left, splits[output], threads);
    }
    append(all, std::move(left));
    if (all.size() > most) return std::nullopt;
  }
  return all;
}

std::vector<Candidate> whole_grid(const Sums& s) {
  std::vector<Candidate> all;
  for (const Conversion& conversion : conversions_of(s)) {
    if (!conversion.is_rare) append(all, grid(s, conversion, false));
  }
  return all;
}

namespace {

// Returns the name by which users know a parameter. A division of K has the name of the parameter
// that requests it.
std::string name_in_text(const Sums& s, const SpaceParameter& row, const Candidate& c) {
  if (row.name != "interval") return std::string(row.name);
  return divides_by_promotion(s, c) ? "promotion_interval" : "split_k";
}

}  // namespace

std::vector<Evidence> evidence_for(const Sums& s, const Candidate& found, int threads) {
  const std::vector<std::int64_t> elements = spread_indices(s.count, kElementsOfEvidence);
  const std::int64_t count = std::ssize(elements);
  std::vector<Evidence> all;
  // For each candidate: the index of its evidence, and the parameter's value.
  std::vector<std::pair<std::size_t, std::string>> values;
  std::vector<Candidate> candidates;
  for (const SpaceParameter& row : space_parameters()) {
    if (!row.matters(s, found)) continue;
    Evidence evidence{name_in_text(s, row, found), row.value(s, found), "", 0, count, {}};
    std::vector<Candidate> others = row.others(s, found);
    // From a long list of values, tries those next to the value that was found, and a few farther
    // ones.
    if (others.size() > 12) {
      std::vector<Candidate> few;
      const auto next = static_cast<std::size_t>(
          std::ranges::find_if(others,
                               [&](const Candidate& c) {
                                 const double value = std::strtod(row.value(s, c).c_str(), nullptr);
                                 return value > std::strtod(evidence.value.c_str(), nullptr);
                               }) -
          others.begin());
      for (std::size_t i = 0; i < others.size(); ++i) {
        const std::size_t apart = i >= next ? i - next + 1 : next - i;
        if (apart <= 3 || i == 0 || i + 1 == others.size() || std::has_single_bit(apart)) {
          few.push_back(others[i]);
        }
      }
      others = few;
    }
    for (const Candidate& other : others) {
      values.emplace_back(all.size(), row.value(s, other));
      candidates.push_back(other);
    }
    all.push_back(evidence);
  }
  AllOperands operands(s);
  const std::vector<std::int64_t> agree =
      agreements(s, operands, candidates, elements, count, threads);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& [place, value] = values[i];
    Evidence& evidence = all[place];
    const std::int64_t differ = count - agree[i];
    if (differ == 0) {
      evidence.same.push_back(value);
    } else if (evidence.rival.empty() || differ < evidence.differ) {
      evidence.differ = differ;
      evidence.rival = value;
    }
  }
  return all;
}

Nearest nearest_model(const Sums& s, int threads) {
  constexpr std::int64_t kSample = 48, kMost = 4096;
  AllOperands operands(s);
  const auto counted = [&](const std::vector<Candidate>& candidates,
                           const std::vector<std::int64_t>& elements) {
    return agreements(s, operands, candidates, elements, std::ssize(elements), threads);
  };
  const auto best_of = [&](const std::vector<Candidate>& candidates, std::size_t most) {
    const std::vector<std::int64_t> agree = counted(candidates, spread_indices(s.count, kSample));
    std::vector<std::size_t> places(candidates.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    std::ranges::stable_sort(places, std::greater(), [&](std::size_t i) { return agree[i]; });
    std::vector<Candidate> best;
    for (std::size_t i = 0; i < std::min(most, places.size()); ++i) {
      best.push_back(candidates[places[i]]);
    }
    return best;
  };
  std::vector<Candidate> start;
  for (const Conversion& conversion : conversions_of(s)) {
    for (const Candidate& row : at_both_ends(s, row_candidates(s, conversion))) {
      for (const std::int64_t interval : likely_intervals(s)) {
        Candidate c = row;
        c.split.terms = interval;
        start.push_back(plain(c));
      }
    }
    if (s.k <= 4096 && !conversion.is_rare) append(start, grid(s, conversion, true));
  }
  std::vector<Candidate> best = best_of(start, 6);
  const std::vector<Candidate> first = best;
  for (std::size_t i = 0; i < std::min<std::size_t>(first.size(), 2); ++i) {
    append(best, best_of(neighbours(s, first[i], false), 2));
  }
  const std::vector<std::int64_t> elements = spread_indices(s.count, kMost);
  const std::vector<std::int64_t> agree = counted(best, elements);
  Nearest nearest;
  if (best.empty()) return nearest;
  const auto place = static_cast<std::size_t>(std::ranges::max_element(agree) - agree.begin());
  nearest = {best[place], agree[place], std::ssize(elements), 0, -1};
  const FloatEnvironment environment;
  const Trial trial(s, operands.of(nearest.candidate), nearest.candidate);
  for (const std::int64_t element : elements) {
    if (trial.agrees(element)) continue;
    if (nearest.first < 0) nearest.first = element;
    const auto ulps = ulp_distance(*s.output, trial.bits(element), s.recorded[at(element)]);
    if (ulps) nearest.largest_ulps = std::max(nearest.largest_ulps, *ulps);
  }
  return nearest;
}

}  // namespace assay::identify
