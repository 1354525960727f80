// Published detection and false-alarm rates beside those of a campaign.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/campaign/results.h"

namespace assay::campaign {

// A published cell. A rate is a number, "not_injectable" or "void" (given as of no meaning there).
// A remark says why the cell is held to be a defect of the publication.
struct PublishedRate {
  std::string algorithm, dtype, distribution, direction;  // dtype "": of any
  std::string variant;         // which threshold of the algorithm; "": the only one
  int bit = -1;                // -1: false alarms
  std::optional<double> rate;  // from 0 to 1
  std::string word;            // where there is no rate
  std::int64_t trials = 0;
  std::vector<std::int64_t> shape;  // M, K, N; empty: of any
  std::string remark;
};
// One published cell and ours.
struct Comparison {
  const PublishedRate* published = nullptr;
  std::string cell, gate;
  MeasuredRate ours;
  bool is_void = false;  // our gate alarms on clean matrices
  bool rare = false;     // fewer than one element in a thousand can take the flip
  bool judged = true;    // there are enough matrices to know how much ours varies
  // agrees: no further apart than three standard deviations of both samples (ours by matrices, as
  // far as t of that many), and a twentieth of a percent for the publication's own rounding; or not
  // injectable there, and here not or rare.
  bool agrees = false;
  std::string why;  // where it does not: what is known of the reason, by the plan's remarks too
};
// Of every cell of the plan that names what the publication calls it, through the gates v_abft
// (V-ABFT) and a_abft (A-ABFT), with the published rates of its shape. A gate that the plan's
// `variants` name is held to the rates of these variants, any other to those that name none.
std::vector<Comparison> compare_published(const Plan& plan, const std::vector<CellResult>& results,
                                          const std::vector<PublishedRate>& published);
// The variants of published rates of the plan's cells for which it has no gate, each once.
std::vector<std::string> variants_left_out(const Plan& plan,
                                           const std::vector<PublishedRate>& published);

}  // namespace assay::campaign
