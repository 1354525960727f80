// The functions that libFuzzer calls: `fuzz --target=npy [libFuzzer's options] folders`.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

const assay::fuzz::Target* chosen = nullptr;

assay::fuzz::Bytes changed(assay::fuzz::Bytes bytes, std::size_t most) {
  const std::size_t size = std::min(bytes.size(), most);
  bytes.resize(std::max<std::size_t>(most, 1));
  bytes.resize(LLVMFuzzerMutate(bytes.data(), size, bytes.size()));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kOption = "--target=";
  try {
    for (int i = 1; i < *argc; ++i) {
      const std::string_view word = (*argv)[i];
      if (word.starts_with(kOption)) {
        chosen = &assay::fuzz::target_named(word.substr(kOption.size()));
      }
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    std::exit(2);
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "error: --target=NAME is needed\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({data, size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  // A third of the inputs are changed without knowledge of their structure.
  if (chosen->mutate == nullptr || seed % 3 == 0) return LLVMFuzzerMutate(data, size, most);
  assay::fuzz::Draw draw(seed);
  assay::fuzz::Bytes bytes = chosen->mutate({data, data + size}, draw, changed);
  if (bytes.empty() || bytes.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
