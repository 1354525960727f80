// Reads all arrays of a file, for each kind of file of arrays.
#include <utility>

#include "assay/datasets/arrays/array_file.h"
#include "target.h"

namespace assay::fuzz {
namespace {

// Functions that change files of a format by their structure. Files of the other formats are
// changed as bytes.
constexpr std::pair<std::string_view, Mutate> kMutators[] = {{"npy", mutate_npy},
                                                             {"npz", mutate_zip},
                                                             {"pt", mutate_zip},
                                                             {"safetensors", mutate_safetensors}};

void read_all(const ArrayFormat& format, std::span<const std::uint8_t> input) {
  const MemoryFile memory(input);
  const std::string what(format.name);
  (void)refuses(what, [&] {
    const std::unique_ptr<ArrayFile> file = format.open(memory.path());
    int arrays = 0;
    for (const std::string& name : file->names()) {
      if (++arrays > 16) break;
      for (const char* dtype : {"", "bfloat16", "float8_e4m3fn", "complex64"}) {
        (void)refuses(what, [&] {
          const std::unique_ptr<ArraySource> source =
              file->open(name, {.path = memory.path(), .dtype = dtype, .shape = {}});
          (void)source->place();
          (void)read_array(*source);
          // After the whole array, reads one element from its middle, if it has at least 3.
          const std::int64_t size = element_count(source->shape());
          if (size < 3) return;
          std::vector<std::byte> piece(static_cast<std::size_t>(source->format().storage_bytes));
          source->read(size / 2, 1, piece.data());
        });
      }
    }
  });
}

}  // namespace

std::vector<Target> array_targets() {
  std::vector<Target> targets;
  for (const ArrayFormat& format : array_formats()) {
    if (format.is_dataset) continue;  // hdf5.cc
    targets.push_back({.name = format.name, .run = [&format](std::span<const std::uint8_t> input) {
                         read_all(format, input);
                       }});
    for (const auto& [name, mutate] : kMutators) {
      if (name == format.name) targets.back().mutate = mutate;
    }
  }
  return targets;
}

}  // namespace assay::fuzz
