// Reads back the results.json of a campaign (docs/campaigns.md).
#pragma once

#include <string>

#include "assay/campaign/saved.h"

namespace assay::config {

// `source` names the text in messages. Throws std::invalid_argument that names the place in it:
// what is no JSON, or no result of a campaign; a value of another type or range, counts that
// contradict each other, and results of versions before 0.2.0, which do not say of how many
// matrices a rate is.
campaign::SavedCampaign parse_campaign_results(const std::string& json, const std::string& source);
// Of a file, of at most 64 MiB, or of a campaign's output folder. Throws std::invalid_argument as
// above, and where a folder has no results yet; std::runtime_error where it cannot be read.
campaign::SavedCampaign read_campaign_results(const std::string& path);

}  // namespace assay::config
