// Small reads of a file that is open.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::h5 {

// Small reads in blocks that are kept: HDF5 takes a hundred of a few bytes each for a case. Others
// go to the file. One thread at a time, where nothing else is said.
class BlockReader {
 public:
  // The descriptor must stay open for as long as this lives.
  explicit BlockReader(int fd) : fd_(fd) {}

  // How many bytes were there, fewer than asked for where the file ends; -1 where the system
  // refuses.
  ssize_t read(std::uint64_t at, std::byte* to, std::size_t size);
  // The same by no blocks; several threads may at a time.
  ssize_t read_file(std::uint64_t at, std::byte* to, std::size_t size) const;

 private:
  static constexpr std::size_t kBlock = 16384, kBlocks = 256;
  struct Block {
    std::uint64_t number = 0;
    std::vector<std::byte> bytes = {};  // as many as the file has there; none: not read
  };

  const Block* block_of(std::uint64_t number);

  int fd_;
  std::vector<Block> blocks_ = std::vector<Block>(kBlocks);
};

}  // namespace assay::h5
