// The files that an audit writes for the programs under audit.
#pragma once

#include <map>
#include <string>

#include "assay/audit/target.h"
#include "assay/datasets/arrays/array_file.h"

namespace assay::inline v0_2::tools {

// The format in which arrays are written.
struct FileKind {
  std::string name = "npy";  // the name of a writable row of array_formats(), or h5
  // The dtype of golden results. "" keeps their own, "output" is the output's dtype, and any other
  // word is a dtype's name.
  std::string golden_as = {};

  // Throws Refusal if the kind cannot be written or the dtype is unknown.
  void check() const;
  // Returns the dtype in which a golden result is written, given its own and that of the output.
  const Format& golden_format(const Format& own, const Format& output) const;
};
// Returns a tensor whose values are rounded to this dtype, if it has another one.
Tensor rounded_to(const Format& to, const Tensor& tensor);
std::vector<std::string> file_kinds();  // Returns npy, npz, pt, safetensors, bin and h5.

// The paths of the arrays of a trial.
struct TrialFiles {
  // The key is the output's name, or "" if the case has only one output.
  std::map<std::string, std::string> outputs, goldens;
  std::map<std::string, std::string> inputs;
};

// Writes the output of a trial, its golden result, the other outputs (if `siblings`) and `inputs`
// to an existing folder, and changes the files as the trial says. In a file of several arrays the
// array is arr_0 (npz), array (safetensors), /cases/audit/outputs/audit and /cases/audit/golden
// (h5). In a .pt file it is the object itself. Throws FileError if the kind cannot express a dtype.
TrialFiles write_trial(const audit::Trial& trial, const FileKind& kind, const std::string& folder,
                       bool siblings, const std::vector<std::string>& inputs);

}  // namespace assay::tools
