#include "assay/datasets/arrays/array_dtypes.h"

#include <algorithm>
#include <vector>

#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

struct NamedDtype {
  std::string_view name, format;
};

// Removes the first of `names` and returns it. `names` is not empty.
NamedDtype take_dtype(DtypeNames& names) {
  const std::size_t end = std::min(names.find(' '), names.size());
  const std::string_view word = names.substr(0, end);
  names.remove_prefix(std::min(end + 1, names.size()));
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return {word, word};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

}  // namespace

const Format* find_dtype(DtypeNames names, std::string_view name) {
  while (!names.empty()) {
    const NamedDtype dtype = take_dtype(names);
    if (dtype.name == name) return find_format(dtype.format);
  }
  return nullptr;
}

std::string_view dtype_name(DtypeNames names, const Format& format) {
  while (!names.empty()) {
    const NamedDtype dtype = take_dtype(names);
    if (dtype.format == format.name) return dtype.name;
  }
  return "";
}

std::string dtypes_of(DtypeNames names) {
  std::vector<std::string> dtypes;
  while (!names.empty()) dtypes.emplace_back(take_dtype(names).format);
  return joined(dtypes);
}

std::string unread_elements(std::string_view dtype) {
  return formatted(
      "holds elements of {}, which assay does not read; save them as a dtype of docs/formats.md",
      dtype);
}

}  // namespace assay
