// Tests cases with several outputs through the program. h5py made the files from the documentation
// page only.
#include <algorithm>

#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Makes a case of layernorm with the mean and the reciprocal deviation as further outputs, and a
// case of top-k with ties.
const char* const kMake = R"(
import h5py, numpy as np

def put(case, path, data, **attributes):
    data = np.asarray(data)
    case[path] = data
    case[path].attrs["dtype"] = str(data.dtype)
    for name, value in attributes.items():
        case[path].attrs[name] = value

rng = np.random.default_rng(7)
x = rng.standard_normal((4, 32)).astype("f4")
wide = x.astype("f8")
mean = wide.mean(1, keepdims=True)
rstd = 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
y = (wide - mean) * rstd
with h5py.File("several.h5", "w") as f:
    f.attrs["assay_schema"] = 2
    c = f.create_group("cases/layernorm")
    c.attrs["op"] = "layernorm"
    c.attrs["eps"] = 1e-5
    put(c, "inputs/x", x)
    put(c, "golden/y", y)
    put(c, "golden/mean", mean, rtol=0.0, atol=1e-6)
    put(c, "golden/rstd", rstd, standard="torch")
    put(c, "outputs/npu/y", y.astype("f4"))
    put(c, "outputs/npu/mean", mean.astype("f4"))
    put(c, "outputs/npu/rstd", rstd.astype("f4"))
    c["golden/workspace"] = h5py.Empty("f4")
    c["golden/workspace"].attrs["absent"] = True
    put(c, "outputs/npu/workspace", np.zeros(3, "f4"))

    v = np.round(rng.standard_normal((3, 16)) * 2).astype("f4")  # with ties
    order = np.argsort(-v, axis=1, kind="stable")[:, :6]
    other = np.argsort(-v[:, ::-1], axis=1, kind="stable")[:, :6]
    other = 15 - other  # the last of equals first
    c = f.create_group("cases/topk")
    c.attrs["op"] = "external"
    put(c, "inputs/v", v)
    put(c, "golden/values", np.take_along_axis(v, order, 1))
    put(c, "golden/indices", order, standard="indices", of="v", axis=1)
    put(c, "outputs/npu/values", np.take_along_axis(v, other, 1))
    put(c, "outputs/npu/indices", other)
    assert (order != other).any()
)";

class Outputs : public ProgramTest {
 protected:
  void SetUp() override { python(kMake); }
  // Changes several.h5 with h5py.
  void change(const std::string& lines) const {
    python("import h5py, numpy as np\nwith h5py.File('several.h5', 'r+') as f:\n" + lines);
  }
};

TEST_F(Outputs, EachIsJudgedByItsOwnBound) {
  const Ran ran = run("assay gate several.h5 --json r.json --junit r.xml --html r.html");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("\n2 cases of 5 outputs: 2 pass\n"));
  const nlohmann::json result = json("r.json");
  ASSERT_EQ(result["cases"].size(), 5u);
  std::vector<std::string> outputs, standards;
  for (const auto& entry : result["cases"]) {
    outputs.push_back(entry["case"].get<std::string>() + ":" +
                      entry["output_name"].get<std::string>());
    standards.push_back(entry["verdicts"][0]["bound"]["standard"]);
    EXPECT_EQ(entry["outcome"], "pass") << outputs.back();
    EXPECT_EQ(entry["producer"], "npu");
  }
  EXPECT_EQ(outputs, (std::vector<std::string>{"layernorm:mean", "layernorm:rstd", "layernorm:y",
                                               "topk:indices", "topk:values"}));
  // The output that assay's operator computes is judged by the operator's own bound. The other
  // outputs are judged by the bounds of their attributes, or by the default bound.
  EXPECT_EQ(standards,
            (std::vector<std::string>{"custom", "torch", "accumulation", "indices", "default"}));
  EXPECT_EQ(result["cases"][0]["op"], "layernorm");
  EXPECT_THAT(
      result["cases"][0]["verdicts"][0]["notes"].dump(),
      AllOf(
          HasSubstr("judged only by standards: of the outputs of layernorm, assay computes only y"),
          HasSubstr("the case says that these outputs are not to be compared: workspace")));
  EXPECT_THAT(result["cases"][2]["verdicts"][0]["notes"].dump(),
              testing::Not(HasSubstr("judged only by standards")));
  EXPECT_THAT(read("r.xml"), HasSubstr("classname=\"layernorm\" name=\"layernorm:mean\""));
  EXPECT_THAT(read("r.xml"), HasSubstr("tests=\"5\" failures=\"0\""));
  EXPECT_THAT(read("r.html"), HasSubstr("<code>topk:indices</code>"));
}

TEST_F(Outputs, TheWorstOfThemIsTheCases) {
  change("    f['cases/layernorm/outputs/npu/mean'][2, 0] += 1e-3\n");
  const Ran ran = run("assay gate several.h5");
  EXPECT_THAT(ran, Code(1));
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("\n2 cases of 5 outputs: 1 pass, 1 fail\n"),
                    HasSubstr("\nlayernorm:mean: fail: 1 of 4 elements (25.0 %) differs by more "
                              "than atol 1e-06 + rtol 0 * |expected|"),
                    HasSubstr("\nreproduce: assay gate several.h5 --case layernorm "
                              "--recorded npu")));
  EXPECT_THAT(run("assay gate several.h5 --case layernorm --recorded npu"), Code(1));
  EXPECT_THAT(run("assay gate several.h5 --case topk"), Code(0));
}

TEST_F(Outputs, IndicesMayDifferWhereValuesTie) {
  const Ran right = run("assay gate several.h5 --case topk");
  EXPECT_THAT(right, Exits(0));
  // Indices of tied values may also differ if --standard is given, which then applies to the
  // values.
  EXPECT_THAT(run("assay gate several.h5 --case topk --standard torch"), Exits(0));
  change(
      "    f['cases/topk/outputs/npu/indices'][1, 0] = f['cases/topk/outputs/npu/indices'][1, "
      "1]\n");
  const Ran twice = run("assay gate several.h5 --case topk");
  EXPECT_THAT(twice, Code(1));
  EXPECT_THAT(twice.out, HasSubstr("topk:indices: fail: 1 of 18 indices are wrong: 1 a second time "
                                   "in the row"));
  change("    f['cases/topk/outputs/npu/indices'][1, 0] = 16\n");
  EXPECT_THAT(run("assay gate several.h5 --case topk").out, HasSubstr("1 out of range (0 to 15)"));
  // The gate reports a bound that the command line overrides, even if it is the bound of one
  // output.
  EXPECT_THAT(
      run("assay gate several.h5 --case layernorm --standard torch").out,
      HasSubstr(
          "the command line's --standard torch replaced the bounds of 1 case that has its own\n"));
  // Without the standard `indices`, an index is compared as a number.
  change("    del f['cases/topk/golden/indices'].attrs['standard']\n");
  EXPECT_THAT(run("assay gate several.h5 --case topk").out, HasSubstr("topk:indices: fail: "));
}

// Top-k of torch.topk(sorted=False): the order of the k largest does not matter.
TEST_F(Outputs, UnsortedIndicesLeadToTheSameValuesInAnyOrder) {
  change(
      "    c = f['cases/topk']\n"
      "    c['outputs/npu/indices'][...] = c['outputs/npu/indices'][...][:, ::-1]\n");
  EXPECT_THAT(run("assay gate several.h5 --case topk"), Code(1));
  change("    f['cases/topk/golden/indices'].attrs['standard'] = 'indices(unsorted)'\n");
  const Ran ran = run("assay gate several.h5 --case topk --json r.json");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_EQ(json("r.json")["cases"][0]["verdicts"][0]["bound"]["standard"], "indices(unsorted)");
  EXPECT_EQ(json("r.json")["cases"][0]["verdicts"][0]["bound"]["text"],
            "values at the indices, in any order: equality");
  // A given standard applies to the values, and `unsorted` stays.
  EXPECT_THAT(run("assay gate several.h5 --case topk --standard torch --json r.json"), Exits(0));
  EXPECT_EQ(json("r.json")["cases"][0]["verdicts"][0]["bound"]["standard"],
            "indices(torch,unsorted)");
  EXPECT_THAT(run("assay gate several.h5 --case topk --rtol 1e-3 --atol 0"), Exits(0));
  // Each index may occur only once, and an index of a smaller value is wrong.
  change(
      "    i = f['cases/topk/outputs/npu/indices']\n"
      "    v = f['cases/topk/inputs/v'][1]\n"
      "    i[1, 2] = int(np.argmin(v))\n");
  EXPECT_THAT(run("assay gate several.h5 --case topk").out,
              HasSubstr("at a value that differs from that of the same rank (equality)"));
  change("    i = f['cases/topk/outputs/npu/indices']\n    i[1, 2] = i[1, 3]\n");
  EXPECT_THAT(run("assay gate several.h5 --case topk").out,
              HasSubstr("1 of 18 indices are wrong: 1 a second time in the row"));
}

TEST_F(Outputs, FlattenedIndicesArePositionsInTheWholeInput) {
  change(
      "    c = f['cases/topk']\n"
      "    v = c['inputs/v'][...].ravel()\n"
      "    order = np.argsort(-v, kind='stable')[:9].reshape(3, 3)\n"
      "    other = 47 - np.argsort(-v[::-1], kind='stable')[:9].reshape(3, 3)\n"
      "    assert (order != other).any()\n"
      "    for at, data in (('golden', order), ('outputs/npu', other)):\n"
      "        del c[at + '/indices'], c[at + '/values']\n"
      "        c[at + '/indices'] = data\n"
      "        c[at + '/indices'].attrs['dtype'] = 'int64'\n"
      "        c[at + '/values'] = v[data]\n"
      "        c[at + '/values'].attrs['dtype'] = 'float32'\n"
      "    c['golden/indices'].attrs['standard'] = 'indices(flattened)'\n"
      "    c['golden/indices'].attrs['of'] = 'v'\n");
  EXPECT_THAT(run("assay gate several.h5 --case topk"), Exits(0));
  change("    f['cases/topk/outputs/npu/indices'][2, 2] = 48\n");
  EXPECT_THAT(run("assay gate several.h5 --case topk").out, HasSubstr("1 out of range (0 to 47)"));
  change("    f['cases/topk/golden/indices'].attrs['axis'] = 1\n");
  const Ran ran = run("assay gate several.h5 --case topk");
  EXPECT_THAT(ran, Code(3));
  EXPECT_THAT(ran.out, HasSubstr("indices into the flattened input have no axis; leave the "
                                 "attribute out"));
}

TEST_F(Outputs, TheValueOutputGivesTheBoundOfTheValues) {
  change(
      "    f['cases/topk/inputs/v'][0, :2] = [9, 9.001]\n"
      "    c = f['cases/topk']\n"
      "    c['golden/indices'][0] = [0, 1, 2, 3, 4, 5]\n"
      "    c['outputs/npu/indices'][0] = [1, 0, 2, 3, 4, 5]\n"
      "    for at in ('golden', 'outputs/npu'):\n"
      "        c[at + '/values'][0] = c['inputs/v'][0, :6]\n");
  EXPECT_THAT(run("assay gate several.h5 --case topk"), Code(1));
  change(
      "    f['cases/topk/golden/indices'].attrs['value_output'] = 'values'\n"
      "    f['cases/topk/golden/values'].attrs['rtol'] = 1e-3\n"
      "    f['cases/topk/golden/values'].attrs['atol'] = 0.0\n");
  EXPECT_THAT(run("assay gate several.h5 --case topk"), Code(0));
  change("    f['cases/topk/golden/indices'].attrs['value_output'] = 'value'\n");
  EXPECT_THAT(run("assay gate several.h5 --case topk"),
              Exits(2,
                    "error: several.h5: case topk: the value_output of 'indices' is 'value', "
                    "which is not an output of the case; give one of indices, values"));
}

TEST_F(Outputs, AnOutputThatIsMissingIsNotComparable) {
  change("    del f['cases/layernorm/golden/mean'], f['cases/layernorm/outputs/npu/rstd']\n");
  const Ran ran = run("assay gate several.h5");
  EXPECT_THAT(ran, Code(3));
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("layernorm:mean: not_comparable: the output 'mean' of case layernorm "
                              "has no golden result"),
                    HasSubstr("layernorm:rstd: not_comparable: there is no recorded output of "
                              "'npu'")));
}

TEST_F(Outputs, GoldenFillsWhatHasAttributesAlone) {
  change(
      "    g = f['cases/layernorm/golden']\n"
      "    del g['y']\n"
      "    g['y'] = h5py.Empty('f4')\n"
      "    g['y'].attrs.update({'absent': True, 'pending': True, 'standard': 'torch'})\n");
  const Ran missing = run("assay gate several.h5 --case layernorm");
  EXPECT_THAT(missing, Code(3));
  EXPECT_THAT(missing.out, HasSubstr("layernorm:y: not_comparable: the output 'y' of case "
                                     "layernorm has no golden result"));
  EXPECT_THAT(run("assay golden several.h5 --case layernorm --out g.h5"), Exits(0));
  EXPECT_THAT(run("assay gate g.h5 --case layernorm --json r.json"), Exits(0));
  EXPECT_EQ(json("r.json")["cases"][2]["verdicts"][0]["bound"]["standard"], "torch");
  change("    f['cases/layernorm/golden/mean'].attrs['pending'] = True\n");
  EXPECT_THAT(
      run("assay gate several.h5 --case layernorm").err,
      HasSubstr("/cases/layernorm/golden/mean: has the attribute 'pending' without 'absent'; set "
                "absent = 1 if the golden result is yet to be computed, or remove 'pending'"));
}

TEST_F(Outputs, EmulationAndGoldenAreOfWhatTheOperatorComputes) {
  const Ran emulated =
      run("assay emulate several.h5 --case layernorm --machine ascend910b --out e.h5");
  EXPECT_THAT(emulated, Exits(0));
  EXPECT_THAT(emulated.out, HasSubstr("layernorm:y: float32 [4, 32] on ascend910b"));
  EXPECT_THAT(run("assay golden several.h5 --case layernorm --out g.h5"), Exits(0));
  const DatasetFile g(path("g.h5")), e(path("e.h5"));
  EXPECT_EQ(g.info("layernorm").outputs.at("mean").attributes.count("atol"), 1u);
  EXPECT_EQ(e.info("layernorm").outputs.at("y").recorded.count("ascend910b"), 1u);
  EXPECT_EQ(e.info("layernorm").outputs.at("mean").recorded.count("ascend910b"), 0u);
  const Ran gated = run("assay gate several.h5 --case layernorm --machine ascend910b");
  EXPECT_THAT(gated, Code(3));
  EXPECT_THAT(gated.out,
              HasSubstr("layernorm:mean: not_comparable: emulation computes only the output 'y'"));
  change(
      "    f['cases/layernorm/golden'].move('y', 'z')\n"
      "    f['cases/layernorm/outputs/npu'].move('y', 'z')\n");
  EXPECT_THAT(
      run("assay emulate several.h5 --case layernorm --machine ascend910b --out e.h5").err,
      HasSubstr("layernorm computes only one output, which is called 'y' or has the attribute "
                "operator_output = 1, but the case has only mean, rstd, workspace, z"));
  change("    f['cases/layernorm/golden/z'].attrs['operator_output'] = 1\n");
  EXPECT_THAT(run("assay emulate several.h5 --case layernorm --machine ascend910b --out e.h5"),
              Exits(0));
}

TEST_F(Outputs, AFaultNamesTheOneThatBreaks) {
  EXPECT_THAT(run("assay inject several.h5 --fault flip,bit=30,seed=1 --out b.h5").err,
              HasSubstr("case layernorm: has the outputs mean, rstd, workspace, y; choose one in "
                        "the fault, such as output=mean"));
  const Ran injected =
      run("assay inject several.h5 --case layernorm --fault flip,bit=30,output=rstd,at=2:0 "
          "--out b.h5");
  EXPECT_THAT(injected, Exits(0));
  EXPECT_THAT(injected.out, HasSubstr("layernorm:rstd: [2, 0] "));
  const Ran gated = run("assay gate b.h5");
  EXPECT_THAT(gated, Code(1));
  EXPECT_THAT(gated.out, HasSubstr("layernorm:rstd: fail: 1 of 4 elements"));
  make("one.h5", {product("one")});
  EXPECT_THAT(run("assay inject one.h5 --fault flip,bit=3,output=c,seed=1 --out b.h5").err,
              HasSubstr("case one: has only one output, without a name; leave out output=c"));
  EXPECT_THAT(run("assay inject several.h5 --fault flip,bit=3,site=input,input=x,output=y --out "
                  "b.h5"),
              Code(2));
}

// Makes a case of a matrix product with two outputs: the product, and its largest absolute value.
const char* const kProduct = R"(
import h5py, numpy as np
rng = np.random.default_rng(3)
a, b = (rng.standard_normal(s).astype("f4") for s in ((16, 64), (64, 16)))
c, golden = a @ b, a.astype("f8") @ b.astype("f8")
with h5py.File("gemm.h5", "w") as f:
    f.attrs["assay_schema"] = 2
    case = f.create_group("cases/gemm")
    case.attrs["op"] = "matmul"
    for path, data in {"inputs/a": a, "inputs/b": b, "golden/c": golden, "outputs/npu/c": c,
                       "golden/amax": abs(golden).max(), "outputs/npu/amax": abs(c).max()}.items():
        case[path] = data
        case[path].attrs["dtype"] = str(np.asarray(data).dtype)
)";

TEST_F(Outputs, ChecksumsAndCampaignsAreOfWhatTheOperatorComputes) {
  python(kProduct);
  const Ran gated = run("assay gate gemm.h5 --abft --json r.json");
  EXPECT_THAT(gated, Exits(0));
  EXPECT_THAT(gated.out, HasSubstr("\n1 case of 2 outputs: 1 pass\n"));
  const nlohmann::json cases = json("r.json")["cases"];
  EXPECT_FALSE(cases[0].contains("abft"));
  EXPECT_EQ(cases[1]["abft"]["outcome"], "pass");
  const auto plan = [&](const std::string& fault) {
    write("plan.json", R"({"schema": 1, "name": "p", "cells": [{"dataset": "gemm.h5",
      "recorded": "npu", "clean_rows": 16, "gates": ["rounding_variance"], "faults": [)" +
                           fault + "]}]}");
    return run("assay campaign plan.json --json c.json --quiet");
  };
  EXPECT_THAT(plan(R"({"census": 1})"), Exits(0));
  EXPECT_EQ(json("c.json")["cells"][0]["gates"][0]["clean"]["rows"], 16);
  EXPECT_THAT(
      plan(R"({"fault": "flip,bit=3,output=c", "trials": 4})"),
      Exits(2,
            "error: plan.json: cell 1: fault 1: output= is only for single faults in recorded "
            "outputs, and a campaign breaks the output that the operator computes; leave it out"));
}

TEST_F(Outputs, FailuresAndRegateKeepThem) {
  change("    f['cases/layernorm/outputs/npu/mean'][2, 0] += 1e-3\n");
  EXPECT_THAT(run("assay gate several.h5 --save-failures bad.h5 --json r.json --histograms"),
              Code(1));
  const DatasetFile bad(path("bad.h5"));
  EXPECT_EQ(bad.case_names(), std::vector<std::string>{"layernorm"});
  EXPECT_EQ(bad.info("layernorm").outputs.size(), 4u);
  EXPECT_THAT(run("assay gate bad.h5"), Code(1));
  const Ran again = run("assay regate r.json --rtol 0.1 --atol 0.01");
  EXPECT_THAT(again.out, HasSubstr("layernorm:mean"));
}

TEST_F(Outputs, InspectShowsThem) {
  const Ran ran = run("assay inspect several.h5 --case layernorm");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("layernorm:mean "), HasSubstr("npu float32 [4, 1]"),
                             HasSubstr("layernorm:workspace"), HasSubstr("absent"),
                             HasSubstr("  mean: atol: 1e-06\n")));
}

TEST_F(Outputs, SlipsInTheirAttributesAreRefused) {
  change("    f['cases/layernorm/golden/mean'].attrs['rtoll'] = 1.0\n");
  EXPECT_THAT(run("assay gate several.h5"), Code(2));
  EXPECT_THAT(
      run("assay gate several.h5").err,
      HasSubstr("several.h5: /cases/layernorm/golden/mean: its attribute 'rtoll' is unknown: "
                "did you mean 'rtol'?"));
}

}  // namespace
}  // namespace assay
