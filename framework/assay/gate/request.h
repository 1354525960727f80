// What is asked of the gate, and where the output that it judges comes from.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/abft/abft.h"
#include "assay/cases/case.h"
#include "assay/gate/bounds.h"
#include "assay/machine/machine.h"
#include "assay/op/row_sample.h"

namespace assay {

// What is asked of the gate.
struct GateRequest {
  BoundRequest bounds = {};  // standards, tolerances, policies
  bool elements = true;      // false: the checksums alone
  // Checks matrix products by checksums as well, with this threshold. A case that is no product is
  // not checked by them, unless they are all that is asked for.
  std::optional<ThresholdSpec> checksums = {};
  // The machine that computed the output, over what the case and its file say; null: as they say.
  const Machine* machine = nullptr;
  // How the product was accumulated, over what the machine says.
  const DotModel* model = nullptr;
  // The producer that dual-benchmark standards compare with; empty: the one other than the
  // output's.
  std::string benchmark = {};
  // Of a product or attention without a golden result: so many rows are drawn, their golden results
  // computed, and these rows judged; the checksums look at all of it.
  std::optional<RowSample> sample = {};
  bool mutate = false;  // try the mutations (fault/mutation.h) on an output that passes
  bool metrics = true;
  bool patterns = true;   // after a failure, look for a change of the output that would mend it
  bool miss_map = false;  // count where the misses lie
  std::size_t worst = 5;  // elements listed in a verdict
  int threads = 0;        // 0: default_threads(); no result depends on it
};

// A recorded output that may serve as benchmark, read where it does.
struct RecordedOutput {
  std::string producer;
  std::function<Tensor()> read;
};

// Whose output is judged.
struct Origin {
  // A recorded output's producer, a machine's name where it was emulated; empty: not known. An
  // output that lies in the case is known by its place.
  std::string producer = {};
  // The machine that its file names for the output; empty: what the case has of that producer.
  std::string machine = {};
  // Lists recorded outputs of the case besides those that it carries; asked where a standard
  // compares with one.
  std::function<std::vector<RecordedOutput>()> recorded = {};
  // What the kernel gave beside the output, for thresholds that take it; null: what the case has of
  // that producer.
  const Epilogue* epilogue = nullptr;
};

// The machine that computed an output: the request's, else the one that the file names for the
// output, else the producer where it is a machine's name, else the case's attribute `machine`; null
// where nothing says it. Throws std::invalid_argument for a name that no machine has.
const Machine* machine_behind(const Case& test_case, const GateRequest& request,
                              const Origin& origin);

}  // namespace assay
