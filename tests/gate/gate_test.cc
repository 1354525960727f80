// Tests what the gate chooses: reference implementations, machines, tolerances, sampled rows and
// checksums. Many tests go through other callers, such as matchers and the runner of dataset tests.
#include "assay/gate/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/campaign/detector.h"
#include "assay/datasets/runner/file_gate.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/gate/product_gate.h"
#include "assay/matchers/abft_close.h"
#include "assay/matchers/amplification.h"
#include "assay/matchers/elementwise.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "assay/report.h"
#include "error_of.h"
#include "tools/program.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

Tensor floats(const std::vector<float>& values, const Shape& shape) {
  const std::vector<double> wide(values.begin(), values.end());
  return Tensor::from_values(format_named("float32"), shape, wide);
}

void set_value(Tensor& t, std::int64_t linear, double value) {
  t.set_bits(linear, encode(t.format(), value));
}

// Returns a case whose golden result is 1, 2, 3, 4, with outputs that are off by a part of each
// element.
Case dual(const std::map<std::string, double>& off) {
  Case c;
  c.name = "x";
  c.op = "softmax";
  c.inputs.emplace("x", floats({1, 2, 3, 4}, {4}));
  c.output().golden = floats({1, 2, 3, 4}, {4});
  for (const auto& [producer, part] : off) {
    std::vector<float> values;
    for (const float v : {1.0F, 2.0F, 3.0F, 4.0F}) {
      values.push_back(v * static_cast<float>(1 + part));
    }
    c.output().recorded[producer].tensor = floats(values, {4});
  }
  return c;
}

// Returns a 2 x 16 product of equal factors, a of 1/4 and b of 1/2, with its golden result.
Case product(std::int64_t k, const char* dtype = "float32") {
  Case c;
  c.name = "p";
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string(dtype);
  const std::vector<double> a(static_cast<std::size_t>(2 * k), 0.25),
      b(static_cast<std::size_t>(16 * k), 0.5);
  c.inputs.emplace("a", Tensor::from_values(format_named("float16"), {2, k}, a));
  c.inputs.emplace("b", Tensor::from_values(format_named("float16"), {k, 16}, b));
  c.output().golden = golden_result(c);
  return c;
}

TEST(AttributeNames, ASlipIsTheCasesFaultForEveryCaller) {
  Case c = dual({{"p", 0.0}});
  const Tensor& output = c.output().recorded.at("p").tensor;
  EXPECT_EQ(MeetsStandard("torch", c).check(output).outcome, Outcome::kPass);
  c.attributes["standrad"] = std::string("torch");
  const std::string refusal =
      "case x: its attribute 'standrad' is unknown: did you mean 'standard'?";
  EXPECT_THAT(error_of([&] { (void)MeetsStandard("torch", c).check(output); }),
              testing::StartsWith(refusal));
  EXPECT_THAT(error_of([&] { (void)CloseTo(c).check(output); }), testing::StartsWith(refusal));
  EXPECT_THAT(error_of([&] { (void)gate_case(c, output); }), testing::StartsWith(refusal));
  EXPECT_THAT(error_of([&] { (void)gate_emulated(c, machine_named("exact"), {}); }),
              testing::StartsWith(refusal));
}

// Misspelled attributes are refused even if no standard is requested, because a misspelling could
// change the reference of a checksum.
TEST(AttributeNames, ASlipIsSaidWhateverIsAsked) {
  Case c = product(16);
  const Tensor output = emulate(c, machine_named("hopper"));
  GateRequest request;
  request.elements = false;
  request.checksums = parse_threshold("rounding_variance");
  EXPECT_EQ(gate_case(c, output, request).outcome(), Outcome::kPass);
  c.attributes["splitk"] = std::int64_t{8};
  const std::string refusal = "case p: its attribute 'splitk' is unknown: did you mean 'split_k'?";
  EXPECT_THAT(error_of([&] { (void)gate_case(c, output, request); }), testing::StartsWith(refusal));
  c.output().golden = {};
  EXPECT_THAT(error_of([&] { (void)gate_case(c, output); }), testing::StartsWith(refusal));
}

TEST(AttributeNames, OneToleranceSetsTheOtherToZero) {
  Case c = dual({{"p", 0.0}});
  const auto text = [&] {
    return gate_case(c, c.output().recorded.at("p").tensor).verdicts[0].bound.text();
  };
  c.attributes["rtol"] = 0.5;
  EXPECT_EQ(text(), "atol 0 + rtol 0.5 * |expected|");
  c.attributes["atol"] = 0.25;
  EXPECT_EQ(text(), "atol 0.25 + rtol 0.5 * |expected|");
  c.attributes.erase("rtol");
  EXPECT_EQ(text(), "atol 0.25 + rtol 0 * |expected|");
}

// The example of the issue that led to this rule: an error of 27 percent passed because of the atol
// of a standard that nobody had named.
TEST(AttributeNames, ARelativeToleranceHoldsForSmallValues) {
  Case c;
  c.name = "small";
  c.output().golden =
      Tensor::from_values(format_named("float32"), {2}, std::vector<double>{3e-5, 1});
  const Tensor output =
      Tensor::from_values(format_named("float32"), {2}, std::vector<double>{3.8e-5, 1});
  EXPECT_EQ(gate_case(c, output).outcome(), Outcome::kPass);
  const Verdict v = gate_case(c, output, {.bounds = {.rtol = 1e-3}}).verdicts[0];
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_THAT(v.because, HasSubstr("differs by more than atol 0 + rtol 0.001 * |expected|"));
  c.attributes["rtol"] = 1e-3;
  EXPECT_EQ(gate_case(c, output).outcome(), Outcome::kFail);
}

TEST(Benchmark, IsTheOtherProducersOutput) {
  const Case c = dual({{"target", 0.02}, {"bench", 0.001}});
  const auto by = [&](const char* producer) {
    return MeetsStandard("cann_l0", c).check(c.output().recorded.at(producer).tensor);
  };
  EXPECT_EQ(by("target").outcome, Outcome::kFail);
  EXPECT_THAT(by("target").text, HasSubstr("over the reference implementation's <= 10 is "));
  EXPECT_EQ(by("bench").outcome, Outcome::kPass);
  // A copy has the same numbers at another address, so that the caller must name the producer.
  const Tensor copy = c.output().recorded.at("target").tensor;
  EXPECT_THAT(MeetsStandard("cann_l0", c).check(copy).text, HasSubstr("choose one: bench, target"));
  EXPECT_EQ(MeetsStandard("cann_l0", c).producer("target").check(copy).outcome, Outcome::kFail);
  EXPECT_EQ(MeetsStandard("cann_l0", c).reference_implementation("bench").check(copy).outcome,
            Outcome::kFail);
  EXPECT_EQ(
      MeetsStandard("cann_l0", c)
          .reference_implementation("target")
          .check(c.output().recorded.at("target").tensor)
          .text,
      "reference implementation 'target': an output cannot be its own reference implementation");
}

TEST(Benchmark, IsMissing) {
  const Case alone = dual({{"target", 0.5}});
  EXPECT_EQ(MeetsStandard("cann_l0", alone).check(alone.output().recorded.at("target").tensor).text,
            "the standard compares with a reference implementation's output, but the case has no "
            "recorded "
            "output but that of 'target', which is judged; add the output of another producer to "
            "the case");
  const Case none = dual({});
  const Tensor out = *none.output().golden;
  EXPECT_EQ(MeetsStandard("cann_l0", none).check(out).text,
            "the standard compares with a reference implementation's output, but the case has no "
            "recorded "
            "output; add the output of another producer to the case");
  EXPECT_EQ(MeetsStandard("cann_l0", alone).reference_implementation("other").check(out).text,
            "there is no recorded output of the reference implementation 'other'");
}

// If a request names the accumulation of two machines, each has its own bounds.
TEST(Accumulation, OfSeveralMachinesAtOnce) {
  const Case c = product(512);
  Tensor output = emulate(c, machine_named("hopper"));
  GateRequest request;
  request.bounds.standards = {"accumulation(hopper)", "accumulation(ascend910b)"};
  // Hopper keeps fewer bits, so that an error within its bound may be beyond the other machine's.
  const std::vector<ElementCheck> checks = element_checks(c, output.format(), request);
  const double wide = checks[0].element_bounds->view().value_at(0),
               narrow = checks[1].element_bounds->view().value_at(0);
  ASSERT_GT(wide, 2 * narrow);
  set_value(output, 0, c.output().golden->view().value_at(0) + (wide + narrow) / 2);
  const CaseReport report = gate_case(c, output, request);
  EXPECT_EQ(report.verdicts[0].outcome, Outcome::kPass);
  EXPECT_EQ(report.verdicts[1].outcome, Outcome::kFail);
  EXPECT_EQ(report.because(), report.verdicts[1].because) << "the reason is the failing one's";
}

// A golden result that was rounded itself may be as far off as the output, because of the same
// roundings.
TEST(Accumulation, AllowsForARoundedGoldenResult) {
  Case c = product(512);
  GateRequest request;
  request.bounds.standards = {"accumulation(hopper)"};
  const auto bound = [&] {
    const ElementCheck check = element_checks(c, format_named("float32"), request).front();
    return check.element_bounds->view().value_at(0);
  };
  ASSERT_EQ(c.output().golden->format().name, "float64");
  const double of_exact = bound();
  ASSERT_GT(of_exact, 0);
  c.output().golden = Tensor::from_values(format_named("float32"), c.output().golden->shape(),
                                          c.output().golden->view().values());
  EXPECT_EQ(bound(), 2 * of_exact);
}

// Rows are sampled if there is no golden result, but not for every operator.
TEST(GateSampled, SaysWhereNoRowsAreDrawn) {
  Case c = dual({});
  const Tensor output = *c.output().golden;
  c.output().golden = {};
  const std::string without = "case x has no golden result; compute one from its inputs";
  EXPECT_EQ(gate_case(c, output).because(), without);
  GateRequest request;
  request.sample = RowSample{};
  EXPECT_EQ(gate_case(c, output, request).because(),
            without + ", and rows can be drawn only for products and attention");
}

// The reference implementation of sampled rows is made of the same rows of its own output, which
// has the shape of the whole.
TEST(GateSampled, BenchmarksAreDrawnToo) {
  Case c = product(64);
  std::vector<double> a(50 * 64);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i % 37) - 18;
  c.inputs["a"] = Tensor::from_values(format_named("float16"), {50, 64}, a);
  c.output().golden = {};
  const Tensor right = golden_result(c);
  const auto off = [&](double by) {
    std::vector<double> values = right.view().values();
    for (double& v : values) v *= by;
    return Tensor::from_values(format_named("float32"), right.shape(), values);
  };
  c.output().recorded["target"].tensor = off(1.02);
  c.output().recorded["bench"].tensor = off(1.001);
  // The output of the producer "other" has another shape, so that none of its rows can be drawn.
  c.output().recorded["other"].tensor = floats({1, 2}, {2});
  GateRequest request;
  request.sample = RowSample{.rows = 8, .seed = 1};
  request.bounds.standards = {"cann_l0"};
  const auto verdict = [&](const char* producer) {
    return gate_case(c, c.output().recorded.at(producer).tensor, request).verdicts.at(0);
  };
  EXPECT_EQ(verdict("target").outcome, Outcome::kFail);
  EXPECT_THAT(verdict("target").because,
              HasSubstr("over the reference implementation's <= 10 is "));
  EXPECT_EQ(verdict("bench").outcome, Outcome::kPass) << verdict("bench").because;
}

// If the golden result is beyond the output's range, a right result may overflow. The theory still
// holds for the other elements.
TEST(ExpectedErrorOfACase, OverflowsOfRightResultsAreNoOtherErrors) {
  Recipe recipe{&format_named("float16"), {16, 64, 16}};
  recipe.distribution = parse_distribution("normal,scale=100");
  Case c = generate_case("matmul", recipe);
  c.output().golden = golden_result(c);
  const Tensor output = emulate(c, machine_named("ascend910b"));
  const std::vector<double> values = output.view().values();
  const auto overflows =
      std::count_if(values.begin(), values.end(), [](double v) { return std::isinf(v); });
  ASSERT_GT(overflows, 0);
  ASSERT_LT(overflows, 200);
  GateRequest request;
  request.bounds.standards = {"expected_error(ascend910b)"};
  const CaseReport report = gate_case(c, output, request);
  EXPECT_EQ(report.outcome(), Outcome::kPass) << report.because();
  EXPECT_THAT(report.verdicts.at(0).notes, testing::IsEmpty());
}

// Bounds that hold on every machine do not need the name of a machine.
TEST(Accumulation, OfOperatorsOnAnyMachine) {
  Case c = dual({});
  c.output().golden = golden_result(c);
  const Tensor output = emulate(c, machine_named("ascend910b"));
  EXPECT_THAT(output, CloseTo(c).standard("accumulation").producer("npu"));
  EXPECT_THAT(output, CloseTo(c).standard("accumulation"));
}

// With checksums, a product gets the same verdict as its case, whatever the threshold, the dtype or
// the machine.
TEST(GateProduct, SaysWhatIsSaidOfItsCase) {
  for (const char* dtype : {"float16", "float8_e4m3fn", "int8"}) {
    Recipe recipe{&format_named(dtype), {6, 40, 20}};
    recipe.attributes["output_dtype"] =
        std::string(dtype == std::string("int8") ? "int32" : "float32");
    if (dtype == std::string("int8")) recipe.distribution = parse_distribution("integers");
    const Case c = generate_case("matmul", recipe);
    Tensor output =
        Tensor::from_values(output_format(c), {6, 20}, golden_result(c).view().values());
    for (const bool is_wrong : {false, true}) {
      if (is_wrong) set_value(output, 25, output.view().value_at(25) + 64);
      for (const char* threshold : {"rounding_variance", "v_abft", "residual_compensated"}) {
        for (const char* machine : {"", "hopper", "ascend910b"}) {
          SCOPED_TRACE(formatted("{} {} {}", dtype, threshold, machine));
          GateRequest request{.elements = false, .checksums = parse_threshold(threshold)};
          if (*machine != '\0') request.machine = &machine_named(machine);
          const AbftVerdict of_case = *gate_case(c, output, request).abft,
                            v = gate_product(product_operands(c), output, request);
          EXPECT_EQ(v.outcome, of_case.outcome);
          EXPECT_EQ(v.because, of_case.because);
          EXPECT_EQ(explain(v), explain(of_case));
        }
      }
    }
  }
}

// Only one threshold (residual_compensated) reads an accumulator. All others refuse it.
TEST(GateProduct, RefusesAResidualThatNothingReads) {
  const Case c = product(64, "float16");
  const Tensor output = emulate(c, machine_named("ascend910b")),
               accumulator = emulate_accumulator(c, machine_named("ascend910b"));
  for (const Threshold& threshold : thresholds()) {
    SCOPED_TRACE(threshold.name);
    const GateRequest request{.elements = false, .checksums = parse_threshold(threshold.name)};
    const auto beside = Residual::accumulator(accumulator);
    EXPECT_EQ(error_of([&] { (void)gate_product(product_operands(c), output, request); }),
              "no error");
    EXPECT_EQ(error_of([&] { (void)gate_product(product_operands(c), output, request, beside); }),
              threshold.takes_residuals ? std::string("no error")
                                        : formatted("the threshold {} does not use an accumulator "
                                                    "or a residual; use residual_compensated",
                                                    threshold.name));
  }
}

// If no machine is known, the accumulator is assumed to be float32 in any order.
TEST(Accumulation, OfNoMachineIsThatOfAnyOrder) {
  const Case c = product(64);
  const Tensor output = emulate(c, machine_named("cpu_mul_add"));
  EXPECT_THAT(output, CloseTo(c).standard("accumulation"));
  EXPECT_THAT(output, CloseTo(c).standard("accumulation").producer("npu"));
  GateRequest request;
  request.bounds.standards = {"accumulation"};
  const auto bound = [&](const char* producer) {
    const ElementCheck check = element_checks(c, output.format(), request, {producer, {}}).front();
    return check.element_bounds->view().value_at(0);
  };
  const double size = 64 * 0.125, n = 65 * 0x1p-24;
  EXPECT_NEAR(bound("npu"), n / (1 - n) * size, 1e-6 * n * size);
  EXPECT_LT(bound("ascend910b"), bound("npu"));
  EXPECT_THAT(gate_case(c, output, request, {"npu", {}}).verdicts[0].notes,
              testing::ElementsAre("no machine is named, so that the bound is that of float32 sums "
                                   "in any order; name the machine for a tighter bound"));
  EXPECT_THAT(gate_case(c, output, request, {"cpu_fma", {}}).verdicts[0].notes, testing::IsEmpty());
  EXPECT_THROW((void)CloseTo(c).standard("accumulation(hoper)").check(output),
               std::invalid_argument)
      << "the caller's mistake, not the output's";
}

// A campaign knows the number of accumulations: the tolerance of `atb` doubles at K = 2048.
TEST(GateCampaigns, ToleranceGrowsWithK) {
  for (const std::int64_t k : {2047, 2048}) {
    campaign::Cell cell;
    cell.name = "cell";
    cell.machine = &machine_named("ascend910b");
    campaign::Matrix matrix;
    matrix.test_case = product(k, "float16");
    matrix.output = emulate(matrix.test_case, *cell.machine);
    const double exact = matrix.test_case.output().golden->view().value_at(0);
    set_value(matrix.output, 0, exact * (1 + 1.5 / 256));
    campaign::GateSpec spec;
    spec.text = "standard:atb";
    spec.standard = "atb";
    campaign::RatioCounts ratios{};
    EXPECT_EQ(campaign::MatrixDetector(spec, cell, matrix).clean(ratios).alarms > 0, k < 2048) << k;
    EXPECT_EQ(MeetsStandard("atb", matrix.test_case).check(matrix.output).outcome,
              k < 2048 ? Outcome::kFail : Outcome::kPass)
        << k;
  }
}

// If a machine's name stands for the output, the checksums use that machine's accumulator, however
// the name is given.
TEST(GateChecksums, TakeTheProducersAccumulator) {
  const Case c = product(512);
  const Tensor output = emulate(c, machine_named("hopper"));
  const ChecksumOptions of_machine = checksum_options(c, output.format(), {}, {"hopper"});
  ASSERT_NE(of_machine.options.model, nullptr);
  EXPECT_EQ(of_machine.options.model->kept_bits.value,
            dot_model(machine_named("hopper"), format_named("float16")).kept_bits.value);
  EXPECT_EQ(checksum_options(c, output.format(), {}, {"npu"}).options.model, nullptr);
  const DotModel other = dot_model(machine_named("ampere"), format_named("float16"));
  GateRequest request;
  request.model = &other;
  EXPECT_EQ(checksum_options(c, output.format(), request, {"hopper"}).options.model, &other);
}

// The accumulator is that of the request's machine, the output's machine, the producer or the
// case's machine, in this order.
TEST(GateChecksums, WhoseAccumulatorItIs) {
  Case c = product(512);
  const auto machine_of = [&](const GateRequest& request, const Origin& origin) {
    const Machine* machine = machine_behind(c, request, origin);
    return machine == nullptr ? std::string_view() : machine->name;
  };
  EXPECT_EQ(machine_of({}, {.producer = "npu"}), "");
  c.attributes["machine"] = std::string("volta");
  EXPECT_EQ(machine_of({}, {.producer = "npu"}), "volta");
  EXPECT_EQ(machine_of({}, {.producer = "hopper,chunk=8"}), "hopper,chunk=8");
  c.output().recorded["hopper"].machine = "ada";
  c.output().recorded["npu"].machine = "ampere";
  EXPECT_EQ(machine_of({}, {.producer = "hopper"}), "ada");
  EXPECT_EQ(machine_of({}, {.producer = "npu"}), "ampere");
  EXPECT_EQ(machine_of({}, {.producer = "npu", .machine = "cpu_fma"}), "cpu_fma");
  GateRequest request;
  request.machine = &machine_named("ascend910b");
  EXPECT_EQ(machine_of(request, {.producer = "npu", .machine = "cpu_fma"}), "ascend910b");
}

// If K is split over thread blocks, the sums of the parts count as partial sums that are promoted.
TEST(GateChecksums, KThatIsSplit) {
  Case c = product(512);
  c.attributes["split_k"] = std::int64_t{128};
  const Tensor output = emulate(c, machine_named("hopper"));
  const ChecksumOptions options = checksum_options(c, output.format(), {}, {"hopper"});
  ASSERT_NE(options.options.model, nullptr);
  EXPECT_EQ(options.options.model->promotion_interval.value, 128);
  EXPECT_EQ(options.check(c, output).outcome, Outcome::kPass);
}

// A case that is not a product is checked by checksums only if nothing else is requested.
TEST(GateChecksums, OfACaseThatIsNoProduct) {
  Case c = dual({});
  c.output().golden = floats({1, 2, 3, 4}, {2, 2});
  const Tensor output = *c.output().golden;
  GateRequest request;
  request.checksums = parse_threshold("rounding_variance");
  EXPECT_FALSE(gate_case(c, output, request).abft.has_value());
  EXPECT_EQ(AbftClose(c).check(output).outcome, Outcome::kPass) << "against its golden result";
}

// The tolerance in the case's own attributes decides if two outputs differ.
TEST(Amplification, ByTheCasesOwnBound) {
  Case c = dual({});
  c.attributes["rtol"] = 0.25;
  c.attributes["atol"] = 0.0;
  const std::vector<float> y = {1, 1, 1, 1};
  const Tensor near = floats({1.2F, 2, 3, 4}, {4}), far = floats({1.5F, 2, 3, 4}, {4});
  EXPECT_THAT(near, Not(AmplificationNear(c, y))) << "nothing differs";
  EXPECT_THAT(far, AmplificationNear(c, y));
  c.attributes = {{"standard", std::string("mlu_ops")}};
  EXPECT_THAT(AmplificationNear(c, y).check(far).text,
              HasSubstr("standard mlu_ops does not judge single elements"));
}

class Runner : public ProgramTest {};

// Without a case, the matcher and `assay compare` name missing things in the same way.
TEST_F(Runner, TensorsAlone) {
  const std::vector<float> out = {1, 2, 3, 4}, golden = out;
  write("a.bin", std::string(reinterpret_cast<const char*>(out.data()), 16));
  write("b.bin", read("a.bin"));
  for (const char* standard : {"accumulation", "cann_l0", "rocblas_sum", "torch", "ulp(2)"}) {
    const MatchReport match = MeetsStandard(standard, golden).check(view(out));
    const Ran ran = run(formatted(
        "assay compare a.bin b.bin --dtype float32 --shape 4 --standard {}", shell_word(standard)));
    const std::string because = split(match.text, ';').front();
    EXPECT_THAT(ran.out, HasSubstr(because)) << standard;
    EXPECT_EQ(ran.code, exit_code(match.outcome)) << standard;
  }
}

// The runner of the dataset tests takes a reference implementation, and gives the same text as the
// command line.
TEST_F(Runner, Benchmark) {
  Case c = dual({{"slow", 0.001}, {"fast", 0.002}});
  c.attributes["axis"] = std::int64_t{-1};
  c.output().golden = golden_result(c);
  for (auto& [producer, recorded] : c.output().recorded) {
    Tensor& output = recorded.tensor;
    output = emulate(c, machine_named("ascend910b"));
    set_value(output, 0, output.view().value_at(0) * (producer == "slow" ? 1.001 : 1.002));
  }
  DatasetWriter writer(path("g.h5"));
  writer.write(c);
  writer.commit();
  const std::string runner = shell_word(ASSAY_RUNNER) + " g.h5 --standard cann_l0";
  const Ran several = run(runner);
  EXPECT_EQ(several.code, 3);
  const Ran chosen = run(runner + " --reference-implementation slow");
  EXPECT_EQ(chosen.code, 0) << chosen.out << chosen.err;
  const Ran unknown = run(runner + " --reference-implementation other");
  EXPECT_THAT(
      unknown,
      Exits(2, "error: --reference-implementation: unknown producer 'other'; known: fast, slow"));
}

// Dataset tests judge a user's own implementation by checksums, with the sums of the machine that
// the case names.
TEST_F(Runner, ChecksumsOfEightBitFloats) {
  ASSERT_EQ(
      run("assay generate matmul --dtype float8_e4m3fn --shape 4,512,8 --output-dtype float32 "
          "--parameter promotion_interval=128 --quiet --out g.h5")
          .code,
      0);
  OutputSource source;
  source.name = "team";
  source.compute = [](const Case& c) { return emulate(c, machine_named("hopper")); };
  GateRequest request;
  request.checksums = parse_threshold(kDefaultThreshold);
  const auto judged = [&](const std::string& file) {
    const DatasetFile golden(path(file));
    return *gate_file_case(golden, golden.case_names().front(), source, request)
                .front()
                .report.abft;
  };
  EXPECT_EQ(judged("g.h5").outcome, Outcome::kNotComparable);
  EXPECT_THAT(judged("g.h5").because, HasSubstr("as few as 14 bits"));
  const DatasetFile golden(path("g.h5"));
  Case c = golden.read(golden.case_names().front());
  c.attributes["machine"] = std::string("hopper");
  DatasetWriter writer(path("named.h5"));
  writer.write(c);
  writer.commit();
  EXPECT_EQ(judged("named.h5").outcome, Outcome::kPass) << judged("named.h5").because;
}

// Dataset tests find the rows of a file that declares its rows to be cases, each by its name.
TEST_F(Runner, RowsThatAreCases) {
  ASSERT_EQ(run("assay generate add --dtype float32 --shape 9 --count 12 --rows-are-cases --quiet "
                "--out g.h5")
                .code,
            0);
  const std::string runner = shell_word(ASSAY_RUNNER) + " g.h5";
  const Ran all = run(runner);
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(all.out, AllOf(HasSubstr("add/float32/9/normal/seed0/00: pass: all 9 elements"),
                             HasSubstr("add/float32/9/normal/seed0/11: pass: all 9 elements")));
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 12);
  EXPECT_EQ(run(runner + " --case add/float32/9/normal/seed0/07").code, 0);
  EXPECT_EQ(run(runner + " --case add/float32/9/normal/seed0").code, 3);
}

// One case of the file cannot be read. The others are judged, and the exit code reports the
// unreadable one.
TEST_F(Runner, AnUnreadableCaseHidesNoOther) {
  Case good = dual({}), bad = good;
  good.output().golden = bad.output().golden = golden_result(good);
  bad.name = "bad";
  bad.attributes["standard"] = std::string("torhc");
  DatasetWriter writer(path("g.h5"));
  writer.write(good);
  writer.write(bad);
  writer.commit();
  for (const std::string& caller : {shell_word(ASSAY_RUNNER) + std::string(" g.h5"),
                                    std::string("assay gate g.h5 --machine ascend910b")}) {
    const Ran ran = run(caller);
    EXPECT_EQ(ran.code, 2) << caller;
    EXPECT_THAT(ran.out, HasSubstr("pass")) << caller;
    EXPECT_THAT(ran.err, HasSubstr("case bad: unknown standard 'torhc': did you mean 'torch'?"))
        << caller;
  }
}

}  // namespace
}  // namespace assay
