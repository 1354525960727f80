// From the words of a plan's file to a plan that can run: what only the operators can say, and what
// depends on it.
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/plan.h"

namespace assay::campaign {

// A cell as its file describes it. The format of its result is open unless the file names it, and
// so is whether its gates and faults fit that format.
struct UncheckedCell {
  Cell cell;
  std::string place;  // of the cell in its file, for messages: "plan.json: cell 'x'"
  // Of each fault the bits that a census flips, as the file writes them; empty: all.
  std::vector<std::vector<std::string>> bits;
};

// What wire/plan_file.h gives: parsing computes nothing.
struct UncheckedPlan {
  Plan plan;  // without cells
  std::vector<UncheckedCell> cells;
  std::vector<std::string> digests;  // of the datasets that the plan reads
};

// Computes the first result of each drawn cell that is no product (Cell::is_product()), to know its
// format and rows; holds gates and faults against the formats of results; and sets canonical words
// and fingerprint. Throws std::invalid_argument that begins with the cell's place.
Plan check_plan(UncheckedPlan unchecked);

}  // namespace assay::campaign
