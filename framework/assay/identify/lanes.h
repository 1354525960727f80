// Computes many sums side by side, in the lanes of vectors. The lanes are candidates that differ
// only in kept bits, as most candidates of a search do, or several elements of one candidate.
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

namespace assay::inline v0_2::identify {

// The operands after each conversion that a candidate needs. Each conversion is computed once.
class AllOperands {
 public:
  explicit AllOperands(const Sums& sums) : sums_(sums) {}
  const Operands& of(const Candidate& candidate);

 private:
  const Sums& sums_;
  std::mutex mutex_;
  std::map<std::tuple<const Format*, int, bool>, Operands> made_;
};

// The products k of a block of pairings, and the powers of two of their exponents
// (simd/sum_lanes.h).
struct BlockTerms {
  std::vector<double> products, powers;
};

// Computes sums of one candidate, eight at a time if vectors can sum as this candidate does.
class ManySums {
 public:
  static constexpr std::size_t kAtOnce = 8;

  explicit ManySums(const Trial& trial);
  ~ManySums();

  // Returns the sums of at most kAtOnce pairings, before they are rounded to the output's format.
  // `terms` are the terms of these pairings, computed by make_terms() of a candidate with the same
  // operands. If it is nullptr, the function computes them.
  std::vector<double> of(std::span<const Pairing> pairings, const BlockTerms* terms = nullptr);
  // True if several pairings are summed at once, so that of() reads terms.
  bool takes_terms() const;
  void make_terms(std::span<const Pairing> pairings, BlockTerms& terms) const;

 private:
  const Trial& trial_;
  std::unique_ptr<class LaneSums> lanes_;
};

// Computes sums for many candidates. The products of a block of pairings are computed once for all
// of them. take(i, first, sums) receives the sums of candidate i for the pairings from index
// `first` on. It returns false if that candidate needs no more sums. Calls for one candidate are in
// order. Calls for different candidates may come from several threads.
using TakeSums =
    std::function<bool(std::size_t candidate, std::size_t first, std::span<const double> sums)>;
void each_block_of_sums(const Sums& sums, AllOperands& operands,
                        std::span<const Candidate> candidates, std::span<const Pairing> pairings,
                        int threads, const TakeSums& take);

// Returns for each candidate the number of elements whose recorded value it gives. Stops counting
// for a candidate once it differs on more than `most_that_differ` elements.
std::vector<std::int64_t> agreements(const Sums& sums, AllOperands& operands,
                                     std::span<const Candidate> candidates,
                                     std::span<const std::int64_t> elements,
                                     std::int64_t most_that_differ, int threads);

// Returns for each candidate 1 if it gives the recorded value of all of the elements, and 0
// otherwise. `threads` may be 0, which means default_threads(). The result does not depend on it.
std::vector<char> agreeing(const Sums& sums, AllOperands& operands,
                           std::span<const Candidate> candidates,
                           std::span<const std::int64_t> elements, int threads);

}  // namespace assay::identify
