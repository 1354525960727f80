// Measures `assay compare` of two .npy files of float32 against plain reading of both, from the
// disk and from the page cache. COMPARE_BENCH_GIB is the size of each file in GiB (1 by default).
// The files are written to TMPDIR.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/base/pool.h"
#include "assay/base/text.h"
#include "ratios.h"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = std::size_t{4} << 20;

// Writes a .npy file of float32 numbers from 1 to 9.3, each larger than the one before by `step`.
// If `value` is given, all numbers are `value`.
void write_npy(const fs::path& path, const std::string& shape, bool in_columns,
               std::int64_t elements, float step, std::optional<float> value = {}) {
  std::string header = assay::formatted("{{'descr': '<f4', 'fortran_order': {}, 'shape': ({},), }}",
                                        in_columns ? "True" : "False", shape);
  header.resize(117, ' ');
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  out.write("\x93NUMPY\x01\x00\x76\x00", 10);
  out << header;
  std::vector<float> piece(kPiece / sizeof(float));
  for (std::size_t i = 0; i < piece.size(); ++i) {
    piece[i] = value.value_or(1.0F + static_cast<float>(i % 8191) / 997.0F + step);
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
  fs::path folder, actual, expected, matrix, same, columns;

  Pair() {
    const char* gib = std::getenv("COMPARE_BENCH_GIB");
    const std::int64_t elements =
        (gib == nullptr ? 1 : std::max(1, std::atoi(gib))) * (std::int64_t{1} << 28);
    std::string name = (fs::temp_directory_path() / "assay_compare_bench_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::exit(2);
    folder = name;
    actual = folder / "actual.npy";
    expected = folder / "expected.npy";
    matrix = folder / "matrix.npy";
    same = folder / "same.npy";
    columns = folder / "columns.npy";
    const std::string length = assay::formatted("{}", elements);
    write_npy(actual, length, false, elements, 1e-6F);
    write_npy(expected, length, false, elements, 0);
    // Writes three matrices of 64 MiB each, with 4096 rows and columns.
    for (const auto& [path, in_columns] :
         {std::pair(&matrix, false), {&same, false}, {&columns, true}}) {
      write_npy(*path, "4096, 4096", in_columns, std::int64_t{1} << 24, 0, 1.5F);
    }
  }
  ~Pair() { fs::remove_all(folder); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  // Drops both files from the page cache, so that the next run reads them from the disk.
  void forget() const {
    for (const fs::path& path : {actual, expected}) {
      const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0) std::exit(2);
      (void)fdatasync(file);
      (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
      close(file);
    }
  }

  void compare() const { compare(actual, expected); }
  void compare_rows() const { compare(same, matrix); }
  void compare_columns() const { compare(columns, matrix); }

  void compare(const fs::path& one, const fs::path& other) const {
    const std::string line = assay::formatted(ASSAY_TOOL " compare {} {} --standard torch --quiet",
                                              one.string(), other.string());
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

  // Add up the numbers of both files with all threads, part by part. sum_read() reads the parts
  // into each thread's own buffer, and sum_mapped() maps them (docs/why/012-read-not-mapped.md).
  void sum_read() const { sum(false); }
  void sum_mapped() const { sum(true); }

 private:
  struct Side {
    int file;
    const char* mapped;  // null: is read
  };

  void sum(bool maps) const {
    constexpr std::int64_t kPart = 1 << 20;
    const auto bytes = static_cast<std::int64_t>(fs::file_size(actual));
    std::vector<Side> sides;
    for (const fs::path& path : {actual, expected}) {
      Side side{open(path.c_str(), O_RDONLY | O_CLOEXEC), nullptr};
      if (side.file < 0) std::exit(2);
      if (maps) {
        void* const at =
            mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ, MAP_SHARED, side.file, 0);
        if (at == MAP_FAILED) std::exit(2);
        (void)madvise(at, static_cast<std::size_t>(bytes), MADV_SEQUENTIAL);
        side.mapped = static_cast<const char*>(at);
      }
      sides.push_back(side);
    }
    assay::Pool<std::vector<char>> buffers(
        [] { return std::make_unique<std::vector<char>>(static_cast<std::size_t>(kPart)); });
    assay::parallel_for((bytes + kPart - 1) / kPart, 0, [&](std::int64_t part) {
      const auto buffer = buffers.take();
      const auto count = static_cast<std::size_t>(std::min(kPart, bytes - part * kPart));
      for (const Side& side : sides) {
        const char* from = side.mapped != nullptr ? side.mapped + part * kPart : buffer->data();
        if (side.mapped == nullptr &&
            pread(side.file, buffer->data(), count, part * kPart) != static_cast<ssize_t>(count)) {
          std::exit(2);
        }
        // Eight sums are kept, so that adding takes less time than reading the memory.
        std::uint64_t sums[8] = {}, word[8];
        for (std::size_t i = 0; i + sizeof word <= count; i += sizeof word) {
          std::memcpy(word, from + i, sizeof word);
          for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += word[lane];
        }
        benchmark::DoNotOptimize(sums);
      }
    });
    for (const Side& side : sides) {
      if (side.mapped != nullptr) {
        (void)munmap(const_cast<char*>(side.mapped), static_cast<std::size_t>(bytes));
      }
      close(side.file);
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
  add("compare_rows", false, &Pair::compare_rows);
  add("compare_columns", false, &Pair::compare_columns);
  add("sum_read", false, &Pair::sum_read);
  add("sum_mapped", false, &Pair::sum_mapped);
  return assay_bench::run_with_ratios(
      argc, argv,
      {{"compare two .npy, from the disk: reading both", "compare_disk", "read_disk", 0.9},
       {"compare two .npy, from the page cache: reading both by a thread", "compare_cache",
        "read_cache", 0},
       {"compare .npy of 64 MiB, one of them in column-major order: both in row-major order",
        "compare_columns", "compare_rows", 0},
       {"both added up by all threads, from the page cache, read: mapped", "sum_read", "sum_mapped",
        0}});
}
