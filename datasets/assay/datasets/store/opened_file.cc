#include "assay/datasets/store/opened_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "assay/base/text.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/store/read_driver.h"

namespace assay::inline v0_2::h5 {
namespace {

// HDF5's signature is at the beginning, or at 512, 1024, 2048 and so on.
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
  // The driver reads the descriptor, but HDF5 needs a name.
  const char* name = path.empty() ? "file" : path.c_str();
  Handle file = h5::file(H5Fopen(name, H5F_ACC_RDONLY, access.get()));
  if (!file.valid()) {
    note_damage();
    throw file_error(path, "", "is truncated, corrupt or locked ({})", last_error());
  }
  return file;
}

}  // namespace

OpenedFile::OpenedFile(const std::string& path) : path_(path) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const int error = errno;
  const auto refuse = [&](const std::string& reason) {
    if (fd_ >= 0) close(fd_);
    throw FileError(path, "", reason);
  };
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    refuse(formatted("cannot be opened: {}", std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) refuse("is a directory, not a dataset file");
  if (!S_ISREG(status.st_mode)) refuse("is not a regular file");
  if (fd_ < 0) refuse(formatted("cannot be read: {}", std::strerror(error)));
  if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) refuse("is not a regular file");
  if (status.st_size == 0) refuse("is empty (0 bytes)");
  if (!has_signature(fd_, status.st_size)) refuse("is not an HDF5 file");
  // If another process is writing the file, HDF5 reports that.
  if (flock(fd_, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) return;
  const auto nanoseconds = [](const timespec& time) {
    return formatted("{}.{:09}", time.tv_sec, time.tv_nsec);
  };
  identity_ = formatted("{} {} {} {} {}", status.st_dev, status.st_ino, status.st_size,
                        nanoseconds(status.st_mtim), nanoseconds(status.st_ctim));
  size_ = static_cast<std::uint64_t>(status.st_size);
  plain_ = std::make_unique<PlainObjects>(fd_, size_, identity_);
}

OpenedFile::OpenedFile(const std::string& path, int fd) : path_(path) {
  quiet_hdf5();
  file_ = open_hdf5(path, fd, false);
}

OpenedFile::~OpenedFile() {
  file_.reset();
  if (fd_ >= 0) close(fd_);
}

std::unique_ptr<PlainObjects> OpenedFile::another_plain() const {
  return plain_ != nullptr ? std::make_unique<PlainObjects>(fd_, size_, identity_) : nullptr;
}

std::shared_ptr<PlainObjects> OpenedFile::lasting_plain() {
  if (lasting_plain_ == nullptr) lasting_plain_ = another_plain();
  return lasting_plain_;
}

hid_t OpenedFile::hdf5() {
  if (!file_.valid()) {
    quiet_hdf5();
    if (check_ == nullptr) check_ = check_of(path_, fd_);
    file_ = open_hdf5(path_, fd_, true);
  }
  return file_.get();
}

FileCheck* OpenedFile::check() {
  (void)hdf5();
  return check_.get();
}

}  // namespace assay::h5
