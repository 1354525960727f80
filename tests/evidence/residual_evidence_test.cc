// What docs/abft.md claims of residual_compensated: by a campaign, and by a simulation that shares
// nothing with it (residual_rates.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/campaign/results.h"
#include "assay/config/plan_file.h"

namespace assay {
namespace {

constexpr int kBits = 10;

struct Counts {
  double flips = 0, seen = 0;
  double rate() const { return seen / flips; }
};
// By direction: 0 to 1, 1 to 0.
struct Rates {
  Counts bits[kBits][2];
  double alarms = 0, rms_z = 0;
};

Rates simulated(const std::string& distribution, int matrices) {
  const std::string command = format("{} '{}/tests/evidence/residual_rates.py' {} {}", ASSAY_PYTHON,
                                     ASSAY_SOURCE_DIR, distribution, matrices);
  std::string said;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[256];
  while (pipe != nullptr && std::fgets(buffer, sizeof buffer, pipe) != nullptr) said += buffer;
  EXPECT_EQ(pipe == nullptr ? -1 : pclose(pipe), 0) << command;
  std::istringstream in(said);
  Rates rates;
  for (auto& bit : rates.bits) {
    in >> bit[0].flips >> bit[0].seen >> bit[1].flips >> bit[1].seen;
  }
  in >> rates.alarms >> rates.rms_z;
  EXPECT_TRUE(in) << said;
  return rates;
}

Rates of_campaign(const std::string& distribution, int matrices) {
  const campaign::Plan plan = campaign::check_plan(
      config::parse_plan(format(R"({{"schema": 1, "name": "r", "cells": [{{"dtype": "bfloat16",
        "shape": [128, 1024, 256], "distribution": "{}", "clean_rows": {}, "machine": "ascend910b",
        "gates": ["residual_compensated"], "faults": [{{"census": {}}}]}}]}})",
                                distribution, 128 * matrices, matrices),
                         "r.json", ""));
  const campaign::Campaign campaign(plan, {});
  std::map<std::int64_t, campaign::BlockTally> blocks;
  campaign.run(campaign.blocks(),
               [&](const campaign::BlockAddress& b, const campaign::BlockTally& tally) {
                 blocks.emplace(b.index, tally);
               });
  const auto results = campaign::results_of(
      campaign, [&](const campaign::BlockAddress& b) { return blocks.at(b.index); });
  const campaign::GateResult& gate = results.at(0).gates.at(0);
  Rates rates;
  rates.alarms = static_cast<double>(gate.clean.alarms);
  for (const campaign::SeriesResult& s : gate.series) {
    if (s.series.bit >= kBits) continue;
    const bool down = s.series.direction == fault::Direction::kOneToZero;
    rates.bits[s.series.bit][down] = {static_cast<double>(s.detected.rate.trials),
                                      static_cast<double>(s.detected.rate.events)};
  }
  return rates;
}

TEST(ResidualEvidence, EveryBitIsSeenAsASimulationSaysItIs) {
  for (const char* distribution : {"normal", "uniform"}) {
    const Rates ours = of_campaign(distribution, 24), theirs = simulated(distribution, 24);
    EXPECT_EQ(ours.alarms, 0);
    EXPECT_EQ(theirs.alarms, 0);
    EXPECT_NEAR(theirs.rms_z, 0.95, 0.1) << "u^2 Q / 5";
    for (int bit = 0; bit < kBits; ++bit) {
      for (const int down : {0, 1}) {
        const Counts &a = ours.bits[bit][down], &b = theirs.bits[bit][down];
        const std::string where = format("{} bit {} {}", distribution, bit, down);
        ASSERT_GT(a.flips, 1e5) << where;
        ASSERT_GT(b.flips, 1e5) << where;
        const double all = (a.seen + b.seen) / (a.flips + b.flips);
        const double sigma =
            std::sqrt(std::max(all * (1 - all), 1e-6) * (1 / a.flips + 1 / b.flips));
        EXPECT_NEAR(a.rate(), b.rate(), 4.5 * sigma) << where;
        // 99.9 percent but for what chance the draws leave.
        EXPECT_GE(a.rate(), 0.999 - 3 * std::sqrt(0.001 / a.flips)) << where;
      }
    }
  }
}

}  // namespace
}  // namespace assay
