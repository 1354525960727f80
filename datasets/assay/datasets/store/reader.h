// The objects of an HDF5 file that is not trusted: links, types, filters, sizes and codes are
// checked before anything is believed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/datasets/store/array_source.h"
#include "assay/datasets/store/checksums.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/datasets/store/global_heap.h"
#include "assay/datasets/store/handle.h"
#include "assay/datasets/store/opened_file.h"
#include "assay/datasets/store/plain_objects.h"

namespace assay::h5 {

// Something that a reader of plain objects alone would have to ask HDF5.
struct NeedsHdf5 {};

// Access to the objects of one open file; `path()` goes into every message.
class Reader {
 public:
  Reader(std::string path, hid_t file, std::int64_t max_bytes)
      : path_(std::move(path)), file_(file), max_bytes_(max_bytes) {}
  // Asks HDF5 only what is not known without it. The file must outlive this.
  Reader(std::string path, OpenedFile& opened, std::int64_t max_bytes)
      : path_(std::move(path)),
        opened_file_(&opened),
        plain_(opened.plain()),
        max_bytes_(max_bytes) {}
  // Of links, groups and attributes that lie plainly; throws NeedsHdf5 about others. They must
  // outlive this.
  Reader(std::string path, PlainObjects& plain)
      : path_(std::move(path)), plain_(&plain), max_bytes_(0) {}

  // What is done when HDF5 is asked about an object for the next time, and once.
  void before_hdf5(std::function<void()> look) { before_hdf5_ = std::move(look); }

  // Reads the table of checksums, where the file has one, by which all that is read then is held.
  // `said`: the root's attribute assay_checksums, empty where it has none.
  void read_checksums(const std::string& said);
  const ChecksumTable& checksums() const { return checksums_; }
  [[noreturn]] void refuse_changed(const std::string& object, const std::string& what) const;

  [[noreturn]] void refuse(const std::string& object, const std::string& reason) const;

  // Walks an absolute path link by link. Refuses where a link leaves the file, leads nowhere or
  // without end; false where a part does not exist.
  bool check_path(const std::string& object) const;

  enum class ObjectKind { kGroup, kDataset, kOther };
  // `object` must exist and have passed check_path.
  ObjectKind kind_of(const std::string& object) const;
  // Names of the links in a group, sorted; their paths are checked.
  std::vector<std::string> links_in(const std::string& group) const;
  bool has_attribute(const std::string& object, const char* name) const;
  // A number that two paths share where they lead to the same object.
  std::uint64_t address_of(const std::string& object) const;
  // Where a dataset's data lie.
  StoredPlace place_of(const std::string& object) const;

  // The names of all attributes of an object, sorted.
  std::vector<std::string> attribute_names(const std::string& object) const;
  // Attributes that are a string, an integer, a float or a bool of one element. Others are left
  // out, except that `required` ones are refused. A bool is 0 or 1; an unsigned integer of 2^63 and
  // more is a float64.
  // `names` gets those of all attributes, as attribute_names() does.
  std::map<std::string, Attribute> attributes(const std::string& object,
                                              const std::vector<std::string>& required,
                                              std::vector<std::string>* names = nullptr) const;

  // Whether a dataset stands for a tensor that there is none of: its attribute `absent` is 1 (or
  // true). Refuses one that has elements, or data outside the file.
  bool is_absent(const std::string& object) const;

  ArrayInfo tensor_info(const std::string& object) const;
  Tensor read_tensor(const std::string& object) const;
  // Asks HDF5 all that reading the dataset asks, but for its elements.
  void look_at_tensor(const std::string& object) const;
  // The same for a dataset of any HDF5 file. Without an attribute `dtype` its format is the
  // argument if it stores bit patterns, otherwise what its stored type says.
  void look_at_any(const std::string& object, const std::string& dtype) const;
  // Both as sources that are read piece by piece; this reader must outlive them. Beside what is
  // asked for a source holds a row of chunks, where a piece ends in its middle.
  std::unique_ptr<ArraySource> open_pieces(const std::string& object) const;
  std::unique_ptr<ArraySource> open_any(const std::string& object, const std::string& dtype) const;

 private:
  struct OpenDataset;
  class DatasetPieces;
  // Where HDF5 begins to walk to an object, and by which name: in the group above it, which is kept
  // open, or at the root. `name` lies in the text that was asked about.
  struct Start {
    hid_t at;
    const char* name;
  };
  Start start_of(const std::string& object) const;
  hid_t file() const;
  // Unknown where HDF5 must be asked.
  PlainObjects::Found find_plain(const std::string& object) const;
  // None where HDF5 must be asked, be it for the reason why the dataset is refused.
  std::optional<OpenDataset> open_plain(const std::string& object) const;
  std::string read_elements(const OpenDataset& opened, std::int64_t begin, std::int64_t count,
                            std::byte* to, std::uint64_t& found) const;
  hid_t kept_group(const std::string& path) const;
  void note_found(const std::string& path) const;
  std::shared_ptr<const OpenDataset> open_tensor(const std::string& object) const;
  OpenDataset open_tensor(const std::string& object, const std::string* dtype) const;
  static void look_at_opened(const OpenDataset& opened);
  Tensor read_opened(const std::string& object, const OpenDataset& opened) const;
  std::vector<std::string> names_of_attributes(const std::string& path, hid_t object) const;
  void check_all_attributes_are_there(const std::string& path,
                                      const std::vector<std::string>& names) const;
  // Puts it to the others, or refuses it; `value`: none where it is no single value.
  void add_attribute(const std::string& object, const std::string& name,
                     std::optional<Attribute> value, const std::vector<std::string>& required,
                     std::map<std::string, Attribute>& values) const;
  void check_storage(const std::string& object, hid_t dataset, hid_t created) const;
  const Format& format_of(const std::string& object, hid_t dataset) const;
  Shape shape_of(const std::string& object, hid_t dataset, const Format& format) const;
  std::optional<Attribute> read_attribute(const std::string& object, const std::string& name,
                                          hid_t attribute) const;

  void check_attribute(const std::string& object, const std::string& name,
                       const Attribute& value) const;

  std::string path_;
  OpenedFile* opened_file_ = nullptr;  // that opens what follows
  mutable hid_t file_ = H5I_INVALID_HID;
  mutable GlobalHeap* heap_ = nullptr;  // of the file; null until it is asked for
  PlainObjects* plain_ = nullptr;
  ChecksumTable checksums_;
  std::int64_t max_bytes_;
  mutable std::function<void()> before_hdf5_;
  // A file that is read does not change, and the objects of one case are asked for several times:
  // paths that were found by hard links alone, with the kinds of some, and the groups and datasets
  // that were opened last. Each is bounded.
  mutable std::map<std::string, std::optional<ObjectKind>> found_;
  mutable std::vector<std::pair<std::string, Handle>> groups_;
  mutable std::vector<std::pair<std::string, std::shared_ptr<const OpenDataset>>> opened_;
};

}  // namespace assay::h5
