// How the sums of parts of K meet, where a product is split over blocks of threads.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/format/format.h"

namespace assay {

enum class PartOrder : std::uint8_t { kAscending, kDescending, kPairwise };
inline constexpr std::string_view kPartOrderWords[] = {"ascending", "descending", "pairwise"};

// Parts of K: each is summed from 0, its sum is rounded to `part`, and the parts' sums are added in
// float32 in `order`, each such sum rounded to `sum`, to nearest even. In ascending and descending
// order they are added to what is there, one after the other; pairwise they meet in a tree of
// adjacent pairs, whose root is added to what is there.
struct KParts {
  std::vector<std::int64_t>
      ends;  // of the parts, ascending, the last is K; fewer than two: one part
  PartOrder order = PartOrder::kAscending;
  const Format* part = nullptr;  // nullptr: float32
  const Format* sum = nullptr;   // nullptr: float32

  bool is_split() const { return ends.size() > 1; }
  std::size_t count() const { return ends.size(); }
  std::int64_t begin(std::size_t part_number) const {
    return part_number == 0 ? 0 : ends[part_number - 1];
  }
};

// `total` with the parts added: sum_of(i) is the sum of part i, add(x, y) adds y to x. Both round
// as the parts say.
template <typename Value, typename SumOf, typename Add>
void add_parts(const KParts& parts, Value& total, const SumOf& sum_of, const Add& add) {
  const std::size_t n = parts.count();
  if (parts.order != PartOrder::kPairwise) {
    const bool up = parts.order == PartOrder::kAscending;
    for (std::size_t i = 0; i < n; ++i) add(total, sum_of(up ? i : n - 1 - i));
    return;
  }
  // Sums of 2^level adjacent parts; what is left over at the end meets from the right.
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

// Of float32 values: x + y as the parts say.
float add_part_sums(const KParts& parts, float x, float y);
// The sum of a part as it is stored.
float stored_part(const KParts& parts, float sum);

}  // namespace assay
