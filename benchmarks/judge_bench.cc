// The plain verdict and all metrics, against the sum of the same two arrays and numpy.allclose.
#include <cstdlib>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/judge/verdict.h"
#include "peers.h"
#include "ratios.h"

namespace {

constexpr std::int64_t kElements = std::int64_t{64} << 20;
constexpr std::int64_t kMetricElements = std::int64_t{16} << 20;

struct Arrays {
  std::vector<float> actual, expected;
};

const Arrays& arrays() {
  static const Arrays data = [] {
    Arrays a;
    a.actual.resize(kElements);
    a.expected.resize(kElements);
    assay::Random random(1, 0);
    for (std::size_t i = 0; i < a.actual.size(); ++i) {
      const double value = random.uniform() * 2 - 1;
      a.expected[i] = static_cast<float>(value);
      a.actual[i] = static_cast<float>(value * (1 + 1e-7));
    }
    return a;
  }();
  return data;
}

void verdict(benchmark::State& state, int threads, std::int64_t elements, bool metrics) {
  const Arrays& a = arrays();
  const auto actual = assay::view(a.actual.data(), {elements});
  const auto expected = assay::view(a.expected.data(), {elements});
  assay::Bound bound;
  bound.rtol = bound.atol = 1e-5;
  for (auto _ : state) {
    const auto v = assay::judge(actual, expected, bound, {.metrics = metrics, .threads = threads});
    if (v.outcome != assay::Outcome::kPass) state.SkipWithError("the arrays must agree");
    benchmark::DoNotOptimize(v.misses);
  }
}

void plain_verdict(benchmark::State& state) { verdict(state, 1, kElements, false); }
void plain_verdict_two_threads(benchmark::State& state) { verdict(state, 2, kElements, false); }
void all_metrics(benchmark::State& state) { verdict(state, 1, kMetricElements, true); }

void sum_both(benchmark::State& state) {
  const Arrays& a = arrays();
  for (auto _ : state) {
    benchmark::DoNotOptimize(assay_bench::plain_sum(a.actual.data(), a.actual.size()) +
                             assay_bench::plain_sum(a.expected.data(), a.expected.size()));
  }
}

// numpy times itself, in the same run, on arrays of the same kind.
void numpy_allclose_of(benchmark::State& state, std::int64_t elements) {
  const std::string script =
      "/usr/bin/python3 -c \"import numpy as np,time\n"
      "e=(np.random.default_rng(1).random(" +
      std::to_string(elements) +
      ",dtype=np.float32)*2-1)\na=e*np.float32(1+1e-7)\nbest=9e9\n"
      "for i in range(2):\n t=time.perf_counter();ok=np.allclose(a,e,1e-5,1e-5)\n"
      " best=min(best,time.perf_counter()-t)\nassert ok\nprint(best)\"";
  for (auto _ : state) {
    double seconds = 0;
    FILE* pipe = popen(script.c_str(), "r");
    if (pipe == nullptr || std::fscanf(pipe, "%lf", &seconds) != 1) {
      state.SkipWithError("numpy is missing");
    }
    if (pipe != nullptr) pclose(pipe);
    state.SetIterationTime(seconds);
  }
}
void numpy_allclose(benchmark::State& state) { numpy_allclose_of(state, kElements); }
void numpy_allclose_small(benchmark::State& state) { numpy_allclose_of(state, kMetricElements); }

BENCHMARK(plain_verdict)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(plain_verdict_two_threads)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(sum_both)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(numpy_allclose)->Unit(benchmark::kMillisecond)->Iterations(1)->UseManualTime();
BENCHMARK(all_metrics)->Unit(benchmark::kMillisecond)->Repetitions(3)->UseRealTime();
BENCHMARK(numpy_allclose_small)->Unit(benchmark::kMillisecond)->Iterations(1)->UseManualTime();

}  // namespace

int main(int argc, char** argv) {
  return assay_bench::run_with_ratios(
      argc, argv,
      {{"plain verdict, float32, 64 Mi: sum of both arrays", "plain_verdict", "sum_both", 0.8},
       {"plain verdict, float32, 64 Mi: numpy.allclose", "plain_verdict", "numpy_allclose"},
       {"plain verdict, two threads: one thread", "plain_verdict_two_threads", "plain_verdict"},
       {"all metrics, float32, 16 Mi: numpy.allclose", "all_metrics", "numpy_allclose_small"}});
}
