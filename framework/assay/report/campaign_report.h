// Results of campaigns as text and CSV, and beside published ones. Computes nothing.
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/published_campaigns.h"
#include "assay/campaign/results.h"

namespace assay::report {

// For each cell the false alarms of every gate, and the share of the faults that it saw, also by
// class: in percent, with 95 % intervals by matrices; of nothing or all seen, both bounds. Notes at
// the end say what short forms mean. `bits_in_full`: also the bits that every gate saw always or
// never.
std::string campaign_text(const campaign::Plan& plan,
                          const std::vector<campaign::CellResult>& results,
                          bool bits_in_full = false);
// One line a cell, gate and series; clean rows first.
std::string campaign_csv(const campaign::Plan& plan,
                         const std::vector<campaign::CellResult>& results);

// A rate in percent: "12.35", and four decimals of what is not quite all.
std::string rate_percent(double rate);
// "12.3 [12.1, 12.5]"; "12.3 [-]" of too few matrices for an interval; where nothing was seen
// "< 0.003 / 31", one-sided, by trials as if they were independent and by matrices; "100 (> 99.9 /
// 69)" where everything was; "-" where nothing was tried.
std::string rate_text(const campaign::MeasuredRate& rate);

// A line a cell: published, ours with its interval, and "agrees", "differs" with the reason where
// it is known, or "defect: WHY". `left_out`: variants_left_out().
std::string published_text(const std::vector<campaign::Comparison>& comparisons,
                           const std::vector<std::string>& left_out);

}  // namespace assay::report
