// Measures reading a dataset against read() of the same bytes, both from the page cache, and
// writing many small cases against h5py.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "assay/base/text.h"
#include "assay/datasets/store/dataset_file.h"
#include "ratios.h"

namespace {

constexpr std::int64_t kElements = std::int64_t{64} << 20;  // 256 MiB of float32

const std::string& path() {
  static const std::string name = [] {
    const std::string p =
        (std::filesystem::temp_directory_path() / "assay_store_bench.h5").string();
    assay::Case c;
    c.name = "x";
    c.op = "external";
    assay::Tensor t(assay::format_named("float32"), {kElements});
    for (std::int64_t i = 0; i < kElements; ++i) t.set_bits(i, static_cast<std::uint64_t>(i));
    c.output().golden = std::move(t);
    assay::DatasetWriter writer(p);
    writer.write(c);
    writer.commit();
    return p;
  }();
  return name;
}

void dataset_read(benchmark::State& state) {
  const assay::DatasetFile file(path());
  for (auto _ : state) {
    const assay::Case c = file.read("x");
    benchmark::DoNotOptimize(c.output().golden->bytes());
  }
}

void plain_read(benchmark::State& state) {
  const std::size_t bytes = static_cast<std::size_t>(kElements) * 4;
  for (auto _ : state) {
    const int fd = open(path().c_str(), O_RDONLY);
    const std::unique_ptr<char, void (*)(void*)> buffer(
        static_cast<char*>(std::aligned_alloc(64, bytes)), std::free);
    std::size_t got = 0;
    while (got < bytes) {
      const ssize_t n = read(fd, buffer.get() + got, bytes - got);
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    close(fd);
    if (got != bytes) state.SkipWithError("short read");
    benchmark::DoNotOptimize(buffer.get());
  }
}

constexpr int kCases = 5000;

// Measures writing of cases. Each case has two inputs and a golden result of 100 elements.
void write_cases(benchmark::State& state) {
  const assay::Format& format = assay::format_named("float32");
  assay::Case c;
  c.op = "add";
  for (const char* name : {"a", "b"}) {
    c.inputs[name] = assay::Tensor::from_values(format, {100}, std::vector<double>(100, 1.0));
  }
  c.output().golden = assay::Tensor::from_values(format, {100}, std::vector<double>(100, 2.0));
  for (auto _ : state) {
    assay::DatasetWriter writer(path() + ".cases");
    for (int i = 0; i < kCases; ++i) {
      c.name = assay::formatted("layer{}/op{}", i / 100, i % 100);
      writer.write(c);
    }
    writer.commit();
  }
}

// Measures h5py when it writes the same datasets and attributes, but no checksums.
void h5py_write_cases(benchmark::State& state) {
  const std::string script = path() + ".py";
  std::ofstream(script) << R"(import sys, h5py, numpy
one = numpy.ones(100, "f4")
with h5py.File(sys.argv[1], "w") as file:
    for i in range(int(sys.argv[2])):
        case = file.create_group(f"cases/layer{i // 100}/op{i % 100}")
        case.attrs["op"] = "add"
        for name in ("inputs/a", "inputs/b", "golden"):
            case.create_dataset(name, data=one).attrs["dtype"] = "float32"
)";
  for (auto _ : state) {
    if (std::system(assay::formatted(ASSAY_PYTHON " {0} {0}.h5 {1}", script, kCases).c_str()) !=
        0) {
      state.SkipWithError("it failed");
    }
  }
  for (const char* end : {"", ".h5"}) std::filesystem::remove(script + end);
}

BENCHMARK(write_cases)->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(3)->UseRealTime();
BENCHMARK(h5py_write_cases)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Repetitions(3)
    ->UseRealTime();
BENCHMARK(dataset_read)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(plain_read)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  const int status = assay_bench::run_with_ratios(
      argc, argv,
      {{"dataset read, 256 MiB: read()", "dataset_read", "plain_read", 0.8},
       {"5000 cases written: by h5py, without checksums", "write_cases", "h5py_write_cases"}});
  for (const char* end : {"", ".cases"}) std::filesystem::remove(path() + end);
  return status;
}
