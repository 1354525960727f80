// assay gate --shard and assay join: many processes judge the cases of a file.
#include "assay/base/text.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class GateShard : public ProgramTest {
 protected:
  void SetUp() override {
    python(R"py(
import h5py, numpy as np
with h5py.File("g.h5", "w") as f:
    f.attrs["assay_schema"] = 1
    for i in range(11):
        group = f.create_group(f"cases/c{i:02}")
        group.attrs["op"] = "external"
        golden = np.linspace(1, 2, 40, dtype="f4") + np.float32(i)
        output = golden.copy()
        if i in (4, 9): output[3] *= np.float32(1.5)
        for name, values in (("golden", golden), ("outputs/npu", output)):
            group.create_dataset(name, data=values).attrs["dtype"] = "float32"
)py");
  }
  // Returns the result without the fields that differ from run to run.
  nlohmann::ordered_json stripped(const std::string& path) const {
    auto report = json(path);
    report.erase("command");
    for (auto& c : report["cases"]) {
      c.erase("seconds");
      c.erase("reproduce");
    }
    return report;
  }
};

TEST_F(GateShard, JoinedShardsAreTheWholeRun) {
  EXPECT_THAT(run("assay gate g.h5 --json whole.json --histograms -q"), Exits(1));
  for (const int count : {1, 3, 16}) {
    std::string parts;
    for (int i = count; i >= 1; --i) {  // in any order
      const std::string part = formatted("part-{}.json", i);
      const Ran ran =
          run(formatted("assay gate g.h5 --shard {}/{} --json {} --histograms -q", i, count, part));
      const bool has_wrong =
          count == 1 || (count == 3 && i != 3) || (count == 16 && (i == 5 || i == 10));
      EXPECT_THAT(ran, Exits(has_wrong ? 1 : 0)) << i << "/" << count;
      EXPECT_EQ(json(part)["shard"], formatted("{}/{}", i, count));
      parts += " " + part;
    }
    const Ran joined = run("assay join" + parts + " --json all.json");
    EXPECT_THAT(joined, Exits(1)) << count;
    EXPECT_THAT(joined.out, AllOf(HasSubstr("11 cases: 9 pass, 2 fail\n"),
                                  HasSubstr("\nc04: fail: 1 of 40 elements")));
    EXPECT_EQ(stripped("all.json"), stripped("whole.json")) << count;
  }
  // Commands that read results, such as `regate`, read a result of `join` like that of a whole run.
  EXPECT_THAT(run("assay regate all.json --standard torch"), Exits(1));
}

TEST_F(GateShard, PassesWhereAllDo) {
  for (const char* shard : {"1/2", "2/2"}) {
    EXPECT_THAT(
        run(formatted(
            "assay gate g.h5 --rtol 0.6 --atol 0 --max-blind 1 --shard {} --json {}.json -q", shard,
            shard[0])),
        Exits(0));
  }
  EXPECT_THAT(run("assay join 1.json 2.json --json -"), Exits(0));
  const Ran one = run("assay join 1.json");
  EXPECT_EQ(one.code, 2);
  EXPECT_EQ(one.err,
            "error: shard 2 of 2 is missing; `assay gate --shard I/N --json FILE` writes what is "
            "joined\n");
}

TEST_F(GateShard, AnEmptyShardOfASelectionPassesAndSaysSo) {
  for (const char* form : {"", " -q"}) {
    const Ran ran = run(std::string("assay gate g.h5 --case c00 --shard 2/2") + form);
    EXPECT_THAT(ran, Exits(0));
    EXPECT_EQ(ran.out, "shard 2/2 has no case: there are fewer cases (1) than shards\n");
  }
  EXPECT_THAT(run("assay gate g.h5 --case c00 --shard 2/2 -qq").out, testing::IsEmpty());
  // A selection that is empty is not comparable, in every shard.
  python(
      "import h5py\n"
      "for name in ('e1.h5', 'e2.h5'):\n"
      "    with h5py.File(name, 'w') as f:\n"
      "        f.attrs['assay_schema'] = 1\n"
      "        f.create_group('cases')\n");
  for (const char* shard : {"1/2", "2/2"}) {
    EXPECT_THAT(run(formatted("assay gate g.h5 --case none --shard {}", shard)), Code(3)) << shard;
    EXPECT_THAT(run(formatted("assay gate g.h5 --exclude '*' --shard {}", shard)), Code(3))
        << shard;
    EXPECT_THAT(run(formatted("assay gate e1.h5 --shard {}", shard)), Code(3)) << shard;
  }
  EXPECT_THAT(run("assay gate e1.h5 e2.h5 --shard 2/2"), Exits(3, "error: no case was chosen"));
}

TEST_F(GateShard, WhatIsNoShardIsRefused) {
  const Ran wrong = run("assay gate g.h5 --shard 4/3");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--shard 4/3: i/n with i from 1 to n is needed, such as 2/8"));
  write("b.json", R"({"schema": 2, "baseline": []})");
  EXPECT_EQ(run("assay gate g.h5 --shard 1/3 --baseline b.json").code, 2);
  // The output of join cannot be one of its parts.
  EXPECT_EQ(run("assay gate g.h5 --shard 1/1 --json p.json -q").code, 1);
  EXPECT_EQ(run("assay join p.json --json p.json").code, 2);
  EXPECT_EQ(json("p.json")["shard"], "1/1") << "it is left as it was";
}

// Runs the script of a job array as the array's tasks run it.
TEST_F(GateShard, SlurmScript) {
  const std::string script = ASSAY_SOURCE_DIR "/examples/slurm/gate.sbatch";
  const auto task = [&](const std::string& what) {
    return run("export ASSAY=" ASSAY_TOOL "; " + what);
  };
  for (const char* i : {"1", "2", "3"}) {
    EXPECT_THAT(
        task(formatted("SLURM_ARRAY_TASK_ID={} bash {} shard . 3 g.h5 --recorded npu", i, script)),
        Exits(0));
  }
  EXPECT_THAT(task(formatted("bash {} join . 3", script)), Exits(1));
  EXPECT_EQ(json("result.json")["cases"].size(), 11u);
  // A task that cannot begin fails and writes no part, so that `join` fails, too.
  EXPECT_EQ(task(formatted("SLURM_ARRAY_TASK_ID=2 bash {} shard . 3 none.h5", script)).code, 2);
  EXPECT_EQ(task(formatted("bash {} join . 3", script)).code, 2);
  EXPECT_EQ(task(formatted("bash {} shard .", script)).err,
            "usage: gate.sbatch [shard|join] OUT SHARDS [GOLDEN OPTIONS...]\n");
}

// Only the first shard reports a file that cannot be read, so that it is counted once. Each shard
// reports the problems of its own cases.
TEST_F(GateShard, BrokenFilesAreTheFirstShards) {
  write("bad.h5", "no file of HDF5");
  for (int i = 1; i <= 2; ++i) {
    EXPECT_EQ(run(formatted("assay gate g.h5 bad.h5 --shard {0}/2 --json {0}.json -q", i)).code,
              i == 1 ? 2 : 1);
  }
  EXPECT_EQ(run("assay gate g.h5 bad.h5 --json whole.json -q").code, 2);
  const Ran joined = run("assay join 2.json 1.json --json all.json");
  EXPECT_THAT(joined, Exits(2));
  EXPECT_THAT(joined.out, HasSubstr("12 cases: 9 pass, 2 fail, 1 error\n"));
  EXPECT_EQ(json("all.json")["outcome"], "error");
  EXPECT_EQ(json("all.json")["cases"].size(), json("whole.json")["cases"].size());
}

}  // namespace
}  // namespace assay
