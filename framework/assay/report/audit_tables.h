// The tables of an audit, which its text and its page both show.
#pragma once

#include <string>
#include <vector>

#include "assay/audit/audit.h"

namespace assay::inline v0_2::report {

struct AuditTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::string note = {};  // text below the table
};

// Returns the tables that have rows, in reading order. `listed` limits the rows as in audit_text().
std::vector<AuditTable> audit_tables(const audit::AuditResult& result, int listed);

// Returns the words for a kind of finding, such as "does not pass the right output".
std::string_view finding_words(audit::Finding::Kind kind);

}  // namespace assay::report
