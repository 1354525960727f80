#include "assay/datasets/arrays/folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "assay/base/words.h"
#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/checks/file_error_text.h"

namespace assay::inline v0_2 {
namespace fs = std::filesystem;
namespace {

// Returns the ending of an array file, or "". The endings of dataset files do not count.
std::string_view array_ending(std::string_view path) {
  for (const ArrayFormat& row : array_formats()) {
    for (const std::string_view ending : row.endings) {
      if (!row.is_dataset && path.ends_with(ending)) return ending;
    }
  }
  return "";
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with("."); }

// Adds the files below `folder`. `name` is its path in the folder where the walk began. `above` has
// the folders on the way, with links resolved, because a link may lead back to one of them.
void add_files(const fs::path& folder, const fs::path& name, std::vector<fs::path>& above,
               std::vector<std::string>& files) {
  std::error_code error, ignored;
  fs::directory_iterator at(folder, error);
  above.push_back(fs::canonical(folder, ignored));
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    if (is_hidden(at->path())) continue;
    const fs::path within = name / at->path().filename();
    if (!at->is_directory(ignored)) {
      files.push_back(within.generic_string());
    } else if (!contains(above, fs::canonical(at->path(), ignored))) {
      add_files(at->path(), within, above, files);
    }
  }
  above.pop_back();
  if (error) throw FileError(folder.generic_string(), "", "cannot be read: " + error.message());
}

}  // namespace

std::vector<std::string> files_under(const std::string& folder) {
  std::vector<std::string> files;
  std::vector<fs::path> above;
  add_files(folder, "", above, files);
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  if (error) throw FileError(folder, "", "cannot be read: " + error.message());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> folders = names_in(folder);
  std::erase_if(folders, [&](const std::string& name) {
    std::error_code ignored;
    const fs::path path = fs::path(folder) / name;
    return is_hidden(path) || !fs::is_directory(path, ignored) || fs::is_symlink(path, ignored);
  });
  return folders;
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

std::string in_folder(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).generic_string();
}

std::string last_name(const std::string& path) {
  fs::path p = fs::path(path).lexically_normal();
  if (p.filename().empty()) p = p.parent_path();
  const std::string name = p.filename().string();
  return name == "." || name == ".." ? fs::absolute(p).lexically_normal().filename().string()
                                     : name;
}

bool is_array_file(std::string_view path) { return !array_ending(path).empty(); }

NewFolder::NewFolder(const std::string& folder) : folder_(folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !(is_folder(folder) && fs::is_empty(folder, error))) {
    throw FileError(folder, "", "already exists and is not empty; name a new folder");
  }
  for (fs::path at = fs::absolute(folder).lexically_normal(); !at.empty() && !fs::exists(at, error);
       at = at.parent_path()) {
    if (at.has_filename()) made_.push_back(at.string());
  }
  fs::create_directories(folder, error);
  if (error) throw FileError(folder, "", "cannot be made: " + error.message());
  hidden_ = in_folder(folder, ".assay-XXXXXX");
  if (mkdtemp(hidden_.data()) == nullptr) {
    throw file_error(folder, "", "cannot be written to: {}", std::strerror(errno));
  }
}

NewFolder::~NewFolder() {
  std::error_code error;
  fs::remove_all(hidden_, error);
  for (const std::string& name : moved_) fs::remove_all(in_folder(folder_, name), error);
  // fs::remove() removes a folder only if it is empty.
  for (const std::string& folder : made_) fs::remove(folder, error);
}

void NewFolder::make(const std::string& name) const {
  std::error_code error;
  fs::create_directories(in_folder(hidden_, name), error);
  if (error) throw FileError(in_folder(folder_, name), "", "cannot be made: " + error.message());
}

void NewFolder::commit(const std::string& last) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(hidden_)) {
    if (entry.path().filename() != last) names.push_back(entry.path().filename().string());
  }
  names.push_back(last);
  for (const std::string& name : names) {
    std::error_code error;
    fs::rename(in_folder(hidden_, name), in_folder(folder_, name), error);
    if (error) throw FileError(in_folder(folder_, name), "", error.message());
    moved_.push_back(name);
  }
  moved_.clear();
  made_.clear();
}

std::string without_array_ending(const std::string& path) {
  return path.substr(0, path.size() - array_ending(path).size());
}

}  // namespace assay
