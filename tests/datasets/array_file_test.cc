// Tests arrays in every kind of file. Files of Python and PyTorch are read correctly, hostile ones
// are refused in one line, and other programs read what assay writes.
#include "assay/datasets/arrays/array_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/datasets/arrays/array_dtypes.h"
#include "assay/datasets/arrays/array_writer.h"
#include "assay/datasets/arrays/pickle.h"
#include "assay/datasets/arrays/raw_file.h"
#include "assay/datasets/arrays/torch_file.h"
#include "document.h"
#include "files.h"

namespace assay {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

int run_script(const std::string& command, const std::string& folder, std::string* said,
               std::string_view script = "array_files.py") {
  int status = -1;
  *said = output_of(formatted("{} -B {}/tests/datasets/{} {} {}", ASSAY_PYTHON, ASSAY_SOURCE_DIR,
                              script, command, folder),
                    &status);
  return status;
}

std::string hex_of(const std::byte* data, std::int64_t size) {
  std::string text;
  for (std::int64_t i = 0; i < size; ++i)
    text += formatted("{:02x}", std::to_integer<int>(data[i]));
  return text;
}

// Returns the text without the folder's name.
std::string without(std::string text, const std::string& folder) {
  for (std::size_t at; (at = text.find(folder)) != std::string::npos;)
    text.erase(at, folder.size());
  return text;
}

// Returns the bytes of an array in hexadecimal. It is read in pieces of `piece` elements, in order
// or from the end.
std::string read_in_pieces(ArraySource& source, std::int64_t piece, bool backwards) {
  Tensor all(source.format(), source.shape());
  const std::int64_t size = all.size(), pieces = (size + piece - 1) / piece;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t begin = (backwards ? pieces - 1 - i : i) * piece;
    source.read(begin, std::min(piece, size - begin),
                all.bytes() + begin * source.format().storage_bytes);
  }
  return hex_of(all.bytes(), size * source.format().storage_bytes);
}

std::string array_error_of(const std::string& path, const std::string& dtype = "") {
  return file_error_of([&] { (void)read_array(ArrayRequest{path, dtype, {}}); });
}

void check_manifest(const OwnDirectory& folder) {
  int good = 0, bad = 0;
  for (const json& entry : parsed(slurp(folder / "manifest.json"))) {
    const std::string path = entry["path"], dtype = entry["said"];
    SCOPED_TRACE(path + " " + dtype);
    if (entry.contains("error")) {
      const std::string error = without(array_error_of(folder / path, dtype), folder.path() + "/");
      EXPECT_EQ(error.find('\n'), std::string::npos);
      if (entry["error"].is_null()) {
        EXPECT_NE(error, "");
      } else {
        EXPECT_EQ(error, entry["error"].get<std::string>());
      }
      ++bad;
      continue;
    }
    ++good;
    try {
      const auto source = open_array({folder / path, dtype, {}});
      EXPECT_EQ(source->format().name, entry["dtype"].get<std::string>());
      EXPECT_EQ(source->shape(), entry["shape"].get<Shape>());
      for (const std::int64_t piece : {1, 2, 5, 7, 1000}) {
        EXPECT_EQ(read_in_pieces(*source, piece, false), entry["bytes"].get<std::string>())
            << piece;
        EXPECT_EQ(read_in_pieces(*source, piece, true), entry["bytes"].get<std::string>()) << piece;
      }
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
  EXPECT_GT(good, 4);
  EXPECT_GT(bad, 2);
}

TEST(ArrayFile, OfPythonIsReadOrRefused) {
  const OwnDirectory folder;
  std::string said;
  ASSERT_EQ(run_script("make", folder.path(), &said), 0) << said;
  check_manifest(folder);
  EXPECT_THAT(arrays_in(folder / "all.safetensors"),
              ElementsAre("x", "layer.0/b", "e4", "e5", "e8", "f4", "u4", "i", "no", "c", "yes"));
  EXPECT_THAT(arrays_in(folder / "two.npz"), ElementsAre("x", "y_float16"));
  EXPECT_THAT(arrays_in(folder / "one2.pt"), ElementsAre(""));
  EXPECT_EQ(array_file("a/x.pt:/l/0"), "a/x.pt");
  EXPECT_EQ(array_name("a/x.pt:/l/0"), "l/0");
  EXPECT_EQ(array_name("x.safetensors:w"), "w");
  EXPECT_EQ(array_file("any.nc:/x"), "any.nc");
  EXPECT_EQ(array_name("golden_0.bin"), "");
}

// assay accepts exactly the spellings of a dtype, and of the rest of a header, that numpy.load
// accepts.
TEST(ArrayFile, NpyAsNumpyTakesIt) {
  const OwnDirectory folder;
  std::string said;
  ASSERT_EQ(run_script("npy", folder.path(), &said, "array_refusals.py"), 0) << said;
  check_manifest(folder);
}

// Sequences, optionals, maps and models are refused, and the message names their kind. Tensors that
// look alike are read.
TEST(ArrayFile, OtherMessagesOfOnnx) {
  const OwnDirectory folder;
  std::string said;
  ASSERT_EQ(run_script("onnx", folder.path(), &said, "array_refusals.py"), 0) << said;
  check_manifest(folder);
}

TEST(ArrayFile, OfPyTorchIsRead) {
  const OwnDirectory folder;
  std::string said;
  const int status = run_script("torch", folder.path(), &said);
  if (status == 77) GTEST_SKIP() << "there is no PyTorch (Debian: python3-torch)";
  ASSERT_EQ(status, 0) << said;
  check_manifest(folder);
}

// Reads everything in a file. Returns true if it was read, and false if it was refused.
bool reads(const std::string& path) {
  try {
    for (const std::string& name : arrays_in(path)) {
      const std::string array = name.empty() ? path : path + ":/" + name;
      const auto source = open_array({array, "", {}});
      if (element_count(source->shape()) > 1 << 20) continue;
      (void)read_array(*source);
    }
    return true;
  } catch (const FileError&) {
    return false;
  }
}

// A file with some changed bytes is read, or it is refused. Nothing else happens.
TEST(ArrayFile, ChangedBytesAreReadOrRefused) {
  const OwnDirectory folder;
  std::string said;
  ASSERT_EQ(run_script("make", folder.path(), &said), 0) << said;
  for (const char* name :
       {"one2.pt", "one5.pt", "nested.pt", "kinds.pt", "noprefix.pth", "two.npz", "x.npy", "f.npy",
        "all.safetensors", "one.safetensors", "raw.pb", "floats.pb", "int64.pb", "four.pb"}) {
    SCOPED_TRACE(name);
    const std::string whole = slurp(folder / name);
    const std::string path = folder / (std::string("changed_") + name);
    Random random(17, 0);
    int read = 0, refused = 0;
    for (int round = 0; round < 150; ++round) {
      std::string bytes = whole;
      if (round % 4 == 3) {
        bytes.resize(random.below(whole.size()));
      } else {
        const std::uint64_t changes = 1 + random.below(3);
        for (std::uint64_t i = 0; i < changes; ++i) {
          bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
        }
      }
      spill(path, bytes);
      ++(reads(path) ? read : refused);
    }
    EXPECT_GT(refused, 0);
    EXPECT_EQ(read + refused, 150);
  }
}

// Every dtype in every kind of file is written, read again, and read by other programs.
TEST(ArrayFile, WrittenIsReadAgainAndByOthers) {
  const OwnDirectory folder;
  json written = json::array();
  const auto write = [&](const ArrayFormat& row, const std::string& name,
                         const std::map<std::string, TensorView>& arrays) {
    write_array_file(row, folder / name, arrays);
    json entry = {{"path", name}, {"kind", row.name}, {"arrays", json::object()}};
    for (const auto& [array, view] : arrays) {
      const Tensor copy = copy_of(view);
      const std::string bytes = hex_of(copy.bytes(), copy.size() * copy.format().storage_bytes);
      entry["arrays"][array] = {
          {"dtype", copy.format().name}, {"shape", copy.shape()}, {"bytes", bytes}};
      const std::string path = array.empty() ? folder / name : folder / (name + ":/" + array);
      const Tensor again = read_array(ArrayRequest{path, std::string(copy.format().name), {}});
      EXPECT_EQ(again.format().name, copy.format().name) << path;
      EXPECT_EQ(again.shape(), copy.shape()) << path;
      EXPECT_EQ(hex_of(again.bytes(), again.size() * again.format().storage_bytes), bytes) << path;
    }
    written.push_back(entry);
  };
  const auto array_of = [](const Format& f, Shape shape) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      values.push_back(static_cast<double>(1 << (i % 3)));
      if (f.is_complex()) values.push_back(static_cast<double>(-i));
    }
    return Tensor::from_values(f, std::move(shape), values);
  };
  for (const ArrayFormat& row : array_formats()) {
    if (row.write == nullptr) continue;
    std::map<std::string, Tensor> held;
    std::vector<Format> all(formats().begin(), formats().end());
    all.insert(all.end(), complex_formats().begin(), complex_formats().end());
    for (const Format& row_of_format : all) {
      const Format& f = format_named(row_of_format.name);
      const Tensor x = array_of(f, {2, 3});
      const std::string ending(row.endings.front());
      const bool sayable = row.dtypes.empty() || !dtype_name(row.dtypes, f).empty();
      const std::string name = formatted("{}_x_{}{}", row.name, f.name, ending);
      if (!sayable) {
        try {
          write_array_file(row, folder / name, {{"", x}});
          ADD_FAILURE() << name;
        } catch (const FileError& e) {
          EXPECT_THAT(
              e.what(),
              HasSubstr(formatted(
                  "{} files cannot hold the dtype {}; choose another kind of file: npy, npz, ",
                  row.name, f.name)));
        }
        EXPECT_FALSE(std::filesystem::exists(folder / name));
        continue;
      }
      write(row, name, {{std::string(row.unnamed), x}});
      held.emplace(formatted("group/{}", f.name), x);
    }
    if (!row.is_archive) continue;
    held.emplace("scalar", array_of(format_named("float32"), {}));
    held.emplace("none", array_of(format_named("int64"), {0, 2}));
    held.emplace("one", array_of(format_named("float16"), {5}));
    const Tensor wide = array_of(format_named("float32"), {4, 6});
    std::map<std::string, TensorView> arrays(held.begin(), held.end());
    arrays["transposed"] = wide.view().transposed();
    // A name with characters that JSON and pickles have to quote.
    arrays["a \"quoted\\name\" \xc3\xa9"] = wide;
    write(row, formatted("all{}", row.endings.front()), arrays);
    // Only arrays of dtypes that PyTorch 1.13 has are kept.
    std::erase_if(arrays, [](const auto& one) {
      return dtype_name(kTorchStorages, *one.second.format).empty();
    });
    if (row.name == "pt") write(row, "old_dtypes.pt", arrays);
  }
  const Tensor x = array_of(format_named("bfloat16"), {2, 8, 3});
  const std::string name = raw_file_name("golden_0", x.format(), x.shape());
  EXPECT_EQ(name, "golden_0_bfloat16__shape_2x8x3.bin");
  write(array_format_named("bin"), name, {{"", x}});
  EXPECT_FALSE(std::filesystem::exists(folder / (name + ".json")));
  write(array_format_named("bin"), "plain.bin", {{"", x}});
  EXPECT_EQ(slurp(folder / "plain.bin.json"), "{\"dtype\":\"bfloat16\",\"shape\":[2,8,3]}\n");
  EXPECT_EQ(raw_file_name("g", x.format(), {}), "g_bfloat16__shape_scalar.bin");

  // The same arrays give the same bytes.
  write_array_file(array_format_named("npz"), folder / "1.npz", {{"x", x}});
  write_array_file(array_format_named("npz"), folder / "2.npz", {{"x", x}});
  EXPECT_EQ(slurp(folder / "1.npz"), slurp(folder / "2.npz"));

  spill(folder / "written.json", written.dump());
  std::string said;
  EXPECT_EQ(run_script("check", folder.path(), &said), 0) << said;
  EXPECT_THAT(said, HasSubstr(" by PyTorch\n"));
}

TEST(ArrayFile, WhatCannotBeWrittenIsRefused) {
  const OwnDirectory folder;
  const Tensor x = Tensor::from_values(format_named("float32"), {2}, std::vector<double>{1, 2});
  const auto refusal = [&](const char* kind, const std::string& name,
                           const std::map<std::string, TensorView>& arrays) -> std::string {
    try {
      write_array_file(array_format_named(kind), folder / name, arrays);
    } catch (const FileError& e) {
      return without(e.what(), folder.path() + "/");
    }
    return "";
  };
  EXPECT_EQ(refusal("onnx", "x.pb", {{"", x}}), "x.pb: onnx files are read, and not written");
  EXPECT_EQ(refusal("npz", "x.npz", {}), "x.npz: there is no array to write");
  EXPECT_EQ(refusal("npy", "x.npy", {{"a", x}, {"b", x}}),
            "x.npy: a file of npy holds one array, not 2");
  EXPECT_EQ(refusal("bin", "x_bfloat16.bin", {{"", x}}),
            "x_bfloat16.bin: its name says another dtype or shape than float32 of [2]");
  EXPECT_EQ(refusal("npy", "no/x.npy", {{"", x}}),
            "no/x.npy: cannot be written: No such file or directory");
  EXPECT_THROW((void)array_format_named("ptt"), std::invalid_argument);
}

// Writes a .npy file in column-major order. The bytes of the element at the row-major position i
// are made from i.
void write_columns(const std::string& path, const std::string& descr, std::size_t width,
                   const Shape& shape) {
  std::string extents;
  for (const std::int64_t extent : shape) extents += formatted("{}, ", extent);
  std::string header =
      formatted("{{'descr': '{}', 'fortran_order': True, 'shape': ({}), }}", descr, extents);
  header.resize(118, ' ');
  std::string bytes = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header;
  const std::int64_t size = element_count(shape);
  std::vector<std::int64_t> index(shape.size());
  for (std::int64_t at = 0; at < size; ++at) {  // the elements, in the order of the file
    std::int64_t i = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) i = i * shape[d] + index[d];
    for (std::size_t b = 0; b < width; ++b) bytes += static_cast<char>(i >> 8 * (b % 4));
    for (std::size_t d = 0; d < shape.size() && ++index[d] == shape[d]; ++d) index[d] = 0;
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(ArrayFile, ColumnsAreReadInBands) {
  const OwnDirectory directory;
  struct Columns {
    const char* descr;
    std::size_t width;
    Shape shape;
  };
  for (const auto& [descr, width, shape] : {
           // These shapes are read in bands of rows in different ways.
           Columns{"<u4", 4, {12288, 700}},     // a band has less than half of each column
           Columns{"<f2", 2, {24, 500000}},     // short columns, in two bands
           Columns{"<u8", 8, {9, 70, 30, 11}},  // one band has all rows
           Columns{"|u1", 1, {6000, 31, 100}},  // two bands have all rows
           Columns{"<c16", 16, {3000, 5, 70}},
           Columns{"<u4", 4, {1, 1000}},
           Columns{"<u4", 4, {1000, 1}},
       }) {
    const std::string path = directory / "columns.npy";
    write_columns(path, descr, width, shape);
    const std::unique_ptr<ArraySource> source = open_array({path, "", {}});
    ASSERT_EQ(source->shape(), shape);
    const std::int64_t size = element_count(shape);
    Random random(5, static_cast<std::uint64_t>(size));
    std::vector<std::byte> piece;
    std::int64_t begin = 0;
    // Reads pieces of random lengths, first in order and then at random positions.
    for (int turn = 0; turn < 60; ++turn) {
      const auto most = std::min<std::int64_t>(size - begin, turn % 3 == 0 ? 12 : 300000);
      const auto count =
          1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)));
      piece.assign(static_cast<std::size_t>(count) * width, std::byte{});
      source->read(begin, count, piece.data());
      std::int64_t wrong = -1;
      for (std::int64_t k = 0; k < count && wrong < 0; k += 7) {
        for (std::size_t b = 0; b < width; ++b) {
          const auto wanted = static_cast<std::byte>((begin + k) >> 8 * (b % 4));
          if (piece[static_cast<std::size_t>(k) * width + b] != wanted) wrong = begin + k;
        }
      }
      ASSERT_EQ(wrong, -1) << descr << " " << shape_text(shape);
      begin += count;
      if (begin == size || turn > 30) {
        begin = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(size)));
      }
    }
  }
}

TEST(ArrayFile, NamesSayDtypeAndShape) {
  const auto said = [](const std::string& name) {
    const SaidByName s = said_by_name(name);
    return formatted("{} {}", s.format != nullptr ? s.format->name : "-",
                     s.shape ? shape_text(*s.shape) : "-");
  };
  EXPECT_EQ(said("dir_float16/golden_0_bfloat16__shape_2x8x128.bin"), "bfloat16 [2, 8, 128]");
  EXPECT_EQ(said("golden_0_float32__shape_scalar.bin"), "float32 []");
  EXPECT_EQ(said("input_0_float8_e4m3fn.bin"), "float8_e4m3fn -");
  EXPECT_EQ(said("x.3x4xf32.bin"), "float32 [3, 4]");
  EXPECT_EQ(said("x_3x4xi8.bin"), "int8 [3, 4]");
  EXPECT_EQ(said("mask_bool.bin"), "bool -");
  EXPECT_EQ(said("golden.bin"), "- -");
  EXPECT_EQ(said("sequence_long.bin"), "- -");
  EXPECT_EQ(said("layer_0.bin"), "- -");
  EXPECT_EQ(said("x_float32__shape_2xx3.bin"), "float32 -");
}

}  // namespace
}  // namespace assay
