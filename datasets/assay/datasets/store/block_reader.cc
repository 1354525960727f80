#include "assay/datasets/store/block_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace assay::inline v0_2::h5 {

ssize_t read_at(int fd, std::uint64_t at, std::byte* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = pread(fd, to + done, size - done, static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

ssize_t BlockReader::read(std::uint64_t at, std::byte* to, std::size_t size) {
  if (size > kBlock / 4) return read_file(at, to, size);
  std::size_t done = 0;
  while (done < size) {
    const std::uint64_t number = (at + done) / kBlock;
    const std::size_t offset = (at + done) % kBlock;
    const Block* block = block_of(number);
    if (block == nullptr) return -1;
    if (block->bytes.size() <= offset) break;  // the file ends before this position
    const std::size_t n = std::min(size - done, block->bytes.size() - offset);
    std::memcpy(to + done, block->bytes.data() + offset, n);
    done += n;
  }
  return static_cast<ssize_t>(done);
}

const BlockReader::Block* BlockReader::block_of(std::uint64_t number) {
  Block& block = blocks_[number % kBlocks];
  if (!block.bytes.empty() && block.number == number) return &block;
  block.bytes.resize(kBlock);
  const ssize_t n = read_file(number * kBlock, block.bytes.data(), kBlock);
  block.number = number;
  block.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  return n < 0 ? nullptr : &block;
}

}  // namespace assay::h5
