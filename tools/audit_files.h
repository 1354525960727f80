// The files that an audit writes for the programs that it asks.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "assay/audit/target.h"
#include "assay/datasets/arrays/array_file.h"

namespace assay::tools {

// How arrays are written.
struct FileKind {
  std::string name = "npy";  // a row of array_formats() that is written, or h5
  // The dtype of golden results: "" their own, "output" the output's, else a dtype's name.
  std::string golden_as = {};

  // Throws std::invalid_argument on a kind that is not written and an unknown dtype.
  void check() const;
};
std::vector<std::string> file_kinds();  // npy, npz, pt, safetensors, bin, h5

// Where the arrays of a trial were written.
struct TrialFiles {
  std::map<std::string, std::string> outputs, goldens;  // by output; of a case with one, by ""
  std::map<std::string, std::string> inputs;
};

// Writes the output of a trial, its golden result, what lies beside it (`siblings`) and `inputs` to
// a folder that is there, and changes the files as the trial says. In a file of several arrays the
// array is arr_0 (npz), array (safetensors), /cases/audit/outputs/audit and /cases/audit/golden
// (h5); of a .pt file it is the object itself. Throws FileError where the kind cannot say a dtype.
TrialFiles write_trial(const audit::Trial& trial, const FileKind& kind, const std::string& folder,
                       bool siblings, const std::vector<std::string>& inputs);

// A folder under TMPDIR that goes with all that is in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  // A folder in it, without anything in it.
  std::string fresh(const std::string& name) const;

 private:
  std::filesystem::path path_;
};

}  // namespace assay::tools
