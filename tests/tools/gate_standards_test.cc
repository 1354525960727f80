// The gate's standards: reference implementations, accumulation, own standards, policies; and
// --mutate.
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
  // Makes outputs of a target that is off by `off` at one element, and of a reference
  // implementation.
  static Case dual(double off, double benchmark_off) {
    Case c = product("x", off, "target");
    c.output().recorded["bench"].tensor =
        product("x", benchmark_off, "bench").output().recorded.at("bench").tensor;
    return c;
  }
};

TEST_F(GateStandards, DualBenchmarkTakesTheOtherProducer) {
  make("same.h5", {dual(0.01, 0.01)});
  EXPECT_THAT(run("assay gate same.h5 --recorded target --standard cann_l2"), Exits(0));
  make("worse.h5", {dual(0.5, 0.01)});
  Ran ran = run("assay gate worse.h5 --recorded target --standard cann_l0 --json r.json");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("over the reference implementation's <= 10 is "));
  const auto limits = json("r.json")["cases"][0]["verdicts"][0]["limits"];
  ASSERT_EQ(limits.size(), 3u);
  EXPECT_EQ(limits[0]["statistic"], "mare_ratio");
  EXPECT_EQ(limits[0]["met"], false);
  EXPECT_NEAR(limits[0]["value"].get<double>(), 50, 0.01);
  EXPECT_THAT(run("assay gate worse.h5 --recorded bench --standard cann_l0"), Exits(0));
}

// A limit on the share of elements does not bound each element. This holds for integers as for
// floats. Distances are those of the integers themselves, even if the dtype does not hold the
// golden result, and if float64 cannot tell two integers apart.
TEST_F(GateStandards, LimitsOfIntegersAreOfAllElements) {
  python(R"py(
import h5py, json, numpy as np
def rule(parameter): return {"limits": {"share_ulp": 0.01}, "parameters": {"share_ulp": parameter}}
with open('own.json', 'w') as f:
    json.dump({"standards": [{"name": "own", "why": "a test", "dtypes": {
        "uint8": rule(4), "int64": rule(0)}}]}, f)
golden = np.arange(50, 250, dtype='i8')
def some(array, count, by):
    array = array.copy()
    array[:count] += by
    return array
with h5py.File('x.h5', 'w') as f:
    f.attrs['assay_schema'] = 1
    def case(name, dtype, golden, output):
        group = f.create_group('cases/' + name)
        group.attrs['op'] = 'external'
        group.attrs['output_dtype'] = dtype
        for at, data in (('golden', golden), ('outputs/npu', output.astype(dtype))):
            group[at] = data
            group[at].attrs['dtype'] = str(data.dtype)
    case('close', 'uint8', golden, golden + 4)
    case('few', 'uint8', golden, some(golden, 1, 5))
    case('many', 'uint8', golden, some(golden, 4, 5))
    case('beyond', 'uint8', some(golden, 4, 1000), np.minimum(some(golden, 4, 1000), 255))
    large = golden + (1 << 60)
    case('large_few', 'int64', large, some(large, 1, 1))
    case('large_many', 'int64', large, some(large, 4, 1))
)py");
  const Ran ran = run("assay gate x.h5 --standards own.json --standard own --json r.json");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, Not(HasSubstr("NaN")));
  std::string outcomes;
  const nlohmann::json report = json("r.json");
  for (const auto& c : report["cases"]) {
    outcomes +=
        formatted("{} {} {:.3g}; ", c["case"].get<std::string>(), c["outcome"].get<std::string>(),
                  c["verdicts"][0]["limits"][0]["value"].get<double>());
  }
  EXPECT_EQ(outcomes,
            "beyond fail 0.02; close pass 0; few pass 0.005; large_few pass 0.005; "
            "large_many fail 0.02; many fail 0.02; ");
}

// The gate reports options that decided nothing.
TEST_F(GateStandards, WhatDecidedNothingIsSaid) {
  make("x.h5", {product("x", 0)});
  const std::string note =
      "note: --standard float16=atb was not used: no judged output is float16\n";
  EXPECT_THAT(run("assay gate x.h5 --standard float16=atb").out, HasSubstr(note));
  EXPECT_THAT(run("assay gate x.h5 --standard float32=torch").out, Not(HasSubstr("note: --st")));
  python(R"py(
import numpy as np
np.save('a.npy', np.ones(4, 'f4'))
np.save('b.npy', np.ones(4, 'f4'))
np.savez('a.npz', x=np.ones(4, 'f4'))
np.savez('b.npz', x=np.ones(4, 'f4'))
)py");
  EXPECT_THAT(run("assay compare a.npy b.npy --standard float16=atb").out, HasSubstr(note));
  EXPECT_THAT(run("assay compare a.npz b.npz --standard float16=atb").out, HasSubstr(note));
  const Ran sums = run("assay gate " ASSAY_SOURCE_DIR
                       "/datasets/samples/operators.h5 --case '*softmax*' --machine cpu_fma "
                       "--abft v_abft");
  EXPECT_THAT(sums.out, HasSubstr("note: --abft v_abft was not used, because no case is a product "
                                  "or attention with its inputs. Only the elements decided\n"));
}

// Judges an output with one unexpected NaN among 1000 elements, also by rules as they were
// published.
TEST_F(GateStandards, APublishedRuleIsAskedForAndSaid) {
  python(R"(
import h5py, numpy as np
golden = np.arange(1, 1001, dtype='f4')
out = golden.copy()
out[7] = np.nan
with h5py.File('nan.h5', 'w') as f:
    f.attrs['assay_schema'] = 1
    case = f.create_group('cases/c')
    case.attrs['op'] = 'external'
    for at, data in (('golden', golden.astype('f2')), ('outputs/npu', out.astype('f2'))):
        case[at] = data
        case[at].attrs['dtype'] = 'float16'
)");
  EXPECT_THAT(run("assay gate nan.h5 --standard ttk_close"), Exits(1));
  // The published rule compares 1 - 999 / 1000 with 0.001. In float64 the difference is larger, so
  // one mismatch of 1000 elements fails under the published rule, too.
  EXPECT_THAT(run("assay gate nan.h5 --standard ttk_close,as_published"), Exits(1));
  const Ran ran = run("assay gate nan.h5 --standard ttk_requant,as_published");
  EXPECT_THAT(ran, Code(3));
  EXPECT_THAT(ran.out, HasSubstr("standard ttk_requant,as_published has no tolerance for float16"));
}

TEST_F(GateStandards, APublishedRuleIsWhatItWasAndIsNamedInEveryReport) {
  python(R"(
import h5py, numpy as np
golden = np.arange(1, 20001, dtype='f4')
out = golden.copy()
out[7] = np.nan
with h5py.File('nan.h5', 'w') as f:
    f.attrs['assay_schema'] = 1
    for name in ('a', 'b'):
        case = f.create_group('cases/' + name)
        case.attrs['op'] = 'external'
        for at, data in (('golden', golden), ('outputs/npu', out)):
            case[at] = data
            case[at].attrs['dtype'] = 'float32'
    f['cases/b'].attrs['standard'] = 'verify_result, as_published'
)");
  EXPECT_THAT(run("assay gate nan.h5 --case a --standard verify_result"), Exits(1));
  const Ran ran =
      run("assay gate nan.h5 --case a --standard verify_result,as_published --json r.json --junit "
          "r.xml --html r.html");
  EXPECT_THAT(ran, Exits(0));
  const std::string note =
      "judged by verify_result as it was published: a NaN or an infinity on only one side counts "
      "as one of the allowed mismatches";
  EXPECT_THAT(ran.out, AllOf(HasSubstr("verify_result,as_published"), HasSubstr(note)));
  const nlohmann::json c = json("r.json")["cases"][0];
  EXPECT_EQ(c["verdicts"][0]["bound"]["standard"], "verify_result,as_published");
  EXPECT_EQ(c["because"],
            "1 of 20 000 elements are mismatches, and at most a share of 0.0001 may be");
  EXPECT_EQ(c["verdicts"][0]["mismatches"], 1);
  EXPECT_EQ(c["verdicts"][0]["notes"][0], note);
  EXPECT_THAT(c["verdicts"][0]["notes"][1].get<std::string>(),
              HasSubstr("verify_result itself says fail: "));
  EXPECT_THAT(read("r.xml"), HasSubstr(note));
  EXPECT_THAT(read("r.html"), HasSubstr("verify_result,as_published"));
  // A case's attribute may also name a standard as it was published.
  EXPECT_THAT(run("assay gate nan.h5 --case b --json r.json --histograms"), Exits(0));
  EXPECT_EQ(json("r.json")["cases"][0]["verdicts"][0]["bound"]["standard"],
            "verify_result,as_published");
  // as_published cannot be combined with other options, and standards without a known gap refuse
  // it.
  EXPECT_THAT(run("assay gate nan.h5 --case a --standard verify_result,as_published --equal-nan"),
              Exits(2,
                    "error: nan.h5: standard verify_result,as_published cannot be used together "
                    "with a tolerance, budget or policy; give only one of them"));
  EXPECT_THAT(run("assay gate nan.h5 --standard torch,as_published"),
              Exits(2,
                    "error: standard 'torch,as_published': assay already judges by torch as it was "
                    "published, as far as is known; leave out as_published"));
  EXPECT_THAT(run("assay regate r.json --standard verify_result,as_published").out,
              HasSubstr("verify_result,as_published judges the elements as the original does"));
  EXPECT_THAT(run("assay list standards").out,
              HasSubstr("\n  as it was published (use verify_result,as_published): a "
                        "NaN or an infinity on only one side"));
}

TEST_F(GateStandards, BenchmarkIsChosenNamedAndNeverTheTarget) {
  Case c = dual(0.5, 0.01);
  c.output().recorded["third"].tensor = c.output().recorded.at("bench").tensor;
  make("g.h5", {c});
  const std::string gate = "assay gate g.h5 --recorded target --standard cann_l0";
  Ran ran = run(gate);
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("choose one: bench, third"));
  ran = run(gate + " --reference-implementation third");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("--reference-implementation third")) << "in the reproducer line";
  EXPECT_THAT(run(gate + " --reference-implementation fourth").err,
              testing::StartsWith("error: --reference-implementation: unknown producer 'fourth'"));
  EXPECT_THAT(run(gate + " --reference-implementation target"),
              Exits(2,
                    "error: --reference-implementation target: this producer is judged, so it "
                    "cannot be its own reference"));
  make("alone.h5", {product("x", 0, "target")});
  ran = run("assay gate alone.h5 --standard cann_l0");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out,
              HasSubstr("the case has no recorded output but that of 'target', which is judged"));
}

TEST_F(GateStandards, AccumulationOfAMachine) {
  const std::string gate = formatted("assay gate {} --recorded h200 --case 'layer0/*'", sample());
  EXPECT_THAT(run(gate + " --standard 'accumulation(hopper)' -q"), Exits(0));
  make("g.h5", {product("x")});
  const Ran ran = run("assay gate g.h5 --standard accumulation");
  EXPECT_THAT(ran, Exits(0)) << "float32 sums in any order";
  EXPECT_THAT(run(gate + " --standard 'accumulation(hoper)'").err,
              HasSubstr("unknown machine 'hoper': did you mean 'hopper'?"));
  // `accumulation` takes the bound of the emulated machine.
  EXPECT_THAT(run(formatted("assay gate {} --machine ampere --standard accumulation --case "
                            "'layer0/*' -q",
                            sample())),
              Exits(0));
  EXPECT_THAT(
      run(formatted("assay inject {0} --recorded h200 --fault flip,bit=10,seed=1 --out b.h5 -q"
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
  EXPECT_THAT(ran.out, HasSubstr("the command line's --max-mismatches 1 replaced the bounds of 1 "
                                 "case that has its own\n"));
  // An option that leaves the case's bound unchanged overrides nothing.
  for (const char* option : {"--infinity fewer", "--standard bfloat16=atb", "--equal-nan"}) {
    EXPECT_THAT(run(std::string("assay gate g.h5 ") + option).out,
                Not(HasSubstr("the command line's")))
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
  const Ran ran = run(formatted(
      "assay gate {} --recorded h200 --case layer0/qkv.dgrad --mutate --abft --json r.json",
      sample()));
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("abft  let through"));
  const auto saved = json("r.json");
  for (const auto& m : saved["cases"][0]["mutations"]) {
    EXPECT_EQ(m.contains("abft"), m["applied"] == true) << m;
  }
}

// The same rule holds for a case and for two arrays. `torch` takes the looser tolerance of both
// dtypes, as torch.testing.assert_close(check_dtype=False) does. The value is compared with 1.
// Values that pass only by the looser tolerance lie between the tolerances of both dtypes.
TEST_F(GateStandards, TorchTakesTheLooserToleranceOfBothDtypes) {
  const struct {
    const char *output, *golden;
    double value;
    const char* outcome;
  } rows[] = {
      {"float32", "float16", 1 + 0x1p-11, "pass"}, {"float16", "float32", 1 + 0x1p-10, "pass"},
      {"float32", "float32", 1 + 0x1p-11, "fail"}, {"float64", "float32", 1 + 9e-6, "pass"},
      {"float32", "float64", 1 + 0x1p-17, "pass"}, {"float64", "float64", 1 + 9e-6, "fail"},
      {"bfloat16", "float32", 1 + 0x1p-7, "pass"}, {"float32", "bfloat16", 1 + 0x1p-7, "pass"},
      {"bfloat16", "float16", 1 + 0x1p-7, "pass"}, {"float16", "bfloat16", 1 + 0x1p-7, "pass"},
      {"float16", "bfloat16", 1 + 0x1p-5, "fail"}, {"float16", "float32", 1 + 0x1p-9, "fail"},
      {"float32", "float16", 1 + 0x1p-9, "fail"}};
  const auto bytes_of = [](const Tensor& t) {
    const TensorView v = t.view();
    return std::string(reinterpret_cast<const char*>(v.data),
                       static_cast<std::size_t>(v.size() * v.format->storage_bytes));
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(formatted("{} against {}: {}", row.output, row.golden, row.value));
    Case c;
    c.name = "x";
    c.op = "external";
    c.attributes["output_dtype"] = std::string(row.output);
    c.output().golden =
        Tensor::from_values(format_named(row.golden), {2}, std::vector<double>{1, 1});
    c.output().recorded["p"].tensor =
        Tensor::from_values(format_named(row.output), {2}, std::vector<double>{1, row.value});
    ASSERT_EQ(c.output().recorded["p"].tensor.view().value_at(1), row.value);
    make("x.h5", {c});
    write("output.raw", bytes_of(c.output().recorded["p"].tensor));
    write("golden.raw", bytes_of(*c.output().golden));
    const int code = row.outcome == std::string("pass") ? 0 : 1;
    EXPECT_THAT(run("assay gate x.h5 --recorded p --standard torch --json gate.json"), Exits(code));
    const Ran compared =
        run(formatted("assay compare output.raw golden.raw --standard torch --dtype-actual {} "
                      "--dtype-expected {} "
                      "--json compare.json",
                      row.output, row.golden));
    EXPECT_EQ(compared.code, code) << compared.out << compared.err;
    const auto of_gate = json("gate.json")["cases"][0], of_compare = json("compare.json");
    EXPECT_EQ(of_gate["outcome"], row.outcome);
    EXPECT_EQ(of_gate["because"], of_compare["because"]);
    EXPECT_EQ(of_gate["verdicts"][0]["bound"], of_compare["bound"]);
  }
}

TEST_F(GateStandards, EveryReportSaysWhichVersion) {
  const std::string gate =
      formatted("assay gate {} --recorded h200 --case layer0/qkv.dgrad", sample());
  for (const auto& [asked, version] :
       {std::pair("cann_ecosystem", "cann_ecosystem@2026-07"), std::pair("atb", "atb@2026-05"),
        std::pair("cann_ecosystem@2025", "cann_ecosystem@2025"),
        std::pair("mixed", "ttk_mixed@2026-09")}) {
    const Ran ran =
        run(formatted("{} --standard {} --json r.json --junit r.xml --html r.html", gate, asked));
    EXPECT_THAT(ran.out, HasSubstr(version));
    EXPECT_THAT(read("r.xml"),
                HasSubstr(formatted("<property name=\"standard\" value=\"{}\"/>", version)));
    EXPECT_THAT(read("r.html"), HasSubstr(version));
    EXPECT_EQ(json("r.json")["cases"][0]["verdicts"][0]["bound"]["standard"], version);
  }
  EXPECT_THAT(
      run(gate + " --standard cann_ecosystem@2024").err,
      HasSubstr("unknown standard 'cann_ecosystem@2024': did you mean 'cann_ecosystem@2025'?"));
}

TEST_F(GateStandards, PublishedOnesAsAFile) {
  EXPECT_THAT(run("assay list standards --json s.json -q"), Exits(0));
  const auto file = json("s.json");
  EXPECT_EQ(file["standards"].size(), standards().size());
  EXPECT_EQ(file["standards"][0]["repository"], "assay");
  EXPECT_EQ(file["standards"][1]["repository"], "triton-lang/triton-ascend");
  // A file with a standard of a published name is refused. Under another name, the same standard
  // counts as the user's own.
  const std::string gate =
      formatted("assay gate {} --recorded h200 --case layer0/qkv.dgrad", sample());
  EXPECT_THAT(run(gate + " --standards s.json --standard torch").err,
              HasSubstr("the name is taken by a published standard"));
  auto own = file["standards"][0];
  own["name"] = "mine";
  write("own.json", R"({"standards": [)" + own.dump() + "]}");
  const Ran ran = run(gate + " --standards own.json --standard mine --json r.json");
  EXPECT_THAT(ran, Exits(run(gate + " --standard triton_ascend").code));
  EXPECT_EQ(json("r.json")["cases"][0]["verdicts"][0]["bound"]["standard"], "mine");
  EXPECT_THAT(run("assay list faults --json f.json"),
              Exits(2,
                    "error: --json writes only the table of standards: assay list standards "
                    "--json FILE"));
}

TEST_F(GateStandards, ListHasEveryStandard) {
  const Ran ran = run("assay list standards");
  EXPECT_THAT(ran, Exits(0));
  for (const Standard& s : standards()) {
    EXPECT_THAT(ran.out, HasSubstr(formatted("{}: {}\n  published: {}\n",
                                             s.name == kDefaultStandard ? " (default)" : "",
                                             s.source, s.publication.text())));
    EXPECT_THAT(ran.out, HasSubstr(formatted("{}", s.name)));
  }
  EXPECT_THAT(ran.out, HasSubstr("cann_ecosystem@2026-07, also cann_ecosystem: "));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("rtol 0.00390625 * max(1, |expected|)"),
                             HasSubstr("MERE < 0.000977, MARE < 0.00977"), Not(HasSubstr("nan"))));
}

}  // namespace
}  // namespace assay
