#include "assay/identify/lanes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "assay/base/float_environment.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/identify/space.h"
#include "assay/simd/sum_lanes.h"

namespace assay::identify {
namespace {

constexpr std::size_t kTooFew = 3;  // lanes that are not worth a vector

// Whether its sums are gone through as LaneSums does.
bool takes_lanes(const Sums& s, const Candidate& c) {
  return !s.has_specials && !s.is_scaled() && !s.sums_in_float16 && !c.in_two_terms &&
         c.split == KSplit{.terms = c.split.terms};
}

// Whether it can be a lane beside others: it aligns terms and the accumulator together.
bool differs_in_kept_bits(const Sums& s, const Candidate& c) {
  const DotModel& m = c.model;
  return takes_lanes(s, c) && m.kept_bits.value > 0 && m.kept_bits.value <= QuickSum::kMostKept &&
         m.sum_bits.value == 0 && m.chunk.value <= QuickSum::kMostChunk;
}

bool same_but_kept_bits(Candidate a, const Candidate& b) {
  a.model.kept_bits = b.model.kept_bits;
  return same(a, b);
}

// What tells such candidates apart but for their kept bits, quickly: same_but_kept_bits() decides.
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

// Places of candidates that are tried together.
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

}  // namespace

// As Trial sums, in all lanes: of candidates that differ in kept bits alone, or of elements.
class LaneSums {
 public:
  // What the lanes have in common, and 2^kept of each.
  LaneSums(const Candidate& common, std::int64_t k)
      : common_(common), quick_(common.model), model_(quick_.lane_model()), k_(k) {}
  bool is_possible() const { return model_.has_value(); }

  void set_lanes(std::vector<double> kept) {
    kept_ = std::move(kept);
    // What fills the last vector up is not looked at.
    kept_.resize((kept_.size() + simd::kLanes - 1) / simd::kLanes * simd::kLanes, kept_.back());
    for (std::vector<double>* values : {&sum_, &part_, &inner_}) values->resize(kept_.size());
    doubtful_.resize(kept_.size());
  }
  // K terms that all lanes have, or lane i of `lanes`.
  void set_terms(const double* a, const double* b) { set_terms(a, b, 0, 1); }
  void set_terms(const double* a, const double* b, std::size_t i, std::size_t lanes) {
    stride_ = lanes == 1 ? 0 : static_cast<std::int64_t>(lanes);
    products_.resize(at(k_) * lanes);
    powers_.resize(at(k_) * lanes);
    quick_.set_products(k_, a, b, products_.data() + i, powers_.data() + i,
                        static_cast<std::int64_t>(lanes));
  }

  // starts[i]: what lane i begins with.
  void sum(const std::vector<double>& starts) {
    std::fill(doubtful_.begin(), doubtful_.end(), 0);
    std::copy(starts.begin(), starts.end(), sum_.begin());
    const std::int64_t interval = common_.split.terms;
    if (interval == 0) return add_part(0, k_, sum_);
    add_promoted(interval, 0, k_, sum_, part_, [&](std::int64_t begin, std::int64_t n) {
      std::fill(part_.begin(), part_.end(), 0.0);
      if (common_.inner_interval == 0) return add_part(begin, n, part_);
      add_promoted(common_.inner_interval, begin, n, part_, inner_,
                   [&](std::int64_t from, std::int64_t terms) {
                     std::fill(inner_.begin(), inner_.end(), 0.0);
                     add_part(from, terms, inner_);
                   });
    });
  }
  double operator[](std::size_t i) const { return sum_[i]; }
  bool is_doubtful(std::size_t i) const { return doubtful_[i] != 0; }

 private:
  // Sums of parts of `interval` terms each are added in float32.
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
    simd::add_lanes(*model_, n, {products_.data() + offset, powers_.data() + offset, stride_},
                    static_cast<std::int64_t>(c.size()), kept_.data(), c.data(), doubtful_.data());
  }

  const Candidate common_;
  const QuickSum quick_;
  const std::optional<simd::LaneModel> model_;
  const std::int64_t k_;
  std::int64_t stride_ = 0;
  std::vector<double> kept_, products_, powers_;
  std::vector<double> sum_, part_, inner_;  // lanes
  std::vector<unsigned char> doubtful_;
};

namespace {

// Those of a group that agree on the elements, tried until few are left. `tried`: on so many.
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
    lanes.set_terms(operands.a.data() + s.a_row[at(element)] * s.k,
                    operands.b.data() + s.b_row[at(element)] * s.k);
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

std::vector<double> ManySums::of(std::span<const Pairing> pairings) {
  const Sums& s = trial_.sums();
  const Candidate& c = trial_.candidate();
  std::vector<double> sums, turned;
  if (!lanes_ || pairings.size() <= kTooFew) {
    for (const Pairing& p : pairings) sums.push_back(trial_.other_sum(p));
    return sums;
  }
  std::vector<double> starts;
  for (std::size_t i = 0; i < kAtOnce; ++i) {
    const Pairing& p = pairings[std::min(i, pairings.size() - 1)];
    const double *a = trial_.operands().a.data() + p.a_row * s.k,
                 *b = trial_.operands().b.data() + p.b_row * s.k;
    if (p.turn != 0) {
      turned.assign(b, b + s.k);
      std::rotate(turned.begin(), turned.begin() + p.turn, turned.end());
      b = turned.data();
    }
    lanes_->set_terms(a, b, i, kAtOnce);
    starts.push_back(first_term(s, c, p.element));
  }
  lanes_->sum(starts);
  for (std::size_t i = 0; i < pairings.size(); ++i) {
    const Pairing& p = pairings[i];
    sums.push_back(lanes_->is_doubtful(i) ? trial_.other_sum(p)
                                          : with_last_term(s, c, p.element, (*lanes_)[i]));
  }
  return sums;
}

std::int64_t ManySums::agreeing(std::span<const std::int64_t> elements,
                                std::int64_t most_that_differ) {
  const Sums& s = trial_.sums();
  std::int64_t agree = 0, differ = 0;
  std::vector<Pairing> pairings;
  // Most candidates differ soon.
  for (std::size_t i = 0; i < elements.size() && differ <= most_that_differ;) {
    const std::size_t count = std::min(i < kTooFew ? 1 : kAtOnce, elements.size() - i);
    pairings.clear();
    for (const std::int64_t element : elements.subspan(i, count)) {
      pairings.push_back({s.a_row[at(element)], s.b_row[at(element)], 0, element});
    }
    const std::vector<double> sums = of(pairings);
    for (std::size_t j = 0; j < count && differ <= most_that_differ; ++j) {
      const bool agrees = is_recorded(s, trial_.candidate(), elements[i + j], sums[j]);
      (agrees ? agree : differ) += 1;
    }
    i += count;
  }
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
  std::vector<char> agree(candidates.size(), 0);
  // Candidates that fit take long, and so few of them lie in a list that each is a task.
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
                   for (const std::size_t place : left) {
                     const Trial trial(s, o, candidates[place]);
                     agree[place] = ManySums(trial).all_agree(elements.subspan(tried)) ? 1 : 0;
                   }
                 }
               });
  return agree;
}

}  // namespace assay::identify
