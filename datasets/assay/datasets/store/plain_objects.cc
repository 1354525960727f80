#include "assay/datasets/store/plain_objects.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <span>

#include "assay/base/printable.h"
#include "assay/base/words.h"
#include "assay/datasets/store/types.h"

namespace assay::inline v0_2::h5 {
namespace {

// Numbers that the file format defines, with sections of HDF5's File Format Specification 3.0.
constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);  // II.A
enum Message : unsigned {                                       // IV.A.2
  kNil = 0x00,
  kDataspace = 0x01,
  kDatatype = 0x03,
  kOldFillValue = 0x04,
  kFillValue = 0x05,
  kLayout = 0x08,
  kAttributeMessage = 0x0C,
  kOldModified = 0x0E,
  kContinues = 0x10,
  kSymbolTable = 0x11,
  kModified = 0x12,
};
constexpr unsigned kConstant = 1, kNeverShared = 4;  // the flags that a message may have
enum TypeClass : unsigned {
  kInteger = 0,
  kFloat = 1,
  kString = 3,
  kEnumeration = 8,
  kVariable = 9
};

// Limits on an object. Objects beyond them are left to HDF5's library.
constexpr std::uint64_t kMostHeaderBytes = std::uint64_t{1} << 20;  // bytes
constexpr std::size_t kMostAttributes = 1000, kMostParts = 1000, kMostRank = 32;
constexpr unsigned kMostLevels = 32;
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 60;

std::uint64_t padded(std::uint64_t size) { return (size + 7) / 8 * 8; }

// Returns the text up to the first zero.
std::string_view until_zero(std::string_view text) { return text.substr(0, text.find('\0')); }

}  // namespace

// Takes little-endian numbers and bytes from the front of a span. If it has too few bytes, it
// returns zeros and empty spans, and ok() is false from then on.
class PlainObjects::Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  std::size_t left() const { return bytes_.size(); }
  std::span<const std::byte> rest() const { return bytes_; }

  std::uint64_t number(std::size_t size) { return number_in(take(size).bytes_, 0, size); }
  unsigned small(std::size_t size) { return static_cast<unsigned>(number(size)); }
  Cursor take(std::uint64_t size) {
    if (size > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return Cursor({});
    }
    const Cursor taken(bytes_.first(size));
    bytes_ = bytes_.subspan(size);
    return taken;
  }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  bool takes(std::string_view word) { return take(word.size()).text() == word; }

 private:
  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

// The content of the messages in one object's header.
struct PlainObjects::Header {
  PlainObject object = {};
  // True if the header had the message. These messages may occur only once.
  bool has_space = false, has_type = false, has_layout = false, has_links = false;
  std::uint64_t layout_bytes = 0;
  std::size_t messages = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> continuations = {};  // address, size
};

const PlainObject::NamedValue* PlainObject::find_attribute(std::string_view name) const {
  return find_row(attributes, name, &NamedValue::name);
}

const std::shared_ptr<const PlainObjects::Links>* PlainObjects::RecentLinks::find(
    std::string_view path) {
  const auto at = std::find_if(groups_.rbegin(), groups_.rend(),
                               [&](const auto& group) { return group.first == path; });
  if (at == groups_.rend()) return nullptr;
  std::rotate(groups_.rbegin(), at, at + 1);
  return &groups_.back().second;
}

const std::shared_ptr<const PlainObjects::Links>& PlainObjects::RecentLinks::keep(
    std::string path, std::shared_ptr<const Links> links) {
  if (groups_.size() >= kMost) groups_.erase(groups_.begin());
  return groups_.emplace_back(std::move(path), std::move(links)).second;
}

PlainObjects::RecentObjects::Place& PlainObjects::RecentObjects::of(std::string_view path) {
  return places_[std::hash<std::string_view>()(path) % places_.size()];
}

PlainObjects::PlainObjects(int fd, std::uint64_t file_size, std::string identity)
    : fd_(fcntl(fd, F_DUPFD_CLOEXEC, 3)),
      blocks_(fd_),
      file_size_(file_size),
      identity_(std::move(identity)),
      heap_(
          [this](std::uint64_t at, std::size_t size) {
            return bytes_at(at, std::min(size, file_size_ - std::min(at, file_size_)))
                .value_or(std::vector<std::byte>());
          },
          file_size) {
  read_superblock();
}

PlainObjects::~PlainObjects() {
  if (fd_ >= 0) close(fd_);
}

std::optional<std::vector<std::byte>> PlainObjects::bytes_at(std::uint64_t at, std::uint64_t size) {
  if (at > file_size_ || size > file_size_ - at) return std::nullopt;
  std::vector<std::byte> bytes(size);
  if (blocks_.read(at, bytes.data(), size) != static_cast<ssize_t>(size)) return std::nullopt;
  return bytes;
}

// Reads a superblock of version 0 (Section II.A) with addresses of 8 bytes that count from the
// file's beginning.
void PlainObjects::read_superblock() {
  const auto bytes = bytes_at(0, 96);
  if (!bytes) return;
  Cursor at(*bytes);
  if (!at.takes(kSignature) || at.number(5) != 0) return;  // versions and a reserved byte, all 0
  if (at.number(3) != 0x0808) return;  // offsets and lengths have 8 bytes; a reserved byte is 0
  (void)at.number(2 + 2 + 4);          // skips two sizes of B-tree nodes, and flags
  const std::uint64_t base = at.number(8);
  (void)at.number(8);  // free space
  const std::uint64_t end = at.number(8);
  // The file's addresses count from 0, and it has no driver information.
  if (base != 0 || end > file_size_ || ~at.number(8) != 0) return;
  (void)at.number(8);  // the root's name
  root_ = at.number(8);
}

PlainObjects::Found PlainObjects::find(const std::string& path) {
  if (root_ == 0 || path.empty() || path[0] != '/') return {};
  RecentObjects::Place& place = objects_.of(path);
  if (place.path == path) return place.found;
  const auto read = [&](std::uint64_t address) {
    Found found{Answer::kUnknown, read_object(address)};
    if (found.object != nullptr) found.answer = Answer::kYes;
    place = {path, found};
    return found;
  };
  if (path == "/") return read(root_);
  const std::size_t slash = path.rfind('/');
  const std::string_view name = std::string_view(path).substr(slash + 1);
  if (name.empty() || name == ".") return {};
  const std::string group = slash == 0 ? "/" : path.substr(0, slash);
  const Found above = find(group);
  if (above.answer != Answer::kYes) return above;
  const std::shared_ptr<const Links> links = links_in(group);
  if (links == nullptr) return {};
  const auto link = std::ranges::lower_bound(*links, name, {}, &Links::value_type::first);
  if (link == links->end() || link->first != name) return {Answer::kNo, nullptr};
  return read(link->second);
}

std::shared_ptr<const PlainObjects::Links> PlainObjects::links_in(const std::string& group) {
  if (const auto* known = links_.find(group)) return *known;
  const Found found = find(group);
  if (found.answer != Answer::kYes || !found.object->is_group) return nullptr;
  const bool shares = !identity_.empty() && has_many(*found.object);
  return links_.keep(group, shares ? shared_links(*found.object) : read_links(*found.object));
}

namespace {

// The links of one group, which all readers of its file share while one of them reads or uses them.
// The mutex is locked during reading, so that other threads that need the links wait.
struct SharedLinks {
  std::mutex mutex;
  std::weak_ptr<const PlainObjects::Links> links;
  bool is_unknown = false;  // the links were read, but could not be understood
};
struct AllSharedLinks {
  std::mutex mutex;
  std::map<std::pair<std::string, std::uint64_t>, std::shared_ptr<SharedLinks>> groups;
};
AllSharedLinks& all_shared_links() {
  static AllSharedLinks all;
  return all;
}

}  // namespace

std::shared_ptr<const PlainObjects::Links> PlainObjects::shared_links(const PlainObject& group) {
  std::shared_ptr<SharedLinks> shared;
  {
    AllSharedLinks& all = all_shared_links();
    const std::lock_guard lock(all.mutex);
    // Removes the groups of closed files, which nobody reads or uses.
    std::erase_if(all.groups, [](const auto& each) {
      const std::unique_lock reads(each.second->mutex, std::try_to_lock);
      return reads && each.second.use_count() == 1 && each.second->links.expired();
    });
    auto& entry = all.groups[{identity_, group.address}];
    if (entry == nullptr) entry = std::make_shared<SharedLinks>();
    shared = entry;
  }
  const std::lock_guard lock(shared->mutex);
  if (auto links = shared->links.lock()) return links;
  if (shared->is_unknown) return nullptr;
  std::shared_ptr<const Links> links = read_links(group);
  shared->links = links;
  shared->is_unknown = links == nullptr;
  return links;
}

bool PlainObjects::has_many(const PlainObject& group) {
  const auto node = bytes_at(group.tree, 6);
  return node && (*node)[5] > std::byte{0};  // the root's level
}

bool PlainObjects::read(const PlainObject& dataset, std::uint64_t begin, std::size_t size,
                        std::byte* to) {
  if (dataset.is_compact) return read_many(dataset, begin, size, to);
  return blocks_.read(dataset.data + begin, to, size) == static_cast<ssize_t>(size);
}

bool PlainObjects::read_many(const PlainObject& dataset, std::uint64_t begin, std::size_t size,
                             std::byte* to) const {
  if (dataset.is_compact) {
    if (size > 0) std::memcpy(to, dataset.inside.data() + begin, size);
    return true;
  }
  return blocks_.read_file(dataset.data + begin, to, size) == static_cast<ssize_t>(size);
}

// ------------------------------------------------------------------------------------- headers

// Reads an object's header: section IV.A.1.a of the specification, version 1.
std::shared_ptr<const PlainObject> PlainObjects::read_object(std::uint64_t address) {
  const auto prefix = bytes_at(address, 16);
  if (!prefix) return nullptr;
  Cursor at(*prefix);
  const bool version_1 = at.number(1) == 1 && at.number(1) == 0;
  const std::uint64_t messages = at.number(2);
  (void)at.number(4);  // the number of links that lead to this object
  const std::uint64_t size = at.number(4);
  if (!version_1 || size > kMostHeaderBytes) return nullptr;
  Header header;
  header.object.address = address;
  header.continuations.emplace_back(address + 16, size);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < header.continuations.size(); ++i) {
    const auto [from, part] = header.continuations[i];
    bytes += std::min(part, kMostHeaderBytes);
    if (bytes > kMostHeaderBytes || i > kMostParts) return nullptr;
    const auto read = bytes_at(from, part);
    if (!read || !read_messages(Cursor(*read), header)) return nullptr;
  }
  if (header.messages != messages) return nullptr;
  PlainObject& object = header.object;
  object.is_group = header.has_links;
  const bool is_dataset = header.has_space && header.has_type && header.has_layout;
  const bool is_part_of_one = header.has_space || header.has_type || header.has_layout;
  if (object.is_group ? is_part_of_one : !is_dataset) return nullptr;
  if (!object.is_group) {
    std::uint64_t elements = 1;
    for (const std::int64_t extent : object.shape) {
      const auto n = static_cast<std::uint64_t>(extent);
      // A dataset without elements has no address of data, so it is left to the library.
      if (n == 0 || n > kMostElements / elements) return nullptr;
      elements *= n;
    }
    if (object.element_bytes == 0 || elements > kMostElements / object.element_bytes ||
        header.layout_bytes != elements * object.element_bytes) {
      return nullptr;
    }
  }
  auto& attributes = object.attributes;
  std::ranges::sort(attributes, {}, &PlainObject::NamedValue::name);
  const auto same = std::ranges::adjacent_find(attributes, {}, &PlainObject::NamedValue::name);
  if (same != attributes.end()) return nullptr;
  return std::make_shared<const PlainObject>(std::move(object));
}

bool PlainObjects::read_messages(Cursor messages, Header& header) {
  constexpr std::size_t kMessageHeader = 8;
  while (messages.left() >= kMessageHeader) {
    const unsigned kind = messages.small(2);
    const std::uint64_t size = messages.number(2);
    const unsigned flags = messages.small(1);
    (void)messages.number(3);
    const Cursor message = messages.take(size);
    if (!messages.ok() || (flags & ~(kConstant | kNeverShared)) != 0) return false;
    ++header.messages;
    if (!read_message(kind, message, header)) return false;
  }
  return messages.left() == 0;
}

namespace {

// Reads the message of a data space: section IV.A.2.b of the specification, versions 1 and 2.
template <typename Cursor>
bool read_space(Cursor message, Shape& shape, bool& is_null) {
  const unsigned version = message.small(1), rank = message.small(1), flags = message.small(1);
  unsigned kind = rank > 0 ? 1 : 0;  // scalar, simple, null
  if (version == 1) {
    (void)message.number(5);
  } else {
    kind = message.small(1);
  }
  if ((version != 1 && version != 2) || rank > kMostRank || flags > 1 || kind > 2) return false;
  if (kind != 1 && rank > 0) return false;
  is_null = kind == 2;
  shape.clear();
  for (unsigned d = 0; d < rank; ++d) {
    const std::uint64_t extent = message.number(8);
    if (extent > kMostElements) return false;
    shape.push_back(static_cast<std::int64_t>(extent));
  }
  return message.ok();
}

}  // namespace

bool PlainObjects::read_message(unsigned kind, Cursor message, Header& header) {
  PlainObject& object = header.object;
  switch (kind) {
    case kNil:
    case kOldModified:
    case kModified:
      return true;
    // IV.A.2.e: the size of a fill value, and its bytes. A size of 0 is the default value. No
    // element has the fill value, because all elements are stored.
    case kOldFillValue:
      object.has_own_fill |= message.number(4) != 0;
      return true;
    // IV.A.2.f: HDF5's default is that space is allocated late, that it is filled only if a value
    // was set, and that the value has no bytes.
    case kFillValue: {
      const unsigned version = message.small(1), allocates = message.small(1),
                     fills = message.small(1), is_defined = message.small(1);
      object.has_own_fill |= version < 1 || version > 2 || allocates != 2 || fills != 2 ||
                             is_defined != 1 || message.number(4) != 0;
      return true;
    }
    case kDataspace: {
      bool is_null = false;
      if (std::exchange(header.has_space, true)) return false;
      return read_space(message, object.shape, is_null) && !is_null;
    }
    case kDatatype:
      if (std::exchange(header.has_type, true)) return false;
      object.type = message.text();
      (void)message.number(4);
      object.element_bytes = message.number(4);
      return message.ok();
    case kLayout: {  // IV.A.2.i: the layout and the place of the data, version 3
      if (std::exchange(header.has_layout, true) || message.number(1) != 3) return false;
      const unsigned layout = message.small(1);
      if (layout > 1) return false;
      object.is_compact = layout == 0;
      if (object.is_compact) {
        header.layout_bytes = message.number(2);
        const auto inside = message.take(header.layout_bytes).rest();
        object.inside.assign(inside.begin(), inside.end());
        return message.ok();
      }
      object.data = message.number(8);
      header.layout_bytes = message.number(8);
      return message.ok() && object.data <= file_size_ &&
             header.layout_bytes <= file_size_ - object.data;
    }
    case kSymbolTable:
      if (std::exchange(header.has_links, true)) return false;
      object.tree = message.number(8);
      object.heap = message.number(8);
      return message.ok();
    case kContinues: {
      const std::uint64_t at = message.number(8);
      header.continuations.emplace_back(at, message.number(8));
      return message.ok();
    }
    case kAttributeMessage:
      return object.attributes.size() < kMostAttributes && read_attribute(message, object);
    default:
      return false;
  }
}

// ---------------------------------------------------------------------------------- attributes

// Reads the message of an attribute: section IV.A.2.m of the specification, versions 1 to 3.
bool PlainObjects::read_attribute(Cursor message, PlainObject& object) {
  const unsigned version = message.small(1), flags = message.small(1);
  if (version < 1 || version > 3 || flags != 0) return false;  // no shared types
  const std::uint64_t name_size = message.number(2), type_size = message.number(2),
                      space_size = message.number(2);
  if (version == 3) (void)message.number(1);  // the name's encoding
  const auto take = [&](std::uint64_t size) {
    return message.take(version == 1 ? padded(size) : size);
  };
  const std::string_view name = take(name_size).text().substr(0, name_size);
  Cursor type = take(type_size);
  const Cursor space = take(space_size);
  if (!message.ok() || name.find('\0') + 1 != name.size() || name.size() < 2) return false;
  Shape shape;
  bool is_null = false;
  if (!read_space(space, shape, is_null)) return false;
  PlainObject::NamedValue attribute{std::string(until_zero(name)), std::nullopt, {}};
  const bool is_one =
      !is_null && std::ranges::all_of(shape, [](std::int64_t extent) { return extent == 1; });
  if (is_one && !read_value(type, message, attribute)) return false;
  attribute.stored.rank = static_cast<std::uint8_t>(shape.size());
  object.attributes.push_back(std::move(attribute));
  return true;
}

// Reads an attribute's value of a type: section IV.A.2.d of the specification. Returns false if the
// type is of a kind that is not known here.
bool PlainObjects::read_value(Cursor type, Cursor data, PlainObject::NamedValue& attribute) {
  using Kind = PlainObject::StoredValue::Kind;
  std::optional<Attribute>& value = attribute.value;
  PlainObject::StoredValue& stored = attribute.stored;
  const std::string_view message = type.text();
  const unsigned first = type.small(1), bits_0 = type.small(1), bits_1 = type.small(1);
  (void)type.small(1);
  const std::uint64_t size = type.number(4);
  const unsigned version = first >> 4, kind = first & 15;
  if (!type.ok() || version < 1 || version > 3 || size == 0 || size > data.left()) return false;
  Cursor bytes = data.take(size);
  stored.bytes = size;
  const auto set_text = [&](std::string text) {
    if (is_utf8(text)) value = std::move(text);
  };
  switch (kind) {
    // The padding is a zero at the end, zeros, or spaces. The text is ASCII or UTF-8.
    case kString: {
      const unsigned padding = bits_0 & 15, encoding = bits_0 >> 4;
      if (padding > 2 || encoding > 1) return false;
      std::string text(until_zero(bytes.text()));
      // The bytes after the first zero do not belong to the value, but they are stored.
      const bool is_all =
          bytes.text().find_first_not_of('\0', text.size()) == std::string_view::npos;
      if (padding == 2) text.erase(text.find_last_not_of(' ') + 1);
      set_text(std::move(text));
      if (is_all) stored.kind = Kind::kText;
      stored.padding = static_cast<std::uint8_t>(padding);
      stored.encoding = static_cast<std::uint8_t>(encoding);
      return true;
    }
    case kVariable: {
      if ((bits_0 & 15) != 1 || bits_0 >> 4 > 2 || bits_1 > 1 || size != 16)
        return false;  // strings alone
      const GlobalHeap::Object text = heap_.object(bytes.rest(), 1);
      if (!text.problem.empty()) return false;
      set_text(std::string(
          until_zero({reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()})));
      stored.kind = Kind::kText;
      stored.is_variable = true;
      stored.padding = static_cast<std::uint8_t>(bits_0 >> 4);
      stored.encoding = static_cast<std::uint8_t>(bits_1);
      return true;
    }
    case kInteger: {  // little-endian, without padding
      const bool is_signed = (bits_0 & 8) != 0;
      if (type.number(2) != 0 || type.number(2) != 8 * size || !type.ok()) return false;
      if ((bits_0 & ~8U) != 0 || size > 8 || !std::has_single_bit(size)) return false;
      stored.kind = is_signed ? Kind::kSigned : Kind::kUnsigned;
      std::uint64_t number = bytes.number(size);
      if (!is_signed && number > INT64_MAX) {
        value = static_cast<double>(number);
        return true;
      }
      const unsigned unused = static_cast<unsigned>(64 - 8 * size);
      value = is_signed ? static_cast<std::int64_t>(number << unused) >> unused
                        : static_cast<std::int64_t>(number);
      return true;
    }
    case kFloat: {
      const bool is_float64 = size == 8;
      if (!is_float64 && size != 4) return false;
      const auto swapped = match_message(message, format_named(is_float64 ? "float64" : "float32"));
      if (!swapped || *swapped) return false;
      stored.kind = Kind::kFloat;
      value = is_float64
                  ? std::bit_cast<double>(bytes.number(8))
                  : double{std::bit_cast<float>(static_cast<std::uint32_t>(bytes.number(4)))};
      return true;
    }
    case kEnumeration:
      if (!is_bool_message(message)) return false;
      value = static_cast<std::int64_t>(static_cast<std::int8_t>(bytes.number(1)));
      return true;
    default:
      return false;
  }
}

// ----------------------------------------------------------------------------------- old groups

// Reads the links of a group. They are a B-tree with nodes of symbols (sections III.A.1 and III.B
// of the specification), whose names are in a local heap (section III.D).
std::shared_ptr<const PlainObjects::Links> PlainObjects::read_links(const PlainObject& group) {
  const auto head = bytes_at(group.heap, 32);
  if (!head) return nullptr;
  Cursor at(*head);
  if (!at.takes("HEAP") || at.number(4) != 0) return nullptr;  // the version; reserved
  const std::uint64_t segment_size = at.number(8);
  (void)at.number(8);  // free blocks
  const auto segment = bytes_at(at.number(8), segment_size);
  if (!segment) return nullptr;
  const std::string_view names(reinterpret_cast<const char*>(segment->data()), segment->size());

  auto links = std::make_shared<Links>();
  std::uint64_t name_bytes = 0;
  const auto read_symbols = [&](std::uint64_t address) {
    const auto node = bytes_at(address, 8);
    if (!node) return false;
    Cursor node_head(*node);
    if (!node_head.takes("SNOD") || node_head.number(2) != 1) return false;
    const std::uint64_t count = node_head.number(2);
    const auto entries = bytes_at(address + 8, count * 40);
    if (!entries) return false;
    Cursor entry(*entries);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t offset = entry.number(8), object = entry.number(8);
      const unsigned cached = entry.small(4);  // 2: a soft link
      (void)entry.take(4 + 16);
      if (cached > 1 || offset >= names.size()) return false;
      const std::string_view name = until_zero(names.substr(offset));
      name_bytes += name.size() + 1;
      // Refuses names that share their bytes, do not end within the segment, or are not in order.
      if (name_bytes > names.size() || offset + name.size() == names.size() || name.empty() ||
          name == "." || name.find('/') != std::string_view::npos ||
          (!links->empty() && std::string_view(links->back().first) >= name)) {
        return false;
      }
      links->emplace_back(name, object);
    }
    return true;
  };

  // Returns a name beside a child of the B-tree. HDF5's library searches by these names, so they
  // are checked, too.
  const auto key_at = [&](std::uint64_t offset) -> std::optional<std::string_view> {
    if (offset >= names.size()) return std::nullopt;
    const std::string_view key = until_zero(names.substr(offset));
    return offset + key.size() < names.size() ? std::optional(key) : std::nullopt;
  };
  std::set<std::uint64_t> seen;
  // Reads a node of the B-tree and everything below it. `level` is the level that the node must
  // have. -1 allows any level.
  const auto read_node = [&](const auto& self, std::uint64_t address, int level) -> bool {
    if (!seen.insert(address).second) return false;
    const auto node = bytes_at(address, 24);
    if (!node) return false;
    Cursor node_head(*node);
    // The number 0 means that it is the B-tree of a group.
    if (!node_head.takes("TREE") || node_head.number(1) != 0) return false;
    const unsigned own_level = node_head.small(1);
    const std::uint64_t count = node_head.number(2);
    if (own_level > kMostLevels || (level >= 0 && own_level != static_cast<unsigned>(level))) {
      return false;
    }
    const auto entries = bytes_at(address + 24, 8 + count * 16);
    if (!entries) return false;
    Cursor entry(*entries);
    auto below = key_at(entry.number(8));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t child = entry.number(8);
      const auto last = key_at(entry.number(8));
      const std::size_t first = links->size();
      const bool whole = own_level == 0 ? seen.insert(child).second && read_symbols(child)
                                        : self(self, child, static_cast<int>(own_level) - 1);
      if (!whole || !below || !last) return false;
      const bool has_some = first < links->size();
      if (has_some && std::string_view((*links)[first].first) <= *below) return false;
      if (has_some && std::string_view(links->back().first) > *last) return false;
      below = last;
    }
    return true;
  };
  if (!read_node(read_node, group.tree, -1)) return nullptr;
  return links;
}

}  // namespace assay::h5
