// Campaign plans as JSON files. The schema is in docs/campaigns.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/campaign/check_plan.h"

namespace assay::wire {

// The cases of a dataset file that match a glob, and a number that changes with the file's bytes.
struct DatasetCases {
  struct Entry {
    std::string name, op;
    const Format *dtype, *output;     // of the inputs and the result
    std::vector<std::int64_t> shape;  // M, K, N of one product, otherwise that of the first input
  };
  std::vector<Entry> cases;
  std::string digest;
};
// Throws std::invalid_argument or a file's error.
using DatasetLister = std::function<DatasetCases(const std::string& file, const std::string& glob)>;

// Lists in a cell (operator, machine, dtype, shape, distribution) are expanded to one cell each,
// and so are the cases of a dataset that match. Paths in the plan are relative to `folder`. Throws
// std::invalid_argument that names `source`, the cell and the key: what is no JSON, an unknown key
// ("did you mean"), a value of another type or range, words that machines, formats, distributions,
// thresholds or faults do not know. No operator runs: check_plan() makes a plan of it, and says
// what standards and operators do not know.
campaign::UncheckedPlan parse_plan(const std::string& json, const std::string& source,
                                   const std::string& folder, const DatasetLister& list = {});
// Reads a file. Throws std::runtime_error, which names it, if it cannot be read.
campaign::UncheckedPlan read_plan(const std::string& path, const DatasetLister& list = {});

// The paths of the files that a plan names, datasets and its published table: for callers that must
// not write over them. Throws nothing; what is no plan names none.
std::vector<std::string> files_named(const std::string& json, const std::string& folder);

}  // namespace assay::wire
