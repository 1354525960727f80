#include "assay/datasets/plain_folder.h"

#include <algorithm>
#include <map>
#include <utility>

#include "assay/base/text.h"
#include "assay/datasets/array_cases.h"
#include "assay/datasets/folder.h"

namespace assay {
namespace {

// What the folder of golden results is called beside those of outputs.
constexpr std::string_view kGoldenNames[] = {"gold",     "golden",    "goldens", "expect",
                                             "expected", "reference", "ref"};
constexpr std::string_view kInputNames[] = {"in", "input", "inputs"};

bool is_one_of(std::span<const std::string_view> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

using Arrays = std::map<std::string, ArrayRequest>;  // by the name of their case

void add_arrays(Arrays& arrays, const std::string& file, const std::string& name) {
  for (const std::string& array : arrays_in(file)) {
    const std::string whole = array.empty() ? name : name + "/" + array;
    const ArrayRequest request{array.empty() ? file : file + ":/" + array, "", {}};
    const auto [at, added] = arrays.emplace(whole, request);
    if (!added) {
      throw FileError(file, "",
                      formatted("and {} have one name, '{}': which of them is meant?",
                                array_file(at->second.path), whole));
    }
  }
}

// Of a producer whose name is made safe the case keeps its own.
void add_output(CaseRecord& record, CaseOutputRecord& result, const std::string& producer,
                const ArrayRequest& array) {
  const std::string safe = safe_word(producer);
  if (safe != producer) record.attributes["x_producer_" + safe] = producer;
  const auto [at, added] = result.outputs.emplace(safe, array);
  if (!added) {
    throw FileError(
        array.path, "",
        formatted("and {} are both of the producer {}", array_file(at->second.path), safe));
  }
}

// Those under a folder by their path in it, or of one file.
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
  return std::any_of(files.begin(), files.end(), [](const auto& f) { return is_array_file(f); });
}

OpenedCases open_plain_folder(const std::string& path, const OpenOptions& options) {
  std::vector<CaseRecord> records;
  const std::string producer =
      options.producer.empty() ? without_array_ending(last_name(path)) : options.producer;
  for (auto& [name, array] : arrays_under(path)) {
    CaseRecord record;
    record.name = name;
    CaseOutputRecord& result = record.results["output"];
    if (options.side == Side::kGolden)
      result.golden = array;
    else
      add_output(record, result, producer, array);
    records.push_back(std::move(record));
  }
  OpenedCases opened;
  settle_arrays(records, options, opened.notes);
  opened.cases = std::make_unique<ArrayCases>(path, std::move(records));
  return opened;
}

bool is_two_sided_folder(const std::string& path) {
  if (!is_folder(path)) return false;
  bool golden = false, outputs = false;
  for (const std::string& folder : folders_in(path)) {
    if (!is_plain_folder(in_folder(path, folder))) continue;
    const bool named_golden = is_one_of(kGoldenNames, folder);
    golden |= named_golden;
    outputs |= !named_golden && !is_one_of(kInputNames, folder);
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
    if (is_one_of(kInputNames, folder)) {
      opened.notes.push_back(
          formatted("{} is left out: nothing says to which operators these inputs belong", whole));
      continue;
    }
    const bool is_golden = is_one_of(kGoldenNames, folder);
    if (is_golden && !golden_folder.empty()) {
      throw FileError(
          path, "",
          formatted("{} and {} are both called as golden results are; give one of them as "
                    "the golden side and the outputs beside it",
                    golden_folder, folder));
    }
    if (is_golden) golden_folder = folder;
    for (auto& [name, array] : arrays_under(whole)) {
      CaseRecord& record = records[name];
      record.name = name;
      CaseOutputRecord& result = record.results["output"];
      if (is_golden)
        result.golden = array;
      else
        add_output(record, result, folder, array);
    }
  }
  std::vector<CaseRecord> cases;
  for (auto& [name, record] : records) {
    const CaseOutputRecord& result = record.results["output"];
    if (!result.golden) {
      for (const auto& [producer, array] : result.outputs)
        opened.without_golden.push_back(array.path);
      continue;
    }
    if (result.outputs.empty()) opened.without_output.push_back(result.golden->path);
    cases.push_back(std::move(record));
  }
  settle_arrays(cases, options, opened.notes);
  opened.cases = std::make_unique<ArrayCases>(path, std::move(cases));
  return opened;
}

}  // namespace assay
