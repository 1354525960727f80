// What an audit found, as text and a page.
#pragma once

#include <string>

#include "assay/audit/audit.h"
#include "assay/wire/audit_results.h"

namespace assay::report {

// A row a target with its score and the share caught of each class; then, where there are any, the
// findings, what was let through (at most `listed` corruptions of a class; all where it is below
// 0), the smallest errors seen, what is blind, and the verdicts that depend on the size.
std::string audit_text(const audit::AuditResult& result, int listed = 4);

// One self-contained page, no network, nothing that runs.
std::string audit_html(const audit::AuditResult& result, const wire::AuditHead& head);

}  // namespace assay::report
