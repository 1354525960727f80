// Reports of verdicts and of the gate: text, JSON, JUnit and HTML.
#pragma once

#include "assay/report/gate_text.h"
#include "assay/report/html.h"
#include "assay/report/junit.h"
#include "assay/report/mutations.h"
#include "assay/wire/gate_results.h"
