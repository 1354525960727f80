// Candidates that differ in kept bits alone, tried side by side: most of a search's candidates.
#pragma once

#include <cstdint>
#include <map>
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

// For each of the candidates, whether it agrees on all of the elements. `threads`: 0 for
// default_threads(); the result does not depend on it.
std::vector<char> agreeing(const Sums& sums, AllOperands& operands,
                           std::span<const Candidate> candidates,
                           std::span<const std::int64_t> elements, int threads);

}  // namespace assay::identify
