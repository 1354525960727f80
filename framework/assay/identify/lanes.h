// Many sums side by side: of candidates that differ in kept bits alone, which most of a search's
// candidates do, or of elements.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "assay/identify/sums.h"

namespace assay::identify {

// The operands of every conversion that is tried, made once.
class AllOperands {
 public:
  explicit AllOperands(const Sums& sums) : sums_(sums) {}
  const Operands& of(const Candidate& candidate);

 private:
  const Sums& sums_;
  std::mutex mutex_;
  std::map<std::tuple<const Format*, int, bool>, Operands> made_;
};

// Products of the terms of a block of pairings, and their powers of two (simd/sum_lanes.h).
struct BlockTerms {
  std::vector<double> products, powers;
};

// Sums of one candidate, eight at once where it does not sum a chunk exactly.
class ManySums {
 public:
  static constexpr std::size_t kAtOnce = 8;

  explicit ManySums(const Trial& trial);
  ~ManySums();

  // Of kAtOnce pairings at most, before they are rounded to the output's format. `terms` are those
  // of these pairings, as make_terms() of a candidate with the same operands made them; null: none.
  std::vector<double> of(std::span<const Pairing> pairings, const BlockTerms* terms = nullptr);
  // Whether it sums several pairings at once, and so reads terms.
  bool takes_terms() const;
  void make_terms(std::span<const Pairing> pairings, BlockTerms& terms) const;

 private:
  const Trial& trial_;
  std::unique_ptr<class LaneSums> lanes_;
};

// Sums by many candidates: the products of a block of pairings are made once for all of them.
// take(i, first, sums) gets the sums of candidate i for the pairings from `first` on, and says
// whether the candidate goes on. Its calls for one candidate come in order, and those for
// different ones from several threads.
using TakeSums =
    std::function<bool(std::size_t candidate, std::size_t first, std::span<const double> sums)>;
void each_block_of_sums(const Sums& sums, AllOperands& operands,
                        std::span<const Candidate> candidates, std::span<const Pairing> pairings,
                        int threads, const TakeSums& take);

// For each of the candidates, on how many of the elements it agrees, counted until more than
// `most_that_differ` do not.
std::vector<std::int64_t> agreements(const Sums& sums, AllOperands& operands,
                                     std::span<const Candidate> candidates,
                                     std::span<const std::int64_t> elements,
                                     std::int64_t most_that_differ, int threads);

// For each of the candidates, whether it agrees on all of the elements. `threads`: 0 for
// default_threads(); the result does not depend on it.
std::vector<char> agreeing(const Sums& sums, AllOperands& operands,
                           std::span<const Candidate> candidates,
                           std::span<const std::int64_t> elements, int threads);

}  // namespace assay::identify
