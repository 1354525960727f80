// A dump of msprobe: dump.json beside dump_tensor_data/, of one or more steps and ranks; a case a
// call. The other side is another such folder, and API names pair them. A layout of open_cases.h.
#pragma once

#include <string>
#include <vector>

#include "assay/datasets/layouts/open_cases.h"

namespace assay {

bool is_msprobe(const std::string& path);
OpenedCases open_msprobe(const std::string& path, const OpenOptions& options);

// The attribute of a case that says which call it was, from 0.
inline constexpr const char* kCallAttribute = "x_call";
// "the first call that differs is NAME, call 12 of 340": of all calls, in their order, and the
// cases that did not pass; "" where none of these is a call.
std::string first_call_text(const std::vector<std::string>& calls,
                            const std::vector<std::string>& not_passed);

}  // namespace assay
