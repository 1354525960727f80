// Results of campaigns as a page: pictures with the tables behind them.
#pragma once

#include <string>
#include <vector>

#include "assay/campaign/saved.h"

namespace assay::inline v0_2::report {

// Returns one self-contained page of one result, or of several side by side. Cells of one name
// share their pictures. `command` and `version` describe the origin of the page. Throws
// Refusal if there are no results.
std::string campaign_html(const std::vector<campaign::SavedCampaign>& results,
                          const std::string& command, const std::string& version);

}  // namespace assay::report
