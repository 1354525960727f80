// Results of an audit as JSON.
#pragma once

#include <string>

#include "assay/audit/audit.h"

namespace assay::inline v0_2::wire {

// The files and the command of an audit, for its report.
struct AuditHead {
  std::string golden, command, version;
};

// Returns JSON of schema 1, documented in docs/audit.md.
std::string audit_json(const audit::AuditResult& result, const AuditHead& head);

}  // namespace assay::wire
