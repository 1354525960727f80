// Tests results of campaigns as text, JSON and CSV, for a small result made by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/campaign/rate_statistics.h"
#include "assay/report/campaign_report.h"
#include "assay/wire/campaign_results_file.h"
#include "assay/wire/plan_file.h"
#include "document.h"
#include "report/samples.h"

namespace assay::report {
namespace {

using testing_samples::rate_of;

TEST(RateText, EveryForm) {
  EXPECT_EQ(rate_text(rate_of(0, 0)), "-");
  // The bounds of all trials are 1 - 0.05^(1/100000) = 0.003 % and 0.05^(1/1000) = 99.7009 %. The
  // bounds of 8 matrices are 31.2 % and 68.77 %.
  EXPECT_EQ(rate_text(rate_of(0, 100000)), "< 0.003 / 31");
  EXPECT_EQ(rate_text(rate_of(0, 1, 1)), "< 95 / 95");
  EXPECT_EQ(rate_text(rate_of(1000, 1000)), "100 (> 99.7009 / 68.77)");
  // Wilson's interval of 10 in 100 is 5.523 % to 17.44 %.
  EXPECT_EQ(rate_text(rate_of(10, 100)), "10 [5.523, 17.44]");
  EXPECT_EQ(rate_text(rate_of(10, 100, 3)), "10 [-]") << "too few matrices for an interval";
  campaign::MeasuredRate near = rate_of(999999, 1000000);
  near.interval = campaign::Interval{0.99999, 1};
  EXPECT_EQ(rate_text(near), "99.9999 [99.9990, 100]") << "not rounded up to 100";
  near.interval = campaign::Interval{0, 0.25};
  near.rate = {1, 8};
  EXPECT_EQ(rate_text(near), "12.5 [0, 25]");
}

// A plan of one cell with two gates, bits 3 to 5 in one direction, and one drawn fault.
struct Small {
  campaign::Plan plan = campaign::check_plan(
      wire::parse_plan(R"({"schema": 1, "name": "small", "about": "by hand", "seed": 4, "cells": [
      {"name": "a, \"b\"", "dtype": "bfloat16", "shape": [4, 8, 6], "distribution": "normal",
       "gates": ["v_abft", "a_abft"], "clean_rows": 400,
       "faults": [{"census": 100, "bits": [3, 4, 5], "direction": "0to1"},
                  {"class": "zeros", "fault": "zero", "trials": 50}]}]})",
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
      gate.classes.push_back({{gate.series[3].faults, {}, gate.series[3].detected}, "zeros"});
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
  has("    " + v +
      "  0 of 4 000 rows alarmed, < 0.075 % by rows if they are independent, < 31 % by "
      "matrices if not; largest difference / threshold 0.25");
  has("    " + a +
      "  40 of 3 998 rows alarmed, 1.001 [0.7356, 1.359] %; 30 of 1 000 matrices; largest "
      "difference / threshold 1.5, "
      "rms z 1.25; 3 above the threshold T, but with right elements; 2 not checkable");
  has("  detected, in % of the injected");
  // Bits that no gate ever detects share one line. --full gives each its own line.
  has("    bits 3 to 4, 0 to 1     200             < 1.5 / 31                      < 1.5 / 31");
  has("    bit 5, 0 to 1           100             10 [5.523, 17.44]               100 (> 97.0487 "
      "/ 68.77)");
  has("    by class\n      zeros                 50              100 (> 94.1845 / 68.77)         "
      "40 "
      "[27.61, 53.82]");
  has("    7 changed no value (masked); 1 became infinite or NaN");
  has("< a / b, > a / b: none or all were detected. These are one-sided 95 % bounds: a if the "
      "trials are independent, b by matrices if those of a matrix are not.");
  EXPECT_EQ(text.find("void"), std::string::npos);
  EXPECT_EQ(text.find("[-]"), std::string::npos);
  const std::string full = campaign_text(small.plan, small.results, true);
  EXPECT_NE(full.find("    bit 4, 0 to 1           100             < 3 / 31"), std::string::npos)
      << full;
  EXPECT_EQ(full.find("bits 3 to 4"), std::string::npos);
}

// If a gate raises alarms on at least half of the clean matrices, it is void: its detections have
// no meaning.
TEST(CampaignText, AVoidGate) {
  Small small;
  campaign::GateResult& gate = small.results[0].gates[1];
  gate.alarmed_matrices = 499;
  EXPECT_EQ(campaign_text(small.plan, small.results).find("void"), std::string::npos);
  gate.alarmed_matrices = 500;
  const std::string text = campaign_text(small.plan, small.results);
  for (const char* words : {"; largest difference / threshold 1.5, void, rms z 1.25",
                            "100 (> 97.0487 / 68.77) void\n", "40 [27.61, 53.82] void\n",
                            "\nvoid: the detector raises alarms on at least half of the clean "
                            "matrices, so its detections mean nothing.\n"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n---\n" << text;
  }
  EXPECT_NE(text.find("10 [5.523, 17.44]               100 (>"), std::string::npos)
      << "the other gate is not";
  const auto json = parsed(wire::campaign_json(small.plan, small.results));
  EXPECT_EQ(json["cells"][0]["gates"][0]["void"], false);
  EXPECT_EQ(json["cells"][0]["gates"][1]["void"], true);
  const std::string csv = campaign_csv(small.plan, small.results);
  EXPECT_NE(csv.find(",0,0,1,0,0,void,zeros\n"), std::string::npos) << csv;
}

TEST(CampaignText, TooFewMatrices) {
  Small small;
  for (campaign::GateResult& g : small.results[0].gates) {
    for (campaign::SeriesResult& s : g.series) {
      s.detected = rate_of(s.detected.rate.events, s.detected.rate.trials, 3);
    }
  }
  const std::string text = campaign_text(small.plan, small.results);
  EXPECT_NE(text.find("100             10 [-]   "), std::string::npos) << text;
  EXPECT_NE(
      text.find(
          "\n[-]: no interval, because fewer than 4 matrices do not show how much they differ.\n"),
      std::string::npos)
      << text;
  const auto json = parsed(wire::campaign_json(small.plan, small.results));
  const auto& detected = json["cells"][0]["gates"][0]["faults"][2]["detected"];
  EXPECT_TRUE(detected["interval"].is_null());
  EXPECT_EQ(detected["interval_by"], "none: fewer than 4 matrices");
  EXPECT_NE(campaign_csv(small.plan, small.results).find(",100,10,0.1,-,-,-,3,,,"),
            std::string::npos);
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
  const auto json = parsed(wire::campaign_json(small.plan, small.results));
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
  EXPECT_EQ(clean["alarms"]["interval_by"], "matrices");
  EXPECT_EQ(clean["alarms"]["matrices"], 8);
  EXPECT_FALSE(clean["alarms"].contains("bound"));
  const auto& none = cell["gates"][0]["clean"]["alarms"]["bound"];
  EXPECT_EQ(none["side"], "upper");
  EXPECT_NEAR(none["by_trials"].get<double>(), 1 - std::pow(0.05, 1.0 / 4000), 1e-12);
  EXPECT_NEAR(none["by_matrices"].get<double>(), 1 - std::pow(0.05, 1.0 / 8), 1e-12);
  EXPECT_EQ(cell["gates"][0]["clean"]["upper_bound_by_matrices"], none["by_matrices"]);
  const auto& all = cell["gates"][0]["faults"][3]["detected"]["bound"];
  EXPECT_EQ(all["side"], "lower");
  EXPECT_NEAR(all["by_matrices"].get<double>(), std::pow(0.05, 1.0 / 8), 1e-12);
  EXPECT_EQ(cell["gates"][0]["faults"][3]["class"], "zeros");
  EXPECT_EQ(cell["gates"][0]["classes"][0]["class"], "zeros");
  EXPECT_EQ(cell["gates"][0]["classes"][0]["detected"]["events"], 50);
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
            "interval_by,matrices,bound_by_trials,bound_by_matrices,masked,not_injectable,"
            "not_finite,not_checkable,dismissed,void,class");
  const std::string start = "\"a, \"\"b\"\" bfloat16 4x8x6 normal\",ascend910b,bfloat16,4,8,6,";
  EXPECT_EQ(lines[1].substr(0, start.size()), start);
  // Every line has as many fields as the header. Names with commas are quoted.
  for (const std::string& line : lines) {
    int fields = 1;
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      fields += c == ',' && !quoted ? 1 : 0;
    }
    EXPECT_EQ(fields, 26) << line;
    EXPECT_FALSE(quoted);
  }
  EXPECT_NE(lines[2].find(",flip,3,0to1,100,0,0,0,"), std::string::npos) << lines[2];
  EXPECT_NE(lines[2].find(",matrices,8,0.02951"), std::string::npos) << lines[2];
  EXPECT_NE(lines[2].find(",7,13,0,0,0,,"), std::string::npos) << lines[2];
  EXPECT_NE(lines[4].find(",flip,5,0to1,100,10,0.1,"), std::string::npos) << lines[4];
}

// Published rates of the first gate: their names, assay's rates, and the comparison of both.
struct Beside {
  Small small;
  std::vector<campaign::PublishedRate> rates{7};
  std::vector<campaign::Comparison> comparisons;

  Beside() {
    const std::string cell = small.plan.cells[0].name, gate = small.plan.cells[0].gates[0].text;
    for (campaign::PublishedRate& p : rates) {
      p.bit = 5;
      p.direction = "0to1";
      p.rate = 0.125;
      p.trials = 10000;
    }
    rates[0].bit = -1;
    rates[0].direction = "none";
    rates[0].rate = 0;
    rates[1].variant = "april";
    rates[2].direction = "1to0";
    rates[3].rate.reset();
    rates[3].word = "not_injectable";
    rates[4].rate.reset();
    rates[4].word = "void";
    rates[5].remark = "their table has two columns exchanged";
    for (const campaign::PublishedRate& p : rates) {
      campaign::Comparison c;
      c.published = &p;
      c.cell = cell;
      c.gate = gate;
      c.ours = rate_of(10, 100);
      comparisons.push_back(c);
    }
    comparisons[0].ours = rate_of(0, 1000);
    comparisons[0].agrees = true;
    comparisons[1].agrees = true;
    comparisons[2].why = "known";
    comparisons[3].ours = rate_of(0, 0);
    comparisons[5].is_void = true;
    comparisons[6].judged = false;
    comparisons[6].gate = "a_abft";
  }
};

TEST(PublishedText, EveryVerdict) {
  Beside b;
  const std::string cell = b.small.plan.cells[0].name, gate = b.small.plan.cells[0].gates[0].text;
  EXPECT_EQ(
      published_text(b.comparisons, {"V-ABFT june"}),
      "\npublished and reproduced, in %\n  " + cell + ", " + gate +
          "\n"
          "    runs with an alarm               0   < 0.3 / 31                       agrees\n"
          "    bit 5, 0 to 1                 12.5   10 [5.523, 17.44]                agrees\n"
          "    bit 5, 1 to 0                 12.5   10 [5.523, 17.44]                differs: "
          "known\n"
          "    bit 5, 0 to 1       not injectable   not injectable                   differs\n"
          "    bit 5, 0 to 1                 void   10 [5.523, 17.44]\n"
          "    bit 5, 0 to 1                 12.5   10 [5.523, 17.44] void           defect: "
          "their table has two columns exchanged\n"
          "  " +
          cell +
          ", a_abft\n"
          "    bit 5, 0 to 1                 12.5   10 [5.523, 17.44]                not "
          "judged: fewer than 4 matrices\n"
          "  2 cells agree, 2 differ (1 for a reason that is known), 1 held to be "
          "defects of the publication\n"
          "  not compared: V-ABFT june; no detector of the plan has this threshold (its "
          "'variants')\n");
}

TEST(PublishedText, OfNothing) {
  EXPECT_EQ(published_text({}, {}), "");
  EXPECT_EQ(published_text({}, {"x"}),
            "\npublished and reproduced, in %\n"
            "  0 cells agree, 0 differ, 0 held to be defects of the publication\n"
            "  not compared: x; no detector of the plan has this threshold (its 'variants')\n");
}

// Each published rate stands with its gate, and is read back from the file.
TEST(CampaignJson, PublishedRates) {
  Beside b;
  const std::string text = wire::campaign_json(b.small.plan, b.small.results, b.comparisons);
  const auto gates = parsed(text)["cells"][0]["gates"];
  EXPECT_EQ(gates[1]["published"], parsed(R"([{"bit": 5, "direction": "0to1", "rate": 0.125,
      "trials": 10000, "agrees": null}])"));
  EXPECT_EQ(gates[0]["published"], parsed(R"([
      {"rate": 0.0, "trials": 10000, "agrees": true},
      {"variant": "april", "bit": 5, "direction": "0to1", "rate": 0.125, "trials": 10000,
       "agrees": true},
      {"bit": 5, "direction": "1to0", "rate": 0.125, "trials": 10000, "agrees": false,
       "why": "known"},
      {"bit": 5, "direction": "0to1", "word": "not_injectable", "trials": 10000, "agrees": false},
      {"bit": 5, "direction": "0to1", "word": "void", "trials": 10000, "agrees": false},
      {"bit": 5, "direction": "0to1", "rate": 0.125, "trials": 10000,
       "remark": "their table has two columns exchanged", "agrees": false}])"));
  const auto saved = wire::parse_campaign_results(text, "r").cells.at(0).published.at(0);
  ASSERT_EQ(saved.size(), 6u);
  EXPECT_EQ(saved[1].variant, "april");
  EXPECT_EQ(saved[2].why, "known");
  EXPECT_EQ(saved[4].word, "void");
  EXPECT_EQ(saved[5].remark, "their table has two columns exchanged");
}

// A cell of a dataset gives its case and its producer. A cell of an operator with parameters gives
// these.
TEST(CampaignJson, CellsOfDatasets) {
  Small small;
  campaign::Cell& cell = small.plan.cells[0];
  cell.dataset = "/plans/d.h5";
  cell.case_name = "mm/a";
  cell.recorded = "h200, driver 1";
  cell.attributes = {{"axis", std::int64_t{1}}, {"scale", 0.5}, {"mode", std::string("x")}};
  const auto json = parsed(wire::campaign_json(small.plan, small.results))["cells"][0];
  EXPECT_EQ(json["case"], "mm/a");
  EXPECT_EQ(json["machine"], "h200, driver 1");
  EXPECT_FALSE(json.contains("rows") || json.contains("a"));
  EXPECT_EQ(json["attributes"], parsed(R"({"axis": 1, "scale": 0.5, "mode": "x"})"));
  EXPECT_NE(campaign_csv(small.plan, small.results).find(",\"h200, driver 1\",bfloat16,4,8,6,"),
            std::string::npos);
}

// Tests a result without clean rows, and with faults that could not be injected.
TEST(CampaignText, NothingToSay) {
  Small small;
  campaign::CellResult& r = small.results[0];
  for (campaign::GateResult& gate : r.gates) {
    gate.clean.rows = 0;
    gate.alarms = {};
    gate.series[3].faults.injected = 0;
    gate.series[3].detected = {};
    gate.classes.clear();
  }
  const std::string text = campaign_text(small.plan, small.results);
  EXPECT_NE(text.find("  none were checked\n"), std::string::npos) << text;
  EXPECT_NE(text.find("not injectable\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("by class"), std::string::npos);
  const auto json = parsed(wire::campaign_json(small.plan, small.results))["cells"][0]["gates"][0];
  EXPECT_EQ(json["clean"]["upper_bound"], 1) << "nothing is known of it";
  EXPECT_EQ(json["clean"]["alarms"], parsed(R"({"events": 0, "trials": 0, "matrices": 0})"));
}

}  // namespace
}  // namespace assay::report
