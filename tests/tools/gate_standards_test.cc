// The gate's standards: benchmarks, accumulation, own standards, policies; and --mutate.
#include "assay/base/text.h"
#include "assay/judge/standards.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class GateStandards : public ProgramTest {
 protected:
  // Outputs of a target that is off by `off` at one element, and of a benchmark.
  static Case dual(double off, double benchmark_off) {
    Case c = product("x", off, "target");
    c.outputs["bench"] = product("x", benchmark_off, "bench").outputs.at("bench");
    return c;
  }
};

TEST_F(GateStandards, DualBenchmarkTakesTheOtherProducer) {
  make("same.h5", {dual(0.01, 0.01)});
  EXPECT_THAT(run("assay gate same.h5 --recorded target --standard cann_l2"), Exits(0));
  make("worse.h5", {dual(0.5, 0.01)});
  Ran ran = run("assay gate worse.h5 --recorded target --standard cann_l0 --json r.json");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("over the benchmark's <= 10 is "));
  const auto limits = json("r.json")["cases"][0]["limits"];
  ASSERT_EQ(limits.size(), 3u);
  EXPECT_EQ(limits[0]["statistic"], "mare_ratio");
  EXPECT_EQ(limits[0]["met"], false);
  EXPECT_NEAR(limits[0]["value"].get<double>(), 50, 0.01);
  EXPECT_THAT(run("assay gate worse.h5 --recorded bench --standard cann_l0"), Exits(0));
}

TEST_F(GateStandards, BenchmarkIsChosenNamedAndNeverTheTarget) {
  Case c = dual(0.5, 0.01);
  c.outputs["third"] = c.outputs.at("bench");
  make("g.h5", {c});
  const std::string gate = "assay gate g.h5 --recorded target --standard cann_l0";
  Ran ran = run(gate);
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("choose one with --benchmark: bench, third"));
  ran = run(gate + " --benchmark third");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("--benchmark third")) << "in the reproducer line";
  EXPECT_THAT(run(gate + " --benchmark fourth").err,
              testing::StartsWith("error: --benchmark: unknown producer 'fourth'"));
  EXPECT_THAT(run(gate + " --benchmark target"),
              Exits(2, "error: --benchmark target: an output is no benchmark of itself"));
  make("alone.h5", {product("x", 0, "target")});
  ran = run("assay gate alone.h5 --standard cann_l0");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("there is none but 'target'"));
}

TEST_F(GateStandards, AccumulationOfAMachine) {
  const std::string gate = format("assay gate {} --recorded h200 --case 'layer0/*'", sample());
  EXPECT_THAT(run(gate + " --standard 'accumulation(hopper)' -q"), Exits(0));
  make("g.h5", {product("x")});
  const Ran ran = run("assay gate g.h5 --standard accumulation");
  EXPECT_THAT(ran, Exits(0)) << "float32 sums in any order";
  EXPECT_THAT(run(gate + " --standard 'accumulation(hoper)'").err,
              HasSubstr("unknown machine 'hoper': did you mean 'hopper'?"));
  // The emulated machine is whose accumulation it is.
  EXPECT_THAT(run(format("assay gate {} --machine ampere --standard accumulation --case "
                         "'layer0/*' -q",
                         sample())),
              Exits(0));
  EXPECT_THAT(run(format("assay inject {0} --recorded h200 --fault flip,bit=10,seed=1 --out b.h5 -q"
                         " && assay gate {0} --outputs b.h5 --recorded h200 --case 'layer0/*' "
                         "--standard 'accumulation(hopper)' -q",
                         sample())),
              Code(1));
}

TEST_F(GateStandards, OwnStandardsFromAFile) {
  make("g.h5", {product("x", 0.25)});
  write("own.json", R"({"standards": [{"name": "loose", "why": "a test",
      "dtypes": {"float32": {"rtol": 0, "atol": 0.3}}}]})");
  EXPECT_THAT(run("assay gate g.h5 --standard torch -q"), Exits(1));
  EXPECT_THAT(run("assay gate g.h5 --standards own.json --standard loose -q"), Exits(0));
  Ran ran = run("assay gate g.h5 --standards own.json --standard lose");
  EXPECT_THAT(ran, Code(2));
  EXPECT_THAT(ran.err, HasSubstr("unknown standard 'lose': did you mean 'loose'?"));
  write("bad.json", R"({"standards": [{"name": "l", "why": "a", "dtype": {}}]})");
  ran = run("assay gate g.h5 --standards bad.json");
  EXPECT_THAT(ran, Code(2));
  EXPECT_THAT(ran.err,
              HasSubstr("bad.json: standard 'l': unknown key 'dtype': did you mean 'dtypes'?"));
  EXPECT_THAT(run("assay gate g.h5 --standards none.json"),
              Exits(2, "error: none.json: cannot be read: No such file or directory"));
}

TEST_F(GateStandards, PerDtypeAndBudgetsAndOverridesAreSaid) {
  Case c = product("x", 0.25);
  c.attributes["standard"] = std::string("ulp(1)");
  make("g.h5", {c});
  EXPECT_THAT(run("assay gate g.h5 -q"), Exits(1));
  EXPECT_THAT(run("assay gate g.h5 --standard bfloat16=atb -q"), Exits(1)) << "the case's own";
  const Ran ran = run("assay gate g.h5 --max-mismatches 1");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("judged by --max-mismatches 1 of the command line, over the own "
                                 "bounds of 1 case\n"));
  // What leaves the case's bound as it is goes over nothing.
  for (const char* option : {"--infinity fewer", "--standard bfloat16=atb", "--equal-nan"}) {
    EXPECT_THAT(run(std::string("assay gate g.h5 ") + option).out, Not(HasSubstr("judged by")))
        << option;
  }
  EXPECT_THAT(run("assay gate g.h5 --max-mismatch-fraction 0.1 -q"), Exits(1));
  EXPECT_THAT(run("assay gate g.h5 --max-mismatch-fraction 0.2 -q"), Exits(0));
  EXPECT_THAT(run("assay gate g.h5 --max-mismatches -1"), Code(2));
  EXPECT_THAT(run("assay gate g.h5 --max-mismatch-fraction 1.5"), Code(2));
  EXPECT_THAT(run("assay gate g.h5 --infinity maybe").err, HasSubstr("sign, saturating, fewer"));
}

TEST_F(GateStandards, MutateSaysWhatTheGateLetsThrough) {
  make("g.h5", {product("x"), product("bad", 0.5)});
  Ran ran = run("assay gate g.h5 --standard torch --mutate --json r.json --case x");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("mutations of the 1 of 1 outputs that passed"),
                             HasSubstr("one_ulp"), HasSubstr("let through")));
  const auto result = json("r.json");
  std::map<std::string, nlohmann::json> by_name;
  for (const auto& m : result["cases"][0]["mutations"]) by_name[m["mutation"]] = m;
  ASSERT_EQ(by_name.size(), 10u);
  EXPECT_EQ(by_name["sign"]["elementwise"], "fail");
  EXPECT_EQ(by_name["sign"]["caught"], true);
  EXPECT_EQ(by_name["one_ulp"]["caught"], false);
  EXPECT_EQ(by_name["stale_tile"]["applied"], false);
  EXPECT_EQ(by_name["dropped_k_chunk"]["caught"], true);
  EXPECT_EQ(result["mutations"]["applied"].get<int>(),
            result["mutations"]["caught"].get<int>() + 1);
  // Bit equality lets nothing through; a failing output is not mutated.
  ran = run("assay gate g.h5 --standard bit_equal --mutate --mutate-min 1 --case x -q");
  EXPECT_THAT(ran, Exits(0));
  ran = run("assay gate g.h5 --standard torch --mutate");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("mutations of the 1 of 2 outputs that passed"));
}

TEST_F(GateStandards, MutateMinIsAnExitCode) {
  make("g.h5", {product("x")});
  EXPECT_THAT(run("assay gate g.h5 --standard torch --mutate --mutate-min 0.5 -q"), Exits(0));
  const Ran ran = run("assay gate g.h5 --standard torch --mutate --mutate-min 1 -q");
  EXPECT_THAT(ran, Code(1));
  EXPECT_THAT(ran.err, HasSubstr("--mutate-min asks for 1"));
  EXPECT_THAT(run("assay gate g.h5 --mutate-min 1"), Code(2)) << "needs --mutate";
}

TEST_F(GateStandards, ChecksumsSeeMutations) {
  const Ran ran = run(
      format("assay gate {} --recorded h200 --case layer0/qkv.dgrad --mutate --abft --json r.json",
             sample()));
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("abft  let through"));
  const auto saved = json("r.json");
  for (const auto& m : saved["cases"][0]["mutations"]) {
    EXPECT_EQ(m.contains("abft"), m["applied"] == true) << m;
  }
}

TEST_F(GateStandards, ListHasEveryStandard) {
  const Ran ran = run("assay list standards");
  EXPECT_THAT(ran, Exits(0));
  for (const Standard& s : standards()) {
    EXPECT_THAT(ran.out,
                HasSubstr(format("{}{}: {}\n", s.name,
                                 s.name == kDefaultStandard ? " (default)" : "", s.source)));
  }
  EXPECT_THAT(ran.out, AllOf(HasSubstr("rtol 0.00390625 * max(1, |expected|)"),
                             HasSubstr("MERE < 0.000977, MARE < 0.00977"), Not(HasSubstr("nan"))));
}

}  // namespace
}  // namespace assay
