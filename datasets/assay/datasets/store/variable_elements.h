// Elements of types that contain strings or sequences of variable length, as they are stored and in
// the form in which HDF5 writes them.
//
// HDF5 returns the references as they are stored (stored_type_of()), and assay follows them
// (global_heap.h). So HDF5 never trusts a reference in a file from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "assay/datasets/store/global_heap.h"
#include "assay/datasets/store/handle.h"

namespace assay::inline v0_2::h5 {

// has_variable_length() returns true if the type or one of its parts has a variable length, and
// has_references() if the type or one of its parts is a reference.
bool has_variable_length(hid_t type);
bool has_references(hid_t type);

// The layout of an element in a file, and in memory for H5Dwrite() and H5Awrite().
struct ElementLayout {
  enum class Kind : std::uint8_t { kFixed, kText, kSequence, kCompound, kArray };
  Kind kind = Kind::kFixed;
  std::size_t stored_bytes = 0, memory_bytes = 0;
  // If the element is a member of a compound: its offsets in the compound.
  std::size_t stored_at = 0, memory_at = 0;
  std::size_t count = 0;  // of an array
  bool is_sound = true;   // false if the kind is unknown, or a member is not within its compound
  // The layouts of a compound's members, or of the one base type of a sequence or an array.
  std::vector<ElementLayout> parts = {};
};

// Returns the layout of a type, which is the result of H5Aget_type() or H5Dget_type().
ElementLayout layout_of(hid_t type, const GlobalHeap& heap);

// Reads all elements of an attribute as they are stored. Returns false if HDF5 fails, or if the
// attribute does not have the number of bytes that its elements take.
bool read_as_stored(hid_t attribute, hid_t type, const ElementLayout& layout,
                    const GlobalHeap& heap, std::vector<std::byte>& to);

// Returns the type with which elements are read as they are stored, including references.
Handle stored_type_of(hid_t type, const GlobalHeap& heap);

// Elements in memory, with all the data that they point to.
class VariableElements {
 public:
  VariableElements(const ElementLayout& layout, GlobalHeap& heap) : layout_(layout), heap_(heap) {}

  // Adds the next elements, as they are stored. Returns why a reference leads nowhere, or an empty
  // string if all are good.
  std::string add(std::span<const std::byte> stored);
  const std::byte* data() const { return elements_.data(); }
  std::size_t count() const { return elements_.size() / layout_.memory_bytes; }
  // Returns the number of bytes that the elements point to.
  std::size_t held_bytes() const { return held_bytes_; }
  void clear();

 private:
  std::string decode(const ElementLayout& layout, std::span<const std::byte> stored,
                     std::byte* memory);
  std::byte* hold(std::vector<std::byte> bytes);
  // Returns the object that a reference leads to. Refuses it if all objects so far, counted once
  // for each reference, take more bytes than the file has.
  GlobalHeap::Object object(std::span<const std::byte> reference, std::size_t element_bytes);

  const ElementLayout& layout_;
  GlobalHeap& heap_;
  std::vector<std::byte> elements_;
  std::deque<std::vector<std::byte>> held_;
  std::size_t held_bytes_ = 0;
  std::uint64_t all_bytes_ = 0;  // total size of the objects that were read
};

}  // namespace assay::h5
