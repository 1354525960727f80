#include "assay/datasets/store/write_driver.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "assay/datasets/store/block_reader.h"

namespace assay::inline v0_2::h5 {
namespace {

struct Destination {
  int fd;
  int* error;
};

struct WrittenFile {
  H5FD_t base;  // HDF5's own fields, which must come first
  int fd;
  int* error;
  haddr_t allocated;  // the end of the space that HDF5 has allocated
  haddr_t written;    // the end of the bytes that were written
};

WrittenFile* cast(H5FD_t* base) { return reinterpret_cast<WrittenFile*>(base); }
const WrittenFile* cast(const H5FD_t* base) { return reinterpret_cast<const WrittenFile*>(base); }

void keep_error(int* error) {
  if (*error == 0) *error = errno != 0 ? errno : EIO;
}

H5FD_t* open_file(const char*, unsigned, hid_t access, haddr_t) {
  const auto* const to = static_cast<const Destination*>(H5Pget_driver_info(access));
  const int fd = fcntl(to->fd, F_DUPFD_CLOEXEC, 3);
  if (fd < 0) {
    keep_error(to->error);
    return nullptr;
  }
  return &(new WrittenFile{{}, fd, to->error, 0, 0})->base;
}

herr_t close_file(H5FD_t* base) {
  const WrittenFile* file = cast(base);
  if (close(file->fd) != 0) keep_error(file->error);
  delete file;
  return 0;
}

herr_t write_file(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t at, std::size_t size, const void* data) {
  WrittenFile* file = cast(base);
  file->written = std::max(file->written, at + size);
  const char* bytes = static_cast<const char*>(data);
  while (size > 0 && *file->error == 0) {
    const ssize_t done = pwrite(file->fd, bytes, size, static_cast<off_t>(at));
    if (done > 0) {
      bytes += done;
      at += static_cast<haddr_t>(done);
      size -= static_cast<std::size_t>(done);
    } else if (done == 0 || errno != EINTR) {
      if (done == 0) errno = ENOSPC;
      keep_error(file->error);
    }
  }
  return 0;
}

// HDF5 reads back data that it has written and evicted. Beyond the end there are zeros.
herr_t read_file(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t at, std::size_t size, void* data) {
  const WrittenFile* file = cast(base);
  auto* const bytes = static_cast<std::byte*>(data);
  const ssize_t n = read_at(file->fd, at, bytes, size);
  if (n < 0) keep_error(file->error);
  const auto done = static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  std::memset(bytes + done, 0, size - done);
  return 0;
}

herr_t truncate_file(H5FD_t* base, hid_t, hbool_t) {
  WrittenFile* file = cast(base);
  if (file->written == file->allocated) return 0;
  if (*file->error == 0 && ftruncate(file->fd, static_cast<off_t>(file->allocated)) != 0) {
    keep_error(file->error);
  }
  file->written = file->allocated;
  return 0;
}

hid_t driver() {
  static const hid_t id = [] {
    H5FD_class_t c{};
    c.name = "assay_write";
    c.maxaddr = (haddr_t{1} << 63) - 1;
    c.fc_degree = H5F_CLOSE_STRONG;
    c.fapl_size = sizeof(Destination);
    c.open = open_file;
    c.close = close_file;
    c.query = [](const H5FD_t*, unsigned long* flags) -> herr_t {
      *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
               H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
      return 0;
    };
    c.get_eoa = [](const H5FD_t* file, H5FD_mem_t) { return cast(file)->allocated; };
    c.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t end) -> herr_t {
      cast(file)->allocated = end;
      return 0;
    };
    c.get_eof = [](const H5FD_t* file, H5FD_mem_t) { return cast(file)->written; };
    c.read = read_file;
    c.write = write_file;
    c.truncate = truncate_file;
    const H5FD_mem_t kinds[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(kinds), std::end(kinds), c.fl_map);
    return H5FDregister(&c);
  }();
  return id;
}

}  // namespace

Handle write_access(int fd, int* error) {
  Handle access = properties(H5Pcreate(H5P_FILE_ACCESS));
  require(H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_V110));
  const Destination to{fd, error};
  require(H5Pset_driver(access.get(), driver(), &to));
  return access;
}

}  // namespace assay::h5
