#include "assay/datasets/arrays/onnx_file.h"

#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/datasets/arrays/array_dtypes.h"
#include "assay/datasets/arrays/onnx_message.h"
#include "assay/datasets/arrays/plain_array.h"
#include "assay/datasets/arrays/raw_file.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/checks/file_error_text.h"

namespace assay::inline v0_2 {
namespace {

using onnx::kBytes, onnx::kFixed4, onnx::kFixed8, onnx::kVarint, onnx::Message, onnx::Wire;

// The numbers that TensorProto.DataType of onnx.proto3 (1.17) has for dtypes.
constexpr DtypeNames kOnnxDtypes =
    "11=float64 1=float32 10=float16 16=bfloat16 17=float8_e4m3fn 19=float8_e5m2 "
    "18=float8_e4m3fnuz 20=float8_e5m2fnuz 24=float8_e8m0fnu 23=float4_e2m1fn 3=int8 2=uint8 "
    "5=int16 6=int32 7=int64 4=uint16 12=uint32 13=uint64 22=int4 21=uint4 15=complex128 "
    "14=complex64 9=bool";

// Field numbers of TensorProto in onnx.proto3. The fields that hold the elements are in kData.
constexpr std::uint64_t kDims = 1, kDataType = 2, kSegment = 3, kStringData = 6, kRawData = 9,
                        kDataLocation = 14, kLastField = 16;

// The fields that hold numbers, and the dtypes of the elements that they hold. Bit patterns of
// narrow floats are stored as numbers, too.
struct DataField {
  std::uint64_t field;
  Wire wire;  // the encoding of one number; several numbers may be packed into bytes
  int width;  // the bytes of one number, or 0 for varints, whose lengths differ
  bool (*holds)(const Format& format);
};
bool is_one_of(const Format& f, std::string_view first, std::string_view second) {
  return f.name == first || f.name == second;
}
constexpr DataField kData[] = {
    {4, kFixed4, 4, [](const Format& f) { return is_one_of(f, "float32", "complex64"); }},
    {5, kVarint, 0,
     [](const Format& f) { return f.storage_bytes <= 4 && !is_one_of(f, "float32", "uint32"); }},
    {7, kVarint, 0, [](const Format& f) { return f.name == "int64"; }},
    {10, kFixed8, 8, [](const Format& f) { return is_one_of(f, "float64", "complex128"); }},
    {11, kVarint, 0, [](const Format& f) { return is_one_of(f, "uint32", "uint64"); }}};

// The bytes of elements that the file holds as numbers, converted to their form in memory.
class HeldBytes : public ByteSource {
 public:
  HeldBytes(std::vector<std::byte> bytes, StoredPlace place)
      : bytes_(std::move(bytes)), place_(place) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  bool serves_threads() const override { return true; }
  StoredPlace place() const override { return place_; }
  void read(std::int64_t at, std::int64_t count, std::byte* to) override {
    std::memcpy(to, bytes_.data() + at, static_cast<std::size_t>(count));
  }

 private:
  std::vector<std::byte> bytes_;
  StoredPlace place_;
};

class OnnxFile : public ArrayFile {
 public:
  explicit OnnxFile(const std::string& path) : path_(path), bytes_(open_plain(path)) {
    Message message(path_, *bytes_);
    consistent([&] {
      if (!onnx::may_be_tensor(path_, *bytes_)) {
        message.refuse("is no ONNX TensorProto: it has no data type");
      }
      while (!message.at_end()) {
        const std::uint64_t key = message.varint();
        read_field(message, key >> 3, key & 7);
      }
    });
  }

  std::unique_ptr<ArraySource> open(const std::string&,
                                    const ArrayRequest& request) const override {
    return consistent([&] { return opened(request); });
  }

 private:
  std::unique_ptr<ArraySource> opened(const ArrayRequest& request) const {
    const auto refuse = [&](const std::string& why) { throw FileError(path_, "", why); };
    const Format* f = find_dtype(kOnnxDtypes, std::to_string(data_type_));
    if (f == nullptr) {
      const std::string name = onnx::data_type_name(data_type_);
      refuse(unread_elements(formatted("TensorProto.DataType {}{}", data_type_,
                                       name.empty() ? "" : formatted(" ({})", name))));
    }
    const bool packed = f->bits == 4;
    const double needed = bytes_needed(path_, *f, shape_, packed);
    ArrayLayout layout{
        .format = said_format(f, f->storage_bytes, request), .shape = shape_, .packed = packed};
    std::shared_ptr<ByteSource> bytes = bytes_;
    if (raw_size_ && field_ != nullptr)
      refuse("holds its elements in two fields of the TensorProto; save the tensor again");
    if (raw_size_) {
      layout.offset = raw_begin_;
      check_size(*f, static_cast<double>(*raw_size_), needed);
      layout.place = place_within(*bytes_, raw_begin_, *raw_size_);
    } else {
      bytes = held(*f, needed);
      layout.place = bytes->place();
    }
    return plain_array(request.path, std::move(bytes), std::move(layout));
  }

  void check_size(const Format& f, double size, double needed) const {
    if (size == needed) return;
    throw file_error(path_, "", "has {:.0f} bytes of elements; {} of shape {} needs {:.0f}", size,
                     f.name, shape_text(shape_), needed);
  }

  // Calls `read`, which reads the file as a tensor. If that refuses the file and the file looks
  // like another kind of message, the error says which kind.
  template <typename Read>
  std::invoke_result_t<Read> consistent(const Read& read) const {
    try {
      return read();
    } catch (const FileError&) {
      const std::string other = onnx::other_message(path_, *bytes_);
      if (other.empty()) throw;
      throw FileError(path_, "", other);
    }
  }

  // Returns the elements that are stored in a field of numbers. The low bytes of a number are the
  // element.
  std::shared_ptr<ByteSource> held(const Format& f, double needed) const {
    if (field_ != nullptr && !field_->holds(f)) {
      throw file_error(path_, "", "holds its elements in a field that is not one of {}", f.name);
    }
    // The parts of a complex element are two numbers, one after the other.
    const auto width = static_cast<std::size_t>(part_format(f).storage_bytes);
    check_size(f, static_cast<double>(numbers_.size() * width), needed);
    std::vector<std::byte> bytes(numbers_.size() * width);
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const std::uint64_t beyond = width == 8 ? 0 : numbers_[i] >> 8 * width;
      if (beyond != 0 && beyond != ~std::uint64_t{0} >> 8 * width) {
        throw file_error(path_, "", "element {} is {}, which is no {}", i,
                         static_cast<std::int64_t>(numbers_[i]), f.name);
      }
      for (std::size_t b = 0; b < width; ++b) {
        bytes[i * width + b] = static_cast<std::byte>(numbers_[i] >> 8 * b & 0xFF);
      }
    }
    return std::make_shared<HeldBytes>(std::move(bytes), bytes_->place());
  }

  void read_field(Message& message, std::uint64_t field, std::uint64_t wire) {
    for (const DataField& data : kData) {
      if (data.field == field) return read_numbers(message, data, wire);
    }
    const auto expect = [&](Wire wanted) {
      if (wire != wanted) message.refuse("is no ONNX TensorProto: a field is of another type");
    };
    if (field == kDims && wire == kBytes) {
      const std::int64_t end = message.length() + message.at();
      while (message.at() < end) add_extent(message);
      if (message.at() != end) message.refuse("is damaged: an extent reaches beyond its field");
    } else if (field == kDims) {
      expect(kVarint);
      add_extent(message);
    } else if (field == kDataType) {
      expect(kVarint);
      data_type_ = message.varint();
    } else if (field == kRawData) {
      expect(kBytes);
      raw_size_ = message.length();
      raw_begin_ = message.at();
      message.skip(*raw_size_);
    } else if (field == kDataLocation) {
      expect(kVarint);
      if (message.varint() != 0) {
        message.refuse(
            "keeps its elements in another file (external data), which assay does not read; save "
            "the tensor with its data in one file");
      }
    } else if (field == kStringData) {
      message.refuse("holds text, which assay does not compare; save a tensor of numbers");
    } else if (field == kSegment) {
      message.refuse("holds a segment of a tensor; save the whole tensor in one file");
    } else if (field == 0 || field > kLastField) {
      message.refuse("is no ONNX TensorProto: it has fields that a TensorProto does not have");
    } else {  // its name, a comment, or the place of external data
      expect(kBytes);
      message.skip(message.length());
    }
  }

  void add_extent(Message& message) {
    const std::uint64_t extent = message.varint();
    if (extent > INT64_MAX || shape_.size() >= 64)
      message.refuse("is damaged: its shape has more than 64 extents, or one of 2^63 or more");
    shape_.push_back(static_cast<std::int64_t>(extent));
  }

  void read_numbers(Message& message, const DataField& data, std::uint64_t wire) {
    if (field_ != nullptr && field_ != &data)
      message.refuse("holds its elements in two fields of the TensorProto; save the tensor again");
    field_ = &data;
    const auto one = [&] {
      numbers_.push_back(data.wire == kVarint ? message.varint() : message.fixed(data.width));
    };
    if (wire == kBytes) {
      const std::int64_t end = message.length() + message.at();
      while (message.at() < end) one();
      if (message.at() != end) message.refuse("is damaged: an element reaches beyond its field");
    } else if (wire == data.wire) {
      one();
    } else {
      message.refuse("is no ONNX TensorProto: a field is of another type");
    }
  }

  std::string path_;
  std::shared_ptr<ByteSource> bytes_;
  Shape shape_;
  std::uint64_t data_type_ = 0;
  std::optional<std::int64_t> raw_size_;
  std::int64_t raw_begin_ = 0;
  const DataField* field_ = nullptr;  // the field that holds the numbers
  // The numbers in that field. Each takes at least a byte in the file and 8 bytes here, so they
  // take at most 8 times as much memory as the file.
  std::vector<std::uint64_t> numbers_;
};

}  // namespace

std::unique_ptr<ArrayFile> open_onnx(const std::string& path) {
  return std::make_unique<OnnxFile>(path);
}

}  // namespace assay
