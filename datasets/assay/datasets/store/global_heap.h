// The global heap of an HDF5 file, which holds strings and sequences of variable length.
//
// An element of variable length is a reference in the file: its length, the address of a collection
// of the heap, and the number of an object there. HDF5 1.10 trusts all three. It walks a collection
// by the sizes in it. Then it copies as many bytes as the collection says, up to 4 GiB, into memory
// of the length that the reference says. A few changed bytes end the process or take all of its
// memory. So assay follows references itself instead of HDF5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace assay::inline v0_2::h5 {

// A function that returns `size` bytes of a file from a position. It returns fewer if the file ends
// there.
using ReadBytes = std::function<std::vector<std::byte>(std::uint64_t at, std::size_t size)>;

class GlobalHeap {
 public:
  // `read` must stay callable during the lifetime of this object. Sizes and addresses in the file
  // are not trusted beyond `file_size`.
  GlobalHeap(ReadBytes read, std::uint64_t file_size);

  // The position in the file from which its addresses count, and the sizes in bytes of its
  // addresses and of its lengths. These are 0, 8 and 8 in most files.
  std::uint64_t base() const { return base_; }
  std::size_t offset_bytes() const { return offset_bytes_; }
  std::size_t length_bytes() const { return length_bytes_; }
  std::uint64_t file_size() const { return file_size_; }

  std::size_t reference_bytes() const { return 4 + offset_bytes_ + 4; }

  // The object that a reference leads to. `problem` says why the reference leads nowhere, as in
  // "the global heap at 2048 has no object 7", and is empty if it leads to an object.
  struct Object {
    std::uint64_t length = 0;  // in elements
    // The object's bytes, which are valid until the next object is requested.
    std::span<const std::byte> bytes = {};
    std::string problem = {};
  };
  // Returns the object that a reference leads to, or an empty object if the reference has no
  // elements. `element_bytes` is the size of one of the elements that the reference counts, and 1
  // for strings.
  Object object(std::span<const std::byte> reference, std::uint64_t element_bytes);

  // Returns why HDF5 must not walk the collection at an address of the file, or an empty string if
  // it may.
  std::string problem_at(std::uint64_t at) { return collection_at(at).problem; }

 private:
  struct Place {
    std::uint32_t index;
    std::uint64_t at, size;  // in bytes; `at` counts from the beginning of the collection
  };
  struct Collection {
    std::string problem;
    std::vector<Place> objects = {};    // by number
    std::vector<std::byte> bytes = {};  // the first ones

    const Place* find(std::uint32_t index) const;
  };

  void read_superblock();
  const Collection& collection_at(std::uint64_t at);
  Collection read_collection(std::uint64_t at) const;

  ReadBytes read_;
  std::uint64_t file_size_, base_ = 0;
  std::size_t offset_bytes_ = 8, length_bytes_ = 8;
  std::map<std::uint64_t, Collection> collections_;  // the collections that were read last
  // The last object that is not within the first bytes of its collection, which are kept.
  std::vector<std::byte> large_;
};

// Returns the little-endian number in the `size` bytes at `at`. Bytes beyond the end count as 0.
std::uint64_t number_in(std::span<const std::byte> bytes, std::size_t at, std::size_t size);
// Returns true if the bytes begin with a signature of four letters.
bool begins_with(std::span<const std::byte> bytes, const char (&word)[5]);

}  // namespace assay::h5
