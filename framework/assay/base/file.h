// Files that are read whole, and never half-written.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// All bytes of a file. Throws std::runtime_error that names the path and the reason.
std::string read_file(const std::string& path);

// Writes to a temporary file beside `path`, syncs it and moves it into place. Throws
// std::runtime_error that names the path and the reason; `path` then is as it was.
void write_file(const std::string& path, std::string_view text);

// Whether both paths lead to the same existing file.
bool same_file(const std::string& a, const std::string& b);

}  // namespace assay
