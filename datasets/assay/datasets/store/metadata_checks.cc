#include "assay/datasets/store/metadata_checks.h"

#include <algorithm>
#include <utility>

#include "assay/base/text.h"

namespace assay::inline v0_2::h5 {
namespace {

// Numbers that the file format defines, with sections of HDF5's File Format Specification 3.0.
constexpr std::size_t kHeader1 = 16, kMessage1 = 8;  // IV.A.1
constexpr std::uint16_t kContinuation = 0x10, kAttribute = 0x0C;
constexpr std::size_t kMostContinuations = 4096;  // the most continuations that are remembered
constexpr std::size_t kMostOfHeader = std::size_t{16} << 20;  // bytes of a part of a header

// Returns the error in an attribute's name. The name must end in a zero and have no other. HDF5
// 1.10 refuses other names, but then frees the attribute twice when it closes the file.
std::string attribute_problem(std::span<const std::byte> message) {
  if (message.size() < 8) return "";
  const std::uint64_t version = number_in(message, 0, 1), size = number_in(message, 2, 2);
  const std::size_t at = version == 3 ? 9 : 8;
  if (version < 1 || version > 3 || at > message.size() || size > message.size() - at) return "";
  const auto* name = reinterpret_cast<const char*>(message.data() + at);
  if (size > 0 && strnlen(name, size) == size - 1) return "";
  return formatted("the name of an attribute has a wrong length of {} bytes", size);
}

}  // namespace

MetadataChecks::MetadataChecks(ReadBytes read, std::uint64_t file_size)
    : read_(read), file_size_(file_size), heap_(std::move(read), file_size) {}

std::string MetadataChecks::problem(std::uint64_t at, std::span<const std::byte> bytes,
                                    bool is_header) {
  if (is_header) return header_problem(at, bytes);
  return begins_with(bytes, "GCOL") ? heap_.problem_at(at) : "";
}

// ----------------------------------------------------------------------------- object headers

std::string MetadataChecks::header_problem(std::uint64_t at, std::span<const std::byte> bytes) {
  // HDF5 first reads the beginning of a header, and all of it when it knows the length. If `bytes`
  // is only the beginning, whole() reads the rest.
  std::vector<std::byte> all;
  const auto whole = [&](std::uint64_t size) {
    if (size <= bytes.size()) return bytes.first(size);
    all = read_(at, std::min<std::uint64_t>(size, kMostOfHeader));
    return std::span<const std::byte>(all);
  };
  if (begins_with(bytes, "OHDR")) {
    const std::uint64_t flags = number_in(bytes, 5, 1);
    const std::size_t begin = 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
    const std::size_t width = std::size_t{1} << (flags & 3);
    const std::uint64_t size = number_in(bytes, begin, width);
    if (size > file_size_)
      return formatted("the object header at {} has {} bytes, more than the file", at, size);
    const auto header = whole(begin + width + size);
    if (header.size() <= begin + width) return "";
    return messages_problem(header.subspan(begin + width), true, (flags & 4) != 0);
  }
  const auto continued = continuations_.find(at);
  if (continued != continuations_.end()) {
    const Continuation part = continued->second;
    const auto header = whole(part.size);
    const std::size_t begin = part.version_2 ? 4 : 0, end = part.version_2 ? 4 : 0;
    if (header.size() <= begin + end) return "";
    return messages_problem(header.subspan(begin, header.size() - begin - end), part.version_2,
                            part.ordered);
  }
  // HDF5 reads other structures in the same way as headers. A header of version 1 has no signature,
  // so it is recognized by its small number of links and its padding with zeros.
  constexpr std::uint64_t kMostLinks = 0xFFFF;
  if (bytes.size() < kHeader1 || number_in(bytes, 0, 2) != 1 ||
      number_in(bytes, 4, 4) > kMostLinks || number_in(bytes, 12, 4) != 0) {
    return "";
  }
  const std::uint64_t size = number_in(bytes, 8, 4);
  if (size > file_size_) return "";  // which HDF5 refuses
  const auto header = whole(kHeader1 + size);
  return header.size() <= kHeader1 ? "" : messages_problem(header.subspan(kHeader1), false, false);
}

std::string MetadataChecks::messages_problem(std::span<const std::byte> messages, bool version_2,
                                             bool ordered) {
  const std::size_t head = version_2 ? (ordered ? 6 : 4) : kMessage1;
  for (std::size_t at = 0; at + head <= messages.size();) {
    const std::uint64_t type = number_in(messages, at, version_2 ? 1 : 2);
    const std::uint64_t size = number_in(messages, at + (version_2 ? 1 : 2), 2);
    const std::uint64_t flags = number_in(messages, at + (version_2 ? 3 : 4), 1);
    at += head;
    if (size > messages.size() - at) return "";  // HDF5 itself refuses a message that is too long
    const auto data = messages.subspan(at, size);
    at += size;
    if (type == kContinuation && data.size() >= heap_.offset_bytes() + heap_.length_bytes()) {
      const std::uint64_t next = heap_.base() + number_in(data, 0, heap_.offset_bytes());
      if (continuations_.size() >= kMostContinuations) continuations_.clear();
      continuations_[next] = {number_in(data, heap_.offset_bytes(), heap_.length_bytes()),
                              version_2, ordered};
    } else if (type == kAttribute && (flags & 2) == 0) {  // 2: it lies elsewhere
      if (std::string why = attribute_problem(data); !why.empty()) return why;
    }
  }
  return "";
}

}  // namespace assay::h5
