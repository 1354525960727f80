#include "assay/base/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace assay::inline v0_2 {

std::size_t edit_distance(std::string_view from, std::string_view to) {
  // `row` has the distances from the first i characters of `from` to each beginning of `to`.
  // `one_less` and `two_less` have them for i - 1 and i - 2 characters.
  std::vector<std::size_t> row(to.size() + 1), one_less, two_less;
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    two_less = std::move(one_less);
    one_less = row;
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = one_less[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, one_less[j] + 1, row[j - 1] + 1});
      const bool exchanged = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (exchanged) row[j] = std::min(row[j], two_less[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace assay
