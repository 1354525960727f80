#include "assay/datasets/opened_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "assay/base/text.h"
#include "assay/datasets/file_error.h"
#include "assay/datasets/read_driver.h"

namespace assay::h5 {
namespace {

// HDF5's signature lies at the beginning, or at 512, 1024, 2048 and so on.
bool has_signature(int fd, off_t size) {
  constexpr char kSignature[] = "\x89HDF\r\n\x1a\n";
  for (off_t at = 0; at < size; at = at == 0 ? 512 : at * 2) {
    char word[8] = {};
    if (pread(fd, word, sizeof word, at) != sizeof word) return false;
    if (std::memcmp(word, kSignature, sizeof word) == 0) return true;
  }
  return false;
}

Handle open_hdf5(const std::string& path, int fd, bool lock) {
  const Handle access = read_access(fd, lock);
  // The driver reads the descriptor; HDF5 wants some name.
  const char* name = path.empty() ? "file" : path.c_str();
  Handle file = h5::file(H5Fopen(name, H5F_ACC_RDONLY, access.get()));
  if (!file.valid()) {
    note_damage();
    throw FileError(path, "", formatted("is truncated, corrupt or locked ({})", last_error()));
  }
  return file;
}

}  // namespace

OpenedFile open_file(const std::string& path) {
  quiet_hdf5();
  // Without waiting, for a pipe has a beginning only when somebody writes.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const int error = errno;
  const std::shared_ptr<void> closes(nullptr, [fd](void*) {
    if (fd >= 0) close(fd);
  });
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    throw FileError(path, "", formatted("cannot be opened: {}", std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) throw FileError(path, "", "is a directory, not a dataset file");
  if (!S_ISREG(status.st_mode)) throw FileError(path, "", "is not a regular file");
  if (fd < 0) throw FileError(path, "", formatted("cannot be read: {}", std::strerror(error)));
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    throw FileError(path, "", "is not a regular file");
  }
  if (status.st_size == 0) throw FileError(path, "", "is empty (0 bytes)");
  if (!has_signature(fd, status.st_size)) throw FileError(path, "", "is not an HDF5 file");
  OpenedFile opened;
  opened.check = check_of(path, fd);
  opened.file = open_hdf5(path, fd, true);
  return opened;
}

Handle open_descriptor(const std::string& path, int fd) {
  quiet_hdf5();
  return open_hdf5(path, fd, false);
}

}  // namespace assay::h5
