// A folder for files that other programs read and write.
#pragma once

#include <filesystem>
#include <string>

namespace assay::inline v0_2::tools {

// A folder under TMPDIR that is removed with its content when this object is destroyed.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  // Returns a new empty folder in it.
  std::string fresh(const std::string& name) const;

 private:
  std::filesystem::path path_;
};

}  // namespace assay::tools
