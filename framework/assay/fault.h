// Faults: what can break, where, and how it is put into a tensor or a case.
#pragma once

#include "assay/fault/change.h"
#include "assay/fault/fault.h"
#include "assay/fault/fault_text.h"
#include "assay/fault/mutation.h"
#include "assay/fault/site.h"
