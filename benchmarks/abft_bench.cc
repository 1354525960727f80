// Measures checksums and thresholds of a 4096^3 bf16 product, with both operands and C in memory,
// against the plain sum of the three matrices and against the float64 golden result by OpenBLAS
// dgemm.
#include <cblas.h>

#include <cstring>
#include <vector>

#include "assay/abft.h"
#include "assay/base/random.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "peers.h"
#include "ratios.h"

namespace {

constexpr std::int64_t kSize = 4096;
constexpr std::size_t kElements = static_cast<std::size_t>(kSize * kSize);

struct Matrices {
  assay::Tensor a, b, c;
};

const Matrices& matrices() {
  static const Matrices all = [] {
    const assay::Format& bf16 = assay::format_named("bfloat16");
    std::vector<double> values(kElements);
    const auto fill = [&](std::uint64_t stream) {
      assay::Random random(1, stream);
      for (double& v : values) v = random.normal();
      return assay::Tensor::from_values(bf16, {kSize, kSize}, values);
    };
    Matrices m;
    m.a = fill(0);
    m.b = fill(1);
    std::vector<float> sums(kElements, 0.0f);
    const std::vector<double> a = m.a.view().values(), b = m.b.view().values();
    assay::dot_matmul(assay::dot_model(assay::machine_named("ascend910b"), bf16), kSize, kSize,
                      kSize, a.data(), b.data(), sums.data());
    values.assign(sums.begin(), sums.end());
    m.c = assay::Tensor::from_values(bf16, {kSize, kSize}, values);
    return m;
  }();
  return all;
}

void check(benchmark::State& state, const char* threshold) {
  const Matrices& m = matrices();
  assay::AbftOptions options;
  options.spec = assay::parse_threshold(threshold);
  options.threads = 1;
  for (auto _ : state) {
    const auto v = assay::AbftChecker::of_product(m.a, m.b, options).check(m.c);
    if (v.outcome != assay::Outcome::kPass) state.SkipWithError("a clean product must pass");
  }
}

void whole_rows(benchmark::State& state) { check(state, "rounding_variance,groups=0"); }
void groups_of_16(benchmark::State& state) { check(state, "rounding_variance"); }
void v_abft(benchmark::State& state) { check(state, "v_abft"); }
void a_abft(benchmark::State& state) { check(state, "a_abft"); }

void sum_of_three(benchmark::State& state) {
  const Matrices& m = matrices();
  for (auto _ : state) {
    double total = 0;
    for (const assay::Tensor* t : {&m.a, &m.b, &m.c}) {
      total += assay_bench::plain_sum_bf16(reinterpret_cast<const unsigned short*>(t->bytes()),
                                           kElements);
    }
    benchmark::DoNotOptimize(total);
  }
}

void dgemm_golden(benchmark::State& state) {
  openblas_set_num_threads(1);
  const Matrices& m = matrices();
  const std::vector<double> a = m.a.view().values(), b = m.b.view().values();
  std::vector<double> c(kElements);
  for (auto _ : state) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize, kSize, 1.0, a.data(),
                kSize, b.data(), kSize, 0.0, c.data(), kSize);
    benchmark::DoNotOptimize(c.data());
  }
}

BENCHMARK(sum_of_three)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(whole_rows)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(groups_of_16)->Unit(benchmark::kMillisecond)->Repetitions(3)->UseRealTime();
BENCHMARK(v_abft)->Unit(benchmark::kMillisecond)->Repetitions(3)->UseRealTime();
BENCHMARK(a_abft)->Unit(benchmark::kMillisecond)->Repetitions(3)->UseRealTime();
BENCHMARK(dgemm_golden)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Repetitions(2)
    ->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  return assay_bench::run_with_ratios(
      argc, argv,
      {{"whole rows, 4096^3 bf16: sum of the three matrices", "whole_rows", "sum_of_three", 0.5},
       {"whole rows: float64 golden by dgemm", "whole_rows", "dgemm_golden", 200},
       {"groups of 16: float64 golden by dgemm", "groups_of_16", "dgemm_golden", 12},
       {"v_abft: sum of the three matrices", "v_abft", "sum_of_three"},
       {"a_abft: sum of the three matrices", "a_abft", "sum_of_three", 0.5}});
}
