// Measures `assay gate` on many small cases of one file, against a script with h5py and numpy that
// reads and compares the same arrays. Also measures it on large cases of another file, against
// reading them, and `assay compare` of two .npy files against numpy.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/datasets/store/dataset_file.h"
#include "ratios.h"

namespace {

namespace fs = std::filesystem;

constexpr int kCases = 20000, kElements = 1000;
constexpr int kLargeCases = 3;
// 256 MiB on each of the two sides, in float32.
constexpr std::int64_t kLargeRows = 16384, kLargeColumns = 4096;
constexpr std::int64_t kLargeBytes = 2 * kLargeCases * kLargeRows * kLargeColumns * 4;

void write_large(const std::string& path) {
  assay::DatasetWriter writer(path);
  assay::Case c;
  c.op = "external";
  c.attributes["output_dtype"] = std::string("float32");
  assay::Tensor golden(assay::format_named("float32"), {kLargeRows, kLargeColumns});
  auto* values = reinterpret_cast<float*>(golden.bytes());
  for (std::int64_t i = 0; i < golden.size(); ++i) {
    values[i] = 1.0F + static_cast<float>(i % 8191) / 997.0F;
  }
  assay::Tensor output = golden;
  values = reinterpret_cast<float*>(output.bytes());
  for (std::int64_t i = 0; i < output.size(); ++i) values[i] *= 1.000001F;
  c.output().golden = std::move(golden);
  c.output().recorded["npu"].tensor = std::move(output);
  for (int i = 0; i < kLargeCases; ++i) {
    c.name = assay::formatted("case{}", i);
    writer.write(c);
  }
  writer.commit();
}

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
      c.name = assay::formatted("layer{}/op{}", i / 100, i % 100);
      c.op = "external";
      c.attributes["output_dtype"] = std::string("float32");
      c.output().golden =
          assay::Tensor::from_values(assay::format_named("float64"), {kElements}, golden);
      c.output().recorded["npu"].tensor =
          assay::Tensor::from_values(assay::format_named("float32"), {kElements}, output);
      writer.write(c);
    }
    writer.commit();
    write_large((at / "large.h5").string());
    std::ofstream(at / "read.py") << R"(import sys, numpy
buffer = numpy.empty(1 << 24, "u1")
with open(sys.argv[1], "rb", buffering=0) as file:
    while file.readinto(buffer): pass
)";
    std::ofstream(at / "h5py_read.py") << R"(import sys, h5py, numpy
file = h5py.File(sys.argv[1], "r")
for case in file["cases"].values():
    for data in (case["golden"], case["outputs/npu"]):
        buffer = numpy.empty((1024,) + data.shape[1:], data.dtype)
        for row in range(0, data.shape[0], 1024):
            data.read_direct(buffer, numpy.s_[row:row + 1024])
)";
    std::ofstream(at / "close_large.py") << R"(import sys, h5py, numpy
file = h5py.File(sys.argv[1], "r")
for case in file["cases"].values():
    assert numpy.allclose(case["outputs/npu"][()], case["golden"][()], 1e-5, 1e-5)
)";
    std::ofstream(at / "make_npy.py") << R"(import sys, numpy
expected = numpy.random.default_rng(1).random(1 << 26, "f4") * 2 - 1
numpy.save(sys.argv[1] + "/expected.npy", expected)
numpy.save(sys.argv[1] + "/actual.npy", expected * numpy.float32(1 + 1e-7))
)";
    if (std::system(assay::formatted(ASSAY_PYTHON " {0}/make_npy.py {0}", at.string()).c_str()) !=
        0) {
      std::exit(2);
    }
    std::ofstream(at / "close_npy.py") << R"(import sys, numpy
assert numpy.allclose(numpy.load(sys.argv[1]), numpy.load(sys.argv[2]), 1e-5, 1e-5)
)";
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
}

void gate_small_cases(benchmark::State& state) {
  run(state, assay::formatted(ASSAY_TOOL " gate {}/cases.h5 --quiet", folder().string()));
}
void h5py_allclose(benchmark::State& state) {
  run(state, assay::formatted(ASSAY_PYTHON " {0}/close.py {0}/cases.h5", folder().string()));
}

void run_large(benchmark::State& state, const std::string& line) {
  run(state, line);
  state.SetBytesProcessed(state.iterations() * kLargeBytes);
}
void gate_large_cases(benchmark::State& state) {
  run_large(state, assay::formatted(ASSAY_TOOL " gate {}/large.h5 --quiet", folder().string()));
}
void read_file(benchmark::State& state) {
  run_large(state, assay::formatted(ASSAY_PYTHON " {0}/read.py {0}/large.h5", folder().string()));
}
void h5py_read(benchmark::State& state) {
  run_large(state,
            assay::formatted(ASSAY_PYTHON " {0}/h5py_read.py {0}/large.h5", folder().string()));
}
void allclose_large(benchmark::State& state) {
  run_large(state,
            assay::formatted(ASSAY_PYTHON " {0}/close_large.py {0}/large.h5", folder().string()));
}
void compare_npy(benchmark::State& state) {
  run(state,
      assay::formatted(ASSAY_TOOL " compare {0}/actual.npy {0}/expected.npy --rtol 1e-5 --atol "
                                  "1e-5 --quiet",
                       folder().string()));
}
void allclose_npy(benchmark::State& state) {
  run(state, assay::formatted(ASSAY_PYTHON " {0}/close_npy.py {0}/actual.npy {0}/expected.npy",
                              folder().string()));
}

BENCHMARK(compare_npy)->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(5)->UseRealTime();
BENCHMARK(allclose_npy)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Repetitions(5)
    ->UseRealTime();
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
BENCHMARK(gate_large_cases)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Repetitions(5)
    ->UseRealTime();
BENCHMARK(read_file)->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(5)->UseRealTime();
BENCHMARK(h5py_read)->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(5)->UseRealTime();
BENCHMARK(allclose_large)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Repetitions(5)
    ->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  const int status = assay_bench::run_with_ratios(
      argc, argv,
      {{"gate, 20 000 cases of 1000 elements: h5py and numpy.allclose", "gate_small_cases",
        "h5py_allclose", 0},
       {"compare, two .npy of 256 MiB, all metrics: numpy load and allclose", "compare_npy",
        "allclose_npy", 3},
       {"gate, 3 cases of 512 MiB: reading the file", "gate_large_cases", "read_file", 0},
       {"gate, 3 cases of 512 MiB: reading them by h5py", "gate_large_cases", "h5py_read", 0},
       {"gate, 3 cases of 512 MiB: h5py and numpy.allclose", "gate_large_cases", "allclose_large",
        0}});
  fs::remove_all(folder());
  return status;
}
