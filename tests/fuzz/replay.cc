// Gives the kept inputs, and a few changes of each, to every target: `fuzz_replay CORPUS FOUND
// [--changes=N] [--target=NAME]`. Does in seconds, and with every compiler, a small part of what
// libFuzzer does for hours.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "assay/base/call_text.h"
#include "target.h"

namespace {

using assay::fuzz::Bytes;
using assay::fuzz::Target;

assay::fuzz::Draw& draw() {
  static assay::fuzz::Draw one(1);
  return one;
}

// Changes a few bytes, and sometimes cuts off the end.
Bytes changed(Bytes bytes, std::size_t most) {
  bytes.resize(std::min(bytes.size(), most));
  if (bytes.empty()) return bytes;
  const std::size_t changes = 1 + assay::fuzz::below(draw(), 3);
  for (std::size_t i = 0; i < changes; ++i) {
    bytes[assay::fuzz::below(draw(), bytes.size())] =
        static_cast<std::uint8_t>(assay::fuzz::below(draw(), 256));
  }
  if (assay::fuzz::below(draw(), 8) == 0) bytes.resize(assay::fuzz::below(draw(), bytes.size()));
  return bytes;
}

std::string keep;

void run(const Target& target, const Bytes& input) {
  if (!keep.empty()) {
    std::ofstream(keep, std::ios::binary)
        .write(reinterpret_cast<const char*>(input.data()),
               static_cast<std::streamsize>(input.size()));
  }
  target.run(input);
}

std::size_t replay(const Target& target, const std::filesystem::path& folder, std::size_t changes) {
  if (!std::filesystem::is_directory(folder)) return 0;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    std::printf("%s %s\n", std::string(target.name).c_str(), file.filename().c_str());
    std::fflush(stdout);
    run(target, bytes);
    for (std::size_t i = 0; i < changes; ++i) {
      const Bytes other = target.mutate != nullptr ? target.mutate(bytes, draw(), changed)
                                                   : changed(bytes, target.most);
      run(target, other);
    }
  }
  return files.size();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> folders;
  std::string only;
  std::size_t changes = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--changes=")) {
      changes = assay::read_number<std::size_t>(word.substr(10)).value_or(0);
    } else if (word.starts_with("--keep=")) {
      keep = word.substr(7);
    } else if (word.starts_with("--target=")) {
      only = word.substr(9);
    } else {
      folders.push_back(word);
    }
  }
  bool all = true;
  for (const Target& target : assay::fuzz::targets()) {
    if (!only.empty() && target.name != only) continue;
    std::size_t inputs = 0;
    for (const std::string& folder : folders) {
      inputs += replay(target, std::filesystem::path(folder) / target.name, changes);
    }
    if (inputs == 0) std::printf("%s has no inputs\n", std::string(target.name).c_str());
    all = all && inputs > 0;
  }
  return all ? 0 : 1;
}
