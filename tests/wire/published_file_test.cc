// Tests tables of published rates: heads in any order, what is left out, and what is refused.
#include "assay/wire/published_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/campaign/check_plan.h"
#include "assay/wire/plan_file.h"
#include "error_of.h"

namespace assay::wire {
namespace {

using campaign::PublishedRate;

class PublishedFile : public testing::Test {
 protected:
  std::vector<PublishedRate> read(const std::string& text) const {
    write_file(path_, text);
    return read_published(path_);
  }
  std::string error(const std::string& text) const {
    std::string message = error_of([&] { (void)read(text); });
    const std::size_t at = message.find(path_);
    return at == std::string::npos ? message : message.erase(at, path_.size() + 2);
  }
  ~PublishedFile() override { std::filesystem::remove(path_); }
  std::string path_ = formatted("{}/published_{}.csv", testing::TempDir(), ::getpid());
};

TEST_F(PublishedFile, OursThatShips) {
  const auto rates =
      read_published(std::string(ASSAY_SOURCE_DIR "/datasets/published/seed_tables.csv"));
  EXPECT_EQ(rates.size(), 244u);
  EXPECT_TRUE(rates[0].shape.empty());
  EXPECT_EQ(rates[0].trials, 12800000);
}

// A table with columns for shapes but not for trials. The last column contains commas.
TEST_F(PublishedFile, WithShapes) {
  const auto rates = read(
      "# a note\n"
      "table,algorithm,dtype,M,K,N,distribution,direction,bit,rate_percent,scale\r\n"
      "5.1,V-ABFT,bf16,128,4096,256,uniform_-1_1,0to1,7,19.5,1\n"
      "5.1,V-ABFT,bf16,128,4096,256,normal_1_1,none,,void,1\n"
      "5.1,V-ABFT,bf16,128,4096,256,normal_1_1,1to0,8,not_injectable,1,2\n");
  ASSERT_EQ(rates.size(), 3u);
  EXPECT_EQ(rates[0].algorithm, "V-ABFT");
  EXPECT_EQ(rates[0].shape, (std::vector<std::int64_t>{128, 4096, 256}));
  EXPECT_EQ(rates[0].bit, 7);
  EXPECT_EQ(rates[0].rate, 0.195);
  EXPECT_EQ(rates[0].trials, 10000) << "as the specification says of its tables";
  EXPECT_EQ(rates[1].bit, -1);
  EXPECT_EQ(rates[1].word, "void");
  EXPECT_EQ(rates[2].word, "not_injectable");
}

// A table of measurements has other column names. Its rows that cover all sizes or all
// distributions, and rows without a rate, are left out.
TEST_F(PublishedFile, OfMeasurements) {
  const auto rates = read(
      "protocol,M,K,N,distribution,bit,direction,method,threshold_variant,n_injected,n_detected,"
      "rate_percent,blocks\n"
      "past,128,1024,256,normal_1_1,14,0to1,V-ABFT,V e_max=8e-3,9981,9981,100.0,50\n"
      "all,1024,all,1024,normal_1_1,7,xor_any,V-ABFT,V,10,0,0.0,1\n"
      "all,1024,1024,1024,all,,xor_any,V-ABFT,V,10,0,,1\n");
  ASSERT_EQ(rates.size(), 1u);
  EXPECT_EQ(rates[0].algorithm, "V-ABFT");
  EXPECT_EQ(rates[0].dtype, "") << "of any";
  EXPECT_EQ(rates[0].trials, 9981);
  EXPECT_EQ(rates[0].rate, 1);
}

TEST_F(PublishedFile, Refuses) {
  const std::string head = "algorithm,dtype,distribution,direction,bit,rate_percent\n";
  EXPECT_EQ(error("algorithm\n"),
            "line 1: the head has no column 'distribution'; needed are distribution, direction, "
            "bit, rate_percent, and algorithm or method (docs/campaigns.md)");
  EXPECT_EQ(error("distribution,direction,bit,rate_percent\n"),
            "line 1: the head has neither 'algorithm' nor 'method' (docs/campaigns.md)");
  EXPECT_EQ(error(head + "V-ABFT,bf16\n"), "line 2: 6 fields are expected, as in the head");
  EXPECT_EQ(error(head + "V-ABFT,bf16,normal,0to1,7,101\n"), "line 2: 101 is no percentage");
  EXPECT_EQ(error(head + "V-ABFT,bf16,normal,0to1,7,many\n"), "line 2: 'many' is no rate");
  EXPECT_EQ(error(head + "V-ABFT,bf16,normal,0to1,x,1\n"), "line 2: 'x' is no bit");
  EXPECT_EQ(error("M," + head + "128,V-ABFT,bf16,normal,0to1,7,1\n"),
            "line 2: give all of M, K, N, or none");
}

// A published cell beside ours, matched by shape. It agrees or not, and the plan may give the
// reason.
TEST_F(PublishedFile, BesideOurs) {
  const campaign::Plan plan = campaign::check_plan(parse_plan(R"({"schema": 1, "name": "p",
      "remarks": [{"algorithm": "V-ABFT", "direction": "0to1", "bits": [9], "shape": [8, 16, 8],
                   "remark": "known"}],
      "cells": [{"dtype": "bfloat16", "shape": [8, 16, 8],
                 "distribution": {"draw": "normal", "published": "n"}, "gates": "v_abft",
                 "clean_rows": 64, "faults": [{"census": 8, "bits": [7, 8, 9, 10]}]}]})",
                                                              "p.json", ""));
  const std::string head =
      "algorithm,dtype,M,K,N,distribution,direction,bit,rate_percent,trials,remark\n";
  const auto rates = read(head +
                          "V-ABFT,bf16,8,16,8,n,none,none,0,1000,\n"
                          "V-ABFT,bf16,8,16,8,n,0to1,7,25,1000,\n"
                          "V-ABFT,bf16,8,16,8,n,0to1,8,90,1000,\n"
                          "V-ABFT,bf16,8,16,8,n,0to1,9,90,1000,\n"
                          "V-ABFT,bf16,8,16,8,n,0to1,10,50,1000,\n"
                          "V-ABFT,bf16,8,32,8,n,0to1,7,90,1000,of another shape\n"
                          "V-ABFT,bf16,8,16,8,n,xor_any,7,90,1000,of no direction\n"
                          "V-ABFT,fp16,8,16,8,n,0to1,7,90,1000,of another dtype\n");
  const auto results = [&](int matrices) {
    std::vector<campaign::CellResult> all(1);
    campaign::GateResult gate;
    gate.gate = plan.cells[0].gates[0].text;
    gate.clean_matrices = matrices;
    for (const campaign::Series& s : campaign::series_of(plan.cells[0])) {
      campaign::SeriesResult one;
      one.series = s;
      std::vector<Rate> clusters;
      for (int m = 0; m < matrices && s.bit != 10; ++m) clusters.push_back({24 + m % 3, 100});
      one.detected = campaign::clustered_rate(clusters, 0.95);
      one.faults.injected = one.detected.rate.trials;
      gate.series.push_back(one);
    }
    all[0].gates.push_back(gate);
    return all;
  };
  const auto many = campaign::compare_published(plan, results(8), rates);
  ASSERT_EQ(many.size(), 5u);
  EXPECT_TRUE(many[0].agrees);
  EXPECT_TRUE(many[1].agrees);
  EXPECT_FALSE(many[2].agrees);
  EXPECT_EQ(many[2].why, "");
  EXPECT_EQ(many[3].why, "known");
  EXPECT_EQ(many[4].why, "no element can take this flip: all have the bit's new value");
  const auto few = campaign::compare_published(plan, results(3), rates);
  EXPECT_FALSE(few[1].judged);
  EXPECT_FALSE(few[1].agrees);
}

}  // namespace
}  // namespace assay::wire
