// Deprecated, goes with 0.3.0: the name that assay/matchers/eigen.h had.
#pragma once

#include "assay/matchers/eigen.h"
