#pragma once

#include <string>

namespace assay::tools {

// The commit that this was built from, as in "e9b8b30d6f21", with "-dirty" where files differed
// from it; empty where neither git nor cmake/commit.txt tells. Each commit compiles its definition
// again (cmake/AssayCommit.cmake), so that this header includes little.
std::string commit();

}  // namespace assay::tools
