#pragma once

#include <string>

namespace assay::inline v0_2::tools {

// Returns the commit that this was built from, such as "e9b8b30d6f21", with "-dirty" if files
// differed from it. Returns an empty string if neither git nor cmake/commit.txt tells the commit.
// Each commit compiles this function's definition again (cmake/AssayCommit.cmake), so this header
// includes little.
std::string commit();

}  // namespace assay::tools
