#include "assay/datasets/layouts/open_cases.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/arrays/folder.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/layouts/msprobe_folder.h"
#include "assay/datasets/layouts/pairs.h"
#include "assay/datasets/layouts/plain_folder.h"
#include "assay/datasets/layouts/row_cases.h"
#include "assay/datasets/layouts/sample_folder.h"
#include "assay/datasets/layouts/ttk_folder.h"
#include "assay/datasets/layouts/unpacked_folder.h"
#include "assay/datasets/store/dataset_file.h"

namespace assay::inline v0_2 {
namespace {

bool has_dataset_ending(const std::string& path) { return array_format_of(path).is_dataset; }

OpenedCases open_dataset(const std::string& path, const OpenOptions& /*options*/) {
  OpenedCases opened;
  auto file = std::make_unique<DatasetFile>(path);
  opened.attributes = file->attributes();
  opened.attributes.erase("assay_schema");
  opened.cases = std::move(file);
  return opened;
}

constexpr Layout kLayouts[] = {
    {.name = "dataset",
     .what = "an HDF5 file of docs/dataset.md: x.h5",
     .example = "../samples/operators.h5 --machine ascend910b",
     .detect = is_dataset,
     .open = open_dataset,
     .has_dtypes = true},
    {.name = "unpacked",
     .what = "a folder that `assay unpack` wrote: assay_cases.json and the arrays that it lists",
     .example = "unpacked --machine ascend910b",
     .detect = is_unpacked,
     .open = open_unpacked,
     .has_dtypes = true},
    {.name = "ttk_manual",
     .what =
         "TTK's data for replay, a folder a case: add_01/input_0_float16.bin, "
         "add_01/golden_0_float16__shape_2x8.bin; its case table is a .csv beside them, or --table",
     .example = "ttk/manual --outputs ttk/dump --table ttk/cases.csv --recorded dyn",
     .detect = is_ttk_manual,
     .open = open_ttk_manual,
     .has_table = true},
    {.name = "ttk_dump",
     .what = "TTK's dumps in one folder: add_01_dyn_output_0.npy, add_01_golden_0.npy; dyn, const, "
             "bin, geir and xpu are producers; the case table as above",
     .example = "ttk/dump --table ttk/cases.csv --recorded dyn",
     .detect = is_ttk_dump,
     .open = open_ttk_dump,
     .has_table = true},
    {.name = "msprobe",
     .what = "msprobe's dump of one side, dump.json beside dump_tensor_data/, also under "
             "step0/rank0; a case a call, by its API name; the other side is another such folder",
     .example = "msprobe/bench --outputs msprobe/npu",
     .detect = is_msprobe,
     .open = open_msprobe},
    {.name = "sample",
     .what = "an Ascend sample: input/*.bin, output/golden.bin, output/output.bin (golden_y.bin "
             "and output_y.bin where there are several)",
     .example = "sample --dtype float32 --golden-dtype float32",
     .detect = is_sample_folder,
     .open = open_sample_folder},
    {.name = "sides",
     .what = "a folder of both sides, arrays of one name in each: out/a.npy, gold/a.npy (gold, "
             "golden, goldens, expect, expected, reference, ref); the other folders are producers",
     .example = "sides",
     .detect = is_two_sided_folder,
     .open = open_two_sided_folder},
    {.name = "arrays",
     .what = "a folder of arrays at any depth, or one array file, a case each; the other side is "
             "another such folder",
     .example = "sides/gold --outputs sides/out",
     .detect = is_plain_folder,
     .open = open_plain_folder},
};

void check_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw FileError(path, "",
                    "cannot be opened: " +
                        std::make_error_code(std::errc::no_such_file_or_directory).message());
  }
  if (!std::filesystem::is_regular_file(status)) throw FileError(path, "", "is not a regular file");
}

const Layout& layout_of(const std::string& path, const std::string& layout) {
  if (!layout.empty()) return row_named("layout", kLayouts, layout);
  if (!is_folder(path)) check_file(path);
  for (const Layout& row : kLayouts) {
    if (row.detect(path)) return row;
  }
  if (is_folder(path) && files_under(path).empty()) throw NoCaseError(path, "", "holds no file");
  throw file_error(path, "",
                   "is in no layout that assay knows ({}); `assay list layouts` says what they "
                   "look like, and --layout which one it is",
                   joined(names_of(kLayouts)));
}

}  // namespace

bool is_dataset(const std::string& path) {
  if (!is_file(path)) return false;
  if (has_dataset_ending(path)) return true;
  char start[8] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  return std::string_view(start, sizeof start) == "\x89HDF\r\n\x1a\n";
}

std::span<const Layout> layouts() { return kLayouts; }

OpenedCases open_cases(const std::string& path, const OpenOptions& options) {
  const Layout& layout = layout_of(path, options.layout);
  OpenedCases opened = layout.open(path, options);
  opened.layout = layout.name;
  const bool said = rows_are_cases(path, opened.attributes);
  if (options.rows_are_cases.value_or(said)) take_rows_as_cases(opened);
  return opened;
}

std::function<std::vector<const CaseSource*>()> golden_sources(
    const std::vector<OpenedCases>& sources) {
  return [&sources] {
    std::vector<const CaseSource*> cases;
    for (const OpenedCases& source : sources) cases.push_back(source.cases.get());
    return cases;
  };
}

std::vector<std::string> find_sources(const std::vector<std::string>& paths,
                                      const std::string& layout) {
  std::vector<std::string> sources;
  for (const std::string& path : paths) {
    if (is_folder(path)) {
      const std::size_t before = sources.size();
      if (layout.empty() || layout == "dataset") {
        for (const std::string& file : files_under(path)) {
          if (has_dataset_ending(file)) sources.push_back(in_folder(path, file));
        }
      }
      if (sources.size() == before) sources.push_back(path);
    } else if (is_file(path) || path.find_first_of("*?") == std::string::npos) {
      check_file(path);
      sources.push_back(path);
    } else {
      const std::vector<std::string> matching = files_matching(path);
      if (matching.empty()) throw FileError(path, "", "matches no file and no folder");
      // A folder that the glob matches is treated like a folder whose path is given.
      for (const std::string& match : matching) {
        const std::vector<std::string> found = find_sources({match}, layout);
        sources.insert(sources.end(), found.begin(), found.end());
      }
    }
  }
  return sources;
}

}  // namespace assay
