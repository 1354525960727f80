// Exceptions: Refusal for a value that it refuses, and CaseError for a case.
#pragma once

#include "assay/base/error.h"
