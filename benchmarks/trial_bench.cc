// Measures trials: draws a second of softmax in 64 x 1024 float32 with all checks of the contract,
// on two threads, against the time of the kernel's own calls.
#include <algorithm>
#include <cmath>

#include "assay/trial.h"
#include "ratios.h"

namespace {

void softmax(const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* const a = x + r * columns;
    float* const b = y + r * columns;
    const float largest = *std::max_element(a, a + columns);
    float sum = 0;
    for (std::int64_t i = 0; i < columns; ++i) sum += b[i] = std::exp(a[i] - largest);
    for (std::int64_t i = 0; i < columns; ++i) b[i] /= sum;
  }
}

// Random draws of one run.
constexpr std::int64_t kDraws = 100;

void trial_of_softmax(benchmark::State& state) {
  const assay::Operator& op = *assay::find_operator("softmax");
  const assay::TrialKernel kernel =
      assay::as_kernel(softmax).args("x", "y", "rows", "columns").kernel(op);
  assay::TrialOptions options;
  options.limits.sizes = {{64, 1024}};
  options.draws = kDraws;
  options.threads = 2;
  std::int64_t draws = 0;
  for (auto _ : state) {
    const assay::TrialReport report = assay::run_trial("softmax", kernel, options);
    if (report.outcome() != assay::Outcome::kPass) state.SkipWithError("a right kernel must pass");
    draws += report.listed.all() + report.random.all();
  }
  state.counters["draws/s"] =
      benchmark::Counter(static_cast<double>(draws), benchmark::Counter::kIsRate);
}

// The calls that the contract needs for one draw: another input, the input twice, and one row.
void calls_of_the_kernel(benchmark::State& state) {
  std::vector<float> x(64 * 1024), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97) * 0.05f;
  for (auto _ : state) {
    for (int i = 0; i < 3; ++i) softmax(x.data(), y.data(), 64, 1024);
    softmax(x.data(), y.data(), 1, 1024);
    benchmark::DoNotOptimize(y.data());
  }
}

BENCHMARK(trial_of_softmax)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(calls_of_the_kernel)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

int main(int argc, char** argv) { return assay_bench::run_with_ratios(argc, argv, {}); }
