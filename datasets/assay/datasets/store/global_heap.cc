#include "assay/datasets/store/global_heap.h"

#include <algorithm>
#include <cstring>

#include "assay/base/text.h"

namespace assay::inline v0_2::h5 {
namespace {

// Sizes in bytes that the file format defines (HDF5 File Format Specification 3.0, section III.E).
constexpr std::size_t kHeapHeader = 16, kHeapObjectHeader = 16;
constexpr std::uint64_t kSmallestHeap = 4096;
constexpr std::size_t kMostCollections = 64;  // the most collections that are kept in memory
constexpr std::size_t kHeapWindow = 4096;     // bytes of a collection that are read at a time

std::uint64_t aligned_to_8(std::uint64_t size) { return (size + 7) / 8 * 8; }

}  // namespace

std::uint64_t number_in(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size && at + i < bytes.size(); ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[at + i]) << 8 * i;
  }
  return value;
}

bool begins_with(std::span<const std::byte> bytes, const char (&word)[5]) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), word, 4) == 0;
}

GlobalHeap::GlobalHeap(ReadBytes read, std::uint64_t file_size)
    : read_(std::move(read)), file_size_(file_size) {
  read_superblock();
}

// Reads the sizes and the base of addresses. Damage is not reported, because HDF5 itself refuses a
// file with a damaged superblock.
void GlobalHeap::read_superblock() {
  constexpr char kSignature[] = "\x89HDF\r\n\x1a\n";
  for (std::uint64_t at = 0; at < file_size_; at = at == 0 ? 512 : at * 2) {
    const std::vector<std::byte> block = read_(at, 16);
    if (block.size() < 16 || std::memcmp(block.data(), kSignature, 8) != 0) continue;
    base_ = at;
    const std::size_t sizes = number_in(block, 8, 1) < 2 ? 13 : 9;
    const std::size_t offsets = number_in(block, sizes, 1),
                      lengths = number_in(block, sizes + 1, 1);
    if (offsets == 2 || offsets == 4 || offsets == 8) offset_bytes_ = offsets;
    if (lengths == 2 || lengths == 4 || lengths == 8) length_bytes_ = lengths;
    return;
  }
}

const GlobalHeap::Collection& GlobalHeap::collection_at(std::uint64_t at) {
  const auto known = collections_.find(at);
  if (known != collections_.end()) return known->second;
  if (collections_.size() >= kMostCollections) collections_.clear();
  return collections_.emplace(at, read_collection(at)).first->second;
}

GlobalHeap::Collection GlobalHeap::read_collection(std::uint64_t at) const {
  const auto bad = [&](const std::string& why) {
    return Collection{formatted("the global heap at {} {}", at, why)};
  };
  std::vector<std::byte> window = read_(at, kHeapWindow);
  if (window.size() < kHeapHeader || !begins_with(window, "GCOL")) return bad("is none");
  if (number_in(window, 4, 1) != 1) {
    return bad(formatted("has version {}", number_in(window, 4, 1)));
  }
  const std::uint64_t size = number_in(window, 8, length_bytes_);
  if (size < kSmallestHeap || at > file_size_ || size > file_size_ - at) {
    return bad(formatted("has a wrong size of {} bytes", size));
  }
  Collection result{.problem = {}, .objects = {}, .bytes = window};
  std::uint64_t window_at = 0;
  bool has_free_space = false;
  for (std::uint64_t place = kHeapHeader; size - place >= kHeapObjectHeader;) {
    if (place - window_at + kHeapObjectHeader > window.size()) {
      window_at = place;
      window = read_(at + place, kHeapWindow);
      if (window.size() < kHeapObjectHeader) return bad("cannot be read");
    }
    const auto header = std::span(window).subspan(place - window_at, kHeapObjectHeader);
    const auto index = static_cast<std::uint32_t>(number_in(header, 0, 2));
    const std::uint64_t object = number_in(header, 8, length_bytes_), left = size - place;
    // Object 0 is the free space, whose size includes its header.
    const bool fits = index == 0 ? object >= kHeapObjectHeader && object <= left
                                 : object <= left - kHeapObjectHeader &&
                                       aligned_to_8(object) <= left - kHeapObjectHeader;
    if (!fits) {
      return bad(formatted("has an object of {} bytes, but only {} bytes are left", object, left));
    }
    if (index == 0) {
      if (std::exchange(has_free_space, true)) return bad("has two objects of number 0");
    } else {
      result.objects.push_back({index, place + kHeapObjectHeader, object});
    }
    place += index == 0 ? object : kHeapObjectHeader + aligned_to_8(object);
  }
  // The objects are already in the order of their numbers if HDF5 wrote them.
  if (!std::ranges::is_sorted(result.objects, {}, &Place::index)) {
    std::ranges::sort(result.objects, {}, &Place::index);
  }
  const auto same = std::ranges::adjacent_find(result.objects, {}, &Place::index);
  if (same != result.objects.end()) {
    return bad(formatted("has two objects of number {}", same->index));
  }
  return result;
}

const GlobalHeap::Place* GlobalHeap::Collection::find(std::uint32_t index) const {
  const auto found = std::ranges::lower_bound(objects, index, {}, &Place::index);
  return found != objects.end() && found->index == index ? &*found : nullptr;
}

GlobalHeap::Object GlobalHeap::object(std::span<const std::byte> reference,
                                      std::uint64_t element_bytes) {
  const auto bad = [](std::string why) { return Object{.problem = std::move(why)}; };
  const std::uint64_t length = number_in(reference, 0, 4);
  const std::uint64_t address = number_in(reference, 4, offset_bytes_);
  const auto index = static_cast<std::uint32_t>(number_in(reference, 4 + offset_bytes_, 4));
  if (length == 0 || address == 0) return {};
  if (address >= file_size_ || base_ > file_size_ - address) {
    return bad(formatted("an element of variable length lies at {}, beyond the file", address));
  }
  const std::uint64_t at = base_ + address;
  const Collection& collection = collection_at(at);
  if (!collection.problem.empty()) return bad(collection.problem);
  const Place* const found = collection.find(index);
  if (found == nullptr) return bad(formatted("the global heap at {} has no object {}", at, index));
  const std::uint64_t size = found->size;
  if (element_bytes == 0 || size / element_bytes != length || size % element_bytes != 0) {
    return bad(formatted(
        "{} elements of {} bytes do not fit the {} bytes that the global heap at {} holds for them",
        length, element_bytes, size, at));
  }
  if (found->at + size <= collection.bytes.size()) {
    return {length, std::span(collection.bytes).subspan(found->at, size)};
  }
  large_ = read_(at + found->at, size);
  if (large_.size() != size) return bad(formatted("the global heap at {} cannot be read", at));
  return {length, large_};
}

}  // namespace assay::h5
