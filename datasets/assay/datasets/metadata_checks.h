// What HDF5 1.10 believes of a file without a look, looked at before it does.
//
// A string of variable length is a reference (length, address, index) into a collection of the
// global heap. HDF5 walks a collection by the sizes that stand in it, copies as many bytes as the
// collection says into memory of the length that the reference says, and takes any index: a few
// changed bytes end the process, or keep it busy for ever. Neither collections nor the object
// headers of older files, which hold the references, have a checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace assay::h5 {

// Bytes of a file, of which there may be fewer than asked for.
using ReadBytes = std::function<std::vector<std::byte>(std::uint64_t at, std::size_t size)>;

class MetadataChecks {
 public:
  // `read` must be callable for as long as this lives. `file_size` bounds what is believed.
  MetadataChecks(ReadBytes read, std::uint64_t file_size);

  // What HDF5 is about to be given, from this address. Gives why it must not be, as in "the global
  // heap at 2048 has an object of 99999 bytes, more than there are"; "" where it may.
  // `is_header`: it is read as an object header, or as a part of one.
  std::string problem(std::uint64_t at, std::span<const std::byte> bytes, bool is_header);

 private:
  struct Heap {
    std::string problem;
    std::map<std::uint32_t, std::uint64_t> sizes;  // of objects, by index
  };

  void read_superblock();
  const Heap& heap_at(std::uint64_t at);
  Heap read_heap(std::uint64_t at) const;
  std::string header_problem(std::uint64_t at, std::span<const std::byte> bytes);
  std::string messages_problem(std::span<const std::byte> messages, bool version_2, bool ordered);
  std::string attribute_problem(std::span<const std::byte> message);
  std::string references_problem(std::span<const std::byte> type, std::span<const std::byte> data);

  ReadBytes read_;
  std::uint64_t file_size_, base_ = 0;
  std::size_t offset_bytes_ = 8, length_bytes_ = 8;
  struct Continuation {
    std::uint64_t size;
    bool version_2, ordered;
  };
  std::map<std::uint64_t, Continuation> continuations_;  // of object headers, by address
  std::map<std::uint64_t, Heap> heaps_;                  // that were looked at last
};

}  // namespace assay::h5
