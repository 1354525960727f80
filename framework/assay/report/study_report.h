// Renders studies: text and CSV. report/chart.h draws their charts.
#pragma once

#include <string>

#include "assay/study/study.h"

namespace assay::inline v0_2::report {

// Returns the study as text: the question, every table, drawings, and the findings with "yes" or
// "NO" before them.
std::string study_text(const study::StudyResult& result);

// Returns a table as CSV with a head line. Cells with a comma, a quote or a line break are quoted
// (RFC 4180). Numbers read back as the same float64. NaN and infinity are "nan", "inf" and "-inf".
std::string study_csv(const study::StudyTable& table);

}  // namespace assay::report
