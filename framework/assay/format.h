// Number formats: their table, their values and bits, and conversions of single numbers and whole
// arrays.
#pragma once

#include "assay/format/convert.h"
#include "assay/format/format.h"
#include "assay/format/table.h"
