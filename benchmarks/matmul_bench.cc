// Emulated matrix products against OpenBLAS sgemm of the same shape, one thread each.
#include <cblas.h>

#include <vector>

#include "assay/base/random.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "ratios.h"

namespace {

constexpr std::int64_t kSize = 1024;

// Normal values of a format, as float64.
std::vector<double> operand(const char* format, std::uint64_t stream) {
  std::vector<double> values(kSize * kSize);
  assay::Random random(1, stream);
  for (double& v : values) v = random.normal();
  assay::round_array(assay::format_named(format), values.data(), values.size());
  return values;
}

void emulate(benchmark::State& state, const char* format, int threads) {
  const auto a = operand(format, 0), b = operand(format, 1);
  const assay::DotModel& model =
      assay::dot_model(assay::machine_named("ascend910b"), assay::format_named(format));
  std::vector<float> c(kSize * kSize);
  for (auto _ : state) {
    std::fill(c.begin(), c.end(), 0.0f);
    assay::dot_matmul(model, kSize, kSize, kSize, a.data(), b.data(), c.data(), threads);
    benchmark::DoNotOptimize(c.data());
  }
}

void ascend910b_bf16(benchmark::State& state) { emulate(state, "bfloat16", 1); }
void ascend910b_fp16(benchmark::State& state) { emulate(state, "float16", 1); }
void ascend910b_fp32(benchmark::State& state) { emulate(state, "float32", 1); }
void ascend910b_bf16_two_threads(benchmark::State& state) { emulate(state, "bfloat16", 2); }

void openblas_sgemm(benchmark::State& state) {
  openblas_set_num_threads(1);
  const auto a = operand("float32", 0), b = operand("float32", 1);
  const std::vector<float> fa(a.begin(), a.end()), fb(b.begin(), b.end());
  std::vector<float> c(kSize * kSize);
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize, kSize, 1.0f, fa.data(),
                kSize, fb.data(), kSize, 0.0f, c.data(), kSize);
    benchmark::DoNotOptimize(c.data());
  }
}

void exact_float64(benchmark::State& state) {
  const auto a = operand("bfloat16", 0), b = operand("bfloat16", 1);
  std::vector<double> c(kSize * kSize);
  for (auto _ : state) {
    std::fill(c.begin(), c.end(), 0.0);
    assay::exact_matmul(kSize, kSize, kSize, a.data(), b.data(), c.data(), 1);
    benchmark::DoNotOptimize(c.data());
  }
}

BENCHMARK(openblas_sgemm)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(ascend910b_bf16)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(ascend910b_fp16)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(ascend910b_fp32)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(ascend910b_bf16_two_threads)
    ->Unit(benchmark::kMillisecond)
    ->Repetitions(5)
    ->UseRealTime();
BENCHMARK(exact_float64)->Unit(benchmark::kMillisecond)->Repetitions(3)->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  return assay_bench::run_with_ratios(
      argc, argv,
      {{"ascend910b bf16 matmul, 1024^3: sgemm", "ascend910b_bf16", "openblas_sgemm", 0.2},
       {"ascend910b fp16 matmul, 1024^3: sgemm", "ascend910b_fp16", "openblas_sgemm", 0.2},
       {"ascend910b fp32 matmul, 1024^3: sgemm", "ascend910b_fp32", "openblas_sgemm", 0.12},
       {"ascend910b bf16, two threads: one thread", "ascend910b_bf16_two_threads",
        "ascend910b_bf16", 1.8},
       {"golden (exact) matmul, 1024^3: sgemm", "exact_float64", "openblas_sgemm"}});
}
