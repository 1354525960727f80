// Files that are never half-written.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Writes to a temporary file beside `path`, syncs it and moves it into place. Throws
// std::runtime_error that names the path and the reason; `path` then is as it was.
void write_file(const std::string& path, std::string_view text);

// The whole file. Throws std::invalid_argument that names it where it cannot be read.
std::string read_text(const std::string& path);

// Whether both paths lead to the same existing file.
bool same_file(const std::string& a, const std::string& b);

}  // namespace assay
