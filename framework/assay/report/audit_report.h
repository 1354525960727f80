// The findings of an audit, as text and as a page.
#pragma once

#include <string>

#include "assay/audit/audit.h"
#include "assay/wire/audit_results.h"

namespace assay::inline v0_2::report {

// Returns one row for each target, with its score and the share caught of each class. Then follow,
// if there are any: the findings, the corruptions that were let through, the smallest errors seen,
// the blind elements, and the verdicts that depend on the size. At most `listed` corruptions of a
// class are listed, or all if `listed` is below 0.
std::string audit_text(const audit::AuditResult& result, int listed = 4);

// Returns one self-contained page without scripts, which needs no network.
std::string audit_html(const audit::AuditResult& result, const wire::AuditHead& head);

}  // namespace assay::report
