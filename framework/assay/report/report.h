// Everything that renders verdicts and gate reports: text, JSON, JUnit and HTML. Computes nothing.
#pragma once

#include "assay/report/gate_text.h"
#include "assay/report/html.h"
#include "assay/report/junit.h"
#include "assay/report/mutations.h"
#include "assay/wire/gate_results.h"
