// The time to find the arithmetic of a 64 x 512 x 64 product with float32 results, on one thread:
// of a machine of the table, and of models that differ from all of them in four parameters (those
// of float32 may convert their operands, so that more are tried).
#include <benchmark/benchmark.h>

#include <string>

#include "assay/identify/identify.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"

namespace {

void identify_product(benchmark::State& state, const char* dtype, const char* machine) {
  assay::Recipe recipe;
  recipe.dtype = &assay::format_named(dtype);
  recipe.sizes = {64, 512, 64};
  recipe.attributes["output_dtype"] = std::string("float32");
  assay::Case c = assay::generate_case("matmul", recipe);
  c.outputs["device"] = assay::emulate(c, assay::machine_named(machine));
  std::int64_t tried = 0;
  for (auto _ : state) {
    const auto findings = assay::identify::identify({{&c, "device"}}, {.threads = 1});
    if (findings.at(0).outcome != assay::identify::Outcome::kFound) {
      state.SkipWithError("the model was not found");
      return;
    }
    tried = findings.at(0).tried;
  }
  state.counters["models"] = static_cast<double>(tried);
  state.counters["of 10 s asked"] =
      benchmark::Counter(10 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(identify_product, hopper, "float16", "hopper")->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(identify_product, unknown, "float16",
                  "hopper,kept_bits=19,chunk=24,alignment=up,rounding=down")
    ->Unit(benchmark::kSecond);
BENCHMARK_CAPTURE(identify_product, unknown_float32, "float32",
                  "ascend910b,kept_bits=19,chunk=24,alignment=up,rounding=down")
    ->Unit(benchmark::kSecond);

}  // namespace

BENCHMARK_MAIN();
