#include "assay/gate/digit_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"

namespace assay {
namespace {

// Returns values with few digits, so that many share their digits, of all sizes and both signs.
std::vector<double> drawn(std::int64_t n) {
  Random random(20261129, static_cast<std::uint64_t>(n));
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t kind = random.below(8);
    const double digits = kind < 4 ? static_cast<double>(random.below(3000)) : random.uniform();
    const double value = std::ldexp(digits, -static_cast<int>(random.below(1090)));
    values.push_back(random.below(2) == 0 ? -value : value);
  }
  if (n > 4) values[1] = 0, values[2] = -0.0, values[3] = kInfinity, values[4] = kNan;
  return values;
}

// Returns a small integer, so that sums are exact in any order. Elements that are not finite add
// nothing.
double term_of(const std::vector<double>& values, std::size_t i) {
  return std::isfinite(values[i]) ? static_cast<double>(i % 7) : 0;
}

DigitSums::Totals added_up(const std::vector<double>& values, int terms, int threads) {
  DigitSums sums(view(std::span(values)), terms, threads);
  std::int64_t added = 0;
  for (std::int64_t s = 0; s < sums.stretches(); ++s) {
    DigitSums::Stretch stretch = sums.stretch(s);
    for (std::int64_t i = sums.begin(s); i < sums.begin(s + 1); ++i, ++added) {
      const auto at = static_cast<std::size_t>(i);
      stretch.add(values[at], term_of(values, at), 2 * term_of(values, at));
    }
  }
  EXPECT_EQ(added, std::ssize(values));
  return sums.totals();
}

TEST(DigitSums, AreThoseOfAMapByDigits) {
  for (const std::int64_t n : {0, 1, 2, 100, 8191, 8192, 8193, 50000, 300001}) {
    const std::vector<double> values = drawn(n);
    std::map<double, std::pair<double, double>> by_digits;
    for (std::size_t i = 0; i < values.size(); ++i) {
      int e = 0;
      if (!std::isfinite(values[i])) continue;
      auto& [sum, other] = by_digits[std::abs(std::frexp(values[i], &e))];
      sum += term_of(values, i);
      other += 2 * term_of(values, i);
    }
    DigitSums::Totals wanted;
    for (const auto& [digits, sums] : by_digits) {
      wanted.terms.add(sums.first);
      wanted.other_terms.add(sums.second);
    }
    for (const int threads : {1, 3}) {
      const DigitSums::Totals two = added_up(values, 2, threads),
                              one = added_up(values, 1, threads);
      EXPECT_EQ(two.terms.squares, wanted.terms.squares) << n;
      EXPECT_EQ(two.terms.largest, wanted.terms.largest) << n;
      EXPECT_EQ(two.other_terms.squares, wanted.other_terms.squares) << n;
      EXPECT_EQ(two.other_terms.largest, wanted.other_terms.largest) << n;
      EXPECT_EQ(one.terms.squares, wanted.terms.squares) << n;
      EXPECT_EQ(one.other_terms.squares, 0) << n;
    }
  }
}

}  // namespace
}  // namespace assay
