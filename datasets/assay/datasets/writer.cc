#include "assay/datasets/writer.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "assay/base/temporary_file.h"
#include "assay/base/text.h"
#include "assay/datasets/checksums.h"
#include "assay/datasets/chunks.h"
#include "assay/datasets/file_check.h"
#include "assay/datasets/reader.h"
#include "assay/datasets/size_cap.h"
#include "assay/datasets/store.h"
#include "assay/datasets/types.h"
#include "assay/datasets/write_driver.h"

namespace assay {
namespace {

constexpr hsize_t kChunkBytes = 1 << 20;       // of a compressed dataset, about
constexpr std::int64_t kMinCompressed = 1024;  // elements; fewer are not worth a chunk
// Bytes of a string that lies in its object's header, which takes less than 64 KiB of an attribute.
constexpr std::size_t kMostFixedLength = 1 << 15;

std::string case_path(const std::string& name) { return "/cases/" + name; }

// Of one output, or of the one among several that has this name.
std::string path_of(const std::string& name, const std::string& part, const std::string& output) {
  return case_path(name) + "/" + part + (output.empty() ? "" : "/" + output);
}

// Whether a list has such a member: "x/0".
bool is_member(const std::string& operand) { return operand.find('/') != std::string::npos; }

}  // namespace

struct DatasetWriter::Impl {
  std::string path;
  std::unique_ptr<TemporaryFile> temporary;  // which outlives the file in it
  bool compress;
  int disk_error = 0;  // errno of the first write that failed
  h5::Handle file;
  h5::Handle open_object;  // opened()
  std::string open_path;   // empty: none is
  // Cases of other files, whose members come here when all that replaces them is known.
  struct Copied {
    h5::Handle file;
    std::string path, name;
    h5::Checksums sums;  // what its file says of it
  };
  std::vector<Copied> copied;
  std::set<std::string> left_out;  // of what is copied
  // Of cases whose outputs are known to have names, or to be one without.
  std::map<std::string, bool> several;
  bool needs_schema_2 = false;
  h5::Checksums sums;

  void check_disk() const {
    if (disk_error != 0) {
      throw FileError(path, "", formatted("cannot be written: {}", std::strerror(disk_error)));
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

  // The object stays open until another one is asked for: it is written attribute by attribute.
  hid_t opened(const std::string& object) {
    if (open_path == object) return open_object.get();
    close_object();
    open_object = h5::object(H5Oopen(file.get(), object.c_str(), H5P_DEFAULT));
    if (!open_object.valid()) fail(object, "cannot be opened for writing");
    open_path = object;
    return open_object.get();
  }

  void close_object() {
    open_path.clear();
    open_object.reset();
  }

  void create_attribute(const std::string& object, hid_t at, const std::string& name, hid_t type,
                        hid_t space, hid_t memory, const void* data) const {
    h5::Handle attr =
        h5::attribute(H5Acreate2(at, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT));
    if (!attr.valid() || (data != nullptr && H5Awrite(attr.get(), memory, data) < 0) ||
        !attr.reset()) {
      fail(object, formatted("its attribute '{}' cannot be written", name));
    }
  }

  // Strings have a fixed length: copying those of variable length is what HDF5 1.10 fails at.
  void write_attribute(const std::string& object, const std::string& name, const Attribute& value) {
    const hid_t at = opened(object);
    if (H5Aexists(at, name.c_str()) > 0) H5Adelete(at, name.c_str());
    const h5::Handle scalar = h5::space(H5Screate(H5S_SCALAR));
    h5::Handle type;
    const void* data = nullptr;
    const char* characters = nullptr;
    if (const auto* text = std::get_if<std::string>(&value)) {
      if (!h5::is_utf8(*text)) fail(object, formatted("its attribute '{}' must be UTF-8", name));
      const bool fixed = text->size() <= kMostFixedLength;
      characters = text->c_str();  // ends in a zero, which is all of an empty string
      type = h5::type(H5Tcopy(H5T_C_S1));
      H5Tset_size(type.get(), fixed ? std::max<std::size_t>(text->size(), 1) : H5T_VARIABLE);
      H5Tset_strpad(type.get(), fixed ? H5T_STR_NULLPAD : H5T_STR_NULLTERM);
      H5Tset_cset(type.get(), H5T_CSET_UTF8);
      data = fixed ? static_cast<const void*>(characters) : &characters;
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      type = h5::type(H5Tcopy(H5T_STD_I64LE));
      data = integer;
    } else {
      type = h5::type(H5Tcopy(H5T_IEEE_F64LE));
      data = &std::get<double>(value);
    }
    create_attribute(object, at, name, type.get(), scalar.get(), type.get(), data);
    if (name != h5::kChecksumsAttribute) sums.set(object, name, value);
  }

  // The output's dtype by its own name, whatever the case calls it.
  void write_named_attribute(const std::string& object, const std::string& name,
                             const Attribute& value) {
    const auto* word = std::get_if<std::string>(&value);
    const Format* dtype = name == "output_dtype" && word != nullptr ? find_format(*word) : nullptr;
    write_attribute(object, name, dtype != nullptr ? Attribute(std::string(dtype->name)) : value);
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

  // ------------------------------------------------------------------- what is copied
  //
  // HDF5 1.10.8 breaks where what H5Ocopy made is deleted, and where it copies attributes that lie
  // in a heap: copies fail then, or end the process. So datasets are copied one by one, when all
  // that takes their place is there already; and attributes are read and written.

  // As it is stored; a string that is too long for an object's header gets a variable length.
  void copy_attribute(const std::string& object, const std::string& name, hid_t attr,
                      const Attribute* value) {
    const h5::Handle type = h5::type(H5Aget_type(attr)), space = h5::space(H5Aget_space(attr));
    // It would refer to an object of the other file.
    if (H5Tdetect_class(type.get(), H5T_REFERENCE) > 0) return;
    const H5T_class_t kind = H5Tget_class(type.get());
    const bool variable = kind == H5T_STRING && H5Tis_variable_str(type.get()) > 0;
    const bool is_long = kind == H5T_STRING && H5Tget_size(type.get()) > kMostFixedLength;
    if (is_long && value != nullptr && H5Sget_simple_extent_type(space.get()) == H5S_SCALAR) {
      write_attribute(object, name, *value);
      return;
    }
    // Where nothing in it has a length of its own, the bits need no conversion.
    const bool plain = !variable && kind != H5T_COMPOUND && kind != H5T_ARRAY && kind != H5T_VLEN;
    const h5::Handle stored = h5::type(H5Tcopy(type.get()));
    const h5::Handle memory =
        h5::type(plain ? H5Tcopy(type.get()) : H5Tget_native_type(type.get(), H5T_DIR_ASCEND));
    const auto count =
        static_cast<std::size_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space.get()), 0));
    std::vector<std::byte> data(count * H5Tget_size(memory.get()));
    if (count > 0 && H5Aread(attr, memory.get(), data.data()) < 0) {
      fail(object, formatted("its attribute '{}' cannot be copied", name));
    }
    create_attribute(object, opened(object), name, stored.get(), space.get(), memory.get(),
                     count > 0 ? data.data() : nullptr);
    if (!plain && count > 0) {
      H5Dvlen_reclaim(memory.get(), space.get(), H5P_DEFAULT, data.data());
    }
  }

  // Those that the object does not have yet.
  void copy_attributes(const h5::Reader& reader, hid_t from, const std::string& object,
                       const h5::Checksums& known) {
    const h5::Handle source = h5::object(H5Oopen(from, object.c_str(), H5P_DEFAULT));
    std::vector<std::string> names;
    const auto values = reader.attributes(object, {}, &names);
    const hid_t at = opened(object);
    for (const std::string& name : names) {
      if (H5Aexists(at, name.c_str()) > 0) continue;
      const h5::Handle attr = h5::attribute(H5Aopen(source.get(), name.c_str(), H5P_DEFAULT));
      if (!attr.valid()) fail(object, formatted("its attribute '{}' cannot be copied", name));
      const auto value = values.find(name);
      copy_attribute(object, name, attr.get(), value == values.end() ? nullptr : &value->second);
      const auto line = known.lines().find(object + "@" + name);
      if (line != known.lines().end()) {
        sums.set(line->first, line->second);
      } else if (value != values.end()) {
        sums.set(object, name, value->second);
      }
    }
  }

  // What is copied keeps its checksum, or gets one.
  void keep_sum(const h5::Reader& reader, const h5::Checksums& known, const std::string& object) {
    const auto found = known.lines().find(object);
    if (found != known.lines().end()) {
      sums.set(object, found->second);
      return;
    }
    try {
      sums.set(object, h5::sum_of(reader.read_tensor(object).view()));
    } catch (const FileError&) {
      H5Eclear2(H5E_DEFAULT);  // of a dataset that is no tensor, which no one reads
    }
  }

  void create_group(const std::string& object) const {
    const h5::Handle links = with_parents();
    const h5::Handle made =
        h5::group(H5Gcreate2(file.get(), object.c_str(), links.get(), H5P_DEFAULT, H5P_DEFAULT));
    if (!made.valid()) fail(object, "cannot be created");
  }

  // H5Ocopy() crashes on damaged datasets, and so is left what it alone can copy: references to
  // elements of variable length, and named types.
  void copy_object(hid_t from, const std::string& object) const {
    const h5::Handle links = with_parents();
    if (copy_dataset(from, object, links.get())) return;
    const h5::Handle how = h5::properties(H5Pcreate(H5P_OBJECT_COPY));
    H5Pset_copy_object(how.get(), H5O_COPY_WITHOUT_ATTR_FLAG);
    if (H5Ocopy(from, object.c_str(), file.get(), object.c_str(), how.get(), links.get()) < 0) {
      fail(object, "cannot be copied");
    }
  }

  // False where the object is no dataset of elements of a fixed size.
  bool copy_dataset(hid_t from, const std::string& object, hid_t links) const {
    const h5::Handle source = h5::dataset(H5Dopen2(from, object.c_str(), H5P_DEFAULT));
    H5Eclear2(H5E_DEFAULT);
    if (!source.valid()) return false;
    const h5::Handle type = h5::type(H5Dget_type(source.get()));
    const h5::Handle space = h5::space(H5Dget_space(source.get()));
    const h5::Handle created = h5::properties(H5Dget_create_plist(source.get()));
    H5Pset_obj_track_times(created.get(), false);
    for (const H5T_class_t kind : {H5T_VLEN, H5T_REFERENCE, H5T_STRING}) {
      // A string may have a variable length.
      if (H5Tdetect_class(type.get(), kind) != 0) return false;
    }
    hsize_t extents[H5S_MAX_RANK];
    const int rank = H5Sget_simple_extent_dims(space.get(), extents, nullptr);
    if (rank < 0 || H5Sget_simple_extent_type(space.get()) == H5S_NULL) return false;
    h5::Handle copy = h5::dataset(H5Dcreate2(file.get(), object.c_str(), type.get(), space.get(),
                                             links, created.get(), H5P_DEFAULT));
    const Shape shape(extents, extents + rank);
    if (!copy.valid() ||
        !h5::copy_stored({source.get(), created.get(), type.get(), shape, H5Tget_size(type.get())},
                         copy.get()) ||
        !copy.reset()) {
      fail(object, "cannot be copied");
    }
    return true;
  }

  // Whether all that a group holds there is left out here.
  bool nothing_is_left_of(const h5::Reader& reader, const std::string& group) const {
    const std::vector<std::string> links = reader.links_in(group);
    return !links.empty() && std::all_of(links.begin(), links.end(), [&](const std::string& link) {
      return left_out.count(group + "/" + link) != 0;
    });
  }

  // Copies to the group what lies in it there and is not here yet. `first_paths`: by address, of
  // objects that came before; what has several links there has them here.
  void copy_missing(const h5::Reader& reader, hid_t from, const std::string& group,
                    std::map<std::uint64_t, std::string>& first_paths, const h5::Checksums& known) {
    for (const std::string& link : reader.links_in(group)) {
      const std::string object = group + "/" + link;
      if (reader.kind_of(object) == h5::Reader::ObjectKind::kGroup) {
        if (!exists(object) && nothing_is_left_of(reader, object)) continue;
        if (!exists(object)) create_group(object);
        copy_attributes(reader, from, object, known);
        copy_missing(reader, from, object, first_paths, known);
        continue;
      }
      if (exists(object)) {
        // What is said of one of several outputs stands on its golden result, whatever that is.
        if (group.ends_with("/golden")) {
          copy_attributes(reader, from, object, known);
          for (const char* word : {"absent", "pending"}) {
            sums.erase(object, word);
            H5Adelete(opened(object), word);
          }
          H5Eclear2(H5E_DEFAULT);
        }
        continue;
      }
      if (left_out.count(object) != 0) continue;
      const auto [first, is_first] = first_paths.emplace(reader.address_of(object), object);
      if (is_first) {
        copy_object(from, object);
        copy_attributes(reader, from, object, known);
      } else if (H5Lcreate_hard(file.get(), first->second.c_str(), file.get(), object.c_str(),
                                H5P_DEFAULT, H5P_DEFAULT) < 0) {
        fail(object, "cannot be linked");
      }
      if (!is_first) {
        for (const auto& [name, value] : reader.attributes(object, {})) {
          sums.set(object, name, value);
        }
      }
      keep_sum(reader, known, object);
      check_disk();
    }
  }

  void complete_copies() {
    for (const Copied& c : copied) {
      std::map<std::uint64_t, std::string> first_paths;
      copy_missing(h5::Reader(c.path, c.file.get(), dataset_size_cap()), c.file.get(),
                   case_path(c.name), first_paths, c.sums);
    }
    copied.clear();
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

  void write_checksums() {
    const std::string text = sums.text();
    Tensor table(format_named("uint8"), {static_cast<std::int64_t>(text.size())});
    std::memcpy(table.bytes(), text.data(), text.size());
    compress = false;
    write_tensor(h5::kChecksums, table.view());
    write_attribute("/", h5::kChecksumsAttribute, h5::table_sum(text));
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
      close_object();
      overwrite = can_be_overwritten(object, type.get(), space.get());
      if (!overwrite && H5Ldelete(file.get(), object.c_str(), H5P_DEFAULT) < 0) {
        fail(object, "cannot be replaced");
      }
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
    if (object != h5::kChecksums) {
      sums.erase_all(object);
      sums.set(object, h5::sum_of(packed.empty() ? view : packed.view()));
    }
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
        throw FileError(path, at, formatted("lies inside the case {}; cases do not nest", parent));
      }
    }
  }

  void check_case(const std::string& name) const {
    check_disk();
    if (!is_case_name(name) || !exists(case_path(name))) {
      throw FileError(path, case_path(name), "is not in this file; write or copy the case first");
    }
  }

  void check_tensor_name(const std::string& object, const std::string& name,
                         const char* what = "an operand or producer") const {
    if (!is_case_name(name) || name.find('/') != std::string::npos) {
      throw FileError(
          path, object,
          formatted("'{}' is no name of {}: letters, digits, '_', '.' and '='", name, what));
    }
  }

  // The members of a list are x/0, x/1 and so on, with none left out, and there is no x beside.
  void check_inputs(const Case& c) const {
    const std::string at = case_path(c.name);
    std::set<std::string> names = c.absent_inputs;
    for (const auto& [name, tensor] : c.inputs) {
      if (!names.insert(name).second) {
        throw FileError(path, at, formatted("its input '{}' is there and absent", name));
      }
    }
    std::map<std::string, std::size_t> lists;
    for (const std::string& name : names) {
      const std::size_t slash = name.find('/');
      check_tensor_name(at, name.substr(0, slash));
      if (slash != std::string::npos) ++lists[name.substr(0, slash)];
    }
    for (const auto& [list, count] : lists) {
      for (std::size_t i = 0; i < count; ++i) {
        if (names.count(formatted("{}/{}", list, i)) != 0) continue;
        throw FileError(
            path, at,
            formatted("the {} inputs of the list '{}' must be {}/0 to {}/{}; there is no "
                      "{}/{}",
                      count, list, list, list, count - 1, list, i));
      }
      if (names.count(list) == 0) continue;
      throw FileError(path, at, formatted("its input '{}' is a tensor and a list", list));
    }
  }

  // An empty dataset that says so.
  void write_absent(const std::string& object) {
    write_tensor(object, Tensor(format_named("uint8"), {0}).view());
    write_attribute(object, "absent", std::int64_t{1});
    needs_schema_2 = true;
  }

  // Refuses an output with a name of a case whose own has none, and the other way round.
  void check_output(const std::string& name, const std::string& output) {
    if (!output.empty()) {
      check_tensor_name(case_path(name), output, "an output");
      needs_schema_2 = true;
    }
    const bool has_name = !output.empty();
    if (several.emplace(name, has_name).first->second == has_name) return;
    throw FileError(path, case_path(name),
                    has_name
                        ? formatted("has one output, without a name; '{}' is none of it", output)
                        : "has several outputs; say which one is written");
  }
};

DatasetWriter::DatasetWriter(const std::string& path, bool compress) {
  h5::quiet_hdf5();
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw FileError(
        path, "",
        S_ISDIR(status.st_mode) ? "is a directory; name a file to write" : "is not a regular file");
  }
  impl_ = std::make_unique<Impl>();
  impl_->path = path;
  impl_->compress = compress;
  impl_->temporary = std::make_unique<TemporaryFile>(path);
  impl_->disk_error = impl_->temporary->error();
  impl_->check_disk();
  const h5::Handle access = h5::write_access(impl_->temporary->descriptor(), &impl_->disk_error);
  impl_->file = h5::file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
  if (!impl_->file.valid()) impl_->fail("", "cannot be written");
  impl_->write_attribute("/", "assay_schema", std::int64_t{1});
  const h5::Handle cases =
      h5::group(H5Gcreate2(impl_->file.get(), "/cases", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  if (!cases.valid()) impl_->fail("/cases", "cannot be created");
}

DatasetWriter::~DatasetWriter() = default;

void DatasetWriter::write_attributes(const std::map<std::string, Attribute>& attributes) {
  impl_->check_disk();
  for (const auto& [name, value] : attributes) {
    if (name != "assay_schema" && name != h5::kChecksumsAttribute)
      impl_->write_attribute("/", name, value);
  }
}

void DatasetWriter::write(const Case& c) {
  impl_->check_new_case(c.name);
  const std::string at = case_path(c.name);
  impl_->create_group(at);
  for (const auto& [name, value] : c.attributes) impl_->write_named_attribute(at, name, value);
  impl_->write_attribute(at, "op", c.op.empty() ? std::string("external") : c.op);
  impl_->check_inputs(c);
  for (const auto& [name, tensor] : c.inputs) {
    impl_->needs_schema_2 |= is_member(name);
    impl_->write_tensor(at + "/inputs/" + name, tensor.view());
  }
  for (const std::string& name : c.absent_inputs) impl_->write_absent(at + "/inputs/" + name);
  // Of a case, or of one of its outputs.
  const auto write_outputs = [&](const auto& of, const std::string& output) {
    for (const auto& [name, tensor] : of.outputs) {
      const auto machine = of.output_machines.find(name);
      std::map<std::string, std::string> attributes;
      if (machine != of.output_machines.end()) attributes.emplace("machine", machine->second);
      put_output(c.name, name, tensor.view(), attributes, output);
    }
    for (const auto& [name, epilogue] : of.epilogues) {
      const auto beside = of.outputs.find(name);
      const std::string why = beside == of.outputs.end() ? "the case has no such output"
                                                         : epilogue.why_not(beside->second.format(),
                                                                            beside->second.shape());
      if (!why.empty()) {
        throw FileError(
            impl_->path, at,
            formatted("beside {}: {}",
                      path_of(c.name, "outputs/" + name, output).substr(at.size() + 1), why));
      }
      put_epilogue(c.name, name, epilogue, output);
    }
  };
  if (c.results.empty()) {
    if (c.golden) put_golden(c.name, c.golden->view());
    write_outputs(c, "");
    return;
  }
  if (c.golden || !c.outputs.empty() || !c.epilogues.empty()) {
    throw FileError(impl_->path, at, "has several outputs, and one without a name beside them");
  }
  for (const auto& [output, result] : c.results) {
    impl_->check_output(c.name, output);
    const std::string golden = path_of(c.name, "golden", output);
    if (result.golden) {
      put_golden(c.name, result.golden->view(), output);
    } else if (!result.golden_missing) {
      impl_->write_absent(golden);
    } else if (!result.attributes.empty()) {
      // What they stand on until there is a golden result.
      impl_->write_absent(golden);
      impl_->write_attribute(golden, "pending", std::int64_t{1});
    }
    for (const auto& [name, value] : result.attributes) {
      impl_->write_named_attribute(golden, name, value);
    }
    write_outputs(result, output);
  }
}

void DatasetWriter::copy(const DatasetFile& from, const std::string& name) {
  impl_->check_new_case(name);
  const hid_t source = from.file_for_copy(name);
  const CaseInfo info = from.info(name);
  const bool has_list = std::any_of(info.inputs.begin(), info.inputs.end(),
                                    [](const auto& input) { return is_member(input.first); });
  impl_->needs_schema_2 |= !info.results.empty() || !info.absent_inputs.empty() || has_list;
  if (!info.results.empty() || info.golden || !info.outputs.empty()) {
    impl_->several[name] = !info.results.empty();
  }
  const std::string at = case_path(name);
  impl_->create_group(at);
  impl_->copy_attributes(h5::Reader(from.path(), source, 0), source, at, from.checksums());
  H5Iinc_ref(source);  // until the members have come
  impl_->copied.push_back({{source, H5Idec_ref}, from.path(), name, from.checksums().all_of(at)});
  impl_->check_disk();
}

void DatasetWriter::put_output(const std::string& name, const std::string& producer,
                               const TensorView& tensor,
                               const std::map<std::string, std::string>& attributes,
                               const std::string& output) {
  impl_->check_case(name);
  impl_->check_tensor_name(case_path(name), producer);
  impl_->check_output(name, output);
  const std::string at = path_of(name, "outputs/" + producer, output);
  impl_->write_tensor(at, tensor);
  for (const auto& [key, value] : attributes) impl_->write_attribute(at, key, value);
}

void DatasetWriter::put_epilogue(const std::string& name, const std::string& producer,
                                 const Epilogue& epilogue, const std::string& output) {
  impl_->check_case(name);
  impl_->check_tensor_name(case_path(name), producer);
  impl_->check_output(name, output);
  const auto put = [&](const std::string& part, const Tensor& tensor) {
    const std::string at = path_of(name, part + "/" + producer, output);
    if (tensor.empty()) {
      impl_->left_out.insert(at);
    } else {
      impl_->write_tensor(at, tensor.view());
    }
  };
  put("accumulators", epilogue.accumulator);
  put("residuals", epilogue.residual);
}

void DatasetWriter::put_golden(const std::string& name, const TensorView& tensor,
                               const std::string& output) {
  impl_->check_case(name);
  impl_->check_output(name, output);
  impl_->write_tensor(path_of(name, "golden", output), tensor);
}

void DatasetWriter::put_attribute(const std::string& name, const std::string& attribute,
                                  const Attribute& value, const std::string& output) {
  impl_->check_case(name);
  const std::string at = output.empty() ? case_path(name) : path_of(name, "golden", output);
  if (!impl_->exists(at)) throw FileError(impl_->path, at, "is not there yet; put it first");
  impl_->write_attribute(at, attribute, value);
}

void DatasetWriter::commit() {
  const auto fail = [&](int error) {
    impl_->check_disk();
    throw FileError(impl_->path, "", formatted("cannot be written: {}", std::strerror(error)));
  };
  if (!impl_->file.valid()) throw FileError(impl_->path, "", "has been committed already");
  impl_->complete_copies();
  if (impl_->needs_schema_2) impl_->write_attribute("/", "assay_schema", std::int64_t{2});
  impl_->write_checksums();
  impl_->close_object();
  if (!impl_->file.reset() || impl_->disk_error != 0) fail(EIO);
  if (const int error = impl_->temporary->commit(true); error != 0) fail(error);
  h5::file_was_written(impl_->temporary->descriptor());
}

std::string hdf5_version() {
  unsigned major, minor, release;
  H5get_libversion(&major, &minor, &release);
  return formatted("{}.{}.{}", major, minor, release);
}

bool hdf5_is_threadsafe() {
  hbool_t safe = 0;
  return H5is_library_threadsafe(&safe) >= 0 && safe > 0;
}

namespace {

int hdf5_programs = 0;  // that have not come to their end

}  // namespace

Hdf5Program::Hdf5Program() {
  static const int registered = [] {
    H5dont_atexit();
    return std::atexit([] {
      if (hdf5_programs == 0) return;
      std::fputs("error: HDF5 ended the program, as it does when it gets no memory\n", stderr);
      std::_Exit(2);
    });
  }();
  (void)registered;
  ++hdf5_programs;
}

Hdf5Program::~Hdf5Program() { --hdf5_programs; }

}  // namespace assay
