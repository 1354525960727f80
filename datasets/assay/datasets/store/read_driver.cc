#include "assay/datasets/store/read_driver.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "assay/datasets/store/block_reader.h"
#include "assay/datasets/store/metadata_checks.h"

namespace assay::inline v0_2::h5 {
namespace {

thread_local int reading_elements = 0;

struct Source {
  int fd;
  bool lock;
};

struct File {
  H5FD_t base;  // HDF5's own fields, which must come first
  int fd;
  bool lock;
  haddr_t size, allocated;  // the size of the file, and the end of the file as HDF5 knows it
  std::unique_ptr<BlockReader> blocks;
  std::unique_ptr<MetadataChecks> checks;
};

File* cast(H5FD_t* base) { return reinterpret_cast<File*>(base); }
const File* cast(const H5FD_t* base) { return reinterpret_cast<const File*>(base); }

herr_t fail(const char* why) {
  push_error(why);
  return -1;
}

H5FD_t* open_file(const char*, unsigned, hid_t access, haddr_t) {
  const Source* const source = static_cast<const Source*>(H5Pget_driver_info(access));
  struct stat status;
  if (fstat(source->fd, &status) != 0) return nullptr;
  const int fd = fcntl(source->fd, F_DUPFD_CLOEXEC, 3);
  if (fd < 0) return nullptr;
  auto* file = new File{{},
                        fd,
                        source->lock,
                        static_cast<haddr_t>(status.st_size),
                        0,
                        std::make_unique<BlockReader>(fd),
                        nullptr};
  const auto read = [blocks = file->blocks.get()](std::uint64_t at, std::size_t size) {
    std::vector<std::byte> bytes(size);
    const ssize_t n = blocks->read(at, bytes.data(), size);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return bytes;
  };
  file->checks = std::make_unique<MetadataChecks>(read, file->size);
  return &file->base;
}

herr_t close_file(H5FD_t* base) {
  const File* file = cast(base);
  close(file->fd);
  delete file;
  return 0;
}

// Returns zeros beyond the end, as HDF5's own driver does.
herr_t read_file(H5FD_t* base, H5FD_mem_t kind, hid_t, haddr_t at, std::size_t size, void* data) {
  File* file = cast(base);
  auto* bytes = static_cast<std::byte*>(data);
  try {
    const ssize_t n = at < file->size ? file->blocks->read(at, bytes, size) : 0;
    if (n < 0) return fail(std::strerror(errno));
    const auto done = static_cast<std::size_t>(n);
    std::memset(bytes + done, 0, size - done);
    // Elements of datasets may have any bytes, so the checks of metadata do not apply to them.
    if (kind == H5FD_MEM_DRAW && reading_elements > 0) return 0;
    const std::string why = file->checks->problem(at, {bytes, size}, kind == H5FD_MEM_OHDR);
    return why.empty() ? 0 : fail(why.c_str());
  } catch (const std::exception& e) {
    // The memory may be exhausted. The exception must not leave this function, because HDF5 is C.
    return fail(e.what());
  }
}

herr_t lock_file(H5FD_t* base, hbool_t) {
  const File* file = cast(base);
  if (!file->lock || flock(file->fd, LOCK_SH | LOCK_NB) == 0 || errno == ENOSYS) return 0;
  return fail(std::strerror(errno));
}

hid_t driver() {
  static const hid_t id = [] {
    H5FD_class_t c{};
    c.name = "assay_read";
    c.maxaddr = (haddr_t{1} << 63) - 1;
    c.fc_degree = H5F_CLOSE_WEAK;
    c.fapl_size = sizeof(Source);
    c.open = open_file;
    c.close = close_file;
    c.query = [](const H5FD_t*, unsigned long* flags) -> herr_t {
      *flags = H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
      return 0;
    };
    c.get_handle = [](H5FD_t* file, hid_t, void** handle) -> herr_t {
      *handle = &cast(file)->checks->heap();
      return 0;
    };
    c.get_eoa = [](const H5FD_t* file, H5FD_mem_t) { return cast(file)->allocated; };
    c.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t end) -> herr_t {
      cast(file)->allocated = end;
      return 0;
    };
    c.get_eof = [](const H5FD_t* file, H5FD_mem_t) { return cast(file)->size; };
    c.read = read_file;
    c.write = [](H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) -> herr_t {
      return fail("the file is read alone");
    };
    c.lock = lock_file;
    c.unlock = [](H5FD_t* base) -> herr_t {
      const File* file = cast(base);
      if (file->lock) (void)flock(file->fd, LOCK_UN);
      return 0;
    };
    const H5FD_mem_t kinds[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(kinds), std::end(kinds), c.fl_map);
    return H5FDregister(&c);
  }();
  return id;
}

}  // namespace

Handle read_access(int fd, bool lock) {
  Handle access = properties(H5Pcreate(H5P_FILE_ACCESS));
  const Source source{fd, lock};
  require(H5Pset_driver(access.get(), driver(), &source));
  return access;
}

GlobalHeap& heap_of(hid_t file) {
  void* heap = nullptr;
  const Handle access = properties(H5Fget_access_plist(file));
  if (H5Pget_driver(access.get()) != driver() || H5Fget_vfd_handle(file, H5P_DEFAULT, &heap) < 0) {
    throw std::logic_error("the file was opened by another driver");
  }
  return *static_cast<GlobalHeap*>(heap);
}

ReadingElements::ReadingElements() { ++reading_elements; }
ReadingElements::~ReadingElements() { --reading_elements; }

}  // namespace assay::h5
