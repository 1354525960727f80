// The content of folders, and the names of arrays in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::inline v0_2 {

// Returns everything under a folder, at any depth, that is not a folder itself, as sorted paths
// within the folder. This includes entries that are not regular files, such as a pipe or a link
// that leads nowhere; reading one of these is an error. Links to folders are followed, unless they
// lead back to a folder that contains them. Hidden files and folders are left out. Throws
// FileError.
std::vector<std::string> files_under(const std::string& folder);
// Returns the names of everything in a folder, sorted.
std::vector<std::string> names_in(const std::string& folder);
// Returns the names of the folders in a folder, sorted, without hidden folders and links.
std::vector<std::string> folders_in(const std::string& folder);

bool is_folder(const std::string& path);
bool is_file(const std::string& path);
std::string in_folder(const std::string& folder, const std::string& name);
// Returns "b" for "a/b/" and for "a/b".
std::string last_name(const std::string& path);

// Returns true if the path has an ending of the array files that teams leave behind: .npy, .npz,
// .pt, .safetensors, .pb, .bin, ...
bool is_array_file(std::string_view path);
// Returns the path without the ending of an array file.
std::string without_array_ending(const std::string& path);

// A folder that is written whole or not at all. It must be new or empty. Everything is written to a
// hidden folder within it, until commit() moves the content to its place. Without commit() nothing
// is left, not even the folders that were made for it. Throws FileError.
class NewFolder {
 public:
  explicit NewFolder(const std::string& folder);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::string& path() const { return hidden_; }  // where to write
  // Makes a folder within the new folder, at any depth.
  void make(const std::string& name) const;
  // Moves the content to its place. `last` is the name of the entry that is moved last, so that a
  // folder without this entry is known to be incomplete.
  void commit(const std::string& last);

 private:
  std::string folder_, hidden_;
  std::vector<std::string> made_;   // folders that were made, with the outermost folder last
  std::vector<std::string> moved_;  // names in folder_
};

}  // namespace assay
