// Tests assay campaign and merge: exit codes, texts, shards, and what remains after they are
// stopped.
#include <filesystem>
#include <string>
#include <vector>

#include "emulated.h"
#include "killed.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CampaignTool : public ProgramTest {
 protected:
  CampaignTool() {
    write("plan.json", plan(1));
    write("other.json", plan(2));
  }
  // 30 matrices in 30 blocks.
  static std::string plan(int seed) {
    std::string text = R"({"schema": 1, "name": "small", "seed": )";
    text += std::to_string(seed);
    text += R"(, "cells": [
      {"dtype": "bfloat16", "shape": [64, 128, 64], "distribution": "normal", "clean_rows": 1920,
       "gates": ["rounding_variance", "v_abft,arithmetic=output"],
       "faults": [{"census": 30, "bits": [3, 7, 14]}, {"fault": "flip,bit=9", "trials": 100}]}]})";
    return text;
  }
  // Runs a command without the environment variables that make a campaign a shard. They are set if
  // the tests themselves run as shards.
  Ran alone(const std::string& line) const {
    return run(
        "unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX SLURM_ARRAY_TASK_COUNT SLURM_ARRAY_TASK_ID "
        "SLURM_ARRAY_TASK_MIN\n" +
        line);
  }
  void expect_same_results(const std::string& a, const std::string& b) const {
    for (const char* file : {"results.json", "results.csv", "results.txt"}) {
      EXPECT_GT(read(a + "/" + file).size(), 500u);
      EXPECT_EQ(read(a + "/" + file), read(b + "/" + file)) << file;
    }
  }
  std::size_t blocks(const std::string& name) const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path(name + "/blocks"))) {
      count += entry.path().extension() == ".txt" ? 1 : 0;
    }
    return count;
  }
};

// The threshold residual_compensated needs the values of C before their cast to the output dtype. A
// campaign gets them from an emulator that computes them, or from a dataset that holds them.
TEST_F(CampaignTool, ResidualsWhereThereAreSome) {
  const auto plan = [&](const std::string& cell) {
    write("residual.json",
          R"({"schema": 1, "name": "p", "cells": [{"clean_rows": 16, "faults": [{"census": 1}],
      "gates": ["residual_compensated,groups=8"], )" +
              cell + "}]}");
    return alone("assay campaign residual.json --json r.json");
  };
  const std::string drawn = R"("shape": [16, 64, 16], "distribution": "normal", )";
  EXPECT_THAT(plan(drawn + R"("dtype": "bfloat16")"), Code(0));
  EXPECT_EQ(json("r.json")["cells"][0]["gates"][0]["clean"]["alarms"]["events"], 0);
  EXPECT_THAT(plan(drawn + R"("dtype": "float32")").err,
              HasSubstr("outputs of float32 are not cast from a wider accumulator, so that they "
                        "have no residual"));
  EXPECT_THAT(
      plan(drawn + R"("dtype": "bfloat16", "machine": "exact")").err,
      HasSubstr("the machine exact sums exactly, so that there is no accumulator before the cast"));
  // The same plan on recorded results. The dataset first holds their values before the cast, and
  // then it does not.
  ASSERT_THAT(alone("assay generate matmul --dtype bfloat16 --shape 16,64,16 --distribution normal "
                    "--quiet --out i.h5"),
              Code(0));
  const std::string recorded = R"("dataset": "o.h5", "recorded": "ascend910b")";
  ASSERT_THAT(
      alone("assay emulate i.h5 --machine ascend910b --with-accumulator --quiet --out o.h5"),
      Code(0));
  EXPECT_THAT(plan(recorded), Code(0));
  EXPECT_EQ(json("r.json")["cells"][0]["gates"][0]["clean"]["alarms"]["events"], 0);
  ASSERT_THAT(alone("assay emulate i.h5 --machine ascend910b --quiet --out o.h5"), Code(0));
  EXPECT_THAT(plan(recorded).err, HasSubstr("residual_compensated needs what the cast took away"));
}

TEST_F(CampaignTool, RunsAPlan) {
  const Ran ran = alone("assay campaign plan.json --json r.json --csv r.csv");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, AllOf(StartsWith("small: 1 cell, seed 1, plan "),
                             HasSubstr("bfloat16 64x128x64 normal on ascend910b: 30 matrices"),
                             HasSubstr("of 1 920 rows alarmed"), HasSubstr("bit 7, 0 to 1")));
  EXPECT_THAT(ran.err, HasSubstr("30 matrices and "));
  EXPECT_EQ(json("r.json")["cells"][0]["gates"][0]["faults"].size(), 7u);
  EXPECT_THAT(read("r.csv"), StartsWith("cell,machine,dtype,M,K,N,gate,"));
  // The results are the same if they go to a folder, quietly, on one thread, with all sums computed
  // anew.
  EXPECT_THAT(alone("assay campaign plan.json --out out --quiet --threads 1 --exact"), Exits(0));
  // With --exact, only some ratios differ: those of flips far from the threshold that change an
  // element's ulp.
  const auto without_ratios = [&](const std::string& file) {
    auto result = json(file);
    for (auto& cell : result["cells"]) {
      for (auto& gate : cell["gates"]) {
        for (auto& fault : gate["faults"]) {
          EXPECT_EQ(fault.erase("ratios"), 1u);
        }
      }
    }
    return result;
  };
  EXPECT_EQ(without_ratios("out/results.json"), without_ratios("r.json"));
  EXPECT_EQ(read("out/results.csv"), read("r.csv"));
  EXPECT_EQ(read("out/results.txt"), ran.out);
  EXPECT_EQ(read("out/plan.json"), read("plan.json"));
  EXPECT_THAT(alone("assay campaign plan.json --full --quiet"), Exits(0));
}

TEST_F(CampaignTool, BadPlans) {
  EXPECT_THAT(alone("assay campaign"), Code(2));
  EXPECT_THAT(alone("assay campaign nope.json"),
              Exits(2, "error: nope.json: cannot be read: No such file or directory"));
  write("bad.json", R"({"schema": 1, "name": "x", "cels": []})");
  Ran ran = alone("assay campaign bad.json --out out");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, StartsWith("error: bad.json: unknown key 'cels': did you mean 'cells'?"));
  EXPECT_FALSE(exists("out")) << "a plan that is wrong leaves nothing behind";
  write("bad.json", "{");
  ran = alone("assay campaign bad.json");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, StartsWith("error: bad.json: is no JSON: "));
  EXPECT_EQ(ran.out, "");
}

// A missing table of published rates is reported before the campaign begins, with the plan's key
// that names it.
TEST_F(CampaignTool, APublishedTableThatIsMissing) {
  std::string text = plan(1);
  text.insert(1, R"("published": "none.csv", )");
  write("p.json", text);
  const Ran ran = alone("assay campaign p.json --out out --json r.json");
  EXPECT_THAT(ran, Exits(2,
                         "error: p.json: 'published': none.csv: cannot be read: No such file or "
                         "directory"));
  EXPECT_FALSE(exists("out")) << "before anything is computed";
  write("none.csv", "algorithm\n");
  EXPECT_THAT(alone("assay campaign p.json --out out").err,
              StartsWith("error: p.json: 'published': none.csv: line 1: the head "));
  EXPECT_FALSE(exists("out"));
}

TEST_F(CampaignTool, Folders) {
  EXPECT_THAT(alone("assay campaign plan.json --out /dev/null/x"),
              Exits(2, "error: /dev/null/x/blocks: cannot be made: Not a directory"));
  EXPECT_THAT(alone("assay campaign plan.json --resume"),
              Exits(2, "error: --resume needs --out DIR"));
  EXPECT_THAT(alone("assay campaign plan.json --out out --quiet"), Exits(0));
  const std::string right = read("out/results.json");
  EXPECT_THAT(alone("assay campaign plan.json --out out"),
              Exits(2,
                    "error: out: already holds results; resume the campaign, or give "
                    "another folder"));
  EXPECT_THAT(alone("assay campaign other.json --out out --resume"),
              Exits(2,
                    "error: out: holds results of another plan (its campaign.txt has another "
                    "fingerprint); give another folder"));
  EXPECT_EQ(read("out/plan.json"), read("plan.json")) << "what was refused changed nothing";
  // If all blocks exist, nothing is computed. Only the results are written again.
  std::filesystem::remove(path("out/results.json"));
  EXPECT_THAT(alone("assay campaign plan.json --out out --resume --quiet"), Exits(0));
  EXPECT_EQ(read("out/results.json"), right);
  // The command is refused while another process works in the folder.
  EXPECT_THAT(alone("flock out/lock assay campaign plan.json --out out --resume"),
              Exits(2,
                    "error: out: another process works in this folder; wait for it, or give "
                    "each shard a folder of its own"));
  // A damaged block is named. It is computed again after it was removed.
  write("out/blocks/000004.txt", read("out/blocks/000004.txt").substr(0, 200));
  EXPECT_THAT(alone("assay campaign plan.json --out out --resume --quiet"),
              Exits(2,
                    "error: out/blocks/000004.txt: it is damaged: its check does not fit; "
                    "remove it and resume the campaign"));
  std::filesystem::remove(path("out/blocks/000004.txt"));
  EXPECT_THAT(alone("assay campaign plan.json --out out --resume --quiet"), Exits(0));
  EXPECT_EQ(read("out/results.json"), right);
}

// A fault that a cell's machine cannot have is found only when the first matrix is made. The folder
// exists by then, and the corrected plan may use it.
TEST_F(CampaignTool, ACorrectedPlanTakesTheFolder) {
  write("plan2.json", R"({"schema": 1, "name": "x", "cells": [{"dtype": "bfloat16",
      "machine": "exact", "shape": [4, 8, 8], "distribution": "normal", "gates": "v_abft",
      "faults": [{"fault": "flip,bit=3,site=accumulator", "trials": 2}]}]})");
  EXPECT_THAT(alone("assay campaign plan2.json --out out"),
              Exits(2,
                    "error: cell bfloat16 4x8x8 normal: machine exact has no accumulator that "
                    "could break; choose another machine"));
  EXPECT_THAT(alone("assay campaign plan.json --out out --quiet"), Exits(0));
  EXPECT_TRUE(exists("out/results.json"));
}

TEST_F(CampaignTool, Shards) {
  EXPECT_THAT(alone("assay campaign plan.json --out whole --quiet"), Exits(0));
  const Ran ran = alone("assay campaign plan.json --out s1 --shard 1/3");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "shard 1/3 of small is done: s1; `assay merge` joins the shards\n");
  EXPECT_EQ(blocks("s1"), 10u);
  EXPECT_FALSE(exists("s1/results.json"));
  EXPECT_THAT(alone("SLURM_ARRAY_TASK_MIN=4 SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=3 assay "
                    "campaign plan.json --out s2 --quiet"),
              Exits(0));
  EXPECT_THAT(alone("GTEST_SHARD_INDEX=2 GTEST_TOTAL_SHARDS=3 assay campaign plan.json --out s3 "
                    "--quiet"),
              Exits(0));
  const Ran early = alone("assay merge s1 s3 --out merged");
  EXPECT_EQ(early.code, 2);
  EXPECT_EQ(early.err,
            "error: 10 of 30 blocks are in no folder (1, 4, 7, 10, 13, ...), because a shard is "
            "missing or not done; resume the campaign\n");
  EXPECT_FALSE(exists("merged"));
  const Ran merged = alone("assay merge s3 s1 s2 --out merged");
  EXPECT_THAT(merged, Exits(0));
  expect_same_results("whole", "merged");
  EXPECT_EQ(merged.out, read("whole/results.txt"));
  EXPECT_THAT(
      alone("assay merge s1 s2 s3 s1"),
      Exits(
          2,
          "error: s1 and s1 both hold block 0; if they are the same shard, give only one of them"));
  // The plan's file is no longer needed, because each folder holds the plan.
  std::filesystem::remove(path("plan.json"));
  EXPECT_THAT(alone("assay merge s1 s2 s3 --json m.json --quiet"), Exits(0));
  EXPECT_EQ(read("m.json"), read("whole/results.json"));
  EXPECT_THAT(alone("assay campaign other.json --out o1 --shard 2/3 --quiet"), Exits(0));
  EXPECT_THAT(alone("assay merge s1 o1 s3"),
              Exits(2,
                    "error: o1: holds results of another plan (its campaign.txt has another "
                    "fingerprint); give another folder"));
  EXPECT_THAT(alone("assay merge nowhere"), Code(2));
}

TEST_F(CampaignTool, ShardWords) {
  for (const char* word : {"2", "0/3", "4/3", "a/b", "1/", "/3", "1/3x", "-1/3", "1/0"}) {
    const std::string shard = word;
    EXPECT_THAT(
        alone("assay campaign plan.json --out s --shard=" + shard),
        Exits(2, "error: --shard " + shard + ": i/n with i from 1 to n is needed, such as 2/8"));
  }
  EXPECT_THAT(
      alone("assay campaign plan.json --shard 1/2"),
      Exits(2, "error: --shard needs --out DIR; `assay merge` reads the shard's results there"));
  EXPECT_THAT(
      alone("GTEST_SHARD_INDEX=3 GTEST_TOTAL_SHARDS=3 assay campaign plan.json --out s"),
      Exits(2, "error: the environment variables of Slurm or GoogleTest ask for shard 4 of 3"));
  EXPECT_THAT(
      alone("SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1 assay "
            "campaign plan.json --out s"),
      Exits(2, "error: the environment variables of Slurm or GoogleTest ask for shard 7 of 3"));
  // --shard overrides the environment. Shard 1/1 is the whole campaign.
  EXPECT_THAT(alone("GTEST_SHARD_INDEX=3 GTEST_TOTAL_SHARDS=3 assay campaign plan.json --shard 1/1 "
                    "--out s --quiet"),
              Exits(0));
  EXPECT_TRUE(exists("s/results.json"));
}

// A campaign that is killed again and again and then runs to its end has the same bytes as one that
// never was.
TEST_F(CampaignTool, KilledAtAnyMoment) {
  if (is_emulated()) GTEST_SKIP() << "the emulator traces no calls";
  EXPECT_THAT(alone("assay campaign plan.json --out whole --quiet"), Exits(0));
  const auto campaign = [&] {
    std::filesystem::current_path(path(""));
    execl(ASSAY_TOOL, "assay", "campaign", "plan.json", "--out", "out", "--resume", "--quiet",
          "--threads", "1", static_cast<char*>(nullptr));
  };
  const auto begun = [&] { return exists("out/blocks"); };
  int killed = 0;
  for (const int calls :
       {1, 2, 5, 9, 14, 20, 27, 35, 44, 54, 65, 77, 90, 104, 119, 135, 152, 170}) {
    killed += kill_after(campaign, begun, calls) ? 1 : 0;
    EXPECT_THAT(run("rm -f out/results.json out/blocks/00000[0-9].txt"), Exits(0));
  }
  EXPECT_GE(killed, 12);
  const Ran ran = alone(
      "ls out/blocks | grep -c 'txt$' >before\n"
      "exec assay campaign plan.json --out out --resume --quiet");
  EXPECT_THAT(ran, Exits(0)) << read("before");
  expect_same_results("whole", "out");
  EXPECT_EQ(blocks("out"), 30u);
  for (const auto& entry : std::filesystem::directory_iterator(path("out/blocks"))) {
    EXPECT_EQ(entry.path().extension(), ".txt");
  }
}

// No file may grow beyond a limit, as on a full disk. The block that could not be written is named
// with the reason. Earlier blocks stay, and no half-written file remains.
TEST_F(CampaignTool, AFullDisk) {
  EXPECT_THAT(alone("assay campaign plan.json --out whole --quiet"), Exits(0));
  const std::size_t block = read("whole/blocks/000000.txt").size();
  const std::size_t results = read("whole/results.json").size();
  ASSERT_GT(block, 1024u);
  ASSERT_GT(results, 2 * block);
  const auto limited = [&](std::size_t bytes) {
    return alone("trap '' XFSZ; ulimit -f " + std::to_string(bytes / 512) +
                 "; exec assay campaign plan.json --out out --resume --quiet --threads 1");
  };
  Ran ran = limited(block / 2);
  EXPECT_THAT(ran, Exits(2, "error: out/blocks/000000.txt: cannot be written: File too large"));
  EXPECT_EQ(blocks("out"), 0u);
  ran = limited(results - 1024);
  EXPECT_THAT(ran, Exits(2, "error: out/results.json: cannot be written: File too large"));
  EXPECT_EQ(blocks("out"), 30u) << "the blocks are safe";
  EXPECT_FALSE(exists("out/results.json"));
  EXPECT_THAT(alone("assay campaign plan.json --out out --resume --quiet"), Exits(0));
  expect_same_results("whole", "out");
  EXPECT_THAT(alone("assay campaign plan.json --json /dev/full --quiet"),
              Exits(2, "error: /dev/full: cannot be written: No space left on device"));
}

// All cells, gates and faults of the shipped plans are possible: each is tried once. The plans with
// a fingerprint in this list keep it, so that earlier results can be resumed and merged.
TEST_F(CampaignTool, ShippedPlans) {
  const std::vector<std::pair<std::string, std::string>> plans = {
      {"quick", "c15350a074d1404e0964d0331ce038df"},
      {"published", "c5b59594f012b89e573845f5940e4c97"},
      {"thresholds", "d34a48f2672c9e190e868e55f1d4a192"},
      {"elementwise", "267d6985f3bacd96c42cad9335ae4b2d"},
      {"transformer", "078c337536e6f619cee1e6d3958552da"},
      {"sites", "8226957edc273d0002421da63b2f6977"},
      {"false_alarms", "71914de4945a1611f2483de18b4a003e"},
      {"operators", ""},
      {"large", ""},
      {"field", ""},
      {"attention", ""},
      {"hard", ""}};
  for (const auto& [name, fingerprint] : plans) {
    // A campaign makes a matrix of each cell before its first block. The matrices of these plans
    // are large, so they are left out if the tests walk only a share of all cases.
    if (walks_a_share() && (name == "large" || name == "hard")) continue;
    const std::string plan = std::string(ASSAY_SOURCE_DIR "/plans/") + name + ".json";
    EXPECT_THAT(alone("assay campaign " + plan + " --quiet --shard 100000/100000 --out " + name),
                Exits(0))
        << name;
    EXPECT_THAT(read(name + "/campaign.txt"), StartsWith("fingerprint " + fingerprint));
  }
}

// Float32 sums never equal the golden result's bits. So bit_equal fails every clean matrix and thus
// every fault, and its rates are reported as void.
TEST_F(CampaignTool, AGateThatFailsCleanResultsIsVoid) {
  write("void.json", R"({"schema": 1, "name": "v", "seed": 1, "cells": [{"dtype": "float32",
      "shape": [16, 256, 32], "distribution": "normal", "clean_rows": 128,
      "gates": ["standard:bit_equal", "standard:torch"],
      "faults": [{"census": 8, "bits": [0], "direction": "0to1"}]}]})");
  const Ran ran = alone("assay campaign void.json --json r.json");
  EXPECT_THAT(
      ran.out,
      AllOf(HasSubstr("; 8 of 8 matrices; largest difference / threshold inf, void\n"),
            HasSubstr("/ 68.77) void    < 0.14 / 31\n"),
            HasSubstr("\nvoid: the detector raises alarms on at least half of the clean ")));
  EXPECT_EQ(json("r.json")["cells"][0]["gates"][0]["void"], true);
  EXPECT_EQ(json("r.json")["cells"][0]["gates"][1]["void"], false);
}

// Published rates can come from the command line, in a table with other columns. The plan's remark
// stands beside a rate that differs. Blocks that exist are read and not computed again.
TEST_F(CampaignTool, PublishedOnTheCommandLine) {
  write("p.json", R"({"schema": 1, "name": "p", "seed": 1,
      "remarks": [{"bits": [14], "remark": "as printed there"}],
      "cells": [{"dtype": "bfloat16", "shape": [32, 64, 32], "gates": "v_abft",
                 "distribution": {"draw": "normal", "published": "n"},
                 "clean_rows": 256, "faults": [{"census": 8, "bits": [14]}]}]})");
  write("t.csv",
        "table,algorithm,dtype,M,K,N,distribution,direction,bit,rate_percent,scale\n"
        "a,V-ABFT,bf16,32,64,32,n,none,,0,1\n"
        "a,V-ABFT,bf16,32,64,32,n,0to1,14,12.5,1\n"
        "a,V-ABFT,bf16,32,32,32,n,0to1,14,12.5,1\n");
  const Ran ran = alone("assay campaign p.json --out out --published t.csv");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("runs with an alarm               0   < 31 / 31"),
                             HasSubstr(" differs: as printed there\n  1 cells agree, 1 differ (1 "
                                       "for a reason that is known), 0 held")));
  EXPECT_EQ(alone("assay merge out --published t.csv").out, ran.out);
  EXPECT_THAT(alone("assay campaign p.json").out, Not(HasSubstr("published")));
  write("t.csv", "algorithm\n");
  EXPECT_THAT(alone("assay campaign p.json --published t.csv").err,
              StartsWith("error: --published: t.csv: line 1: the head has no column "));
}

// A table of published rates may have several thresholds of an algorithm, and no column for the
// dtype.
TEST_F(CampaignTool, PublishedVariantsOfAThreshold) {
  const auto plan_with = [](const std::string& gate) {
    return R"({"schema": 1, "name": "p",
      "variants": [{"gate": ")" +
           gate + R"(", "names": ["", "T_a"]},
                   {"gate": "v_abft,e_max=0.5", "names": "T_b"}],
      "cells": [{"dtype": "bfloat16", "shape": [32, 64, 32], "gates": ["v_abft", "v_abft,e_max=0.5"],
                 "distribution": {"draw": "normal", "published": ["n", "m"]},
                 "faults": [{"census": 8, "bits": [7, 14], "direction": "0to1"}]}]})";
  };
  write("p.json", plan_with("v_abft"));
  write("t.csv",
        "method,distribution,threshold_variant,direction,bit,rate_percent\n"
        "V-ABFT,n,T_a,0to1,14,100\n"
        "V-ABFT,m,T_b,0to1,7,0\n"
        "V-ABFT,n,,0to1,7,99\n"
        "V-ABFT,n,T_c,0to1,14,3\n");
  const Ran ran = alone("assay campaign p.json --published t.csv --published-dtype bf16");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::size_t at = ran.out.find("published and reproduced");
  ASSERT_NE(at, std::string::npos) << ran.out;
  const std::string text = ran.out.substr(at);
  const std::size_t second = text.find("normal, v_abft,e_max=0.5\n");
  ASSERT_NE(second, std::string::npos) << text;
  EXPECT_THAT(text.substr(0, second),
              AllOf(HasSubstr("bit 14, 0 to 1                 100 "),
                    HasSubstr("bit 7, 0 to 1                   99 "), Not(HasSubstr(" 3 "))));
  EXPECT_THAT(text.substr(second),
              AllOf(HasSubstr("bit 7, 0 to 1                    0 "), Not(HasSubstr("bit 14"))));
  EXPECT_THAT(text, EndsWith("  not compared: V-ABFT T_c; no detector of the plan has this "
                             "threshold (its 'variants')\n"));
  // Nothing is compared if the published rates are for another dtype.
  EXPECT_THAT(alone("assay campaign p.json --published t.csv --published-dtype fp32").out,
              Not(HasSubstr("published")));
  EXPECT_THAT(alone("assay campaign p.json --published-dtype fp32").err,
              StartsWith("--published-dtype requires --published\n"));
  write("p.json", plan_with("a_abft"));
  EXPECT_THAT(alone("assay campaign p.json").err,
              StartsWith("error: p.json: variant 1: no cell has the gate a_abft\n"));
}

// Blocks of an older version have the same format, so `merge` makes results from them with this
// version's intervals. A block that cannot be read is refused in one line.
TEST_F(CampaignTool, BlocksOfAnOlderVersion) {
  EXPECT_THAT(alone("assay campaign plan.json --out out --quiet"), Exits(0));
  const std::string right = read("out/results.json"), block = read("out/blocks/000003.txt");
  EXPECT_THAT(block, StartsWith("assay-block 1 "));
  EXPECT_THAT(alone("rm out/results.*; assay merge out --out out --quiet"), Exits(0));
  EXPECT_EQ(read("out/results.json"), right);
  write("out/blocks/000003.txt", "assay-block 0" + block.substr(13));
  EXPECT_THAT(alone("assay merge out --quiet"),
              Exits(2, "error: out/blocks/000003.txt: it is no block of a campaign"));
}

// `replay` describes all of a trial, here of an operator other than matmul. The trial's inputs can
// be made again from this description.
TEST_F(CampaignTool, ReplaysAnOperator) {
  write("ops.json", R"({"schema": 1, "name": "ops", "cells": [{"operator": "layernorm",
      "dtype": "float16", "shape": [2, 3, 8], "distribution": {"weight": "uniform"},
      "gates": ["tolerance", "standard:torch"], "faults": [
      {"fault": "flip,bit=14,direction=0to1,site=input,input=weight,at=5", "trials": 3}]}]})");
  const Ran ran = alone("assay replay ops.json --cell 1 --trial 2");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("cell   layernorm float16 2x3x8 normal weight=uniform\n"),
                             HasSubstr("inputs normal, weight: uniform, sizes 2x3x8, seed "),
                             HasSubstr("\nbroke  weight[5]: "), HasSubstr("\n  result[0, 0, 5]  "),
                             HasSubstr("\n  result[1, 2, 5]  "), HasSubstr("\ntolerance: detected"),
                             HasSubstr("\nstandard:torch: detected")));
}

}  // namespace
}  // namespace assay
