// Deprecated, gone with the next release: the name that assay/matchers/eigen.h had.
#pragma once

#include "assay/matchers/eigen.h"
