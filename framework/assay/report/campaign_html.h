// Results of campaigns as a page: pictures with the tables behind them.
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/saved.h"

namespace assay::report {

// One self-contained page of one result, or of several side by side: cells of one name share their
// pictures. `command` and `version` say what made it. Throws std::invalid_argument without results.
std::string campaign_html(const std::vector<campaign::SavedCampaign>& results,
                          const std::string& command, const std::string& version);

}  // namespace assay::report
