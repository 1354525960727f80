#include "assay/identify/lanes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "assay/base/float_environment.h"
#include "assay/base/parallel.h"
#include "assay/simd/aligned_lanes.h"

namespace assay::identify {
namespace {

constexpr std::size_t kFew = 3;  // lanes that are not worth a vector

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

bool takes_lanes(const Sums& s, const Candidate& c) {
  const DotModel& m = c.model;
  return m.kept_bits.value > 0 && m.kept_bits.value <= QuickSum::kMostKept &&
         m.sum_bits.value == 0 && m.chunk.value <= QuickSum::kMostChunk && !s.has_specials &&
         !s.is_scaled() && !s.sums_in_float16 && !c.in_two_terms &&
         c.split == KSplit{.terms = c.split.terms};
}

// All of such a candidate but its kept bits.
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
    if (!takes_lanes(s, candidates[i])) {
      groups.push_back({i});
      continue;
    }
    const auto [place, is_new] = known.try_emplace(key_of(candidates[i]), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(i);
  }
  return groups;
}

// The candidates of a group that still agree, element by element.
class Lanes {
 public:
  Lanes(const Sums& sums, const Operands& operands, std::span<const Candidate> candidates,
        Group group)
      : sums_(sums),
        operands_(operands),
        candidates_(candidates),
        left_(std::move(group)),
        model_(QuickSum(first().model).aligned_model()) {
    take_lanes();
  }

  const Group& left() const { return left_; }

  void keep_those_that_agree(std::int64_t element) {
    set_terms(element);
    const double start = first_term(sums_, first(), element);
    sum_all(start);
    Group still;
    for (std::size_t i = 0; i < left_.size(); ++i) {
      const Candidate& c = candidates_[left_[i]];
      const bool agrees =
          doubtful_[i] != 0
              ? Trial(sums_, operands_, c).agrees(element)
              : is_recorded(sums_, c, element, with_last_term(sums_, c, element, sum_[i]));
      if (agrees) still.push_back(left_[i]);
    }
    if (still.size() == left_.size()) return;
    left_ = std::move(still);
    if (!left_.empty()) take_lanes();
  }

 private:
  const Candidate& first() const { return candidates_[left_[0]]; }

  void take_lanes() {
    const std::size_t lanes = (left_.size() + simd::kLanes - 1) / simd::kLanes * simd::kLanes;
    kept_.resize(lanes);
    for (std::size_t i = 0; i < lanes; ++i) {
      const std::size_t place = left_[std::min(i, left_.size() - 1)];
      kept_[i] = std::ldexp(1.0, candidates_[place].model.kept_bits.value);
    }
    for (std::vector<double>* values : {&sum_, &part_, &inner_}) values->resize(lanes);
  }

  void set_terms(std::int64_t element) {
    const QuickSum quick(first().model);
    products_.resize(at(sums_.k));
    powers_.resize(at(sums_.k));
    quick.set_products(sums_.k, operands_.a.data() + sums_.a_row[at(element)] * sums_.k,
                       operands_.b.data() + sums_.b_row[at(element)] * sums_.k, products_.data(),
                       powers_.data());
  }

  // As Trial sums, in all lanes.
  void sum_all(double start) {
    const std::size_t lanes = kept_.size();
    doubtful_.assign(lanes, 0);
    const std::int64_t interval = first().split.terms;
    if (interval == 0) {
      std::fill(sum_.begin(), sum_.end(), start);
      add_part(0, sums_.k, sum_);
      return;
    }
    add_promoted(interval, 0, sums_.k, start, sum_, part_, [&](std::int64_t begin, std::int64_t n) {
      if (first().inner_interval == 0) {
        std::fill(part_.begin(), part_.end(), 0.0);
        add_part(begin, n, part_);
      } else {
        add_promoted(first().inner_interval, begin, n, 0, part_, inner_,
                     [&](std::int64_t from, std::int64_t terms) {
                       std::fill(inner_.begin(), inner_.end(), 0.0);
                       add_part(from, terms, inner_);
                     });
      }
    });
  }

  // Sums of parts of `interval` terms each, added in float32.
  template <typename SumPart>
  void add_promoted(std::int64_t interval, std::int64_t begin, std::int64_t n, double start,
                    std::vector<double>& total, const std::vector<double>& part,
                    const SumPart& sum_part) {
    std::fill(total.begin(), total.end(), static_cast<double>(static_cast<float>(start)));
    for (std::int64_t i = 0; i < n; i += interval) {
      sum_part(begin + i, std::min(interval, n - i));
      for (std::size_t lane = 0; lane < total.size(); ++lane) {
        total[lane] =
            static_cast<double>(static_cast<float>(total[lane]) + static_cast<float>(part[lane]));
      }
    }
  }

  void add_part(std::int64_t begin, std::int64_t n, std::vector<double>& c) {
    std::array<bool, kMostLanes> doubtful{};
    simd::add_aligned(model_, n, products_.data() + begin, powers_.data() + begin,
                      static_cast<std::int64_t>(c.size()), kept_.data(), c.data(), doubtful.data());
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (doubtful[i]) doubtful_[i] = 1;
    }
  }

  static constexpr std::size_t kMostLanes = QuickSum::kMostKept + simd::kLanes;

  const Sums& sums_;
  const Operands& operands_;
  std::span<const Candidate> candidates_;
  Group left_;
  simd::AlignedModel model_;
  std::vector<double> kept_, products_, powers_;
  std::vector<double> sum_, part_, inner_;  // lanes
  std::vector<char> doubtful_;
};

void try_group(const Sums& s, const Operands& operands, std::span<const Candidate> candidates,
               const Group& group, std::span<const std::int64_t> elements,
               std::vector<char>& agree) {
  Group left = group;
  std::size_t tried = 0;  // elements
  if (group.size() > kFew) {
    Lanes lanes(s, operands, candidates, group);
    while (tried < elements.size() && lanes.left().size() > kFew) {
      lanes.keep_those_that_agree(elements[tried++]);
    }
    left = lanes.left();
  }
  for (const std::size_t place : left) {
    const Trial trial(s, operands, candidates[place]);
    const auto rest = elements.subspan(tried);
    agree[place] = std::all_of(rest.begin(), rest.end(),
                               [&](std::int64_t element) { return trial.agrees(element); });
  }
}

}  // namespace

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
                   const Candidate& c = candidates[groups[i][0]];
                   try_group(s, operands.of(c), candidates, groups[i], elements, agree);
                 }
               });
  return agree;
}

}  // namespace assay::identify
