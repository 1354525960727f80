// Results of studies as JSON.
#pragma once

#include <string>

#include "assay/study/study.h"

namespace assay::inline v0_2::wire {

// Returns JSON of schema 1, documented in docs/studies.md. NaN and infinity are the strings "nan",
// "inf" and "-inf".
std::string study_json(const study::StudyResult& result);

}  // namespace assay::wire
