#include "assay/datasets/store/copy_source.h"

#include <algorithm>
#include <set>
#include <utility>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/checks/size_cap.h"
#include "assay/datasets/store/chunks.h"
#include "assay/datasets/store/read_driver.h"
#include "assay/datasets/store/reader.h"
#include "assay/datasets/store/types.h"
#include "assay/datasets/store/variable_elements.h"

namespace assay::inline v0_2::h5 {
namespace {

// H5Ocopy() of HDF5 1.10.8 trusts the data that it copies, and its results cannot be deleted.
// Therefore everything is read and written object by object.
class Hdf5Source : public CopySource {
 public:
  Hdf5Source(const std::string& path, hid_t file)
      : file_(h5::file(H5Iinc_ref(file) < 0 ? H5I_INVALID_HID : file)),
        reader_(path, file, dataset_size_cap()),
        heap_(heap_of(file)) {}

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
    const auto refuse = [&] {
      reader_.refuse(object, damaged(formatted("its attribute '{}' cannot be read", name)));
    };
    if (!attr.valid()) refuse();
    const Handle stored = h5::type(H5Aget_type(attr.get())),
                 space = h5::space(H5Aget_space(attr.get()));
    if (has_references(stored.get())) return {Copied::kLeftOut, kRefers};
    const H5T_class_t kind = H5Tget_class(stored.get());
    const bool is_long = kind == H5T_STRING && H5Tget_size(stored.get()) > kMostFixedLength;
    if (is_long && H5Sget_simple_extent_type(space.get()) == H5S_SCALAR) return {Copied::kByValue};
    // A copy of the type has no name, even if the stored type is a named one.
    const Handle type = h5::type(H5Tcopy(stored.get()));
    const ElementLayout layout = layout_of(type.get(), heap_);
    std::vector<std::byte> bytes;
    if (!read_as_stored(attr.get(), stored.get(), layout, heap_, bytes)) refuse();
    VariableElements elements(layout, heap_);
    if (const std::string why = elements.add(bytes); !why.empty()) {
      push_error(why);
      refuse();
    }
    const bool copied = create_attribute(to, name, type.get(), space.get(), type.get(),
                                         bytes.empty() ? nullptr : elements.data());
    return {copied ? Copied::kYes : Copied::kFailed};
  }

  Copied copy_object(const std::string& object, hid_t to, const std::string& link) override {
    open_path_.clear();
    open_object_.reset();
    if (reader_.kind_of(object) == Reader::ObjectKind::kDataset) {
      return copy_dataset(object, to, link);
    }
    const Handle stored = h5::type(H5Topen2(file_.get(), object.c_str(), H5P_DEFAULT));
    if (!stored.valid()) reader_.refuse(object, damaged("cannot be opened"));
    const Handle type = h5::type(H5Tcopy(stored.get()));
    const bool copied =
        H5Tcommit2(to, link.c_str(), type.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0;
    return {copied ? Copied::kYes : Copied::kFailed};
  }

  std::optional<std::uint64_t> sum_of(const std::string& object) override {
    try {
      return h5::sum_of(reader_.read_tensor(object).view());
    } catch (const FileError&) {
      H5Eclear2(H5E_DEFAULT);  // The dataset cannot be read, so it is not a tensor with a checksum.
      return std::nullopt;
    }
  }

 private:
  static constexpr const char* kRefers = "refers to objects of the file";

  Copied copy_dataset(const std::string& object, hid_t to, const std::string& link) {
    const Handle source = h5::dataset(H5Dopen2(file_.get(), object.c_str(), H5P_DEFAULT));
    if (!source.valid()) reader_.refuse(object, damaged("cannot be opened"));
    const Handle created = h5::properties(H5Dget_create_plist(source.get()));
    if (!created.valid()) reader_.refuse(object, damaged("its properties cannot be read"));
    // This check comes before the shape is read, because HDF5 looks up the shape of a virtual
    // dataset in other files.
    const std::string elsewhere = storage_problem(source.get(), created.get(), kAnySize);
    const H5D_layout_t layout = H5Pget_layout(created.get());
    if (layout == H5D_VIRTUAL || H5Pget_external_count(created.get()) > 0) {
      return {Copied::kLeftOut, elsewhere};
    }
    const Handle stored = h5::type(H5Dget_type(source.get()));
    if (!stored.valid()) reader_.refuse(object, damaged("its type cannot be read"));
    if (has_references(stored.get())) return {Copied::kLeftOut, kRefers};
    const bool is_variable = has_variable_length(stored.get());
    // A dataset that cannot be read because of its filters can still be copied if its elements have
    // a fixed size: its chunks are copied as they are stored.
    if (is_variable && !elsewhere.empty()) return {Copied::kLeftOut, elsewhere};
    // A copy of the type has no name, even if the stored type is a named one.
    const Handle type = h5::type(H5Tcopy(stored.get()));
    const Handle space = h5::space(H5Dget_space(source.get()));
    const Shape shape = shape_of(object, source.get(), space.get(), layout);
    const Handle properties =
        is_variable ? properties_for_variable(created.get()) : properties_for_fixed(created.get());
    Handle copy = h5::dataset(H5Dcreate2(to, link.c_str(), type.get(), space.get(), H5P_DEFAULT,
                                         properties.get(), H5P_DEFAULT));
    bool written = copy.valid();
    if (written && H5Sget_simple_extent_type(space.get()) != H5S_NULL) {
      const StoredArray array{source.get(), created.get(), type.get(), shape,
                              H5Tget_size(type.get())};
      const std::string why = is_variable ? copy_variable(array, copy.get(), written)
                                          : copy_stored(array, copy.get(), written);
      if (!why.empty()) reader_.refuse(object, why);
    }
    return {written && copy.reset() ? Copied::kYes : Copied::kFailed};
  }

  // Returns the shape of a dataset. Refuses a shape that no file of this size can hold.
  Shape shape_of(const std::string& object, hid_t dataset, hid_t space, H5D_layout_t layout) const {
    constexpr double kMostElements = 0x1p60;
    hsize_t extents[H5S_MAX_RANK];
    const int rank = H5Sget_simple_extent_dims(space, extents, nullptr);
    if (rank < 0) reader_.refuse(object, damaged("its shape cannot be read"));
    double count = 1;
    for (int d = 0; d < rank; ++d) count *= static_cast<double>(std::max<hsize_t>(extents[d], 1));
    const hsize_t stored = H5Dget_storage_size(dataset);
    if (count > kMostElements || (layout != H5D_CHUNKED && stored > heap_.file_size())) {
      reader_.refuse(object,
                     damaged(formatted("has {:.0f} elements in {} bytes, and the file has {} bytes",
                                       count, stored, heap_.file_size())));
    }
    return Shape(extents, extents + rank);
  }

  static Handle properties_for_fixed(hid_t created) {
    Handle properties = h5::properties(H5Pcopy(created));
    h5::require(H5Pset_obj_track_times(properties.get(), false));
    // Early allocation is not copied, because a hostile shape would then allocate space for
    // elements that do not exist.
    H5D_alloc_time_t time = H5D_ALLOC_TIME_DEFAULT;
    h5::require(H5Pget_alloc_time(created, &time));
    if (time == H5D_ALLOC_TIME_EARLY && H5Pget_layout(created) != H5D_COMPACT) {
      h5::require(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_DEFAULT));
    }
    return properties;
  }

  // The filters and the fill value are not copied. A filter hardly compresses references, and a
  // fill value would hold a reference into the other file.
  static Handle properties_for_variable(hid_t created) {
    Handle properties = h5::properties(H5Pcreate(H5P_DATASET_CREATE));
    h5::require(H5Pset_obj_track_times(properties.get(), false));
    hsize_t chunk[H5S_MAX_RANK];
    if (H5Pget_layout(created) == H5D_CHUNKED) {
      const int rank = H5Pget_chunk(created, H5S_MAX_RANK, chunk);
      h5::require(H5Pset_chunk(properties.get(), rank, chunk));
    }
    return properties;
  }

  // Copies elements of variable length to a new dataset, as copy_stored() does for elements of a
  // fixed size. `array` has the type in memory.
  std::string copy_variable(const StoredArray& array, hid_t to, bool& written) {
    constexpr std::int64_t kPiece = 1 << 16;                  // elements, about
    constexpr std::size_t kMostHeld = std::size_t{16} << 20;  // bytes
    const ElementLayout layout = layout_of(array.type, heap_);
    if (!layout.is_sound) return damaged("its type has no sound layout");
    const Handle type = stored_type_of(array.type, heap_);
    const StoredArray stored{array.dataset, array.created, type.get(), array.shape,
                             layout.stored_bytes};
    const std::int64_t count = element_count(array.shape), row = chunk_row(stored);
    if (count == 0 || H5Dget_storage_size(array.dataset) == 0) return "";
    if (static_cast<double>(count) * static_cast<double>(layout.stored_bytes) >
        most_declared(heap_.file_size())) {
      return damaged(formatted("has {} elements, more than a file of {} bytes can hold", count,
                               heap_.file_size()));
    }
    const std::int64_t piece = row * std::max<std::int64_t>(kPiece / row, 1);
    VariableElements elements(layout, heap_);
    std::vector<std::byte> bytes;
    std::uint64_t found = 0;
    for (std::int64_t begin = 0; begin < count && written; begin += piece) {
      const std::int64_t n = std::min(piece, count - begin);
      bytes.resize(static_cast<std::size_t>(n) * layout.stored_bytes);
      std::string why = read_stored_range(stored, begin, n, bytes.data(), found);
      std::span<const std::byte> left = bytes;
      std::int64_t at = begin;
      while (why.empty() && written && !left.empty()) {
        why = elements.add(left.first(layout.stored_bytes));
        left = left.subspan(layout.stored_bytes);
        if (!why.empty()) why = damaged(formatted("its elements cannot be read: {}", why));
        if (!why.empty() || (!left.empty() && elements.held_bytes() < kMostHeld)) continue;
        const auto ready = static_cast<std::int64_t>(elements.count());
        written &= write_range(array, to, array.type, at, ready, elements.data());
        at += ready;
        elements.clear();
      }
      if (!why.empty()) return why;
    }
    return "";
  }

  // Returns an open object. It stays open until another one is requested, because an object is read
  // attribute by attribute.
  hid_t opened(const std::string& object) {
    if (open_path_ != object) {
      open_object_ = h5::object(H5Oopen(file_.get(), object.c_str(), H5P_DEFAULT));
      open_path_ = object;
    }
    return open_object_.get();
  }

  static constexpr std::int64_t kAnySize = std::int64_t{1} << 62;  // of chunks

  Handle file_;
  Reader reader_;
  GlobalHeap& heap_;
  std::string open_path_;
  Handle open_object_;
};

class PlainSource : public CopySource {
 public:
  PlainSource(const std::string& path, std::shared_ptr<PlainObjects> objects)
      : path_(path), objects_(std::move(objects)) {}

  // Returns true if everything in a group is of a kind that this source can copy.
  bool takes(const std::string& group, const ChecksumTable& sums, std::set<std::uint64_t>& groups) {
    const auto found = objects_->find(group);
    const auto links = objects_->links_in(group);
    if (found.object == nullptr || links == nullptr) return false;
    // Refuses groups that contain themselves, and mazes of links.
    if (!groups.insert(found.object->address).second || groups.size() > kMostGroups) return false;
    return takes_attributes(*found.object) && std::ranges::all_of(*links, [&](const auto& link) {
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
    return keys_of(*links);
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
    const char* characters = nullptr;
    float narrow = 0;
    if (stored.kind == Kind::kText) {
      if (stored.bytes > kMostFixedLength && stored.rank == 0) return {Copied::kByValue};
      text = std::get<std::string>(*attribute->value);
      characters = text.empty() ? nullptr : text.c_str();
      if (!stored.is_variable) text.resize(stored.bytes);
      data = stored.is_variable ? static_cast<const void*>(&characters) : text.data();
    } else if (stored.kind == Kind::kFloat) {
      data = std::get_if<double>(&*attribute->value);
      if (stored.bytes == sizeof narrow) {
        narrow = static_cast<float>(std::get<double>(*attribute->value));
        data = &narrow;
      }
    } else {
      // HDF5 reads only the low bytes of the value if the type is shorter. They come first.
      data = std::get_if<std::int64_t>(&*attribute->value);
    }
    const Handle space = space_of(Shape(stored.rank, 1));
    const bool copied = create_attribute(to, name, type.get(), space.get(), type.get(), data);
    return {copied ? Copied::kYes : Copied::kFailed};
  }

  Copied copy_object(const std::string& object, hid_t to, const std::string& link) override {
    const PlainObject& from = found(object);
    const Format* const format = takes_dataset(from) ? format_of(from) : nullptr;
    if (format == nullptr) throw changed(object);
    const Handle type = stored_type(*format), space = space_of(from.shape);
    std::vector<std::byte> elements(size_of(from));
    if (!objects_->read(from, 0, elements.size(), elements.data())) throw changed(object);
    const Handle created = h5::properties(H5Pcreate(H5P_DATASET_CREATE));
    h5::require(H5Pset_obj_track_times(created.get(), false));
    Handle copy = h5::dataset(H5Dcreate2(to, link.c_str(), type.get(), space.get(), H5P_DEFAULT,
                                         created.get(), H5P_DEFAULT));
    const bool copied =
        copy.valid() &&
        H5Dwrite(copy.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()) >= 0 &&
        copy.reset();
    return {copied ? Copied::kYes : Copied::kFailed};
  }

  std::optional<std::uint64_t> sum_of(const std::string&) override {
    return std::nullopt;  // Nobody needs it, because the file has checksums for all datasets.
  }

 private:
  // The largest dataset that is copied here, in bytes. For a larger one, HDF5 copies the whole
  // group, because its overhead does not matter then.
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
        // `value` lacks the spaces at the end of a text that is padded with spaces.
        return stored.padding != H5T_STR_SPACEPAD;
      case Kind::kSigned:
      case Kind::kUnsigned:  // a number of 2^63 and more was rounded to a float64
        return std::holds_alternative<std::int64_t>(*attribute.value);
      case Kind::kFloat: {  // the bits of a NaN may have changed on the way from float32 to float64
        const double value = std::get<double>(*attribute.value);
        return value == value;
      }
      case Kind::kOther:
        return false;
    }
    return false;
  }
  static bool takes_attributes(const PlainObject& object) {
    return std::ranges::all_of(object.attributes, takes_attribute);
  }

  // Returns the format that the dataset's attribute names, if the dataset is stored in the way that
  // assay stores that format.
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
      return string_type(stored.is_variable ? H5T_VARIABLE : stored.bytes,
                         static_cast<H5T_str_t>(stored.padding),
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
