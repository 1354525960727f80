// Reading a dataset against read() of the same bytes, both from the page cache.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "assay/datasets/store.h"
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
    c.golden = std::move(t);
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
    benchmark::DoNotOptimize(c.golden->bytes());
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

BENCHMARK(dataset_read)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(plain_read)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  const int status = assay_bench::run_with_ratios(
      argc, argv, {{"dataset read, 256 MiB: read()", "dataset_read", "plain_read", 0.8}});
  std::filesystem::remove(path());
  return status;
}
