// Tests that rounding_variance detects what the best check of the same sums detects. The best check
// uses the quantile of the exact distribution of the rounding errors (tail_rates.py).
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "evidence/rates.h"

namespace assay {
namespace {

using testing_rates::Counts;
using testing_rates::of_campaign;
using testing_rates::Rates;
using testing_rates::simulated;

TEST(TailEvidence, SeesWhatTheBestCheckOfTheseSumsSees) {
  struct Cell {
    const char *distribution, *gate;
    int width, matrices;
    std::vector<int> bits;
  };
  const Cell cells[] = {
      {"normal", "rounding_variance,confirm=0", 16, 4, {2, 3, 4, 5}},
      {"normal,mean=1", "rounding_variance,confirm=0", 16, 4, {2, 3}},
      {"student_t,nu=2", "rounding_variance,groups=0,confirm=0", 256, 24, {4, 5, 6}}};
  for (const Cell& cell : cells) {
    const Rates ours = of_campaign(cell.distribution, cell.gate, 4 * cell.matrices);
    std::string words;
    for (const int bit : cell.bits) words += formatted(" {}", bit);
    const Rates best = simulated(
        formatted("tail_rates.py {} {} {}{}", cell.distribution, cell.width, cell.matrices, words),
        cell.bits);
    EXPECT_EQ(ours.alarms, 0) << cell.distribution;
    EXPECT_EQ(best.alarms, 0) << cell.distribution;
    for (const int bit : cell.bits) {
      for (const int down : {0, 1}) {
        const Counts &a = ours.bits.at(bit)[down], &b = best.bits.at(bit)[down];
        // Allows half a percent and what is left to chance with this number of flips. Elements of
        // heavy tails depend on their rows and columns together, so there are fewer independent
        // trials.
        const double alike = cell.width == 16 ? 1 : 16;
        const double sigma =
            std::sqrt(b.rate() * (1 - b.rate()) * alike * (1 / a.flips + 1 / b.flips));
        EXPECT_NEAR(a.rate(), b.rate(), 0.005 + 3 * sigma)
            << cell.distribution << " bit " << bit << (down != 0 ? ", 1 to 0" : ", 0 to 1");
      }
    }
  }
}

}  // namespace
}  // namespace assay
