// The results.json of a campaign (docs/campaigns.md).
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/published_campaigns.h"
#include "assay/campaign/saved.h"

namespace assay::inline v0_2::wire {

// Returns JSON of schema 1, documented in docs/campaigns.md. The published rates that these results
// are compared with are written with their gate.
std::string campaign_json(const campaign::Plan& plan,
                          const std::vector<campaign::CellResult>& results,
                          const std::vector<campaign::Comparison>& published = {});

// Reads the results of a campaign. `source` names the text in messages. Throws
// Refusal that names the place in the text if
// - it is not JSON, or not the results of a campaign,
// - a value has another type or range, or counts contradict each other,
// - it is from a version before 0.2.0, which did not record the number of matrices of a rate.
campaign::SavedCampaign parse_campaign_results(const std::string& json, const std::string& source);
// Reads a file of at most 64 MiB, or the output folder of a campaign. Throws Refusal as
// parse_campaign_results() does, or if a folder has no results yet. Throws std::runtime_error if
// the file cannot be read.
campaign::SavedCampaign read_campaign_results(const std::string& path);

}  // namespace assay::wire
