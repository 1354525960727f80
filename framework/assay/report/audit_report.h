// What an audit found, as text, JSON and a page.
#pragma once

#include <string>

#include "assay/audit/audit.h"

namespace assay::report {

// What a report says beside the result.
struct AuditHead {
  std::string golden, command, version;
};

// A row a target with its score and the share caught of each class; then, where there are any, the
// findings, what was let through (at most `listed` corruptions of a class; all where it is below
// 0), the smallest errors seen, what is blind, and the verdicts that depend on the size.
std::string audit_text(const audit::AuditResult& result, int listed = 4);

// Schema 1, documented in docs/audit.md.
std::string audit_json(const audit::AuditResult& result, const AuditHead& head);

// One self-contained page, no network, nothing that runs.
std::string audit_html(const audit::AuditResult& result, const AuditHead& head);

}  // namespace assay::report
