// Fuzzers: a target is a function of assay that reads an input from outside, with a name. libFuzzer
// gives inputs to one target (entry.cc). replay.cc gives the kept inputs to all targets, under
// every compiler.
//
// If a target refuses an input, it must throw FileError or Refusal with a reason. Any other
// exception, a crash, undefined behaviour, lost memory, and the use of more than 5 s or 1 GiB are
// findings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::fuzz {

using Bytes = std::vector<std::uint8_t>;
using Draw = std::minstd_rand;

// Changes bytes without knowledge of their meaning, and returns at most `most` bytes. It is a
// mutation of libFuzzer, or of replay.cc.
using Change = Bytes (*)(Bytes bytes, std::size_t most);

// Changes an input by its structure.
using Mutate = Bytes (*)(Bytes input, Draw& draw, Change change);

struct Target {
  std::string_view name;
  std::function<void(std::span<const std::uint8_t> input)> run;
  // Changes an input with knowledge of its structure. nullptr if changes of bytes and a dictionary
  // find as much.
  Mutate mutate = nullptr;
  std::size_t most = 1 << 14;  // the largest number of bytes of an input
};
std::span<const Target> targets();
// Throws Refusal, which lists the known targets, if no target has this name.
const Target& target_named(std::string_view name);

// Prints what is wrong with the program and ends it by abort(). A process that only opens a file
// ends with this status instead, because HDF5 may call abort() there.
inline constexpr int kFinding = 66;
inline bool is_looking = false;
[[noreturn]] void finding(const std::string& what);

// True if `read` refuses its input, which it may. Any other exception is a finding.
bool refuses(const std::string& what, void (*read)(const void* context), const void* context);
template <typename Read>
bool refuses(const std::string& what, const Read& read) {
  return refuses(
      what, [](const void* context) { (*static_cast<const Read*>(context))(); }, &read);
}

// A file in memory, with a path of its own.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::uint8_t> bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

// Returns a random number below `end`, which is above 0.
std::size_t below(Draw& draw, std::size_t end);
// Returns a number of `width` bytes at which readers often err: 0, 1, -1, powers of two and their
// neighbours.
std::uint64_t hot_number(Draw& draw, std::size_t width, std::size_t file_size);
std::uint64_t number_at(const Bytes& bytes, std::size_t at, std::size_t width);
void put_number(Bytes& bytes, std::size_t at, std::size_t width, std::uint64_t value);

std::string text_of(std::span<const std::uint8_t> bytes);
Bytes bytes_of(std::string_view text);

// One target for each format of array_formats().
std::vector<Target> array_targets();

// The functions of the other targets. Each is in the file of its name.
void run_hdf5(std::span<const std::uint8_t> input);
void run_csv(std::span<const std::uint8_t> input);
void run_plan(std::span<const std::uint8_t> input);
void run_standards(std::span<const std::uint8_t> input);
void run_machine(std::span<const std::uint8_t> input);
void run_json(std::span<const std::uint8_t> input);
void run_fault(std::span<const std::uint8_t> input);
void run_command_line(std::span<const std::uint8_t> input);
void run_formats(std::span<const std::uint8_t> input);

Bytes mutate_hdf5(Bytes input, Draw& draw, Change change);
Bytes mutate_npy(Bytes input, Draw& draw, Change change);
Bytes mutate_zip(Bytes input, Draw& draw, Change change);
Bytes mutate_safetensors(Bytes input, Draw& draw, Change change);
Bytes mutate_json(Bytes input, Draw& draw, Change change);

}  // namespace assay::fuzz
