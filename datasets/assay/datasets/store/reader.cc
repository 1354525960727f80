#include "assay/datasets/store/reader.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <new>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/checks/size_cap.h"
#include "assay/datasets/store/attribute_value.h"
#include "assay/datasets/store/chunks.h"
#include "assay/datasets/store/open_dataset.h"
#include "assay/datasets/store/read_driver.h"
#include "assay/datasets/store/types.h"

namespace assay::inline v0_2::h5 {
namespace {

constexpr int kMaxSoftLinks = 16;  // the most soft links on the path to an object, as in HDF5
// Limits on the objects that a reader keeps.
constexpr std::size_t kMaxFound = 1024, kMaxGroups = 8, kMaxOpened = 8;

}  // namespace

void Reader::refuse(const std::string& object, const std::string& reason) const {
  H5Eclear2(H5E_DEFAULT);
  throw FileError(path_, object, reason);
}

void Reader::refuse_changed(const std::string& object, const std::string& what) const {
  refuse(object, formatted("{}, because the checksum that assay wrote differs; the file was "
                           "damaged or changed; give --trust to read it as it is",
                           what));
}

void Reader::read_checksums(const std::string& said) {
  const std::string identity = opened_file_ != nullptr ? opened_file_->identity() : "";
  const bool may_share = !identity.empty() && !said.empty();
  const std::string file = identity + " " + said;
  if (auto shared = may_share ? ChecksumTable::shared(file) : std::nullopt) {
    checksums_ = *std::move(shared);
    return;
  }
  const bool has_table = check_path(kChecksums);
  if (!has_table && said.empty()) return;
  if (!has_table || said.empty()) {
    refuse(kChecksums,
           "must exist together with the attribute assay_checksums, but one of the two is missing; "
           "the file is damaged");
  }
  // The limit on datasets that the caller gave does not apply to the table of checksums. The
  // default limit does.
  const std::int64_t cap = std::exchange(max_bytes_, dataset_size_cap());
  const auto table = std::make_shared<const Tensor>(read_tensor(kChecksums));
  max_bytes_ = cap;
  const std::string_view text(reinterpret_cast<const char*>(table->bytes()),
                              static_cast<std::size_t>(table->size()));
  const bool as_said = table->format().name == "uint8" && table_sum(text) == said;
  auto sums = as_said ? ChecksumTable::of(table, text) : std::nullopt;
  if (!sums) {
    refuse(kChecksums, "does not match its own checksum, assay_checksums; the file is damaged");
  }
  checksums_ = *std::move(sums);
  if (may_share) checksums_.share(file);
}

void Reader::check_attribute(const std::string& object, const std::string& name,
                             const Attribute& value) const {
  if (checksums_.lines().empty() || checksums_.agrees(object + "@" + name, sum_of(value))) return;
  refuse_changed(object, formatted("its attribute '{}' is not what was written", name));
}

void Reader::note_found(const std::string& path) const {
  if (found_.size() >= kMaxFound) found_.clear();
  found_.emplace(path, std::nullopt);
}

PlainObjects::Found Reader::find_plain(const std::string& object) const {
  return plain_ != nullptr ? plain_->find(object) : PlainObjects::Found{};
}

hid_t Reader::file() const {
  if (file_ < 0 && opened_file_ == nullptr) throw NeedsHdf5();
  if (file_ < 0) file_ = opened_file_->hdf5();
  return file_;
}

// Returns where HDF5 begins to walk to an object. HDF5 walks every path from its beginning and
// looks up each part in its group, so walking from a group that is kept open is faster.
Reader::Start Reader::start_of(const std::string& object) const {
  (void)file();
  if (before_hdf5_) {
    before_hdf5_();
    before_hdf5_ = nullptr;
  }
  const std::size_t slash = object.rfind('/');
  if (slash != std::string::npos && slash > 0 && slash + 1 < object.size()) {
    const hid_t group = kept_group(object.substr(0, slash));
    if (group >= 0) return {group, object.c_str() + slash + 1};
  }
  return {file_, object.c_str()};
}

// Returns the group at a path and keeps it open. Returns an invalid handle if there is no group, or
// if its path is not known to consist of hard links.
hid_t Reader::kept_group(const std::string& path) const {
  const auto kept =
      std::ranges::find_if(groups_, [&](const auto& group) { return group.first == path; });
  if (kept != groups_.end()) {
    std::rotate(kept, kept + 1, groups_.end());  // the group that was used last is the last element
    return groups_.back().second.get();
  }
  if (found_.count(path) == 0 || kind_of(path) != ObjectKind::kGroup) return H5I_INVALID_HID;
  const Start start = start_of(path);
  Handle group = h5::group(H5Gopen2(start.at, start.name, H5P_DEFAULT));
  if (!group.valid()) refuse(path, damaged("is no group that can be opened"));
  if (groups_.size() >= kMaxGroups) groups_.erase(groups_.begin());
  return groups_.emplace_back(path, std::move(group)).second.get();
}

bool Reader::check_path(const std::string& object) const {
  const PlainObjects::Answer plain = find_plain(object).answer;
  if (plain != PlainObjects::Answer::kUnknown) return plain == PlainObjects::Answer::kYes;
  quiet_hdf5();  // HDF5's printing is switched off for each thread, here for the calling one
  if (found_.count(object) != 0) return true;
  const std::vector<std::string> given = split(object, '/');
  std::deque<std::string> ahead(given.begin(), given.end());
  std::string at;  // The path so far, which consists of hard links.
  int soft_links = 0;
  std::size_t of_target = 0;  // the number of parts in `ahead` that come from a soft link
  std::string target;         // the path to which the last soft link leads
  while (!ahead.empty()) {
    const std::string part = ahead.front();
    ahead.pop_front();
    const bool in_target = of_target > 0;
    if (in_target) --of_target;
    if (part == ".") continue;  // HDF5's name for the group itself; HDF5 has no ".."
    const std::string next = at + "/" + part;
    if (found_.count(next) != 0) {
      at = next;
      continue;
    }
    H5L_info_t info;
    const Start start = start_of(next);
    if (H5Lget_info(start.at, start.name, &info, H5P_DEFAULT) < 0) {
      H5Eclear2(H5E_DEFAULT);
      const htri_t exists = H5Lexists(start.at, start.name, H5P_DEFAULT);
      if (exists < 0 && (at.empty() || kind_of(at) == ObjectKind::kGroup)) {
        refuse(object, damaged("cannot be looked up"));
      }
      if (exists > 0) refuse(object, damaged("its link cannot be read"));
      H5Eclear2(H5E_DEFAULT);
      if (in_target)
        refuse(object, formatted("is a soft link to {}, which does not exist", target));
      return false;
    }
    const std::string via = next == object ? "is" : formatted("leads to {},", next);
    if (info.type == H5L_TYPE_HARD) {
      at = next;
      note_found(at);
    } else if (info.type == H5L_TYPE_SOFT) {
      if (++soft_links > kMaxSoftLinks)
        refuse(object, "is a soft link that leads through too many other links, or to itself");
      target.assign(info.u.val_size + 1, '\0');
      if (H5Lget_val(start.at, start.name, target.data(), target.size(), H5P_DEFAULT) < 0) {
        refuse(object, damaged("its soft link cannot be read"));
      }
      target.resize(std::strlen(target.c_str()));
      if (target.starts_with("/")) at.clear();
      const std::vector<std::string> parts = split(target, '/');
      ahead.insert(ahead.begin(), parts.begin(), parts.end());
      of_target += parts.size();
    } else if (info.type == H5L_TYPE_EXTERNAL) {
      refuse(object, formatted("{} an external link; a dataset file must hold all its data", via));
    } else {
      refuse(
          object,
          formatted("{} a link of an unknown, user-defined kind; only hard and soft links are read",
                    via));
    }
  }
  return true;
}

Reader::ObjectKind Reader::kind_of(const std::string& object) const {
  if (const auto plain = find_plain(object).object) {
    return plain->is_group ? ObjectKind::kGroup : ObjectKind::kDataset;
  }
  const auto found = found_.find(object);
  if (found != found_.end() && found->second) return *found->second;
  H5O_info_t info;
  const Start start = start_of(object);
  if (H5Oget_info_by_name2(start.at, start.name, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
    refuse(object, damaged("cannot be opened"));
  }
  const ObjectKind kind = info.type == H5O_TYPE_GROUP     ? ObjectKind::kGroup
                          : info.type == H5O_TYPE_DATASET ? ObjectKind::kDataset
                                                          : ObjectKind::kOther;
  if (found != found_.end()) found->second = kind;
  return kind;
}

bool Reader::has_attribute(const std::string& object, const char* name) const {
  if (const auto plain = find_plain(object).object) return plain->find_attribute(name) != nullptr;
  const Start start = start_of(object);
  const htri_t has = H5Aexists_by_name(start.at, start.name, name, H5P_DEFAULT);
  if (has < 0) refuse(object, damaged("its attributes cannot be read"));
  return has > 0;
}

std::uint64_t Reader::address_of(const std::string& object) const {
  if (const auto plain = find_plain(object).object) return plain->address;
  H5O_info_t info;
  const Start start = start_of(object);
  if (H5Oget_info_by_name2(start.at, start.name, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
    refuse(object, damaged("cannot be opened"));
  }
  return info.addr;
}

StoredPlace Reader::place_of(const std::string& object) const {
  StoredPlace place = file_place(path_);
  const auto plain = find_plain(object).object;
  if (plain != nullptr && !plain->is_group && !plain->is_compact) {
    place.begin = static_cast<std::int64_t>(plain->data);
    place.size = element_count(plain->shape) * static_cast<std::int64_t>(plain->element_bytes);
    return place;
  }
  const Start start = start_of(object);
  const Handle dataset = h5::dataset(H5Dopen2(start.at, start.name, H5P_DEFAULT));
  const haddr_t data = dataset.valid() ? H5Dget_offset(dataset.get()) : HADDR_UNDEF;
  H5Eclear2(H5E_DEFAULT);
  if (data == HADDR_UNDEF) {
    place.begin = -1 - static_cast<std::int64_t>(address_of(object));
    place.size = 0;
  } else {
    place.begin = static_cast<std::int64_t>(data);
    place.size = static_cast<std::int64_t>(H5Dget_storage_size(dataset.get()));
  }
  return place;
}

std::vector<std::string> Reader::links_in(const std::string& group_path) const {
  if (const auto plain = plain_ != nullptr ? plain_->links_in(group_path) : nullptr) {
    return keys_of(*plain);
  }
  hid_t group = kept_group(group_path);
  Handle opened;
  if (group < 0) {
    const Start start = start_of(group_path);
    opened = h5::group(H5Gopen2(start.at, start.name, H5P_DEFAULT));
    if (!opened.valid()) refuse(group_path, damaged("is no group that can be opened"));
    group = opened.get();
  }
  struct Link {
    std::string name;
    bool hard;
  };
  std::vector<Link> links;
  const herr_t done = H5Literate(
      group, H5_INDEX_NAME, H5_ITER_INC, nullptr,
      [](hid_t, const char* name, const H5L_info_t* info, void* out) -> herr_t {
        static_cast<std::vector<Link>*>(out)->push_back({name, info->type == H5L_TYPE_HARD});
        return 0;
      },
      &links);
  if (done < 0) refuse(group_path, damaged("its links cannot be read"));
  const bool known = found_.count(group_path) != 0;
  std::vector<std::string> names;
  for (const Link& link : links) {
    const std::string path = group_path + "/" + link.name;
    if (!link.hard) {
      check_path(path);
    } else if (known) {
      note_found(path);
    }
    names.push_back(link.name);
  }
  return names;
}

std::optional<Attribute> Reader::read_attribute(const std::string& object, const std::string& name,
                                                hid_t attr) const {
  bool ok = true;
  if (heap_ == nullptr) heap_ = &heap_of(file());
  std::optional<Attribute> value = attribute_value(attr, *heap_, ok);
  if (!ok) refuse(object, damaged(formatted("its attribute '{}' cannot be read", name)));
  return value;
}

std::vector<std::string> Reader::names_of_attributes(const std::string& object_path,
                                                     hid_t object) const {
  std::vector<std::string> names;
  const herr_t done = H5Aiterate2(
      object, H5_INDEX_NAME, H5_ITER_INC, nullptr,
      [](hid_t, const char* name, const H5A_info_t*, void* out) -> herr_t {
        static_cast<std::vector<std::string>*>(out)->emplace_back(name);
        return 0;
      },
      &names);
  if (done < 0) refuse(object_path, damaged("its attributes cannot be read"));
  check_all_attributes_are_there(object_path, names);
  return names;
}

void Reader::check_all_attributes_are_there(const std::string& object_path,
                                            const std::vector<std::string>& names) const {
  const std::string prefix = object_path + "@";
  for (const ChecksumTable::Line& line : checksums_.beginning_with(prefix)) {
    const std::string_view name = line.name.substr(prefix.size());
    if (!contains(names, name)) {
      refuse_changed(object_path, formatted("its attribute '{}' is missing", name));
    }
  }
}

std::vector<std::string> Reader::attribute_names(const std::string& object_path) const {
  if (const auto plain = find_plain(object_path).object) {
    std::vector<std::string> names = names_of(plain->attributes);
    check_all_attributes_are_there(object_path, names);
    return names;
  }
  const Start start = start_of(object_path);
  const Handle object = h5::object(H5Oopen(start.at, start.name, H5P_DEFAULT));
  if (!object.valid()) refuse(object_path, damaged("cannot be opened"));
  return names_of_attributes(object_path, object.get());
}

std::map<std::string, Attribute> Reader::attributes(const std::string& object_path,
                                                    const std::vector<std::string>& required,
                                                    std::vector<std::string>* all_names) const {
  std::map<std::string, Attribute> values;
  std::vector<std::string> names;
  if (const auto plain = find_plain(object_path).object) {
    names = attribute_names(object_path);
    for (const auto& attribute : plain->attributes) {
      add_attribute(object_path, attribute.name, attribute.value, required, values);
    }
  } else {
    const Start start = start_of(object_path);
    const Handle object = h5::object(H5Oopen(start.at, start.name, H5P_DEFAULT));
    if (!object.valid()) refuse(object_path, damaged("cannot be opened"));
    names = names_of_attributes(object_path, object.get());
    for (const std::string& name : names) {
      const Handle attr = h5::attribute(H5Aopen(object.get(), name.c_str(), H5P_DEFAULT));
      if (!attr.valid()) {
        refuse(object_path, damaged(formatted("its attribute '{}' cannot be opened", name)));
      }
      add_attribute(object_path, name, read_attribute(object_path, name, attr.get()), required,
                    values);
    }
  }
  if (all_names != nullptr) *all_names = std::move(names);
  return values;
}

void Reader::add_attribute(const std::string& object, const std::string& name,
                           std::optional<Attribute> value, const std::vector<std::string>& required,
                           std::map<std::string, Attribute>& values) const {
  if (value) {
    check_attribute(object, name, *value);
    values.emplace(name, std::move(*value));
  } else if (checksums_.has(object + "@" + name)) {
    refuse_changed(object, formatted("its attribute '{}' is not what was written", name));
  } else if (contains(required, name)) {
    refuse(object,
           formatted("its attribute '{}' must be one value: a UTF-8 string, a number or a bool",
                     name));
  }
}

// ------------------------------------------------------------------------------------- datasets

std::optional<Reader::OpenDataset> Reader::open_plain(const std::string& object) const {
  OpenDataset opened;
  opened.plain = find_plain(object).object;
  if (opened.plain == nullptr || opened.plain->is_group) return std::nullopt;
  const auto* dtype = opened.plain->find_attribute("dtype");
  if (dtype == nullptr || !dtype->value) return std::nullopt;
  const auto* name = std::get_if<std::string>(&*dtype->value);
  opened.format = name != nullptr ? find_format(*name) : nullptr;
  if (opened.format == nullptr) return std::nullopt;
  const std::optional<bool> swapped = match_message(opened.plain->type, *opened.format);
  const auto width = static_cast<std::uint64_t>(opened.format->storage_bytes);
  opened.shape = opened.plain->shape;
  if (!swapped || opened.plain->element_bytes != width ||
      element_count(opened.shape) > max_bytes_ / opened.format->storage_bytes) {
    return std::nullopt;
  }
  check_attribute(object, "dtype", *dtype->value);
  opened.swap_bytes = *swapped;
  return opened;
}

// Reads the elements [begin, begin + count). Returns why they cannot be read, or an empty string on
// success. `found` counts stored chunks, as in read_stored_range().
std::string Reader::read_elements(const OpenDataset& opened, std::int64_t begin, std::int64_t count,
                                  std::byte* to, std::uint64_t& found) const {
  if (opened.plain == nullptr) return read_stored_range(opened.stored(), begin, count, to, found);
  const auto width = static_cast<std::uint64_t>(opened.format->storage_bytes);
  const bool read = plain_->read(*opened.plain, static_cast<std::uint64_t>(begin) * width,
                                 static_cast<std::size_t>(count) * width, to);
  return read ? "" : kCannotRead;
}

Handle Reader::checked_properties(const std::string& object, hid_t dataset) const {
  Handle created = h5::properties(H5Dget_create_plist(dataset));
  if (!created.valid()) refuse(object, damaged("its properties cannot be read"));
  const std::string why = storage_problem(dataset, created.get(), max_bytes_);
  if (!why.empty()) refuse(object, why);
  return created;
}

const Format& Reader::format_of(const std::string& object, hid_t dataset) const {
  const Handle attr = h5::attribute(H5Aopen(dataset, "dtype", H5P_DEFAULT));
  if (!attr.valid()) {
    refuse(object, H5Aexists(dataset, "dtype") > 0
                       ? damaged("its attribute 'dtype' cannot be opened")
                       : "has no attribute 'dtype'");
  }
  const auto dtype = read_attribute(object, "dtype", attr.get());
  if (!dtype) {
    refuse(object, "its attribute 'dtype' must be one value: a UTF-8 string, a number or a bool");
  }
  const auto* name = std::get_if<std::string>(&*dtype);
  if (name == nullptr) refuse(object, "its attribute 'dtype' must be a string");
  check_attribute(object, "dtype", *dtype);
  const Format* f = find_format(*name);
  if (f == nullptr) {
    refuse(object, "its dtype " + no_dtype(*name));
  }
  return *f;
}

Shape Reader::shape_of(const std::string& object, hid_t dataset, const Format& f) const {
  const Handle space = h5::space(H5Dget_space(dataset));
  const H5S_class_t kind = H5Sget_simple_extent_type(space.get());
  if (kind == H5S_NULL) refuse(object, "has no data (null space)");
  hsize_t extents[H5S_MAX_RANK];
  const int rank = H5Sget_simple_extent_dims(space.get(), extents, nullptr);
  if (kind == H5S_NO_CLASS || rank < 0) refuse(object, damaged("its shape cannot be read"));
  // The size is compared with the limit as if extents of 0 were 1, because the product of the other
  // extents must fit into an integer, too.
  double bytes = f.storage_bytes;
  for (int d = 0; d < rank; ++d) {
    bytes *= static_cast<double>(std::max<hsize_t>(extents[d], 1));
  }
  if (bytes > static_cast<double>(max_bytes_)) {
    refuse(
        object,
        formatted(
            "declares {:.0f} bytes, over the reader's cap of {}; ASSAY_MAX_DATASET_GIB raises it",
            bytes, max_bytes_));
  }
  hsize_t size = 0;
  if (H5Fget_filesize(file(), &size) >= 0 && bytes > most_declared(size)) {
    refuse(object, formatted("declares {:.0f} bytes, more than a file of {} bytes can hold", bytes,
                             static_cast<std::int64_t>(size)));
  }
  return Shape(extents, extents + rank);
}

Reader::OpenDataset Reader::open_tensor(const std::string& object, const std::string* dtype) const {
  if (!check_path(object)) refuse(object, "does not exist");
  if (dtype == nullptr) {
    if (auto plain = open_plain(object)) return std::move(*plain);
  }
  OpenDataset opened;
  const Start start = start_of(object);
  opened.dataset = h5::dataset(H5Dopen2(start.at, start.name, H5P_DEFAULT));
  if (!opened.dataset.valid()) {
    const bool was_damaged = damage_was_seen();
    const std::string why = damaged("cannot be opened");
    if (kind_of(object) == ObjectKind::kDataset) refuse(object, why);
    if (!was_damaged) forget_damage();
    refuse(object, "must be a dataset");
  }
  const hid_t dataset = opened.dataset.get();
  // The creation properties are checked first, so that nothing is read from a source outside the
  // file.
  opened.created = checked_properties(object, dataset);
  opened.type = h5::type(H5Dget_type(dataset));
  const bool unsaid = dtype != nullptr && H5Aexists(dataset, "dtype") <= 0;
  opened.format = unsaid ? format_of_type(opened.type.get(), *dtype) : &format_of(object, dataset);
  if (opened.format == nullptr) {
    refuse(object, why_no_format(opened.type.get(), *dtype));
  }
  const TypeMatch match = match_type(opened.type.get(), *opened.format);
  if (!match.ok) refuse(object, match.why_not);
  opened.swap_bytes = match.swap_bytes;
  opened.shape = shape_of(object, dataset, *opened.format);
  return opened;
}

std::shared_ptr<const Reader::OpenDataset> Reader::open_tensor(const std::string& object) const {
  for (const auto& [name, opened] : opened_) {
    if (name == object) return opened;
  }
  auto opened = std::make_shared<const OpenDataset>(open_tensor(object, nullptr));
  if (opened_.size() >= kMaxOpened) opened_.erase(opened_.begin());
  opened_.emplace_back(object, opened);
  return opened;
}

bool Reader::is_absent(const std::string& object) const {
  if (!checksums_.has(object + "@absent")) {
    if (const auto plain = find_plain(object).object) {
      if (plain->find_attribute("absent") == nullptr) return false;
    } else {
      const Start start = start_of(object);
      const htri_t said = H5Aexists_by_name(start.at, start.name, "absent", H5P_DEFAULT);
      H5Eclear2(H5E_DEFAULT);
      if (said <= 0) return false;
    }
  }
  const auto attributes_here = attributes(object, {"absent"});
  const auto* flag = std::get_if<std::int64_t>(&attributes_here.at("absent"));
  if (flag == nullptr || (*flag != 0 && *flag != 1)) {
    refuse(object, formatted("its attribute 'absent' must be a bool, but it is '{}'",
                             attribute_text(attributes_here.at("absent"))));
  }
  if (*flag == 0) return false;
  if (kind_of(object) != ObjectKind::kDataset) refuse(object, "must be a dataset");
  const Start start = start_of(object);
  const Handle dataset = h5::dataset(H5Dopen2(start.at, start.name, H5P_DEFAULT));
  if (!dataset.valid()) refuse(object, damaged("cannot be opened"));
  (void)checked_properties(object, dataset.get());
  const Handle space = h5::space(H5Dget_space(dataset.get()));
  if (H5Sget_simple_extent_npoints(space.get()) != 0) {
    refuse(object, "has the attribute 'absent', but also has elements; remove one of the two");
  }
  return true;
}

ArrayInfo Reader::tensor_info(const std::string& object) const {
  const auto opened = open_tensor(object);
  return {.dtype = std::string(opened->format->name), .shape = opened->shape};
}

void Reader::look_at_opened(const OpenDataset& opened) {
  if (opened.plain == nullptr) look_at_chunks(opened.stored());
}

void Reader::look_at_tensor(const std::string& object) const {
  look_at_opened(*open_tensor(object));
}

void Reader::look_at_any(const std::string& object, const std::string& dtype) const {
  look_at_opened(open_tensor(object, &dtype));
}

Tensor Reader::read_tensor(const std::string& object) const {
  const auto held = open_tensor(object);
  const OpenDataset& opened = *held;
  const Format& f = *opened.format;
  const double bytes =
      static_cast<double>(element_count(opened.shape)) * static_cast<double>(f.storage_bytes);
  Tensor tensor;
  try {
    tensor = Tensor(f, opened.shape);
    std::uint64_t found = 0;
    const std::string why =
        read_elements(opened, 0, element_count(opened.shape), tensor.bytes(), found);
    if (!why.empty()) refuse(object, why);
  } catch (const std::bad_alloc&) {
    refuse(object, formatted("needs {:.0f} bytes of memory, more than there are", bytes));
  }
  if (opened.swap_bytes) swap_bytes(f, tensor.bytes(), tensor.size());
  to_codes(f, tensor.bytes(), tensor.size());
  const auto sum = checksums_.find(object);
  if (sum && *sum != sum_of(tensor.view())) {
    refuse_changed(object, "its elements are not those that were written");
  }
  if (const std::string why = invalid_element(tensor); !why.empty()) refuse(object, why);
  return tensor;
}

}  // namespace assay::h5
