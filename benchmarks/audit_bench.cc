// Measures 10 000 wrong outputs that a standard judges in this process, as in `assay audit
// --target`.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <vector>

#include "assay/audit/audit.h"

namespace {

constexpr int kTrials = 10000;

const std::vector<assay::audit::Subject>& subjects() {
  static const std::vector<assay::audit::Subject> made = [] {
    std::vector<double> values;
    for (int i = 0; i < 64 * 128; ++i) values.push_back(std::sin(i) * 4);
    std::vector<assay::audit::Subject> all(1);
    assay::audit::Subject& s = all.front();
    s.test_case.name = "x";
    s.test_case.op = "external";
    s.test_case.attributes["output_dtype"] = std::string("float16");
    s.test_case.output().golden =
        assay::Tensor::from_values(assay::format_named("float64"), {64, 128}, values);
    s.clean = assay::Tensor::from_values(assay::format_named("float16"), {64, 128}, values);
    return all;
  }();
  return made;
}

void audit_standard(benchmark::State& state, const char* standard) {
  std::int64_t trials = 0;
  for (auto _ : state) {
    assay::GateRequest request;
    request.bounds.standards = {standard};
    std::vector<std::unique_ptr<assay::audit::Target>> targets;
    targets.push_back(std::make_unique<assay::audit::StandardTarget>(standard, request, false));
    // 44 corruptions of this dtype and shape are drawn this often, which makes more than kTrials
    // outputs.
    trials =
        assay::audit::run_audit(subjects(), targets, {.draws = kTrials / 40, .searches = false})
            .trials;
  }
  if (trials < kTrials) state.SkipWithError("fewer than 10 000 outputs were tried");
  state.counters["outputs"] = static_cast<double>(trials);
}

BENCHMARK_CAPTURE(audit_standard, torch, "torch")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Repetitions(3)
    ->UseRealTime();
BENCHMARK_CAPTURE(audit_standard, cann_ecosystem, "cann_ecosystem@2025")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Repetitions(3)
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
