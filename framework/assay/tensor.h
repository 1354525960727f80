// Tensors and views: bytes, a format and a shape. view() takes the containers of C++, pointers with
// strides and DLPack tensors. assay/tensor/eigen.h, mdspan.h and cuda.h add theirs.
#pragma once

#include "assay/tensor/dlpack.h"
#include "assay/tensor/tensor.h"
