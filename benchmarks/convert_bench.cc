// Measures conversions of whole arrays between float32 and the narrow formats, against memcpy. Both
// read and write the same total number of bytes, in arrays larger than any cache.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/format/convert.h"
#include "ratios.h"

namespace {

constexpr std::size_t kElements = std::size_t{64} << 20;  // 256 MiB of float32
constexpr const char* kFormats[] = {"bfloat16",    "float16",         "float8_e4m3fn",
                                    "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"};

std::vector<float>& wide() {
  static std::vector<float> values = [] {
    std::vector<float> v(kElements);
    // The array repeats 64 Ki normal numbers.
    for (std::size_t i = 0; i < 65536; ++i) v[i] = static_cast<float>(assay::Random(1, i).normal());
    for (std::size_t i = 65536; i < kElements; ++i) v[i] = v[i - 65536];
    return v;
  }();
  return values;
}

std::vector<std::byte>& narrow() {
  static std::vector<std::byte> codes(kElements * 2);
  return codes;
}

void encode(benchmark::State& state, const assay::Format& format) {
  for (auto _ : state) {
    assay::encode_array(format, wide().data(), kElements, narrow().data());
    benchmark::ClobberMemory();
  }
}

void decode(benchmark::State& state, const assay::Format& format) {
  for (auto _ : state) {
    assay::decode_array(format, narrow().data(), kElements, wide().data());
    benchmark::ClobberMemory();
  }
}

// Measures memcpy, which reads `bytes` bytes and writes as many.
void copy(benchmark::State& state, std::size_t bytes) {
  static std::vector<std::byte> to(kElements * 3);
  for (auto _ : state) {
    std::memcpy(to.data(), wide().data(), bytes);
    benchmark::ClobberMemory();
  }
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
  for (const std::size_t width : {std::size_t{1}, std::size_t{2}}) {
    add("memcpy_" + std::to_string(4 + width),
        [=](benchmark::State& state) { copy(state, kElements * (4 + width) / 2); });
  }
  for (const char* name : kFormats) {
    const assay::Format& format = assay::format_named(name);
    const std::string peer = "memcpy_" + std::to_string(4 + format.storage_bytes);
    add(std::string("encode_") + name, [&](benchmark::State& state) { encode(state, format); });
    add(std::string("decode_") + name, [&](benchmark::State& state) { decode(state, format); });
    ratios.push_back({std::string("float32 to ") + name + ": memcpy of as many bytes",
                      std::string("encode_") + name, peer, 0.5});
    ratios.push_back({std::string(name) + " to float32: memcpy of as many bytes",
                      std::string("decode_") + name, peer, 0.5});
  }
  return assay_bench::run_with_ratios(argc, argv, ratios);
}
