#include "assay/identify/lanes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "assay/base/float_environment.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/identify/space.h"
#include "assay/simd/sum_lanes.h"

namespace assay::inline v0_2::identify {
namespace {

constexpr std::size_t kTooFew = 3;  // up to this number of lanes, vectors do not pay

// True if LaneSums can compute the candidate's sums.
bool takes_lanes(const Sums& s, const Candidate& c) {
  return !s.has_specials && !s.sums_in_float16 && !c.in_two_terms &&
         c.split == KSplit{.terms = c.split.terms};
}

// True if the candidate can be summed in the lanes of one vector with candidates that have other
// kept bits. It must align the terms and the accumulator together.
bool differs_in_kept_bits(const Sums& s, const Candidate& c) {
  const DotModel& m = c.model;
  return takes_lanes(s, c) && !s.is_scaled() && m.kept_bits.value > 0 &&
         m.kept_bits.value <= QuickSum::kMostKept && m.sum_bits.value == 0 &&
         m.chunk.value <= QuickSum::kMostChunk;
}

bool same_but_kept_bits(Candidate a, const Candidate& b) {
  a.model.kept_bits = b.model.kept_bits;
  return same(a, b);
}

// A key of a candidate that does not depend on its kept bits, to find candidates for common lanes
// quickly. same_but_kept_bits() makes the final decision.
using Key = std::array<std::uint64_t, 6>;
Key key_of(const Candidate& c) {
  const DotModel& m = c.model;
  std::uint64_t small = 0;
  const auto add = [&](auto value, int bits) {
    small = small << bits | static_cast<std::uint64_t>(value);
  };
  add(m.chunk.value, 8);
  add(m.rounding.value, 3);
  add(m.alignment.value, 3);
  add(m.mantissa_bits.value, 6);
  add(m.order.value, 2);
  add(m.round_products.value, 1);
  add(m.flush_inputs.value, 1);
  add(m.flush_sums.value, 1);
  add(c.bias_first, 1);
  add(c.round_before_bias, 1);
  add(c.compute_rounding, 3);
  add(c.output_rounding, 3);
  add(m.emax_floor.value - DotModel::kNoFloor, 16);
  return {small,
          static_cast<std::uint64_t>(c.split.terms),
          static_cast<std::uint64_t>(c.inner_interval),
          reinterpret_cast<std::uintptr_t>(m.accumulator.value.data()),
          reinterpret_cast<std::uintptr_t>(m.input.data()),
          reinterpret_cast<std::uintptr_t>(c.compute)};
}
struct Hash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t h = 0;
    for (const std::uint64_t word : key) h = (h ^ word) * 0x9e3779b97f4a7c15u ^ h >> 29;
    return h;
  }
};

// Indices of the candidates that are summed together, in lanes.
using Group = std::vector<std::size_t>;
std::vector<Group> groups_of(const Sums& s, std::span<const Candidate> candidates) {
  std::vector<Group> groups;
  std::unordered_map<Key, std::size_t, Hash> known;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!differs_in_kept_bits(s, candidates[i])) {
      groups.push_back({i});
      continue;
    }
    const auto [place, is_new] = known.try_emplace(key_of(candidates[i]), groups.size());
    if (is_new || !same_but_kept_bits(candidates[i], candidates[groups[place->second][0]])) {
      groups.push_back({i});
    } else {
      groups[place->second].push_back(i);
    }
  }
  return groups;
}

void set_products(const QuickSum& quick, std::int64_t k, std::span<const QuickSum::Factors> rows,
                  BlockTerms& terms) {
  terms.products.resize(at(k) * rows.size());
  terms.powers.resize(terms.products.size());
  quick.set_products(k, rows, terms.products.data(), terms.powers.data());
}

// Computes the terms of at most kAtOnce pairings. If there are fewer, the last pairing also fills
// the other lanes.
void set_terms(const Sums& s, const Operands& operands, const QuickSum& quick,
               std::span<const Pairing> pairings, BlockTerms& terms) {
  std::array<QuickSum::Factors, ManySums::kAtOnce> rows{};
  std::array<std::vector<double>, ManySums::kAtOnce> turned;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i >= pairings.size()) {
      rows[i] = rows[i - 1];
      continue;
    }
    const Pairing& p = pairings[i];
    const double* b = operands.b.data() + p.b_row * s.k;
    if (p.turn != 0) {
      turned[i].resize(at(s.k));
      std::rotate_copy(b, b + p.turn, b + s.k, turned[i].begin());
      b = turned[i].data();
    }
    rows[i] = {operands.a.data() + p.a_row * s.k, b};
  }
  set_products(quick, s.k, rows, terms);
}

}  // namespace

// Computes sums as Trial does, in all lanes of vectors. The lanes are candidates that differ only
// in kept bits, or elements of one candidate.
class LaneSums {
 public:
  // `common` holds all parameters of the lanes except their kept bits.
  LaneSums(const Candidate& common, std::int64_t k)
      : common_(common), quick_(common.model), model_(quick_.lane_model()), k_(k) {}
  bool is_possible() const { return model_.has_value(); }

  void set_lanes(std::vector<double> kept) {
    kept_ = std::move(kept);
    // Fills up the last vector. The sums of the lanes that are added here are not read.
    kept_.resize((kept_.size() + simd::kLanes - 1) / simd::kLanes * simd::kLanes, kept_.back());
    for (std::vector<double>* values : {&sum_, &part_, &inner_}) values->resize(kept_.size());
    doubtful_.resize(kept_.size());
  }
  // Sets the K terms of a sum, which all lanes use.
  void set_terms(const QuickSum::Factors& row) {
    set_products(quick_, k_, {&row, 1}, own_);
    use_terms(own_, 0);
  }
  // Uses terms that differ by lane, for kAtOnce lanes. The terms must outlive the sums.
  void use_terms(const BlockTerms& terms) { use_terms(terms, simd::kLanes); }
  const QuickSum& quick() const { return quick_; }

  // Computes the sums of all lanes. starts[i] is the start value of lane i.
  void sum(const std::vector<double>& starts) {
    std::ranges::fill(doubtful_, 0);
    std::ranges::copy(starts, sum_.begin());
    add_divided();
  }

  // Computes scaled sums, as Trial::sum() does. Lane i uses the scales of elements[i].
  void sum_scaled(const Sums& s, std::span<const std::int64_t> elements) {
    std::ranges::fill(doubtful_, 0);
    std::vector<float> totals(elements.size(), 0.0F);
    const std::size_t stretches = s.cuts.size() - 1;
    for (std::size_t i = 0; i < stretches; ++i) {
      const auto take_sums = [&] {
        for (std::size_t lane = 0; lane < elements.size(); ++lane) {
          const std::size_t a = at(s.a_row[at(elements[lane])]) * stretches + i,
                            b = at(s.b_row[at(elements[lane])]) * stretches + i;
          const ScaleFactors scale =
              scale_factors(common_.scale_order, s.a_scales[a], s.b_scales[b]);
          const float scaled = static_cast<float>(sum_[lane]) * scale.before;
          totals[lane] = common_.fused ? std::fma(scaled, scale.last, totals[lane])
                                       : totals[lane] + scaled * scale.last;
        }
      };
      const std::int64_t begin = s.cuts[i], n = s.cuts[i + 1] - begin;
      if (!s.scales_change()) {
        std::ranges::fill(sum_, 0.0);
        add_divided();
        take_sums();
        continue;
      }
      const std::int64_t interval = common_.split.terms > 0 ? common_.split.terms : n;
      for (std::int64_t first = 0; first < n; first += interval) {
        std::ranges::fill(sum_, 0.0);
        add_part(begin + first, std::min(interval, n - first), sum_);
        take_sums();
      }
    }
    std::ranges::copy(totals, sum_.begin());
  }
  double operator[](std::size_t i) const { return sum_[i]; }
  bool is_doubtful(std::size_t i) const { return doubtful_[i] != 0; }

 private:
  void use_terms(const BlockTerms& terms, std::int64_t stride) {
    products_ = terms.products.data();
    powers_ = terms.powers.data();
    stride_ = stride;
  }

  // Adds all K terms to sum_, with K divided into parts as the candidate requires.
  void add_divided() {
    const std::int64_t interval = common_.split.terms;
    if (interval == 0) return add_part(0, k_, sum_);
    add_promoted(interval, 0, k_, sum_, part_, [&](std::int64_t begin, std::int64_t n) {
      std::ranges::fill(part_, 0.0);
      if (common_.inner_interval == 0) return add_part(begin, n, part_);
      add_promoted(common_.inner_interval, begin, n, part_, inner_,
                   [&](std::int64_t from, std::int64_t terms) {
                     std::ranges::fill(inner_, 0.0);
                     add_part(from, terms, inner_);
                   });
    });
  }

  // Sums parts of `interval` terms each, and adds the parts' sums to `total` in float32.
  template <typename SumPart>
  static void add_promoted(std::int64_t interval, std::int64_t begin, std::int64_t n,
                           std::vector<double>& total, const std::vector<double>& part,
                           const SumPart& sum_part) {
    for (double& v : total) v = static_cast<double>(static_cast<float>(v));
    for (std::int64_t i = 0; i < n; i += interval) {
      sum_part(begin + i, std::min(interval, n - i));
      for (std::size_t lane = 0; lane < total.size(); ++lane) {
        total[lane] =
            static_cast<double>(static_cast<float>(total[lane]) + static_cast<float>(part[lane]));
      }
    }
  }

  void add_part(std::int64_t begin, std::int64_t n, std::vector<double>& c) {
    const std::int64_t offset = begin * std::max<std::int64_t>(stride_, 1);
    simd::add_lanes(*model_, n, {products_ + offset, powers_ + offset, stride_},
                    static_cast<std::int64_t>(c.size()), kept_.data(), c.data(), doubtful_.data());
  }

  const Candidate common_;
  const QuickSum quick_;
  const std::optional<simd::LaneModel> model_;
  const std::int64_t k_;
  BlockTerms own_;
  const double *products_ = nullptr, *powers_ = nullptr;
  std::int64_t stride_ = 0;
  std::vector<double> kept_;
  std::vector<double> sum_, part_, inner_;  // by lane
  std::vector<unsigned char> doubtful_;
};

namespace {

// Returns the candidates of a group that give the recorded value of every element that was tried.
// Tries element by element until few candidates are left. `tried` receives the number of elements
// that were tried.
Group left_of(const Sums& s, const Operands& operands, std::span<const Candidate> candidates,
              Group group, std::span<const std::int64_t> elements, std::size_t& tried) {
  const Candidate& first = candidates[group[0]];
  LaneSums lanes(first, s.k);
  const auto set_lanes = [&] {
    std::vector<double> kept;
    for (const std::size_t place : group) {
      kept.push_back(std::ldexp(1.0, candidates[place].model.kept_bits.value));
    }
    lanes.set_lanes(std::move(kept));
  };
  set_lanes();
  for (tried = 0; tried < elements.size() && group.size() > kTooFew; ++tried) {
    const std::int64_t element = elements[tried];
    const QuickSum::Factors row{operands.a.data() + s.a_row[at(element)] * s.k,
                                operands.b.data() + s.b_row[at(element)] * s.k};
    lanes.set_terms(row);
    lanes.sum(std::vector<double>(group.size(), first_term(s, first, element)));
    Group left;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const Candidate& c = candidates[group[i]];
      const bool agrees = lanes.is_doubtful(i)
                              ? Trial(s, operands, c).agrees(element)
                              : is_recorded(s, c, element, with_last_term(s, c, element, lanes[i]));
      if (agrees) left.push_back(group[i]);
    }
    if (left.size() == group.size()) continue;
    group = std::move(left);
    if (!group.empty()) set_lanes();
  }
  return group;
}

}  // namespace

ManySums::ManySums(const Trial& trial) : trial_(trial) {
  const Candidate& c = trial.candidate();
  if (!takes_lanes(trial.sums(), c)) return;
  lanes_ = std::make_unique<LaneSums>(c, trial.sums().k);
  if (!lanes_->is_possible()) {
    lanes_.reset();
    return;
  }
  lanes_->set_lanes(std::vector<double>(kAtOnce, std::ldexp(1.0, c.model.kept_bits.value)));
}

ManySums::~ManySums() = default;

std::vector<double> ManySums::of(std::span<const Pairing> pairings, const BlockTerms* terms) {
  const Sums& s = trial_.sums();
  const Candidate& c = trial_.candidate();
  std::vector<double> sums;
  if (!lanes_ || pairings.size() <= kTooFew) {
    for (const Pairing& p : pairings) sums.push_back(trial_.other_sum(p));
    return sums;
  }
  BlockTerms own;
  if (terms == nullptr) {
    set_terms(s, trial_.operands(), lanes_->quick(), pairings, own);
    terms = &own;
  }
  lanes_->use_terms(*terms);
  std::array<std::int64_t, kAtOnce> elements{};
  for (std::size_t i = 0; i < kAtOnce; ++i) {
    elements[i] = pairings[std::min(i, pairings.size() - 1)].element;
  }
  if (s.is_scaled()) {
    lanes_->sum_scaled(s, elements);
  } else {
    std::vector<double> starts;
    for (const std::int64_t element : elements) starts.push_back(first_term(s, c, element));
    lanes_->sum(starts);
  }
  for (std::size_t i = 0; i < pairings.size(); ++i) {
    if (lanes_->is_doubtful(i)) {
      sums.push_back(trial_.other_sum(pairings[i]));
    } else {
      const double sum = (*lanes_)[i];
      sums.push_back(s.is_scaled() ? sum : with_last_term(s, c, elements[i], sum));
    }
  }
  return sums;
}

bool ManySums::takes_terms() const { return lanes_ != nullptr; }

void ManySums::make_terms(std::span<const Pairing> pairings, BlockTerms& terms) const {
  set_terms(trial_.sums(), trial_.operands(), lanes_->quick(), pairings, terms);
}

namespace {

struct CandidateSums {
  CandidateSums(const Sums& s, const Operands& operands, const Candidate& c)
      : trial(s, operands, c), many(trial) {}
  Trial trial;
  ManySums many;
  bool goes_on = true;
};

}  // namespace

void each_block_of_sums(const Sums& s, AllOperands& operands, std::span<const Candidate> candidates,
                        std::span<const Pairing> pairings, int threads, const TakeSums& take) {
  std::vector<std::unique_ptr<CandidateSums>> all;
  for (const Candidate& c : candidates) {
    all.push_back(std::make_unique<CandidateSums>(s, operands.of(c), c));
  }
  std::vector<std::size_t> left(candidates.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  // The terms by what candidates read: the operands, and whether subnormal operands count as 0.
  std::map<std::pair<const Operands*, bool>, BlockTerms> terms;
  const auto key_at = [&](std::size_t i) {
    const Trial& trial = all[i]->trial;
    return std::pair(&trial.operands(), trial.candidate().model.flush_inputs.value);
  };
  for (std::size_t first = 0; first < pairings.size() && !left.empty();
       first += ManySums::kAtOnce) {
    const auto block =
        pairings.subspan(first, std::min(ManySums::kAtOnce, pairings.size() - first));
    {
      const FloatEnvironment environment;
      std::set<std::pair<const Operands*, bool>> made;
      for (const std::size_t i : left) {
        if (!all[i]->many.takes_terms() || !made.insert(key_at(i)).second) continue;
        all[i]->many.make_terms(block, terms[key_at(i)]);
      }
    }
    parallel_for(std::ssize(left), threads, [&](std::int64_t place) {
      const FloatEnvironment environment;
      const std::size_t i = left[at(place)];
      CandidateSums& sums = *all[i];
      const BlockTerms* shared = sums.many.takes_terms() ? &terms.at(key_at(i)) : nullptr;
      sums.goes_on = take(i, first, sums.many.of(block, shared));
    });
    std::erase_if(left, [&](std::size_t i) { return !all[i]->goes_on; });
  }
}

std::vector<std::int64_t> agreements(const Sums& s, AllOperands& operands,
                                     std::span<const Candidate> candidates,
                                     std::span<const std::int64_t> elements,
                                     std::int64_t most_that_differ, int threads) {
  std::vector<Pairing> pairings;
  for (const std::int64_t e : elements) pairings.push_back({s.a_row[at(e)], s.b_row[at(e)], 0, e});
  std::vector<std::int64_t> agree(candidates.size(), 0), differ(candidates.size(), 0);
  each_block_of_sums(s, operands, candidates, pairings, threads,
                     [&](std::size_t i, std::size_t first, std::span<const double> sums) {
                       for (std::size_t j = 0; j < sums.size(); ++j) {
                         if (differ[i] > most_that_differ) return false;
                         const bool agrees =
                             is_recorded(s, candidates[i], elements[first + j], sums[j]);
                         (agrees ? agree[i] : differ[i]) += 1;
                       }
                       return differ[i] <= most_that_differ;
                     });
  return agree;
}

const Operands& AllOperands::of(const Candidate& c) {
  const std::lock_guard lock(mutex_);
  const auto key = std::tuple(c.compute, static_cast<int>(c.compute_rounding), c.in_two_terms);
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  return made_.emplace(key, converted(sums_, c)).first->second;
}

std::vector<char> agreeing(const Sums& s, AllOperands& operands,
                           std::span<const Candidate> candidates,
                           std::span<const std::int64_t> elements, int threads) {
  const std::vector<Group> groups = groups_of(s, candidates);
  // First tries a few elements. Most candidates differ on these, which are summed for each group of
  // candidates separately.
  std::vector<char> agree(candidates.size(), 0);
  const std::size_t block = candidates.size() > 256 ? 16 : 1;
  parallel_for(static_cast<std::int64_t>((groups.size() + block - 1) / block), threads,
               [&](std::int64_t part) {
                 const FloatEnvironment environment;
                 const std::size_t first = at(part) * block;
                 for (std::size_t i = first; i < std::min(groups.size(), first + block); ++i) {
                   const Operands& o = operands.of(candidates[groups[i][0]]);
                   std::size_t tried = 0;
                   const Group left = groups[i].size() > kTooFew
                                          ? left_of(s, o, candidates, groups[i], elements, tried)
                                          : groups[i];
                   const std::size_t end = std::min(tried + kTooFew, elements.size());
                   for (const std::size_t place : left) {
                     const Trial trial(s, o, candidates[place]);
                     bool agrees = true;
                     for (std::size_t e = tried; e < end && agrees; ++e) {
                       agrees = trial.agrees(elements[e]);
                     }
                     agree[place] = agrees ? 1 : 0;
                   }
                 }
               });
  if (elements.size() <= kTooFew) return agree;
  std::vector<std::size_t> places;
  std::vector<Candidate> left;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (agree[i] == 0) continue;
    places.push_back(i);
    left.push_back(candidates[i]);
  }
  const std::vector<std::int64_t> of_left = agreements(s, operands, left, elements, 0, threads);
  for (std::size_t i = 0; i < left.size(); ++i) {
    agree[places[i]] = of_left[i] == std::ssize(elements) ? 1 : 0;
  }
  return agree;
}

}  // namespace assay::identify
