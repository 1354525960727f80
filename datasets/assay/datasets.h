// Dataset files: reading and writing cases in HDF5.
#pragma once

#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/store/case_source.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/datasets/store/writer.h"
