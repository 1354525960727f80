// Turns a parsed plan file into a plan that can run: adds the data that only the operators know,
// and checks what depends on them.
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/plan.h"

namespace assay::inline v0_2::campaign {

// A cell as its file describes it. Unless the file names the format of the result, that format is
// not known yet. Its detectors and faults have not been compared with the format.
struct UncheckedCell {
  Cell cell;
  std::string place;  // the cell's place in its file, for messages: "plan.json: cell 'x'"
  // For each fault, the bits that a census flips, as the file writes them. Empty means all bits.
  std::vector<std::vector<std::string>> bits;
};

// A plan as wire/plan_file.h parses it. Parsing computes no results, so nothing is checked yet.
struct UncheckedPlan {
  Plan plan;  // without cells
  std::vector<UncheckedCell> cells;
  std::vector<std::string> digests;  // the digests of the datasets that the plan reads
};

// Completes and checks a plan. For each drawn cell that is not a product (Cell::is_product()),
// computes the first result to find its format and rows. Checks that detectors and faults fit the
// formats of the results. Sets the canonical words and the fingerprint. Throws
// Refusal, which begins with the cell's place.
Plan check_plan(UncheckedPlan unchecked);

}  // namespace assay::campaign
