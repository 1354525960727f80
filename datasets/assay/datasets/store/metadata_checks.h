// Checks data of a file that HDF5 1.10 trusts, before HDF5 reads them.
//
// Neither the collections of the global heap nor the object headers of older files have a checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "assay/datasets/store/global_heap.h"

namespace assay::inline v0_2::h5 {

class MetadataChecks {
 public:
  // `read` must stay callable during the lifetime of this object. Sizes and addresses in the file
  // are not trusted beyond `file_size`.
  MetadataChecks(ReadBytes read, std::uint64_t file_size);

  GlobalHeap& heap() { return heap_; }

  // Checks bytes from this address that HDF5 is about to read. Returns why it must not read them,
  // as in "the global heap at 2048 has an object of 99999 bytes, more than there are", or an empty
  // string if it may. `is_header` is true if HDF5 reads them as an object header, or as a part of
  // one.
  std::string problem(std::uint64_t at, std::span<const std::byte> bytes, bool is_header);

 private:
  std::string header_problem(std::uint64_t at, std::span<const std::byte> bytes);
  std::string messages_problem(std::span<const std::byte> messages, bool version_2, bool ordered);

  ReadBytes read_;
  std::uint64_t file_size_;
  GlobalHeap heap_;
  struct Continuation {
    std::uint64_t size;
    bool version_2, ordered;
  };
  // The continuations of object headers that were found. The key is the address.
  std::map<std::uint64_t, Continuation> continuations_;
};

}  // namespace assay::h5
