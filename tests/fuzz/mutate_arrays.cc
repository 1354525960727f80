// Changes .npy files, of which half then state the right length of their header, and zip archives,
// most of which keep a right directory and right checksums. A member of an archive is changed as
// its own kind of file.
#include <zlib.h>

#include <algorithm>
#include <string>

#include "target.h"

namespace assay::fuzz {
namespace {

constexpr std::size_t kMostInflated = 1 << 16;

struct Member {
  std::string name;
  Bytes data;  // deflated if is_deflated is set
  bool is_deflated = false;
  std::size_t size = 0;  // inflated
  std::uint32_t crc = 0;
};

Bytes inflated(const Bytes& data, std::size_t size) {
  Bytes out(std::min(size, kMostInflated));
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return {};
  stream.next_in = const_cast<Bytef*>(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  (void)inflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

Bytes deflated(const Bytes& data) {
  Bytes out(data.size() + data.size() / 8 + 64);
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  stream.next_in = const_cast<Bytef*>(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  (void)deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Returns the members that the central directory lists. Leaves out those that do not fit.
std::vector<Member> members_of(const Bytes& zip) {
  std::vector<Member> members;
  constexpr std::size_t kCentral = 46, kLocal = 30;
  for (std::size_t at = 0; at + kCentral <= zip.size() && members.size() < 64; ++at) {
    if (number_at(zip, at, 4) != 0x02014b50) continue;
    const std::size_t name = number_at(zip, at + 28, 2), local = number_at(zip, at + 42, 4);
    Member m;
    m.is_deflated = number_at(zip, at + 10, 2) == 8;
    m.crc = static_cast<std::uint32_t>(number_at(zip, at + 16, 4));
    const std::size_t stored = number_at(zip, at + 20, 4);
    m.size = number_at(zip, at + 24, 4);
    if (at + kCentral + name > zip.size() || local + kLocal > zip.size()) continue;
    m.name.assign(zip.begin() + static_cast<std::ptrdiff_t>(at + kCentral),
                  zip.begin() + static_cast<std::ptrdiff_t>(at + kCentral + name));
    const std::size_t begin =
        local + kLocal + number_at(zip, local + 26, 2) + number_at(zip, local + 28, 2);
    if (begin > zip.size() || stored > zip.size() - begin) continue;
    m.data.assign(zip.begin() + static_cast<std::ptrdiff_t>(begin),
                  zip.begin() + static_cast<std::ptrdiff_t>(begin + stored));
    members.push_back(std::move(m));
  }
  return members;
}

void add_number(Bytes& to, std::size_t width, std::uint64_t value) {
  to.resize(to.size() + width);
  put_number(to, to.size() - width, width, value);
}

// Adds the fields that stand both before a member and in the directory.
void add_facts(Bytes& to, const Member& m) {
  add_number(to, 2, 20);
  add_number(to, 2, 0);
  add_number(to, 2, m.is_deflated ? 8 : 0);
  add_number(to, 4, 0x00210000);
  add_number(to, 4, m.crc);
  add_number(to, 4, m.data.size());
  add_number(to, 4, m.size);
  add_number(to, 2, m.name.size());
  add_number(to, 2, 0);
}

Bytes archive_of(const std::vector<Member>& members) {
  Bytes out, directory;
  for (const Member& m : members) {
    add_number(directory, 4, 0x02014b50);
    add_number(directory, 2, 20);
    add_facts(directory, m);
    add_number(directory, 2, 0);
    add_number(directory, 4, 0);
    add_number(directory, 4, 0);
    add_number(directory, 4, out.size());
    directory.insert(directory.end(), m.name.begin(), m.name.end());
    add_number(out, 4, 0x04034b50);
    add_facts(out, m);
    out.insert(out.end(), m.name.begin(), m.name.end());
    out.insert(out.end(), m.data.begin(), m.data.end());
  }
  const std::size_t begin = out.size();
  out.insert(out.end(), directory.begin(), directory.end());
  add_number(out, 4, 0x06054b50);
  add_number(out, 4, 0);
  add_number(out, 2, members.size());
  add_number(out, 2, members.size());
  add_number(out, 4, directory.size());
  add_number(out, 4, begin);
  add_number(out, 2, 0);
  return out;
}

// Changes the extents and texts of a pickle of torch.save: a number of 1, 2, 4 or 8 bytes becomes
// another one.
Bytes mutate_pickle(Bytes data, Draw& draw, Change change) {
  if (data.empty() || below(draw, 3) == 0) return change(data, data.size() + 16);
  const std::size_t from = below(draw, data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::size_t at = (from + i) % data.size();
    const std::uint8_t opcode = data[at];
    const std::size_t width = opcode == 'K' ? 1 : opcode == 'M' ? 2 : opcode == 'J' ? 4 : 0;
    if (width > 0) {
      put_number(data, at + 1, width, hot_number(draw, width, data.size()));
      return data;
    }
    if (opcode == 0x8A && at + 1 < data.size() && data[at + 1] > 0 && data[at + 1] <= 8) {
      put_number(data, at + 2, data[at + 1], hot_number(draw, data[at + 1], data.size()));
      return data;
    }
  }
  return change(data, data.size() + 16);
}

}  // namespace

Bytes mutate_npy(Bytes input, Draw& draw, Change change) {
  constexpr std::size_t kStart = 8;
  if (input.size() < 12) return change(input, input.size() + 64);
  const std::size_t width = input[6] == 1 ? 2 : 4;
  const std::size_t length = number_at(input, kStart, width), begin = kStart + width;
  if (length > input.size() - begin || below(draw, 8) == 0) return change(input, input.size() + 16);
  const auto data = input.begin() + static_cast<std::ptrdiff_t>(begin + length);
  Bytes header(input.begin() + static_cast<std::ptrdiff_t>(begin), data);
  if (below(draw, 3) == 0) {
    // Changes a number in the text of the header.
    std::string text = text_of(header);
    const std::size_t from = below(draw, text.size() + 1);
    std::size_t at = text.find_first_of("0123456789", from);
    if (at == std::string::npos) at = text.find_first_of("0123456789");
    if (at != std::string::npos) {
      const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
      text.replace(at, end - at, std::to_string(hot_number(draw, 8, input.size())));
    }
    header = bytes_of(text);
  } else {
    header = change(header, header.size() + 16);
  }
  Bytes out(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(begin));
  if (below(draw, 2) == 0) put_number(out, kStart, width, header.size());
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), data, input.end());
  return out;
}

Bytes mutate_zip(Bytes input, Draw& draw, Change change) {
  std::vector<Member> members = members_of(input);
  if (members.empty() || below(draw, 8) == 0) return change(input, input.size() + 64);
  // In one of 8 archives, changes a number near the end of the file, where the directory lies.
  if (below(draw, 8) == 0) {
    const std::size_t at = input.size() - 1 - below(draw, std::min<std::size_t>(input.size(), 256));
    const std::size_t width = std::size_t{1} << below(draw, 4);
    put_number(input, at, width, hot_number(draw, width, input.size()));
    return input;
  }
  const std::size_t chosen = below(draw, members.size());
  Member& m = members[chosen];
  const bool is_right = below(draw, 4) != 0;
  Bytes data = m.is_deflated ? inflated(m.data, m.size) : m.data;
  switch (below(draw, 10)) {
    case 0:
      m.name = text_of(change(bytes_of(m.name), m.name.size() + 8));
      break;
    case 1:
      members.push_back(Member(m));
      return archive_of(members);
    case 2:
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(chosen));
      return archive_of(members);
    case 3:
      m.is_deflated = !m.is_deflated;
      break;
    default:
      data = m.name.ends_with(".pkl")   ? mutate_pickle(std::move(data), draw, change)
             : m.name.ends_with(".npy") ? mutate_npy(std::move(data), draw, change)
                                        : change(data, data.size() + 16);
  }
  m.size = data.size();
  const auto crc =
      static_cast<std::uint32_t>(crc32(0, data.data(), static_cast<uInt>(data.size())));
  m.data = m.is_deflated ? deflated(data) : data;
  if (is_right) {
    m.crc = crc;
  } else if (below(draw, 2) == 0) {
    m.size = hot_number(draw, 4, input.size());
  }
  return archive_of(members);
}

}  // namespace assay::fuzz
