// Machines: their arithmetic as data, and products of vectors as they compute them.
#pragma once

#include "assay/machine/dot.h"
#include "assay/machine/dot_oracle.h"
#include "assay/machine/machine.h"
