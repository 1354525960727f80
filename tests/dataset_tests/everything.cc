// Uses what every promised header has, as a program of a user's. It is compiled with strict
// warnings, and with flags that change arithmetic. Prints "everything works" at the end.
#include <assay/abft.h>
#include <assay/case.h>
#include <assay/check.h>
#include <assay/command_line.h>
#include <assay/dataset_tests.h>
#include <assay/datasets.h>
#include <assay/error.h>
#include <assay/fault.h>
#include <assay/format.h>
#include <assay/gate.h>
#include <assay/judge.h>
#include <assay/machine.h>
#include <assay/matchers.h>
#include <assay/operator.h>
#include <assay/report.h>
#include <assay/statistics.h>
#include <assay/tensor.h>
#include <assay/tensor/mdspan.h>
#include <assay/trial.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "does not hold: " << what << "\n";
  std::exit(1);
}
#define REQUIRE(...) require(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__)

assay::Tensor plus_one(const assay::Call& call) {
  std::vector<double> values = call.test_case.input("x").view().values();
  for (double& v : values) v += 1;
  return assay::Tensor::from_values(call.output, call.test_case.input("x").shape(), values);
}

assay::Tensor plus_one_reference(const assay::ReferenceCall& call) {
  std::vector<double> values = call.test_case.input("x").view().values();
  for (double& v : values) v += 1;
  return assay::Tensor::from_values(call.output, call.test_case.input("x").shape(), values);
}

// Each sum is rounded once, to nearest: its error has the mean 0.
assay::ExpectedErrors plus_one_errors(const assay::Case& c, const assay::Machine&, int) {
  assay::ExpectedErrors errors;
  errors.resize(static_cast<std::size_t>(c.input("x").size()));
  errors.last = &assay::output_format(c);
  return errors;
}

void tensors_and_formats() {
  const std::array<float, 4> array = {1, 2, 3, 4};
  const float rows[2][2] = {{1, 2}, {3, 4}};
  const std::vector<std::uint16_t> bits = {0x3f80, 0x4000, 0x4040, 0x4080};
  REQUIRE(assay::view(array, {2, 2}).values() == assay::view(rows).values());
  REQUIRE(assay::view_bits(bits, assay::format_named("bfloat16"), {2, 2}).values() ==
          assay::view(rows).values());
  std::array<std::int64_t, 1> shape = {4};
  assay::dlpack::DLTensor exchanged{
      const_cast<float*>(array.data()), {1, 0}, 1, {2, 32, 1}, shape.data(), nullptr, 0};
  REQUIRE(assay::view(exchanged).shape == assay::Shape{4});
  REQUIRE(assay::format_named("float8_e4m3fn").bits == 8);
}

void operators_cases_and_datasets(const std::string& folder) {
  assay::register_operator({.name = "plus_one",
                            .inputs = {{.name = "x", .shape = "(...)"}},
                            .run = plus_one,
                            .reference = plus_one_reference,
                            .expected_errors = plus_one_errors});
  assay::Case c;
  c.name = "ones";
  c.op = "plus_one";
  c.inputs["x"] = assay::Tensor::from_values(assay::format_named("float16"), {2, 3},
                                             std::vector<double>{1, 2, 3, 4, 5, 6});
  c.output().golden = assay::golden_result(c);
  const assay::Machine& machine = assay::machine_named("ascend910b");
  assay::Tensor output = assay::emulate(c, machine);
  const std::string path = folder + "/everything.h5";
  {
    assay::DatasetWriter writer(path);
    writer.write(c);
    writer.commit();
  }
  const assay::DatasetFile file(path);
  REQUIRE(file.case_names() == std::vector<std::string>{"ones"});
  const assay::Case read = file.read("ones");
  assay::GateReport report;
  report.cases.push_back(assay::gate_case(read, output, {.bounds = {.standards = {"torch"}}}));
  REQUIRE(report.cases[0].outcome() == assay::Outcome::kPass);
  REQUIRE(assay::check_case(read, output));
  REQUIRE(assay::gate_case(read, output, {.bounds = {.standards = {"expected_error"}}}).passes());
  REQUIRE(assay::gate_json(report).find("\"ones\"") != std::string::npos);
  REQUIRE(assay::gate_junit(report).find("<testsuite") != std::string::npos);
  REQUIRE(assay::gate_html(report).find("<!doctype html>") == 0);
  REQUIRE(assay::gate_line(report) == "1 case: 1 pass\n");
  const assay::FaultSpec fault = assay::parse_fault("flip,bit=14");
  REQUIRE(!assay::inject(output, fault, 1).flips.empty());
  const assay::CaseReport broken = assay::gate_case(read, output);
  REQUIRE(broken.outcome() == assay::Outcome::kFail);
  testing::StringMatchResultListener listener;
  REQUIRE(!testing::Matcher<const assay::Tensor&>(assay::CloseTo(read))
               .MatchAndExplain(output, &listener));
  REQUIRE(listener.str().find("which fails: ") == 0);
}

void judging_and_checksums() {
  const std::vector<float> a = {1, 2, 3, 4}, c = {7, 10, 15, 22}, wrong = {7, 10, 15, 23};
  const assay::TensorView matrix = assay::view(a, {2, 2});
  const auto checker = assay::AbftChecker::of_product(matrix, matrix, {});
  REQUIRE(checker.check(assay::view(c, {2, 2})).outcome == assay::Outcome::kPass);
  REQUIRE(checker.check(assay::view(wrong, {2, 2})).outcome == assay::Outcome::kFail);
  const assay::Bound torch = *assay::standard_bound("torch", assay::format_named("float32"));
  const assay::Verdict v = assay::judge(assay::view(wrong), assay::view(c), torch);
  REQUIRE(v.mismatches == 1 && v.metrics->max_abs_error == 1);
  REQUIRE(!assay::check_close(assay::view(wrong), assay::view(c)));
  REQUIRE(assay::campaign::upper_bound({0, 100}, 0.95) > 0.029);
  const assay::TrialOptions trial;
  REQUIRE(trial.draws == 200 && assay::fails_fewer_than_one_in(100) == 33);
  bool refused = false;
  try {
    (void)assay::machine_named("hoper");
  } catch (const assay::Refusal&) {
    refused = true;
  }
  REQUIRE(refused);
}

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc == 2);
  tensors_and_formats();
  operators_cases_and_datasets(argv[1]);
  judging_and_checksums();
  char program[] = "everything", version[] = "--version";
  char* words[] = {program, version, nullptr};
  REQUIRE(assay::run_command_line(2, words) == 0);
  REQUIRE(assay::run_dataset_tests(1, words) == 2);  // it names no file
  std::cout << "everything works\n";
}
