// Files of arrays: all of what a file holds is read, where it is not refused.
#include "assay/datasets/arrays/array_file.h"
#include "target.h"

namespace assay::fuzz {
namespace {

void read_all(std::string_view kind, std::span<const std::uint8_t> input) {
  const MemoryFile memory(input);
  const std::string what(kind);
  (void)refuses(what, [&] {
    const std::unique_ptr<ArrayFile> file = array_format_named(kind).open(memory.path());
    int arrays = 0;
    for (const std::string& name : file->names()) {
      if (++arrays > 16) break;
      for (const char* dtype : {"", "bfloat16", "float8_e4m3fn", "complex64"}) {
        (void)refuses(what, [&] {
          const std::unique_ptr<ArraySource> source =
              file->open(name, {.path = memory.path(), .dtype = dtype, .shape = {}});
          (void)source->place();
          (void)read_array(*source);
          // And a piece of its middle, where there is one.
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

void run_npy(std::span<const std::uint8_t> input) { read_all("npy", input); }
void run_npz(std::span<const std::uint8_t> input) { read_all("npz", input); }
void run_pt(std::span<const std::uint8_t> input) { read_all("pt", input); }
void run_safetensors(std::span<const std::uint8_t> input) { read_all("safetensors", input); }
void run_onnx(std::span<const std::uint8_t> input) { read_all("onnx", input); }

}  // namespace assay::fuzz
