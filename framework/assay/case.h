// Test cases: inputs, attributes, and outputs with golden and recorded results.
#pragma once

#include "assay/cases/case.h"
#include "assay/cases/epilogue.h"
#include "assay/cases/product.h"
