#include "assay/datasets/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "assay/base/text.h"
#include "assay/datasets/reader.h"
#include "assay/datasets/store.h"
#include "assay/datasets/types.h"
#include "assay/datasets/write_driver.h"

namespace assay {
namespace {

constexpr std::int64_t kSchema = 1;
constexpr hsize_t kChunkBytes = 1 << 20;       // of a compressed dataset, about
constexpr std::int64_t kMinCompressed = 1024;  // elements; fewer are not worth a chunk

std::string case_path(const std::string& name) { return "/cases/" + name; }

}  // namespace

struct DatasetWriter::Impl {
  std::string path, temporary;
  bool compress;
  int disk_error = 0;  // errno of the first write that failed
  bool committed = false;
  int set_aside = 0;  // objects that were replaced
  h5::Handle file;

  ~Impl() {
    if (committed) return;
    file.reset();
    std::remove(temporary.c_str());
  }

  void check_disk() const {
    if (disk_error != 0) {
      throw FileError(path, "", format("cannot be written: {}", std::strerror(disk_error)));
    }
  }

  [[noreturn]] void fail(const std::string& object, const std::string& what) const {
    const std::string detail = h5::last_error();
    check_disk();  // the reason of all that follows it
    throw FileError(path, object, what + (detail.empty() ? "" : " (" + detail + ")"));
  }

  bool exists(const std::string& object) const {
    const bool found = H5Lexists(file.get(), object.c_str(), H5P_DEFAULT) > 0;
    H5Eclear2(H5E_DEFAULT);
    return found;
  }

  void write_attribute(const std::string& object, const std::string& name, const Attribute& value) {
    const h5::Handle at = h5::object(H5Oopen(file.get(), object.c_str(), H5P_DEFAULT));
    if (!at.valid()) fail(object, "cannot be opened for writing");
    if (H5Aexists(at.get(), name.c_str()) > 0) H5Adelete(at.get(), name.c_str());
    const h5::Handle scalar = h5::space(H5Screate(H5S_SCALAR));
    h5::Handle type;
    const void* data = nullptr;
    const char* characters = nullptr;
    if (const auto* text = std::get_if<std::string>(&value)) {
      // Of variable length, which h5py gives as a str; one of fixed length would be bytes to it.
      if (!h5::is_utf8(*text)) fail(object, format("its attribute '{}' must be UTF-8", name));
      type = h5::type(H5Tcopy(H5T_C_S1));
      H5Tset_size(type.get(), H5T_VARIABLE);
      H5Tset_cset(type.get(), H5T_CSET_UTF8);
      characters = text->c_str();
      data = &characters;
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      type = h5::type(H5Tcopy(H5T_STD_I64LE));
      data = integer;
    } else {
      type = h5::type(H5Tcopy(H5T_IEEE_F64LE));
      data = &std::get<double>(value);
    }
    h5::Handle attr = h5::attribute(
        H5Acreate2(at.get(), name.c_str(), type.get(), scalar.get(), H5P_DEFAULT, H5P_DEFAULT));
    if (!attr.valid() || H5Awrite(attr.get(), type.get(), data) < 0 || !attr.reset()) {
      fail(object, format("its attribute '{}' cannot be written", name));
    }
  }

  h5::Handle with_parents() const {
    h5::Handle links = h5::properties(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_create_intermediate_group(links.get(), 1);
    return links;
  }

  // Whole leading slices.
  void set_chunks(hid_t created, const TensorView& view, std::vector<hsize_t> chunk) const {
    auto bytes = static_cast<hsize_t>(view.size() * view.format->storage_bytes);
    for (hsize_t& extent : chunk) {
      while (extent > 1 && bytes > kChunkBytes) {
        extent = (extent + 1) / 2;
        bytes = (bytes + 1) / 2;
      }
    }
    H5Pset_chunk(created, static_cast<int>(chunk.size()), chunk.data());
    H5Pset_shuffle(created);
    H5Pset_deflate(created, 6);
  }

  // HDF5 1.10.8 refuses some copies that follow the deletion of a copied object ("can't insert
  // duplicate key"), and cannot close the file then: what is replaced is set aside until the last
  // copy is made.
  static std::string aside(int number) { return format("/replaced {}", number); }
  void set_object_aside(const std::string& object) {
    const std::string to = aside(set_aside++);
    if (H5Lmove(file.get(), object.c_str(), file.get(), to.c_str(), H5P_DEFAULT, H5P_DEFAULT) < 0) {
      fail(object, "cannot be replaced");
    }
  }
  void delete_what_was_set_aside() {
    for (; set_aside > 0; --set_aside) {
      H5Ldelete(file.get(), aside(set_aside - 1).c_str(), H5P_DEFAULT);
    }
  }

  // Whether the object is a dataset of this type and shape without attributes of its own, which can
  // be written over.
  bool can_be_overwritten(const std::string& object, hid_t type, hid_t space) const {
    const h5::Handle dataset = h5::dataset(H5Dopen2(file.get(), object.c_str(), H5P_DEFAULT));
    bool same = false;
    if (dataset.valid()) {
      const h5::Handle its_type = h5::type(H5Dget_type(dataset.get()));
      const h5::Handle its_space = h5::space(H5Dget_space(dataset.get()));
      same = H5Tequal(its_type.get(), type) > 0 && H5Sextent_equal(its_space.get(), space) > 0 &&
             H5Aget_num_attrs(dataset.get()) == 1 && H5Aexists(dataset.get(), "dtype") > 0;
    }
    H5Eclear2(H5E_DEFAULT);
    return same;
  }

  void write_tensor(const std::string& object, const TensorView& view) {
    if (const std::string why = h5::invalid_element(view); !why.empty()) fail(object, why);
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
    H5Pset_obj_track_times(created.get(), false);  // the same content is the same file
    if (compress && view.size() >= kMinCompressed) set_chunks(created.get(), view, extents);
    bool overwrite = false;
    if (exists(object)) {
      overwrite = can_be_overwritten(object, type.get(), space.get());
      if (!overwrite) set_object_aside(object);
    }
    const h5::Handle links = with_parents();
    h5::Handle dataset =
        h5::dataset(overwrite ? H5Dopen2(file.get(), object.c_str(), H5P_DEFAULT)
                              : H5Dcreate2(file.get(), object.c_str(), type.get(), space.get(),
                                           links.get(), created.get(), H5P_DEFAULT));
    if (!dataset.valid()) fail(object, "cannot be created");
    if (view.size() > 0 &&
        H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
      fail(object, "cannot be written");
    }
    // Small data leave HDF5's buffers here.
    if (!dataset.reset()) fail(object, "cannot be written");
    write_attribute(object, "dtype", std::string(view.format->name));
    check_disk();
  }

  // Refuses a name that is none, that is taken, or that lies inside another case.
  void check_new_case(const std::string& name) const {
    check_disk();
    const std::string at = case_path(name);
    if (!is_case_name(name)) {
      throw FileError(path, at, "is no case name: parts of letters, digits, '_', '.' and '='");
    }
    if (exists(at)) throw FileError(path, at, "is there already");
    std::string parent = "/cases";
    for (const std::string& part : split(name, '/')) {
      if (!exists(parent += "/" + part)) break;
      if (H5Aexists_by_name(file.get(), parent.c_str(), "op", H5P_DEFAULT) > 0) {
        throw FileError(path, at, format("lies inside the case {}; cases do not nest", parent));
      }
    }
  }

  void check_case(const std::string& name) const {
    check_disk();
    if (!is_case_name(name) || !exists(case_path(name))) {
      throw FileError(path, case_path(name), "is not in this file; write or copy the case first");
    }
  }

  void check_tensor_name(const std::string& object, const std::string& name) const {
    if (!is_case_name(name) || name.find('/') != std::string::npos) {
      throw FileError(path, object,
                      format("'{}' is no name of an operand or producer: letters, digits, '_', '.' "
                             "and '='",
                             name));
    }
  }
};

DatasetWriter::DatasetWriter(const std::string& path, bool compress) {
  h5::quiet_hdf5();
  static std::atomic<int> count{0};
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw FileError(
        path, "",
        S_ISDIR(status.st_mode) ? "is a directory; name a file to write" : "is not a regular file");
  }
  impl_ = std::make_unique<Impl>();
  impl_->path = path;
  impl_->compress = compress;
  impl_->temporary = format("{}.tmp.{}.{}", path, getpid(), count++);
  const h5::Handle access = h5::write_access(&impl_->disk_error);
  impl_->file =
      h5::file(H5Fcreate(impl_->temporary.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
  if (!impl_->file.valid()) impl_->fail("", "cannot be written");
  impl_->write_attribute("/", "assay_schema", kSchema);
  const h5::Handle cases =
      h5::group(H5Gcreate2(impl_->file.get(), "/cases", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  if (!cases.valid()) impl_->fail("/cases", "cannot be created");
}

DatasetWriter::~DatasetWriter() = default;

void DatasetWriter::write_attributes(const std::map<std::string, Attribute>& attributes) {
  impl_->check_disk();
  for (const auto& [name, value] : attributes) {
    if (name != "assay_schema") impl_->write_attribute("/", name, value);
  }
}

void DatasetWriter::write(const Case& c) {
  impl_->check_new_case(c.name);
  const std::string at = case_path(c.name);
  {
    const h5::Handle links = impl_->with_parents();
    const h5::Handle group =
        h5::group(H5Gcreate2(impl_->file.get(), at.c_str(), links.get(), H5P_DEFAULT, H5P_DEFAULT));
    if (!group.valid()) impl_->fail(at, "cannot be created");
  }
  for (const auto& [name, value] : c.attributes) {
    const auto* word = std::get_if<std::string>(&value);
    const Format* dtype = name == "output_dtype" && word != nullptr ? find_format(*word) : nullptr;
    impl_->write_attribute(at, name,
                           dtype != nullptr ? Attribute(std::string(dtype->name)) : value);
  }
  impl_->write_attribute(at, "op", c.op.empty() ? std::string("external") : c.op);
  for (const auto& [name, tensor] : c.inputs) {
    impl_->check_tensor_name(at, name);
    impl_->write_tensor(at + "/inputs/" + name, tensor.view());
  }
  if (c.golden) put_golden(c.name, c.golden->view());
  for (const auto& [name, tensor] : c.outputs) {
    const auto machine = c.output_machines.find(name);
    std::map<std::string, std::string> attributes;
    if (machine != c.output_machines.end()) attributes.emplace("machine", machine->second);
    put_output(c.name, name, tensor.view(), attributes);
  }
}

void DatasetWriter::copy(const DatasetFile& from, const std::string& name) {
  impl_->check_new_case(name);
  const hid_t source = from.file_for_copy(name);
  const h5::Handle links = impl_->with_parents();
  const h5::Handle how = h5::properties(H5Pcreate(H5P_OBJECT_COPY));
  H5Pset_copy_object(how.get(), H5O_COPY_EXPAND_SOFT_LINK_FLAG);
  const std::string at = case_path(name);
  if (H5Ocopy(source, at.c_str(), impl_->file.get(), at.c_str(), how.get(), links.get()) < 0) {
    impl_->fail(at, format("cannot be copied from {}", from.path()));
  }
  impl_->check_disk();
}

void DatasetWriter::put_output(const std::string& name, const std::string& producer,
                               const TensorView& tensor,
                               const std::map<std::string, std::string>& attributes) {
  impl_->check_case(name);
  impl_->check_tensor_name(case_path(name), producer);
  const std::string at = case_path(name) + "/outputs/" + producer;
  impl_->write_tensor(at, tensor);
  for (const auto& [key, value] : attributes) impl_->write_attribute(at, key, value);
}

void DatasetWriter::put_golden(const std::string& name, const TensorView& tensor) {
  impl_->check_case(name);
  impl_->write_tensor(case_path(name) + "/golden", tensor);
}

void DatasetWriter::put_attribute(const std::string& name, const std::string& attribute,
                                  const Attribute& value) {
  impl_->check_case(name);
  impl_->write_attribute(case_path(name), attribute, value);
}

void DatasetWriter::commit() {
  const auto fail = [&](int error) {
    impl_->check_disk();
    throw FileError(impl_->path, "", format("cannot be written: {}", std::strerror(error)));
  };
  const std::string& temporary = impl_->temporary;
  if (!impl_->file.valid()) throw FileError(impl_->path, "", "has been committed already");
  impl_->delete_what_was_set_aside();
  if (!impl_->file.reset() || impl_->disk_error != 0) fail(EIO);
  const int fd = open(temporary.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(errno);
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  if (error != 0) fail(error);
  if (std::rename(temporary.c_str(), impl_->path.c_str()) != 0) fail(errno);
  impl_->committed = true;
}

std::string hdf5_version() {
  unsigned major, minor, release;
  H5get_libversion(&major, &minor, &release);
  return format("{}.{}.{}", major, minor, release);
}

}  // namespace assay
