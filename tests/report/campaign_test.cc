// Results of campaigns as text, JSON and CSV, of a small result made by hand.
#include "assay/report/campaign.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "assay/campaign/statistics.h"
#include "assay/config/plan_file.h"

namespace assay::report {
namespace {

campaign::MeasuredRate rate_of(std::int64_t events, std::int64_t trials) {
  campaign::MeasuredRate m;
  m.rate = {events, trials};
  if (trials > 0) m.interval = campaign::wilson(m.rate, campaign::kConfidence);
  return m;
}

TEST(RateText, EveryForm) {
  EXPECT_EQ(rate_text(rate_of(0, 0)), "-");
  // 1 - 0.05^(1/100000) is 0.003 %, and 0.05^(1/1000) 99.7009 %.
  EXPECT_EQ(rate_text(rate_of(0, 100000)), "< 0.003");
  EXPECT_EQ(rate_text(rate_of(0, 1)), "< 95");
  EXPECT_EQ(rate_text(rate_of(1000, 1000)), "100 (> 99.7009)");
  // Wilson's interval of 10 in 100 is 5.523 % to 17.44 %.
  EXPECT_EQ(rate_text(rate_of(10, 100)), "10 [5.523, 17.44]");
  campaign::MeasuredRate near = rate_of(999999, 1000000);
  near.interval = {0.99999, 1};
  EXPECT_EQ(rate_text(near), "99.9999 [99.9990, 100]") << "not rounded up to 100";
  near.interval = {0, 0.25};
  near.rate = {1, 8};
  EXPECT_EQ(rate_text(near), "12.5 [0, 25]");
}

// One cell, two gates; bits 3 to 5 in one direction, and one drawn fault.
struct Small {
  campaign::Plan plan = campaign::check_plan(
      config::parse_plan(R"({"schema": 1, "name": "small", "about": "by hand", "seed": 4, "cells": [
      {"name": "a, \"b\"", "dtype": "bfloat16", "shape": [4, 8, 6], "distribution": "normal",
       "gates": ["v_abft", "a_abft"], "clean_rows": 400,
       "faults": [{"census": 100, "bits": [3, 4, 5], "direction": "0to1"},
                  {"fault": "zero", "trials": 50}]}]})",
                         "small.json", ""));
  std::vector<campaign::CellResult> results{1};

  Small() {
    campaign::CellResult& r = results[0];
    r.matrices = r.planned = 1000;
    r.gates.resize(2);
    for (std::size_t g = 0; g < 2; ++g) {
      campaign::GateResult& gate = r.gates[g];
      gate.gate = plan.cells[0].gates[g].text;
      gate.clean.rows = 4000;
      gate.clean.checks = 4000;
      gate.clean.alarms = g == 0 ? 0 : 40;
      gate.clean.worst = g == 0 ? 0.25 : 1.5;
      gate.clean.dismissed = g == 0 ? 0 : 3;
      gate.clean.not_checkable = g == 0 ? 0 : 2;
      gate.clean_matrices = 1000;
      gate.alarmed_matrices = g == 0 ? 0 : 30;
      gate.alarms = rate_of(gate.clean.alarms, 4000 - gate.clean.not_checkable);
      gate.upper_bound = campaign::upper_bound(gate.alarms.rate, campaign::kConfidence);
      gate.rms_z = g == 0 ? std::nan("") : 1.25;
      gate.ratios[2] = 4000;
      const std::int64_t seen[2][4] = {{0, 0, 10, 50}, {0, 0, 100, 20}};
      const auto series = campaign::series_of(plan.cells[0]);
      for (std::size_t s = 0; s < series.size(); ++s) {
        campaign::SeriesResult one;
        one.series = series[s];
        one.faults.injected = s < 3 ? 100 : 50;
        one.faults.masked = s == 0 ? 7 : 0;
        one.faults.not_finite = s == 3 ? 1 : 0;
        one.faults.not_injectable = s == 0 ? 13 : 0;
        one.detections.detected = seen[g][s];
        one.detected = rate_of(seen[g][s], one.faults.injected);
        one.ratios[simd::kBinAtOne + 1] = seen[g][s];
        gate.series.push_back(one);
      }
    }
  }
};

TEST(CampaignText, ASmallResult) {
  const Small small;
  const std::string v = small.plan.cells[0].gates[0].text, a = small.plan.cells[0].gates[1].text;
  const std::string text = campaign_text(small.plan, small.results);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "small: 1 cell, seed 4, plan " + small.plan.fingerprint);
  const auto has = [&](const std::string& line) {
    EXPECT_NE(text.find(line + "\n"), std::string::npos) << line << "\n---\n" << text;
  };
  has("\na, \"b\" bfloat16 4x8x6 normal on ascend910b: 1 000 matrices");
  has("  clean rows");
  has("    " + v + "  0 of 4 000 rows alarmed, < 0.075 %; largest D/T 0.25");
  has("    " + a +
      "  40 of 3 998 rows alarmed, 1.001 [0.7356, 1.359] %; 30 of 1 000 matrices; largest D/T 1.5, "
      "rms z 1.25; 3 above T, clean element by element; 2 not checkable");
  has("  detected, in % of the injected");
  // Bits that no gate ever sees are one line; --full gives each its own.
  has("    bits 3 to 4, 0 to 1     200             < 1.5                       < 1.5");
  has("    bit 5, 0 to 1           100             10 [5.523, 17.44]           100 (> 97.0487)");
  has("    7 changed no value (masked); 1 became infinite or NaN");
  const std::string full = campaign_text(small.plan, small.results, true);
  EXPECT_NE(full.find("    bit 4, 0 to 1           100             < 3"), std::string::npos)
      << full;
  EXPECT_EQ(full.find("bits 3 to 4"), std::string::npos);
}

TEST(CampaignText, APrecision) {
  Small small;
  small.plan.cells[0].precision = campaign::Precision{0.01, 0.95, 5};
  small.plan.cells[0].clean_rows = 0;
  small.results[0].planned = 2000;
  small.results[0].precise = true;
  EXPECT_NE(campaign_text(small.plan, small.results)
                .find("  precise to +-1 % after 1000 of 2000 matrices\n"),
            std::string::npos);
  small.results[0].precise = false;
  const std::string text = campaign_text(small.plan, small.results);
  EXPECT_NE(text.find("  not yet precise to +-1 % after all 2000 matrices\n"), std::string::npos);
  EXPECT_EQ(text.find("clean rows"), std::string::npos);
}

TEST(CampaignJson, ASmallResult) {
  const Small small;
  const auto json = nlohmann::json::parse(campaign_json(small.plan, small.results));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["campaign"], "small");
  EXPECT_EQ(json["about"], "by hand");
  EXPECT_EQ(json["seed"], 4);
  EXPECT_EQ(json["fingerprint"], small.plan.fingerprint);
  const auto& cell = json["cells"][0];
  EXPECT_EQ(cell["name"], "a, \"b\" bfloat16 4x8x6 normal");
  EXPECT_EQ(cell["shape"], nlohmann::json({4, 8, 6}));
  EXPECT_EQ(cell["rows"], 4);
  EXPECT_EQ(cell["matrices"], 1000);
  EXPECT_FALSE(cell.contains("precise"));
  const auto& clean = cell["gates"][1]["clean"];
  EXPECT_EQ(clean["rows"], 4000);
  EXPECT_EQ(clean["alarms"]["events"], 40);
  EXPECT_EQ(clean["alarms"]["trials"], 3998);
  EXPECT_EQ(clean["alarms"]["interval_by"], "wilson");
  EXPECT_EQ(clean["not_checkable"], 2);
  EXPECT_EQ(clean["rms_z"], 1.25);
  EXPECT_EQ(clean["ratios"], "2:4000");
  EXPECT_EQ(cell["gates"][0]["clean"]["rms_z"], "nan");
  EXPECT_NEAR(cell["gates"][0]["clean"]["upper_bound"].get<double>(),
              1 - std::pow(0.05, 1.0 / 4000), 1e-12);
  const auto& faults = cell["gates"][0]["faults"];
  ASSERT_EQ(faults.size(), 4u);
  EXPECT_EQ(faults[2]["bit"], 5);
  EXPECT_EQ(faults[2]["direction"], "0to1");
  EXPECT_EQ(faults[2]["detected"]["rate"], 0.1);
  EXPECT_EQ(faults[2]["ratios"], "129:10");
  EXPECT_EQ(faults[0]["masked"], 7);
  EXPECT_EQ(faults[0]["not_injectable"], 13);
  EXPECT_FALSE(faults[3].contains("bit"));
  EXPECT_EQ(faults[3]["fault"], small.plan.cells[0].faults[1].fault.text());
  EXPECT_EQ(faults[3]["not_finite"], 1);
}

TEST(CampaignCsv, ASmallResult) {
  const Small small;
  const std::string csv = campaign_csv(small.plan, small.results);
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < csv.size(); from = csv.find('\n', from) + 1) {
    lines.push_back(csv.substr(from, csv.find('\n', from) - from));
  }
  ASSERT_EQ(lines.size(), 1u + 2 * (1 + 4));
  EXPECT_EQ(lines[0],
            "cell,machine,dtype,M,K,N,gate,fault,bit,direction,injected,detected,rate,low,high,"
            "interval_by,masked,not_injectable,not_finite,not_checkable,dismissed");
  const std::string start = "\"a, \"\"b\"\" bfloat16 4x8x6 normal\",ascend910b,bfloat16,4,8,6,";
  EXPECT_EQ(lines[1].substr(0, start.size()), start);
  // As many fields in every line as in the head; names with commas are quoted.
  for (const std::string& line : lines) {
    int fields = 1;
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      fields += c == ',' && !quoted ? 1 : 0;
    }
    EXPECT_EQ(fields, 21) << line;
    EXPECT_FALSE(quoted);
  }
  EXPECT_NE(lines[2].find(",flip,3,0to1,100,0,0,0,"), std::string::npos) << lines[2];
  EXPECT_NE(lines[2].find(",wilson,7,13,0,0,0"), std::string::npos) << lines[2];
  EXPECT_NE(lines[4].find(",flip,5,0to1,100,10,0.1,"), std::string::npos) << lines[4];
}

}  // namespace
}  // namespace assay::report
