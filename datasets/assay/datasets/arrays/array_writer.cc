#include "assay/datasets/arrays/array_writer.h"

#include <stdexcept>
#include <vector>

#include "assay/base/text.h"
#include "assay/datasets/arrays/array_dtypes.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/store/reader.h"

namespace assay::inline v0_2 {
namespace {

bool has_name(const ArrayFormat& row, const Format& format) {
  return row.dtypes.empty() || !dtype_name(row.dtypes, format).empty();
}

// Returns the kinds of files that can hold the format.
std::string kinds_with(const Format& format) {
  std::vector<std::string> kinds;
  for (const ArrayFormat& row : array_formats()) {
    if (row.write != nullptr && has_name(row, format)) kinds.emplace_back(row.name);
  }
  return joined(kinds);
}

}  // namespace

void write_array_file(const ArrayFormat& row, const std::string& path,
                      const std::map<std::string, TensorView>& arrays) {
  if (row.write == nullptr) {
    throw file_error(path, "", "{} files are read, and not written", row.name);
  }
  if (arrays.empty()) throw FileError(path, "", "there is no array to write");
  if (!row.is_archive && arrays.size() > 1) {
    throw file_error(path, "", "a file of {} holds one array, not {}", row.name, arrays.size());
  }
  for (const auto& [name, view] : arrays) {
    check_array_name(path, name);
    if (!has_name(row, *view.format)) {
      throw file_error(path, name,
                       "{} files cannot hold the dtype {}; choose another kind of file: {}",
                       row.name, view.format->name, kinds_with(*view.format));
    }
  }
  try {
    const auto unnamed = arrays.find("");
    if (row.unnamed.empty() || unnamed == arrays.end()) {
      row.write(path, arrays);
    } else {
      auto named = arrays;
      named.emplace(row.unnamed, unnamed->second);
      named.erase("");
      row.write(path, named);
    }
  } catch (const FileError&) {
    throw;
  } catch (const std::runtime_error& e) {
    throw FileError(path, "", std::string(without_prefix(e.what(), path + ": ")));
  }
}

}  // namespace assay
