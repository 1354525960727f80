#include "assay/datasets/store/writer.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>

#include "assay/base/printable.h"
#include "assay/base/temporary_file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/checks/file_check.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/store/case_path.h"
#include "assay/datasets/store/checksums.h"
#include "assay/datasets/store/copy_source.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/datasets/store/types.h"
#include "assay/datasets/store/write_driver.h"
#include "assay/op/attributes.h"

namespace assay::inline v0_2 {
namespace {

constexpr hsize_t kChunkBytes = 1 << 20;  // approximate size of a chunk of a compressed dataset
// The least number of elements of a compressed dataset. Smaller ones are not worth a chunk.
constexpr std::int64_t kMinCompressed = 1024;

// Returns true if the operand is a member of a list, such as "x/0".
bool is_member(const std::string& operand) { return operand.find('/') != std::string::npos; }

// Returns true if the schema defines the meaning of an attribute of a dataset or a group.
bool is_schema_attribute(std::string_view name) {
  constexpr std::string_view kOwn[] = {"dtype", "fault"};
  const auto known = known_attributes();
  return contains(kOwn, name) || find_row(known, name, &KnownAttribute::name) != nullptr;
}

}  // namespace

struct DatasetWriter::Impl {
  std::string path;
  // This is declared before `file`, so that the temporary file is removed after HDF5 has closed it.
  std::unique_ptr<TemporaryFile> temporary;
  bool compress;
  int disk_error = 0;  // errno of the first write that failed
  h5::Handle file;
  h5::Handle open_object;  // opened()
  std::string open_path;   // the path of `open_object`, or empty if no object is open
  // Cases that are copied from other files. Their members are copied at commit(), when all outputs
  // that replace them are known.
  struct Copied {
    std::unique_ptr<h5::CopySource> source;
    std::string name;
    h5::ChecksumTable sums;  // of its file
  };
  std::vector<Copied> copied;
  std::set<std::string> left_out;  // paths in copied cases whose objects are not copied
  // For each case that was seen, true if its outputs have names, and false if it has one output
  // without a name.
  std::map<std::string, bool> several;
  bool needs_schema_2 = false;
  h5::Checksums sums;
  // For each reason why objects could not be copied: the first such object, and their number.
  struct LeftBehind {
    std::string first;
    std::size_t count = 0;
  };
  std::map<std::string, LeftBehind> left_behind;
  // The data space of all attributes that are written, which are scalars.
  const h5::Handle scalar_space = h5::space(H5Screate(H5S_SCALAR));
  const h5::Handle text_type = h5::string_type(H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_UTF8);
  const h5::Handle integer_type = h5::type(H5Tcopy(H5T_STD_I64LE));
  const h5::Handle number_type = h5::type(H5Tcopy(H5T_IEEE_F64LE));

  void check_disk() const {
    if (disk_error != 0) {
      throw file_error(path, "", "cannot be written: {}", std::strerror(disk_error));
    }
  }

  [[noreturn]] void fail(const std::string& object, const std::string& what) const {
    const std::string detail = h5::last_error();
    check_disk();  // A failed write is the cause of all later errors, so it is reported.
    throw FileError(path, object, what + (detail.empty() ? "" : " (" + detail + ")"));
  }

  bool exists(const std::string& object) const { return exists(file.get(), object); }
  static bool exists(hid_t group, const std::string& link) {
    const bool found = H5Lexists(group, link.c_str(), H5P_DEFAULT) > 0;
    H5Eclear2(H5E_DEFAULT);
    return found;
  }

  // The object stays open until another one is requested, because it is written attribute by
  // attribute.
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

  // Does nothing if the object, which is open as `at`, has no such attribute.
  void delete_attribute(hid_t at, const std::string& object, const std::string& name) {
    if (H5Aexists(at, name.c_str()) == 0) return;
    if (H5Adelete(at, name.c_str()) < 0)
      fail(object, formatted("its attribute {} cannot be removed", name));
  }

  // Writes an attribute of an object. Strings get a variable length, because h5py returns these as
  // str.
  void write_attribute(const std::string& object, const std::string& name, const Attribute& value) {
    write_attribute(opened(object), object, name, value);
  }
  // Writes an attribute of an object, which is open as `at`.
  void write_attribute(hid_t at, const std::string& object, const std::string& name,
                       const Attribute& value) {
    delete_attribute(at, object, name);
    const h5::Handle* type = &number_type;
    const void* data = nullptr;
    const char* characters = nullptr;
    if (const auto* word = std::get_if<std::string>(&value)) {
      if (!is_utf8(*word) || word->find('\0') != std::string::npos) {
        fail(object, formatted("its attribute '{}' must be UTF-8 without zero bytes", name));
      }
      type = &text_type;
      characters = word->c_str();
      data = &characters;
    } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      type = &integer_type;
      data = whole;
    } else {
      data = &std::get<double>(value);
    }
    if (!h5::create_attribute(at, name, type->get(), scalar_space.get(), type->get(), data)) {
      fail(object, formatted("its attribute '{}' cannot be written", name));
    }
    if (name != h5::kChecksumsAttribute) sums.set(object, name, value);
  }

  // Writes the output's dtype with its standard name, even if the case uses another name.
  void write_named_attribute(const std::string& object, const std::string& name,
                             const Attribute& value) {
    const auto* word = std::get_if<std::string>(&value);
    const Format* dtype = name == "output_dtype" && word != nullptr ? find_format(*word) : nullptr;
    write_attribute(object, name, dtype != nullptr ? Attribute(std::string(dtype->name)) : value);
  }

  h5::Handle with_parents() const {
    h5::Handle links = h5::properties(H5Pcreate(H5P_LINK_CREATE));
    h5::require(H5Pset_create_intermediate_group(links.get(), 1));
    return links;
  }

  // Whole leading slices.
  void set_chunks(hid_t created, const TensorView& view) const {
    std::vector<hsize_t> chunk(view.shape.begin(), view.shape.end());
    auto bytes = static_cast<hsize_t>(view.size() * view.format->storage_bytes);
    for (hsize_t& extent : chunk) {
      while (extent > 1 && bytes > kChunkBytes) {
        extent = (extent + 1) / 2;
        bytes = (bytes + 1) / 2;
      }
    }
    h5::require(H5Pset_chunk(created, static_cast<int>(chunk.size()), chunk.data()));
    h5::require(H5Pset_shuffle(created));
    h5::require(H5Pset_deflate(created, 6));
  }

  // ------------------------------------------------------------------- copying
  //
  // Objects that replace copied ones have already been written, except at copy().

  // Copies the attributes that the object, which is open as `at`, does not have yet. Strings that
  // the schema knows get a variable length, even if they had a fixed one. All others stay as they
  // are stored, because the length matters in HDF5's conventions, such as dimension scales.
  void copy_attributes(h5::CopySource& source, const std::string& object, hid_t at,
                       const h5::ChecksumTable& known, bool is_case = false) {
    for (const auto& [name, value] : source.attributes(object)) {
      if (H5Aexists(at, name.c_str()) > 0) continue;
      h5::CopySource::Copied came{h5::CopySource::Copied::kByValue};
      const bool is_text = value && std::holds_alternative<std::string>(*value);
      const bool is_of_schema = is_case ? !is_note(name) : is_schema_attribute(name);
      if (!is_text || !is_of_schema) came = source.copy_attribute(object, name, at);
      if (came.kind == h5::CopySource::Copied::kFailed) {
        fail(object, formatted("its attribute '{}' cannot be copied", name));
      }
      if (came.kind == h5::CopySource::Copied::kLeftOut) {
        leave_behind(formatted("the attribute '{}' of {}", name, object), came.why);
        continue;
      }
      if (came.kind == h5::CopySource::Copied::kByValue && value) {
        write_attribute(at, object, name, *value);
      }
      const std::string line = object + "@" + name;
      if (const auto sum = known.find(line)) {
        sums.set(line, *sum);
      } else if (value) {
        sums.set(object, name, *value);
      }
    }
  }

  void leave_behind(const std::string& what, const std::string& why) {
    LeftBehind& of = left_behind[why];
    if (of.count++ == 0) of.first = what;
  }

  // A copied object keeps the checksum of its file's table. If it has none there, it gets a new
  // one.
  void keep_sum(h5::CopySource& source, const h5::ChecksumTable& known, const std::string& object) {
    if (const auto found = known.find(object)) {
      sums.set(object, *found);
    } else if (const auto sum = source.sum_of(object)) {
      sums.set(object, *sum);
    }
  }

  h5::Handle created_group(const std::string& object) const {
    h5::Handle made = h5::group(
        H5Gcreate2(file.get(), object.c_str(), with_parents().get(), H5P_DEFAULT, H5P_DEFAULT));
    if (!made.valid()) fail(object, "cannot be created");
    return made;
  }

  h5::Handle opened_anew(hid_t group, const std::string& link, const std::string& object) const {
    h5::Handle found = h5::object(H5Oopen(group, link.c_str(), H5P_DEFAULT));
    if (!found.valid()) fail(object, "cannot be opened for writing");
    return found;
  }

  // Returns true if everything in a group of the source is left out here.
  bool nothing_is_left_of(h5::CopySource& source, const std::string& group) const {
    const std::vector<std::string> links = source.links_in(group);
    return !links.empty() && std::ranges::all_of(links, [&](const std::string& link) {
      return left_out.count(group + "/" + link) != 0;
    });
  }

  // Copies the objects in `group` that the new file lacks to its group, which is open as `at`.
  // `first_paths` has the paths of the objects that were copied earlier, by address. An object with
  // several links in the source has these links in the new file, too.
  void copy_missing(h5::CopySource& source, const std::string& group, hid_t at,
                    std::map<std::uint64_t, std::string>& first_paths,
                    const h5::ChecksumTable& known) {
    for (const std::string& link : source.links_in(group)) {
      const std::string object = group + "/" + link;
      const bool is_here = exists(at, link);
      if (source.is_group(object)) {
        if (!is_here && nothing_is_left_of(source, object)) continue;
        const h5::Handle inner = is_here ? opened_anew(at, link, object) : created_group(object);
        copy_attributes(source, object, inner.get(), known);
        copy_missing(source, object, inner.get(), first_paths, known);
        continue;
      }
      if (is_here) {
        // The attributes of one of several outputs are kept on its golden result, even if that is
        // replaced.
        if (group.ends_with("/golden")) {
          copy_attributes(source, object, opened(object), known);
          for (const char* word : {"absent", "pending"}) {
            sums.erase(object, word);
            delete_attribute(opened(object), object, word);
          }
        }
        continue;
      }
      if (left_out.count(object) != 0) continue;
      const auto [first, is_first] = first_paths.emplace(source.address_of(object), object);
      if (is_first) {
        const auto came = source.copy_object(object, at, link);
        if (came.kind == h5::CopySource::Copied::kFailed) fail(object, "cannot be copied");
        if (came.kind == h5::CopySource::Copied::kLeftOut) {
          leave_behind(object, came.why);
          first->second.clear();
          continue;
        }
        copy_attributes(source, object, opened_anew(at, link, object).get(), known);
      } else if (first->second.empty()) {
        continue;
      } else if (H5Lcreate_hard(file.get(), first->second.c_str(), at, link.c_str(), H5P_DEFAULT,
                                H5P_DEFAULT) < 0) {
        fail(object, "cannot be linked");
      }
      if (!is_first) {
        for (const auto& [name, value] : source.attributes(object)) {
          if (value) sums.set(object, name, *value);
        }
      }
      keep_sum(source, known, object);
      check_disk();
    }
  }

  void complete_copies() {
    for (const Copied& c : copied) {
      std::map<std::uint64_t, std::string> first_paths;
      const std::string at = case_path(c.name);
      copy_missing(*c.source, at, opened_anew(file.get(), at, at).get(), first_paths, c.sums);
    }
    copied.clear();
  }

  // Returns true if the object is a dataset of this type and shape, and `dtype` is its only
  // attribute. New elements can then be written to it.
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
    const h5::Handle space = h5::space_of(view.shape);
    const h5::Handle type = h5::stored_type(*view.format);
    const h5::Handle created = h5::properties(H5Pcreate(H5P_DATASET_CREATE));
    // HDF5 would store the time of writing. Without it, the same content produces the same file.
    h5::require(H5Pset_obj_track_times(created.get(), false));
    if (compress && view.size() >= kMinCompressed) set_chunks(created.get(), view);
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
    // Closing the dataset may fail, because it writes small data from HDF5's buffers.
    if (!dataset.reset()) fail(object, "cannot be written");
    if (object != h5::kChecksums) {
      sums.erase_all(object);
      sums.set(object, h5::sum_of(packed.empty() ? view : packed.view()));
    }
    write_attribute(object, "dtype", std::string(view.format->name));
    check_disk();
  }

  // Every operation calls this first. Any thread may call it.
  void begin() const {
    h5::quiet_hdf5();
    check_disk();
  }

  // Refuses a name that is not valid, that is taken, or that lies inside another case.
  void check_new_case(const std::string& name) const {
    begin();
    const std::string at = case_path(name);
    if (!is_case_name(name)) {
      throw FileError(path, at, "is no case name; use parts of letters, digits, '_', '.' and '='");
    }
    if (exists(at)) throw FileError(path, at, "is there already");
    std::string parent = "/cases";
    for (const std::string& part : split(name, '/')) {
      if (!exists(parent += "/" + part)) break;
      if (H5Aexists_by_name(file.get(), parent.c_str(), "op", H5P_DEFAULT) > 0) {
        throw file_error(path, at, "lies inside the case {}; cases do not nest", parent);
      }
    }
  }

  void check_case(const std::string& name) const {
    begin();
    if (!is_case_name(name) || !exists(case_path(name))) {
      throw FileError(path, case_path(name), "is not in this file; write or copy the case first");
    }
  }

  void check_tensor_name(const std::string& object, const std::string& name,
                         const char* what = "an operand or producer") const {
    if (!is_case_name(name) || name.find('/') != std::string::npos) {
      throw file_error(path, object, "'{}' is no name of {}; use letters, digits, '_', '.' and '='",
                       name, what);
    }
  }

  // The members of a list must be x/0, x/1 and so on, with none left out, and there must not be an
  // input x.
  void check_inputs(const Case& c) const {
    const std::string at = case_path(c.name);
    std::set<std::string> names = c.absent_inputs;
    for (const auto& [name, tensor] : c.inputs) {
      if (!names.insert(name).second) {
        throw file_error(
            path, at,
            "its input '{}' has a tensor, but is also listed as absent; remove one of the two",
            name);
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
        throw file_error(path, at,
                         "the {} inputs of the list '{}' must be {}/0 to {}/{}; there is no {}/{}",
                         count, list, list, list, count - 1, list, i);
      }
      if (names.count(list) == 0) continue;
      throw file_error(
          path, at,
          "its input '{}' is a tensor and also a list of tensors; give only one of the two", list);
    }
  }

  // Writes an empty dataset with the attribute `absent`.
  void write_absent(const std::string& object) {
    write_tensor(object, Tensor(format_named("uint8"), {0}).view());
    write_attribute(object, "absent", std::int64_t{1});
    needs_schema_2 = true;
  }

  // Refuses a named output if the case has an output without a name, and vice versa.
  void check_output(const std::string& name, const std::string& output) {
    if (!output.empty()) {
      check_tensor_name(case_path(name), output, "an output");
      needs_schema_2 = true;
    }
    const bool has_name = !output.empty();
    if (several.emplace(name, has_name).first->second == has_name) return;
    throw FileError(path, case_path(name),
                    has_name ? formatted("has one output without a name, so that '{}' cannot be "
                                         "added; name every output of the case, or use only one",
                                         output)
                             : "has several outputs; name the one that is written");
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

DatasetWriter::~DatasetWriter() { h5::quiet_hdf5(); }

void DatasetWriter::write_attributes(const std::map<std::string, Attribute>& attributes) {
  impl_->begin();
  for (const auto& [name, value] : attributes) {
    if (name != "assay_schema" && name != h5::kChecksumsAttribute)
      impl_->write_attribute("/", name, value);
  }
}

void DatasetWriter::write(const Case& c) {
  impl_->check_new_case(c.name);
  const std::string at = case_path(c.name);
  (void)impl_->created_group(at);
  for (const auto& [name, value] : c.attributes) impl_->write_named_attribute(at, name, value);
  impl_->write_attribute(at, "op", c.op.empty() ? std::string("external") : c.op);
  impl_->check_inputs(c);
  for (const auto& [name, tensor] : c.inputs) {
    impl_->needs_schema_2 |= is_member(name);
    impl_->write_tensor(at + "/inputs/" + name, tensor.view());
  }
  for (const std::string& name : c.absent_inputs) impl_->write_absent(at + "/inputs/" + name);
  if (c.outputs.size() > 1 && c.outputs.count("") != 0) {
    throw FileError(impl_->path, at, "has several outputs, and one without a name beside them");
  }
  for (const auto& [output, of] : c.outputs) {
    if (!output.empty()) impl_->check_output(c.name, output);
    const std::string golden = path_of(c.name, "golden", output);
    if (of.golden) {
      put_golden(c.name, of.golden->view(), output);
    } else if (!output.empty() && (of.golden.is_absent() || !of.attributes.empty())) {
      impl_->write_absent(golden);
      // The output's attributes are on this dataset, which stands for the golden result until there
      // is one.
      if (!of.golden.is_absent()) impl_->write_attribute(golden, "pending", std::int64_t{1});
    }
    for (const auto& [name, value] : of.attributes) {
      impl_->write_named_attribute(output.empty() ? at : golden, name, value);
    }
    for (const auto& [producer, recorded] : of.recorded)
      put_recorded(c.name, producer, recorded, output);
  }
}

void DatasetWriter::put_recorded(const std::string& name, const std::string& producer,
                                 const RecordedResult& recorded, const std::string& output) {
  std::map<std::string, std::string> attributes;
  if (!recorded.machine.empty()) attributes.emplace("machine", recorded.machine);
  const Tensor& tensor = recorded.tensor;
  if (!tensor.empty()) put_output(name, producer, tensor.view(), attributes, output);
  if (recorded.epilogue.empty() && (recorded.machine.empty() || !tensor.empty())) return;
  const std::string why = tensor.empty()
                              ? "the case has no such output"
                              : why_no_epilogue(recorded.epilogue, tensor.format(), tensor.shape());
  if (!why.empty()) {
    const std::string at = case_path(name), of = path_of(name, "outputs/" + producer, output);
    const char* what = recorded.epilogue.empty() ? "the machine of" : "beside";
    throw file_error(impl_->path, at, "{} {}: {}", what, of.substr(at.size() + 1), why);
  }
  put_epilogue(name, producer, recorded.epilogue, output);
}

void DatasetWriter::copy(const DatasetFile& from, const std::string& name) {
  impl_->check_new_case(name);
  std::unique_ptr<h5::CopySource> source = from.copy_source(name);
  const StoredCase info = from.info(name);
  const bool has_list =
      std::ranges::any_of(info.inputs, [](const auto& input) { return is_member(input.first); });
  impl_->needs_schema_2 |= info.names_outputs() || !info.absent_inputs.empty() || has_list;
  const bool has_any = std::ranges::any_of(info.outputs, [](const auto& named) {
    return named.second.golden || !named.second.recorded.empty();
  });
  if (info.names_outputs() || has_any) impl_->several[name] = info.names_outputs();
  const std::string at = case_path(name);
  const h5::Handle group = impl_->created_group(at);
  impl_->copy_attributes(*source, at, group.get(), from.checksums(), true);
  impl_->copied.push_back({std::move(source), name, from.checksums()});
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
  h5::quiet_hdf5();
  const auto fail = [&](int error) {
    impl_->check_disk();
    throw file_error(impl_->path, "", "cannot be written: {}", std::strerror(error));
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

std::vector<std::string> DatasetWriter::notes() const {
  std::vector<std::string> notes;
  for (const auto& [why, of] : impl_->left_behind) {
    const std::string others = of.count > 1 ? formatted(" (and {} more)", of.count - 1) : "";
    notes.push_back(
        formatted("{}{} is left out of {}: it {}", printable(of.first), others, impl_->path, why));
  }
  return notes;
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

int hdf5_programs = 0;  // the number of Hdf5Program objects that exist

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
