// The objects of an HDF5 file that lie in the plain ways of HDF5 1.0 to 1.6, which are those of
// assay, h5py and HDF5's own defaults, read without the library.
//
// The library takes one lock for all threads, opens an object anew for each question, and believes
// what it reads, so that a file from outside needs a process that looks at it first
// (docs/reliability.md). Here nothing is believed: every address, size and count is held to the
// file's size, and whatever is not understood to its last byte is "unknown": the library is asked,
// in the way that a damaged file needs. After the HDF5 File Format Specification, version 3.0.
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

namespace assay::h5 {

// A group or a dataset whose elements lie in one piece.
struct PlainObject {
  // As what a value of an attribute is stored.
  struct StoredValue {
    enum class Kind : std::uint8_t { kOther, kText, kSigned, kUnsigned, kFloat };
    Kind kind = Kind::kOther;  // other: has no single value, or a type of a kind that is not here
    // Of a text: HDF5's numbers for what it ends in and for its encoding.
    std::uint8_t padding = 0, encoding = 0;
    bool is_variable = false;  // a text of variable length
    std::uint8_t rank = 0;     // all extents are 1
    std::uint64_t bytes = 0;
  };
  struct NamedValue {
    std::string name;
    // None where it is no single value, or a string that is no UTF-8.
    std::optional<Attribute> value;
    StoredValue stored;
  };

  // Null where there is none of that name.
  const NamedValue* find_attribute(std::string_view name) const;

  std::uint64_t address = 0;  // of its header
  bool is_group = false;
  std::vector<NamedValue> attributes;  // in the order of their names

  // Of a group: its B-tree and its local heap.
  std::uint64_t tree = 0, heap = 0;

  // Of a dataset.
  std::string type;           // HDF5's message, as the file has it
  bool has_own_fill = false;  // what is said of elements that are not there is not HDF5's default
  Shape shape;
  std::uint64_t element_bytes = 0;
  bool is_compact = false;        // its elements lie in the header
  std::vector<std::byte> inside;  // of a compact one
  std::uint64_t data = 0;         // else where they lie; all within the file
};

class PlainObjects {
 public:
  using Links = std::vector<std::pair<std::string, std::uint64_t>>;  // sorted; addresses of headers

  // Reads by a descriptor of its own, of the same file as `fd`. One thread at a time. The links of
  // a group of many are read once for all that are given the same `identity`, which is not empty.
  PlainObjects(int fd, std::uint64_t file_size, std::string identity = {});
  ~PlainObjects();
  PlainObjects(const PlainObjects&) = delete;
  PlainObjects& operator=(const PlainObjects&) = delete;

  enum class Answer { kYes, kNo, kUnknown };
  struct Found {
    Answer answer = Answer::kUnknown;
    std::shared_ptr<const PlainObject> object = nullptr;
  };
  // The object at an absolute path of hard links; "/" is the root. No: nothing has that name there.
  Found find(const std::string& path);
  // Null where the group is unknown or is no group.
  std::shared_ptr<const Links> links_in(const std::string& group);
  // A dataset's bytes; false where the system refuses them, or the file has become shorter.
  bool read(const PlainObject& dataset, std::uint64_t begin, std::size_t size, std::byte* to);
  // The same of many bytes; several threads may at a time.
  bool read_many(const PlainObject& dataset, std::uint64_t begin, std::size_t size,
                 std::byte* to) const;

 private:
  // The links of the groups that were asked for last, by their paths. To read those of a group of
  // many takes long, so that none makes way for one that was asked for before it.
  class RecentLinks {
   public:
    const std::shared_ptr<const Links>* find(std::string_view path);
    const std::shared_ptr<const Links>& keep(std::string path, std::shared_ptr<const Links> links);

   private:
    static constexpr std::size_t kMost = 16;
    // The last one was asked for last.
    std::vector<std::pair<std::string, std::shared_ptr<const Links>>> groups_;
  };
  // What was found last, each at the place that its path says, for there are several questions
  // about each object of a case.
  class RecentObjects {
   public:
    // The place of a path, with what lies there, which may be of another one.
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
  // All of them, or nothing.
  std::optional<std::vector<std::byte>> bytes_at(std::uint64_t at, std::uint64_t size);
  std::shared_ptr<const PlainObject> read_object(std::uint64_t address);
  bool read_messages(Cursor messages, Header& header);
  bool read_message(unsigned kind, Cursor message, Header& header);
  bool read_attribute(Cursor message, PlainObject& object);
  bool read_value(Cursor type, Cursor data, PlainObject::NamedValue& attribute);
  std::shared_ptr<const Links> read_links(const PlainObject& group);
  std::shared_ptr<const Links> shared_links(const PlainObject& group);
  // Whether a group has so many links that its B-tree has levels, some hundred.
  bool has_many(const PlainObject& group);

  int fd_;
  BlockReader blocks_;
  std::uint64_t file_size_;
  std::string identity_;
  std::uint64_t root_ = 0;  // where the root's header lies; 0: the file is of another kind
  RecentObjects objects_;
  RecentLinks links_;
  GlobalHeap heap_;
};

}  // namespace assay::h5
