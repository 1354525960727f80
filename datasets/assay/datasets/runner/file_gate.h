// Cases of a golden file through the gate: what `assay gate` and dataset tests have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/datasets/runner/computed.h"
#include "assay/datasets/store/case_source.h"
#include "assay/gate/gate.h"

namespace assay {

// Where the outputs under test come from: one of the three.
struct OutputSource {
  std::string name;                      // of the producer, as reports show it
  const Machine* machine = nullptr;      // emulated by it, now
  const CaseSource* recorded = nullptr;  // read from this file, those of producer `name`
  std::function<Computed(const Case&)> compute = {};  // made by a team's operator
};

// What came of one output of a case; the report names it where the case has several. The output is
// there where one was made or read.
struct GatedCase {
  CaseReport report;
  std::optional<Tensor> output;
  Epilogue epilogue = {};  // what was emulated beside it
  // The output was judged as it was read, and is not kept: the file has it.
  bool in_pieces = false;
};

// How recorded outputs are read. No count, metric or outcome depends on it.
struct PieceReading {
  // A case whose golden results and outputs take more bytes than this is judged piece by piece, as
  // it is read, where all that judges it can be (judge_arrays()): no checksums, no mutations, and
  // no bound that takes the inputs, a benchmark or all elements at once.
  std::int64_t whole_bytes = std::int64_t{64} << 20;
  // One of at most so many bytes that failed is read once more, as a whole, for the pattern of its
  // failure (Verdict::where); of larger ones the places of up to 64 misses are told.
  std::int64_t pattern_bytes = std::int64_t{256} << 20;
  std::int64_t piece = 0;  // elements, a multiple of PiecewiseJudge::kUnit; 0: as threads need
};

// Makes verdicts untrusted in which both sides are the same bytes of this file.
void distrust_same_bytes(std::vector<Verdict>& verdicts, const std::string& file);

// Reads what the request needs of a case, gets its outputs and judges each: one element an output,
// in the order of their names. A missing output and a machine's refusal are not comparable; an
// operator that throws, or returns nothing, fails. Of a case with several outputs a machine
// computes the one that its operator does (computed_output()), and the others are not comparable;
// what is not to be compared is said in the notes of the others. Throws FileError, with the golden
// file's name, where the case or an output cannot be read.
std::vector<GatedCase> gate_file_case(const CaseSource& golden, const std::string& name,
                                      const OutputSource& source, const GateRequest& request,
                                      const PieceReading& reading = {});

}  // namespace assay
