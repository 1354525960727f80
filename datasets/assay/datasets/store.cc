#include "assay/datasets/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "assay/base/text.h"
#include "assay/datasets/reader.h"
#include "assay/datasets/types.h"
#include "assay/format/convert.h"

namespace assay {
namespace {

constexpr std::int64_t kSchema = 1;
constexpr std::int64_t kDefaultMaxGib = 8;

// Attributes that the schema gives a meaning; of these a wrong type is refused.
const std::vector<std::string> kStringAttributes = {"op",   "output_dtype", "standard",
                                                    "tags", "source",       "why"};
const std::vector<std::string> kNumberAttributes = {"rtol", "atol"};

std::string case_path(const std::string& name) { return "/cases/" + name; }

std::int64_t default_max_bytes() {
  std::int64_t gib = kDefaultMaxGib;
  if (const char* text = std::getenv("ASSAY_MAX_DATASET_GIB")) {
    if (const long asked = std::atol(text); asked > 0) gib = asked;
  }
  return gib << 30;
}

// HDF5 prints its error stack on standard error unless told not to.
void quiet_hdf5() {
  static std::once_flag once;
  std::call_once(once, [] { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); });
}

std::string file_error_text(const std::string& file, const std::string& object,
                            const std::string& reason) {
  return object.empty() ? format("{}: {}", file, reason)
                        : format("{}: {}: {}", file, object, reason);
}

}  // namespace

FileError::FileError(const std::string& file, const std::string& object, const std::string& reason)
    : std::runtime_error(file_error_text(file, object, reason)) {}

struct DatasetFile::Impl {
  std::string path;
  h5::Handle file;
  h5::Reader reader;

  Impl(std::string p, h5::Handle f, std::int64_t max_bytes)
      : path(std::move(p)), file(std::move(f)), reader(path, file.get(), max_bytes) {}

  // The attributes of a case, checked against the schema. Refuses a group without `op`.
  std::map<std::string, Attribute> case_attributes(const std::string& name) const {
    const std::string at = case_path(name);
    std::vector<std::string> known = kStringAttributes;
    known.insert(known.end(), kNumberAttributes.begin(), kNumberAttributes.end());
    auto attributes = reader.attributes(at, known);
    if (attributes.count("op") == 0) reader.refuse(at, "is a case without the attribute 'op'");
    for (const std::string& key : kStringAttributes) {
      const auto found = attributes.find(key);
      if (found != attributes.end() && !std::holds_alternative<std::string>(found->second)) {
        reader.refuse(at, format("its attribute '{}' must be a string", key));
      }
    }
    for (const std::string& key : kNumberAttributes) {
      const auto found = attributes.find(key);
      if (found != attributes.end() && std::holds_alternative<std::string>(found->second)) {
        reader.refuse(at, format("its attribute '{}' must be a number, not the string '{}'", key,
                                 std::get<std::string>(found->second)));
      }
    }
    const auto dtype = attributes.find("output_dtype");
    if (dtype != attributes.end() && find_format(std::get<std::string>(dtype->second)) == nullptr) {
      reader.refuse(at, format("its output_dtype '{}' is none that assay knows",
                               std::get<std::string>(dtype->second)));
    }
    return attributes;
  }

  // Collects the cases below a group; `above` holds the groups on the way, against cycles.
  void collect(const std::string& name, std::vector<std::uint64_t>& above,
               std::vector<std::string>& found) const {
    const std::string at = name.empty() ? "/cases" : case_path(name);
    const std::uint64_t address = reader.address_of(at);
    if (std::find(above.begin(), above.end(), address) != above.end()) {
      reader.refuse(at, "contains itself");
    }
    above.push_back(address);
    const bool has_op = H5Aexists_by_name(file.get(), at.c_str(), "op", H5P_DEFAULT) > 0;
    const std::vector<std::string> links = reader.links_in(at);
    if (!name.empty() && has_op) {
      if (!is_case_name(name)) refuse_name(at);
      for (const std::string& link : links) {
        const std::string inner = at + "/" + link;
        if (link == "inputs" || link == "outputs" || link == "golden") continue;
        if (reader.kind_of(inner) == h5::Reader::ObjectKind::kGroup) {
          reader.refuse(inner, "is a group inside a case; cases do not nest");
        }
      }
      found.push_back(name);
    } else {
      for (const std::string& link : links) {
        const std::string inner = name.empty() ? link : name + "/" + link;
        if (link == "inputs" || link == "outputs" || link == "golden") {
          reader.refuse(at,
                        format("has '{}' but no attribute 'op': it is a case without an op", link));
        }
        if (!is_case_name(link)) refuse_name(case_path(inner));
        if (reader.kind_of(case_path(inner)) != h5::Reader::ObjectKind::kGroup) {
          reader.refuse(case_path(inner), "is no group; only cases lie under /cases");
        }
        collect(inner, above, found);
      }
      if (links.empty() && !name.empty()) reader.refuse(at, "is a case without the attribute 'op'");
    }
    above.pop_back();
  }

  [[noreturn]] void refuse_name(const std::string& object) const {
    reader.refuse(object,
                  "is no case name: parts of letters, digits, '_', '.' and '=', none of "
                  "them inputs, outputs, golden, '.' or '..'");
  }

  // The datasets of a case's sub-group, by name; empty where there is none.
  std::vector<std::string> tensors_in(const std::string& name, const std::string& part) const {
    const std::string at = case_path(name) + "/" + part;
    if (!reader.check_path(at)) return {};
    if (reader.kind_of(at) != h5::Reader::ObjectKind::kGroup) {
      reader.refuse(at, "must be a group of datasets");
    }
    return reader.links_in(at);
  }

  // Refuses where the case is not one.
  void check_case(const std::string& name) const {
    const std::string at = case_path(name);
    if (!is_case_name(name)) refuse_name(at);
    if (!reader.check_path(at)) reader.refuse(at, "does not exist");
    if (reader.kind_of(at) != h5::Reader::ObjectKind::kGroup) reader.refuse(at, "is no group");
  }
};

DatasetFile::DatasetFile(const std::string& path, std::int64_t max_dataset_bytes) {
  quiet_hdf5();
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    throw FileError(path, "", format("cannot be opened: {}", std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) throw FileError(path, "", "is a directory, not a dataset file");
  if (!S_ISREG(status.st_mode)) throw FileError(path, "", "is not a regular file");
  if (access(path.c_str(), R_OK) != 0) {
    throw FileError(path, "", format("cannot be read: {}", std::strerror(errno)));
  }
  if (status.st_size == 0) throw FileError(path, "", "is empty (0 bytes)");
  const htri_t is_hdf5 = H5Fis_hdf5(path.c_str());
  H5Eclear2(H5E_DEFAULT);
  if (is_hdf5 <= 0) throw FileError(path, "", "is not an HDF5 file");
  h5::Handle file = h5::file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  if (!file.valid()) {
    throw FileError(path, "", format("is truncated, corrupt or locked ({})", h5::last_error()));
  }
  impl_ = std::make_unique<Impl>(path, std::move(file),
                                 max_dataset_bytes > 0 ? max_dataset_bytes : default_max_bytes());
  const auto root = impl_->reader.attributes("/", {"assay_schema"});
  const auto schema = root.find("assay_schema");
  if (schema == root.end()) {
    throw FileError(path, "/", "has no attribute 'assay_schema'; it is no dataset file of assay");
  }
  if (!std::holds_alternative<std::int64_t>(schema->second) ||
      std::get<std::int64_t>(schema->second) != kSchema) {
    throw FileError(path, "/",
                    format("has assay_schema {}; this version reads schema {}",
                           attribute_text(schema->second), kSchema));
  }
}

DatasetFile::~DatasetFile() = default;
DatasetFile::DatasetFile(DatasetFile&&) noexcept = default;
DatasetFile& DatasetFile::operator=(DatasetFile&&) noexcept = default;

const std::string& DatasetFile::path() const { return impl_->path; }

std::map<std::string, Attribute> DatasetFile::attributes() const {
  return impl_->reader.attributes("/", {});
}

std::vector<std::string> DatasetFile::case_names() const {
  if (!impl_->reader.check_path("/cases")) {
    impl_->reader.refuse("/cases", "does not exist; the file holds no cases");
  }
  if (impl_->reader.kind_of("/cases") != h5::Reader::ObjectKind::kGroup) {
    impl_->reader.refuse("/cases", "is no group");
  }
  std::vector<std::string> names;
  std::vector<std::uint64_t> above;
  impl_->collect("", above, names);
  if (names.empty()) impl_->reader.refuse("/cases", "holds no case");
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> DatasetFile::case_names(const std::string& glob) const {
  std::vector<std::string> all = case_names();
  if (glob.empty()) return all;
  std::vector<std::string> matching;
  for (const std::string& name : all) {
    if (glob_match(glob, name)) matching.push_back(name);
  }
  if (matching.empty()) {
    const std::string near = nearest_word(glob, all);
    throw FileError(path(), "",
                    format("no case matches '{}'{}; it has {} case{}, the first is '{}'", glob,
                           near.empty() ? "" : format(" (did you mean '{}'?)", near), all.size(),
                           all.size() == 1 ? "" : "s", all.front()));
  }
  return matching;
}

bool DatasetFile::has_case(const std::string& name) const {
  return is_case_name(name) && impl_->reader.check_path("/cases") &&
         H5Lexists(impl_->file.get(), "/cases", H5P_DEFAULT) > 0 && [&] {
           // A missing group on the way is a missing case, not an error.
           std::string at = "/cases";
           for (const std::string& part : split(name, '/')) {
             at += "/" + part;
             if (!impl_->reader.check_path(at)) return false;
           }
           return true;
         }();
}

Case DatasetFile::read(const std::string& name, const ReadOptions& what) const {
  impl_->check_case(name);
  Case c;
  c.name = name;
  c.file = path();
  c.attributes = impl_->case_attributes(name);
  c.op = std::get<std::string>(c.attributes.at("op"));
  c.attributes.erase("op");
  const std::string at = case_path(name);
  if (what.inputs) {
    for (const std::string& operand : impl_->tensors_in(name, "inputs")) {
      c.inputs.emplace(operand, impl_->reader.read_tensor(at + "/inputs/" + operand));
    }
  }
  if (what.golden && impl_->reader.check_path(at + "/golden")) {
    c.golden = impl_->reader.read_tensor(at + "/golden");
  }
  if (what.outputs) {
    for (const std::string& producer : impl_->tensors_in(name, "outputs")) {
      c.outputs.emplace(producer, impl_->reader.read_tensor(at + "/outputs/" + producer));
    }
  }
  return c;
}

Tensor DatasetFile::read_output(const std::string& name, const std::string& producer) const {
  impl_->check_case(name);
  const std::vector<std::string> producers = impl_->tensors_in(name, "outputs");
  if (std::find(producers.begin(), producers.end(), producer) == producers.end()) {
    impl_->reader.refuse(case_path(name), format("has no recorded output of '{}'; it has {}",
                                                 producer, joined(producers)));
  }
  return impl_->reader.read_tensor(case_path(name) + "/outputs/" + producer);
}

CaseInfo DatasetFile::info(const std::string& name) const {
  impl_->check_case(name);
  CaseInfo info;
  info.name = name;
  info.attributes = impl_->case_attributes(name);
  info.op = std::get<std::string>(info.attributes.at("op"));
  info.attributes.erase("op");
  const std::string at = case_path(name);
  for (const std::string& operand : impl_->tensors_in(name, "inputs")) {
    info.inputs.emplace(operand, impl_->reader.tensor_info(at + "/inputs/" + operand));
  }
  for (const std::string& producer : impl_->tensors_in(name, "outputs")) {
    info.outputs.emplace(producer, impl_->reader.tensor_info(at + "/outputs/" + producer));
  }
  if (impl_->reader.check_path(at + "/golden")) {
    info.golden = impl_->reader.tensor_info(at + "/golden");
  }
  return info;
}

// ------------------------------------------------------------------------------------ writing

struct DatasetWriter::Impl {
  std::string path, temporary;
  bool compress;
  h5::Handle file;
  bool has_schema = false;

  [[noreturn]] void fail(const std::string& object, const std::string& what) {
    const std::string detail = h5::last_error();
    // Disk full and its kind: errno still says what HDF5 met.
    throw FileError(path, object,
                    format("{}{}", what, detail.empty() ? "" : format(" ({})", detail)));
  }

  void write_attribute(const std::string& object, const std::string& name, const Attribute& value) {
    const h5::Handle at = h5::object(H5Oopen(file.get(), object.c_str(), H5P_DEFAULT));
    if (!at.valid()) fail(object, "cannot be opened for writing");
    if (H5Aexists(at.get(), name.c_str()) > 0) H5Adelete(at.get(), name.c_str());
    const h5::Handle scalar = h5::space(H5Screate(H5S_SCALAR));
    h5::Handle type;
    const void* data = nullptr;
    if (const auto* text = std::get_if<std::string>(&value)) {
      type = h5::type(H5Tcopy(H5T_C_S1));
      H5Tset_size(type.get(), std::max<std::size_t>(text->size(), 1));
      H5Tset_cset(type.get(), H5T_CSET_UTF8);
      H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
      data = text->c_str();
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      type = h5::type(H5Tcopy(H5T_STD_I64LE));
      data = integer;
    } else {
      type = h5::type(H5Tcopy(H5T_IEEE_F64LE));
      data = &std::get<double>(value);
    }
    const h5::Handle attr = h5::attribute(
        H5Acreate2(at.get(), name.c_str(), type.get(), scalar.get(), H5P_DEFAULT, H5P_DEFAULT));
    if (!attr.valid() || H5Awrite(attr.get(), type.get(), data) < 0) {
      fail(object, format("attribute '{}' cannot be written", name));
    }
  }

  h5::Handle with_parents() const {
    h5::Handle links = h5::properties(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_create_intermediate_group(links.get(), 1);
    return links;
  }

  void write_tensor(const std::string& object, const TensorView& view) {
    const Tensor packed = view.is_contiguous() ? Tensor() : copy_of(view);
    const std::byte* data = packed.empty() ? view.data : packed.bytes();
    std::vector<hsize_t> extents;
    for (const std::int64_t extent : view.shape) extents.push_back(static_cast<hsize_t>(extent));
    const h5::Handle space = extents.empty()
                                 ? h5::space(H5Screate(H5S_SCALAR))
                                 : h5::space(H5Screate_simple(static_cast<int>(extents.size()),
                                                              extents.data(), nullptr));
    const h5::Handle type = h5::stored_type(*view.format);
    const h5::Handle created = h5::properties(H5Pcreate(H5P_DATASET_CREATE));
    if (compress && view.size() >= 1024) {
      // Whole leading slices, about a megabyte a chunk.
      std::vector<hsize_t> chunk = extents;
      hsize_t bytes = static_cast<hsize_t>(view.size() * view.format->storage_bytes);
      for (std::size_t d = 0; d < chunk.size() && bytes > (1 << 20); ++d) {
        while (chunk[d] > 1 && bytes > (1 << 20)) {
          chunk[d] = (chunk[d] + 1) / 2;
          bytes = (bytes + 1) / 2;
        }
      }
      H5Pset_chunk(created.get(), static_cast<int>(chunk.size()), chunk.data());
      H5Pset_shuffle(created.get());
      H5Pset_deflate(created.get(), 6);
    }
    const h5::Handle links = with_parents();
    if (H5Lexists(file.get(), object.substr(0, object.rfind('/')).c_str(), H5P_DEFAULT) > 0 &&
        H5Lexists(file.get(), object.c_str(), H5P_DEFAULT) > 0) {
      H5Ldelete(file.get(), object.c_str(), H5P_DEFAULT);
    }
    H5Eclear2(H5E_DEFAULT);
    const h5::Handle dataset =
        h5::dataset(H5Dcreate2(file.get(), object.c_str(), type.get(), space.get(), links.get(),
                               created.get(), H5P_DEFAULT));
    if (!dataset.valid()) fail(object, "cannot be created");
    if (view.size() > 0 &&
        H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
      fail(object, "cannot be written; is the disk full?");
    }
    write_attribute(object, "dtype", std::string(view.format->name));
  }

  void check_name(const std::string& name) {
    if (!is_case_name(name)) {
      throw FileError(path, case_path(name),
                      "is no case name: parts of letters, digits, '_', '.' and '='");
    }
  }
};

DatasetWriter::DatasetWriter(const std::string& path, bool compress) {
  quiet_hdf5();
  impl_ = std::make_unique<Impl>();
  impl_->path = path;
  impl_->compress = compress;
  impl_->temporary = format("{}.tmp.{}", path, getpid());
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    throw FileError(path, "", "is a directory; name a file to write");
  }
  // A plain open says in the system's words why a file cannot be made; HDF5's are longer.
  const int fd = open(impl_->temporary.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0666);
  if (fd < 0) throw FileError(path, "", format("cannot be written: {}", std::strerror(errno)));
  close(fd);
  const h5::Handle access = h5::properties(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_V110);
  impl_->file =
      h5::file(H5Fcreate(impl_->temporary.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
  if (!impl_->file.valid()) {
    std::remove(impl_->temporary.c_str());
    impl_->fail("", "cannot be created");
  }
  impl_->write_attribute("/", "assay_schema", kSchema);
  const h5::Handle cases =
      h5::group(H5Gcreate2(impl_->file.get(), "/cases", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

DatasetWriter::~DatasetWriter() {
  if (!impl_ || !impl_->file.valid()) return;
  impl_->file.reset();
  std::remove(impl_->temporary.c_str());
}

void DatasetWriter::write_attributes(const std::map<std::string, Attribute>& attributes) {
  for (const auto& [name, value] : attributes) {
    if (name != "assay_schema") impl_->write_attribute("/", name, value);
  }
}

void DatasetWriter::write(const Case& c) {
  impl_->check_name(c.name);
  const std::string at = case_path(c.name);
  const h5::Handle links = impl_->with_parents();
  {
    const h5::Handle group =
        h5::group(H5Gcreate2(impl_->file.get(), at.c_str(), links.get(), H5P_DEFAULT, H5P_DEFAULT));
    if (!group.valid()) impl_->fail(at, "cannot be created (is it there already?)");
  }
  impl_->write_attribute(at, "op", c.op.empty() ? std::string("external") : c.op);
  for (const auto& [name, value] : c.attributes) impl_->write_attribute(at, name, value);
  for (const auto& [name, tensor] : c.inputs) {
    impl_->write_tensor(at + "/inputs/" + name, tensor.view());
  }
  if (c.golden) put_golden(c.name, c.golden->view());
  for (const auto& [name, tensor] : c.outputs) put_output(c.name, name, tensor.view());
}

void DatasetWriter::copy(const DatasetFile& from, const std::string& name) {
  impl_->check_name(name);
  const h5::Handle links = impl_->with_parents();
  const h5::Handle how = h5::properties(H5Pcreate(H5P_OBJECT_COPY));
  H5Pset_copy_object(how.get(), H5O_COPY_EXPAND_SOFT_LINK_FLAG);
  const std::string at = case_path(name);
  if (H5Ocopy(from.impl_->file.get(), at.c_str(), impl_->file.get(), at.c_str(), how.get(),
              links.get()) < 0) {
    impl_->fail(at, format("cannot be copied from {}; is the disk full?", from.path()));
  }
}

void DatasetWriter::put_output(const std::string& name, const std::string& producer,
                               const TensorView& tensor,
                               const std::map<std::string, std::string>& attributes) {
  const std::string at = case_path(name) + "/outputs/" + producer;
  if (!is_case_name(producer) || producer.find('/') != std::string::npos) {
    throw FileError(impl_->path, at, "is no name of a producer: letters, digits, '_', '.' and '='");
  }
  impl_->write_tensor(at, tensor);
  for (const auto& [key, value] : attributes) impl_->write_attribute(at, key, value);
}

void DatasetWriter::put_golden(const std::string& name, const TensorView& tensor) {
  impl_->write_tensor(case_path(name) + "/golden", tensor);
}

void DatasetWriter::put_attribute(const std::string& name, const std::string& attribute,
                                  const Attribute& value) {
  impl_->write_attribute(case_path(name), attribute, value);
}

void DatasetWriter::commit() {
  const std::string& temporary = impl_->temporary;
  if (H5Fflush(impl_->file.get(), H5F_SCOPE_LOCAL) < 0 || !impl_->file.reset()) {
    impl_->file.reset();
    std::remove(temporary.c_str());
    impl_->fail("", "cannot be written; is the disk full?");
  }
  const int fd = open(temporary.c_str(), O_RDONLY);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (!synced || std::rename(temporary.c_str(), impl_->path.c_str()) != 0) {
    const int reason = synced ? errno : error;
    std::remove(temporary.c_str());
    throw FileError(impl_->path, "", format("cannot be written: {}", std::strerror(reason)));
  }
}

std::string hdf5_version() {
  unsigned major, minor, release;
  H5get_libversion(&major, &minor, &release);
  return format("{}.{}.{}", major, minor, release);
}

}  // namespace assay
