// Judging without GoogleTest: check_close() and check_case() return a truth and a text, which any
// test framework shows.
#pragma once

#include "assay/report/check.h"
#include "assay/tensor/dlpack.h"
