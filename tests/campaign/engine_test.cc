// Tests that a campaign gives the same results on any number of threads, and in shards that are
// merged from their folders. Also tests the files of results, the stop at a given precision, and
// which plans are refused.
#include "assay/campaign/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/campaign/result_store.h"
#include "assay/campaign/results.h"
#include "assay/report/campaign_report.h"
#include "assay/wire/campaign_results_file.h"
#include "assay/wire/plan_file.h"
#include "error_of.h"

namespace assay::campaign {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Plan small_plan(const std::string& cells, const std::string& more = "") {
  return check_plan(wire::parse_plan(
      formatted(R"({{"schema": 1, "name": "small", {}"cells": [{}]}})", more, cells), "small.json",
      ""));
}

// A cell with a census and a cell with drawn faults. They have 9 and 5 matrices.
const char* kTwoCells = R"(
  {"name": "census", "dtype": "bfloat16", "shape": [16, 48, 32], "distribution": "normal",
   "rows": 8, "clean_rows": 72, "gates": ["rounding_variance", "v_abft,arithmetic=output"],
   "faults": [{"census": 4}]},
  {"name": "drawn", "dtype": "float16", "shape": [8, 64, 32], "distribution": "uniform",
   "clean_rows": 16, "gates": ["a_abft", "standard:torch"],
   "faults": [{"fault": "flip,bit=12", "trials": 70, "per_matrix": 16},
              {"fault": "random,site=input_a", "trials": 20, "per_matrix": 4}]})";

struct Texts {
  std::map<std::int64_t, std::string> blocks;
  std::string json, csv;
};
using Tallies = std::map<std::int64_t, BlockTally>;

Texts texts_of(const Campaign& campaign, const Tallies& tallies) {
  Texts t;
  for (const BlockAddress& b : campaign.blocks()) {
    if (tallies.count(b.index) == 0) continue;
    t.blocks[b.index] = block_text(b, campaign.plan().fingerprint, tallies.at(b.index));
  }
  const auto results =
      results_of(campaign, [&](const BlockAddress& b) { return tallies.at(b.index); });
  t.json = wire::campaign_json(campaign.plan(), results);
  t.csv = report::campaign_csv(campaign.plan(), results);
  return t;
}

Tallies all_blocks(const Campaign& campaign) {
  Tallies tallies;
  campaign.run(campaign.blocks(), [&](const BlockAddress& b, const BlockTally& tally) {
    EXPECT_TRUE(tallies.emplace(b.index, tally).second);
  });
  return tallies;
}

class EngineTest : public testing::Test {
 protected:
  EngineTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "assay_engine_XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~EngineTest() override { std::filesystem::remove_all(directory_); }
  std::string dir(const std::string& name) const { return directory_ / name; }

  // Computes a shard into a folder of its own.
  void shard(const Campaign& campaign, const std::string& name, int index, int count) const {
    const CampaignStore store(dir(name), campaign.plan(), "{}", "", false);
    for (const std::int64_t b :
         blocks_of_shard(static_cast<std::int64_t>(campaign.blocks().size()), index, count)) {
      const BlockAddress& block = campaign.blocks()[static_cast<std::size_t>(b)];
      store.save(block, campaign.run(block));
    }
  }
  std::filesystem::path directory_;
};

TEST_F(EngineTest, ThreadsChangeNothing) {
  const Plan plan = small_plan(kTwoCells);
  const Campaign one(plan, {.threads = 1}), two(plan, {.threads = 2});
  const Texts a = texts_of(one, all_blocks(one)), b = texts_of(two, all_blocks(two));
  EXPECT_EQ(a.blocks, b.blocks);
  EXPECT_EQ(a.json, b.json);
  EXPECT_EQ(a.csv, b.csv);
  EXPECT_EQ(one.matrices(), 9 + 5);
}

TEST_F(EngineTest, AnyPartitionMergesToTheSameBytes) {
  const Plan plan = small_plan(kTwoCells);
  const Campaign campaign(plan, {.threads = 1});
  const Texts whole = texts_of(campaign, all_blocks(campaign));
  for (const int shards : {1, 3, 8}) {
    std::vector<std::string> dirs;
    for (int i = shards; i >= 1; --i) {  // in any order
      const std::string name = formatted("{} of {}", i, shards);
      shard(campaign, name, i, shards);
      dirs.push_back(dir(name));
    }
    const auto paths = merged_blocks(dirs, campaign);
    const auto results = results_of(campaign, [&](const BlockAddress& b) {
      return load_block(paths[static_cast<std::size_t>(b.index)], b, plan);
    });
    EXPECT_EQ(wire::campaign_json(plan, results), whole.json) << shards;
    EXPECT_EQ(report::campaign_csv(plan, results), whole.csv) << shards;
  }
}

TEST_F(EngineTest, ExactGivesTheSameCounts) {
  const Plan plan = small_plan(kTwoCells);
  const Campaign fast(plan, {.threads = 1}), exact(plan, {.threads = 1, .exact = true});
  EXPECT_EQ(texts_of(fast, all_blocks(fast)).csv, texts_of(exact, all_blocks(exact)).csv);
}

TEST_F(EngineTest, MergeRefuses) {
  const Plan plan = small_plan(kTwoCells);
  const Campaign campaign(plan, {.threads = 1});
  shard(campaign, "a", 1, 2);
  shard(campaign, "b", 2, 2);
  const auto merge = [&](const std::vector<std::string>& names, const Campaign& c) {
    std::vector<std::string> dirs;
    for (const std::string& name : names) dirs.push_back(dir(name));
    return failure_of([&] { (void)merged_blocks(dirs, c); });
  };
  EXPECT_EQ(merge({"a", "b"}, campaign), "no error");
  EXPECT_EQ(
      merge({"a", "a"}, campaign),
      formatted("{} and {} both hold block 0; if they are the same shard, give only one of them",
                dir("a"), dir("a")));
  EXPECT_EQ(merge({"a"}, campaign),
            "7 of 14 blocks are in no folder (1, 3, 5, 7, 9, ...), because a shard is missing or "
            "not done; resume the campaign");
  std::filesystem::remove(dir("b") + "/blocks/000005.txt");
  EXPECT_THAT(merge({"a", "b"}, campaign),
              StartsWith("1 of 14 blocks are in no folder (5), because a shard is missing"));
  const Campaign other(small_plan(kTwoCells, R"("seed": 9, )"), {.threads = 1});
  EXPECT_THAT(merge({"a", "b"}, other),
              AllOf(StartsWith(dir("a")), HasSubstr("holds results of another plan")));
  EXPECT_THAT(merge({"none"}, campaign),
              AllOf(HasSubstr("campaign.txt: cannot be read: No such file")));
}

TEST_F(EngineTest, AFolderKeepsOnePlan) {
  const Plan plan = small_plan(kTwoCells);
  const Campaign campaign(plan, {.threads = 1});
  const BlockAddress& first = campaign.blocks().front();
  const auto open = [&](const Plan& p, bool resume) {
    return failure_of([&] { const CampaignStore store(dir("x"), p, "{}", "", resume); });
  };
  {
    const CampaignStore store(dir("x"), plan, "{\"a\": 1}", "/plans", false);
    EXPECT_FALSE(store.has(first));
    EXPECT_EQ(open(plan, true), dir("x") +
                                    ": another process works in this folder; wait for it, "
                                    "or give each shard a folder of its own");
    store.save(first, campaign.run(first));
    EXPECT_TRUE(store.has(first));
    EXPECT_EQ(stored_plan(dir("x")).text, "{\"a\": 1}");
    EXPECT_EQ(stored_plan(dir("x")).folder, "/plans");
    EXPECT_EQ(stored_plan(dir("x")).fingerprint, plan.fingerprint);
  }
  EXPECT_EQ(open(plan, false),
            dir("x") + ": already holds results; resume the campaign, or give another folder");
  EXPECT_EQ(open(small_plan(kTwoCells, R"("seed": 9, )"), true),
            dir("x") +
                ": holds results of another plan (its campaign.txt has another "
                "fingerprint); give another folder");
  // The next start removes the file that a killed process was writing. Finished blocks stay.
  std::ofstream(dir("x") + "/blocks/000001.txt.tmp.99") << "half";
  EXPECT_EQ(open(plan, true), "no error");
  EXPECT_FALSE(std::filesystem::exists(dir("x") + "/blocks/000001.txt.tmp.99"));
  EXPECT_TRUE(std::filesystem::exists(dir("x") + "/blocks/000000.txt"));
  std::filesystem::create_directories(dir("y"));
  std::ofstream(dir("y") + "/blocks") << "a file";
  EXPECT_THAT(failure_of([&] { const CampaignStore store(dir("y"), plan, "{}", "", false); }),
              StartsWith(dir("y") + "/blocks: cannot be made: "));
}

TEST_F(EngineTest, BlocksParseBack) {
  const Plan plan = small_plan(kTwoCells);
  const Campaign campaign(plan, {.threads = 1});
  for (const std::size_t i : {std::size_t{0}, std::size_t{5}, campaign.blocks().size() - 1}) {
    const BlockAddress& b = campaign.blocks()[i];
    const std::string text = block_text(b, plan.fingerprint, campaign.run(b));
    EXPECT_EQ(block_text(b, plan.fingerprint, parse_block(text, b, plan.fingerprint)), text);
  }
}

TEST_F(EngineTest, DamagedBlocksAreRefused) {
  const Plan plan = small_plan(kTwoCells);
  const Campaign campaign(plan, {.threads = 1});
  const BlockAddress &b = campaign.blocks()[0], &next = campaign.blocks()[1];
  const std::string text = block_text(b, plan.fingerprint, campaign.run(b));
  const auto parse = [&](const std::string& t, const BlockAddress& a,
                         const std::string& fingerprint) {
    return failure_of([&] { (void)parse_block(t, a, fingerprint); });
  };
  EXPECT_EQ(parse(text, b, plan.fingerprint), "no error");
  EXPECT_EQ(parse("", b, plan.fingerprint), "it is no block of a campaign");
  EXPECT_EQ(parse("PK\3\4", b, plan.fingerprint), "it is no block of a campaign");
  // A file that is cut anywhere, or in which one byte is changed, is refused.
  for (std::size_t n = 13; n < text.size(); n += 7) {
    EXPECT_EQ(parse(text.substr(0, n), b, plan.fingerprint),
              "it is damaged: its check does not fit")
        << n;
  }
  for (std::size_t i = 13; i < text.size(); i += 5) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(parse(changed, b, plan.fingerprint), "it is damaged: its check does not fit") << i;
  }
  EXPECT_EQ(parse(text + text, b, plan.fingerprint), "it is damaged: its check does not fit");
  EXPECT_EQ(parse(text, next, plan.fingerprint),
            "it belongs to another plan or place: '" + text.substr(0, text.find('\n')) + "'");
  EXPECT_THAT(parse(text, b, small_plan(kTwoCells, R"("seed": 9, )").fingerprint),
              StartsWith("it belongs to another plan or place: 'assay-block 1 "));

  const CampaignStore store(dir("x"), plan, "{}", "", false);
  std::ofstream(dir("x") + "/blocks/000000.txt") << text.substr(0, 100);
  const std::string file = dir("x") + "/blocks/000000.txt";
  EXPECT_EQ(failure_of([&] { (void)store.load(b); }),
            file +
                ": it is damaged: its check does not fit; remove it and resume the "
                "campaign");
  EXPECT_EQ(failure_of([&] { (void)load_block(file, b, plan); }),
            file + ": it is damaged: its check does not fit");
}

TEST(Engine, Shards) {
  EXPECT_EQ(blocks_of_shard(7, 1, 3), (std::vector<std::int64_t>{0, 3, 6}));
  EXPECT_EQ(blocks_of_shard(7, 3, 3), (std::vector<std::int64_t>{2, 5}));
  EXPECT_TRUE(blocks_of_shard(2, 3, 3).empty());
  EXPECT_EQ(error_of([] { (void)blocks_of_shard(7, 0, 3); }),
            "shard 0/3 does not exist; the first number must be from 1 to the second");
  EXPECT_EQ(error_of([] { (void)blocks_of_shard(7, 4, 3); }),
            "shard 4/3 does not exist; the first number must be from 1 to the second");
}

TEST(Engine, BlocksCoverEveryMatrixOnce) {
  for (const int matrices : {1, 2, 63, 64, 65, 200, 1000}) {
    for (const char* precision : {"", R"("precision": {"half_width": 0.01, "looks": 4},)"}) {
      const Campaign campaign(small_plan(formatted(R"({{"dtype": "bfloat16", "shape": [4, 8, 8], {}
            "distribution": "normal", "gates": "a_abft",
            "faults": [{{"fault": "flip,bit=3", "trials": {}, "per_matrix": 1}}]}})",
                                                   precision, matrices)),
                              {.threads = 1});
      std::int64_t next = 0, index = 0;
      for (const BlockAddress& b : campaign.blocks()) {
        EXPECT_EQ(b.index, index++);
        EXPECT_EQ(b.first, next);
        EXPECT_GT(b.last, b.first);
        next = b.last;
      }
      EXPECT_EQ(next, matrices);
      EXPECT_LE(campaign.blocks().size(), 64u + 4);
      EXPECT_TRUE(campaign.is_look(campaign.blocks().back()));
    }
  }
}

// The campaign has 64 matrices, and checks its precision after 8, 16, 32 and 64 of them.
TEST(Engine, APrecisionStopsAtALook) {
  const auto cells = [](double half_width) {
    return formatted(R"({{"dtype": "bfloat16", "shape": [8, 32, 32], "distribution": "normal",
      "gates": "v_abft", "precision": {{"half_width": {}, "looks": 4}},
      "faults": [{{"fault": "flip,bit=7", "trials": 4096, "per_matrix": 64}}]}})",
                     half_width);
  };
  const auto run = [](const Campaign& campaign, Tallies& tallies) {
    const auto has = [&](const BlockAddress& b) { return tallies.count(b.index) != 0; };
    const auto load = [&](const BlockAddress& b) { return tallies.at(b.index); };
    int rounds = 0;
    for (std::vector<BlockAddress> next; !(next = campaign.next_blocks(has, load)).empty();) {
      campaign.run(
          next, [&](const BlockAddress& b, const BlockTally& t) { tallies.emplace(b.index, t); });
      ++rounds;
    }
    return rounds;
  };
  for (const double half_width : {0.06, 0.03, 1e-5}) {
    const Campaign campaign(small_plan(cells(half_width)), {.threads = 1});
    std::vector<std::int64_t> looks;
    for (const BlockAddress& b : campaign.blocks()) {
      if (campaign.is_look(b)) looks.push_back(b.last);
    }
    EXPECT_EQ(looks, (std::vector<std::int64_t>{8, 16, 32, 64}));
    Tallies some, all = all_blocks(campaign);
    const int rounds = run(campaign, some);
    const auto results = [&](const Tallies& t) {
      return results_of(campaign, [&](const BlockAddress& b) { return t.at(b.index); });
    };
    const CellResult result = results(some)[0];
    EXPECT_EQ(wire::campaign_json(campaign.plan(), results(some)),
              wire::campaign_json(campaign.plan(), results(all)));
    EXPECT_EQ(result.precise, half_width > 1e-4);
    const auto blocks = static_cast<std::int64_t>(some.size());
    EXPECT_EQ(result.matrices, blocks) << "one matrix a block here";
    if (half_width == 0.06) {
      EXPECT_LT(blocks, 64);
    }
    if (half_width == 1e-5) {
      EXPECT_EQ(blocks, 64);
      EXPECT_EQ(rounds, 4);
    }
    const Interval i = *result.gates[0].series[0].detected.interval;
    if (result.precise) {
      EXPECT_LE((i.high - i.low) / 2, half_width);
    }
  }
}

// tfloat32 is stored in 32 bits: 19 bits, and below them 13 bits that must be zero.
TEST(Engine, ACensusOfAPaddedFormat) {
  const Plan plan =
      small_plan(R"({"dtype": "float32", "output_dtype": "tfloat32", "shape": [4, 8, 8],
      "distribution": "normal", "gates": "v_abft,e_max=1e-3", "faults": [{"census": 1}]})");
  const Campaign campaign(plan, {.threads = 1});
  const std::vector<Series> series = series_of(plan.cells[0]);
  ASSERT_EQ(series.size(), 38u);
  EXPECT_EQ(series.front().bit, 13);
  EXPECT_EQ(series.back().bit, 31);
  const BlockTally tally = campaign.run_matrix(plan.cells[0], 0);
  for (std::size_t s = 0; s < 19; ++s) {
    const FaultCounts &up = tally.matrices[0].faults[s], &down = tally.matrices[0].faults[s + 19];
    EXPECT_EQ(up.injected + up.masked + down.injected + down.masked, 32) << series[s].text();
  }
}

// Clean rows have D/T of 0.5 and 1. Faults have D/T of 0.75, of 2 and beyond every bin.
TEST(Results, Roc) {
  RatioCounts clean{}, faults{};
  clean[simd::ratio_bin(0.5, false)] = 3;
  clean[simd::ratio_bin(1, false)] = 1;
  faults[simd::ratio_bin(0.75, false)] = 2;
  faults[simd::ratio_bin(2, true)] = 5;
  faults[simd::kBinNotFinite] = 1;
  const std::vector<RocPoint> points = roc(clean, faults);
  const auto at_multiple = [&](double multiple) {
    for (const RocPoint& p : points) {
      if (p.multiple >= multiple) return p;
    }
    return points.back();
  };
  EXPECT_EQ(at_multiple(0.25).false_alarms, 1);
  EXPECT_EQ(at_multiple(0.25).detections, 1);
  EXPECT_EQ(at_multiple(0.5).false_alarms, 0.25);
  EXPECT_EQ(at_multiple(0.75).detections, 0.75);
  EXPECT_EQ(at_multiple(1).false_alarms, 0);
  EXPECT_EQ(at_multiple(2).detections, 0.125) << "infinity is above every threshold";
  EXPECT_EQ(points.size(), 5u) << "one a step";
  EXPECT_TRUE(roc({}, faults).empty());
  EXPECT_TRUE(roc(clean, {}).empty());
}

TEST(Plan, FingerprintIsOfWhatIsComputed) {
  const std::string cell = R"("shape": [4, 8, 8], "distribution": "normal", "gates": ["a_abft"],
                              "faults": [{"census": 2}], "clean_rows": 4)";
  const std::string base = small_plan(R"({"dtype": "bfloat16", )" + cell + "}").fingerprint;
  EXPECT_EQ(base.size(), 32u);
  // The fingerprint does not depend on the order of keys, comments, the plan's name, lists of one
  // element, defaults, and spelled-out parameters.
  EXPECT_EQ(small_plan("{" + cell + R"(, "dtype": "bfloat16"})").fingerprint, base);
  EXPECT_EQ(small_plan(R"({"dtype": ["bfloat16"], )" + cell + "}", R"("about": "x", )").fingerprint,
            base);
  EXPECT_EQ(small_plan("{" + cell + "}", R"("defaults": {"dtype": "bfloat16"}, )").fingerprint,
            base);
  EXPECT_EQ(
      small_plan(R"({"dtype": "bfloat16", "machine": "ascend910b", )" + cell + "}").fingerprint,
      base);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = cell;
    changed.replace(changed.find(from), from.size(), to);
    return small_plan(R"({"dtype": "bfloat16", )" + changed + "}").fingerprint;
  };
  std::vector<std::string> others = {
      small_plan(R"({"dtype": "bfloat16", )" + cell + "}", R"("seed": 1, )").fingerprint,
      small_plan(R"({"dtype": "float16", )" + cell + "}").fingerprint,
      small_plan(R"({"dtype": "bfloat16", "machine": "exact", )" + cell + "}").fingerprint,
      small_plan(R"({"dtype": "bfloat16", "output_dtype": "float32", )" + cell + "}").fingerprint,
      small_plan(R"({"dtype": "bfloat16", "rows": 2, )" + cell + "}").fingerprint,
      with("[4, 8, 8]", "[4, 9, 8]"),
      with("normal", "normal,mean=1"),
      with("a_abft", "a_abft,arithmetic=output"),
      with(R"("census": 2)", R"("census": 3)"),
      with(R"("census": 2)", R"("census": 2, "bits": [3])"),
      with(R"("census": 2)", R"("census": 2, "direction": "0to1")"),
      with(R"("census": 2)", R"("fault": "flip,bit=1", "trials": 2)"),
      with(R"("clean_rows": 4)", R"("clean_rows": 5)"),
      with(R"("clean_rows": 4)", R"("clean_rows": 4, "precision": {"half_width": 0.1})")};
  others.push_back(base);
  std::sort(others.begin(), others.end());
  EXPECT_EQ(std::unique(others.begin(), others.end()), others.end());
}

TEST(Campaign, RefusesWhatAGateCannotJudge) {
  const auto error = [](const std::string& cell) {
    const Plan plan = small_plan(cell);
    return error_of([&] { const Campaign campaign(plan, {.threads = 1}); });
  };
  EXPECT_THAT(error(R"({"name": "n", "dtype": "bfloat16", "shape": [4, 8, 8],
      "distribution": "normal", "gates": "a_abft",
      "faults": [{"fault": "flip,bit=3,site=accumulator,step=99", "trials": 2}]})"),
              AllOf(StartsWith("cell n bfloat16 4x8x8 normal: fault 'flip,bit=3,"),
                    HasSubstr("K = 8 in chunks of ")));
  EXPECT_THAT(error(R"({"name": "n", "dtype": "bfloat16", "shape": [4, 8, 8],
      "distribution": "normal", "gates": "a_abft",
      "faults": [{"fault": "zero,at=4:0", "trials": 2}]})"),
              StartsWith("cell n bfloat16 4x8x8 normal: "));
  EXPECT_THAT(error(R"({"name": "n", "machine": "exact", "dtype": "bfloat16", "shape": [4, 8, 8],
      "distribution": "normal", "gates": "a_abft",
      "faults": [{"fault": "flip,bit=3,site=accumulator", "trials": 2}]})"),
              HasSubstr("machine exact has no accumulator that could break"));
}

}  // namespace
}  // namespace assay::campaign
