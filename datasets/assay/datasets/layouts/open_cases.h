// Opens test cases in the layouts that teams have on disk. Each layout is a row of a table and a
// pair of files (docs/how_to_add.md). The content of a path tells its layout, unless the user names
// the layout.
//
//   for (const std::string& path : find_sources({"golden/", "more/*.h5"})) {
//     OpenedCases golden = open_cases(path, {});                       // the golden side
//     OpenedCases outputs = open_cases("out/", {.side = Side::kOutputs});
//     for (const std::string& name : golden.cases->case_names()) { ... }
//     for (const std::string& note : golden.notes) { ... }             // for the user
//   }
//
// A path may hold both sides (a dump with outputs and golden results, a folder with out/ and
// gold/). Then one source has golden results and the outputs of its producers, as a dataset file
// has. If the sides are two paths, each is opened with its side, and cases of the same name belong
// together.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/datasets/store/case_source.h"

namespace assay::inline v0_2 {

// True if the path is a file whose name has an HDF5 file's ending, or which begins like an HDF5
// file.
bool is_dataset(const std::string& path);

// The side of arrays for which the layout does not say a side.
enum class Side : std::uint8_t { kGolden, kOutputs };

struct OpenOptions {
  // The name of a row of layouts(). If it is empty, the content tells the layout.
  std::string layout = {};
  Side side = Side::kGolden;
  // The producer of outputs for which the layout does not say one. If this is empty, the layout
  // chooses a name, such as that of the folder.
  std::string producer = {};
  // Dtype and shape of raw bytes whose files do not say them. The dtype is also that of bit
  // patterns in .npy files. `dtype` and `shape` are for outputs. `golden_dtype` and `golden_shape`
  // are for golden results and inputs.
  std::string dtype = {}, golden_dtype = {};
  std::optional<Shape> shape = {}, golden_shape = {};
  // For outputs whose golden results lie elsewhere: returns the opened sources of the golden
  // results. Outputs get the names of the golden cases with the same source names. Raw bytes whose
  // files do not say their dtype get that of their golden result, and its shape if the sizes agree.
  std::function<std::vector<const CaseSource*>()> golden_sources = {};
  // Overrides what the file says about its rows (row_cases.h).
  std::optional<bool> rows_are_cases = {};
  // TTK's case table. If this is empty, it is the only CSV file in the folder with the header of a
  // case table, if there is one.
  std::string table = {};
};

struct OpenedCases {
  std::unique_ptr<CaseSource> cases;
  std::string layout;              // the row's name
  std::vector<std::string> notes;  // a sentence for each thing that was inferred or left out
  // The names of the cases in the source's own order, such as that of calls. Empty if the source
  // has no order.
  std::vector<std::string> order = {};
  // The attributes of the whole source, such as description, source and license.
  std::map<std::string, Attribute> attributes = {};
  // Outputs that have no counterpart on the golden side. They are not in any case. In strict mode
  // they count as not comparable.
  std::vector<std::string> without_golden = {};
  // Golden results that have no counterpart on the side of the outputs. Each is in a case, which is
  // therefore not comparable.
  std::vector<std::string> without_output = {};
  // Things that are in no case for another reason, such as a row of a case table without data. One
  // sentence each. In strict mode they count as not comparable.
  std::vector<std::string> left_out = {};
};

struct Layout {
  std::string_view name;
  std::string_view what;  // a description of the layout, for `assay list layouts`
  // An example for `assay list layouts`: the arguments of `assay gate` for this layout's files in
  // datasets/interop, with their path first.
  std::string_view example;
  // Returns whether a path is in this layout, by names and first bytes only.
  bool (*detect)(const std::string& path);
  OpenedCases (*open)(const std::string& path, const OpenOptions& options);
  bool has_table = false;   // the layout may have a case table (OpenOptions::table)
  bool has_dtypes = false;  // the layout records dtype and shape of each array
};
// Returns the layouts in the order in which they are tried.
std::span<const Layout> layouts();

// Opens one path. Throws FileError if the path does not exist, if no layout fits (the message lists
// the known layouts) or if the layout refuses the content. Throws Refusal if the
// layout is unknown.
OpenedCases open_cases(const std::string& path, const OpenOptions& options = {});

// Returns a function for OpenOptions::golden_sources. The sources must outlive the function.
std::function<std::vector<const CaseSource*>()> golden_sources(
    const std::vector<OpenedCases>& sources);

// Returns the sources that the paths stand for, in order. Each can be opened by open_cases(). A
// path stands for:
// - a file: the file;
// - a folder with dataset files at any depth: each of these files, in their order, unless `layout`
// names another layout;
// - another folder: the folder;
// - a glob ('*' and '?' match no '/', '**' matches any text): everything that it matches.
// Throws FileError if a path does not exist or a glob matches nothing. `layout` is as in
// OpenOptions.
std::vector<std::string> find_sources(const std::vector<std::string>& paths,
                                      const std::string& layout = {});

// Opens outputs and golden results that two patterns pair, one case for each pair:
// "out/*_output_{i}.bin" and "gold/*_golden_{i}.bin". In a pattern, '*' stands for any run of
// characters without '/', '**' for any run, '?' for one character, and {name} for a run of letters,
// digits, '_', '.' and '-'. Both patterns have the same wildcards in the same order ({name}s by
// name). Two files belong together if each wildcard stands for the same text. The case is named
// after these texts. Its producer is OpenOptions::producer, or "output" if that is empty. Throws
// FileError if a pattern matches nothing, and Refusal if the patterns do not fit each
// other.
OpenedCases open_pairs(const std::string& outputs, const std::string& golden,
                       const OpenOptions& options = {});

}  // namespace assay
