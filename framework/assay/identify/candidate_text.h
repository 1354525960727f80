// Writes a candidate as text: the machine and the case parameters with which a user would request
// it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "assay/identify/space.h"

namespace assay::inline v0_2::identify {

// True if the candidate's parts of K are requested by the case's promotion_interval and not by its
// split_k. Both give the same bits. dot and scaled_matmul do not split K, and short parts of 8-bit
// floats are promoted.
bool divides_by_promotion(const Sums& sums, const Candidate& candidate);

struct CandidateText {
  std::string machine = {};  // a text for --machine, or empty if no machine takes the formats
  std::map<std::string, Attribute> parameters = {};
  int changes = 0;  // number of parameters that differ from the machine's row
  int place = 0;    // position of the machine in the table
  bool is_row = false;
  std::vector<const Machine*> rows = {};  // machines whose row equals the candidate
  // True if the candidate differs from a machine's row at most in the place of the bias and in the
  // promotion of sums.
  bool has_rows_unit = false;
};
CandidateText text_of(const Sums& sums, const Candidate& candidate);

struct MachineRow {
  const Machine* machine;
  // The row of `machine` as a candidate, with the division of K, the scales and the roundings of
  // another candidate.
  Candidate candidate;
};
// Returns the rows of machines that compute these operands as the candidate does, by construction:
// their canonical() forms (space.h) are the same.
std::vector<MachineRow> rows_like(const Sums& sums, const Candidate& candidate);

}  // namespace assay::identify
