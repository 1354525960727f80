#include "target.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <typeinfo>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/checks/file_error.h"

namespace assay::fuzz {
namespace {

std::vector<Target> all_targets() {
  std::vector<Target> rows = array_targets();
  const Target others[] = {
      {.name = "hdf5", .run = run_hdf5, .mutate = mutate_hdf5, .most = 1 << 16},
      {.name = "csv", .run = run_csv},
      {.name = "plan", .run = run_plan, .mutate = mutate_json},
      {.name = "standards", .run = run_standards, .mutate = mutate_json},
      {.name = "machine", .run = run_machine, .mutate = mutate_json},
      {.name = "json", .run = run_json, .mutate = mutate_json},
      {.name = "fault", .run = run_fault, .most = 1 << 12},
      {.name = "command_line", .run = run_command_line, .most = 1 << 12},
      {.name = "formats", .run = run_formats, .most = 1 << 10},
  };
  rows.insert(rows.end(), std::begin(others), std::end(others));
  return rows;
}

}  // namespace

std::span<const Target> targets() {
  static const std::vector<Target> rows = all_targets();
  return rows;
}

const Target& target_named(std::string_view name) {
  for (const Target& target : targets()) {
    if (target.name == name) return target;
  }
  std::vector<std::string> names;
  for (const Target& target : targets()) names.emplace_back(target.name);
  throw std::invalid_argument(unknown_word("target", name, names));
}

void finding(const std::string& what) {
  std::fprintf(stderr, "finding: %s\n", what.c_str());
  if (is_looking) _exit(kFinding);
  std::abort();
}

bool refuses(const std::string& what, void (*read)(const void* context), const void* context) {
  std::string reason;
  try {
    read(context);
    return false;
  } catch (const FileError& e) {
    reason = e.what();
  } catch (const std::invalid_argument& e) {
    reason = e.what();
  } catch (const std::exception& e) {
    finding(formatted("{}: threw {}: {}", what, typeid(e).name(), e.what()));
  }
  // Functions of the standard library such as std::stoi give only their name as a reason.
  if (reason.empty() || reason.starts_with("sto"))
    finding(formatted("{}: says '{}'", what, reason));
  return true;
}

MemoryFile::MemoryFile(std::span<const std::uint8_t> bytes)
    : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)),
      path_(formatted("/proc/self/fd/{}", descriptor_)) {
  std::size_t done = 0;
  while (descriptor_ >= 0 && done < bytes.size()) {
    const ssize_t n = write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  if (descriptor_ < 0 || done < bytes.size()) finding("no file in memory could be made");
}
MemoryFile::~MemoryFile() { close(descriptor_); }

std::size_t below(Draw& draw, std::size_t end) { return static_cast<std::size_t>(draw() % end); }

std::uint64_t hot_number(Draw& draw, std::size_t width, std::size_t file_size) {
  const std::uint64_t bits = std::min<std::size_t>(width, 8) * 8;
  const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const std::uint64_t power = std::uint64_t{1} << below(draw, bits);
  const std::uint64_t choices[] = {0,
                                   1,
                                   all,
                                   all >> 1,
                                   (all >> 1) + 1,
                                   power,
                                   power - 1,
                                   power + 1,
                                   file_size,
                                   file_size + 1,
                                   file_size - 8,
                                   below(draw, file_size + 1),
                                   below(draw, 64),
                                   draw()};
  return choices[below(draw, std::size(choices))] & all;
}

std::uint64_t number_at(const Bytes& bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i) {
    value |= std::uint64_t{bytes[at + i]} << 8 * i;
  }
  return value;
}

void put_number(Bytes& bytes, std::size_t at, std::size_t width, std::uint64_t value) {
  for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i) {
    bytes[at + i] = static_cast<std::uint8_t>(value >> 8 * i & 0xFF);
  }
}

std::string text_of(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace assay::fuzz
