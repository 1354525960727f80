#include "assay/datasets/layouts/msprobe_folder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "assay/base/text.h"
#include "assay/datasets/arrays/folder.h"
#include "assay/datasets/arrays/plain_array.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/layouts/array_cases.h"
#include "assay/wire/msprobe_file.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::int64_t kMostListBytes = std::int64_t{1} << 30;

// Returns the folders that have a dump.json file, as paths in `path`. "" is `path` itself.
std::vector<std::string> dumps_in(const std::string& path) {
  if (!is_folder(path)) return {};
  if (is_file(in_folder(path, "dump.json"))) return {""};
  std::vector<std::string> dumps;
  for (const std::string& outer : folders_in(path)) {
    const std::string whole = in_folder(path, outer);
    for (const std::string& dump : dumps_in(whole)) {
      dumps.push_back(dump.empty() ? outer : outer + "/" + dump);
    }
  }
  return dumps;
}

// The most levels of folders above a dump, such as step0/rank0. A deeper folder is not part of one
// side's dump.
constexpr std::ptrdiff_t kMostLayers = 3;

ArrayRequest array_of(const std::string& folder, const wire::MsprobeTensor& tensor,
                      const std::string& call) {
  const std::string list = in_folder(folder, "dump.json");
  if (tensor.data_name.find('/') != std::string::npos || tensor.data_name.empty()) {
    throw file_error(list, call + ": " + tensor.place,
                     "its data_name '{}' is no file of dump_tensor_data", tensor.data_name);
  }
  return {in_folder(in_folder(folder, "dump_tensor_data"), tensor.data_name), "", {}};
}

std::vector<wire::MsprobeCall> calls_in(const std::string& folder) {
  const std::string list = in_folder(folder, "dump.json");
  const std::string text = text_of(*open_plain(list), kMostListBytes, list, "");
  return in_file(folder, [&] { return wire::parse_msprobe(text, "dump.json"); });
}

}  // namespace

bool is_msprobe(const std::string& path) {
  const std::vector<std::string> dumps = dumps_in(path);
  return !dumps.empty() && std::ranges::all_of(dumps, [](const std::string& dump) {
    return std::ranges::count(dump, '/') < kMostLayers;
  });
}

OpenedCases open_msprobe(const std::string& path, const OpenOptions& options) {
  OpenedCases opened;
  const std::string producer =
      safe_word(options.producer.empty() ? last_name(path) : options.producer);
  std::vector<std::string> dumps = dumps_in(path);
  std::ranges::sort(dumps, natural_less);
  if (dumps.empty()) throw FileError(path, "", "has no dump.json");
  std::vector<CaseRecord> records;
  int without_data = 0;
  for (const std::string& dump : dumps) {
    const std::string folder = dump.empty() ? path : in_folder(path, dump);
    const std::string list = in_folder(folder, "dump.json");
    std::vector<wire::MsprobeCall> calls;
    try {
      calls = calls_in(folder);
    } catch (const FileError& e) {
      // If one of several dumps is damaged, only its own calls are lost. Their names are unknown,
      // so one record with an error stands for all of them.
      if (dump.empty()) throw;
      CaseRecord& unread = records.emplace_back();
      unread.name = dump + "/*";
      unread.error = e;
      unread.stands_for_all_below = true;
      unread.outputs["output_0"].recorded[producer].tensor = {list};
      continue;
    }
    std::int64_t number = 0;
    for (const wire::MsprobeCall& call : calls) {
      CaseRecord record;
      record.name = dump.empty() ? call.name : dump + "/" + call.name;
      record.attributes[kCallAttribute] = number++;
      try {
        for (const wire::MsprobeTensor& tensor : call.outputs) {
          const ArrayRequest array = array_of(folder, tensor, call.name);
          OutputRecord& result = record.outputs[distinct_word(tensor.place)];
          if (options.side == Side::kGolden)
            result.golden = array;
          else
            result.recorded[producer].tensor = array;
        }
        for (const wire::MsprobeTensor& tensor : call.inputs) {
          if (options.side != Side::kGolden) break;
          record.inputs.emplace(distinct_word(tensor.place), array_of(folder, tensor, call.name));
        }
      } catch (const FileError& e) {
        record.error = e;
      }
      if (record.outputs.empty() && !record.error) {
        ++without_data;
        continue;
      }
      records.push_back(std::move(record));
    }
  }
  if (without_data > 0) {
    opened.notes.push_back(formatted("{} {} left out, because there is no tensor among {} outputs",
                                     counted(without_data, "call"),
                                     without_data == 1 ? "is" : "are",
                                     without_data == 1 ? "its" : "their"));
  }
  settle_arrays(records, options, opened.notes);
  auto cases = std::make_unique<ArrayCases>(path, std::move(records), options);
  opened.order = cases->in_order();
  opened.cases = std::move(cases);
  return opened;
}

std::string first_call_text(const std::vector<std::string>& calls,
                            const std::vector<std::string>& not_passed) {
  const std::set<std::string> differ(not_passed.begin(), not_passed.end());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (differ.count(calls[i]) == 0) continue;
    return formatted("the first call that differs is {}, call {} of {}", calls[i], i + 1,
                     calls.size());
  }
  return "";
}

}  // namespace assay
