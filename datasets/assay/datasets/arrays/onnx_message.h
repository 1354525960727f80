// Messages of protocol buffers, as ONNX files hold them, and which message of onnx.proto a file
// holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/datasets/arrays/byte_source.h"

namespace assay::inline v0_2::onnx {

// The encodings of a value in protocol buffers.
enum Wire : std::uint64_t { kVarint = 0, kFixed8 = 1, kBytes = 2, kFixed4 = 5 };

// A message, or a part of one, that is read through a window. Each function throws FileError, which
// names the file, if the bytes do not form a message.
class Message {
 public:
  Message(const std::string& path, ByteSource& bytes) : Message(path, bytes, 0, bytes.size()) {}
  Message(const std::string& path, ByteSource& bytes, std::int64_t begin, std::int64_t end)
      : path_(path), bytes_(bytes), at_(begin), end_(end) {}

  bool at_end() const { return at_ == end_; }
  std::int64_t at() const { return at_; }
  std::uint64_t varint();
  std::uint64_t fixed(int width);
  std::int64_t length();  // reads the number of bytes that follow
  void skip(std::int64_t count);
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  std::uint64_t next();

  const std::string& path_;
  ByteSource& bytes_;
  std::int64_t at_, end_;
  std::int64_t window_begin_ = 0;
  std::vector<std::byte> window_;
};

// Describes a file that looks like a message of onnx.proto other than a TensorProto, and says what
// to do: "is an ONNX ModelProto, ...". Returns an empty string if the file looks like no such
// message. Call it for sequences and optionals only if the file is not a consistent tensor, because
// they have the wire types of a tensor.
std::string other_message(const std::string& path, ByteSource& bytes);
// Returns true if the file can be a TensorProto, because it has a data type or is damaged.
bool may_be_tensor(const std::string& path, ByteSource& bytes);

// Returns the name of a TensorProto.DataType, such as "FLOAT", or an empty string if the number has
// no name.
std::string data_type_name(std::uint64_t data_type);

}  // namespace assay::onnx
