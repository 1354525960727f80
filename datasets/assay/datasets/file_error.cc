#include "assay/datasets/file_error.h"

#include "assay/base/text.h"
#include "assay/datasets/reader.h"

namespace assay {
namespace {

// Control characters and broken UTF-8, which a hostile name may hold, as \xNN: a message is a line.
std::string printable(const std::string& text) {
  const bool valid = h5::is_utf8(text);
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !valid)) {
      result += format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result;
}

std::string file_error_text(const std::string& file, const std::string& object,
                            const std::string& reason) {
  return file + ": " + printable(object.empty() ? reason : object + ": " + reason);
}

}  // namespace

FileError::FileError(const std::string& file, const std::string& object, const std::string& reason)
    : std::runtime_error(file_error_text(file, object, reason)) {}

}  // namespace assay
