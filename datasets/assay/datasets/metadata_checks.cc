#include "assay/datasets/metadata_checks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "assay/base/text.h"

namespace assay::h5 {
namespace {

// The file format's own numbers (HDF5 File Format Specification 3.0, by its sections).
constexpr std::size_t kHeapHeader = 16, kHeapObjectHeader = 16;  // III.E
constexpr std::uint64_t kSmallestHeap = 4096;
constexpr std::size_t kHeader1 = 16, kMessage1 = 8;  // IV.A.1
constexpr std::uint16_t kContinuation = 0x10, kAttribute = 0x0C;
constexpr unsigned kVariableLength = 9;                            // IV.A.2.d, a class of types
constexpr std::size_t kMostHeaps = 64, kMostContinuations = 4096;  // remembered at a time
constexpr std::size_t kMostOfHeader = std::size_t{16} << 20;       // bytes of a part of one

std::uint64_t number(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size && at + i < bytes.size(); ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[at + i]) << 8 * i;
  }
  return value;
}

bool begins_with(std::span<const std::byte> bytes, const char (&word)[5]) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), word, 4) == 0;
}

std::uint64_t aligned(std::uint64_t size) { return (size + 7) / 8 * 8; }

bool is_undefined(std::uint64_t address, std::size_t bytes) {
  return address == (bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes) - 1);
}

}  // namespace

MetadataChecks::MetadataChecks(ReadBytes read, std::uint64_t file_size)
    : read_(std::move(read)), file_size_(file_size) {
  read_superblock();
}

// Where the file begins, and how wide its numbers are. What is wrong with it is HDF5's to say.
void MetadataChecks::read_superblock() {
  constexpr char kSignature[] = "\x89HDF\r\n\x1a\n";
  for (std::uint64_t at = 0; at < file_size_; at = at == 0 ? 512 : at * 2) {
    const std::vector<std::byte> block = read_(at, 16);
    if (block.size() < 16 || std::memcmp(block.data(), kSignature, 8) != 0) continue;
    base_ = at;
    const std::size_t sizes = number(block, 8, 1) < 2 ? 13 : 9;
    const std::size_t offsets = number(block, sizes, 1), lengths = number(block, sizes + 1, 1);
    if (offsets == 2 || offsets == 4 || offsets == 8) offset_bytes_ = offsets;
    if (lengths == 2 || lengths == 4 || lengths == 8) length_bytes_ = lengths;
    return;
  }
}

std::string MetadataChecks::problem(std::uint64_t at, std::span<const std::byte> bytes,
                                    bool is_header) {
  if (is_header) return header_problem(at, bytes);
  return begins_with(bytes, "GCOL") ? heap_at(at).problem : "";
}

// ------------------------------------------------------------------------------- global heaps

const MetadataChecks::Heap& MetadataChecks::heap_at(std::uint64_t at) {
  const auto known = heaps_.find(at);
  if (known != heaps_.end()) return known->second;
  if (heaps_.size() >= kMostHeaps) heaps_.clear();
  return heaps_.emplace(at, read_heap(at)).first->second;
}

MetadataChecks::Heap MetadataChecks::read_heap(std::uint64_t at) const {
  const auto bad = [&](const std::string& why) {
    return Heap{formatted("the global heap at {} {}", at, why), {}};
  };
  const std::vector<std::byte> start = read_(at, kHeapHeader);
  if (start.size() < kHeapHeader || !begins_with(start, "GCOL")) return bad("is none");
  if (number(start, 4, 1) != 1) return bad(formatted("has version {}", number(start, 4, 1)));
  const std::uint64_t size = number(start, 8, length_bytes_);
  if (size < kSmallestHeap || at > file_size_ || size > file_size_ - at) {
    return bad(formatted("is said to have {} bytes", size));
  }
  const std::vector<std::byte> heap = read_(at, size);
  if (heap.size() != size) return bad("cannot be read");
  Heap result;
  for (std::uint64_t place = kHeapHeader; size - place >= kHeapObjectHeader;) {
    const auto index = static_cast<std::uint32_t>(number(heap, place, 2));
    const std::uint64_t object = number(heap, place + 8, length_bytes_), left = size - place;
    // Index 0 is the free space, whose size counts its header.
    const bool fits = index == 0 ? object >= kHeapObjectHeader && object <= left
                                 : object <= left - kHeapObjectHeader &&
                                       aligned(object) <= left - kHeapObjectHeader;
    if (!fits) {
      return bad(formatted("has an object of {} bytes where {} are left", object, left));
    }
    if (index != 0 && !result.sizes.emplace(index, object).second) {
      return bad(formatted("has two objects of number {}", index));
    }
    place += index == 0 ? object : kHeapObjectHeader + aligned(object);
  }
  return result;
}

// ----------------------------------------------------------------------------- object headers

std::string MetadataChecks::header_problem(std::uint64_t at, std::span<const std::byte> bytes) {
  // HDF5 reads the beginning first, and the whole when it knows how long that is.
  std::vector<std::byte> all;
  const auto whole = [&](std::uint64_t size) {
    if (size <= bytes.size()) return bytes.first(size);
    all = read_(at, std::min<std::uint64_t>(size, kMostOfHeader));
    return std::span<const std::byte>(all);
  };
  if (begins_with(bytes, "OHDR")) {
    const std::uint64_t flags = number(bytes, 5, 1);
    const std::size_t begin = 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
    const std::size_t width = std::size_t{1} << (flags & 3);
    const std::uint64_t size = number(bytes, begin, width);
    if (size > file_size_) return formatted("the object header at {} has {} bytes", at, size);
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
  // Other structures are read as headers are; one of version 1 has no signature, but few links lead
  // to it, and it is padded with zeros.
  constexpr std::uint64_t kMostLinks = 0xFFFF;
  if (bytes.size() < kHeader1 || number(bytes, 0, 2) != 1 || number(bytes, 4, 4) > kMostLinks ||
      number(bytes, 12, 4) != 0) {
    return "";
  }
  const std::uint64_t size = number(bytes, 8, 4);
  if (size > file_size_) return "";  // which HDF5 refuses
  const auto header = whole(kHeader1 + size);
  return header.size() <= kHeader1 ? "" : messages_problem(header.subspan(kHeader1), false, false);
}

std::string MetadataChecks::messages_problem(std::span<const std::byte> messages, bool version_2,
                                             bool ordered) {
  const std::size_t head = version_2 ? (ordered ? 6 : 4) : kMessage1;
  for (std::size_t at = 0; at + head <= messages.size();) {
    const std::uint64_t type = number(messages, at, version_2 ? 1 : 2);
    const std::uint64_t size = number(messages, at + (version_2 ? 1 : 2), 2);
    const std::uint64_t flags = number(messages, at + (version_2 ? 3 : 4), 1);
    at += head;
    if (size > messages.size() - at) return "";  // HDF5 looks at that itself
    const auto data = messages.subspan(at, size);
    at += size;
    if (type == kContinuation && data.size() >= offset_bytes_ + length_bytes_) {
      const std::uint64_t next = base_ + number(data, 0, offset_bytes_);
      if (continuations_.size() >= kMostContinuations) continuations_.clear();
      continuations_[next] = {number(data, offset_bytes_, length_bytes_), version_2, ordered};
    } else if (type == kAttribute && (flags & 2) == 0) {  // 2: it lies elsewhere
      if (std::string why = attribute_problem(data); !why.empty()) return why;
    }
  }
  return "";
}

std::string MetadataChecks::attribute_problem(std::span<const std::byte> message) {
  if (message.size() < 8) return "";
  const std::uint64_t version = number(message, 0, 1), flags = number(message, 1, 1);
  if (version < 1 || version > 3 || (version > 1 && (flags & 1) != 0)) return "";  // a shared type
  std::uint64_t sizes[3];  // of its name, its type, its shape
  std::size_t at = version == 3 ? 9 : 8;
  std::span<const std::byte> type;
  for (std::size_t i = 0; i < 3; ++i) {
    sizes[i] = number(message, 2 + 2 * i, 2);
    const std::uint64_t taken = version == 1 ? aligned(sizes[i]) : sizes[i];
    if (taken > message.size() || at > message.size() - taken) return "";
    if (i == 0) {
      // HDF5 1.10 refuses another one, and frees what it has of it twice when it closes the file.
      const auto* name = reinterpret_cast<const char*>(message.data() + at);
      if (sizes[0] == 0 || strnlen(name, sizes[0]) != sizes[0] - 1) {
        return formatted("an attribute's name is said to have {} bytes", sizes[0]);
      }
    }
    if (i == 1) type = message.subspan(at, sizes[i]);
    at += taken;
  }
  if (type.size() < 16 || (number(type, 0, 1) & 0xF) != kVariableLength) return "";
  return references_problem(type, message.subspan(at));
}

std::string MetadataChecks::references_problem(std::span<const std::byte> type,
                                               std::span<const std::byte> data) {
  const std::size_t reference = 4 + offset_bytes_ + 4;
  const std::uint64_t element = number(type, 8 + 4, 4);  // bytes of what there is a number of
  for (std::size_t at = 0; at + reference <= data.size(); at += reference) {
    const std::uint64_t length = number(data, at, 4);
    const std::uint64_t address = number(data, at + 4, offset_bytes_);
    const auto index = static_cast<std::uint32_t>(number(data, at + 4 + offset_bytes_, 4));
    if (address == 0) continue;  // an empty one
    if (is_undefined(address, offset_bytes_) || address > file_size_) {
      return formatted("an attribute lies at {}, beyond the file", address);
    }
    const Heap& heap = heap_at(base_ + address);
    if (!heap.problem.empty()) return heap.problem;
    const auto object = heap.sizes.find(index);
    if (object == heap.sizes.end()) {
      return formatted(
          "an attribute is object {} of the global heap at {}, which has no such object", index,
          base_ + address);
    }
    if (object->second != length * element) {
      return formatted("an attribute of {} bytes lies in {} bytes of the global heap at {}",
                       length * element, object->second, base_ + address);
    }
  }
  return "";
}

}  // namespace assay::h5
