// The script of a gate report's page: its table, filters, sorting and pictures.
#pragma once

namespace assay::inline v0_2::report {

// JavaScript without libraries. It reads the page's data (report/html_data.h) and fills `#cases`.
// Every text becomes a text node, so that no part of a name is read as HTML.
extern const char* const kGateScript;
// The CSS of the elements that the script adds.
extern const char* const kGateStyle;

}  // namespace assay::report
