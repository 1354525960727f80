// Writes the file of `assay gate --save-failures`.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "assay/datasets/runner/file_gate.h"
#include "assay/datasets/store/dataset_file.h"
#include "gate_files.h"

namespace assay::inline v0_2::tools {

struct Context;

// A file of the cases that did not pass. They are copied as they are stored, with all outputs that
// were judged. add() may be called from several threads.
class SavedFailures {
 public:
  // Throws Refusal if two of the golden files have a case of the same name.
  SavedFailures(const std::string& path, const GateFiles& found);

  // Adds a case and its outputs. `recorded` is the source of the outputs, or null if they were
  // computed now.
  void add(const CaseSource& golden, const CaseSource* recorded,
           const std::vector<GatedCase>& outputs);
  // Completes the file. Returns true if it has any cases.
  bool commit(const Context& context);

 private:
  DatasetWriter writer_;
  std::mutex mutex_;
  std::size_t count_ = 0;
};

}  // namespace assay::tools
