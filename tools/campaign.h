// How campaigns read datasets, and how their results are printed; shared by the commands and the
// MPI program.
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/results.h"
#include "assay/report/plan_file.h"

namespace assay::tools {

DatasetCases list_dataset(const std::string& file, const std::string& glob);
Case load_dataset_case(const std::string& file, const std::string& name);

// Tables, and published rates beside ours where the plan names some.
std::string results_text(const Plan& plan, const std::vector<CellResult>& results, bool full);

}  // namespace assay::tools
