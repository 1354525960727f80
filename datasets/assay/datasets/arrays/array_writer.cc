#include "assay/datasets/arrays/array_writer.h"

#include <stdexcept>
#include <vector>

#include "assay/base/text.h"
#include "assay/datasets/arrays/array_dtypes.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/store/reader.h"

namespace assay {
namespace {

// The column in which a kind of file must have a dtype's name; the others keep any bytes.
DtypeColumn needed_column(const ArrayFormat& row) {
  if (row.name == "pt") return &DtypeNames::torch;
  if (row.name == "safetensors") return &DtypeNames::safetensors;
  return nullptr;
}

// The other kinds that can say it.
std::string kinds_with(const Format& format) {
  std::vector<std::string> kinds;
  for (const ArrayFormat& row : array_formats()) {
    const DtypeColumn column = needed_column(row);
    if (row.write == nullptr) continue;
    if (column == nullptr || !dtype_name(column, format).empty()) kinds.emplace_back(row.name);
  }
  return joined(kinds);
}

}  // namespace

void write_array_file(const ArrayFormat& row, const std::string& path,
                      const std::map<std::string, TensorView>& arrays) {
  if (row.write == nullptr) {
    throw FileError(path, "", formatted("{} files are read, and not written", row.name));
  }
  if (arrays.empty()) throw FileError(path, "", "there is no array to write");
  if (!row.is_archive && arrays.size() > 1) {
    throw FileError(path, "",
                    formatted("a file of {} holds one array, not {}", row.name, arrays.size()));
  }
  const DtypeColumn column = needed_column(row);
  for (const auto& [name, view] : arrays) {
    check_array_name(path, name);
    if (column != nullptr && dtype_name(column, *view.format).empty()) {
      throw FileError(path, name,
                      formatted("{} has no dtype {}; {} can say it", row.name, view.format->name,
                                kinds_with(*view.format)));
    }
  }
  try {
    row.write(path, arrays);
  } catch (const FileError&) {
    throw;
  } catch (const std::runtime_error& e) {
    throw FileError(path, "", std::string(without_prefix(e.what(), path + ": ")));
  }
}

}  // namespace assay
