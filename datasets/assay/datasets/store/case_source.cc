#include "assay/datasets/store/case_source.h"

#include <set>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/cases/source_names.h"
#include "assay/datasets/checks/file_error_text.h"

namespace assay::inline v0_2 {

std::vector<std::string> CaseSource::case_names(const std::string& glob) const {
  std::vector<std::string> all = case_names();
  if (glob.empty()) return all;
  std::vector<std::string> matching;
  for (const std::string& name : all) {
    if (glob_match(glob, name)) matching.push_back(name);
  }
  if (matching.empty()) {
    throw file_error<NoCaseError>(
        path(), "", "no case matches '{}'{}; it has {} case{}, the first is '{}'", glob,
        did_you_mean_aside(glob, all), all.size(), all.size() == 1 ? "" : "s", all.front());
  }
  return matching;
}

std::optional<std::string> CaseSource::find(const std::string& source_name) const {
  for (std::string name : {safe_case_name(source_name), distinct_case_name(source_name)}) {
    if (has_case(name) && source_name_of(name, attributes_of(name)) == source_name) return name;
  }
  return std::nullopt;
}

FoundCase find_in(const std::vector<const CaseSource*>& sources, const std::string& source_name) {
  for (const CaseSource* source : sources) {
    if (auto name = source->find(source_name)) return {source, std::move(name)};
  }
  return {};
}

void check_same_source(const std::string& golden_path,
                       const std::map<std::string, Attribute>& golden_attributes,
                       const std::string& outputs_path,
                       const std::map<std::string, Attribute>& output_attributes,
                       const std::string& case_name) {
  const std::string golden = source_name_of(case_name, golden_attributes);
  const std::string output = source_name_of(case_name, output_attributes);
  if (golden == output) return;
  throw file_error(outputs_path, case_name,
                   "the output is that of '{}', but the golden result in {} is that of '{}'; give "
                   "both the same name",
                   output, golden_path, golden);
}

std::optional<ArrayInfo> CaseSource::golden_info(const std::string& name,
                                                 const std::string& output) const {
  if (!has_case(name)) return std::nullopt;
  const StoredCase of = info(name);
  const StoredOutput* const found = of.find_output(output);
  return found != nullptr && found->golden ? std::optional(*found->golden) : std::nullopt;
}

std::vector<std::string> producers_of(const CaseSource& source,
                                      const std::vector<std::string>& cases) {
  std::set<std::string> producers;
  for (const std::string& name : cases) {
    for (const std::string& producer : source.producers_of(name)) producers.insert(producer);
  }
  return {producers.begin(), producers.end()};
}

const Format* common_format(const StoredOutput& output) {
  const Format* common = nullptr;
  for (const auto& [producer, recorded] : output.recorded) {
    if (recorded.tensor.empty()) continue;
    const Format& format = format_named(recorded.tensor.dtype);
    if (common != nullptr && common != &format) return nullptr;
    common = &format;
  }
  return common;
}

}  // namespace assay
