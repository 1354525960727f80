// Trials: finding the input that breaks a kernel, without golden files (docs/trial.md). run_trial()
// draws inputs, judges the outputs, checks the kernel's contract and reduces a failure.
#pragma once

#include "assay/trial/adapters.h"
#include "assay/trial/kernel.h"
#include "assay/trial/trial.h"
