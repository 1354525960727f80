// Measures detection by the checksums of attention: flips of each bit of the outputs, and false
// alarms. attention_simulation.py, which has its own kernel and its own check, computes the same
// table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "assay/abft.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/campaign/rate_statistics.h"
#include "assay/op/operator.h"
#include "assay/tensor/distribution.h"

namespace assay {
namespace {

constexpr std::int64_t kQueries = 128, kKeys = 1024, kDepth = 64;

Case attention(const std::string& dtype, const std::string& output, const std::string& scores,
               const std::string& values, std::int64_t tile, std::uint64_t seed) {
  Case c;
  c.name = formatted("seed{}", seed);
  c.op = "attention";
  c.attributes["output_dtype"] = output;
  if (tile >= 0) c.attributes["tile"] = tile;
  const auto fill = [&](const char* name, const std::string& from, std::int64_t rows) {
    c.inputs[name] =
        draw(parse_distribution(from), format_named(dtype), {rows, kDepth}, seed, stream_of(name));
  };
  fill("q", scores, kQueries);
  fill("k", "normal", kKeys);
  fill("v", values, kKeys);
  return c;
}

AbftVerdict checked(const Case& c, const Tensor& output) {
  return abft_check(c, output.view(), {.spec = parse_threshold("rounding_variance")});
}

// -- Per bit --------------------------------------------------------------------------------------

struct RateRow {
  const char *dtype, *output, *scores, *values;
  // For each bit, the percentage of its flips from 0 to 1 that are detected. A value below 0 means
  // that too few elements have the bit at 0, or that no rate is claimed.
  std::vector<double> seen;
};

// Flips one element of every row at a time, because each row has its own checks.
TEST(AttentionEvidence, FlipsOfEachBit) {
  const std::vector<RateRow> table = {
#include "attention_rates.inc"
  };
  constexpr int kMatrices = 12;
  for (const RateRow& row : table) {
    std::string line =
        formatted("{:>8} {:>13} {:22} {:13}", row.dtype, row.output, row.scores, row.values);
    std::vector<campaign::Rate> rates(row.seen.size());
    for (int m = 0; m < kMatrices; ++m) {
      const Case c = attention(row.dtype, row.output, row.scores, row.values, -1,
                               static_cast<std::uint64_t>(100 + m));
      const Tensor right = emulate(c, machine_named("ascend910b"), 0);
      const AbftVerdict clean = checked(c, right);
      ASSERT_EQ(clean.flagged, 0) << clean.because;
      for (std::size_t bit = 0; bit < rates.size(); ++bit) {
        Tensor flipped = copy_of(right.view());
        Random random(static_cast<std::uint64_t>(m), stream_of("flips") + bit);
        for (std::int64_t i = 0; i < kQueries; ++i) {
          std::vector<std::int64_t> zeros;
          for (std::int64_t e = i * kDepth; e < (i + 1) * kDepth; ++e) {
            if ((right.bits_at(e) >> bit & 1) == 0) zeros.push_back(e);
          }
          if (zeros.empty()) continue;
          const std::int64_t at = zeros[random.below(zeros.size())];
          flipped.set_bits(at, right.bits_at(at) | std::uint64_t{1} << bit);
          ++rates[bit].trials;
        }
        rates[bit].events += checked(c, flipped).flagged;
      }
    }
    for (std::size_t bit = 0; bit < rates.size(); ++bit) {
      const campaign::Rate r = rates[bit];
      if (r.trials < 100) {
        line += "    -";
        continue;
      }
      const double percent = 100 * static_cast<double>(r.events) / static_cast<double>(r.trials);
      line += formatted(" {:4.1f}", percent);
      if (row.seen[bit] < 0) continue;
      // Allows five standard deviations, and one percentage point because the rows of one matrix
      // are not independent.
      const double p = std::min(0.98, std::max(0.02, row.seen[bit] / 100));
      EXPECT_NEAR(percent, row.seen[bit],
                  1 + 500 * std::sqrt(p * (1 - p) / static_cast<double>(r.trials)))
          << row.dtype << " " << row.output << " " << row.values << " bit " << bit;
    }
    std::printf("%s\n", line.c_str());
  }
}

// -- False alarms ---------------------------------------------------------------------------------

TEST(AttentionEvidence, NoFalseAlarmInAQuarterOfAMillionChecks) {
  std::int64_t checks = 0, flagged = 0, looked_at = 0;
  double worst = 0;
  for (const char* scores : {"normal", "normal,deviation=4", "uniform,low=0,high=1"}) {
    for (const char* values :
         {"normal", "normal,mean=1", "uniform,low=0.9,high=1.1", "student_t,nu=2", "lognormal"}) {
      for (const char* machine : {"ascend910b", "hopper", "cpu_mul_add"}) {
        for (std::uint64_t seed = 0; seed < 12; ++seed) {
          const std::int64_t tile = seed % 3 == 0 ? -1 : seed % 3 == 1 ? 0 : 128;
          const char* output = seed % 2 == 0 ? "bfloat16" : "float32";
          const Case c = attention("bfloat16", output, scores, values, tile, seed);
          const AbftVerdict v = checked(c, emulate(c, machine_named(machine), 0));
          checks += v.checks;
          flagged += v.flagged;
          looked_at += v.confirmed_clean;
          worst = std::max(worst, v.worst_ratio);
        }
      }
    }
  }
  std::printf("%s checks, %s above the threshold and clean, largest D/T %.3f\n",
              grouped(checks).c_str(), grouped(looked_at).c_str(), worst);
  EXPECT_GE(checks, 250000);
  EXPECT_EQ(flagged, 0);
  EXPECT_EQ(looked_at, 0);
  EXPECT_LT(worst, 1);
}

}  // namespace
}  // namespace assay
