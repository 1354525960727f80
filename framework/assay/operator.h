// Operators: registering one of your own (docs/own_operator.md), its inputs, parameters, generators
// and expected errors.
#pragma once

#include "assay/base/random.h"
#include "assay/op/expected_errors.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "assay/op/parameter.h"
#include "assay/op/row_sample.h"
#include "assay/tensor/distribution.h"
