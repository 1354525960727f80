// Everything that renders verdicts and gate reports: text, JSON, JUnit and HTML. Computes nothing.
#pragma once

#include "assay/report/gate_text.h"
#include "assay/report/html.h"
#include "assay/report/json.h"
#include "assay/report/mutations.h"
