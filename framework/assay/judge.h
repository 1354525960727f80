// Judging without a case: judge() compares two tensors by a Bound and returns a Verdict with
// metrics. standard_bound() gives the bound of a published standard.
#pragma once

#include "assay/judge/bound.h"
#include "assay/judge/limit.h"
#include "assay/judge/location.h"
#include "assay/judge/metric_table.h"
#include "assay/judge/metrics.h"
#include "assay/judge/standards.h"
#include "assay/judge/verdict.h"
