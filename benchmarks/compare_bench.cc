// `assay compare` of two .npy files of float32 against reading both: from the disk, and from the
// page cache. COMPARE_BENCH_GIB says how large each is (1); TMPDIR where they lie.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "ratios.h"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = std::size_t{4} << 20;

// A vector of numbers from 1 to 9.3, each larger by `step`.
void write_npy(const fs::path& path, std::int64_t elements, float step) {
  std::string header =
      assay::formatted("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", elements);
  header.resize(117, ' ');
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  out.write("\x93NUMPY\x01\x00\x76\x00", 10);
  out << header;
  std::vector<float> piece(kPiece / sizeof(float));
  for (std::size_t i = 0; i < piece.size(); ++i) {
    piece[i] = 1.0F + static_cast<float>(i % 8191) / 997.0F + step;
  }
  for (std::int64_t done = 0; done < elements;) {
    const auto count = std::min(elements - done, static_cast<std::int64_t>(piece.size()));
    out.write(reinterpret_cast<const char*>(piece.data()),
              count * static_cast<std::streamsize>(sizeof(float)));
    done += count;
  }
  if (!out.flush()) {
    std::fprintf(stderr, "cannot write %s\n", path.c_str());
    std::exit(2);
  }
}

struct Pair {
  fs::path folder, actual, expected;

  Pair() {
    const char* gib = std::getenv("COMPARE_BENCH_GIB");
    const std::int64_t elements =
        (gib == nullptr ? 1 : std::max(1, std::atoi(gib))) * (std::int64_t{1} << 28);
    std::string name = (fs::temp_directory_path() / "assay_compare_bench_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::exit(2);
    folder = name;
    actual = folder / "actual.npy";
    expected = folder / "expected.npy";
    write_npy(actual, elements, 1e-6F);
    write_npy(expected, elements, 0);
  }
  ~Pair() { fs::remove_all(folder); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  // Out of the page cache.
  void forget() const {
    for (const fs::path& path : {actual, expected}) {
      const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0) std::exit(2);
      (void)fdatasync(file);
      (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
      close(file);
    }
  }

  void compare() const {
    const std::string line = assay::formatted(ASSAY_TOOL " compare {} {} --standard torch --quiet",
                                              actual.string(), expected.string());
    if (std::system(line.c_str()) != 0) {
      std::fprintf(stderr, "failed: %s\n", line.c_str());
      std::exit(2);
    }
  }

  void read() const {
    std::vector<char> piece(kPiece);
    for (const fs::path& path : {actual, expected}) {
      const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      while (::read(file, piece.data(), piece.size()) > 0) benchmark::ClobberMemory();
      close(file);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const Pair pair;
  const auto add = [&](const char* name, bool cold, void (Pair::*body)() const) {
    benchmark::RegisterBenchmark(name,
                                 [&pair, cold, body](benchmark::State& state) {
                                   for (auto _ : state) {
                                     state.PauseTiming();
                                     if (cold) pair.forget();
                                     state.ResumeTiming();
                                     (pair.*body)();
                                   }
                                 })
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1)
        ->Repetitions(3)
        ->UseRealTime();
  };
  add("read_disk", true, &Pair::read);
  add("compare_disk", true, &Pair::compare);
  add("read_cache", false, &Pair::read);
  add("compare_cache", false, &Pair::compare);
  return assay_bench::run_with_ratios(
      argc, argv,
      {{"compare two .npy, from the disk: reading both", "compare_disk", "read_disk", 0.9},
       {"compare two .npy, from the page cache: reading both by a thread", "compare_cache",
        "read_cache", 0}});
}
