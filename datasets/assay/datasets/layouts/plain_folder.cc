#include "assay/datasets/layouts/plain_folder.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/arrays/folder.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/layouts/array_cases.h"

namespace assay::inline v0_2 {
namespace {

// The usual names of the folder of golden results, which lies beside the folders of outputs.
constexpr std::string_view kGoldenNames[] = {"gold",     "golden",    "goldens", "expect",
                                             "expected", "reference", "ref"};
constexpr std::string_view kInputNames[] = {"in", "input", "inputs"};

// An array that was found, or the reason why the arrays of a name cannot be read.
struct FoundArray {
  ArrayRequest array;
  std::optional<FileError> error = {};
  bool is_all_below = false;  // has the meaning of CaseRecord::stands_for_all_below
};
// The arrays of one side. The key is the source name of the array's case.
using Arrays = std::map<std::string, FoundArray>;

void add_array(Arrays& arrays, const std::string& name, FoundArray found) {
  const std::string path = found.array.path;
  const auto [at, is_new] = arrays.emplace(name, std::move(found));
  if (is_new || at->second.error) return;
  at->second.error =
      file_error(array_file(path), "", "and {} have one name, '{}': which of them is meant?",
                 array_file(at->second.array.path), name);
}

// Adds the arrays of a file. If a file cannot be listed, only its own cases are lost.
void add_arrays(Arrays& arrays, const std::string& file, const std::string& name) {
  if (!array_format_of(file).is_archive) {
    add_array(arrays, name, {.array = {file}});
    return;
  }
  try {
    for (const std::string& array : arrays_in(file)) {
      add_array(arrays, array.empty() ? name : name + "/" + array,
                {.array = {array.empty() ? file : file + ":/" + array}});
    }
  } catch (const FileError& e) {
    add_array(arrays, name + "/*", {.array = {file}, .error = e, .is_all_below = true});
  }
}

// If a producer's name has to be made safe, the case keeps the original name in an attribute.
void add_output(CaseRecord& record, OutputRecord& result, const std::string& producer,
                const ArrayRequest& array) {
  const std::string safe = safe_word(producer);
  if (safe != producer) record.attributes["x_producer_" + safe] = producer;
  const auto [at, added] = result.recorded.emplace(safe, BasicRecorded<ArrayRequest>{array});
  if (!added) {
    throw file_error(array.path, "", "and {} are both of the producer {}",
                     array_file(at->second.tensor.path), safe);
  }
}

// Spreads the error of an archive of one side that cannot be read. The cases that the other sides
// have below its name get the error, and replace its record.
void spread_errors(std::map<std::string, CaseRecord>& records) {
  for (auto at = records.begin(); at != records.end();) {
    if (!at->second.stands_for_all_below) {
      ++at;
      continue;
    }
    const std::string above = at->first.substr(0, at->first.rfind('/') + 1);
    bool any = false;
    for (auto below = records.lower_bound(above);
         below != records.end() && below->first.starts_with(above); ++below) {
      if (below->second.stands_for_all_below) continue;
      if (!below->second.error) below->second.error = at->second.error;
      any = true;
    }
    at = any ? records.erase(at) : std::next(at);
  }
}

// Returns the arrays under a folder, by their paths in it, or the arrays of one file.
Arrays arrays_under(const std::string& path) {
  Arrays arrays;
  if (!is_folder(path)) {
    add_arrays(arrays, path, without_array_ending(last_name(path)));
    return arrays;
  }
  for (const std::string& file : files_under(path)) {
    if (is_array_file(file)) add_arrays(arrays, in_folder(path, file), without_array_ending(file));
  }
  return arrays;
}

}  // namespace

bool is_plain_folder(const std::string& path) {
  if (is_file(path)) return is_array_file(path);
  const std::vector<std::string> files = files_under(path);
  return std::ranges::any_of(files, [](const auto& f) { return is_array_file(f); });
}

OpenedCases open_plain_folder(const std::string& path, const OpenOptions& options) {
  std::vector<CaseRecord> records;
  const std::string producer =
      options.producer.empty() ? without_array_ending(last_name(path)) : options.producer;
  for (auto& [name, found] : arrays_under(path)) {
    CaseRecord record;
    record.name = name;
    record.error = found.error;
    record.stands_for_all_below = found.is_all_below;
    OutputRecord& result = record.outputs["output"];
    if (options.side == Side::kGolden)
      result.golden = found.array;
    else
      add_output(record, result, producer, found.array);
    records.push_back(std::move(record));
  }
  OpenedCases opened;
  settle_arrays(records, options, opened.notes);
  opened.cases = std::make_unique<ArrayCases>(path, std::move(records), options);
  return opened;
}

bool is_two_sided_folder(const std::string& path) {
  if (!is_folder(path)) return false;
  bool golden = false, outputs = false;
  for (const std::string& folder : folders_in(path)) {
    if (!is_plain_folder(in_folder(path, folder))) continue;
    const bool named_golden = contains(kGoldenNames, folder);
    golden |= named_golden;
    outputs |= !named_golden && !contains(kInputNames, folder);
  }
  return golden && outputs;
}

OpenedCases open_two_sided_folder(const std::string& path, const OpenOptions& options) {
  std::map<std::string, CaseRecord> records;
  OpenedCases opened;
  std::string golden_folder;
  for (const std::string& folder : folders_in(path)) {
    const std::string whole = in_folder(path, folder);
    if (!is_plain_folder(whole)) continue;
    if (contains(kInputNames, folder)) {
      opened.notes.push_back(formatted(
          "the folder {} is left out, because nothing shows to which operators its inputs belong",
          whole));
      continue;
    }
    const bool is_golden = contains(kGoldenNames, folder);
    if (is_golden && !golden_folder.empty()) {
      throw file_error(path, "",
                       "{} and {} are both called as golden results are; give one of them as the "
                       "golden side and the outputs beside it",
                       golden_folder, folder);
    }
    if (is_golden) golden_folder = folder;
    for (auto& [name, found] : arrays_under(whole)) {
      CaseRecord& record = records[name];
      record.name = name;
      if (found.error) record.error = found.error;
      record.stands_for_all_below |= found.is_all_below;
      OutputRecord& result = record.outputs["output"];
      if (is_golden)
        result.golden = found.array;
      else
        add_output(record, result, folder, found.array);
    }
  }
  spread_errors(records);
  std::vector<CaseRecord> cases;
  for (auto& [name, record] : records) {
    const OutputRecord& result = record.outputs["output"];
    if (!result.golden && !record.error) {
      for (const auto& [producer, recorded] : result.recorded) {
        opened.without_golden.push_back(recorded.tensor.path);
      }
      continue;
    }
    if (result.recorded.empty() && !record.error) {
      opened.without_output.push_back(result.golden->path);
    }
    cases.push_back(std::move(record));
  }
  settle_arrays(cases, options, opened.notes);
  opened.cases = std::make_unique<ArrayCases>(path, std::move(cases), options);
  return opened;
}

}  // namespace assay
