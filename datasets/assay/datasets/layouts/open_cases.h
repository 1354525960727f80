// Test cases from whatever a team has on disk. Each layout is a row of a table and a pair of files
// (docs/how_to_add.md); which one a path is in is told by its content, or said.
//
//   for (const std::string& path : find_sources({"golden/", "more/*.h5"})) {
//     OpenedCases golden = open_cases(path, {});                       // the golden side
//     OpenedCases outputs = open_cases("out/", {.side = Side::kOutputs});
//     for (const std::string& name : golden.cases->case_names()) { ... }
//     for (const std::string& note : golden.notes) { ... }             // to be said to the user
//   }
//
// A path may hold both sides (a dump with outputs and golden results, a folder with out/ and
// gold/); then one source has golden results and the outputs of its producers, as a dataset file
// has. Where the sides are two paths, each is opened with its side, and cases of one name belong
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

namespace assay {

// What arrays are of which nothing says it.
enum class Side : std::uint8_t { kGolden, kOutputs };

struct OpenOptions {
  std::string layout = {};  // the name of a row; empty: told by the content
  Side side = Side::kGolden;
  std::string producer = {};  // of outputs of which nothing says it; empty: the folder's name
  // Of raw bytes (and of bit patterns in .npy files) that do not say it: of outputs, of golden
  // results and inputs.
  std::string dtype = {}, golden_dtype = {};
  std::optional<Shape> shape = {}, golden_shape = {};
  // For outputs whose golden results lie elsewhere: gives those places, opened. Outputs get the
  // names of the golden cases with the same source names. Raw bytes that do not say it have the
  // dtype of their golden result, and its shape if the sizes agree.
  std::function<std::vector<const CaseSource*>()> golden_sources = {};
  std::optional<bool> rows_are_cases = {};  // row_cases.h; empty: as the file says
  std::string table = {};  // TTK's case table; empty: the one .csv file in the folder, or none
};

struct OpenedCases {
  std::unique_ptr<CaseSource> cases;
  std::string layout;              // the row's name
  std::vector<std::string> notes;  // what was inferred or left out, a sentence each
  // The names of the cases in an order of the source's own, such as that of calls; else empty.
  std::vector<std::string> order = {};
  std::map<std::string, Attribute> attributes = {};  // of all of it: description, source, license
  // Outputs of which the golden side has nothing: they are in no case. Not comparable where the
  // user is strict.
  std::vector<std::string> without_golden = {};
  // Golden results of which the side of the outputs has nothing: each is in a case, which therefore
  // is not comparable.
  std::vector<std::string> without_output = {};
  // What is in no case for another reason, a sentence each: a row of a case table without data.
  // Not comparable where the user is strict.
  std::vector<std::string> left_out = {};
};

struct Layout {
  std::string_view name;
  std::string_view what;     // what it looks like, for `assay list layouts`
  std::string_view example;  // arguments of `assay gate` in datasets/interop: its path comes first
  // Returns whether a path is in this layout, by names and first bytes only.
  bool (*detect)(const std::string& path);
  OpenedCases (*open)(const std::string& path, const OpenOptions& options);
  bool has_table = false;   // a case table belongs to it (OpenOptions::table)
  bool has_dtypes = false;  // it says dtype and shape of each array
};
// In the order in which they are tried.
std::span<const Layout> layouts();

// Opens one path. Throws FileError where nothing is there, no layout fits (the message lists what
// is known) or the layout refuses what it finds; std::invalid_argument on an unknown layout.
OpenedCases open_cases(const std::string& path, const OpenOptions& options = {});

// For OpenOptions::golden_sources. The sources must outlive the function that is returned.
std::function<std::vector<const CaseSource*>()> golden_sources(
    const std::vector<OpenedCases>& sources);

// The sources that paths stand for, in order, each to be opened by open_cases(): a file itself; a
// folder that holds dataset files, at any depth, each of them, in their order; another folder
// itself; a glob ('*' and '?' in the last part; '**' any folders) what it matches. Throws FileError
// where a path or glob leads to nothing. `layout` as in OpenOptions.
std::vector<std::string> find_sources(const std::vector<std::string>& paths,
                                      const std::string& layout = {});

// Outputs and golden results that two patterns pair, one case a pair: "out/*_output_{i}.bin" and
// "gold/*_golden_{i}.bin". '*' stands for any run of characters without '/', '**' for any run,
// '?' for one character, {name} for a run of letters, digits, '_', '.' and '-'; the two patterns
// have the same ones in the same order ({name}s by name), and files belong together where each
// stands for the same. The case is named by what they stand for, its producer is
// OpenOptions::producer ("output" where that is empty). Throws FileError where a pattern matches
// nothing, std::invalid_argument where the patterns do not fit each other.
OpenedCases open_pairs(const std::string& outputs, const std::string& golden,
                       const OpenOptions& options = {});

}  // namespace assay
