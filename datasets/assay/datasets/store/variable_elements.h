// Elements of types that have strings or sequences of variable length in them, as they are stored
// and as HDF5 takes them to write them.
//
// HDF5 gives the references as they are stored (stored_type_of()), and assay follows them
// (global_heap.h). So HDF5 never believes a reference that a file from outside holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "assay/datasets/store/global_heap.h"
#include "assay/datasets/store/handle.h"

namespace assay::h5 {

// Whether the type is, or has a member that is, of this kind.
bool has_variable_length(hid_t type);
bool has_references(hid_t type);

// How an element lies in a file, and in memory for H5Dwrite() and H5Awrite().
struct ElementLayout {
  enum class Kind : std::uint8_t { kFixed, kText, kSequence, kCompound, kArray };
  Kind kind = Kind::kFixed;
  std::size_t stored_bytes = 0, memory_bytes = 0;
  // Where it lies in the compound that it is a member of.
  std::size_t stored_at = 0, memory_at = 0;
  std::size_t count = 0;  // of an array
  bool is_sound = true;   // of a kind that is known, with members within their compound
  std::vector<ElementLayout> parts = {};  // members; the one base of a sequence or an array
};

// `type`: as H5Aget_type() and H5Dget_type() give it.
ElementLayout layout_of(hid_t type, const GlobalHeap& heap);

// Reads all elements of an attribute as they are stored. False where HDF5 fails, or the attribute
// does not have as many bytes as its elements take.
bool read_as_stored(hid_t attribute, hid_t type, const ElementLayout& layout,
                    const GlobalHeap& heap, std::vector<std::byte>& to);

// The type to read elements by so that they come as they are stored, references included.
Handle stored_type_of(hid_t type, const GlobalHeap& heap);

// Elements in memory, with all that they point to.
class VariableElements {
 public:
  VariableElements(const ElementLayout& layout, GlobalHeap& heap) : layout_(layout), heap_(heap) {}

  // Takes the next elements, as they are stored. Returns why a reference leads nowhere, and an
  // empty string if all are good.
  std::string add(std::span<const std::byte> stored);
  const std::byte* data() const { return elements_.data(); }
  std::size_t count() const { return elements_.size() / layout_.memory_bytes; }
  // Bytes that the elements point to.
  std::size_t held_bytes() const { return held_bytes_; }
  void clear();

 private:
  std::string decode(const ElementLayout& layout, std::span<const std::byte> stored,
                     std::byte* memory);
  std::byte* hold(std::vector<std::byte> bytes);
  // What a reference leads to. Objects are not shared, so that all together fit in the file.
  GlobalHeap::Object object(std::span<const std::byte> reference, std::size_t element_bytes);

  const ElementLayout& layout_;
  GlobalHeap& heap_;
  std::vector<std::byte> elements_;
  std::deque<std::vector<std::byte>> held_;
  std::size_t held_bytes_ = 0;
  std::uint64_t all_bytes_ = 0;  // of objects that were read
};

}  // namespace assay::h5
