// Results of campaigns as text and CSV, and compared with published ones.
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/published_campaigns.h"
#include "assay/campaign/results.h"

namespace assay::report {

// For each cell: the false alarms of every gate, and the share of the faults that it detected, also
// by class. Rates are in percent, with 95 % intervals by matrices, or with both bounds if none or
// all were detected. Notes at the end explain the short forms. With `bits_in_full`, also lists the
// bits that every gate detected always or never.
std::string campaign_text(const campaign::Plan& plan,
                          const std::vector<campaign::CellResult>& results,
                          bool bits_in_full = false);
// One line for each cell, gate and series, with the clean rows first.
std::string campaign_csv(const campaign::Plan& plan,
                         const std::vector<campaign::CellResult>& results);

// The short forms that the results of some gates use, for the notes that explain them.
struct ShortForms {
  bool bounds = false, no_interval = false, is_void = false;
  void add(const campaign::GateResult& gate);
};

// Returns a rate in percent, such as "12.35". A rate just below 100 % has four decimals.
std::string rate_percent(double rate);
// Returns one of
//   "12.3 [12.1, 12.5]"    a rate with its interval
//   "12.3 [-]"             a rate from too few matrices for an interval
//   "< 0.003 / 31"         no detection: one-sided bounds, by trials as if they were independent,
//                          and by matrices
//   "100 (> 99.9 / 69)"    all detected, with the same two bounds
//   "-"                    no trials
std::string rate_text(const campaign::MeasuredRate& rate);

// One line for each cell: the published rate, ours with its interval, and "agrees", "differs" with
// the reason if it is known, or "defect: WHY". `left_out` comes from variants_left_out().
std::string published_text(const std::vector<campaign::Comparison>& comparisons,
                           const std::vector<std::string>& left_out);

}  // namespace assay::report
