// Checks the claims of docs/abft.md about residual_compensated, by a campaign and by a simulation
// that shares no code with it (residual_rates.py).
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "evidence/rates.h"

namespace assay {
namespace {

using testing_rates::Counts;
using testing_rates::of_campaign;
using testing_rates::Rates;
using testing_rates::simulated;

TEST(ResidualEvidence, EveryBitIsSeenAsASimulationSaysItIs) {
  for (const char* distribution : {"normal", "uniform"}) {
    std::vector<int> bits(10);
    std::iota(bits.begin(), bits.end(), 0);
    const Rates ours = of_campaign(distribution, "residual_compensated", 24),
                theirs = simulated(formatted("residual_rates.py {} 24", distribution), bits);
    EXPECT_EQ(ours.alarms, 0);
    EXPECT_EQ(theirs.alarms, 0);
    EXPECT_NEAR(theirs.rms_z, 0.95, 0.1) << "u^2 Q / 5";
    for (const int bit : bits) {
      for (const int down : {0, 1}) {
        const Counts &a = ours.bits.at(bit)[down], &b = theirs.bits.at(bit)[down];
        const std::string where = formatted("{} bit {} {}", distribution, bit, down);
        ASSERT_GT(a.flips, 1e5) << where;
        ASSERT_GT(b.flips, 1e5) << where;
        const double all = (a.seen + b.seen) / (a.flips + b.flips);
        const double sigma =
            std::sqrt(std::max(all * (1 - all), 1e-6) * (1 / a.flips + 1 / b.flips));
        EXPECT_NEAR(a.rate(), b.rate(), 4.5 * sigma) << where;
        // At least 99.9 percent of the flips are detected, minus three deviations of the draws.
        EXPECT_GE(a.rate(), 0.999 - 3 * std::sqrt(0.001 / a.flips)) << where;
      }
    }
  }
}

}  // namespace
}  // namespace assay
