// Many sums side by side: of candidates that differ in kept bits alone, which most of a search's
// candidates do, or of elements.
#pragma once

#include <cstdint>
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

// Sums of one candidate, eight at once where it does not sum a chunk exactly.
class ManySums {
 public:
  static constexpr std::size_t kAtOnce = 8;

  explicit ManySums(const Trial& trial);
  ~ManySums();

  // Of kAtOnce pairings at most, before they are rounded to the output's format.
  std::vector<double> of(std::span<const Pairing> pairings);
  // How many of the elements agree, counted up to the first of so many that do not.
  std::int64_t agreeing(std::span<const std::int64_t> elements, std::int64_t most_that_differ);
  bool all_agree(std::span<const std::int64_t> elements) {
    return agreeing(elements, 0) == static_cast<std::int64_t>(elements.size());
  }

 private:
  const Trial& trial_;
  std::unique_ptr<class LaneSums> lanes_;
};

// For each of the candidates, whether it agrees on all of the elements. `threads`: 0 for
// default_threads(); the result does not depend on it.
std::vector<char> agreeing(const Sums& sums, AllOperands& operands,
                           std::span<const Candidate> candidates,
                           std::span<const std::int64_t> elements, int threads);

}  // namespace assay::identify
