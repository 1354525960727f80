// The results.json of a campaign (docs/campaigns.md).
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/published_campaigns.h"
#include "assay/campaign/saved.h"

namespace assay::wire {

// Schema 1, documented in docs/campaigns.md. `published`: of these results; each stands with its
// gate.
std::string campaign_json(const campaign::Plan& plan,
                          const std::vector<campaign::CellResult>& results,
                          const std::vector<campaign::Comparison>& published = {});

// `source` names the text in messages. Throws std::invalid_argument that names the place in it:
// what is no JSON, or no result of a campaign; a value of another type or range, counts that
// contradict each other, and results of versions before 0.2.0, which do not say of how many
// matrices a rate is.
campaign::SavedCampaign parse_campaign_results(const std::string& json, const std::string& source);
// Of a file, of at most 64 MiB, or of a campaign's output folder. Throws std::invalid_argument as
// above, and where a folder has no results yet; std::runtime_error where it cannot be read.
campaign::SavedCampaign read_campaign_results(const std::string& path);

}  // namespace assay::wire
