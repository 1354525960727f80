// A dump of msprobe: dump.json beside dump_tensor_data/, for one or more steps and ranks. Each call
// is a case. The other side is another such folder, and API names pair the calls. A layout of
// open_cases.h.
#pragma once

#include <string>
#include <vector>

#include "assay/datasets/layouts/open_cases.h"

namespace assay::inline v0_2 {

bool is_msprobe(const std::string& path);
OpenedCases open_msprobe(const std::string& path, const OpenOptions& options);

// The attribute of a case that has the number of its call, from 0.
inline constexpr const char* kCallAttribute = "x_call";
// Returns "the first call that differs is NAME, call 12 of 340", or an empty string if no case that
// did not pass is a call. `calls` are all calls in their order, and `not_passed` are the cases that
// did not pass.
std::string first_call_text(const std::vector<std::string>& calls,
                            const std::vector<std::string>& not_passed);

}  // namespace assay
