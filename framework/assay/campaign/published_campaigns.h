// Compares published detection and false-alarm rates with those of a campaign.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/campaign/results.h"

namespace assay::inline v0_2::campaign {

// A cell of a published table. It has a rate, or the word "not_injectable" or "void" (published as
// meaningless). A remark states why the cell is considered a defect of the publication.
struct PublishedRate {
  std::string algorithm, dtype, distribution, direction;  // an empty dtype means any
  // The name of the threshold if the algorithm has several, or empty.
  std::string variant;
  int bit = -1;                // the flipped bit, or -1 for the rate of false alarms
  std::optional<double> rate;  // from 0 to 1
  std::string word;            // "not_injectable" or "void" if the cell has no rate
  std::int64_t trials = 0;
  std::vector<std::int64_t> shape;  // M, K and N of the product, or empty for any
  std::string remark;
};
// A published cell and our rate.
struct Comparison {
  const PublishedRate* published = nullptr;
  std::string cell, gate;
  MeasuredRate ours;
  // True if our detector raises alarms on at least half of the clean matrices.
  bool is_void = false;
  bool rare = false;   // true if fewer than one element in a thousand can take the flip
  bool judged = true;  // false if there are too few matrices to know the variation of our rate
  // True if the rates differ by at most three standard deviations of both samples, plus 0.05
  // percent for the publication's rounding. Our deviation is that between matrices, with the t
  // quantile for their number. Also true if the flip is published as not injectable, and is not
  // injectable or rare here.
  bool agrees = false;
  // The known reason if the rates do not agree, for example from the plan's remarks.
  std::string why;
};
// Compares every cell of the plan that has published names with the published rates of its shape.
// Uses the detectors v_abft (V-ABFT) and a_abft (A-ABFT). A detector in the plan's `variants` is
// compared with the rates of these variants. Other detectors are compared with rates without a
// variant.
std::vector<Comparison> compare_published(const Plan& plan, const std::vector<CellResult>& results,
                                          const std::vector<PublishedRate>& published);
// Returns the variants in published rates of the plan's cells that no detector of the plan covers,
// without duplicates.
std::vector<std::string> variants_left_out(const Plan& plan,
                                           const std::vector<PublishedRate>& published);

}  // namespace assay::campaign
