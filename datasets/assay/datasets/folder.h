// What is in a folder, and names of the arrays in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

// The regular files under a folder at any depth (links to files among them), by their paths within
// it, sorted. Hidden ones and folders that are links are left out. Throws FileError.
std::vector<std::string> files_under(const std::string& folder);
// The names of the folders in it, sorted; hidden ones and links are left out.
std::vector<std::string> folders_in(const std::string& folder);

bool is_folder(const std::string& path);
bool is_file(const std::string& path);
std::string in_folder(const std::string& folder, const std::string& name);
// "b" of "a/b/" and of "a/b".
std::string last_name(const std::string& path);

// Whether arrays that teams leave behind end so: .npy, .npz, .pt, .safetensors, .pb, .bin, ...
bool is_array_file(std::string_view path);
// The path without the ending of an array file.
std::string without_array_ending(const std::string& path);

}  // namespace assay
