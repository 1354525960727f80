// Measures seeded draws, rounded to their format, against the standard library's generator with its
// normal and uniform distributions, whose values are only stored as float32.
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "assay/tensor/distribution.h"
#include "ratios.h"

namespace {

constexpr std::int64_t kElements = std::int64_t{1} << 20;

void draw(benchmark::State& state, const std::string& distribution, const std::string& dtype) {
  const assay::DistributionSpec spec = assay::parse_distribution(distribution);
  const assay::Format& format = assay::format_named(dtype);
  assay::Tensor tensor(format, {kElements});
  std::uint64_t stream = 0;
  for (auto _ : state) {
    assay::draw_part(spec, format, tensor.shape(), 1, stream++, 0, kElements, tensor.bytes());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kElements);
}

template <typename StandardDistribution>
void standard(benchmark::State& state) {
  std::mt19937_64 engine(1);
  StandardDistribution distribution;
  std::vector<float> values(kElements);
  for (auto _ : state) {
    for (float& v : values) v = static_cast<float>(distribution(engine));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kElements);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<assay_bench::Ratio> ratios;
  const auto add = [](const std::string& name, auto body) {
    benchmark::RegisterBenchmark(name.c_str(), body)
        ->Unit(benchmark::kMillisecond)
        ->Repetitions(5)
        ->UseRealTime();
  };
  // The standard library's distributions are here only to compare with. assay draws nothing with
  // them.
  add("standard_normal", standard<std::normal_distribution<double>>);
  add("standard_uniform", standard<std::uniform_real_distribution<double>>);
  for (const char* dtype : {"float32", "bfloat16", "float16"}) {
    for (const std::string distribution : {"normal", "uniform"}) {
      const std::string name = distribution + "_" + dtype;
      add(name, [=](benchmark::State& state) { draw(state, distribution, dtype); });
      ratios.push_back({distribution + " to " + dtype + ": the standard library's to float32", name,
                        "standard_" + distribution});
    }
  }
  for (const char* distribution :
       {"clamped_normal", "truncated_normal", "student_t", "lognormal", "outlier_channels",
        "identical_columns", "correlated", "integers", "subnormals", "specials"}) {
    const std::string name = std::string(distribution) + "_bfloat16";
    add(name, [=](benchmark::State& state) { draw(state, distribution, "bfloat16"); });
    ratios.push_back({std::string(distribution) + " to bfloat16: the standard library's normal",
                      name, "standard_normal"});
  }
  return assay_bench::run_with_ratios(argc, argv, ratios);
}
