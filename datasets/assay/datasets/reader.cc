#include "assay/datasets/reader.h"

#include <algorithm>
#include <cstring>

#include "assay/base/text.h"
#include "assay/datasets/types.h"
#include "assay/format/convert.h"

namespace assay::h5 {
namespace {

constexpr int kMaxLinkDepth = 16;  // of soft links that lead to soft links

std::string with_detail(std::string reason) {
  const std::string detail = last_error();
  return detail.empty() ? reason : reason + " (" + detail + ")";
}

// "/cases/a/../b" is no path of the schema; HDF5 knows no "..", but "." is one.
std::string join_path(const std::string& group, const std::string& name) {
  return group == "/" ? "/" + name : group + "/" + name;
}

std::string read_string(hid_t attr, hid_t type) {
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    const Handle memory = h5::type(H5Tcopy(H5T_C_S1));
    H5Tset_size(memory.get(), H5T_VARIABLE);
    H5Tset_cset(memory.get(), H5Tget_cset(type));
    if (H5Aread(attr, memory.get(), &text) < 0 || text == nullptr) return "";
    std::string value = text;
    H5free_memory(text);
    return value;
  }
  std::string value(H5Tget_size(type), '\0');
  if (H5Aread(attr, type, value.data()) < 0) return "";
  if (H5Tget_strpad(type) == H5T_STR_SPACEPAD) {
    value.erase(value.find_last_not_of(' ') + 1);
  } else {
    value.resize(std::strlen(value.c_str()));
  }
  return value;
}

// One attribute as a value; empty where it is of no kind that the schema knows.
std::optional<Attribute> read_attribute(hid_t attr) {
  const Handle space = h5::space(H5Aget_space(attr));
  if (H5Sget_simple_extent_npoints(space.get()) != 1) return std::nullopt;
  const Handle type = h5::type(H5Aget_type(attr));
  switch (H5Tget_class(type.get())) {
    case H5T_STRING:
      return read_string(attr, type.get());
    case H5T_INTEGER: {
      if (H5Tget_size(type.get()) > 8) return std::nullopt;
      if (H5Tget_sign(type.get()) == H5T_SGN_NONE) {
        std::uint64_t value = 0;
        if (H5Aread(attr, H5T_NATIVE_UINT64, &value) < 0) return std::nullopt;
        if (value > INT64_MAX) return static_cast<double>(value);
        return static_cast<std::int64_t>(value);
      }
      std::int64_t value = 0;
      if (H5Aread(attr, H5T_NATIVE_INT64, &value) < 0) return std::nullopt;
      return value;
    }
    case H5T_FLOAT: {
      // Widening only: an attribute is a parameter, not data, and no bits are lost.
      if (H5Tget_precision(type.get()) > 64) return std::nullopt;
      double value = 0;
      if (H5Aread(attr, H5T_NATIVE_DOUBLE, &value) < 0) return std::nullopt;
      return value;
    }
    case H5T_ENUM: {
      if (H5Tget_size(type.get()) != 1) return std::nullopt;
      signed char value = 0;
      if (H5Aread(attr, type.get(), &value) < 0) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

struct Reader::Opened {
  Handle dataset, type;
  const Format* format;
  TypeMatch match;
  Shape shape;
};

void Reader::refuse(const std::string& object, const std::string& reason) const {
  H5Eclear2(H5E_DEFAULT);
  throw FileError(path_, object, reason);
}

bool Reader::check_path(const std::string& object, int depth) const {
  if (depth > kMaxLinkDepth) refuse(object, "soft links lead to soft links without end");
  std::string at;
  const std::vector<std::string> parts = split(object, '/');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string parent = at.empty() ? "/" : at;
    at += "/" + parts[i];
    if (parts[i] == ".") refuse(object, "'.' is no name");
    if (H5Lexists(file_, at.c_str(), H5P_DEFAULT) <= 0) {
      H5Eclear2(H5E_DEFAULT);
      if (i + 1 == parts.size()) return false;
      refuse(object, format("{} does not exist", at));
    }
    H5L_info_t info;
    if (H5Lget_info(file_, at.c_str(), &info, H5P_DEFAULT) < 0) {
      refuse(at, with_detail("its link cannot be read"));
    }
    if (info.type == H5L_TYPE_HARD) continue;
    if (info.type == H5L_TYPE_EXTERNAL) {
      refuse(at, "is an external link; a dataset file must hold all its data");
    }
    if (info.type != H5L_TYPE_SOFT) refuse(at, "is a link of an unknown, user-defined kind");
    std::string target(info.u.val_size + 1, '\0');
    if (H5Lget_val(file_, at.c_str(), target.data(), target.size(), H5P_DEFAULT) < 0) {
      refuse(at, with_detail("its soft link cannot be read"));
    }
    target.resize(std::strlen(target.c_str()));
    const std::string whole = target.starts_with("/") ? target : join_path(parent, target);
    if (!check_path(whole, depth + 1)) {
      refuse(at, format("is a soft link to {}, which does not exist", target));
    }
  }
  return true;
}

Reader::ObjectKind Reader::kind_of(const std::string& object) const {
  const Handle handle = h5::object(H5Oopen(file_, object.c_str(), H5P_DEFAULT));
  if (!handle.valid()) refuse(object, with_detail("cannot be opened"));
  switch (H5Iget_type(handle.get())) {
    case H5I_GROUP:
      return ObjectKind::kGroup;
    case H5I_DATASET:
      return ObjectKind::kDataset;
    default:
      return ObjectKind::kOther;
  }
}

std::vector<std::string> Reader::links_in(const std::string& group_path) const {
  const Handle group = h5::group(H5Gopen2(file_, group_path.c_str(), H5P_DEFAULT));
  if (!group.valid()) refuse(group_path, with_detail("is no group that can be opened"));
  std::vector<std::string> names;
  const herr_t done = H5Literate(
      group.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr,
      [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
        static_cast<std::vector<std::string>*>(out)->emplace_back(name);
        return 0;
      },
      &names);
  if (done < 0) refuse(group_path, with_detail("its links cannot be read"));
  for (const std::string& name : names) check_path(join_path(group_path, name));
  return names;
}

std::uint64_t Reader::address_of(const std::string& object) const {
  H5O_info_t info;
  if (H5Oget_info_by_name2(file_, object.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
    refuse(object, with_detail("cannot be opened"));
  }
  return info.addr;
}

std::map<std::string, Attribute> Reader::attributes(
    const std::string& object_path, const std::vector<std::string>& required) const {
  const Handle object = h5::object(H5Oopen(file_, object_path.c_str(), H5P_DEFAULT));
  if (!object.valid()) refuse(object_path, with_detail("cannot be opened"));
  std::vector<std::string> names;
  const herr_t done = H5Aiterate2(
      object.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr,
      [](hid_t, const char* name, const H5A_info_t*, void* out) -> herr_t {
        static_cast<std::vector<std::string>*>(out)->emplace_back(name);
        return 0;
      },
      &names);
  if (done < 0) refuse(object_path, with_detail("its attributes cannot be read"));
  std::map<std::string, Attribute> values;
  for (const std::string& name : names) {
    const Handle attr = h5::attribute(H5Aopen(object.get(), name.c_str(), H5P_DEFAULT));
    if (!attr.valid())
      refuse(object_path, with_detail(format("attribute '{}' cannot be opened", name)));
    if (auto value = read_attribute(attr.get())) {
      values.emplace(name, std::move(*value));
    } else if (std::find(required.begin(), required.end(), name) != required.end()) {
      refuse(object_path, format("attribute '{}' must be one string, number or bool", name));
    }
  }
  H5Eclear2(H5E_DEFAULT);
  return values;
}

Reader::Opened Reader::open_tensor(const std::string& object) const {
  if (!check_path(object)) refuse(object, "does not exist");
  if (kind_of(object) != ObjectKind::kDataset) refuse(object, "must be a dataset");
  Handle dataset_handle = h5::dataset(H5Dopen2(file_, object.c_str(), H5P_DEFAULT));
  if (!dataset_handle.valid()) refuse(object, with_detail("cannot be opened"));
  const hid_t dataset = dataset_handle.get();

  // The creation properties come first: nothing is read through a source outside the file.
  {
    const Handle created = h5::properties(H5Dget_create_plist(dataset));
    const H5D_layout_t layout = H5Pget_layout(created.get());
    if (layout == H5D_VIRTUAL) refuse(object, "is a virtual dataset; its data lie elsewhere");
    if (H5Pget_external_count(created.get()) > 0) {
      refuse(object, "keeps its data in an external file; a dataset file must hold all its data");
    }
    for (int i = 0; i < H5Pget_nfilters(created.get()); ++i) {
      unsigned flags, config;
      std::size_t values = 0;
      char name[64] = "";
      const H5Z_filter_t filter = H5Pget_filter2(created.get(), static_cast<unsigned>(i), &flags,
                                                 &values, nullptr, sizeof name, name, &config);
      if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
          filter != H5Z_FILTER_FLETCHER32) {
        refuse(object, format("uses the filter '{}' ({}); only deflate, shuffle and fletcher32 are "
                              "read",
                              name, filter));
      }
    }
    if (layout == H5D_CHUNKED) {
      hsize_t chunk[H5S_MAX_RANK];
      const int rank = H5Pget_chunk(created.get(), H5S_MAX_RANK, chunk);
      const Handle element = h5::type(H5Dget_type(dataset));
      double bytes = static_cast<double>(H5Tget_size(element.get()));
      for (int d = 0; d < rank; ++d) bytes *= static_cast<double>(chunk[d]);
      if (bytes > static_cast<double>(max_bytes_)) {
        refuse(object, format("has chunks of {:.0f} bytes, over the reader's cap of {}; "
                              "ASSAY_MAX_DATASET_GIB raises it",
                              bytes, max_bytes_));
      }
    }
  }

  const auto attributes_here = attributes(object, {"dtype"});
  const auto dtype = attributes_here.find("dtype");
  if (dtype == attributes_here.end()) refuse(object, "has no attribute 'dtype'");
  const auto* name = std::get_if<std::string>(&dtype->second);
  if (name == nullptr) refuse(object, "its attribute 'dtype' must be a string");
  const Format* f = find_format(*name);
  if (f == nullptr) {
    refuse(
        object,
        format("its dtype '{}' is none that assay knows; `assay list formats` shows them", *name));
  }
  Handle type = h5::type(H5Dget_type(dataset));
  TypeMatch match = match_type(type.get(), *f);
  if (!match.ok) refuse(object, match.why_not);

  const Handle space = h5::space(H5Dget_space(dataset));
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL)
    refuse(object, "has no data (null space)");
  const int rank = H5Sget_simple_extent_ndims(space.get());
  hsize_t extents[H5S_MAX_RANK];
  H5Sget_simple_extent_dims(space.get(), extents, nullptr);
  Shape shape;
  double bytes = f->storage_bytes;
  for (int d = 0; d < rank; ++d) {
    shape.push_back(static_cast<std::int64_t>(extents[d]));
    bytes *= static_cast<double>(extents[d]);
  }
  if (bytes > static_cast<double>(max_bytes_)) {
    refuse(object, format("declares {:.0f} bytes, over the reader's cap of {}; "
                          "ASSAY_MAX_DATASET_GIB raises it",
                          bytes, max_bytes_));
  }
  return {std::move(dataset_handle), std::move(type), f, match, std::move(shape)};
}

TensorInfo Reader::tensor_info(const std::string& object) const {
  const Opened opened = open_tensor(object);
  return {std::string(opened.format->name), opened.shape};
}

Tensor Reader::read_tensor(const std::string& object) const {
  const Opened opened = open_tensor(object);
  const Format& f = *opened.format;
  Tensor tensor(f, opened.shape);
  if (H5Dread(opened.dataset.get(), opened.type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
              tensor.bytes()) < 0) {
    refuse(object, with_detail("its data cannot be read"));
  }
  if (opened.match.swap_bytes) {
    std::byte* at = tensor.bytes();
    for (std::int64_t i = 0; i < tensor.size(); ++i, at += f.storage_bytes) {
      std::reverse(at, at + f.storage_bytes);
    }
  }
  // A format narrower than its storage: bits beyond it mean that the values are something else.
  if (f.padding > 0 || f.bits < 8 * f.storage_bytes) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      if (!is_valid_code(f, tensor.bits_at(i))) {
        refuse(object,
               format("element {} is 0x{:x}, which is no {} (it has bits beyond the format)",
                      shape_text(tensor.view().multi_index(i)), tensor.bits_at(i), f.name));
      }
    }
  }
  return tensor;
}

}  // namespace assay::h5
