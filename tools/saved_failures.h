// What `assay gate --save-failures` writes.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "assay/datasets/runner/file_gate.h"
#include "assay/datasets/store/dataset_file.h"
#include "gate_files.h"

namespace assay::tools {

// Cases that did not pass, as they are stored, with all outputs that were judged. add() may be
// called from several threads.
class SavedFailures {
 public:
  // Throws std::invalid_argument where two of the files have a case of one name.
  SavedFailures(const std::string& path, const GateFiles& found);

  // `recorded`: where the outputs come from; null where they were computed now.
  void add(const CaseSource& golden, const CaseSource* recorded,
           const std::vector<GatedCase>& outputs);
  // Whether there were any.
  bool commit();

 private:
  DatasetWriter writer_;
  std::mutex mutex_;
  std::size_t count_ = 0;
};

}  // namespace assay::tools
