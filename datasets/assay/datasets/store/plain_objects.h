// Reads the objects of an HDF5 file without the library, if they are stored in the plain ways of
// HDF5 1.0 to 1.6. Those are the ways of assay, h5py and HDF5's own defaults.
//
// The library takes one lock for all threads and opens an object anew for each question. It also
// trusts what it reads, so that a file from outside must first be checked by another process
// (docs/reliability.md). This reader trusts nothing. Every address, size and count is compared with
// the file's size. Anything that is not understood to its last byte is "unknown"; then the library
// is asked, with the precautions that a damaged file needs. Follows the HDF5 File Format
// Specification, version 3.0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/cases/case.h"
#include "assay/datasets/store/block_reader.h"
#include "assay/datasets/store/global_heap.h"

namespace assay::inline v0_2::h5 {

// A group, or a dataset whose elements lie in one piece.
struct PlainObject {
  // The stored type of an attribute's value.
  struct StoredValue {
    enum class Kind : std::uint8_t { kOther, kText, kSigned, kUnsigned, kFloat };
    Kind kind = Kind::kOther;  // kOther: not a single value, or of a type of another kind
    // For a text: HDF5's numbers for its padding and its encoding.
    std::uint8_t padding = 0, encoding = 0;
    bool is_variable = false;  // the value is a text of variable length
    std::uint8_t rank = 0;     // the rank of the attribute's shape, whose extents are all 1
    std::uint64_t bytes = 0;
  };
  struct NamedValue {
    std::string name;
    // Empty if the attribute is not a single value, or is a string that is not valid UTF-8.
    std::optional<Attribute> value;
    StoredValue stored;
  };

  // Returns the attribute of that name, or null if there is no such attribute.
  const NamedValue* find_attribute(std::string_view name) const;

  std::uint64_t address = 0;  // of its header
  bool is_group = false;
  std::vector<NamedValue> attributes;  // the attributes, in the order of their names

  // For a group: its B-tree and its local heap.
  std::uint64_t tree = 0, heap = 0;

  // For a dataset:
  std::string type;  // HDF5's message for the type of elements, as the file has it
  // True if the fill value, or the time of allocating or filling, is not HDF5's default.
  bool has_own_fill = false;
  Shape shape;
  std::uint64_t element_bytes = 0;
  bool is_compact = false;        // true if the elements are in the header
  std::vector<std::byte> inside;  // the elements, if they are in the header
  // The place of the elements if they are not in the header. It lies within the file.
  std::uint64_t data = 0;
};

class PlainObjects {
 public:
  // The names of links, sorted, each with the address of its object's header.
  using Links = std::vector<std::pair<std::string, std::uint64_t>>;

  // Reads the file of `fd` with a descriptor of its own. For one thread at a time. The links of a
  // group with many links are read once for all objects with the same `identity`, if that is not
  // empty.
  PlainObjects(int fd, std::uint64_t file_size, std::string identity = {});
  ~PlainObjects();
  PlainObjects(const PlainObjects&) = delete;
  PlainObjects& operator=(const PlainObjects&) = delete;

  enum class Answer { kYes, kNo, kUnknown };
  struct Found {
    Answer answer = Answer::kUnknown;
    std::shared_ptr<const PlainObject> object = nullptr;
  };
  // Finds the object at an absolute path of hard links; "/" is the root. The answer is kNo if no
  // object has that path.
  Found find(const std::string& path);
  // Returns the links of a group, or null if the object is not a group or is unknown.
  std::shared_ptr<const Links> links_in(const std::string& group);
  // Reads bytes of a dataset. Returns false if the system reports an error, or if the file has
  // become shorter.
  bool read(const PlainObject& dataset, std::uint64_t begin, std::size_t size, std::byte* to);
  // Reads many bytes. Several threads may call this at a time.
  bool read_many(const PlainObject& dataset, std::uint64_t begin, std::size_t size,
                 std::byte* to) const;

 private:
  // The links of the groups that were asked for last, by their paths. Reading the links of a large
  // group takes long, so the group that was used longest ago is dropped first.
  class RecentLinks {
   public:
    const std::shared_ptr<const Links>* find(std::string_view path);
    const std::shared_ptr<const Links>& keep(std::string path, std::shared_ptr<const Links> links);

   private:
    static constexpr std::size_t kMost = 16;
    // Pairs of a group's path and its links. The last element is the group that was used last.
    std::vector<std::pair<std::string, std::shared_ptr<const Links>>> groups_;
  };
  // The objects that were found last, each at a place that depends on its path. They are kept
  // because there are several questions about each object of a case.
  class RecentObjects {
   public:
    // Returns the place in which an object of this path is kept. It may hold that of another path.
    struct Place {
      std::string path;
      Found found;
    };
    Place& of(std::string_view path);

   private:
    std::array<Place, 64> places_;
  };
  struct Header;
  class Cursor;

  void read_superblock();
  // Returns the `size` bytes at a position of the file, or nothing if not all of them can be read.
  std::optional<std::vector<std::byte>> bytes_at(std::uint64_t at, std::uint64_t size);
  std::shared_ptr<const PlainObject> read_object(std::uint64_t address);
  bool read_messages(Cursor messages, Header& header);
  bool read_message(unsigned kind, Cursor message, Header& header);
  bool read_attribute(Cursor message, PlainObject& object);
  bool read_value(Cursor type, Cursor data, PlainObject::NamedValue& attribute);
  std::shared_ptr<const Links> read_links(const PlainObject& group);
  std::shared_ptr<const Links> shared_links(const PlainObject& group);
  // Returns true if the B-tree of a group has levels because it has many links, some hundred.
  bool has_many(const PlainObject& group);

  int fd_;
  BlockReader blocks_;
  std::uint64_t file_size_;
  std::string identity_;
  std::uint64_t root_ = 0;  // Address of the root's header. It is 0 if the file is of another kind.
  RecentObjects objects_;
  RecentLinks links_;
  GlobalHeap heap_;
};

}  // namespace assay::h5
