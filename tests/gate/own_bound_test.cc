// Tests the operator's own bound, by which a case is judged if no other bound is named. No right
// result of any machine fails it, wrong ones do, and the report names the bound that applied.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/gate/gate.h"
#include "assay/matchers/elementwise.h"
#include "assay/op/chance_unit.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "assay/report.h"
#include "emulated.h"
#include "error_of.h"
#include "generated_operators.h"
#include "tools/program.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kAnyOrder =
    "no machine is named, so that the bound is that of float32 sums in any order; name the machine "
    "for a tighter bound";
constexpr const char* kManyTimes =
    "the bound is more than 100 times the error that is expected of right results: arithmetic of "
    "less precision may pass it; the standard expected_error would tell";
constexpr const char* kAnyFp8 =
    "no machine is named, so that the bound is that of sums that keep 13 bits and are never "
    "promoted, the widest errors known for float8_e4m3fn; name the machine for a tighter bound";

// -- No right result fails it --

// Returns a small case of an operator, with inputs of the size `scale`.
Case drawn(const Operator& op, const char* dtype, double scale,
           const std::map<std::string, Attribute>& attributes) {
  Recipe recipe{&format_named(dtype), {4, 48, 5}};
  // Positive inputs avoid NaN results, which units treat in different ways.
  const bool positive = op.name == "log" || op.name == "sqrt" || op.name == "rsqrt";
  recipe.distribution = parse_distribution(
      formatted("{},scale={}", positive ? "folded_normal" : "normal", short_number(scale)));
  recipe.attributes = attributes;
  if (op.name == "dot") recipe.sizes = {6, 48};
  if (op.name == "attention") recipe.sizes = {6, 40, 8};
  if (op.name == "cast") recipe.attributes["output_dtype"] = std::string("bfloat16");
  if (op.name == "quantize") recipe.attributes["output_dtype"] = std::string("float8_e4m3fn");
  if (op.name == "deform_roi_pool") {
    recipe.sizes = {2, 3, 9, 8, 4};
    recipe.attributes["pooled_height"] = std::int64_t{2};
    recipe.attributes["pooled_width"] = std::int64_t{3};
  }
  Case c = generate_case(op.name, recipe);
  c.output().golden = golden_result(c);
  return c;
}

struct Counts {
  int own = 0, refused = 0;
};

bool has_nan(const Tensor& t) {
  const std::vector<double> values = t.view().values();
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
}

// Compares a machine's result with its operator's own bound, as computed now and as stored.
void expect_no_failure(const Case& c, const Machine& machine, Counts& counts) {
  Tensor output;
  try {
    output = emulate(c, machine);
  } catch (const CaseError&) {
    // The machine has no unit for this case.
    return;
  }
  const Verdict now = gate_case(c, output, {}, {std::string(machine.name), {}}).verdicts.front();
  if (now.bound.origin != "operator") {
    EXPECT_THAT(now.notes, Not(IsEmpty()));
    ++counts.refused;
  } else {
    ++counts.own;
    EXPECT_NE(now.outcome, Outcome::kFail) << explain(now);
    EXPECT_NE(now.outcome, Outcome::kNotComparable) << explain(now);
  }
  // No tolerance can describe how saturating hardware replaces NaN.
  if (now.bound.origin != "operator" && has_nan(*c.output().golden)) return;
  Case stored = c;
  stored.attributes.emplace("machine", std::string(machine.name));
  try {
    for (const auto& [name, value] : derived_tolerance(stored).attributes()) {
      stored.attributes[name] = value;
    }
  } catch (const std::invalid_argument&) {
    return;
  }
  const Verdict v = gate_case(stored, output).verdicts.front();
  EXPECT_EQ(v.bound.origin, "case");
  EXPECT_NE(v.outcome, Outcome::kFail) << "stored: " << explain(v);
}

class EveryOperator : public testing::TestWithParam<std::string> {};

TEST_P(EveryOperator, NoRightResultFailsItsOwnBound) {
  const Operator& op = *find_operator(GetParam());
  Counts counts;
  for (const char* dtype : {"float16", "bfloat16", "float32", "float64", "float8_e4m3fn"}) {
    for (const std::map<std::string, Attribute>& attributes : variants_of(op)) {
      for (const double scale : {1e-6, 1e-4, 1e-2, 1.0, 30.0, 300.0, 1e4}) {
        if (walks_a_share() && scale != 1.0) continue;
        Case c;
        try {
          c = drawn(op, dtype, scale, attributes);
        } catch (const std::invalid_argument&) {
          // The operator does not take the dtype or the parameter.
          continue;
        }
        for (const Machine& machine : machines()) {
          SCOPED_TRACE(formatted("{} on {}", c.name, machine.name));
          expect_no_failure(c, machine, counts);
        }
      }
    }
  }
  std::printf("%s: %d right results judged by the own bound, %d by another\n", op.name.c_str(),
              counts.own, counts.refused);
  EXPECT_GT(counts.own, walks_a_share() ? 10 : 100);
  EXPECT_LT(counts.refused, counts.own) << "the bound is there for what people compute";
}

INSTANTIATE_TEST_SUITE_P(Table, EveryOperator, testing::ValuesIn(generated_operators()),
                         [](const auto& test) { return test.param; });

// The squares of float16 layernorm and rmsnorm saturate on the 910B, and no rounding bounds that.
TEST(OwnBound, IsRefusedWhereAStepLeavesTheRange) {
  for (const char* name : {"layernorm", "rmsnorm"}) {
    Recipe recipe{&format_named("float16"), {8, 512}};
    recipe.distribution = parse_distribution("normal,scale=300");
    Case c = generate_case(name, recipe);
    EXPECT_THAT(error_of([&] { derived_tolerance(c); }),
                testing::AllOf(HasSubstr("no tolerance can be derived: the sum of "),
                               HasSubstr(", beyond float16's largest number, 65504, where units "
                                         "saturate or overflow; compute_dtype=float32 says that "
                                         "they compute in float32")))
        << name;
    c.attributes["compute_dtype"] = std::string("float32");
    c.output().golden = golden_result(c);
    EXPECT_THAT(emulate(c, machine_named("ascend910b")), CloseTo(c).producer("ascend910b")) << name;
  }
}

// At the end of the output's range, a right result is the largest value or infinity, and nothing
// else.
TEST(OwnBound, AtTheEndOfTheRange) {
  Case c;
  c.name = "m";
  c.op = "mul";
  const auto half = [](const std::vector<double>& values) {
    return Tensor::from_values(format_named("float16"), {3}, values);
  };
  c.inputs["a"] = half({300, -300, 2});
  c.inputs["b"] = half({300, 300, 3});
  c.output().golden = golden_result(c);
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(half({inf, -inf, 6}), CloseTo(c));
  EXPECT_THAT(half({65504, -65504, 6}), CloseTo(c));
  EXPECT_THAT(half({-inf, -inf, 6}), Not(CloseTo(c)));
  EXPECT_THAT(half({65504, -65440, 6}), Not(CloseTo(c)));
  EXPECT_THAT(half({std::nan(""), -inf, 6}), Not(CloseTo(c)));
  EXPECT_THAT(half({inf, -inf, inf}), Not(CloseTo(c)));
}

// Saturating hardware replaces NaN, so that its output differs from the golden result.
TEST(OwnBound, OfNanOnSaturatingHardware) {
  Case c;
  c.name = "l";
  c.op = "log";
  c.inputs["x"] = Tensor::from_values(format_named("float32"), {2}, std::vector<double>{-1, 2});
  c.output().golden = golden_result(c);
  const Tensor output = emulate(c, machine_named("ascend910b"));
  const Verdict v = gate_case(c, output, {}, {"ascend910b", {}}).verdicts.front();
  EXPECT_EQ(v.bound.origin, "default");
  EXPECT_THAT(v.notes,
              ElementsAre("judged by the default standard, because the operator's own bound is not "
                          "known: the golden result holds NaN, where ascend910b gives 0; set the "
                          "parameter saturate = 1, and compute the golden result again"));
  c.attributes["saturate"] = std::int64_t{1};
  c.output().golden = golden_result(c);
  EXPECT_THAT(output, CloseTo(c).producer("ascend910b"));
}

// A golden result that is not float64 may have as large an error as the output.
TEST(OwnBound, CountsTheGoldenResultsOwnError) {
  Recipe recipe{&format_named("float32"), {8, 256, 8}};
  Case c = generate_case("matmul", recipe);
  const Tensor one = emulate(c, machine_named("cpu_fma")),
               other = emulate(c, machine_named("ascend910b"));
  c.output().golden = one;
  EXPECT_THAT(other, CloseTo(c));
  const Verdict v = gate_case(c, other).verdicts.front();
  EXPECT_THAT(v.notes, ElementsAre(kAnyOrder,
                                   "the golden result is float32, so that the bound allows its own "
                                   "rounding error, too; a golden result in float64 has none",
                                   kManyTimes));
}

// The bound grows by at most half a spacing of the golden result's format: relative to the value,
// and below the normal range.
TEST(OwnBound, WidensByHalfAnUlpOfTheGoldenResult) {
  Case c = generate_case("exp", {&format_named("float32"), {16}});
  const auto bound = [&] { return *element_checks(c, format_named("float32"), {}).at(0).bound; };
  c.output().golden = golden_result(c);
  ASSERT_EQ(c.output().golden->format().name, "float64");
  const Bound exact = bound();
  ASSERT_EQ(exact.standard, "derived");
  c.output().golden = Tensor::from_values(format_named("float16"), c.output().golden->shape(),
                                          c.output().golden->view().values());
  EXPECT_NEAR(bound().rtol - exact.rtol, 0x1p-11, 1e-15);
  EXPECT_NEAR(bound().atol - exact.atol, 0x1p-25, 1e-15);
}

TEST(OwnBound, FallsBackWithItsReason) {
  Recipe recipe{&format_named("float32"), {4, 8, 4}};
  recipe.attributes["output_dtype"] = std::string("float32");
  Case c = generate_case("matmul", recipe);
  c.output().golden = golden_result(c);
  Tensor output = emulate(c, machine_named("cpu_fma"));
  EXPECT_EQ(gate_case(c, output).verdicts.front().bound.standard, "accumulation");
  const auto verdict = [&] { return gate_case(c, output).verdicts.front(); };
  const Tensor a = c.inputs.at("a");
  c.inputs.at("a").set_bits(0, 0x7f800000);
  EXPECT_EQ(verdict().bound.standard, "accumulation") << "an infinity costs its row the bound";
  EXPECT_EQ(verdict().bound.origin, "operator");
  c.inputs.erase("a");
  EXPECT_EQ(verdict().bound.origin, "default");
  EXPECT_THAT(verdict().notes, ElementsAre(HasSubstr("matmul needs the input 'a'")));
  c.inputs["a"] = a;
  c.output().golden =
      Tensor::from_values(format_named("float64"), {16}, c.output().golden->view().values());
  output = Tensor::from_values(format_named("float32"), {16}, output.view().values());
  EXPECT_THAT(verdict().notes,
              ElementsAre(HasSubstr(
                  "matmul of these inputs has the shape [4, 4], but the golden result has [16]")));
  c.inputs.clear();
  EXPECT_EQ(verdict().bound.origin, "default");
  EXPECT_THAT(verdict().notes, IsEmpty()) << "a golden result alone has the default";
}

// -- Through the command line --

class Default : public ProgramTest {
 protected:
  // Returns a b in float32, with K summed in blocks from the end, as some library may do it.
  static Tensor summed_otherwise(const Case& c) {
    const Shape &a = c.input("a").shape(), &b = c.input("b").shape();
    const std::int64_t m = a[0], k = a[1], n = b[1];
    const std::vector<double> as = c.input("a").view().values(), bs = c.input("b").view().values();
    std::vector<double> values;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t end = k; end > 0; end -= 32) {
          float block = 0;
          for (std::int64_t p = std::max<std::int64_t>(0, end - 32); p < end; ++p) {
            block += static_cast<float>(as[static_cast<std::size_t>(i * k + p)]) *
                     static_cast<float>(bs[static_cast<std::size_t>(p * n + j)]);
          }
          sum += block;
        }
        values.push_back(static_cast<double>(sum));
      }
    }
    return Tensor::from_values(output_format(c), {m, n}, values);
  }

  // Writes a file of outputs of the producer `npu` for the cases of another file.
  template <typename Compute>
  void record(const std::string& golden, const std::string& to, const Compute& compute) const {
    const DatasetFile file(path(golden));
    DatasetWriter writer(path(to));
    for (const std::string& name : file.case_names()) {
      Case c = file.read(name);
      c.output().recorded["npu"].tensor = compute(c);
      c.output().golden = {};
      writer.write(c);
    }
    writer.commit();
  }
};

// Tests the most common kind of file: bfloat16 products from a producer that assay does not know.
TEST_F(Default, HonestBfloat16ProductsPass) {
  ASSERT_THAT(run("assay generate matmul --dtype bfloat16 --shape 32,512,96 --count 12 -q "
                  "--out mm.h5"),
              Exits(0));
  record("mm.h5", "npu.h5", summed_otherwise);
  const Ran ran = run("assay gate mm.h5 --outputs npu.h5 --json r.json --html r.html");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("accumulation (operator)"));
  EXPECT_THAT(ran.out, HasSubstr(formatted("note (12 times): {}", kAnyOrder)));
  EXPECT_THAT(read("r.html"), HasSubstr("accumulation (operator): the bound of accumulation"));
  const nlohmann::json report = json("r.json");
  for (const auto& row : report["cases"]) {
    EXPECT_EQ(row["verdicts"][0]["bound"]["standard"], "accumulation");
    EXPECT_EQ(row["verdicts"][0]["bound"]["origin"], "operator");
  }
  // The rtol of triton_ascend, 5e-3, lies between half an ulp and one ulp, so that it fails right
  // results.
  EXPECT_THAT(run("assay gate mm.h5 --outputs npu.h5 --standard triton_ascend -q"), Code(1));
  for (const char* machine : {"ascend910b", "hopper", "ampere", "cpu_fma", "exact"}) {
    ASSERT_THAT(run(formatted("assay emulate mm.h5 --machine {} --out e.h5 -q", machine)),
                Exits(0));
    EXPECT_THAT(run("assay gate mm.h5 --outputs e.h5 -q"), Exits(0)) << machine;
    EXPECT_THAT(run(formatted("assay gate mm.h5 --machine {} -q", machine)), Exits(0)) << machine;
  }
  // An output with one element that is off by 1 fails.
  record("mm.h5", "bad.h5", [](const Case& c) {
    Tensor output = summed_otherwise(c);
    const double first = c.input("a").view().value_at(0) * c.input("b").view().value_at(0);
    output.set_bits(0, encode(output.format(), output.view().value_at(0) - (first > 0 ? 1 : -1)));
    return output;
  });
  const Ran bad = run("assay gate mm.h5 --outputs bad.h5");
  EXPECT_THAT(bad, Code(1));
  EXPECT_THAT(bad.out, HasSubstr("differs by more than the bound of accumulation (the operator's "
                                 "own bound)"));
}

// The bound is that of float32 in any order. It holds for rows of one sign and of both, for a bias
// and for a split K.
TEST_F(Default, AnyOrderHoldsForEveryOrder) {
  for (const char* dtype : {"float16", "bfloat16", "float32"}) {
    for (const char* draw : {"normal,mean=1", "lognormal,sigma=3", "student_t,nu=2"}) {
      Recipe recipe{&format_named(dtype), {6, 300, 7}};
      recipe.distribution = parse_distribution(draw);
      recipe.attributes["output_dtype"] = std::string("float32");
      Case c = generate_case("matmul", recipe);
      c.output().golden = golden_result(c);
      SCOPED_TRACE(c.name);
      EXPECT_THAT(summed_otherwise(c), CloseTo(c).producer("npu"));
      for (const char* machine :
           {"cpu_fma", "cpu_mul_add", "ascend910b", "ascend910b,chunk=8,order=pairwise"}) {
        for (const std::int64_t split : {0, 37}) {
          c.attributes["split_k"] = split;
          EXPECT_THAT(emulate(c, machine_named(machine)), CloseTo(c).producer("npu")) << machine;
        }
      }
    }
  }
}

TEST_F(Default, FloatEightProductsAreBoundedByTheWidestAccumulator) {
  ASSERT_THAT(run("assay generate matmul --dtype float8_e4m3fn --shape 16,128,16 --count 3 -q "
                  "--out mm.h5"),
              Exits(0));
  for (const char* machine : {"hopper", "ada", "hopper,promotion_interval=128"}) {
    record("mm.h5", "npu.h5", [&](const Case& c) { return emulate(c, machine_named(machine)); });
    // The results are within the bound. But only sums of few bits explain them, and no machine is
    // named, so that the gate does not trust them.
    EXPECT_THAT(run("assay gate mm.h5 --outputs npu.h5 -q"), Exits(4)) << machine;
    EXPECT_THAT(run(std::string("assay gate mm.h5 --outputs npu.h5 --recorded npu --machine '") +
                    machine + "' -q"),
                Exits(0));
    EXPECT_THAT(run("assay gate mm.h5 --outputs npu.h5 --standard accumulation -q"), Exits(0));
  }
  const Case c = DatasetFile(path("mm.h5")).read(DatasetFile(path("mm.h5")).case_names()[0]);
  const Tensor output = emulate(c, machine_named("hopper"));
  EXPECT_THAT(gate_case(c, output, {}, {"npu", {}}).verdicts[0].notes, ElementsAre(kAnyFp8));
  EXPECT_THAT(gate_case(c, output, {}, {"hopper", {}}).verdicts[0].notes, IsEmpty());
  // `npu` names no machine, so that the bound is that of the widest known float8 sums. An element
  // that is far off still fails.
  Tensor broken = output;
  broken.set_bits(0, encode(broken.format(), broken.view().value_at(0) * 2 + 100));
  EXPECT_THAT(broken, Not(CloseTo(c).producer("npu")));
}

// The squares of rmsnorm overflow. No tolerance is stored, and the gate says why it judges by the
// default.
TEST_F(Default, SaysWhyThereIsNone) {
  const std::string generate =
      "assay generate rmsnorm --dtype float16 --shape 4,512 --distribution normal,scale=300 "
      "--name r -q --out r.h5";
  const Ran refused = run(generate + " --tolerance");
  EXPECT_THAT(refused, Code(2));
  EXPECT_THAT(refused.err, HasSubstr("no tolerance can be derived: the sum of the squares may "
                                     "reach "));
  ASSERT_THAT(run(generate), Exits(0));
  const Ran ran = run("assay gate r.h5 --machine ascend910b");
  EXPECT_THAT(ran, Code(1));
  EXPECT_THAT(ran.out, HasSubstr("  default\n"));
  EXPECT_THAT(ran.out, HasSubstr("note: judged by the default standard, because the operator's own "
                                 "bound is not known: no tolerance can be derived: the sum of the "
                                 "squares may reach "));
}

// Products of integers are exact, and those of float64 are summed in float64.
TEST_F(Default, OtherOperands) {
  ASSERT_THAT(run("assay generate matmul --dtype int8 --shape 8,64,8 --distribution "
                  "integers,low=-128,high=127 -q --out i.h5"),
              Exits(0));
  record("i.h5", "npu.h5", [](const Case& c) { return golden_result(c); });
  EXPECT_THAT(run("assay gate i.h5 --outputs npu.h5 -q"), Exits(0));
  Recipe recipe{&format_named("float64"), {6, 300, 7}};
  Case c = generate_case("matmul", recipe);
  c.output().golden = golden_result(c);
  Tensor off = *c.output().golden;
  EXPECT_THAT(off, CloseTo(c).producer("npu"));
  off.set_bits(0, encode(off.format(), off.view().value_at(0) * (1 + 0x1p-40) + 0x1p-40));
  EXPECT_THAT(off, Not(CloseTo(c).producer("npu")));
  EXPECT_THAT(gate_case(c, off, {}, {"npu", {}}).verdicts[0].notes,
              ElementsAre(HasSubstr("the bound is that of float64 sums in any order")));
}

// The table and the JSON report name the bound that applied, and who gave it.
TEST_F(Default, IsNamed) {
  ASSERT_THAT(run("assay generate exp --dtype float32 --shape 40 --name e -q --out e.h5"),
              Exits(0));
  Ran ran = run("assay gate e.h5 --machine hopper --json r.json");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("derived (operator)"));
  EXPECT_EQ(json("r.json")["cases"][0]["verdicts"][0]["bound"]["origin"], "operator");
  EXPECT_EQ(json("r.json")["cases"][0]["verdicts"][0]["bound"]["round_expected"], false);
  ran = run("assay gate e.h5 --machine hopper --standard torch");
  EXPECT_THAT(ran.out, Not(HasSubstr("operator")));
  make("g.h5", {recorded("x", "float32", {3}, {1, 2, 3}, {1, 2, 3})});
  EXPECT_THAT(run("assay gate g.h5").out, HasSubstr("  default\n"));
}

// The float64 golden result of a float64 output is no more exact than the output. The bounds of
// elements therefore include half an ulp of the golden result, and below the normal range the
// smallest number.
TEST(OwnBound, OfFloat64OutputsHasTheGoldenResultsHalfUlp) {
  Case c = generate_case("matmul", {&format_named("float64"), {4, 8, 4}});
  c.output().golden = golden_result(c);
  ASSERT_EQ(c.output().golden->format().name, "float64");
  const Format& f = format_named("float64");
  const Bound bare = own_bound(c, f, nullptr);
  ASSERT_EQ(bare.rule, Rule::kAccumulation);
  const Bound bound = *element_checks(c, f, {}).at(0).bound;
  ASSERT_EQ(bound.rule, Rule::kAccumulation);
  EXPECT_EQ(bound.rtol, bare.rtol + 0x1p-53);
  EXPECT_EQ(bound.atol, bare.atol + 0x1p-1074);
}

// An operator without element bounds is judged only by its derived tolerance. An overflowed result
// is right if the output's dtype can overflow.
TEST(OwnBound, OfAToleranceIsTheDerivedOne) {
  for (const char* name : {"exp", "add", "div", "tanh"}) {
    for (const char* dtype : {"float32", "float16"}) {
      SCOPED_TRACE(std::string(name) + " " + dtype);
      const Case c = generate_case(name, {&format_named(dtype), {6, 8}});
      ASSERT_EQ(find_operator(name)->element_bounds, nullptr);
      const DerivedTolerance derived = derived_tolerance(c);
      const Bound bound = own_bound(c, output_format(c), nullptr);
      EXPECT_EQ(bound.rule, Rule::kTolerance);
      EXPECT_EQ(bound.standard, "derived");
      EXPECT_EQ(bound.rtol, derived.rtol);
      EXPECT_EQ(bound.atol, derived.atol);
      EXPECT_FALSE(bound.round_expected) << "how far a result may be from the exact one";
      EXPECT_TRUE(bound.nan_equal);
      EXPECT_EQ(bound.infinity, Infinity::kSaturating);
    }
  }
  Recipe recipe{&format_named("float32"), {6, 8}};
  recipe.attributes["output_dtype"] = std::string("int8");
  const Case c = generate_case("cast", recipe);
  EXPECT_EQ(own_bound(c, output_format(c), nullptr).infinity, Bound{}.infinity);
}

// An operator whose results are 0, with a deviation of 1/4. The tolerance is the element of the
// input.
Tensor no_result(const Format& output, const Case& c) {
  const std::vector<double> zeros(static_cast<std::size_t>(c.input("x").size()));
  return Tensor::from_values(output, c.input("x").shape(), zeros);
}
Operator quarter_off() {
  Operator row;
  row.name = "quarter_off";
  row.inputs = {{.name = "x", .shape = "(...)"}};
  row.run = [](const Call& call) { return no_result(call.output, call.test_case); };
  row.reference = [](const ReferenceCall& call) { return no_result(call.output, call.test_case); };
  row.tolerance = [](const Case& c) {
    return DerivedTolerance{0, c.input("x").view().value_at(0), "because"};
  };
  row.expected_errors = [](const Case& c, const Machine&, int) {
    ExpectedErrors errors;
    errors.resize(static_cast<std::size_t>(c.input("x").size()));
    std::fill(errors.variance.begin(), errors.variance.end(), 0.0625);
    return errors;
  };
  return row;
}

// Exits with the number of notes about a tolerance of `atol`. It runs in a separate process,
// because other tests list the operators.
[[noreturn]] void exit_by_notes(double atol) {
  register_operator(quarter_off());
  const Format& f = format_named("float32");
  Case c;
  c.name = "far";
  c.op = "quarter_off";
  c.inputs["x"] = Tensor::from_values(f, {2}, std::vector<double>{atol, atol});
  const ElementCheck check = element_checks(c, f, {}).at(0);
  if (check.bound->atol != atol) std::exit(9);
  std::exit(static_cast<int>(std::count(check.notes.begin(), check.notes.end(), kManyTimes)));
}

// The note appears only if the bound is more than 100 times the expected error.
TEST(OwnBound, ThatIsManyTimesTheExpectedErrorSaysSo) {
  EXPECT_EXIT(exit_by_notes(24), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(exit_by_notes(25), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(exit_by_notes(25.5), testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace assay
