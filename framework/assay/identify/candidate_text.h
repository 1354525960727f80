// A candidate as users ask for it: the text of a machine, and the parameters of the case.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "assay/identify/space.h"

namespace assay::identify {

// Whether `split.terms` is the case's promotion_interval, not its split_k. The bits are the same;
// dot and scaled_matmul do not split K, and short parts of 8-bit floats are promoted.
bool divides_by_promotion(const Sums& sums, const Candidate& candidate);

struct CandidateText {
  std::string machine;  // a text that --machine takes; empty where no machine takes the formats
  std::map<std::string, Attribute> parameters;
  int changes = 0;  // parameters that differ from the machine's row
  int place = 0;    // of the machine in the table
  bool is_row = false;
  std::vector<const Machine*> rows;  // whose row is the candidate as it is
  bool has_rows_unit = false;        // a row but for where a bias enters and how sums are promoted
};
CandidateText text_of(const Sums& sums, const Candidate& candidate);

struct MachineRow {
  const Machine* machine;
  Candidate candidate;  // its row with another candidate's division of K, scales and roundings
};
// Returns the rows of machines that compute these operands as the candidate does, by construction
// (canonical() of space.h).
std::vector<MachineRow> rows_like(const Sums& sums, const Candidate& candidate);

}  // namespace assay::identify
