// Functions that read whole files, and that never leave a half-written file.
#pragma once

#include <string>
#include <string_view>

namespace assay::inline v0_2 {

// Returns all bytes of a file. Throws std::runtime_error, which names the path and the reason.
std::string read_file(const std::string& path);

// Writes to a temporary file in the folder of `path`, syncs it and moves it into place. Throws
// std::runtime_error, which names the path and the reason. `path` is then unchanged.
void write_file(const std::string& path, std::string_view text);

// True if both paths lead to the same existing file.
bool same_file(const std::string& a, const std::string& b);

}  // namespace assay
