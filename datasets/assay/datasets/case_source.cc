#include "assay/datasets/case_source.h"

#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay {

std::vector<std::string> CaseSource::case_names_by(int /*threads*/) const { return case_names(); }

std::vector<std::string> CaseSource::case_names(const std::string& glob) const {
  std::vector<std::string> all = case_names();
  if (glob.empty()) return all;
  std::vector<std::string> matching;
  for (const std::string& name : all) {
    if (glob_match(glob, name)) matching.push_back(name);
  }
  if (matching.empty()) {
    throw NoCaseError(path(), "",
                      formatted("no case matches '{}'{}; it has {} case{}, the first is '{}'", glob,
                                did_you_mean_aside(glob, all), all.size(),
                                all.size() == 1 ? "" : "s", all.front()));
  }
  return matching;
}

std::optional<TensorInfo> CaseSource::golden_info(const std::string& name,
                                                  const std::string& output) const {
  if (!has_case(name)) return std::nullopt;
  CaseInfo of = info(name);
  if (output.empty()) return std::move(of.golden);
  const auto result = of.results.find(output);
  return result == of.results.end() ? std::nullopt : std::move(result->second.golden);
}

std::unique_ptr<ArraySource> CaseSource::open_input(const std::string& /*name*/,
                                                    const std::string& /*operand*/) const {
  return nullptr;
}

std::unique_ptr<ArraySource> CaseSource::open_golden(const std::string& /*name*/,
                                                     const std::string& /*output*/) const {
  return nullptr;
}

std::unique_ptr<ArraySource> CaseSource::open_output(const std::string& /*name*/,
                                                     const std::string& /*producer*/,
                                                     const std::string& /*output*/) const {
  return nullptr;
}

std::int64_t CaseSource::golden_bytes(const std::string& /*name*/) const { return 0; }

std::int64_t CaseSource::output_bytes(const std::string& /*name*/,
                                      const std::string& /*producer*/) const {
  return 0;
}

Epilogue CaseSource::read_epilogue(const std::string& /*name*/, const std::string& /*producer*/,
                                   const std::string& /*output*/) const {
  return {};
}

const Format* common_format(const std::map<std::string, TensorInfo>& outputs) {
  const Format* common = nullptr;
  for (const auto& [producer, info] : outputs) {
    const Format& format = format_named(info.dtype);
    if (common != nullptr && common != &format) return nullptr;
    common = &format;
  }
  return common;
}

}  // namespace assay
