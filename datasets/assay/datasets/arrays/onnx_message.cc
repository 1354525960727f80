#include "assay/datasets/arrays/onnx_message.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "assay/base/text.h"
#include "assay/datasets/checks/file_error.h"

namespace assay::inline v0_2::onnx {

std::uint64_t Message::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint64_t byte = next();
    value |= (byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  refuse("is no ONNX TensorProto, or is damaged: a number in it does not end");
}

std::uint64_t Message::fixed(int width) {
  std::uint64_t value = 0;
  for (int i = 0; i < width; ++i) value |= next() << 8 * i;
  return value;
}

std::int64_t Message::length() {
  const std::uint64_t value = varint();
  if (value > static_cast<std::uint64_t>(end_ - at_)) {
    refuse("is truncated, or no ONNX TensorProto: a field reaches beyond its end");
  }
  return static_cast<std::int64_t>(value);
}

void Message::skip(std::int64_t count) {
  if (count > end_ - at_) refuse("is truncated: it ends within a field");
  at_ += count;
}

void Message::refuse(const std::string& why) const { throw FileError(path_, "", why); }

std::uint64_t Message::next() {
  if (at_end()) refuse("is truncated: it ends within a field");
  if (at_ < window_begin_ || at_ >= window_begin_ + static_cast<std::int64_t>(window_.size())) {
    window_.resize(static_cast<std::size_t>(std::min<std::int64_t>(1 << 16, end_ - at_)));
    window_begin_ = at_;
    bytes_.read(at_, static_cast<std::int64_t>(window_.size()), window_.data());
  }
  return std::to_integer<std::uint64_t>(window_[static_cast<std::size_t>(at_++ - window_begin_)]);
}

namespace {

// All values of a message that have one field number.
struct Field {
  bool is_varint = true, is_bytes = true;  // true if all values have this encoding
  std::int64_t count = 0;
  std::int64_t begin = 0, end = 0;  // where the bytes of the first value are in the file
};
using Fields = std::map<std::uint64_t, Field>;

// Returns the fields of a message without parsing their content, or nothing if the bytes are not a
// message.
std::optional<Fields> fields_of(const std::string& path, ByteSource& bytes, std::int64_t begin,
                                std::int64_t end) {
  Fields fields;
  try {
    for (Message message(path, bytes, begin, end); !message.at_end();) {
      const std::uint64_t key = message.varint(), wire = key & 7;
      Field& field = fields[key >> 3];
      std::int64_t length = 0;
      if (wire == kVarint)
        (void)message.varint();
      else if (wire == kBytes)
        length = message.length();
      else if (wire == kFixed4 || wire == kFixed8)
        length = wire == kFixed4 ? 4 : 8;
      else
        return std::nullopt;
      if (field.count++ == 0) field.begin = message.at(), field.end = message.at() + length;
      field.is_varint = field.is_varint && wire == kVarint;
      field.is_bytes = field.is_bytes && wire == kBytes;
      message.skip(length);
    }
  } catch (const FileError&) {
    return std::nullopt;
  }
  return fields;
}

bool has(const Fields& fields, std::uint64_t number, bool Field::*wire) {
  const auto found = fields.find(number);
  return found != fields.end() && found->second.*wire;
}

// Field numbers of SequenceProto, OptionalProto and MapProto, which contain messages with tensors.
// The contained messages are recognized by their fields: a number in field 2, or messages in fields
// 1 and 2.
constexpr std::uint64_t kName = 1, kType = 2, kFirstValue = 3, kMapValues = 5, kLastValue = 7;

constexpr std::string_view kWayOut =
    ", but assay reads only a TensorProto; save each tensor in a file of its own, as "
    "onnx.save_tensor does";

}  // namespace

bool may_be_tensor(const std::string& path, ByteSource& bytes) {
  const auto fields = fields_of(path, bytes, 0, bytes.size());
  return !fields || has(*fields, kType, &Field::is_varint);
}

std::string other_message(const std::string& path, ByteSource& bytes) {
  const auto is = [](std::string_view message) {
    return formatted("is an ONNX {}{}", message, kWayOut);
  };
  const auto fields = fields_of(path, bytes, 0, bytes.size());
  if (!fields || fields->empty() || fields->begin()->first == 0) return "";
  const auto has_bytes = [&](std::uint64_t number) {
    return has(*fields, number, &Field::is_bytes);
  };
  // A ModelProto has ir_version (1), and one of producer_name (2), graph (7) and opset_import (8).
  if (has(*fields, 1, &Field::is_varint) && !has(*fields, kType, &Field::is_varint) &&
      (has_bytes(2) || has_bytes(7) || has_bytes(8))) {
    return is("ModelProto");
  }
  if (has_bytes(1) && has_bytes(2)) return is("SparseTensorProto");
  const std::uint64_t last = fields->rbegin()->first;
  const bool is_typed = has(*fields, kType, &Field::is_varint);
  if (!is_typed || last > kLastValue || (fields->contains(kName) && !has_bytes(kName))) return "";
  bool repeats = false;
  for (auto value = fields->lower_bound(kFirstValue); value != fields->end(); ++value) {
    const auto& [number, field] = *value;
    const bool is_key = number < kMapValues && has_bytes(kMapValues);
    if (is_key) continue;
    if (!field.is_bytes) return "";
    const auto inside = fields_of(path, bytes, field.begin, field.end);
    const bool is_message =
        inside && (inside->empty() || has(*inside, kType, &Field::is_varint) ||
                   (has(*inside, 1, &Field::is_bytes) && has(*inside, 2, &Field::is_bytes)));
    // Field 3 of a TensorProto is a segment, which consists of two numbers. Such a field shows that
    // the message is a tensor and not a sequence.
    const bool is_segment = number == kFirstValue && inside && !inside->empty() &&
                            inside->rbegin()->first <= 2 && has(*inside, 1, &Field::is_varint);
    if (!is_message || is_segment) return "";
    repeats = repeats || field.count > 1;
  }
  if (last <= kType) {
    return "is an empty ONNX SequenceProto or OptionalProto, or a TensorProto without elements";
  }
  if (has_bytes(kMapValues) && (fields->contains(3) || fields->contains(4))) return is("MapProto");
  return is(repeats ? "SequenceProto" : "SequenceProto or OptionalProto");
}

std::string data_type_name(std::uint64_t data_type) {
  constexpr std::string_view kNames[] = {
      "UNDEFINED",      "FLOAT",    "UINT8",        "INT8",           "UINT16",
      "INT16",          "INT32",    "INT64",        "STRING",         "BOOL",
      "FLOAT16",        "DOUBLE",   "UINT32",       "UINT64",         "COMPLEX64",
      "COMPLEX128",     "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2",
      "FLOAT8E5M2FNUZ", "UINT4",    "INT4",         "FLOAT4E2M1",     "FLOAT8E8M0",
      "UINT2",          "INT2"};
  return data_type < std::size(kNames) ? std::string(kNames[data_type]) : "";
}

}  // namespace assay::onnx
