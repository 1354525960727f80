// Measures emulated and golden matrix products, and the expected errors of products, against
// OpenBLAS sgemm or dgemm of the same shape. All use one thread, except the benchmarks that compare
// two threads with one.
#include <cblas.h>

#include <vector>

#include "assay/base/random.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "assay/machine/exact_matmul.h"
#include "assay/machine/uncertain.h"
#include "assay/op/chance_unit.h"
#include "assay/op/sum_bound.h"
#include "ratios.h"

namespace {

constexpr std::int64_t kSize = 1024;

// Returns normal values, rounded to a format and stored as float64.
std::vector<double> operand(const char* format, std::uint64_t stream) {
  std::vector<double> values(kSize * kSize);
  assay::Random random(1, stream);
  for (double& v : values) v = random.normal();
  assay::round_array(assay::format_named(format), values.data(), values.size());
  return values;
}

void emulate(benchmark::State& state, const char* machine, const char* format, int threads = 1,
             int promotion = 0) {
  const auto a = operand(format, 0), b = operand(format, 1);
  assay::DotModel model =
      assay::dot_model(assay::machine_named(machine), assay::format_named(format));
  model.promotion_interval.value = promotion;
  std::vector<float> c(kSize * kSize);
  for (auto _ : state) {
    std::fill(c.begin(), c.end(), 0.0f);
    assay::dot_matmul(model, kSize, kSize, kSize, a.data(), b.data(), c.data(), threads);
    benchmark::DoNotOptimize(c.data());
  }
}

void ascend910b_bf16(benchmark::State& s) { emulate(s, "ascend910b", "bfloat16"); }
void ascend910b_fp16(benchmark::State& s) { emulate(s, "ascend910b", "float16"); }
void ascend910b_fp32(benchmark::State& s) { emulate(s, "ascend910b", "float32"); }
void ascend910b_hf32(benchmark::State& s) { emulate(s, "ascend910b", "hfloat32"); }
void ascend910b_bf16_two_threads(benchmark::State& s) { emulate(s, "ascend910b", "bfloat16", 2); }
void hopper_bf16(benchmark::State& s) { emulate(s, "hopper", "bfloat16"); }
void hopper_bf16_two_threads(benchmark::State& s) { emulate(s, "hopper", "bfloat16", 2); }
void hopper_fp16(benchmark::State& s) { emulate(s, "hopper", "float16"); }
void hopper_tf32(benchmark::State& s) { emulate(s, "hopper", "tfloat32"); }
void hopper_fp8(benchmark::State& s) { emulate(s, "hopper", "float8_e4m3fn"); }
void hopper_fp8_promoted(benchmark::State& s) { emulate(s, "hopper", "float8_e4m3fn", 1, 128); }
void cpu_fma(benchmark::State& s) { emulate(s, "cpu_fma", "float32"); }
void cpu_mul_add(benchmark::State& s) { emulate(s, "cpu_mul_add", "float32"); }

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

void golden(benchmark::State& state, const char* format, int threads = 1) {
  const auto a = operand(format, 0), b = operand(format, 1);
  std::vector<double> c(kSize * kSize);
  for (auto _ : state) {
    std::fill(c.begin(), c.end(), 0.0);
    assay::exact_matmul(kSize, kSize, kSize, a.data(), b.data(), c.data(), threads);
    benchmark::DoNotOptimize(c.data());
  }
}
void golden_bf16(benchmark::State& s) { golden(s, "bfloat16"); }
void golden_fp16(benchmark::State& s) { golden(s, "float16"); }
void golden_fp32(benchmark::State& s) { golden(s, "float32"); }
void golden_fp64(benchmark::State& s) { golden(s, "float64"); }
void golden_bf16_two_threads(benchmark::State& s) { golden(s, "bfloat16", 2); }

void openblas_dgemm(benchmark::State& state) {
  openblas_set_num_threads(1);
  const auto a = operand("float32", 0), b = operand("float32", 1);
  std::vector<double> c(kSize * kSize);
  for (auto _ : state) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize, kSize, 1.0, a.data(),
                kSize, b.data(), kSize, 0.0, c.data(), kSize);
    benchmark::DoNotOptimize(c.data());
  }
}

// Measures the computation of the expected errors of a 256 x 1024 x 256 product that may be summed
// in any order. openblas_dgemm_of_256_rows() measures the product itself.
constexpr std::int64_t kSide = 256;
void expected_errors(benchmark::State& state, const char* format) {
  assay::Case c;
  c.name = "bench";
  c.op = "matmul";
  std::vector<double> a = operand(format, 0), b = operand(format, 1);
  a.resize(kSide * kSize);
  b.resize(kSize * kSide);
  c.inputs["a"] = assay::Tensor::from_values(assay::format_named(format), {kSide, kSize}, a);
  c.inputs["b"] = assay::Tensor::from_values(assay::format_named(format), {kSize, kSide}, b);
  for (auto _ : state) {
    const assay::ExpectedErrors errors = assay::expected_errors(c, assay::any_machine(), 1);
    benchmark::DoNotOptimize(errors.variance.data());
  }
}
void expected_errors_bf16(benchmark::State& s) { expected_errors(s, "bfloat16"); }
void expected_errors_fp32(benchmark::State& s) { expected_errors(s, "float32"); }

// Measures the computation of the expected errors of a 256 x 512 x 256 product on a machine.
void sum_errors_of(benchmark::State& state, const char* machine, const char* format) {
  constexpr std::int64_t kDepth = 512;
  std::vector<double> a = operand(format, 0), b = operand(format, 1);
  a.resize(kSide * kDepth);
  b.resize(kDepth * kSide);
  const assay::DotModel& model =
      assay::dot_model(assay::machine_named(machine), assay::format_named(format));
  for (auto _ : state) {
    const assay::SumErrors errors = assay::sum_errors(model, kSide, kSide, kDepth, a, b, {},
                                                      assay::StartOfSum::kFirst, true, 1);
    benchmark::DoNotOptimize(errors.variance.data());
  }
}
void sum_errors_hopper_fp32(benchmark::State& s) { sum_errors_of(s, "hopper", "float32"); }
void sum_errors_hopper_fp16(benchmark::State& s) { sum_errors_of(s, "hopper", "float16"); }
void sum_errors_ascend910b_fp16(benchmark::State& s) { sum_errors_of(s, "ascend910b", "float16"); }
void sum_errors_cdna3_fp16(benchmark::State& s) { sum_errors_of(s, "cdna3", "float16"); }

void openblas_dgemm_of_256_rows(benchmark::State& state) {
  openblas_set_num_threads(1);
  const auto a = operand("float32", 0), b = operand("float32", 1);
  std::vector<double> c(kSide * kSide);
  for (auto _ : state) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSide, kSide, kSize, 1.0, a.data(),
                kSize, b.data(), kSide, 0.0, c.data(), kSide);
    benchmark::DoNotOptimize(c.data());
  }
}

void repeated(benchmark::internal::Benchmark* b) {
  b->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
}
BENCHMARK(openblas_sgemm)->Apply(repeated);
BENCHMARK(ascend910b_bf16)->Apply(repeated);
BENCHMARK(ascend910b_fp16)->Apply(repeated);
BENCHMARK(ascend910b_fp32)->Apply(repeated);
BENCHMARK(ascend910b_hf32)->Apply(repeated);
BENCHMARK(ascend910b_bf16_two_threads)->Apply(repeated);
BENCHMARK(hopper_bf16)->Apply(repeated);
BENCHMARK(hopper_bf16_two_threads)->Apply(repeated);
BENCHMARK(hopper_fp16)->Apply(repeated);
BENCHMARK(hopper_tf32)->Apply(repeated);
BENCHMARK(hopper_fp8)->Apply(repeated);
BENCHMARK(hopper_fp8_promoted)->Apply(repeated);
BENCHMARK(cpu_fma)->Apply(repeated);
BENCHMARK(cpu_mul_add)->Apply(repeated);
BENCHMARK(openblas_dgemm)->Apply(repeated);
BENCHMARK(golden_bf16)->Apply(repeated);
BENCHMARK(golden_bf16_two_threads)->Apply(repeated);
BENCHMARK(golden_fp16)->Apply(repeated);
BENCHMARK(golden_fp32)->Apply(repeated);
BENCHMARK(golden_fp64)->Apply(repeated);
BENCHMARK(openblas_dgemm_of_256_rows)->Apply(repeated);
BENCHMARK(expected_errors_bf16)->Apply(repeated);
BENCHMARK(expected_errors_fp32)->Apply(repeated);
BENCHMARK(sum_errors_hopper_fp32)->Apply(repeated);
BENCHMARK(sum_errors_hopper_fp16)->Apply(repeated);
BENCHMARK(sum_errors_ascend910b_fp16)->Apply(repeated);
BENCHMARK(sum_errors_cdna3_fp16)->Apply(repeated);

}  // namespace

int main(int argc, char** argv) {
  const char* sgemm = "openblas_sgemm";
  return assay_bench::run_with_ratios(
      argc, argv,
      {{"ascend910b bf16 matmul, 1024^3: sgemm", "ascend910b_bf16", sgemm, 0.35},
       {"ascend910b fp16: sgemm", "ascend910b_fp16", sgemm, 0.35},
       {"ascend910b fp32: sgemm", "ascend910b_fp32", sgemm, 0.12},
       {"ascend910b hf32: sgemm", "ascend910b_hf32", sgemm},
       {"ascend910b bf16, two threads: one thread", "ascend910b_bf16_two_threads",
        "ascend910b_bf16", 1.8},
       {"hopper bf16: sgemm", "hopper_bf16", sgemm, 0.15},
       {"hopper fp16: sgemm", "hopper_fp16", sgemm, 0.15},
       {"hopper tf32: sgemm", "hopper_tf32", sgemm},
       {"hopper fp8: sgemm", "hopper_fp8", sgemm, 0.2},
       {"hopper fp8, promoted every 128: sgemm", "hopper_fp8_promoted", sgemm},
       {"hopper bf16, two threads: one thread", "hopper_bf16_two_threads", "hopper_bf16", 1.8},
       {"cpu_fma (a sequential chain): sgemm", "cpu_fma", sgemm, 0.8},
       {"cpu_mul_add: sgemm", "cpu_mul_add", sgemm, 0.8},
       {"golden matmul, 1024^3, bf16: sgemm", "golden_bf16", sgemm, 0.4},
       {"golden bf16: dgemm", "golden_bf16", "openblas_dgemm"},
       {"golden bf16, two threads: one thread", "golden_bf16_two_threads", "golden_bf16", 1.8},
       {"golden fp16: sgemm", "golden_fp16", sgemm, 0.4},
       {"golden fp32: sgemm", "golden_fp32", sgemm},
       {"golden float64: sgemm", "golden_fp64", sgemm},
       {"expected errors in any order, 256 x 1024 x 256 bf16: dgemm", "expected_errors_bf16",
        "openblas_dgemm_of_256_rows"},
       {"expected errors in any order, fp32: dgemm", "expected_errors_fp32",
        "openblas_dgemm_of_256_rows"}});
}
