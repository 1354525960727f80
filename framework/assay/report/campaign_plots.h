// The pictures of a campaign's page: rates by bit, ROC curves, and histograms of D/T.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "assay/campaign/saved.h"

namespace assay::report {

// One gate of one result's cell: a series of a chart, a column of a table.
struct CampaignLine {
  std::string name;       // the gate, and the result's letter if there are several
  std::size_t color = 0;  // of the gate
  std::size_t run = 0;    // the result, from 0
  const campaign::SavedCell* cell = nullptr;
  std::size_t gate = 0;

  const campaign::GateResult& result() const { return cell->result.gates[gate]; }
};

// Returns "bit 7, 0 to 1", "flips,k=1,site=row" without default settings, or "zero (class x)".
std::string series_name(const campaign::SavedCell& cell, const campaign::Series& series);
// Returns "30 % of 200 (60); 95 % interval 20 to 40 %". Without an interval, the text has bounds or
// the reason instead.
std::string rate_words(const campaign::MeasuredRate& rate);

// Detection by bit, one chart for each direction, with intervals. Published rates are open
// diamonds. Returns an empty string if there is no census.
std::string bits_plots(const std::vector<CampaignLine>& lines);
// False alarms against detection as the threshold is multiplied. The threshold itself is marked.
// Returns an empty string if no gate has both clean rows and faults.
std::string roc_plot(const std::vector<CampaignLine>& lines);
// Shares of the clean rows and of the faulty checks by D/T, one chart for each line.
std::string ratio_plots(const std::vector<CampaignLine>& lines);

// Half an octave of D/T in a histogram.
struct RatioStep {
  std::string from_to;         // "0.5 to 0.75"
  double left = 0, right = 0;  // log2 of its edges, steps without edges are beside the others
  std::int64_t clean = 0, faulty = 0;
};
// Returns the steps from the first to the last that is not empty. One step at the front has the
// ratios below 2^-16 or within an elementwise bound. One at the end has those above 2^16, infinite
// or NaN.
std::vector<RatioStep> ratio_steps(const campaign::GateResult& gate);

}  // namespace assay::report
