#include "assay/identify/divisions.h"

#include <algorithm>
#include <set>

#include "assay/identify/space.h"

namespace assay::inline v0_2::identify {

std::vector<std::int64_t> likely_intervals(const Sums& s) {
  std::set<std::int64_t> all = {0};
  for (std::int64_t i = 16; i < s.k; i += 16) all.insert(i);
  for (std::int64_t parts = 2; parts <= 32 && parts < s.k; ++parts) {
    all.insert((s.k + parts - 1) / parts);
  }
  for (std::int64_t i = 1; i < std::min<std::int64_t>(s.k, 16); i *= 2) all.insert(i);
  if (!s.start.empty()) all.insert(s.k);
  // If scales change, K is cut at the changes. Parts that are not shorter than these stretches
  // change nothing, and 0 stands for them.
  if (s.scales_change()) {
    std::erase_if(all, [&](std::int64_t terms) { return terms >= longest_stretch(s); });
  }
  return {all.begin(), all.end()};
}

std::vector<std::int64_t> all_intervals(const Sums& s) {
  std::vector<std::int64_t> all;
  const std::int64_t end = s.scales_change() ? longest_stretch(s) : s.k + (s.start.empty() ? 0 : 1);
  for (std::int64_t i = 0; i < end; ++i) all.push_back(i);
  return all;
}

std::vector<KSplit> rare_splits(const Sums& s) {
  std::vector<KSplit> all;
  if (s.op != "matmul") return all;
  const std::vector<std::int64_t> likely = likely_intervals(s);
  // Without a start value, the sums of two parts can be added in only one way, and pairwise
  // addition of three sums equals ascending addition. Such divisions are left out.
  const bool starts = !s.start.empty();
  for (const std::int64_t terms : likely) {
    // Skips parts of fewer than 8 terms, which are the work of a unit's own order.
    if (terms < 8 || terms >= s.k) continue;
    const std::int64_t parts = (s.k + terms - 1) / terms;
    if (parts > (starts ? 1 : 2)) all.push_back({.terms = terms, .order = PartOrder::kDescending});
    if (parts > (starts ? 1 : 3)) all.push_back({.terms = terms, .order = PartOrder::kPairwise});
    if (s.output->bits != 16) continue;
    for (const PartOrder order :
         {PartOrder::kAscending, PartOrder::kDescending, PartOrder::kPairwise}) {
      all.push_back({.terms = terms, .order = order, .part = s.output});
      all.push_back({.terms = terms, .order = order, .sum = s.output});
      all.push_back({.terms = terms, .order = order, .part = s.output, .sum = s.output});
    }
  }
  for (std::int64_t terms = 1; terms <= 512 && terms < s.k; terms *= 2) {
    for (const std::int64_t parts : kDealtParts) {
      if (parts == 0 || parts * terms >= s.k) continue;
      for (const PartOrder order : {PartOrder::kAscending, PartOrder::kPairwise}) {
        if (order == PartOrder::kPairwise && parts < (starts ? 2 : 4)) continue;
        all.push_back({.terms = terms, .dealt = parts, .order = order});
      }
    }
  }
  // Adds two parts of any size. With more parts, the sizes of the first part and of the others vary
  // in steps that leave a few thousand divisions.
  for (std::int64_t first = 1; first < s.k; ++first) {
    all.push_back({.terms = s.k - first, .first = first});
  }
  std::int64_t step = 8;
  while (s.k / step * (s.k / step) > 4096) step *= 2;
  for (std::int64_t terms = step; terms < s.k; terms += step) {
    for (std::int64_t first = step; first < s.k - terms; first += step) {
      if (first != terms) all.push_back({.terms = terms, .first = first});
    }
  }
  return all;
}

}  // namespace assay::identify
