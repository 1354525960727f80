// Computes the detection rates of one cell by bit twice: by a campaign, and by a script that shares
// nothing with it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/campaign/results.h"
#include "assay/wire/plan_file.h"

namespace assay::testing_rates {

struct Counts {
  double flips = 0, seen = 0;
  double rate() const { return seen / flips; }
};

// The counts of each bit in both directions (0 to 1, then 1 to 0), and the numbers of the script's
// last line.
struct Rates {
  std::map<int, Counts[2]> bits;
  double alarms = 0, rms_z = 0;
};

// Reads what a script of this folder prints: a line of four counts for each bit, then the alarms.
// Some scripts also print the root mean square of D / sigma.
inline Rates simulated(const std::string& script, const std::vector<int>& bits) {
  const std::string command =
      formatted("{} '{}/tests/evidence/'{}", ASSAY_PYTHON, ASSAY_SOURCE_DIR, script);
  std::string said;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[256];
  while (pipe != nullptr && std::fgets(buffer, sizeof buffer, pipe) != nullptr) said += buffer;
  EXPECT_EQ(pipe == nullptr ? -1 : pclose(pipe), 0) << command;
  std::istringstream in(said);
  Rates rates;
  for (const int b : bits) {
    Counts(&bit)[2] = rates.bits[b];
    in >> bit[0].flips >> bit[0].seen >> bit[1].flips >> bit[1].seen;
  }
  in >> rates.alarms;
  EXPECT_TRUE(in) << said;
  if (!(in >> rates.rms_z)) rates.rms_z = std::nan("");
  return rates;
}

// Returns the rates of a campaign on bfloat16 products of 128 x 1024 x 256 on ascend910b, with
// every flip in `matrices` matrices.
inline Rates of_campaign(const std::string& distribution, const std::string& gate, int matrices) {
  const campaign::Plan plan = campaign::check_plan(
      wire::parse_plan(formatted(R"({{"schema": 1, "name": "r", "cells": [{{"dtype": "bfloat16",
        "shape": [128, 1024, 256], "distribution": "{}", "clean_rows": {}, "machine": "ascend910b",
        "gates": ["{}"], "faults": [{{"census": {}}}]}}]}})",
                                 distribution, 128 * matrices, gate, matrices),
                       "r.json", ""));
  const campaign::Campaign campaign(plan, {});
  std::map<std::int64_t, campaign::BlockTally> blocks;
  campaign.run(campaign.blocks(),
               [&](const campaign::BlockAddress& b, const campaign::BlockTally& tally) {
                 blocks.emplace(b.index, tally);
               });
  const auto results = campaign::results_of(
      campaign, [&](const campaign::BlockAddress& b) { return blocks.at(b.index); });
  const campaign::GateResult& result = results.at(0).gates.at(0);
  Rates rates;
  rates.alarms = static_cast<double>(result.clean.alarms);
  for (const campaign::SeriesResult& s : result.series) {
    const bool down = s.series.direction == fault::Direction::kOneToZero;
    rates.bits[s.series.bit][down] = {static_cast<double>(s.detected.rate.trials),
                                      static_cast<double>(s.detected.rate.events)};
  }
  return rates;
}

}  // namespace assay::testing_rates
