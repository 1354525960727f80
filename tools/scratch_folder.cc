#include "scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <system_error>

namespace assay::inline v0_2::tools {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder() {
  std::string pattern = fs::temp_directory_path() / "assay_XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), pattern + " cannot be made");
  }
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  // Errors are ignored, because a program may have left files that cannot be removed.
  std::error_code error;
  fs::remove_all(path_, error);
}

std::string ScratchFolder::fresh(const std::string& name) const {
  const fs::path folder = path_ / name;
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) {
    // The program may have removed the permissions of its folder. They are restored, so that the
    // folder can be removed.
    fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, error);
    fs::remove_all(folder);
  }
  fs::create_directories(folder);
  return folder;
}

}  // namespace assay::tools
