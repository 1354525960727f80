// Cases of a golden file through the gate: what `assay gate` and dataset tests have in common.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/datasets/case_source.h"
#include "assay/datasets/computed.h"
#include "assay/gate/gate.h"

namespace assay {

// Where the outputs under test come from: one of the three.
struct OutputSource {
  std::string name;                      // of the producer, as reports show it
  const Machine* machine = nullptr;      // emulated by it, now
  const CaseSource* recorded = nullptr;  // read from this file, those of producer `name`
  std::function<Computed(const Case&)> compute = {};  // made by a team's operator
};

// What came of one case. The output is there where one was made or read.
struct GatedCase {
  CaseReport report;
  std::optional<Tensor> output;
  Epilogue epilogue = {};  // what was emulated beside it
};

// Makes verdicts untrusted in which both sides are the same bytes of this file.
void distrust_same_bytes(std::vector<Verdict>& verdicts, const std::string& file);

// Reads what the request needs of a case, gets its output and judges it. A missing output and a
// machine's refusal are not comparable; an operator that throws, or returns nothing, fails. Throws
// FileError, with the golden file's name, where the case or its output cannot be read.
GatedCase gate_file_case(const CaseSource& golden, const std::string& name,
                         const OutputSource& source, const GateRequest& request);

}  // namespace assay
