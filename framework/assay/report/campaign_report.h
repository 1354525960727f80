// Results of campaigns as text and CSV, and compared with published ones.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "assay/campaign/published_campaigns.h"
#include "assay/campaign/results.h"

namespace assay::inline v0_2::report {

// Returns for each cell the false alarms of every gate, and the share of the faults that the gate
// detected, also by class. Rates are in percent. They have 95 % intervals by matrices, or both
// bounds if none or all were detected. Notes at the end explain the short forms. With
// `bits_in_full`, the text also lists the bits that every gate detected always or never.
std::string campaign_text(const campaign::Plan& plan,
                          const std::vector<campaign::CellResult>& results,
                          bool bits_in_full = false);
// Returns CSV with one line for each cell, gate and series. Before the series of a cell and gate
// stands the line of their clean rows.
std::string campaign_csv(const campaign::Plan& plan,
                         const std::vector<campaign::CellResult>& results);

// Says which short forms the results of some gates use, so that notes can explain them.
struct ShortForms {
  bool bounds = false, no_interval = false, is_void = false;
  void add(const campaign::GateResult& gate);
  // Returns each form in use and what it means.
  std::vector<std::pair<std::string, std::string>> explained() const;
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

// Returns one line for each cell of a published table: the published rate, ours with its interval,
// and "agrees", "differs" with the reason if it is known, or "defect: WHY". `left_out` comes from
// variants_left_out().
std::string published_text(const std::vector<campaign::Comparison>& comparisons,
                           const std::vector<std::string>& left_out);

}  // namespace assay::report
