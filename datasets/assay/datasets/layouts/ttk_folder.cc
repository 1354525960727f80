#include "assay/datasets/layouts/ttk_folder.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "assay/base/call_text.h"
#include "assay/base/error.h"
#include "assay/base/sha256.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/arrays/folder.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/layouts/array_cases.h"
#include "assay/datasets/layouts/pairs.h"
#include "assay/datasets/layouts/ttk_operators.h"
#include "assay/datasets/layouts/ttk_table.h"
#include "assay/tensor/read_shape.h"

namespace assay::inline v0_2 {
namespace {

// The endings of TTK's arrays. If a folder for replay has files of several kinds, only the first of
// these kinds is read.
constexpr std::string_view kDumpEndings[] = {"bin", "npy", "pt"};
constexpr int kMostTensors = 65536;  // a number of at least this in a name is not an index

std::optional<int> index_of(std::string_view text) {
  const auto index = read_number<int>(text);
  return index && *index >= 0 && *index < kMostTensors ? index : std::nullopt;
}

// --------------------------------------------------------------------------- the case table

// The rows of the case table by name. The table is the one that the user gave, or the only one in
// the folder.
struct Rows {
  TtkTable table;
  std::map<std::string, const TtkCase*> by_name, by_dump_name;
  bool given = false;
};

std::unique_ptr<Rows> find_rows(const std::string& folder, const OpenOptions& options,
                                OpenedCases& opened) {
  auto rows = std::make_unique<Rows>();
  std::string path = options.table;
  if (path.empty()) {
    std::vector<std::string> tables;
    for (const std::string& name : names_in(folder)) {
      const std::string file = in_folder(folder, name);
      if (file.ends_with(".csv") && is_file(file) && is_ttk_table(file)) tables.push_back(file);
    }
    if (tables.size() > 1) {
      throw file_error(folder, "", "has the case tables {}; say with --table which one it is",
                       joined(tables));
    }
    if (tables.empty()) {
      for (const std::string& name : names_in(folder)) {
        if (!name.ends_with(".xlsx")) continue;
        opened.notes.push_back(
            formatted("{} is an Excel workbook, which assay does not read; save its sheet as CSV",
                      in_folder(folder, name)));
      }
      opened.notes.push_back(
          "there is no case table (--table FILE.csv): operators, attributes and tolerances are not "
          "known");
      return rows;
    }
    path = tables[0];
    opened.notes.push_back(formatted("the case table is {}", path));
  }
  rows->table = read_ttk_table(path);
  rows->table.given = !options.table.empty();
  rows->given = true;
  for (const TtkCase& c : rows->table.cases) {
    rows->by_name.emplace(c.name, &c);
    rows->by_dump_name.emplace(ttk_dump_name(c.name), &c);
  }
  return rows;
}

// Adds what the table says about an array: its dtype, and the shape of raw bytes.
void add_what_row_says(ArrayRequest& array, const TtkTensor& tensor) {
  if (array.dtype.empty()) array.dtype = ttk_dtype(tensor.dtype);
  if (!array.shape && array.path.ends_with(".bin")) array.shape = tensor.shape;
}

// Returns a file that a row names. It must lie in the folder of its table, unless the user gave
// that table.
std::string named_file(const TtkTable& table, const TtkCase& row, const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path path(file);
  const bool leads_out = path.is_absolute() || contains(path, "..");
  if (leads_out && !table.given) {
    throw file_error(
        table.csv.path, formatted("line {}", row.line),
        "names {}, which is not in the table's folder; give the table by --table to have it read",
        file);
  }
  const std::string beside = (fs::path(table.csv.path).parent_path() / path).string();
  if (!is_file(beside) && is_file(file) && table.given) return file;
  if (!is_file(beside)) {
    throw file_error(table.csv.path, formatted("line {}", row.line), "names {}, which is no file",
                     file);
  }
  return beside;
}

// Adds the files that the row names for arrays without a file in the folder: inputs, golden results
// and results of a third party.
void add_named_files(CaseRecord& record, const TtkTable& table, const TtkCase& row) {
  const auto array = [&](const std::string& file) {
    return ArrayRequest{named_file(table, row, file), "", {}};
  };
  for (std::size_t i = 0; i < row.input_files.size(); ++i) {
    const std::string name = formatted("input_{}", i);
    const bool known = record.inputs.count(name) != 0 || record.absent_inputs.count(name) != 0;
    if (!row.input_files[i].empty() && !known) {
      record.inputs.emplace(name, array(row.input_files[i]));
    }
  }
  for (std::size_t i = 0; i < row.golden_files.size(); ++i) {
    if (row.golden_files[i].empty()) continue;
    OutputRecord& result = record.outputs[formatted("output_{}", i)];
    if (!result.golden && !result.golden.is_absent()) result.golden = array(row.golden_files[i]);
  }
  for (std::size_t i = 0; i < row.xpu_files.size(); ++i) {
    if (row.xpu_files[i].empty()) continue;
    OutputRecord& result = record.outputs[formatted("output_{}", i)];
    if (auto& xpu = result.recorded["xpu"].tensor; xpu.empty()) xpu = array(row.xpu_files[i]);
  }
}

// Adds the row's description of the arrays and the rules by which TTK judges: the row's tolerances,
// or the standard ttk_mixed if it has none.
void add_row(CaseRecord& record, const TtkCase* row, const OpenOptions& options) {
  if (row == nullptr) {
    record.attributes["standard"] = std::string("ttk_mixed");
    return;
  }
  for (std::size_t i = 0; i < row->inputs.size(); ++i) {
    const auto at = record.inputs.find(formatted("input_{}", i));
    if (at != record.inputs.end()) add_what_row_says(at->second, row->inputs[i]);
  }
  for (std::size_t i = 0; i < row->outputs.size(); ++i) {
    const auto at = record.outputs.find(formatted("output_{}", i));
    if (at == record.outputs.end()) continue;
    OutputRecord& result = at->second;
    for (auto& [producer, recorded] : result.recorded) {
      add_what_row_says(recorded.tensor, row->outputs[i]);
    }
    if (!result.golden) continue;  // only outputs with a golden result are judged
    // The user's dtype comes first, because the golden result may be wider than the output, and the
    // table has only the dtype of the output.
    if (result.golden->dtype.empty()) result.golden->dtype = options.golden_dtype;
    add_what_row_says(*result.golden, row->outputs[i]);
    // A single entry of tolerances applies to all outputs.
    const std::size_t of = row->tolerances.size() == 1 ? 0 : i;
    if (of < row->tolerances.size() && row->tolerances[of]) {
      const auto& [rtol, share] = *row->tolerances[of];
      result.attributes["rtol"] = rtol;
      result.attributes["atol"] = i < row->atol.size() ? row->atol[i] : 1e-8;
      result.attributes["max_mismatch_fraction"] = std::min(share, 1.0);
      result.attributes["equal_nan"] = std::int64_t{1};
      result.attributes["round_expected"] = std::int64_t{0};
    } else {
      result.attributes["standard"] = std::string("ttk_mixed");
    }
    if (const Format* f = find_format(ttk_dtype(row->outputs[i].dtype))) {
      result.attributes["output_dtype"] = std::string(f->name);
    }
  }
  name_operator(record, *row);
}

// ---------------------------------------------------------------------- folders for replay

struct ManualFile {
  std::string kind, dtype, ending;
  int index = 0;
  std::optional<Shape> shape;
};

// Parses "golden_0_bfloat16__shape_2x8x128.bin". Returns nothing for a name of another form.
std::optional<ManualFile> manual_file(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  ManualFile file;
  file.ending = name.substr(dot + 1);
  if (!contains(kDumpEndings, file.ending)) {
    return std::nullopt;
  }
  std::string stem = name.substr(0, dot);
  if (const std::size_t at = stem.find("__shape_"); at != std::string::npos) {
    file.shape = ttk_shape(stem.substr(at + 8));
    if (!file.shape) return std::nullopt;
    stem.erase(at);
  }
  const std::size_t first = stem.find('_');
  const std::size_t second = stem.find('_', first + 1);
  if (first == std::string::npos || second == std::string::npos) return std::nullopt;
  file.kind = stem.substr(0, first);
  file.dtype = stem.substr(second + 1);
  const auto index = index_of(stem.substr(first + 1, second - first - 1));
  const bool known = file.kind == "input" || file.kind == "scalar" || file.kind == "golden";
  if (!known || !index || file.dtype.empty()) return std::nullopt;
  file.index = *index;
  return file;
}

bool is_case_folder(const std::string& folder) {
  const std::vector<std::string> names = names_in(folder);
  return std::ranges::any_of(names,
                             [](const std::string& name) { return manual_file(name).has_value(); });
}

using ManualSet = std::map<std::pair<std::string, int>, std::pair<ManualFile, std::string>>;

// A folder may hold its arrays as bin, npy and pt files. Returns the files of the first of these
// kinds that exists. Their indices must count from 0 without gaps.
ManualSet manual_set(const std::string& folder) {
  std::map<std::string, ManualSet> sets;
  for (const std::string& name : names_in(folder)) {
    const auto file = manual_file(name);
    if (!file) {
      throw FileError(folder, name,
                      "nothing but input_, scalar_ and golden_INDEX_DTYPE files may lie in a "
                      "case's folder, and a raw golden result has its shape in its name");
    }
    const auto [at, added] =
        sets[file->ending].emplace(std::pair(file->kind, file->index), std::pair(*file, name));
    if (!added) {
      throw file_error(folder, name, "and {} are the same array", at->second.second);
    }
  }
  for (const std::string_view ending : kDumpEndings) {
    const auto at = sets.find(std::string(ending));
    if (at == sets.end()) continue;
    std::map<std::string, int> next;
    for (const auto& [key, file] : at->second) {
      if (key.second != next[key.first]) {
        throw file_error(folder, "", "has {}_{} in .{} files, but no {}_{}", key.first, key.second,
                         ending, key.first, next[key.first]);
      }
      ++next[key.first];
    }
    return at->second;
  }
  throw FileError(folder, "", "holds no array");
}

CaseRecord manual_record(const std::string& folder, const std::string& name, const TtkTable* table,
                         const TtkCase* row, const OpenOptions& options) {
  CaseRecord record;
  record.name = name;
  try {
    for (const auto& [key, of] : manual_set(folder)) {
      const auto& [file, file_name] = of;
      const std::string path = in_folder(folder, file_name);
      const bool none = file.dtype == "none";
      if (none && std::filesystem::file_size(path) != 0) {
        throw FileError(path, "", "says none, and has bytes");
      }
      const ArrayRequest array{path, ttk_dtype(file.dtype), file.shape};
      if (file.kind == "golden") {
        OutputRecord& result = record.outputs[formatted("output_{}", file.index)];
        if (none) {
          result.golden = BasicGolden<ArrayRequest>::absent();
          continue;
        }
        if (file.ending == "bin" && !file.shape) {
          throw FileError(path, "",
                          "a raw golden result has its shape in its name, as in "
                          "golden_0_bfloat16__shape_2x8x128.bin");
        }
        result.golden = array;
      } else if (none) {
        record.absent_inputs.insert(formatted("{}_{}", file.kind, file.index));
      } else {
        record.inputs.emplace(formatted("{}_{}", file.kind, file.index), array);
      }
    }
    if (row != nullptr && !row->outputs.empty()) {
      for (const auto& [output, result] : record.outputs) {
        const auto index = static_cast<std::size_t>(*index_of(output.substr(7)));
        if (index >= row->outputs.size()) {
          throw file_error(folder, "",
                           "has golden result {}, and the case table {} outputs (line {})", index,
                           row->outputs.size(), row->line);
        }
        const TtkTensor& tensor = row->outputs[index];
        if (result.golden && result.golden->shape && tensor.shape &&
            *result.golden->shape != *tensor.shape) {
          throw file_error(result.golden->path, "",
                           "has the shape {}, and the case table {} (line {})",
                           shape_text(*result.golden->shape), shape_text(*tensor.shape), row->line);
        }
      }
    }
    if (row != nullptr) add_named_files(record, *table, *row);
    add_row(record, row, options);
  } catch (const FileError& e) {
    record.error = e;
  }
  return record;
}

}  // namespace

std::optional<Shape> ttk_shape(std::string_view text) {
  const std::optional<Shape> shape = read_shape(text, 'x');
  if (!shape) return std::nullopt;
  try {
    (void)element_count(*shape);
  } catch (const Refusal&) {
    return std::nullopt;
  }
  return shape;
}

std::string ttk_folder_name(const std::string& testcase) {
  std::string safe = testcase;
  std::ranges::replace_if(safe, std::not_fn(is_word_character), '_');
  // A folder whose name begins with '.' would be hidden, or would be the parent folder.
  if (safe.starts_with('.')) safe[0] = '_';
  if (safe == testcase && safe.size() <= 120) return safe;
  return safe.substr(0, 107) + "_" + sha256(testcase).substr(0, 12);
}

std::string ttk_dump_name(const std::string& testcase) {
  // With the words that follow the name, a file's name may have at most 255 bytes.
  constexpr std::size_t kMost = 200;
  const bool is_hidden = testcase.starts_with('.');
  return is_hidden || testcase.find('/') != std::string::npos || testcase.size() > kMost
             ? ttk_folder_name(testcase)
             : testcase;
}

bool is_ttk_manual(const std::string& path) {
  if (!is_folder(path)) return false;
  if (is_case_folder(path)) return true;
  for (const std::string& folder : folders_in(path)) {
    const std::string whole = in_folder(path, folder);
    if (!names_in(whole).empty()) return is_case_folder(whole);
  }
  return false;
}

OpenedCases open_ttk_manual(const std::string& path, const OpenOptions& options) {
  OpenedCases opened;
  const bool one = is_case_folder(path);
  const auto rows =
      one && options.table.empty() ? std::make_unique<Rows>() : find_rows(path, options, opened);
  // A folder is found by its case's name, or by the last twelve digits of the folder's name if that
  // name was made safe.
  std::map<std::string, const TtkCase*> by_folder;
  for (const auto& [name, row] : rows->by_name) by_folder.emplace(ttk_folder_name(name), row);
  std::vector<CaseRecord> records;
  std::set<std::string> found;
  for (const std::string& folder : one ? std::vector{std::string()} : folders_in(path)) {
    const std::string whole = one ? path : in_folder(path, folder);
    const std::string own = one ? last_name(path) : folder;
    auto row = by_folder.find(own);
    if (row == by_folder.end() && own.size() > 12) {
      row = std::ranges::find_if(by_folder, [&](const auto& of) {
        return of.second->name != of.first && of.first.ends_with(own.substr(own.size() - 12));
      });
    }
    const bool known = row != by_folder.end();
    if (rows->given && !known) {
      opened.left_out.push_back(formatted("{} is no case of {}", whole, rows->table.csv.path));
      continue;
    }
    if (known) found.insert(row->second->name);
    records.push_back(manual_record(whole, known ? row->second->name : own, &rows->table,
                                    known ? row->second : nullptr, options));
  }
  for (const auto& [name, row] : rows->by_name) {
    if (found.count(name) == 0) {
      opened.left_out.push_back(formatted("case {} of {} (line {}) has no folder", name,
                                          rows->table.csv.path, row->line));
    }
  }
  settle_arrays(records, options, opened.notes);
  opened.cases = std::make_unique<ArrayCases>(path, std::move(records), options);
  return opened;
}

// -------------------------------------------------------------------------------------- dumps

namespace {

constexpr std::string_view kVariants[] = {"dyn", "const", "bin", "geir", "fail", "xpu"};

struct DumpFile {
  std::string testcase, variant, kind;  // `kind` is "input", "output" or "golden"
  int index = 0;
};

// Parses "add_01_dyn_output_0". Returns nothing for a name of another form. A case table tells
// where a case's name ends.
std::optional<DumpFile> dump_file(std::string stem, const Rows& rows) {
  const auto last = [&stem] {
    const std::size_t at = stem.rfind('_');
    std::string word = at == std::string::npos ? "" : stem.substr(at + 1);
    if (at != std::string::npos) stem.erase(at);
    return word;
  };
  DumpFile file;
  const auto index = index_of(last());
  if (!index) return std::nullopt;
  file.index = *index;
  file.kind = last();
  if (file.kind != "input" && file.kind != "output" && file.kind != "golden") return std::nullopt;
  if (stem.empty()) return std::nullopt;
  file.testcase = stem;
  while (rows.by_dump_name.count(stem) == 0) {
    const std::size_t at = stem.rfind('_');
    if (at == std::string::npos || at == 0) break;
    const std::string word = stem.substr(at + 1);
    if (!contains(kVariants, word)) break;
    file.variant = file.variant.empty() ? word : word + "_" + file.variant;
    stem.erase(at);
    file.testcase = stem;
  }
  return file;
}

bool has_dump_ending(const std::string& file) {
  return file.ends_with(".bin") || file.ends_with(".npy") || file.ends_with(".pt");
}

bool is_tiling(const std::string& stem) { return stem.ends_with("_tiling_data"); }

// The dumped files of one case. The keys are the variant (such as "dyn") and the tensor's index.
struct DumpedCase {
  std::optional<FileError> error;  // set if two of the files are for the same array
  std::map<std::string, std::map<int, std::string>> inputs, outputs, golden;
  std::map<std::string, std::map<int, std::string>> third;  // by producer
};

const std::map<int, std::string>* first_of(
    const std::map<std::string, std::map<int, std::string>>& variants,
    std::initializer_list<const char*> preferred) {
  for (const char* variant : preferred) {
    const auto at = variants.find(variant);
    if (at != variants.end()) return &at->second;
  }
  return variants.empty() ? nullptr : &variants.begin()->second;
}

CaseRecord dump_record(const std::string& name, const DumpedCase& dumped,
                       const std::string& producer_of_no_variant) {
  CaseRecord record;
  record.name = name;
  const auto preferred = {"", "dyn", "const", "bin", "geir", "fail"};
  if (const auto* inputs = first_of(dumped.inputs, preferred)) {
    for (const auto& [index, path] : *inputs) {
      record.inputs.emplace(formatted("input_{}", index), ArrayRequest{path});
    }
  }
  if (const auto* golden = first_of(dumped.golden, preferred)) {
    for (const auto& [index, path] : *golden) {
      record.outputs[formatted("output_{}", index)].golden = ArrayRequest{path};
    }
  }
  for (const auto* side : {&dumped.outputs, &dumped.third}) {
    for (const auto& [producer, arrays] : *side) {
      for (const auto& [index, path] : arrays) {
        OutputRecord& output = record.outputs[formatted("output_{}", index)];
        output.recorded[producer.empty() ? producer_of_no_variant : producer].tensor = {path};
      }
    }
  }
  return record;
}

}  // namespace

bool is_ttk_dump(const std::string& path) {
  if (!is_folder(path)) return false;
  const Rows none;
  bool found = false;
  for (const std::string& name : names_in(path)) {
    if (!has_dump_ending(name)) continue;
    const std::string stem = without_array_ending(name);
    if (is_tiling(stem)) continue;
    if (!dump_file(stem, none)) return false;
    found = true;
  }
  return found;
}

OpenedCases open_ttk_dump(const std::string& path, const OpenOptions& options) {
  OpenedCases opened;
  const auto rows = find_rows(path, options, opened);
  std::map<std::string, DumpedCase> dumped;
  const auto add = [](DumpedCase& of, std::map<int, std::string>& arrays, int index,
                      const std::string& file) {
    const auto [at, added] = arrays.emplace(index, file);
    if (added || of.error) return;
    of.error = file_error(file, "", "and {} are the same array", at->second);
  };
  for (const std::string& file : files_under(path)) {
    const std::size_t slash = file.rfind('/');
    const std::string name = file.substr(slash == std::string::npos ? 0 : slash + 1);
    if (!has_dump_ending(name)) continue;
    const std::string stem = without_array_ending(name), whole = in_folder(path, file);
    if (is_tiling(stem)) continue;
    const auto parsed = dump_file(stem, *rows);
    const bool third = parsed && parsed->kind == "golden" && parsed->variant == "xpu";
    if (!parsed || (slash != std::string::npos && !third)) {
      opened.left_out.push_back(formatted("{} does not have a file name of TTK's dumps", whole));
      continue;
    }
    DumpedCase& of = dumped[parsed->testcase];
    if (third) {
      const std::string producer =
          slash == std::string::npos ? "xpu" : "xpu_" + safe_word(file.substr(0, slash));
      add(of, of.third[producer], parsed->index, whole);
    } else {
      auto& kinds = parsed->kind == "input"    ? of.inputs
                    : parsed->kind == "output" ? of.outputs
                                               : of.golden;
      add(of, kinds[parsed->variant], parsed->index, whole);
    }
  }
  int copies = 0;
  std::vector<CaseRecord> records;
  for (auto& [name, of] : dumped) {
    if (of.outputs.size() > 1) copies += static_cast<int>(of.outputs.erase("fail"));
    const auto row = rows->by_dump_name.find(name);
    const bool known = row != rows->by_dump_name.end();
    CaseRecord record = dump_record(known ? row->second->name : name, of,
                                    options.producer.empty() ? "npu" : safe_word(options.producer));
    record.error = of.error;
    if (rows->given && !known) {
      opened.notes.push_back(formatted("case {} is not in {}", name, rows->table.csv.path));
    }
    try {
      if (known) add_named_files(record, rows->table, *row->second);
    } catch (const FileError& e) {
      record.error = e;
    }
    add_row(record, known ? row->second : nullptr, options);
    for (const auto& [output, result] : record.outputs) {
      if (result.golden && result.recorded.empty()) {
        opened.without_output.push_back(result.golden->path);
      }
    }
    records.push_back(std::move(record));
  }
  if (copies > 0) {
    opened.notes.push_back(formatted(
        "the fail_ copies of {} case{} are left out, because the outputs themselves are there",
        copies, copies == 1 ? "" : "s"));
  }
  settle_arrays(records, options, opened.notes);
  opened.cases = std::make_unique<ArrayCases>(path, std::move(records), options);
  return opened;
}

}  // namespace assay
