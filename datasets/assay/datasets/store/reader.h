// Reads the objects of an HDF5 file that is not trusted. Links, types, filters, sizes and codes are
// checked before they are used.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/datasets/store/array_source.h"
#include "assay/datasets/store/checksums.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/datasets/store/global_heap.h"
#include "assay/datasets/store/handle.h"
#include "assay/datasets/store/opened_file.h"
#include "assay/datasets/store/plain_objects.h"

namespace assay::inline v0_2::h5 {

// Thrown by a reader without HDF5 if it would have to ask HDF5.
struct NeedsHdf5 {};

// Access to the objects of one open file. Every message names the file's path.
class Reader {
 public:
  Reader(std::string path, hid_t file, std::int64_t max_bytes)
      : path_(std::move(path)), file_(file), max_bytes_(max_bytes) {}
  // Uses HDF5 only if a question cannot be answered without it. The file must outlive this object.
  Reader(std::string path, OpenedFile& opened, std::int64_t max_bytes)
      : path_(std::move(path)),
        opened_file_(&opened),
        plain_(opened.plain()),
        max_bytes_(max_bytes) {}
  // Reads links, groups and attributes that are stored plainly, and throws NeedsHdf5 for others.
  // `plain` must outlive this object.
  Reader(std::string path, PlainObjects& plain)
      : path_(std::move(path)), plain_(&plain), max_bytes_(0) {}

  // Sets a function that is called once, before HDF5 is next asked about an object.
  void before_hdf5(std::function<void()> look) { before_hdf5_ = std::move(look); }

  // Reads the table of checksums, if the file has one. All later reads are then verified against
  // it. `said` is the root's attribute assay_checksums, or empty if it has none.
  void read_checksums(const std::string& said);
  const ChecksumTable& checksums() const { return checksums_; }
  [[noreturn]] void refuse_changed(const std::string& object, const std::string& what) const;

  [[noreturn]] void refuse(const std::string& object, const std::string& reason) const;

  // Walks an absolute path link by link. Refuses the path if a link leaves the file, leads nowhere
  // or never ends. Returns false if a part does not exist.
  bool check_path(const std::string& object) const;

  enum class ObjectKind { kGroup, kDataset, kOther };
  // Returns the kind of an object, which must exist and have passed check_path().
  ObjectKind kind_of(const std::string& object) const;
  // Returns the names of the links in a group, sorted. Their paths are checked.
  std::vector<std::string> links_in(const std::string& group) const;
  bool has_attribute(const std::string& object, const char* name) const;
  // Returns a number that two paths share if they lead to the same object.
  std::uint64_t address_of(const std::string& object) const;
  // Returns the place of a dataset's data.
  StoredPlace place_of(const std::string& object) const;

  // Returns the names of all attributes of an object, sorted.
  std::vector<std::string> attribute_names(const std::string& object) const;
  // Returns the attributes that are a string, or one integer, float or bool. Others are left out,
  // except that `required` ones are refused. A bool is 0 or 1; an unsigned integer of 2^63 and more
  // is a float64. `names` receives the names of all attributes, as attribute_names() does.
  std::map<std::string, Attribute> attributes(const std::string& object,
                                              const std::vector<std::string>& required,
                                              std::vector<std::string>* names = nullptr) const;

  // Returns true if a dataset stands for an absent tensor: its attribute `absent` is 1 (or true).
  // Refuses a dataset with that attribute that has elements, or data outside the file.
  bool is_absent(const std::string& object) const;

  ArrayInfo tensor_info(const std::string& object) const;
  Tensor read_tensor(const std::string& object) const;
  // Asks HDF5 for everything that reading the dataset needs, except its elements.
  void look_at_tensor(const std::string& object) const;
  // As look_at_tensor(), for a dataset of any HDF5 file. If the dataset has no attribute `dtype`,
  // its format is `dtype` if it stores bit patterns, and otherwise follows from its stored type.
  void look_at_any(const std::string& object, const std::string& dtype) const;
  // Open a tensor of a dataset file, or a dataset of any HDF5 file, as a source that is read piece
  // by piece. This reader must outlive the source. If a piece ends in the middle of a row of
  // chunks, the source keeps that row in memory.
  std::unique_ptr<ArraySource> open_pieces(const std::string& object) const;
  std::unique_ptr<ArraySource> open_any(const std::string& object, const std::string& dtype) const;

 private:
  struct OpenDataset;
  class DatasetPieces;
  // The place where HDF5 begins to walk to an object, and the name from there. The place is the
  // group above the object, which is kept open, or the root. `name` points into the text that was
  // asked about.
  struct Start {
    hid_t at;
    const char* name;
  };
  Start start_of(const std::string& object) const;
  hid_t file() const;
  // Finds an object without HDF5. The answer is kUnknown if HDF5 must be asked.
  PlainObjects::Found find_plain(const std::string& object) const;
  // Opens a dataset without HDF5. Returns nothing if HDF5 must be asked, even if it is only for the
  // reason why the dataset is refused.
  std::optional<OpenDataset> open_plain(const std::string& object) const;
  std::string read_elements(const OpenDataset& opened, std::int64_t begin, std::int64_t count,
                            std::byte* to, std::uint64_t& found) const;
  hid_t kept_group(const std::string& path) const;
  void note_found(const std::string& path) const;
  std::shared_ptr<const OpenDataset> open_tensor(const std::string& object) const;
  OpenDataset open_tensor(const std::string& object, const std::string* dtype) const;
  static void look_at_opened(const OpenDataset& opened);
  std::vector<std::string> names_of_attributes(const std::string& path, hid_t object) const;
  void check_all_attributes_are_there(const std::string& path,
                                      const std::vector<std::string>& names) const;
  // Adds the attribute to `values`, or refuses it. `value` is nothing if the attribute is not a
  // single value.
  void add_attribute(const std::string& object, const std::string& name,
                     std::optional<Attribute> value, const std::vector<std::string>& required,
                     std::map<std::string, Attribute>& values) const;
  // Returns the creation properties of a dataset. Refuses a dataset whose data cannot be read, or
  // lie outside the file.
  Handle checked_properties(const std::string& object, hid_t dataset) const;
  const Format& format_of(const std::string& object, hid_t dataset) const;
  Shape shape_of(const std::string& object, hid_t dataset, const Format& format) const;
  std::optional<Attribute> read_attribute(const std::string& object, const std::string& name,
                                          hid_t attribute) const;

  void check_attribute(const std::string& object, const std::string& name,
                       const Attribute& value) const;

  std::string path_;
  OpenedFile* opened_file_ = nullptr;  // opens file_ and heap_ when they are first needed
  mutable hid_t file_ = H5I_INVALID_HID;
  mutable GlobalHeap* heap_ = nullptr;  // The file's heap. Null until it is first needed.
  PlainObjects* plain_ = nullptr;
  ChecksumTable checksums_;
  std::int64_t max_bytes_;
  mutable std::function<void()> before_hdf5_;
  // Caches. A file does not change while it is read, and the objects of one case are asked for
  // several times. They hold the paths that were found to be hard links, with the kinds of some
  // objects, and the groups and datasets that were opened last. Each has a limit.
  mutable std::map<std::string, std::optional<ObjectKind>> found_;
  mutable std::vector<std::pair<std::string, Handle>> groups_;
  mutable std::vector<std::pair<std::string, std::shared_ptr<const OpenDataset>>> opened_;
};

}  // namespace assay::h5
