// Tests results of campaigns that are read back: what is accepted, and every way in which a file
// can be wrong.
#include "assay/wire/campaign_results_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/file.h"
#include "assay/report/campaign_html.h"
#include "error_of.h"

namespace assay::wire {
namespace {

const char* const kResults = R"({
 "schema": 1, "campaign": "small", "about": "by hand", "seed": 18446744073709551615,
 "fingerprint": "0f", "confidence": 0.95,
 "cells": [{
  "name": "c", "operator": "matmul", "machine": "exact", "dtype": "bfloat16",
  "output_dtype": "float32", "shape": [4, 8, 6], "rows": 4, "a": "normal", "b": "uniform",
  "matrices": 10,
  "gates": [{
   "gate": "v_abft", "void": false,
   "clean": {"rows": 40, "matrices": 10, "alarmed_matrices": 1, "not_checkable": 2, "dismissed": 3,
    "alarms": {"events": 1, "trials": 38, "matrices": 10, "rate": 0.02, "interval": [0.0, 0.2],
     "interval_by": "matrices"},
    "upper_bound": 0.1, "upper_bound_by_matrices": 0.4, "largest_ratio": "inf", "rms_z": "nan",
    "ratios": "0:30 120:7 129:1"},
   "faults": [
    {"bit": 7, "direction": "0to1", "class": "flips", "injected": 60, "masked": 4,
     "not_injectable": 176, "not_finite": 1, "not_checkable": 5, "dismissed": 6,
     "detected": {"events": 20, "trials": 55, "matrices": 3, "rate": 0.36, "interval": null,
      "interval_by": "none: fewer than 4 matrices"}, "ratios": "0:29 130:19 258:1"},
    {"fault": "zero,seed=0,count=1", "injected": 0, "masked": 0, "not_injectable": 9,
     "not_finite": 0, "not_checkable": 0, "dismissed": 0,
     "detected": {"events": 0, "trials": 0, "matrices": 0}, "ratios": ""}],
   "classes": [{"class": "flips", "injected": 60, "masked": 4, "not_injectable": 176,
    "not_finite": 1, "not_checkable": 5, "dismissed": 6,
    "detected": {"events": 20, "trials": 55, "matrices": 3, "rate": 0.36, "interval": null}}],
   "published": [
    {"bit": 7, "direction": "0to1", "rate": 0.3, "trials": 10000, "agrees": false, "why": "w"},
    {"variant": "april", "word": "void", "trials": 5, "remark": "r", "agrees": null}]
  }]
 }]})";

TEST(CampaignResults, WhatTheyHold) {
  const campaign::SavedCampaign saved = parse_campaign_results(kResults, "r.json");
  EXPECT_EQ(saved.source, "r.json");
  EXPECT_EQ(saved.name, "small");
  EXPECT_EQ(saved.about, "by hand");
  EXPECT_EQ(saved.seed, "18446744073709551615");
  EXPECT_EQ(saved.fingerprint, "0f");
  ASSERT_EQ(saved.cells.size(), 1u);
  const campaign::SavedCell& cell = saved.cells[0];
  EXPECT_EQ(cell.machine, "exact");
  EXPECT_EQ(cell.output_dtype, "float32");
  EXPECT_EQ(cell.shape, (std::vector<std::int64_t>{4, 8, 6}));
  EXPECT_EQ(cell.inputs,
            (std::vector<std::pair<std::string, std::string>>{{"a", "normal"}, {"b", "uniform"}}));
  EXPECT_EQ(cell.result.matrices, 10);
  const campaign::GateResult& gate = cell.result.gates.at(0);
  EXPECT_EQ(gate.alarms.rate.events, 1);
  EXPECT_EQ(gate.alarms.interval->high, 0.2);
  EXPECT_EQ(gate.clean.worst, HUGE_VAL);
  EXPECT_TRUE(std::isnan(gate.rms_z));
  EXPECT_FALSE(gate.is_void());
  EXPECT_EQ(gate.ratios[120], 7);
  ASSERT_EQ(gate.series.size(), 2u);
  EXPECT_EQ(gate.series[0].series.bit, 7);
  EXPECT_EQ(gate.series[0].detections.dismissed, 6);
  EXPECT_FALSE(gate.series[0].detected.interval);
  EXPECT_EQ(gate.series[0].ratios[258], 1);
  EXPECT_EQ(cell.faults[gate.series[0].series.fault].class_name, "flips");
  EXPECT_EQ(cell.faults[gate.series[1].series.fault].text, "zero,seed=0,count=1");
  EXPECT_EQ(gate.classes.at(0).name, "flips");
  ASSERT_EQ(cell.published.at(0).size(), 2u);
  EXPECT_EQ(cell.published[0][0].agrees, std::optional<bool>(false));
  EXPECT_EQ(cell.published[0][1].bit, -1);
  EXPECT_EQ(cell.published[0][1].word, "void");
  EXPECT_EQ(cell.published[0][1].variant, "april");
  EXPECT_EQ(cell.published[0][1].agrees, std::nullopt);
  // 55 faults could be checked, and 49 of them have a D/T. The other 6 were let through. They count
  // with a D/T of 1, which is not above the threshold.
  const campaign::RatioCounts all = campaign::ratios_of_faults(gate);
  EXPECT_EQ(all[simd::kBinAtOne], 6);
  EXPECT_EQ(campaign::above(all, simd::kBinAtOne), 20);
  for (const campaign::RocPoint& p : campaign::roc(gate)) {
    if (p.multiple < 1) continue;
    EXPECT_EQ(p.detections, 20.0 / 55);
    EXPECT_EQ(p.false_alarms, 1.0 / 38);
    break;
  }
}

// An elementwise gate has no D/T below 1, and no rate for elements that could not be judged.
TEST(CampaignResults, RocOfElementwiseGates) {
  campaign::SavedCampaign saved = parse_campaign_results(kResults, "r.json");
  campaign::GateResult& gate = saved.cells[0].result.gates[0];
  EXPECT_LT(campaign::roc(gate).front().multiple, 1);
  for (const char* name : {"tolerance", "standard:torch"}) {
    gate.gate = name;
    EXPECT_EQ(campaign::roc(gate).front().multiple, 1) << name;
  }
  gate.alarms.rate = {0, 0};
  EXPECT_TRUE(campaign::roc(gate).empty());
}

// Returns the message for results in which one value is replaced.
std::string message(const char* pointer, const nlohmann::ordered_json& value) {
  auto json = nlohmann::ordered_json::parse(kResults);
  json[nlohmann::ordered_json::json_pointer(pointer)] = value;
  return error_of([&] { (void)parse_campaign_results(json.dump(), "r"); });
}

TEST(CampaignResults, EveryWrongPlaceIsNamed) {
  const std::string gate = "r: cell 'c': gate 'v_abft': ", clean = gate + "'clean'";
  EXPECT_EQ(message("/schema", 2), "r: schema 2 is not known; this is schema 1's");
  EXPECT_EQ(message("/seed", 0.5), "r: 'seed' must be a whole number");
  EXPECT_EQ(message("/confidence", 2), "r: 'confidence' must be a number from 0 to 1, not 2");
  EXPECT_EQ(message("/cells", 1), "r: 'cells' must be a list");
  EXPECT_EQ(message("/cells/0", 1), "r: a cell: an object {...} is expected");
  EXPECT_EQ(message("/cells/0/machine", 1), "r: cell 'c': 'machine' must be a string");
  EXPECT_EQ(message("/cells/0/shape/1", "x"),
            "r: cell 'c': 'shape' must be a list of whole numbers");
  EXPECT_EQ(message("/cells/0/gates", nlohmann::ordered_json::array()),
            "r: cell 'c': 'gates' must not be empty");
  EXPECT_EQ(message("/cells/0/gates/0/clean/rows", -1),
            clean + ": 'rows' must be a number of at least 0, not -1");
  EXPECT_EQ(message("/cells/0/gates/0/clean/rows", 41),
            clean + ": 'alarms' must be of the rows that could be checked");
  EXPECT_EQ(message("/cells/0/gates/0/clean/alarmed_matrices", 11),
            clean + ": more matrices alarm than there are");
  EXPECT_EQ(message("/cells/0/gates/0/clean/alarms/events", 39),
            clean + ": 'alarms': there are more events than trials");
  EXPECT_EQ(message("/cells/0/gates/0/clean/alarms/matrices", 0),
            clean + ": 'alarms': 'matrices' must be from 1 to the number of trials");
  for (const nlohmann::ordered_json& interval :
       {nlohmann::ordered_json{0.5, 0.2}, nlohmann::ordered_json{0, 1.5},
        nlohmann::ordered_json{0.5}, nlohmann::ordered_json("0 to 1")}) {
    EXPECT_EQ(message("/cells/0/gates/0/clean/alarms/interval", interval),
              clean + ": 'alarms': 'interval' must be null or [low, high], both from 0 to 1");
  }
  for (const char* text :
       {"0", "0:", ":3", "259:1", "-1:1", "0:-1", "0:1,1:1", "0:1 x", "0:99999999999999999999"}) {
    EXPECT_EQ(message("/cells/0/gates/0/clean/ratios", text),
              clean + ": 'ratios' must be bins and their counts as in \"0:12 128:3\"")
        << text;
  }
  for (const char* text :
       {"0:41", "0:30 1:11", "0:9223372036854775807 1:9223372036854775807", "0:1 0:1"}) {
    EXPECT_EQ(message("/cells/0/gates/0/clean/ratios", text),
              clean + ": 'ratios' counts more than there were checks")
        << text;
  }
  const std::string fault = "/cells/0/gates/0/faults/0", at = gate + "fault 1: ";
  EXPECT_EQ(message((fault + "/bit").c_str(), 128), at + "'bit' must be below 128");
  EXPECT_EQ(message((fault + "/direction").c_str(), "up"),
            at + "'direction' must be 0to1 or 1to0, not 'up'");
  EXPECT_EQ(message((fault + "/injected").c_str(), 61),
            at + "'detected' must be of the injected ones that could be checked");
  EXPECT_EQ(message((fault + "/dismissed").c_str(), 36),
            at + "'detected' and 'dismissed' are more than was injected");
  EXPECT_EQ(message((fault + "/masked").c_str(), std::int64_t{1} << 53),
            at + "so many faults cannot have been counted");
  EXPECT_EQ(message("/cells/0/gates/0/faults/1", nlohmann::ordered_json::object()),
            gate + "fault 2: 'fault' is missing");
  EXPECT_EQ(message("/cells/0/gates/0/published/0/agrees", "yes"),
            gate + "published 1: 'agrees' must be true, false or null");
  // All gates of a cell must have the same faults. A second gate with another bit is refused.
  auto json = nlohmann::ordered_json::parse(kResults);
  auto other = json["cells"][0]["gates"][0];
  other["gate"] = "a_abft";
  other["faults"][0]["bit"] = 8;
  json["cells"][0]["gates"].push_back(other);
  EXPECT_EQ(error_of([&] { (void)parse_campaign_results(json.dump(), "r"); }),
            "r: cell 'c': gate 'a_abft' has other faults than gate 'v_abft'");
}

// Before 0.2.0, rates did not give their number of matrices.
TEST(CampaignResults, OfOldVersionsAreRefused) {
  auto json = nlohmann::json::parse(kResults);
  json["cells"][0]["gates"][0]["clean"]["alarms"].erase("matrices");
  EXPECT_EQ(
      error_of([&] { (void)parse_campaign_results(json.dump(), "r"); }),
      "r: cell 'c': gate 'v_abft': 'clean': 'alarms': it does not say of how many matrices it is, "
      "as results of versions before 0.2.0 do not; merging their folder writes them again");
}

// Results that are cut anywhere, are nested without end, or lack any member give one error, and
// never a crash.
TEST(CampaignResults, DamagedInAnyWay) {
  const std::string text = kResults;
  for (std::size_t n = 0; n < text.size(); ++n) {
    EXPECT_THROW((void)parse_campaign_results(text.substr(0, n), "r"), std::invalid_argument) << n;
  }
  const std::string deep(1 << 20, '[');
  EXPECT_EQ(error_of([&] { (void)parse_campaign_results(deep, "r"); }),
            "r: holds values within values more than 256 deep");
  const auto json = nlohmann::ordered_json::parse(kResults);
  const auto flat = json.flatten();
  int taken = 0;
  for (const auto& [pointer, value] : flat.items()) {
    for (const char* wrong : {"null", "[]", "{}", "-1", "1e300", "\"\\u0000<x>\""}) {
      auto damaged = json;
      damaged[nlohmann::ordered_json::json_pointer(pointer)] = nlohmann::ordered_json::parse(wrong);
      try {
        const auto saved = parse_campaign_results(damaged.dump(), "r");
        // Results that are accepted can be shown.
        EXPECT_NE(report::campaign_html({saved}, "c", "v").find("</html>"), std::string::npos);
        ++taken;
      } catch (const std::invalid_argument&) {
      }
    }
  }
  EXPECT_GT(taken, 20) << "of names, of counts that nothing contradicts";
}

// For an operator that is not a product, each input has its name and its distribution.
TEST(CampaignResults, InputsByName) {
  auto json = nlohmann::ordered_json::parse(kResults);
  auto& cell = json["cells"][0];
  cell.erase("a");
  cell.erase("b");
  cell["draw"] = "normal";
  cell["inputs"] = {{"weight", "uniform"}, {"bias", "normal,mean=1"}};
  EXPECT_EQ(parse_campaign_results(json.dump(), "r").cells[0].inputs,
            (std::vector<std::pair<std::string, std::string>>{
                {"draw", "normal"}, {"weight", "uniform"}, {"bias", "normal,mean=1"}}));
  EXPECT_EQ(message("/cells/0/inputs", 3), "r: cell 'c': 'inputs' must be an object {...}");
  EXPECT_EQ(message("/cells/0/inputs", {{"x", 3}}), "r: cell 'c': 'x' must be a string");
}

// Other files of assay's schema are called what they are.
TEST(CampaignResults, WhatElseItMayBe) {
  const auto error = [](const char* text) {
    return error_of([&] { (void)parse_campaign_results(text, "r"); });
  };
  EXPECT_EQ(error(R"({"schema": 1, "cases": []})"),
            "r: it is a result of a gate or of a comparison; a gate writes its page itself");
  EXPECT_EQ(error(R"({"schema": 1, "cells": []})"),
            "r: it is the plan of a campaign, not its results");
  EXPECT_EQ(error(R"({"schema": 1})"), "r: it is no result of a campaign: 'campaign' is missing");
  EXPECT_EQ(error("[]"), "r: it is no result of a campaign: it must be an object {...}");
}

// A campaign's folder stands for the results in it.
TEST(CampaignResults, OfAFileOrAFolder) {
  namespace fs = std::filesystem;
  std::string pattern = (fs::path(testing::TempDir()) / "assay_results_XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  const std::string file = (folder / "results.json").string();
  const auto error = [](const std::string& path) {
    return error_of([&] { (void)read_campaign_results(path); });
  };
  EXPECT_EQ(error(folder.string()),
            folder.string() + ": is no folder of a campaign: it has no results.json");
  fs::create_directory(folder / "blocks");
  EXPECT_EQ(error(folder.string()),
            folder.string() + ": its campaign is not finished, or it is one shard");
  write_file(file, kResults);
  EXPECT_EQ(read_campaign_results(file).name, "small");
  const campaign::SavedCampaign of_folder = read_campaign_results(folder.string());
  EXPECT_EQ(of_folder.name, "small");
  EXPECT_EQ(of_folder.source, file);
  write_file(file, "{}");
  EXPECT_EQ(error(folder.string()),
            file + ": it is no result of a campaign: 'campaign' is missing");
  fs::resize_file(file, (std::uintmax_t{64} << 20) + 1);
  EXPECT_EQ(error(file),
            file + ": has 67 108 865 bytes; a campaign's results of more than 64 MiB are not read");
  fs::remove_all(folder);
  EXPECT_EQ(failure_of([&] { (void)read_campaign_results(file); }),
            file + ": cannot be read: No such file or directory");
}

}  // namespace
}  // namespace assay::wire
