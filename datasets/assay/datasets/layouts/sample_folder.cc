#include "assay/datasets/layouts/sample_folder.h"

#include <map>
#include <utility>

#include "assay/base/text.h"
#include "assay/datasets/arrays/folder.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/layouts/array_cases.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::string_view kGolden = "golden", kOutput = "output";

// The files of both sides. The key is the file's name without the word "golden" or "output" and
// without its ending: "" for golden.bin, "_y" for golden_y.bin.
struct Sides {
  std::map<std::string, std::string> golden, outputs;
  std::vector<std::string> others;
};

Sides sides_of(const std::string& path) {
  Sides sides;
  const std::string folder = in_folder(path, "output");
  for (const std::string& file : files_under(folder)) {
    if (!is_array_file(file)) continue;
    std::string name = without_array_ending(file);
    const std::string whole = in_folder(folder, file);
    std::map<std::string, std::string>* side = nullptr;
    for (const auto& [word, of] :
         {std::pair(kGolden, &sides.golden), std::pair(kOutput, &sides.outputs)}) {
      const std::size_t at = name.find(word);
      if (side != nullptr || at == std::string::npos) continue;
      name.erase(at, word.size());
      side = of;
    }
    if (side == nullptr) {
      sides.others.push_back(whole);
      continue;
    }
    const auto [at, added] = side->emplace(name, whole);
    if (!added) throw file_error(whole, "", "and {} have one name", at->second);
  }
  return sides;
}

}  // namespace

bool is_sample_folder(const std::string& path) {
  if (!is_folder(path) || !is_folder(in_folder(path, "input")) ||
      !is_folder(in_folder(path, "output"))) {
    return false;
  }
  for (const std::string& file : files_under(in_folder(path, "output"))) {
    if (is_array_file(file) && file.find(kGolden) != std::string::npos) return true;
  }
  return false;
}

OpenedCases open_sample_folder(const std::string& path, const OpenOptions& options) {
  Sides sides = sides_of(path);
  OpenedCases opened;
  CaseRecord record;
  record.name = last_name(path);
  const std::string producer = safe_word(options.producer.empty() ? "output" : options.producer);
  for (const auto& [name, file] : sides.golden) {
    const std::size_t word = name.find_first_not_of("_-");
    const std::string output = distinct_word(word == std::string::npos ? "y" : name.substr(word));
    const auto [at, is_new] = record.outputs.try_emplace(output);
    OutputRecord& result = at->second;
    if (!is_new) {
      throw file_error(file, "", "and {} are both golden results of the output '{}'",
                       result.golden->path, output);
    }
    result.golden = ArrayRequest{file};
    auto partner = sides.outputs.find(name);
    if (partner == sides.outputs.end()) {
      opened.without_output.push_back(file);
      continue;
    }
    result.recorded[producer].tensor = {partner->second};
    sides.outputs.erase(partner);
  }
  for (const auto& [name, file] : sides.outputs) opened.without_golden.push_back(file);
  for (const std::string& file : sides.others) {
    opened.left_out.push_back(
        formatted("{} has neither '{}' nor '{}' in its name", file, kGolden, kOutput));
  }
  // Dtype and shape of the inputs are often known only to the project's code. Inputs whose file
  // names do not say them are left out.
  std::vector<std::string> left_out;
  for (const std::string& file : files_under(in_folder(path, "input"))) {
    if (!is_array_file(file)) continue;
    const ArrayRequest request{in_folder(in_folder(path, "input"), file), "", {}};
    try {
      (void)open_array(request);
      record.inputs.emplace(distinct_word(without_array_ending(file)), request);
    } catch (const FileError&) {
      left_out.push_back(request.path);
    }
  }
  if (!left_out.empty()) {
    opened.notes.push_back(formatted(
        "these inputs are left out, because their dtypes are not known: {}", joined(left_out)));
  }
  std::vector<CaseRecord> records;
  records.push_back(std::move(record));
  settle_arrays(records, options, opened.notes);
  opened.cases = std::make_unique<ArrayCases>(path, std::move(records), options);
  return opened;
}

}  // namespace assay
