// What runs in a gate report's page: its table, filters, sorting and pictures.
#pragma once

namespace assay::report {

// JavaScript without libraries. It reads the page's data (report/html_data.h) and fills `#cases`;
// every text becomes a text node, so that nothing of a name is read as HTML.
extern const char* const kGateScript;
// The CSS of what it makes.
extern const char* const kGateStyle;

}  // namespace assay::report
