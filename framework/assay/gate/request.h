// The request to the gate, and the origin of the output that it judges.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/abft/case_check.h"
#include "assay/abft/checker.h"
#include "assay/cases/case.h"
#include "assay/gate/bounds.h"
#include "assay/machine/machine.h"
#include "assay/op/row_sample.h"

namespace assay::inline v0_2 {

// The options of one decision of the gate.
struct GateRequest {
  BoundRequest bounds = {};  // standards, tolerances, policies
  bool elements = true;      // false means to judge by checksums only
  // Also checks matrix products and attention by checksums, with this threshold. Cases of other
  // operators are checked by checksums only if `elements` is false.
  std::optional<ThresholdSpec> checksums = {};
  // The machine that computed the output. Overrides the machine that the case and its file name.
  // nullptr means to use theirs.
  const Machine* machine = nullptr;
  // The arithmetic that accumulated the product. Overrides the machine's.
  const DotModel* model = nullptr;
  // The producer whose output dual-benchmark standards compare with. If it is empty, they use the
  // only recorded output of another producer than the judged one.
  std::string reference_implementation = {};
  // For a product or attention without a golden result: how to draw a sample of rows. The gate
  // computes the golden results of these rows and judges only them. Checksums still check the whole
  // output.
  std::optional<RowSample> sample = {};
  bool mutate = false;  // try the mutations (fault/mutation.h) on an output that passes
  bool metrics = true;
  bool patterns = true;       // after a failure, look for a change that would make the output pass
  bool mismatch_map = false;  // count the mismatches in each region of the output
  std::size_t worst = 5;      // number of the worst elements that a verdict lists
  int threads = 0;            // 0 means default_threads(). No result depends on it
};

// A recorded output that may serve as a reference implementation. It is read only if a standard
// compares with it.
struct RecordedOutput {
  std::string producer;
  std::function<Tensor()> read;
};

// The origin of the judged output.
struct Origin {
  // The producer of a recorded output, or the name of the machine that was emulated. If it is
  // empty, the producer is not known. An output that lies in the case is recognized by its address.
  std::string producer = {};
  // The machine that the file names for the output. If it is empty, the machine is the one that the
  // case names for this producer.
  std::string machine = {};
  // Returns recorded outputs of the case in addition to those that the case holds. Called only if a
  // standard compares with a recorded output.
  std::function<std::vector<RecordedOutput>()> recorded = {};
  // The accumulator or residual that the kernel gave in addition to the output, for thresholds that
  // use it. nullptr means to use what the case holds for this producer.
  const Epilogue* epilogue = nullptr;
};

// Returns the machine that computed an output, by the first of these that names one:
// - the request;
// - the file, for the output;
// - the case, for the recorded output;
// - the producer, if it is the name of a machine;
// - the case's attribute `machine`.
//
// Returns nullptr if nothing names a machine. Throws Refusal for a name that no
// machine has.
const Machine* machine_behind(const Case& test_case, const GateRequest& request,
                              const Origin& origin);

}  // namespace assay
