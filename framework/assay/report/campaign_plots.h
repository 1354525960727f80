// The pictures of a campaign's page: detection rates by bit, ROC curves, and histograms of D/T
// (difference over threshold).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "assay/campaign/saved.h"

namespace assay::inline v0_2::report {

// One gate of a cell of one result. It is a series of a chart, or a column of a table.
struct CampaignLine {
  std::string name;       // name of the gate, and the letter of the result if there are several
  std::size_t color = 0;  // of the gate
  std::size_t run = 0;    // the result, from 0
  const campaign::SavedCell* cell = nullptr;
  std::size_t gate = 0;

  const campaign::GateResult& result() const { return cell->result.gates[gate]; }
};

// Returns "bit 7, 0 to 1", "flips,k=1,site=row" without default settings, or "zero (class x)".
std::string series_name(const campaign::SavedCell& cell, const campaign::Series& series);
// Returns "30 % of 200 (60); 95 % interval 20 to 40 %, by 8 matrices". If the rate has no interval,
// the text says why instead.
std::string rate_words(const campaign::MeasuredRate& rate);

// Returns pictures of the detection rate by bit with its interval: one chart for each direction.
// Published rates are open diamonds. Returns an empty string if there is no census.
std::string bits_plots(const std::vector<CampaignLine>& lines);
// Returns the picture of the detection rate against the rate of false alarms, as the threshold is
// multiplied. The threshold itself is marked. Returns an empty string if no gate has both clean
// rows and faults.
std::string roc_plot(const std::vector<CampaignLine>& lines);
// Returns one chart for each line: the shares of the clean rows and of the faulty checks by D/T,
// their difference over the threshold.
std::string ratio_plots(const std::vector<CampaignLine>& lines);

// A step of half an octave in a histogram of D/T (difference over threshold).
struct RatioStep {
  std::string from_to;  // "0.5 to 0.75"
  // log2 of the step's edges. The first and the last step have no such edges and stand beside the
  // others.
  double left = 0, right = 0;
  std::int64_t clean = 0, faulty = 0;
};
// Returns the steps from the first to the last that is not empty. One more step in front has the
// ratios below 2^-16, or within an elementwise bound. One more step at the end has the ratios that
// are above 2^16, infinite or NaN.
std::vector<RatioStep> ratio_steps(const campaign::GateResult& gate);

}  // namespace assay::report
