#include "assay/datasets/arrays/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/store/block_reader.h"

namespace assay::inline v0_2 {
namespace {

class PlainFile : public ByteSource {
 public:
  PlainFile(std::string path, int file, std::int64_t size)
      : path_(std::move(path)), file_(file), size_(size) {}
  ~PlainFile() override { close(file_); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  std::int64_t size() const override { return size_; }
  bool serves_threads() const override { return true; }
  StoredPlace place() const override { return file_place(path_); }
  void read(std::int64_t at, std::int64_t count, std::byte* to) override {
    const ssize_t got =
        h5::read_at(file_, static_cast<std::uint64_t>(at), to, static_cast<std::size_t>(count));
    if (got < 0) throw file_error(path_, "", "cannot be read: {}", std::strerror(errno));
    if (got < count) throw FileError(path_, "", "is truncated: it ends before the array does");
  }

 private:
  std::string path_;
  int file_;
  std::int64_t size_;
};

}  // namespace

StoredPlace file_place(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, 0, status.st_size};
}

std::unique_ptr<ByteSource> open_plain(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    throw file_error(path, "", "cannot be opened: {}", std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) throw FileError(path, "", "is not a regular file");
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw file_error(path, "", "cannot be opened: {}", std::strerror(errno));
  return std::make_unique<PlainFile>(path, file, status.st_size);
}

std::unique_ptr<ByteSource> spooled(const std::string& path, ByteSource& source) {
  const auto refuse = [&] {
    throw file_error(
        path, "",
        "must be unpacked to a temporary file, which failed: {}; TMPDIR names another folder",
        std::strerror(errno));
  };
  const char* folder = std::getenv("TMPDIR");
  std::string name =
      std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/assay_XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) refuse();
  unlink(name.c_str());
  auto copy = std::make_unique<PlainFile>(path, file, source.size());
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (std::int64_t at = 0; at < source.size();) {
    const auto count = std::min(static_cast<std::int64_t>(buffer.size()), source.size() - at);
    source.read(at, count, buffer.data());
    for (std::int64_t done = 0; done < count;) {
      const ssize_t put =
          pwrite(file, buffer.data() + done, static_cast<std::size_t>(count - done), at + done);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) refuse();
      done += put;
    }
    at += count;
  }
  return copy;
}

}  // namespace assay
