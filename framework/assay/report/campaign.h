// Results of campaigns as text, JSON and CSV, and beside published ones. Computes nothing.
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/published.h"
#include "assay/campaign/results.h"

namespace assay::report {

// For each cell the false alarms of every gate, and the share of the faults that it saw: in
// percent, with 95 % intervals; of nothing seen, its upper bound. `bits_in_full`: also the bits
// that every gate saw always or never.
std::string campaign_text(const campaign::Plan& plan,
                          const std::vector<campaign::CellResult>& results,
                          bool bits_in_full = false);
// Schema 1, documented in docs/campaigns.md.
std::string campaign_json(const campaign::Plan& plan,
                          const std::vector<campaign::CellResult>& results);
// One line a cell, gate and series; clean rows first.
std::string campaign_csv(const campaign::Plan& plan,
                         const std::vector<campaign::CellResult>& results);

// "12.3 [12.1, 12.5]", "< 0.003" (one-sided) where nothing was seen, "-" where nothing was tried.
std::string rate_text(const campaign::MeasuredRate& rate);

// A line a cell: published, ours with its interval, and "agrees", "differs", or "defect: WHY".
std::string published_text(const std::vector<campaign::Comparison>& comparisons);

}  // namespace assay::report
