// Reads small parts of an open file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::inline v0_2::h5 {

// Reads bytes of an open file. Returns the number of bytes that were read. It is less than `size`
// if the file ends there, and -1 if the system reports an error (errno).
ssize_t read_at(int fd, std::uint64_t at, std::byte* to, std::size_t size);

// Reads a file. Small reads take bytes from blocks that are kept in memory, because HDF5 makes
// about a hundred reads of a few bytes for each case. Large reads go to the file. Used by one
// thread at a time, except read_file().
class BlockReader {
 public:
  // The descriptor must stay open during the lifetime of this object.
  explicit BlockReader(int fd) : fd_(fd) {}

  // Returns the number of bytes that were read. It is less than `size` if the file ends there, and
  // -1 if the system reports an error.
  ssize_t read(std::uint64_t at, std::byte* to, std::size_t size);
  // Reads the file without blocks. Several threads may call this at a time.
  ssize_t read_file(std::uint64_t at, std::byte* to, std::size_t size) const {
    return read_at(fd_, at, to, size);
  }

 private:
  static constexpr std::size_t kBlock = 16384, kBlocks = 256;
  struct Block {
    std::uint64_t number = 0;
    // The bytes of the block. There are fewer than kBlock if the file ends in the block, and none
    // if the block was not read.
    std::vector<std::byte> bytes = {};
  };

  const Block* block_of(std::uint64_t number);

  int fd_;
  std::vector<Block> blocks_ = std::vector<Block>(kBlocks);
};

}  // namespace assay::h5
