// Campaign plans as JSON files. The schema is in docs/campaigns.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/campaign/check_plan.h"

namespace assay::inline v0_2::wire {

// The cases of a dataset file that match a glob, and a digest of the file's bytes.
struct DatasetCases {
  struct Entry {
    std::string name, op;
    const Format *dtype, *output;  // dtype of the inputs, and output format of the result
    // M, K and N if the operator is one product. For other operators, the shape of the first input.
    std::vector<std::int64_t> shape;
  };
  std::vector<Entry> cases;
  std::string digest;
};
// Lists the cases of a dataset file. Throws Refusal, or the error of a file that cannot be read.
using DatasetLister = std::function<DatasetCases(const std::string& file, const std::string& glob)>;

// Reads a plan. Lists in a cell (operator, machine, dtype, shape, distribution) are expanded to one
// cell for each entry, and so are the cases of a dataset that match. Paths in the plan are relative
// to `folder`. Throws Refusal that names `source`, the cell and the key if
// - the text is not JSON,
// - a key is unknown ("did you mean"),
// - a value has another type or range,
// - a machine, format, distribution, threshold or fault is unknown.
// No operator runs. check_plan() makes a plan of the result, and reports what standards and
// operators do not know.
campaign::UncheckedPlan parse_plan(const std::string& json, const std::string& source,
                                   const std::string& folder, const DatasetLister& list = {});
// Reads a plan from a file. Throws std::runtime_error, which names the file, if it cannot be read.
campaign::UncheckedPlan read_plan(const std::string& path, const DatasetLister& list = {});

// Returns the paths of the files that a plan names, which are datasets and its published table, for
// callers that must not overwrite them. Throws nothing, and returns no paths if the text is not a
// plan.
std::vector<std::string> files_named(const std::string& json, const std::string& folder);

}  // namespace assay::wire
