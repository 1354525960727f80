// `assay gate` over many small cases of one file, against what a script of h5py and numpy takes to
// read the same arrays and compare them.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/datasets/store.h"
#include "ratios.h"

namespace {

namespace fs = std::filesystem;

constexpr int kCases = 20000, kElements = 1000;

const fs::path& folder() {
  static const fs::path made = [] {
    const fs::path at = fs::temp_directory_path() / "assay_gate_bench";
    fs::create_directories(at);
    std::vector<double> golden, output;
    for (int i = 0; i < kElements; ++i) {
      golden.push_back(1 + i / 997.0);
      output.push_back(golden.back() * (1 + 1e-6));
    }
    assay::DatasetWriter writer((at / "cases.h5").string());
    for (int i = 0; i < kCases; ++i) {
      assay::Case c;
      c.name = assay::format("layer{}/op{}", i / 100, i % 100);
      c.op = "external";
      c.attributes["output_dtype"] = std::string("float32");
      c.golden = assay::Tensor::from_values(assay::format_named("float64"), {kElements}, golden);
      c.outputs["npu"] =
          assay::Tensor::from_values(assay::format_named("float32"), {kElements}, output);
      writer.write(c);
    }
    writer.commit();
    std::ofstream(at / "close.py") << R"(import sys, h5py, numpy
file = h5py.File(sys.argv[1], "r")
def walk(group):
    for item in group.values():
        if "op" in item.attrs:
            assert numpy.allclose(item["outputs/npu"][()], item["golden"][()], 1e-5, 1e-5)
        else:
            walk(item)
walk(file["cases"])
)";
    return at;
  }();
  return made;
}

void run(benchmark::State& state, const std::string& line) {
  for (auto _ : state) {
    if (std::system(line.c_str()) != 0) state.SkipWithError("it failed");
  }
  state.SetItemsProcessed(state.iterations() * kCases);
}

void gate_small_cases(benchmark::State& state) {
  run(state, assay::format(ASSAY_TOOL " gate {}/cases.h5 --quiet", folder().string()));
}
void h5py_allclose(benchmark::State& state) {
  run(state, assay::format(ASSAY_PYTHON " {0}/close.py {0}/cases.h5", folder().string()));
}

BENCHMARK(gate_small_cases)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Repetitions(3)
    ->UseRealTime();
BENCHMARK(h5py_allclose)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Repetitions(3)
    ->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  const int status =
      assay_bench::run_with_ratios(argc, argv,
                                   {{"gate, 20 000 cases of 1000 elements: h5py and numpy.allclose",
                                     "gate_small_cases", "h5py_allclose", 0}});
  fs::remove_all(folder());
  return status;
}
