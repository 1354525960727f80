// The right outputs that an audit starts from.
#pragma once

#include <string>
#include <vector>

#include "assay/audit/subject.h"
#include "gate_files.h"

namespace assay::inline v0_2::tools {

struct AuditSubjects {
  std::vector<audit::Subject> subjects;  // the right outputs, in the order of files and names
  std::vector<std::string> notes;        // the cases that were left out, with the reasons
};

// Reads the chosen cases with their right outputs. These are recorded ones (of --outputs, of
// --recorded, or of the only producer), those of --machine, or otherwise the golden result rounded
// to the output's dtype. If `rounded` is true, it is always the rounded golden result. Throws
// FileError if a file cannot be read, NoCaseError if no case is left, and Refusal if
// it is ambiguous whose outputs to use.
AuditSubjects read_subjects(const GateFileOptions& options, bool rounded);

}  // namespace assay::tools
