// Members of zip archives, as numpy.savez writes them. Layout: PKWARE's APPNOTE 6.3.10, sections
// 4.3.7 (local header), 4.3.12 (central directory), 4.3.14 to 4.3.16 (its end), 4.5.3 (zip64).
#include <zlib.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "assay/base/text.h"
#include "assay/datasets/byte_source.h"
#include "assay/datasets/store.h"

namespace assay {
namespace {

constexpr std::uint16_t kStored = 0, kDeflated = 8;
constexpr std::uint32_t kIn64 = 0xFFFFFFFF;  // the value is in the zip64 field

// Little-endian numbers at a place in some bytes; all checked against their end.
class Bytes {
 public:
  Bytes(const std::string& path, std::vector<std::byte> bytes)
      : path_(path), bytes_(std::move(bytes)) {}
  std::size_t size() const { return bytes_.size(); }
  std::uint64_t number(std::size_t at, std::size_t width) const {
    check(at, width);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      value |= std::to_integer<std::uint64_t>(bytes_[at + i]) << 8 * i;
    }
    return value;
  }
  std::uint16_t u16(std::size_t at) const { return static_cast<std::uint16_t>(number(at, 2)); }
  std::uint32_t u32(std::size_t at) const { return static_cast<std::uint32_t>(number(at, 4)); }
  std::string text(std::size_t at, std::size_t length) const {
    check(at, length);
    return {reinterpret_cast<const char*>(bytes_.data()) + at, length};
  }

 private:
  void check(std::size_t at, std::size_t width) const {
    if (at > bytes_.size() || width > bytes_.size() - at) {
      throw FileError(path_, "", "its zip directory is damaged");
    }
  }
  const std::string& path_;
  std::vector<std::byte> bytes_;
};

struct Member {
  std::string name;
  std::uint16_t flags, method;
  std::uint32_t crc;
  std::uint64_t packed, size, header;  // bytes; header: where the local header lies
};

class Archive {
 public:
  explicit Archive(const std::string& path) : path_(path), file_(open_plain(path)) {
    const auto [begin, length, count] = find_directory();
    const Bytes directory = read(begin, length);
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < count; ++i) at = add_member(directory, at);
  }

  const std::vector<Member>& members() const { return members_; }

  // Where a member's data begin.
  std::int64_t data_of(const Member& m) const {
    const Bytes header = read(m.header, 30);
    if (header.u32(0) != 0x04034b50) damaged();
    const std::uint64_t begin = m.header + 30 + header.u16(26) + header.u16(28);
    if (begin > end() || m.packed > end() - begin) {
      throw FileError(path_, m.name, "is truncated: the archive ends before it does");
    }
    return static_cast<std::int64_t>(begin);
  }
  std::unique_ptr<ByteSource> take_file() { return std::move(file_); }

 private:
  struct Directory {
    std::uint64_t begin, length, count;
  };

  [[noreturn]] void damaged() const { throw FileError(path_, "", "its zip directory is damaged"); }
  std::uint64_t end() const { return static_cast<std::uint64_t>(file_->size()); }
  Bytes read(std::uint64_t at, std::uint64_t count) const {
    if (at > end() || count > end() - at) damaged();
    std::vector<std::byte> bytes(count);
    file_->read(static_cast<std::int64_t>(at), static_cast<std::int64_t>(count), bytes.data());
    return {path_, std::move(bytes)};
  }

  // From the record at the archive's end, which a comment of up to 64 KiB may follow.
  Directory find_directory() const {
    const std::uint64_t tail = std::min<std::uint64_t>(end(), 22 + 65535);
    const Bytes bytes = read(end() - tail, tail);
    std::optional<std::size_t> found;
    for (std::size_t at = bytes.size() < 22 ? 0 : bytes.size() - 21; at-- > 0 && !found;) {
      // Its comment reaches to the end of the file: the comment may look like such a record itself.
      const bool reaches = at + 22 + bytes.u16(at + 20) == bytes.size();
      if (bytes.u32(at) == 0x06054b50 && reaches) found = at;
    }
    if (!found) throw FileError(path_, "", "is no zip archive, or is truncated");
    Directory d{bytes.u32(*found + 16), bytes.u32(*found + 12), bytes.u16(*found + 10)};
    if (*found >= 20 && bytes.u32(*found - 20) == 0x07064b50) {
      const Bytes wide = read(bytes.number(*found - 12, 8), 56);
      if (wide.u32(0) != 0x06064b50) damaged();
      d = {wide.number(48, 8), wide.number(40, 8), wide.number(32, 8)};
    }
    return d;
  }

  // Adds the member whose entry begins at `at`; returns where the next one begins.
  std::size_t add_member(const Bytes& b, std::size_t at) {
    if (b.u32(at) != 0x02014b50) damaged();
    Member m{b.text(at + 46, b.u16(at + 28)),
             b.u16(at + 8),
             b.u16(at + 10),
             b.u32(at + 16),
             b.u32(at + 20),
             b.u32(at + 24),
             b.u32(at + 42)};
    std::size_t extra = at + 46 + b.u16(at + 28);
    const std::size_t extra_end = extra + b.u16(at + 30);
    while (extra + 4 <= extra_end) {
      const std::size_t field_end = extra + 4 + b.u16(extra + 2);
      if (b.u16(extra) == 1) {
        std::size_t value = extra + 4;
        for (std::uint64_t* wide : {&m.size, &m.packed, &m.header}) {
          if (*wide != kIn64) continue;
          if (value + 8 > field_end) damaged();
          *wide = b.number(value, 8);
          value += 8;
        }
      }
      extra = field_end;
    }
    if (m.size > INT64_MAX || m.packed > INT64_MAX) damaged();
    members_.push_back(std::move(m));
    return extra_end + b.u16(at + 32);
  }

  std::string path_;
  std::unique_ptr<ByteSource> file_;
  std::vector<Member> members_;
};

// What both kinds of members do: the checksum of what was read in order from the beginning.
class ZipMember : public ByteSource {
 public:
  ZipMember(std::string path, Member member, std::unique_ptr<ByteSource> file, std::int64_t data)
      : path_(std::move(path)), member_(std::move(member)), file_(std::move(file)), data_(data) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(member_.size); }

 protected:
  [[noreturn]] void refuse(const std::string& why) const {
    throw FileError(path_, member_.name, why);
  }
  void check_range(std::int64_t at, std::int64_t count) const {
    if (at + count > size()) refuse("is truncated: it ends before the array does");
  }
  void add_to_checksum(std::int64_t at, std::int64_t count, const std::byte* bytes) {
    if (at == 0) summed_ = 0, sum_ = 0;
    if (at != summed_) return;
    for (std::int64_t done = 0; done < count;) {
      const auto part = static_cast<uInt>(std::min<std::int64_t>(count - done, 1 << 30));
      sum_ = crc32(sum_, reinterpret_cast<const Bytef*>(bytes) + done, part);
      done += part;
    }
    summed_ += count;
    if (summed_ == size() && sum_ != member_.crc) {
      refuse("fails its checksum (CRC-32): the archive is corrupt");
    }
  }

  std::string path_;
  Member member_;
  std::unique_ptr<ByteSource> file_;
  std::int64_t data_;  // where the member's bytes begin in the file

 private:
  std::int64_t summed_ = 0;
  uLong sum_ = 0;
};

class StoredMember : public ZipMember {
 public:
  using ZipMember::ZipMember;
  void read(std::int64_t at, std::int64_t count, std::byte* to) override {
    check_range(at, count);
    file_->read(data_ + at, count, to);
    add_to_checksum(at, count, to);
  }
};

// Inflates in order; what lies before where it stands is inflated again from the beginning.
class DeflatedMember : public ZipMember {
 public:
  using ZipMember::ZipMember;
  ~DeflatedMember() override { inflateEnd(&stream_); }
  DeflatedMember(const DeflatedMember&) = delete;
  DeflatedMember& operator=(const DeflatedMember&) = delete;

  void read(std::int64_t at, std::int64_t count, std::byte* to) override {
    check_range(at, count);
    if (!begun_ || at < at_) restart();
    std::vector<std::byte> skipped(
        static_cast<std::size_t>(std::min<std::int64_t>(at - at_, 1 << 20)));
    while (at_ < at) {
      inflate_some(std::min(at - at_, static_cast<std::int64_t>(skipped.size())), skipped.data());
    }
    while (count > 0) {
      const std::int64_t part = std::min<std::int64_t>(count, 1 << 30);
      inflate_some(part, to);
      to += part;
      count -= part;
    }
  }

 private:
  void restart() {
    inflateEnd(&stream_);
    stream_ = {};
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) refuse("cannot be inflated: out of memory");
    begun_ = true;
    at_ = taken_ = 0;
  }

  void inflate_some(std::int64_t count, std::byte* to) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(count);
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0) {
        const auto left = static_cast<std::int64_t>(member_.packed) - taken_;
        const auto part = std::min(left, static_cast<std::int64_t>(input_.size()));
        if (part == 0) refuse("is truncated: its deflated data end too early");
        file_->read(data_ + taken_, part, input_.data());
        taken_ += part;
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(part);
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END && stream_.avail_out > 0) {
        refuse("is truncated: it inflates to less than its size");
      }
      if (status != Z_OK && status != Z_STREAM_END) {
        refuse(format("cannot be inflated ({}): the archive is corrupt",
                      stream_.msg != nullptr ? stream_.msg : "zlib says no more"));
      }
    }
    add_to_checksum(at_, count, to);
    at_ += count;
  }

  z_stream stream_{};
  bool begun_ = false;
  std::int64_t at_ = 0, taken_ = 0;  // bytes that came out, and that went in
  std::vector<std::byte> input_ = std::vector<std::byte>(std::size_t{1} << 16);
};

}  // namespace

std::unique_ptr<ByteSource> open_zip_member(const std::string& path, const std::string& name) {
  Archive archive(path);
  std::vector<std::string> names;
  const Member* found = nullptr;
  for (const Member& m : archive.members()) {
    const bool npy = m.name.ends_with(".npy");
    names.push_back(npy ? m.name.substr(0, m.name.size() - 4) : m.name);
    if (m.name == name || (npy && names.back() == name)) found = &m;
  }
  if (name.empty() && archive.members().size() == 1) found = &archive.members().front();
  if (found == nullptr && names.empty()) throw FileError(path, "", "holds no arrays");
  if (found == nullptr && name.empty()) {
    throw FileError(path, "",
                    format("holds {} arrays ({}): name one, as in {}:/{}", names.size(),
                           joined(names), path, names.front()));
  }
  if (found == nullptr) {
    throw FileError(path, name, format("does not exist; the archive holds {}", joined(names)));
  }
  const Member member = *found;
  if ((member.flags & 1) != 0) throw FileError(path, member.name, "is encrypted");
  if (member.method != kStored && member.method != kDeflated) {
    throw FileError(path, member.name,
                    format("is compressed by method {}; only stored and deflated members are read",
                           member.method));
  }
  const std::int64_t data = archive.data_of(member);
  if (member.method == kDeflated) {
    return std::make_unique<DeflatedMember>(path, member, archive.take_file(), data);
  }
  if (member.packed != member.size) throw FileError(path, member.name, "has two different sizes");
  return std::make_unique<StoredMember>(path, member, archive.take_file(), data);
}

}  // namespace assay
