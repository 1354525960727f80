// Judges the cases of a golden file. This is the common part of `assay gate` and of dataset tests.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/datasets/runner/computed.h"
#include "assay/datasets/store/case_source.h"
#include "assay/gate/gate.h"

namespace assay::inline v0_2 {

// The source of the outputs under test. Exactly one of `machine`, `recorded` and `compute` is set.
struct OutputSource {
  std::string name;                      // the name of the producer, for reports
  const Machine* machine = nullptr;      // emulates the outputs
  const CaseSource* recorded = nullptr;  // holds the recorded outputs of producer `name`
  // Computes the outputs by a team's operator.
  std::function<Computed(const Case&)> compute = {};
};

// The result for one output of a case. The report names the output if the case has several.
// `output` has a value if an output was computed or read.
struct GatedCase {
  CaseReport report;
  std::optional<Tensor> output;
  Epilogue epilogue = {};  // the arrays that the machine's epilogue returned with the output
  // The output was judged as it was read, and is not kept, because the file has it.
  bool in_pieces = false;
};

// Options for reading recorded outputs. No count, metric or outcome depends on them.
struct PieceReading {
  // A case whose golden results and outputs take more bytes than this is judged piece by piece, as
  // it is read, if everything that judges it allows that (judge_arrays()). Checksums, mutations,
  // and bounds that need the inputs, a reference implementation or all elements at once do not
  // allow it.
  std::int64_t whole_bytes = std::int64_t{64} << 20;
  // A failed output of at most this many bytes is read again, as a whole, to find the pattern of
  // its failure (Verdict::where). For a larger output only the places of up to 64 mismatches are
  // reported.
  std::int64_t pattern_bytes = std::int64_t{256} << 20;
  // The size of a piece in elements, a multiple of PiecewiseJudge::kUnit. 0 means piece_for() of
  // the number of threads.
  std::int64_t piece = 0;
};

// Marks those verdicts as untrusted in which both sides are the same bytes of this file.
void distrust_same_bytes(std::vector<Verdict>& verdicts, const std::string& file);

// Reads what the request needs of a case, gets its outputs and judges each. Returns one element for
// each compared output, in the order of their names, or a single one that is not comparable if no
// output is compared. A missing output and a machine's refusal are not comparable. An operator that
// throws, or returns nothing, fails. If a case has several outputs, a machine computes only the one
// that the case's operator computes (computed_output()), and the others are not comparable. The
// notes of the compared outputs name the outputs that the case says not to compare. Throws
// FileError, which names the golden file, if the case or an output cannot be read.
std::vector<GatedCase> gate_file_case(const CaseSource& golden, const std::string& name,
                                      const OutputSource& source, const GateRequest& request,
                                      const PieceReading& reading = {});

}  // namespace assay
