// Tests campaigns of attention by its checksums. The verdicts of a census and of a single check
// equal those of a check of the whole changed output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "assay/abft.h"
#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/campaign/engine.h"
#include "assay/campaign/trial.h"
#include "assay/wire/plan_file.h"
#include "campaign/bench.h"
#include "error_of.h"

namespace assay::campaign {
namespace {

using testing::HasSubstr;

Plan attention_plan(const std::string& more) {
  return check_plan(wire::parse_plan(
      formatted(R"({{"schema": 1, "name": "n", "seed": 1, "cells": [{{"operator": "attention",
             "dtype": "bfloat16", "shape": [2, 5, 24, 20], "clean_rows": 10,
             "distribution": "normal", {}}}]}})",
                more),
      "p.json", ""));
}

struct AttentionBench : testing_bench::Bench {
  explicit AttentionBench(const std::string& more) : Bench(attention_plan(more)) {}

  AbftVerdict whole(const Tensor& output, const std::string& threshold) const {
    return abft_check(matrix.test_case, output.view(),
                      {.spec = parse_threshold(threshold),
                       .model = &dot_model(machine_named("ascend910b"), format_named("bfloat16"))});
  }
};

TEST(AttentionCampaign, ACensusSaysWhatTheWholeCheckSays) {
  for (const char* threshold : {"rounding_variance", "rounding_variance,groups=0,confirm=0"}) {
    for (const char* attributes : {"{}", R"({"causal": 1, "tile": 8})"}) {
      SCOPED_TRACE(formatted("{} {}", threshold, attributes));
      const AttentionBench b(
          formatted(R"("gates": "{}", "attributes": {})", threshold, attributes));
      const Tensor& output = b.matrix.output;
      const Format& f = output.format();
      std::vector<int> bits(at(f.bits));
      for (int bit = 0; bit < f.bits; ++bit) bits[at(bit)] = bit;
      std::vector<std::uint16_t> bins(at(output.size()) * bits.size());
      b.gates[0].census(bits, false, bins.data());
      int seen = 0, unseen = 0, dismissed = 0;
      for (std::size_t i = 0; i < bins.size(); i += 3) {
        const auto p = static_cast<std::int64_t>(i % at(output.size()));
        const std::uint64_t before = output.bits_at(p),
                            after = before ^ (std::uint64_t{1} << bits[i / at(output.size())]);
        const int bin = bins[i] - (after < before ? int{simd::kFlipBins} : 0);
        if (bin == simd::kBinMasked) continue;
        Tensor changed = output;
        changed.set_bits(p, after);
        const AbftVerdict v = b.whole(changed, threshold);
        const bool flagged = v.flagged > 0;
        EXPECT_EQ(bin > simd::kBinAtOne && bin <= simd::kBinNotFinite, flagged) << p << " " << i;
        EXPECT_EQ(bin == simd::kBinDismissed, v.confirmed_clean > 0) << p << " " << i;
        const ElementChange change{p / 20, p % 20, after};
        const Detection answer = b.gates[0].detect({&change, 1});
        EXPECT_EQ(answer.flagged, flagged);
        EXPECT_EQ(answer.dismissed, v.confirmed_clean > 0);
        ++(flagged ? seen : v.confirmed_clean > 0 ? dismissed : unseen);
      }
      EXPECT_GT(seen, 200);
      EXPECT_GT(unseen, 200);
    }
  }
}

TEST(AttentionCampaign, CleanRowsAndFaultsOfManyElements) {
  const AttentionBench b(R"("gates": "rounding_variance", "faults": [
      {"fault": "zero,site=row", "trials": 4}, {"fault": "nan", "trials": 2}])");
  RatioCounts ratios{};
  const CleanCounts clean = b.gates[0].clean(ratios);
  const AbftVerdict v = b.whole(b.matrix.output, "rounding_variance");
  EXPECT_EQ(clean.rows, 10);
  EXPECT_EQ(clean.alarms, 0);
  EXPECT_EQ(clean.checks, v.checks);
  EXPECT_EQ(clean.measured, v.measured);
  EXPECT_DOUBLE_EQ(clean.worst, v.worst_ratio);
  EXPECT_NEAR(clean.z_square, v.rms_z * v.rms_z * static_cast<double>(v.measured), 1e-9);
  for (std::size_t fault = 0; fault < 2; ++fault) {
    const Trial t = run_trial(b.plan, b.plan.cells[0], fault, 0, b.matrix, b.gates);
    ASSERT_EQ(t.detections.size(), 1u);
    EXPECT_TRUE(t.detections[0].flagged);
  }
}

TEST(AttentionCampaign, WhatCannotBeCheckedIsRefused) {
  EXPECT_THAT(error_of([] { AttentionBench b(R"("gates": "v_abft")"); }),
              HasSubstr("gate v_abft: attention is checked only by rounding_variance"));
}

}  // namespace
}  // namespace assay::campaign
