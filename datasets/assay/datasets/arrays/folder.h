// What is in a folder, and names of the arrays in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Everything under a folder that is not a folder itself, at any depth, by the paths within it,
// sorted: files, and what only has the name of one (a pipe, a link that leads nowhere), which is an
// error where it is read. Links to folders are followed, unless they lead back to where they are.
// Hidden files and folders are left out. Throws FileError.
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

// A folder that is written whole or not at all. It must be new or empty; what is written lies in a
// hidden folder within it until commit() moves it to its place. Without commit() nothing is left,
// not even the folders that were made for it. Throws FileError.
class NewFolder {
 public:
  explicit NewFolder(const std::string& folder);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::string& path() const { return hidden_; }  // where to write
  // Makes a folder within it, at any depth.
  void make(const std::string& name) const;
  // `last`: the name of what is moved last; a folder without it is not whole.
  void commit(const std::string& last);

 private:
  std::string folder_, hidden_;
  std::vector<std::string> made_;   // folders, the outermost last
  std::vector<std::string> moved_;  // names in folder_
};

}  // namespace assay
