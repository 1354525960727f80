#include "assay/datasets/copy_source.h"

#include <algorithm>
#include <set>
#include <utility>

#include "assay/base/text.h"
#include "assay/datasets/chunks.h"
#include "assay/datasets/file_error.h"
#include "assay/datasets/reader.h"
#include "assay/datasets/size_cap.h"
#include "assay/datasets/types.h"

namespace assay::h5 {
namespace {

// HDF5 1.10.8 breaks where what H5Ocopy made is deleted, and where it copies attributes that lie in
// a heap: copies fail then, or end the process. So datasets are copied one by one, and attributes
// are read and written.
class Hdf5Source : public CopySource {
 public:
  Hdf5Source(const std::string& path, hid_t file)
      : file_(h5::file(file)), reader_(path, file, dataset_size_cap()) {
    H5Iinc_ref(file);
  }

  std::vector<std::string> links_in(const std::string& group) override {
    return reader_.links_in(group);
  }
  bool is_group(const std::string& object) override {
    return reader_.kind_of(object) == Reader::ObjectKind::kGroup;
  }
  std::uint64_t address_of(const std::string& object) override {
    return reader_.address_of(object);
  }

  std::vector<NamedValue> attributes(const std::string& object) override {
    std::vector<std::string> names;
    auto values = reader_.attributes(object, {}, &names);
    std::vector<NamedValue> all;
    for (std::string& name : names) {
      const auto value = values.find(name);
      all.push_back({std::move(name), std::nullopt});
      if (value != values.end()) all.back().value = std::move(value->second);
    }
    return all;
  }

  Copied copy_attribute(const std::string& object, const std::string& name, hid_t to) override {
    const Handle attr = h5::attribute(H5Aopen(opened(object), name.c_str(), H5P_DEFAULT));
    if (!attr.valid()) return Copied::kFailed;
    const Handle type = h5::type(H5Aget_type(attr.get())),
                 space = h5::space(H5Aget_space(attr.get()));
    if (H5Tdetect_class(type.get(), H5T_REFERENCE) > 0) return Copied::kNot;
    const H5T_class_t kind = H5Tget_class(type.get());
    const bool variable = kind == H5T_STRING && H5Tis_variable_str(type.get()) > 0;
    const bool is_long = kind == H5T_STRING && H5Tget_size(type.get()) > kMostFixedLength;
    if (is_long && H5Sget_simple_extent_type(space.get()) == H5S_SCALAR) return Copied::kByValue;
    // Where nothing in it has a length of its own, the bits need no conversion.
    const bool plain = !variable && kind != H5T_COMPOUND && kind != H5T_ARRAY && kind != H5T_VLEN;
    const Handle stored = h5::type(H5Tcopy(type.get()));
    const Handle memory =
        h5::type(plain ? H5Tcopy(type.get()) : H5Tget_native_type(type.get(), H5T_DIR_ASCEND));
    const auto count =
        static_cast<std::size_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space.get()), 0));
    std::vector<std::byte> data(count * H5Tget_size(memory.get()));
    if (count > 0 && H5Aread(attr.get(), memory.get(), data.data()) < 0) return Copied::kFailed;
    const bool copied = create_attribute(to, name, stored.get(), space.get(), memory.get(),
                                         count > 0 ? data.data() : nullptr);
    if (!plain && count > 0) {
      H5Dvlen_reclaim(memory.get(), space.get(), H5P_DEFAULT, data.data());
    }
    return copied ? Copied::kYes : Copied::kFailed;
  }

  // H5Ocopy() crashes on damaged datasets, and so is left what it alone can copy: references to
  // elements of variable length, and named types.
  bool copy_object(const std::string& object, hid_t to, const std::string& link) override {
    open_path_.clear();
    open_object_.reset();
    if (const auto copied = copy_dataset(object, to, link)) return *copied;
    const Handle how = h5::properties(H5Pcreate(H5P_OBJECT_COPY));
    H5Pset_copy_object(how.get(), H5O_COPY_WITHOUT_ATTR_FLAG);
    return H5Ocopy(file_.get(), object.c_str(), to, link.c_str(), how.get(), H5P_DEFAULT) >= 0;
  }

  std::optional<std::uint64_t> sum_of(const std::string& object) override {
    try {
      return h5::sum_of(reader_.read_tensor(object).view());
    } catch (const FileError&) {
      H5Eclear2(H5E_DEFAULT);  // a dataset that no one reads
      return std::nullopt;
    }
  }

 private:
  // Whether it was copied; none where the object is no dataset of elements of a fixed size.
  std::optional<bool> copy_dataset(const std::string& object, hid_t to, const std::string& link) {
    const Handle source = h5::dataset(H5Dopen2(file_.get(), object.c_str(), H5P_DEFAULT));
    H5Eclear2(H5E_DEFAULT);
    if (!source.valid()) return std::nullopt;
    const Handle type = h5::type(H5Dget_type(source.get()));
    const Handle space = h5::space(H5Dget_space(source.get()));
    const Handle created = h5::properties(H5Dget_create_plist(source.get()));
    H5Pset_obj_track_times(created.get(), false);
    for (const H5T_class_t kind : {H5T_VLEN, H5T_REFERENCE, H5T_STRING}) {
      // A string may have a variable length.
      if (H5Tdetect_class(type.get(), kind) != 0) return std::nullopt;
    }
    hsize_t extents[H5S_MAX_RANK];
    const int rank = H5Sget_simple_extent_dims(space.get(), extents, nullptr);
    if (rank < 0 || H5Sget_simple_extent_type(space.get()) == H5S_NULL) return std::nullopt;
    Handle copy = h5::dataset(H5Dcreate2(to, link.c_str(), type.get(), space.get(), H5P_DEFAULT,
                                         created.get(), H5P_DEFAULT));
    const Shape shape(extents, extents + rank);
    return copy.valid() &&
           copy_stored({source.get(), created.get(), type.get(), shape, H5Tget_size(type.get())},
                       copy.get()) &&
           copy.reset();
  }

  // The object stays open until another one is asked for: it is read attribute by attribute.
  hid_t opened(const std::string& object) {
    if (open_path_ != object) {
      open_object_ = h5::object(H5Oopen(file_.get(), object.c_str(), H5P_DEFAULT));
      open_path_ = object;
    }
    return open_object_.get();
  }

  Handle file_;
  Reader reader_;
  std::string open_path_;
  Handle open_object_;
};

class PlainSource : public CopySource {
 public:
  PlainSource(const std::string& path, std::shared_ptr<PlainObjects> objects)
      : path_(path), objects_(std::move(objects)) {}

  // Whether all in a group is of a kind that is copied here.
  bool takes(const std::string& group, const ChecksumTable& sums, std::set<std::uint64_t>& groups) {
    const auto found = objects_->find(group);
    const auto links = objects_->links_in(group);
    if (found.object == nullptr || links == nullptr) return false;
    // None in itself, and no maze.
    if (!groups.insert(found.object->address).second || groups.size() > kMostGroups) return false;
    return takes_attributes(*found.object) &&
           std::all_of(links->begin(), links->end(), [&](const auto& link) {
             const std::string object = group + "/" + link.first;
             const auto below = objects_->find(object);
             if (below.answer != PlainObjects::Answer::kYes) return false;
             if (below.object->is_group) return takes(object, sums, groups);
             return sums.has(object) && takes_dataset(*below.object);
           });
  }

  std::vector<std::string> links_in(const std::string& group) override {
    const auto links = objects_->links_in(group);
    if (links == nullptr) throw changed(group);
    std::vector<std::string> names;
    for (const auto& link : *links) names.push_back(link.first);
    return names;
  }
  bool is_group(const std::string& object) override { return found(object).is_group; }
  std::uint64_t address_of(const std::string& object) override { return found(object).address; }

  std::vector<NamedValue> attributes(const std::string& object) override {
    std::vector<NamedValue> all;
    for (const auto& each : found(object).attributes) all.push_back({each.name, each.value});
    return all;
  }

  Copied copy_attribute(const std::string& object, const std::string& name, hid_t to) override {
    using Kind = PlainObject::StoredValue::Kind;
    const auto* const attribute = found(object).find_attribute(name);
    if (attribute == nullptr || !takes_attribute(*attribute)) throw changed(object);
    const PlainObject::StoredValue& stored = attribute->stored;
    const Handle type = type_of(stored);
    const void* data = nullptr;
    std::string text;
    float narrow = 0;
    if (stored.kind == Kind::kText) {
      if (stored.bytes > kMostFixedLength && stored.rank == 0) return Copied::kByValue;
      text = std::get<std::string>(*attribute->value);
      text.resize(stored.bytes);
      data = text.data();
    } else if (stored.kind == Kind::kFloat) {
      data = std::get_if<double>(&*attribute->value);
      if (stored.bytes == sizeof narrow) {
        narrow = static_cast<float>(std::get<double>(*attribute->value));
        data = &narrow;
      }
    } else {
      data = std::get_if<std::int64_t>(&*attribute->value);  // its low bytes come first
    }
    const Handle space = space_of(Shape(stored.rank, 1));
    const bool copied = create_attribute(to, name, type.get(), space.get(), type.get(), data);
    return copied ? Copied::kYes : Copied::kFailed;
  }

  bool copy_object(const std::string& object, hid_t to, const std::string& link) override {
    const PlainObject& from = found(object);
    const Format* const format = takes_dataset(from) ? format_of(from) : nullptr;
    if (format == nullptr) throw changed(object);
    const Handle type = stored_type(*format), space = space_of(from.shape);
    std::vector<std::byte> elements(size_of(from));
    if (!objects_->read(from, 0, elements.size(), elements.data())) throw changed(object);
    const Handle created = h5::properties(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_obj_track_times(created.get(), false);
    Handle copy = h5::dataset(H5Dcreate2(to, link.c_str(), type.get(), space.get(), H5P_DEFAULT,
                                         created.get(), H5P_DEFAULT));
    return copy.valid() &&
           H5Dwrite(copy.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()) >= 0 &&
           copy.reset();
  }

  std::optional<std::uint64_t> sum_of(const std::string&) override {
    return std::nullopt;  // the file has one of each
  }

 private:
  // What is larger is copied by HDF5, whose own time does not count then.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;
  static constexpr std::size_t kMostGroups = 1000;

  static std::uint64_t size_of(const PlainObject& dataset) {
    return static_cast<std::uint64_t>(element_count(dataset.shape)) * dataset.element_bytes;
  }

  static bool takes_attribute(const PlainObject::NamedValue& attribute) {
    using Kind = PlainObject::StoredValue::Kind;
    const PlainObject::StoredValue& stored = attribute.stored;
    if (!attribute.value) return false;
    switch (stored.kind) {
      case Kind::kText:
        return stored.padding != H5T_STR_SPACEPAD;  // whose spaces the value lacks
      case Kind::kSigned:
      case Kind::kUnsigned:  // what has no room in 64 bits with a sign was rounded
        return std::holds_alternative<std::int64_t>(*attribute.value);
      case Kind::kFloat: {  // a NaN's bits may change from float32 to float64
        const double value = std::get<double>(*attribute.value);
        return value == value;
      }
      case Kind::kOther:
        return false;
    }
    return false;
  }
  static bool takes_attributes(const PlainObject& object) {
    return std::all_of(object.attributes.begin(), object.attributes.end(), takes_attribute);
  }

  // The format that its attribute says, where it is stored as assay stores that.
  static const Format* format_of(const PlainObject& dataset) {
    const auto* const dtype = dataset.find_attribute("dtype");
    if (dtype == nullptr || !dtype->value) return nullptr;
    const auto* const word = std::get_if<std::string>(&*dtype->value);
    const Format* const format = word != nullptr ? find_format(*word) : nullptr;
    if (format == nullptr) return nullptr;
    return is_stored_message(dataset.type, *format) ? format : nullptr;
  }
  static bool takes_dataset(const PlainObject& dataset) {
    return !dataset.is_compact && !dataset.has_own_fill && size_of(dataset) <= kMostBytes &&
           format_of(dataset) != nullptr && takes_attributes(dataset);
  }

  FileError changed(const std::string& object) const {
    return FileError(path_, object, "was changed while it was copied");
  }

  const PlainObject& found(const std::string& object) {
    if (last_path_ != object || last_ == nullptr) {
      const auto found = objects_->find(object);
      if (found.answer != PlainObjects::Answer::kYes) throw changed(object);
      last_ = found.object;
      last_path_ = object;
    }
    return *last_;
  }

  static Handle type_of(const PlainObject::StoredValue& stored) {
    using Kind = PlainObject::StoredValue::Kind;
    if (stored.kind == Kind::kText) {
      return string_type(stored.bytes, static_cast<H5T_str_t>(stored.padding),
                         static_cast<H5T_cset_t>(stored.encoding));
    }
    const char* const name = stored.kind == Kind::kFloat    ? "float"
                             : stored.kind == Kind::kSigned ? "int"
                                                            : "uint";
    return stored_type(format_named(formatted("{}{}", name, 8 * stored.bytes)));
  }

  std::string path_;
  std::shared_ptr<PlainObjects> objects_;
  std::string last_path_;
  std::shared_ptr<const PlainObject> last_;
};

}  // namespace

bool create_attribute(hid_t to, const std::string& name, hid_t type, hid_t space, hid_t memory,
                      const void* data) {
  Handle attr = attribute(H5Acreate2(to, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT));
  return attr.valid() && (data == nullptr || H5Awrite(attr.get(), memory, data) >= 0) &&
         attr.reset();
}

std::unique_ptr<CopySource> copy_source(const std::string& path, hid_t file) {
  return std::make_unique<Hdf5Source>(path, file);
}

std::unique_ptr<CopySource> plain_copy_source(const std::string& path,
                                              std::shared_ptr<PlainObjects> objects,
                                              const std::string& group, const ChecksumTable& sums) {
  if (objects == nullptr) return nullptr;
  auto source = std::make_unique<PlainSource>(path, std::move(objects));
  std::set<std::uint64_t> groups;
  if (!source->takes(group, sums, groups)) return nullptr;
  return source;
}

}  // namespace assay::h5
