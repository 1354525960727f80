// The order in which the sums of parts of K are added, if a product is split over blocks of
// threads.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/format/format.h"

namespace assay::inline v0_2 {

enum class PartOrder : std::uint8_t { kAscending, kDescending, kPairwise };
inline constexpr std::string_view kPartOrderWords[] = {"ascending", "descending", "pairwise"};

// The parts of K. Each part is summed from 0, and its sum is rounded to `part`. The parts' sums are
// added in float32 in `order`, and each result is rounded to `sum`, to nearest even. In ascending
// and descending order they are added one after the other to the value that is already there. In
// pairwise order they are added in a tree of adjacent pairs, whose root is added to that value.
struct KParts {
  std::vector<std::int64_t>
      // The ends of the parts, ascending. The last one is K. Fewer than two ends mean one part.
      ends;
  PartOrder order = PartOrder::kAscending;
  const Format* part = nullptr;  // nullptr means float32
  const Format* sum = nullptr;   // nullptr means float32

  bool is_split() const { return ends.size() > 1; }
  std::size_t count() const { return ends.size(); }
  std::int64_t begin(std::size_t part_number) const {
    return part_number == 0 ? 0 : ends[part_number - 1];
  }
};

// Adds the parts to `total`: sum_of(i) returns the sum of part i, and add(x, y) adds y to x. Both
// must round as `parts` requires.
template <typename Value, typename SumOf, typename Add>
void add_parts(const KParts& parts, Value& total, const SumOf& sum_of, const Add& add) {
  const std::size_t n = parts.count();
  if (parts.order != PartOrder::kPairwise) {
    const bool up = parts.order == PartOrder::kAscending;
    for (std::size_t i = 0; i < n; ++i) add(total, sum_of(up ? i : n - 1 - i));
    return;
  }
  // Each entry holds a level and the sum of 2^level adjacent parts. The sums that are left over at
  // the end are added from the right.
  std::vector<std::pair<int, Value>> sums;
  const auto join_last_two = [&] {
    Value last = std::move(sums.back().second);
    sums.pop_back();
    add(sums.back().second, last);
    ++sums.back().first;
  };
  for (std::size_t i = 0; i < n; ++i) {
    sums.emplace_back(0, sum_of(i));
    while (sums.size() > 1 && sums[sums.size() - 2].first == sums.back().first) join_last_two();
  }
  while (sums.size() > 1) join_last_two();
  if (!sums.empty()) add(total, sums.front().second);
}

// Returns the float32 sum x + y, rounded to parts.sum.
float add_part_sums(const KParts& parts, float x, float y);
// Returns the sum of a part, rounded to parts.part.
float stored_part(const KParts& parts, float sum);

}  // namespace assay
