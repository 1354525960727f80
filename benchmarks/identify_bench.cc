// Measures the time to find the arithmetic of recorded products, on one thread:
// - a 64 x 512 x 64 product with float32 results, for a machine of the table and for models that
//   differ from all machines in four parameters (operands of float32 may be converted, so more
//   models are tried);
// - products with bfloat16 results and long K, which tell few models apart, so that the answer is
//   "undecided";
// - ten such products of one library in one file;
// - the recordings that are shipped (datasets/recordings).
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "assay/datasets/store/dataset_file.h"
#include "assay/identify/identify.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"

namespace {

assay::Case product(const char* dtype, const char* output, const char* machine, std::int64_t m,
                    std::int64_t k, std::int64_t n, std::uint64_t seed) {
  assay::Recipe recipe;
  recipe.dtype = &assay::format_named(dtype);
  recipe.sizes = {m, k, n};
  recipe.seed = seed;
  recipe.attributes["output_dtype"] = std::string(output);
  assay::Case c = assay::generate_case("matmul", recipe);
  c.output().recorded["device"].tensor = assay::emulate(c, assay::machine_named(machine));
  return c;
}

// Measures identify on these cases. Reports an error if the outcomes are not the expected ones.
void identify_cases(benchmark::State& state, const std::vector<assay::Case>& cases,
                    const std::vector<assay::identify::Outcome>& expected) {
  std::vector<assay::identify::Recorded> outputs;
  for (const assay::Case& c : cases) {
    for (const auto& [producer, tensor] : c.output().recorded) outputs.push_back({&c, producer});
  }
  std::int64_t tried = 0;
  for (auto _ : state) {
    tried = 0;
    for (const auto& finding : assay::identify::identify(outputs, {.threads = 1})) {
      tried += finding.tried;
      if (std::find(expected.begin(), expected.end(), finding.outcome) == expected.end()) {
        state.SkipWithError("a case has another outcome");
        return;
      }
    }
  }
  state.counters["models"] = static_cast<double>(tried);
}

void identify_product(benchmark::State& state, const char* dtype, const char* machine) {
  identify_cases(state, {product(dtype, "float32", machine, 64, 512, 64, 0)},
                 {assay::identify::Outcome::kFound});
}
BENCHMARK_CAPTURE(identify_product, hopper, "float16", "hopper")->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(identify_product, unknown, "float16",
                  "hopper,kept_bits=19,chunk=24,alignment=up,rounding=down")
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(identify_product, unknown_float32, "float32",
                  "ascend910b,kept_bits=19,chunk=24,alignment=up,rounding=down")
    ->Unit(benchmark::kSecond);

// The arguments of the benchmark are M, K and N, and the number of products of this shape in the
// file.
void narrow_results(benchmark::State& state) {
  std::vector<assay::Case> cases;
  for (std::int64_t i = 0; i < state.range(3); ++i) {
    cases.push_back(product("bfloat16", "bfloat16", "hopper", state.range(0), state.range(1),
                            state.range(2), static_cast<std::uint64_t>(i)));
    cases.back().name = std::to_string(i);
  }
  identify_cases(state, cases,
                 {assay::identify::Outcome::kUndecided, assay::identify::Outcome::kFound});
}
BENCHMARK(narrow_results)
    ->Args({1, 2048, 64, 1})
    ->Args({16, 3072, 64, 1})
    ->Args({16, 16384, 16, 1})
    ->Args({1, 2048, 64, 10})
    ->Unit(benchmark::kSecond);

void recordings(benchmark::State& state, const char* file) {
  const assay::DatasetFile in(std::string(ASSAY_SOURCE_DIR "/datasets/recordings/") + file);
  std::vector<assay::Case> cases;
  for (const std::string& name : in.case_names()) cases.push_back(in.read(name));
  identify_cases(state, cases,
                 {assay::identify::Outcome::kFound, assay::identify::Outcome::kUndecided,
                  assay::identify::Outcome::kNone});
}
BENCHMARK_CAPTURE(recordings, kernels, "hopper_kernels.h5")->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(recordings, units, "hopper_units.h5")->Unit(benchmark::kSecond);

}  // namespace

BENCHMARK_MAIN();
