// Tests drawn faults: trials do not depend on each other, and each site is the one that its name
// gives.
#include "assay/campaign/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/campaign/engine.h"
#include "assay/format/convert.h"
#include "assay/op/operator.h"
#include "assay/wire/plan_file.h"
#include "campaign/bench.h"
#include "error_of.h"

namespace assay::campaign {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A plan of one cell with these faults.
struct TrialBench : testing_bench::Bench {
  explicit TrialBench(const std::string& faults,
                      const std::string& gates_json = R"(["rounding_variance", "v_abft"])",
                      const std::string& dtype = "bfloat16", const std::string& more = "")
      : Bench(check_plan(
            wire::parse_plan(formatted(R"({{"schema": 1, "name": "t", "cells": [{{"name": "c",
          "dtype": "{}", {} "shape": [20, 48, 40], "distribution": "normal", "gates": {},
          "faults": [{}]}}]}})",
                                       dtype, more, gates_json, faults),
                             "t.json", ""))) {}
};

std::string drawn(const std::string& fault, int trials = 64) {
  return formatted(R"({{"fault": "{}", "trials": {}}})", fault, trials);
}

TEST(Trial, DoesNotDependOnOtherFaults) {
  const std::string x = drawn("flip,bit=9"), y = drawn("random,site=input_b");
  const TrialBench both(x + ", " + y), alone(y), other(y, R"(["a_abft", "v_abft"])");
  for (std::int64_t t = 0; t < 20; ++t) {
    const Trial a = both.trial(t, 1), b = alone.trial(t), c = other.trial(t);
    EXPECT_EQ(a.what, b.what);
    EXPECT_EQ(a.what, c.what);
    EXPECT_EQ(a.detections[1].flagged, b.detections[1].flagged);
    EXPECT_EQ(a.detections[1].ratio, b.detections[1].ratio);
    EXPECT_EQ(a.detections[1].ratio, c.detections[1].ratio);
  }
  std::set<std::string> whats;
  for (std::int64_t t = 0; t < 20; ++t) whats.insert(both.trial(t).what);
  EXPECT_GT(whats.size(), 15u) << "trials are different draws";
}

// Every trial that is run again separately, in any order, has the result that the campaign counted.
TEST(Trial, AloneIsTheOneThatWasCounted) {
  const Plan plan =
      check_plan(wire::parse_plan(R"({"schema": 1, "name": "t", "cells": [{"dtype": "bfloat16",
      "shape": [12, 48, 40], "distribution": "normal", "gates": ["rounding_variance", "v_abft"],
      "faults": [{"fault": "flip,bit=7,direction=0to1", "trials": 30, "per_matrix": 8},
                 {"fault": "random,site=accumulator", "trials": 21, "per_matrix": 8}]}]})",
                                  "t.json", ""));
  const Campaign campaign(plan, {.threads = 1});
  const Cell& cell = plan.cells[0];
  for (std::int64_t index = 3; index >= 0; --index) {
    const BlockTally counted = campaign.run_matrix(cell, index);
    const Matrix matrix = make_matrix(plan, cell, index);
    std::vector<MatrixDetector> gates;
    for (const GateSpec& gate : cell.gates) gates.emplace_back(gate, cell, matrix);
    for (std::size_t f = 0; f < 2; ++f) {
      FaultCounts faults;
      std::vector<DetectionCounts> detections(2);
      const std::int64_t end =
          std::max(index * 8, std::min(cell.faults[f].trials, (index + 1) * 8));
      for (std::int64_t t = end - 1; t >= index * 8; --t) {
        const Trial trial = run_trial(plan, cell, f, t, matrix, gates);
        faults.not_injectable += trial.injectable ? 0 : 1;
        faults.masked += trial.injectable && trial.masked ? 1 : 0;
        if (!trial.injectable || trial.masked) continue;
        ++faults.injected;
        faults.not_finite += trial.not_finite ? 1 : 0;
        for (std::size_t g = 0; g < 2; ++g) {
          detections[g].detected += trial.detections[g].flagged ? 1 : 0;
        }
      }
      const FaultCounts& c = counted.matrices[0].faults[f];
      EXPECT_EQ(c.injected, faults.injected);
      EXPECT_EQ(c.masked, faults.masked);
      EXPECT_EQ(c.not_injectable, faults.not_injectable);
      EXPECT_EQ(c.not_finite, faults.not_finite);
      EXPECT_EQ(c.injected + c.masked + c.not_injectable, end - index * 8);
      for (std::size_t g = 0; g < 2; ++g) {
        EXPECT_EQ(counted.matrices[0].detections[f * 2 + g].detected, detections[g].detected);
        std::int64_t in_bins = 0;
        for (const std::int64_t n : counted.fault_ratios[f * 2 + g]) in_bins += n;
        EXPECT_EQ(in_bins, faults.injected);
      }
    }
  }
}

// A fault in C does not change the kernel's R. A fault before the cast changes R, too, and the sum
// detects it.
TEST(Trial, ResidualsKnowWhereTheFaultLay) {
  const std::string gates = R"(["residual_compensated", "rounding_variance,confirm=0"])";
  const TrialBench in_c(drawn("flip,bit=2"), gates),
      in_sum(drawn("flip,bit=12,site=accumulator"), gates),
      in_a(drawn("flip,bit=9,site=input_a"), gates),
      before_encoding(drawn("flip,bit=9,site=input_b,when=before"), gates),
      in_checksum(drawn("flip,bit=50,site=checksum"), gates);
  int seen = 0, plain = 0, sums = 0, plain_sums = 0, inputs = 0, encoded = 0, checksums = 0;
  for (std::int64_t t = 0; t < 60; ++t) {
    const Trial c = in_c.trial(t), sum = in_sum.trial(t), a = in_a.trial(t);
    seen += c.detections[0].flagged ? 1 : 0;
    plain += c.detections[1].flagged ? 1 : 0;
    if (!sum.masked) sums += sum.detections[0].flagged ? 1 : 0;
    if (!sum.masked) plain_sums += sum.detections[1].flagged ? 1 : 0;
    // If A is changed, R is computed from the changed result before its cast. The checksum is then
    // off by the effect of the change.
    if (a.injectable && !a.masked && a.detections[1].flagged) {
      EXPECT_TRUE(a.detections[0].flagged) << a.what;
      ++inputs;
    }
    encoded += before_encoding.trial(t).detections[0].flagged ? 1 : 0;
    const Trial checksum = in_checksum.trial(t);
    checksums += checksum.injectable && checksum.detections[0].flagged ? 1 : 0;
  }
  EXPECT_GE(seen, 59);
  EXPECT_LT(plain, 40);
  EXPECT_GE(sums, plain_sums);
  EXPECT_GT(inputs, 20);
  EXPECT_EQ(encoded, 0) << "product and checksum have read the same";
  EXPECT_GT(checksums, 20);
}

// If an accumulator breaks, R is the residual of the cast of the broken value. A change that C
// shows is therefore also a change of the sum.
TEST(Trial, ResidualsOfABrokenAccumulator) {
  const TrialBench bench(drawn("flip,bit=20,site=accumulator,at=3:7,step=2"),
                         R"(["residual_compensated"])");
  const Trial t = bench.trial();
  ASSERT_EQ(t.changes.size(), 1u);
  // D is the error of the sum, and not that of the cast.
  const Case& c = bench.matrix.test_case;
  Tensor changed = bench.matrix.output;
  changed.set_bits(3 * 40 + 7, t.changes[0].bits);
  const double off =
      changed.view().value_at(3 * 40 + 7) - bench.matrix.output.view().value_at(3 * 40 + 7);
  const double ulp = ulp_of(changed.format(), changed.view().value_at(3 * 40 + 7));
  EXPECT_NEAR(t.detections[0].difference, std::abs(off), 1.01 * ulp) << c.name;
  EXPECT_NE(t.detections[0].difference, std::abs(off));
}

TEST(Trial, AnElementOfTheOutput) {
  const TrialBench bench(drawn("flip,bit=14,at=3:7"));
  const Trial t = bench.trial();
  const std::uint64_t before = bench.matrix.output.bits_at(3 * 40 + 7);
  ASSERT_EQ(t.changes.size(), 1u);
  EXPECT_EQ(t.changes[0].row, 3);
  EXPECT_EQ(t.changes[0].column, 7);
  EXPECT_EQ(t.changes[0].bits, before ^ 0x4000);
  EXPECT_TRUE(t.detections[0].flagged);
  EXPECT_THAT(t.what, StartsWith("element [3, 7]: "));

  const TrialBench zero(drawn("sign,at=0"), R"("a_abft")");
  EXPECT_EQ(zero.trial().changes[0].bits, zero.matrix.output.bits_at(0) ^ 0x8000);
}

TEST(Trial, WhatCannotBeInjectedAndWhatIsMasked) {
  const TrialBench stuck(drawn("stuck_at_1,bit=3"));
  const TrialBench up(drawn("flip,bit=3,direction=0to1")), down(drawn("flip,bit=3,direction=1to0"));
  int injectable[3] = {};
  for (std::int64_t t = 0; t < 64; ++t) {
    injectable[0] += stuck.trial(t).injectable ? 1 : 0;
    injectable[1] += up.trial(t).injectable ? 1 : 0;
    injectable[2] += down.trial(t).injectable ? 1 : 0;
  }
  for (const int n : injectable) {
    // In about half of the 64 drawn elements, bit 3 has the value that the fault needs.
    EXPECT_GT(n, 10);
    EXPECT_LT(n, 54);
  }
  // The added value is too small to change the element, so that the fault is masked.
  const Trial tiny = TrialBench(drawn("add,value=1e-30,at=0")).trial();
  EXPECT_TRUE(tiny.injectable);
  EXPECT_TRUE(tiny.masked);
  EXPECT_FALSE(tiny.detections[0].flagged);
}

TEST(Trial, RowsColumnsTilesPeriods) {
  const auto places = [](const std::string& fault) {
    const Trial t = TrialBench(drawn(fault)).trial();
    std::set<std::pair<std::int64_t, std::int64_t>> found;
    for (const ElementChange& c : t.changes) found.emplace(c.row, c.column);
    EXPECT_EQ(found.size(), t.changes.size());
    EXPECT_TRUE(t.detections[0].flagged) << fault;
    return found;
  };
  const auto row = places("flip,bit=14,site=row,at=5:0");
  EXPECT_EQ(row.size(), 40u);
  EXPECT_EQ(row.begin()->first, 5);
  EXPECT_EQ(row.rbegin()->first, 5);
  const auto column = places("flip,bit=14,site=column,at=0:39");
  EXPECT_EQ(column.size(), 20u);
  EXPECT_EQ(column.begin()->second, 39);
  // Only 4 x 8 elements of the tile lie in C, at its lower right corner.
  const auto tile = places("flip,bit=14,site=tile,at=19:39");
  EXPECT_EQ(tile.size(), 32u);
  EXPECT_EQ(*tile.begin(), (std::pair<std::int64_t, std::int64_t>{16, 32}));
  EXPECT_EQ(places("flip,bit=14,site=periodic,every=100,at=3").size(), 8u);
}

// The running sum after the last product is the value that is rounded to the output.
TEST(Trial, TheAccumulatorAfterItsLastStepIsTheSum) {
  for (const char* output : {"bfloat16", "float16", "float32"}) {
    const TrialBench wide("{\"census\": 1}", R"("v_abft")", "bfloat16",
                          R"("output_dtype": "float32",)");
    const std::int64_t p = 7 * 40 + 11;
    const std::uint64_t sum = wide.matrix.output.bits_at(p);
    for (const int bit : {0, 15, 22, 23, 27, 31}) {
      std::string last;
      // Finds the largest step that the fault accepts.
      for (int step = 0; step < 48; ++step) {
        const std::string fault =
            formatted("flip,bit={},site=accumulator,at=7:11,step={}", bit, step);
        const TrialBench bench(drawn(fault), R"("v_abft")", "bfloat16",
                               formatted(R"("output_dtype": "{}",)", output));
        if (error_of([&] { (void)bench.trial(); }) != "no error") break;
        last = fault;
        if (step > 0) continue;
      }
      const TrialBench bench(drawn(last), R"("v_abft")", "bfloat16",
                             formatted(R"("output_dtype": "{}",)", output));
      const Trial t = bench.trial();
      const Format& f = bench.matrix.output.format();
      const std::uint64_t right =
          encode(f, decode(format_named("float32"), sum ^ (std::uint64_t{1} << bit)));
      if (right == bench.matrix.output.bits_at(p)) {
        EXPECT_TRUE(t.masked) << output << " " << bit;
        EXPECT_TRUE(t.changes.empty());
      } else {
        ASSERT_EQ(t.changes.size(), 1u) << output << " " << bit;
        EXPECT_EQ(t.changes[0].bits, right) << output << " " << bit;
      }
      EXPECT_THAT(t.what, StartsWith("accumulator of [7, 11] after 48 of 48 products: "));
    }
  }
}

// A fault of an operand after encoding does not change the checksum. If the fault comes before
// encoding, the checksum is computed from the faulty operand and hides it.
TEST(Trial, InputsBeforeAndAfterEncoding) {
  for (const char* site : {"input_a", "input_b"}) {
    for (const char* at : {"0", "5:3", "19:30"}) {
      const std::string fault = formatted("add,value=64,site={},at={}", site, at);
      const TrialBench after(drawn(fault)), before(drawn(fault + ",when=before"));
      const Trial seen = after.trial(), hidden = before.trial();
      EXPECT_EQ(seen.what, hidden.what);
      EXPECT_FALSE(seen.changes.empty());
      // A fault of A changes one row of C, and a fault of B one column.
      for (const ElementChange& c : seen.changes) {
        if (std::string(site) == "input_a") {
          EXPECT_EQ(c.row, seen.changes[0].row);
        } else {
          EXPECT_EQ(c.column, seen.changes[0].column);
        }
      }
      for (std::size_t g = 0; g < 2; ++g) {
        EXPECT_TRUE(seen.detections[g].flagged) << fault;
        EXPECT_FALSE(hidden.detections[g].flagged) << fault;
      }
      // In both cases, C is the whole product of the changed operand.
      ASSERT_EQ(seen.changes.size(), hidden.changes.size());
      Case changed = after.matrix.test_case;
      Tensor& operand = changed.inputs.at(std::string(site) == "input_a" ? "a" : "b");
      const std::int64_t columns = operand.shape()[1];
      const std::string place = at;
      const std::int64_t p = place == "0"     ? 0
                             : place == "5:3" ? 5 * columns + 3
                                              : 19 * columns + 30;
      operand.set_bits(p, encode(operand.format(), operand.view().value_at(p) + 64));
      const Tensor right = emulate(changed, machine_named("ascend910b"), 1);
      Tensor got = after.matrix.output;
      for (std::size_t i = 0; i < seen.changes.size(); ++i) {
        EXPECT_EQ(seen.changes[i].bits, hidden.changes[i].bits);
        got.set_bits(seen.changes[i].row * 40 + seen.changes[i].column, seen.changes[i].bits);
      }
      for (std::int64_t i = 0; i < got.size(); ++i) EXPECT_EQ(got.bits_at(i), right.bits_at(i));
    }
  }
}

TEST(Trial, AnInputThatOverflowsIsNotFinite) {
  for (const char* when : {"", ",when=before"}) {
    const Trial t =
        TrialBench(drawn(std::string("add,value=3e38,site=input_a,at=2:3") + when)).trial();
    EXPECT_TRUE(t.not_finite) << when;
    EXPECT_FALSE(t.masked) << when;
  }
}

TEST(Trial, AChecksumFlipInAHighBit) {
  const TrialBench bench(drawn("flip,bit=62,direction=0to1,site=checksum"),
                         R"(["rounding_variance,confirm=0",
                    "rounding_variance", "v_abft"])");
  int seen = 0;
  for (std::int64_t t = 0; t < 16; ++t) {
    const Trial trial = bench.trial(t);
    // Checksums of magnitude 2 and above have bit 62 set already, so that they cannot take the
    // flip.
    if (!trial.injectable) continue;
    ++seen;
    EXPECT_FALSE(trial.masked);
    EXPECT_TRUE(trial.changes.empty()) << "the result is as it was";
    EXPECT_TRUE(trial.detections[0].flagged) << trial.what;
    EXPECT_TRUE(trial.detections[2].flagged) << trial.what;
    // Confirmation finds every element within its bound, so that the false alarm is withdrawn.
    EXPECT_FALSE(trial.detections[1].flagged);
    EXPECT_TRUE(trial.detections[1].dismissed);
    EXPECT_THAT(trial.what, StartsWith("checksum of B, row "));
  }
  EXPECT_GT(seen, 4);
  const TrialBench low(drawn("flip,bit=0,site=checksum"));
  EXPECT_FALSE(low.trial().detections[0].flagged);
  // As on the device, the checksum is kept in the output's 16 bits.
  const TrialBench device(drawn("add,value=1000,site=checksum,at=4"),
                          R"("v_abft,arithmetic=output")");
  EXPECT_TRUE(device.trial().detections[0].flagged);
  EXPECT_THAT(device.trial().what, StartsWith("checksum of B, row 4: -3.078125 (0xc045) to "));
}

TEST(Trial, TheThreshold) {
  const TrialBench zero(drawn("zero,site=threshold"));
  const TrialBench high(drawn("flip,bit=30,site=threshold,at=2"));
  for (std::int64_t t = 0; t < 8; ++t) {
    const Trial trial = zero.trial(t);
    for (const Detection& detection : trial.detections) {
      EXPECT_EQ(detection.flagged, detection.difference > 0) << trial.what;
      EXPECT_EQ(detection.threshold, 0);
    }
  }
  EXPECT_TRUE(zero.trial().detections[1].flagged);
  EXPECT_THAT(high.trial().what, StartsWith("threshold of row 2: "));
  // No D is below a threshold of NaN, so that the check is flagged.
  EXPECT_TRUE(TrialBench(drawn("nan,site=threshold")).trial().detections[1].flagged);
  // An elementwise gate has no threshold that a fault could change.
  const Trial both =
      TrialBench(drawn("zero,site=threshold,at=0"), R"(["v_abft", "standard:torch"])").trial();
  EXPECT_FALSE(both.detections[0].not_checkable);
  EXPECT_TRUE(both.detections[1].not_checkable);
}

TEST(Trial, Mistakes) {
  EXPECT_THAT(error_of([] { (void)TrialBench(drawn("zero,site=input_a,at=20:0")).trial(); }),
              StartsWith("cell c bfloat16 20x48x40 normal: fault 'zero,site=input_a,at=20:0"));
  EXPECT_THAT(error_of([] { (void)TrialBench(drawn("zero,at=20:0")).trial(); }),
              StartsWith("cell c bfloat16 20x48x40 normal: "));
  EXPECT_THAT(error_of([] { (void)TrialBench(drawn("flip,bit=16,at=0")).trial(); }),
              HasSubstr("16"));
  EXPECT_THAT(
      error_of([] { (void)TrialBench(drawn("flip,bit=1,site=accumulator,step=48")).trial(); }),
      HasSubstr("K = 48 in chunks of "));
}

}  // namespace
}  // namespace assay::campaign
