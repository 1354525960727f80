#include "assay/datasets/arrays/zip_member.h"

#include <zip.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "assay/base/text.h"
#include "assay/datasets/checks/file_error_text.h"

namespace assay::inline v0_2 {
namespace {

using Archive = std::shared_ptr<zip_t>;

struct CloseMember {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using OpenMember = std::unique_ptr<zip_file_t, CloseMember>;

Archive open_archive(const std::string& path) {
  // A path that is not a file is refused here, with the same message as for every other file.
  const std::int64_t size = open_plain(path)->size();
  int code = 0;
  zip_t* const opened = zip_open(path.c_str(), ZIP_RDONLY, &code);
  Archive archive(opened, [](zip_t* one) {
    if (one != nullptr) zip_discard(one);
  });
  // An empty file is refused here, because libzip opens it as an archive without members.
  if (size == 0 || code == ZIP_ER_NOZIP) {
    throw FileError(path, "", "is no zip archive, or is truncated");
  }
  if (code == ZIP_ER_INCONS) throw FileError(path, "", "its zip directory is damaged");
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw file_error(path, "", "cannot be read as a zip archive: {}", why);
  }
  return archive;
}

struct Member {
  std::string name;
  zip_uint64_t index = 0;
  zip_stat_t stat{};
};

class ZipMember : public ByteSource {
 public:
  ZipMember(std::string path, Archive archive, Member member)
      : path_(std::move(path)), archive_(std::move(archive)), member_(std::move(member)) {
    open();
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(member_.stat.size); }
  StoredPlace place() const override {
    StoredPlace place = file_place(path_);
    place.begin = -1 - static_cast<std::int64_t>(member_.index);
    place.size = size();
    return place;
  }

  void read(std::int64_t at, std::int64_t count, std::byte* to) override {
    if (count > size() || at > size() - count) {
      refuse("is truncated: it ends before the array does");
    }
    if (at != at_) go_to(at);
    read_on(count, to);
    if (at_ == size() && count > 0) check_end();
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw FileError(path_, member_.name, why);
  }
  [[noreturn]] void refuse_error(zip_error_t* error) const {
    switch (zip_error_code_zip(error)) {
      case ZIP_ER_CRC:
        refuse("fails its checksum (CRC-32): the archive is corrupt");
      case ZIP_ER_EOF:
        refuse("is truncated: its data end too early");
      case ZIP_ER_INCONS:
        refuse("has another size than the archive says: the archive is corrupt");
      case ZIP_ER_ZLIB:
      case ZIP_ER_COMPRESSED_DATA:
        refuse(formatted("cannot be inflated ({}): the archive is corrupt",
                         zip_error_strerror(error)));
      default:
        refuse(formatted("cannot be read: {}", zip_error_strerror(error)));
    }
  }

  void open() {
    file_.reset(zip_fopen_index(archive_.get(), member_.index, 0));
    if (file_ == nullptr) refuse_error(zip_get_error(archive_.get()));
    at_ = 0;
  }

  // Moves to a position in the member. To go back in deflated bytes, the member is inflated again
  // from its beginning.
  void go_to(std::int64_t at) {
    if (member_.stat.comp_method == ZIP_CM_STORE) {
      if (zip_fseek(file_.get(), at, SEEK_SET) != 0) refuse_error(zip_file_get_error(file_.get()));
      at_ = at;
      return;
    }
    if (at < at_) open();
    std::vector<std::byte> skipped(
        static_cast<std::size_t>(std::min<std::int64_t>(at - at_, 1 << 20)));
    while (at_ < at) {
      read_on(std::min(at - at_, static_cast<std::int64_t>(skipped.size())), skipped.data());
    }
  }

  void read_on(std::int64_t count, std::byte* to) {
    while (count > 0) {
      const zip_int64_t got = zip_fread(file_.get(), to, static_cast<zip_uint64_t>(count));
      if (got < 0) refuse_error(zip_file_get_error(file_.get()));
      if (got == 0) refuse("is truncated: its data end too early");
      at_ += got;
      to += got;
      count -= got;
    }
  }

  // Verifies the member. libzip compares its size and checksum when a read goes beyond the last
  // byte.
  void check_end() {
    std::byte more;
    const zip_int64_t got = zip_fread(file_.get(), &more, 1);
    if (got < 0) refuse_error(zip_file_get_error(file_.get()));
    if (got > 0) refuse("has another size than the archive says: the archive is corrupt");
  }

  std::string path_;
  Archive archive_;
  Member member_;
  OpenMember file_;
  std::int64_t at_ = 0;  // the position in the member of the next byte to read
};

}  // namespace

ZipArchive::ZipArchive(const std::string& path) : path_(path), archive_(open_archive(path)) {
  const auto count = static_cast<zip_uint64_t>(zip_get_num_entries(archive_.get(), 0));
  for (zip_uint64_t i = 0; i < count; ++i) {
    const char* raw = zip_get_name(archive_.get(), i, ZIP_FL_ENC_RAW);
    names_.emplace_back(raw != nullptr ? raw : "");
  }
}

std::unique_ptr<ByteSource> ZipArchive::open(std::size_t index) const {
  Member member{names_.at(index), index, {}};
  const auto refuse = [&](const std::string& why) { throw FileError(path_, member.name, why); };
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  zip_stat_t& stat = member.stat;
  if (zip_stat_index(archive_.get(), member.index, 0, &stat) != 0 ||
      (stat.valid & kNeeded) != kNeeded || stat.size > INT64_MAX) {
    throw FileError(path_, "", "its zip directory is damaged");
  }
  if (stat.encryption_method != ZIP_EM_NONE) refuse("is encrypted");
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
    refuse(formatted("is compressed by method {}; only stored and deflated members are read",
                     stat.comp_method));
  }
  if (stat.comp_method == ZIP_CM_STORE && stat.comp_size != stat.size) {
    refuse("has two different sizes");
  }
  const auto file_size = static_cast<std::uint64_t>(file_place(path_).size);
  if (stat.comp_size > file_size) refuse("is truncated: its data end too early");
  if (stat.size / static_cast<std::uint64_t>(kMostPerDeflatedByte) > stat.comp_size) {
    refuse(
        formatted("says that it has {} bytes, which its {} compressed bytes cannot hold: the "
                  "archive is corrupt",
                  stat.size, stat.comp_size));
  }
  return std::make_unique<ZipMember>(path_, archive_, std::move(member));
}

std::string zipped(const std::vector<ZipEntry>& entries) {
  zip_error_t error;
  zip_error_init(&error);
  const auto refuse = [](zip_error_t* why) {
    throw std::runtime_error(
        formatted("no zip archive could be made: {}", zip_error_strerror(why)));
  };
  struct FreeSource {
    void operator()(zip_source_t* source) const { zip_source_free(source); }
  };
  const std::unique_ptr<zip_source_t, FreeSource> whole(
      zip_source_buffer_create(nullptr, 0, 0, &error));
  if (whole == nullptr) refuse(&error);
  struct Discard {
    void operator()(zip_t* archive) const { zip_discard(archive); }
  };
  std::unique_ptr<zip_t, Discard> archive(
      zip_open_from_source(whole.get(), ZIP_TRUNCATE | ZIP_CHECKCONS, &error));
  if (archive == nullptr) refuse(&error);
  // The archive releases a reference to the source, so this adds one that `whole` keeps.
  zip_source_keep(whole.get());
  for (const ZipEntry& entry : entries) {
    zip_source_t* const data =
        zip_source_buffer(archive.get(), entry.bytes.data(), entry.bytes.size(), 0);
    if (data == nullptr) refuse(zip_get_error(archive.get()));
    const zip_int64_t at = zip_file_add(archive.get(), entry.name.c_str(), data, ZIP_FL_ENC_UTF_8);
    if (at < 0) {
      zip_source_free(data);
      refuse(zip_get_error(archive.get()));
    }
    const auto index = static_cast<zip_uint64_t>(at);
    // The date is the first day that a zip archive can express, so that the same arrays produce the
    // same bytes.
    if (zip_set_file_compression(archive.get(), index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive.get(), index, 0, 0x21, 0) != 0) {
      refuse(zip_get_error(archive.get()));
    }
  }
  if (zip_close(archive.get()) != 0) refuse(zip_get_error(archive.get()));
  (void)archive.release();
  std::string bytes;
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_source_open(whole.get()) != 0 || zip_source_stat(whole.get(), &stat) != 0) {
    refuse(zip_source_error(whole.get()));
  }
  bytes.resize(stat.size);
  if (zip_source_read(whole.get(), bytes.data(), bytes.size()) !=
      static_cast<zip_int64_t>(bytes.size())) {
    refuse(zip_source_error(whole.get()));
  }
  zip_source_close(whole.get());
  return bytes;
}

}  // namespace assay
