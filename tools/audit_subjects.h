// The right outputs that an audit starts from.
#pragma once

#include <string>
#include <vector>

#include "assay/audit/subject.h"
#include "gate_files.h"

namespace assay::tools {

struct AuditSubjects {
  std::vector<audit::Subject> subjects;  // in the order of files and names
  std::vector<std::string> notes;        // what was left out, and why
};

// Reads the cases that were chosen with their right outputs: recorded ones (of --outputs,
// --recorded, or of the only producer), those of --machine, else the golden result rounded to the
// output's dtype; `rounded`: this in any case. Throws FileError where a file cannot be read,
// NoCaseError where no case is left, std::invalid_argument where it would have to be guessed whose
// outputs are meant.
AuditSubjects read_subjects(const GateFileOptions& options, bool rounded);

}  // namespace assay::tools
