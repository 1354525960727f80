// The paths of cases and their parts in a dataset file (docs/dataset.md).
#pragma once

#include <string>

namespace assay::inline v0_2 {

inline std::string case_path(const std::string& name) { return "/cases/" + name; }

// Returns the path of a part, such as "inputs" or "outputs/torch". `output` names one output of
// several.
inline std::string path_of(const std::string& name, const std::string& part,
                           const std::string& output) {
  return case_path(name) + "/" + part + (output.empty() ? "" : "/" + output);
}

}  // namespace assay
