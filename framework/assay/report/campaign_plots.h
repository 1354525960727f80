// The pictures of a campaign's page: rates by bit, ROC curves, and histograms of D/T.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "assay/campaign/saved.h"

namespace assay::report {

// One gate of one result's cell: a series of a chart, a column of a table.
struct CampaignLine {
  std::string name;       // the gate, and the result's letter where there are several
  std::size_t color = 0;  // of the gate
  std::size_t run = 0;    // the result, from 0
  const campaign::SavedCell* cell = nullptr;
  std::size_t gate = 0;

  const campaign::GateResult& result() const { return cell->result.gates[gate]; }
};

// "bit 7, 0 to 1", "flips,k=1,site=row" without what goes without saying, "zero (class x)".
std::string series_name(const campaign::SavedCell& cell, const campaign::Series& series);
std::string direction_name(fault::Direction direction);
// "30 % of 200 (60); 95 % interval 20 to 40 %", with bounds or the reason where there is none.
std::string rate_words(const campaign::MeasuredRate& rate);

// Detection by bit, one chart a direction, with intervals; published rates as open diamonds.
// Empty where there is no census.
std::string bits_plots(const std::vector<CampaignLine>& lines);
// False alarms against detection as the threshold is multiplied; the threshold itself is marked.
// Empty where no gate has clean rows and faults.
std::string roc_plot(const std::vector<CampaignLine>& lines);
// Shares of the clean rows and of the faulty checks by D/T, one chart a line.
std::string ratio_plots(const std::vector<CampaignLine>& lines);

// Half an octave of D/T in a histogram.
struct RatioStep {
  std::string from_to;         // "0.5 to 0.75"
  double left = 0, right = 0;  // log2 of its edges; what has none stands beside the others
  std::int64_t clean = 0, faulty = 0;
};
// From the first to the last that holds anything. What is below 2^-16, or within an elementwise
// bound, is one at the front; what is above 2^16, infinite or NaN one at the end.
std::vector<RatioStep> ratio_steps(const campaign::GateResult& gate);

}  // namespace assay::report
